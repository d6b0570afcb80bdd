"""The examples of every --help, pasted one after the other into an empty folder, are one session that works."""

import json
import os
import shlex
import signal
import subprocess
import urllib.error
import urllib.request

import pytest

from tests.support.command_line import COMMANDS, PROGRAM, at_a_terminal, main, read_envelope, read_keys, shell
from tests.support.ports import free_port

QUIET = ("design", "plan", "verify", "estimate")  # examples that can be run twice


def served(words, folder, port):
    """The collector of the example on this port, with a device that delivers to it; stopped by Ctrl-C."""
    with subprocess.Popen(
        [*PROGRAM, *words, "--port", str(port)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as collector:
        try:
            first = collector.stdout.readline()
            assert first == f"results: http://127.0.0.1:{port}/\n"
            sent_to = collector.stdout.readline()
            assert sent_to == f"reports: http://127.0.0.1:{port}/reports\n"
            page = collector.stdout.readline().split()[1]
            assert page.startswith("https://collect.example.org/s/")  # where the survey says, and not here
            answer = shlex.split(COMMANDS["answer"].examples[0])[1:]
            _, code = at_a_terminal([*PROGRAM, *answer, "--send", "--spread", "0"], [])
            assert code == 0
            with pytest.raises(urllib.error.HTTPError, match="421"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/s/{page.rpartition('/')[2]}", timeout=20)
        finally:
            collector.send_signal(signal.SIGINT)
            _, err = collector.communicate(timeout=60)
    assert collector.returncode == 0, err
    assert os.stat(folder / "token").st_mode & 0o777 == 0o600


def digest_of(folder):
    return read_envelope(folder / "survey.signed.json", read_keys([folder / "publisher.pem.pub"]))[0].digest


@pytest.mark.process
def test_the_examples_are_one_session(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    port = free_port()  # the survey names the collector: known before it is signed
    for name, command in COMMANDS.items():
        for example in command.examples:
            words = shlex.split(example)
            assert words[:2] == ["rrcollect", name]
            if words[2] == "close":  # the survey of this session is not over
                assert main(words[1:]) == 2
                assert "a survey that is over" in capsys.readouterr().err
            elif words[2] == "release":
                for named in (words[3], digest_of(tmp_path)):
                    assert main(["store", "release", named, *words[4:]]) == 0
                    assert "answers were added" in capsys.readouterr().out
            elif "<" in words:
                done = shell(example, tmp_path)
                assert done.returncode == 0, done.stderr
                assert done.stdout == "2000 new, 0 known, 0 refused\n"
            elif ">" in words:
                done = shell(example, tmp_path)
                assert done.returncode == 0, done.stderr
                text = (tmp_path / words[-1]).read_text()
                assert text
                (tmp_path / words[-1]).write_text(
                    text.replace("https://collect.example.org/reports", f"http://127.0.0.1:{port}/reports")
                )
            elif name == "answer":
                shown, code = at_a_terminal([*PROGRAM, *words[1:]], ["yes\n", "\n", "no\n", "2\n", "7.5\n"])
                assert code == 0, shown
            elif name == "serve":
                served(words[1:], tmp_path, port)
            else:
                code = main(words[1:])
                said = capsys.readouterr()
                assert code == 0, said.err
                assert said.out.strip()
            if name in QUIET and "--sample" not in words:
                assert main([*words[1:], "--json", *["--force"] * ("--plot" in words)]) == 0
                json.loads(capsys.readouterr().out)
    left = {path.name for path in tmp_path.iterdir()}
    made = "publisher.pem survey.toml gateway.jsonl gateway.rrbits counts.json tallies.json region.svg price.png"
    assert {*made.split(), "sports.pdf", "rehearsed.svg", "rrcollect.bash", "demo"} <= left
    assert not [name for name in left if name.startswith(".") and name != ".bin"]  # nothing half-written
    counted = json.loads((tmp_path / "counts.json").read_text())
    assert sum(entry["n"] for entry in counted) == 2001  # one of what the person at the terminal sent is in this crowd
    counted = json.loads((tmp_path / "tallies.json").read_text())
    assert sum(entry["n"] for entry in counted) == 4000
    assert (tmp_path / "demo" / "report.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_teaches(capsys, name):
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    said = capsys.readouterr().out
    for example in COMMANDS[name].examples:
        assert f"\n  {example}\n" in said
    assert "--json" in said


def test_the_top_lists_the_flow_in_order(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    places = [said.index(f"\n  {name} ") for name in COMMANDS]
    assert places == sorted(places)
    assert "exit codes" in said
    with pytest.raises(SystemExit) as stopped:
        main(["no-such-command"])
    assert stopped.value.code == 2
