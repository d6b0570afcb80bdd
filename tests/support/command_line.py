"""Running the command line: in this process, in one of its own, and at a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from server_agg.cli.main import COMMANDS, SHELLS, main, parser
from server_agg.cli.sources import read_envelope, read_keys

__all__ = ["COMMANDS", "PROGRAM", "SHELLS", "SIGNED", "at_a_terminal", "json_of", "main", "parser", "read_envelope",
           "read_keys", "refused", "run", "shell", "signed_survey", "template_text"]  # fmt: skip

PROGRAM = [sys.executable, "-m", "server_agg.cli.main"]
SIGNED = ["survey.signed.json", "--trust", "publisher.pem.pub"]


def run(capsys, *words):
    """(exit code, standard output, standard error) of a command run here."""
    code = main([str(word) for word in words])
    said = capsys.readouterr()
    return code, said.out, said.err


def json_of(capsys, *words):
    code, out, err = run(capsys, *words, "--json")
    assert code == 0, err
    return json.loads(out)


def refused(capsys, code, hint, *words):
    """The command ends with this code and one line that holds the hint."""
    seen, out, err = run(capsys, *words)
    assert seen == code, err
    assert out == ""
    err = "".join(
        line for line in err.splitlines(keepends=True) if not line.startswith("ledger ")
    )  # named, drawn or not
    assert err.count("\n") == 1, err
    assert hint in err
    assert "Traceback" not in err
    return err


def signed_survey(folder: Path, collector: str = "https://collect.example.org/reports") -> None:
    """The template published, as the examples of --help leave it, with its reports sent to `collector`."""
    here = Path.cwd()
    os.chdir(folder)
    try:
        (folder / "survey.toml").write_text(template_text().replace("https://collect.example.org/reports", collector))
        assert main(["keygen", "--out", "publisher.pem"]) == 0
        assert main(["publish", "survey.toml", "--key", "publisher.pem", "--out", "survey.signed.json"]) == 0
    finally:
        os.chdir(here)


def template_text() -> str:
    from rrcollect.publish.survey_file import template

    return template()


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A line as it is pasted into bash, with `rrcollect` on the path."""
    bin_ = folder / ".bin"
    bin_.mkdir(exist_ok=True)
    program = bin_ / "rrcollect"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n')
    program.chmod(0o755)
    path = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-c", line], cwd=folder, env=path, capture_output=True, text=True, check=False)


def at_a_terminal(words, replies, prompt=b"not shown] "):
    """Run a program under a pseudo-terminal, type the replies, return (everything shown, exit code)."""
    child, master = pty.fork()
    if child == 0:
        os.execv(words[0], list(words))
    shown = b""
    waiting = list(replies)
    while True:
        if not select.select([master], [], [], 60)[0]:
            os.kill(child, signal.SIGKILL)
        try:
            data = os.read(master, 4096)
        except OSError:
            break
        if not data:
            break
        shown += data
        if waiting and shown.endswith(prompt):
            os.write(master, waiting.pop(0).encode())
    _, status = os.waitpid(child, 0)
    os.close(master)
    return shown.decode(), os.waitstatus_to_exitcode(status)
