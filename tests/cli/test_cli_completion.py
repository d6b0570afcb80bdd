"""Completion in a real bash: the words of the grammar itself, and a Tab at a terminal."""

import subprocess

import pytest

from server_agg.cli.completing import grammar
from server_agg.cli.main import COMMANDS
from tests.support.command_line import at_a_terminal, run


@pytest.fixture
def script(tmp_path, capsys):
    code, out, _ = run(capsys, "completion", "bash")
    assert code == 0
    (tmp_path / "rrcollect.bash").write_text(out)
    return tmp_path / "rrcollect.bash"


def completed(script, *words):
    """What bash offers after these words, the last of which is being typed."""
    typed = " ".join(f"'{word}'" for word in words)
    code = f'source {script}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _rrcollect; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_commands_options_and_choices(script):
    assert completed(script, "rrcollect", "") == [*COMMANDS, "--help", "--version"]
    assert completed(script, "rrcollect", "ra") == ["randomise"]
    assert completed(script, "rrcollect", "design", "--eps") == ["--epsilon"]
    assert completed(script, "rrcollect", "plan", "--method", "") == ["wald", "chebyshev", "hoeffding", "exact"]
    assert completed(script, "rrcollect", "completion", "") == ["bash", "zsh", "fish", "--help", "--json"]
    assert completed(script, "rrcollect", "plot", "seg") == ["segments"]


def test_a_tab_at_a_terminal(script, monkeypatch):
    monkeypatch.setenv("PS1", "ready> ")
    monkeypatch.setenv("INPUTRC", "/dev/null")
    typed = [f"source {script}\n", "rrcollect() { echo got:$*; }\n", "rrcollect rand\t--col\t\n", "exit\n"]
    shown, code = at_a_terminal(["/bin/bash", "--norc", "--noprofile", "-i"], typed, prompt=b"ready> ")
    assert "got:randomise --column" in shown
    assert code == 0


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_get_every_word(capsys, shell):
    code, out, _ = run(capsys, "completion", shell)
    assert code == 0
    for name, _, words in grammar():
        assert name in out
        for option in words.options:
            assert (option if shell == "zsh" else f"-l {option[2:]} ") in out
