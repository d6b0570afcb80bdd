"""The examples of every --help, pasted one after the other into an empty folder, are one session that works."""

import json
import os
import shlex
import signal
import subprocess
import urllib.request

import pytest

from server_agg.cli.main import COMMANDS, main
from tests.support.command_line import PROGRAM, SIGNED, at_a_terminal, shell
from tests.support.postgres_server import free_port

QUIET = ("design", "plan", "verify", "estimate", "compare")  # examples that can be run twice


def served(words, folder):
    """The collector of the example on a free port, with a device that delivers to it; stopped by Ctrl-C."""
    port = free_port()
    with subprocess.Popen(
        [*PROGRAM, *words, "--port", str(port)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as collector:
        try:
            first = collector.stdout.readline()
            assert first == f"results: http://127.0.0.1:{port}/\n"
            sent_to = collector.stdout.readline()
            assert sent_to == f"reports: http://127.0.0.1:{port}/reports\n"
            page = collector.stdout.readline().split()[1]
            answer = shlex.split(COMMANDS["answer"].examples[0])[1:]
            _, code = at_a_terminal([*PROGRAM, *answer, "--url", sent_to.split()[1]], [])
            assert code == 0
            assert urllib.request.urlopen(page, timeout=20).status == 200  # noqa: S310
        finally:
            collector.send_signal(signal.SIGINT)
            _, err = collector.communicate(timeout=60)
    assert collector.returncode == 0, err
    assert os.stat(folder / "token").st_mode & 0o777 == 0o600


@pytest.mark.process
def test_the_examples_are_one_session(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, command in COMMANDS.items():
        for example in command.examples:
            words = shlex.split(example)
            assert words[:2] == ["rrcollect", name]
            if ">" in words:
                done = shell(example, tmp_path)
                assert done.returncode == 0, done.stderr
                assert (tmp_path / words[-1]).read_text()
            elif name == "answer":
                shown, code = at_a_terminal([*PROGRAM, *words[1:]], ["yes\n", "\n", "no\n"])
                assert code == 0, shown
            elif name == "serve":
                served(words[1:], tmp_path)
            else:
                code = main(words[1:])
                said = capsys.readouterr()
                assert code == 0, said.err
                assert said.out.strip()
            if name in QUIET:
                assert main([*words[1:], "--json"]) == 0
                json.loads(capsys.readouterr().out)
    left = {path.name for path in tmp_path.iterdir()}
    made = "publisher.pem survey.toml gateway.jsonl gateway.rrbits night.jsonl tallies.json region.svg price.png"
    assert {*made.split(), "segments.pdf", "simulated.svg", "rrcollect.bash", "demo"} <= left
    assert not [name for name in left if name.startswith(".") and name != ".bin"]  # nothing half-written
    assert len((tmp_path / "night.jsonl").read_text().splitlines()) == 2  # what the person at the terminal sent
    counted = json.loads((tmp_path / "tallies.json").read_text())
    assert sum(entry["n"] for entry in counted) == 4002
    assert (tmp_path / "demo" / "report.html").read_text().startswith("<!doctype html>")
    assert main(["tally", "night.jsonl", *SIGNED, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["accepted"] == 2


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
