"""Ctrl-C where a script started the program in the background: a shell then has SIGINT ignored, which is inherited.

What says "stop with Ctrl-C" stops all the same.  Every other command leaves an ignored SIGINT ignored, as the shell
asked, and finishes what it began; with SIGINT as usual it ends with 130 and one line (tests/demo/test_demo.py).
"""

import json
import os
import signal
import subprocess
import urllib.request

import pytest

import rrcollect
from tests.support.accounts import living_in
from tests.support.command_line import PROGRAM, run
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE, until

IN_THE_BACKGROUND = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *PROGRAM]


def answers(address):
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE):  # noqa: S310
            return True
    except OSError:
        return False


@pytest.mark.process
def test_a_collector_in_the_background_stops(tmp_path):
    port = free_port()
    words = ["serve", "--store", "r.sqlite3", "--token-file", "token", "--make-token"]
    with subprocess.Popen(
        [*IN_THE_BACKGROUND, *words, "--port", str(port)], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as collector:
        try:
            until(lambda: answers(f"http://127.0.0.1:{port}/readyz"))
            collector.send_signal(signal.SIGINT)
            out, err = collector.communicate(timeout=PATIENCE)
        finally:
            collector.kill()
    assert b"stop with Ctrl-C" in out
    assert collector.returncode == 0, err
    assert json.loads(err.splitlines()[-1])["event"] == "stopped"


@pytest.mark.process
def test_the_web_demo_in_the_background_stops():
    with subprocess.Popen([*IN_THE_BACKGROUND, "demo", "--web"], stdout=subprocess.PIPE, text=True) as web:
        try:
            until(lambda: "stop with Ctrl-C" in web.stdout.readline())
            web.send_signal(signal.SIGINT)
            out, _ = web.communicate(timeout=PATIENCE)
        finally:
            web.kill()
    assert web.returncode == 0
    assert out.startswith("stopped; ")


@pytest.mark.process
def test_the_demo_in_the_background_finishes(tmp_path):
    words = [*IN_THE_BACKGROUND, "demo", "--respondents", "300", "--seconds", "0", "--out", "d"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, process_group=0) as demo:
        until((tmp_path / "d" / "survey.signed.json").exists)
        os.killpg(demo.pid, signal.SIGINT)
        assert demo.wait(PATIENCE) == 0
    assert (tmp_path / "d" / "report.html").exists()


@pytest.mark.parametrize(("handler", "ends"), [(signal.SIG_IGN, 0), (signal.default_int_handler, 4)])
def test_a_roster_in_the_background_is_randomised_to_its_end(tmp_path, monkeypatch, capsys, handler, ends):
    """As usual, Ctrl-C says how many people are reserved."""
    monkeypatch.chdir(tmp_path)
    living_in(monkeypatch, tmp_path / "home")
    (tmp_path / "t.csv").write_text("doped\n" + "yes\nno\n" * 25)
    draw = rrcollect.randomise_many

    def interrupted(*given, **named):
        signal.raise_signal(signal.SIGINT)
        return draw(*given, **named)

    monkeypatch.setattr(rrcollect, "randomise_many", interrupted, raising=False)
    before = signal.signal(signal.SIGINT, handler)
    try:
        code, _, err = run(capsys, "randomise", "t.csv", "--column", "doped", "--epsilon", "1", "--out", "o.bits")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (code, (tmp_path / "o.bits").exists()) == (ends, not ends), err
    assert ("stopped; 50 people are reserved and have no answers" in err) is bool(ends)
