"""Completion in a real bash: the words of the grammar itself, files where files are meant, and a Tab at a terminal."""

import subprocess
import sys

import pytest

from tests.support.command_line import COMMANDS, SHELLS, at_a_terminal, parser, refused, run

BARS = ["exact", "wilson", "chebyshev", "hoeffding", "likelihood", "wald", "credible", "anytime"]


@pytest.fixture
def script(tmp_path, capsys):
    code, out, _ = run(capsys, "completion", "bash")
    assert code == 0
    (tmp_path / "rrcollect.bash").write_text(out)
    return tmp_path / "rrcollect.bash"


def completed(script, *words):
    """What bash offers after these words, the last of which is being typed."""
    typed = " ".join(f"'{word}'" for word in words)
    code = (
        f"source {script}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; "
        'complete -p rrcollect >&2; _shtab_rrcollect; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    words = ["bash", "--norc", "-c", code]
    done = subprocess.run(words, cwd=script.parent, capture_output=True, text=True, check=True)
    assert done.stderr == "complete -o bashdefault -F _shtab_rrcollect rrcollect\n"
    return [line for line in done.stdout.split("\n") if line]


def test_commands_options_and_choices(script):
    assert completed(script, "rrcollect", "") == list(COMMANDS)
    assert completed(script, "rrcollect", "--") == ["--help", "--version"]
    assert completed(script, "rrcollect", "ra") == ["randomise"]
    assert completed(script, "rrcollect", "plan", "--eps") == ["--epsilon"]
    assert completed(script, "rrcollect", "plan", "--method", "") == BARS
    assert completed(script, "rrcollect", "plan", "--target", "") == ["population", "sample"]
    assert completed(script, "rrcollect", "completion", "") == list(SHELLS)
    assert completed(script, "rrcollect", "store", "rel") == ["release"]


def test_files_are_offered_where_a_file_is_meant_and_nowhere_else(script):
    for name in ("survey.toml", "survey signed.json", "reports.sqlite3"):
        (script.parent / name).touch()
    both = ["survey signed.json", "survey.toml"]
    assert sorted(completed(script, "rrcollect", "publish", "su")) == both
    assert sorted(completed(script, "rrcollect", "tally", "reports.sqlite3", "su")) == both
    assert sorted(completed(script, "rrcollect", "tally", "reports.sqlite3", "--trust", "su")) == both
    for store in (
        ["serve", "--store"],
        ["store", "export", "--out", "out.csv", "--store"],
        ["estimate"],
        ["serve", "--token-file"],
    ):
        assert completed(script, "rrcollect", *store, "rep") == ["reports.sqlite3"]
    assert completed(script, "rrcollect", "design", "--epsilon", "su") == []
    assert completed(script, "rrcollect", "verify", "x", "--threshold", "su") == []


def test_a_tab_at_a_terminal(script, monkeypatch):
    monkeypatch.setenv("PS1", "ready> ")
    monkeypatch.setenv("INPUTRC", "/dev/null")
    monkeypatch.chdir(script.parent)
    (script.parent / "my truths.csv").touch()
    typed = [
        f"source {script}\n",
        "rrcollect() { printf '<%s>' \"$@\"; }\n",
        "rrcollect rand\tmy\t--col\t\n",
        "exit\n",
    ]
    shown, code = at_a_terminal(["/bin/bash", "--norc", "--noprofile", "-i"], typed, prompt=b"ready> ")
    assert "<randomise><my truths.csv><--column>" in shown
    assert code == 0


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_every_word(capsys, shell):
    def spelled(option):
        long = option.removeprefix("--")
        return {"fish": f" -l {long} " if long != option else f" -s {option[1:]} ", "tcsh": long.lstrip("-")}.get(
            shell, option
        )

    code, out, _ = run(capsys, "completion", shell)
    assert code == 0
    (commands,) = parser()._subparsers._group_actions
    for name, command in commands.choices.items():
        assert name in out
        for action in command._actions:
            for option in action.option_strings:
                assert spelled(option) in out


def test_other_shells_are_refused_with_the_list(capsys):
    with pytest.raises(SystemExit) as ended:
        run(capsys, "completion", "elvish")
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert all(shell in said for shell in SHELLS)
    assert said.count("\n") == 1


def test_without_shtab_the_extra_is_named(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)  # as where the extra is not installed
    refused(capsys, 5, "shtab is not installed; pip install 'rrcollect[cli]'", "completion", "bash")
