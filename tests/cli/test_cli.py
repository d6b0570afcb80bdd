"""The command line: every example of --help works when pasted; mistakes are one line and an exit code; JSON is JSON."""

import json
import shlex
import socket
import subprocess
import sys

import pytest

from rrcollect import Design, SigningKey
from server_agg import Tallies, Tally, TallyKey
from tests.inside.cli import plain
from tests.support.command_line import COMMANDS, PROGRAM, at_a_terminal, main, parser, read_envelope, run

SURVEY = """
name = "clean-sport"
version = 1
title = "Clean sport"
publisher = "Example Institute"
collector = "https://collect.example.org/reports"
expires = "2100-01-01T00:00:00Z"
[segments]
sport = ["run", "ski"]
[[questions]]
id = "q1"
attribute = "doped"
text = "Have you ever doped?"
epsilon = "ln 3"
[[questions]]
id = "q2"
attribute = "pressured"
text = "Were you pressed?"
p00 = "3/4"
p11 = "3/4"
"""


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with a survey, a key and a signed envelope, as the examples of --help leave it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.toml").write_text(SURVEY)
    assert main(shlex.split(COMMANDS["keygen"].examples[0])[1:]) == 0
    assert main(shlex.split(COMMANDS["publish"].examples[1])[1:]) == 0
    return tmp_path


@pytest.mark.process
def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from server_agg.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print('LOADED', *sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "exit codes" in said
    loaded = set(said.split("LOADED")[1].split())
    assert not loaded & {"numpy", "scipy", "pydantic", "cryptography", "rich", "matplotlib", "duckdb", "starlette"}


# ---- what each says -----------------------------------------------------------------------------------------------


def test_estimate_from_typed_counts(capsys):
    code, out, _ = run(capsys, "estimate", "--counts", "400", "--n", "1000", "--epsilon", "1")
    assert code == 0
    assert out.startswith("28.4 % (95 % exact interval 21.8–35.1 %), n = 1000, ε = 1; target: the population")
    _, out, _ = run(
        capsys, "estimate", "--counts", "400", "--n", "1000", "--p00", "3/4", "--p11", "3/4", "--target", "sample"
    )
    assert out.startswith("30.0 %")
    _, out, _ = run(
        capsys, "estimate", "--counts", "90", "--n", "200", "--epsilon", "1", "--population", "1000", "--json"
    )
    assert json.loads(out)["target"]


def test_estimate_from_a_file_of_tallies(tmp_path, capsys):
    design = Design("3/4", "3/4")
    tallies = Tallies({TallyKey("0" * 64, "q1", design): Tally(design, 1000, 400)})
    (tmp_path / "t.json").write_text(tallies.to_json())
    code, out, _ = run(capsys, "estimate", str(tmp_path / "t.json"))
    assert code == 0
    assert out.splitlines()[1].split()[:4] == ["q1", "30.0", "23.9", "36.2"]
    assert "n = 1000; 95 % exact interval" in out


def test_design_in_all_its_ways(capsys):
    for words, expected in (
        (["--epsilon", "ln 2", "--delta", "1/4", "--prevalence", "1/4"], "a tie"),
        (["--epsilon", "1", "--delta", "0.4", "--between", "0", "0.5", "--regret"], "minimax regret"),
        (["--epsilon", "1", "--delta", "0.4", "--between", "0", "0.5"], "minimax variance"),
        (["--epsilon", "1", "--delta", "0.4", "--prevalence", "0.1", "--max-ratio", "20"], "ratio cap"),
        (["--epsilon", "1"], "Theorem 2"),
    ):
        code, out, _ = run(capsys, "design", *words)
        assert code == 0
        assert expected in out


def test_plan_in_all_its_ways(capsys):
    _, out, _ = run(capsys, "plan", "--epsilon", "1", "--margin", "0.05")
    assert "1,799" in out
    assert "9,366" in out
    assert "3,455" in out
    assert "7,166" in out  # of a bar that holds at all n at once
    assert "7,166" in run(capsys, "plan", "--epsilon", "1", "--margin", "0.05", "--method", "anytime")[1]
    assert "±5.00 points" in run(capsys, "plan", "--epsilon", "1", "--n", "1839")[1]
    assert "ε = " in run(capsys, "plan", "--n", "1799", "--margin", "0.05")[1]
    assert " 4.59\n" in run(capsys, "plan", "--margin", "0.05")[1]  # the price of privacy at ε = 1
    assert "found with probability" in run(capsys, "plan", "--epsilon", "1", "--n", "1000", "--difference", "0.2")[1]


def test_verify_says_no_by_exit_code(desk, capsys):
    SigningKey.generate().save(desk / "other.pem")
    (desk / "other.pub").write_bytes(SigningKey.load(desk / "other.pem").public.to_pem())
    code, _, err = run(capsys, "verify", "survey.signed.json", "--trust", "other.pub")
    assert code == 1
    assert "UntrustedKey" in err
    code, out, _ = run(capsys, "verify", "survey.signed.json", "--trust", "other.pub", "--json")
    assert (code, json.loads(out)["error"]) == (1, "UntrustedKey")


def test_keys_with_a_password(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RRCOLLECT_KEY_PASSWORD", "correct horse")
    (tmp_path / "survey.toml").write_text(SURVEY)
    assert main(["keygen", "--out", "k.pem", "--password"]) == 0
    assert main(["publish", "survey.toml", "--key", "k.pem", "--out", "s.json", "--password"]) == 0
    monkeypatch.setenv("RRCOLLECT_KEY_PASSWORD", "wrong")
    assert main(["publish", "survey.toml", "--key", "k.pem", "--out", "s.json", "--password", "--force"]) == 3
    assert "Traceback" not in capsys.readouterr().err


# ---- mistakes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["design", "--epsilon", "-1"], 2, "epsilon is '-1'"),
        (["design", "--epsilon", "abc"], 2, "ln 3"),
        (["design", "--epsilon", "0"], 2, "nothing could be learned"),
        (["design", "--epsilon", "1", "--regret"], 2, "--between"),
        (["design", "--epsilon", "1", "--max-ratio", "2", "--between", "0", "1"], 2, "not with --between"),
        (["design", "--epsilon", "1", "--prior", "0.1:2", "0.3"], 2, "SHARE:WEIGHT"),
        (["plan", "--power", "0.8"], 2, "--difference"),
        (["publish"], 2, "--template"),
        (["estimate", "empty.json", "--counts", "3"], 2, "not both"),
        (["estimate", "empty.json"], 2, "nothing was counted"),
        (["estimate", "junk.json"], 2, "not a file of tallies"),
        (["verify", "junk.toml", "--trust", "junk.toml"], 3, "key"),
        (["design", "--plot", "x.gif"], 2, ".svg"),
        (["design", "--classic"], 2, "--epsilon"),
        (["plan", "--epsilon", "1", "--n", "100", "--plot", "x.png"], 2, "--margin alone"),
        (["plan", "--rehearse", "--epsilon", "1"], 2, "--prevalence"),
        (["plan", "--rehearse", "--prevalence", "0.1"], 2, "--epsilon"),
        (["plan", "--rehearse", "--prevalence", "2", "--epsilon", "1"], 2, "prevalence"),
        (["demo", "--respondents", "3"], 2, "--respondents"),
        (["demo", "--web", "--port", "70000"], 2, "--port"),
        (["serve", "--make-token"], 2, "--token-file"),
        (["serve", "empty.json"], 2, "both"),
        (["plan"], 2, "two of"),
        (["plan", "--difference", "0.1"], 2, "--n or --power"),
        (["estimate"], 2, "--counts and --n"),
        (["estimate", "--counts", "4", "--n", "3", "--epsilon", "1"], 2, "--counts is 4"),
        (["estimate", "--counts", "1", "--n", "3"], 2, "--epsilon"),
        (["estimate", "--counts", "400", "--n", "1000", "--epsilon", "1", "--method", "magic"], 2, "magic"),
        (["estimate", "absent.json"], 4, "check the name"),
        (["publish", "absent.toml", "--key", "k", "--out", "o"], 4, "cannot be read"),
        (["publish", "junk.toml", "--key", "k", "--out", "o"], 3, "junk.toml"),
        (["publish", "empty.json", "--key", "k", "--out", "o"], 3, "table of names"),
        (["verify", "absent.json", "--trust", "absent.pub"], 4, "absent"),
        (["keygen", "--out", "no/folder/key.pem"], 4, "cannot be written"),
    ],
)
def test_a_mistake_is_one_line_and_a_code(tmp_path, monkeypatch, capsys, words, code, hint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "junk.toml").write_text("= =")
    (tmp_path / "empty.json").write_text("[]")
    (tmp_path / "junk.json").write_text('{"a": 1}')
    assert main(words) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert hint in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("change", ['epsilon = "ln 3"', 'id = "q2"', 'publisher = "Example Institute"'])
def test_surveys_with_something_missing(desk, capsys, change):
    (desk / "survey.toml").write_text(SURVEY.replace(change, "", 1))
    assert main(["publish", "survey.toml", "--key", "publisher.pem", "--out", "o.json"]) == 3
    assert not (desk / "o.json").exists()


def test_nothing_is_overwritten(desk, capsys):
    key = (desk / "publisher.pem").read_bytes()
    assert main(["keygen", "--out", "publisher.pem"]) == 4
    assert (desk / "publisher.pem").read_bytes() == key
    (desk / "publisher.pem").unlink()
    assert main(["keygen", "--out", "publisher.pem"]) == 4  # its public half is still there


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["plan", "--n", "many"], "--n is 'many': use a whole number"),
        (["plan", "--margn", "0.1"], "not understood: --margn 0.1; did you mean '--margin'?"),
        (["plan", "--epsilom=1"], "did you mean '--epsilon'?"),
        (["plan", "--eps", "1"], "not understood: --eps 1"),
        (["plan", "--xyzzy"], "not understood: --xyzzy; see"),
        (["store", "export", "--out", "x.json", "--stor", "a"], "did you mean '--store'?"),
        (["plan", "--method", "magic", "--n", "1"], "exact"),
        (["desing"], "there is no command 'desing'; did you mean 'design'?"),
        (["export"], "there is no command 'export'"),
        ([], "COMMAND"),
        (["keygen", "--out", "a", "b"], "not understood: b"),
    ],
)
def test_a_command_that_is_not_understood_is_one_line(capsys, words, hint):
    with pytest.raises(SystemExit) as stopped:
        main(words)
    said = capsys.readouterr().err
    assert (stopped.value.code, said.count("\n")) == (2, 1)
    assert hint in said
    assert "--help" in said


def grammars():
    """Every command and action with its own grammar."""
    for name in COMMANDS:
        (commands,) = (action for action in parser(only=name)._actions if name in (action.choices or ()))
        below = [action.choices for action in commands.choices[name]._actions if isinstance(action.choices, dict)]
        actions = below[0].items() if below else [("", commands.choices[name])]
        yield from ((f"{name} {action}".split(), grammar) for action, grammar in actions)


def test_every_option_of_every_command_is_named_when_its_last_letters_are_swapped(capsys):
    """Also where something else is lacking, such as the very option that was mistyped."""
    seen = 0
    for words, grammar in grammars():
        known = {option for action in grammar._actions for option in action.option_strings}
        for option in sorted(known):
            typed = option[:-2] + option[-1] + option[-2]
            if len(option) < 5 or typed in known:
                continue
            with pytest.raises(SystemExit, match="2"):
                main([*words, typed, "x"])
            err = capsys.readouterr().err
            assert f"did you mean {option!r}?" in err, (words, err)
            assert err.count("\n") == 1
            seen += 1
    assert seen > 150


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "store ingst",
            "ACTION is 'ingst': use one of ingest, export, backup, release, check, close; did you mean",
        ),
        ("completion bsh", "shell is 'bsh': use one of bash, zsh, fish, tcsh; did you mean 'bash'?"),
        ("plan --method exat", "did you mean 'exact'?"),
        ("demo --respondents x", "--respondents is 'x': use a whole number"),
        ("demo --pause soon", "--pause is 'soon': use a number"),
        ("keygen", "keygen: give --out; see"),
    ],
)
def test_the_grammar_says_what_happened_and_what_to_do(capsys, words, said):
    with pytest.raises(SystemExit, match="2"):
        main(words.split())
    assert said in capsys.readouterr().err


def test_a_port_that_cannot_be_used(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RRCOLLECT_OWNER_TOKEN", "a token for the tests")
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for port in (0, 99999, taken.getsockname()[1]):
            code, out, err = run(capsys, "serve", "--port", str(port))
            assert (code, out, err.count("\n")) == (2, "", 1)
            assert "--port" in err


@pytest.mark.engine
def test_reports_that_are_cut_off_are_one_line(desk, capsys):
    (desk / "short.jsonl").write_text('{"answer":"1","des')
    (desk / "short.parquet").write_bytes(b"PAR1 and no more")
    (desk / "short.sqlite3").write_bytes(b"SQLite format 3\0 and no more")
    for name in ("short.jsonl", "short.parquet", "short.sqlite3"):
        code, out, err = run(capsys, "tally", name, "survey.signed.json", "--trust", "publisher.pem.pub")
        assert code in (3, 4)
        assert (out, err.count("\n")) == ("", 1)
    code, _, err = run(capsys, "tally", "short.jsonl", "survey.signed.json", "--trust", "publisher.pem.pub")
    assert "--lenient" in err


@pytest.mark.process
def test_a_truth_is_not_asked_for_where_it_would_be_seen(desk):
    words = [*PROGRAM, *shlex.split(COMMANDS["answer"].examples[0])[1:]]
    done = subprocess.run(words, input=b"yes\n", capture_output=True, check=False, start_new_session=True)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1  # it is told before the survey is shown
    assert done.stderr.startswith(b"rrcollect answer: `rrcollect answer` needs an interactive terminal")


def test_control_characters_are_not_printed():
    assert plain("a\x1b[31mb\x07\nc") == "a?[31mb?\nc"


@pytest.mark.process
def test_a_closed_pipe_is_not_an_error():
    done = subprocess.run(
        f"{sys.executable} -m server_agg.cli.main design --classic --epsilon 1 | head -n 1",
        shell=True,
        capture_output=True,
        check=True,
    )
    assert b"Traceback" not in done.stderr


# ---- a person at a terminal -----------------------------------------------------------------------------------------


@pytest.mark.process
def test_answering_shows_neither_what_is_typed_nor_the_truth(desk):
    words = shlex.split(COMMANDS["answer"].examples[0])[1:]
    shown, code = at_a_terminal([*PROGRAM, *words, "--segment", "sport=ski"], ["perhaps\n", "yes\n", "\n"])
    assert code == 0
    assert "please type yes or no" in shown
    assert "perhaps" not in shown
    assert shown.count("Have you ever doped?") == 3  # once explained, twice asked
    assert "> Have you ever doped?\r\n[yes/no, empty to decline; not shown]" in shown  # theirs, and marked
    assert "at most 3 times as likely as the other" in shown
    assert "One answer in four is switched before it leaves this device." in shown
    again, code = at_a_terminal([*PROGRAM, *words, "--language", "de"], [])
    assert code == 0  # nothing is asked twice
    assert "not shown]" not in again
    assert "Eine von vier Antworten wird umgedreht" in again
    assert "Sie können jede Frage ablehnen." in again


@pytest.mark.process
def test_tables_on_a_terminal_are_drawn(desk):
    shown, code = at_a_terminal([*PROGRAM, "plan", "--epsilon", "1", "--margin", "0.05"], [])
    assert code == 0
    assert "─" in shown
    assert "1,799" in shown


# ---- the owner's side -----------------------------------------------------------------------------------------------


@pytest.mark.engine
def test_from_a_database_through_a_file_to_an_estimate(desk, capsys):
    from rrcollect import Report
    from server_agg import open_store
    from tests.inside.collect import Catalogue, incoming

    key = SigningKey.load(desk / "publisher.pem").public
    survey, _ = read_envelope(desk / "survey.signed.json", [key])
    store = open_store(str(desk / "reports.sqlite3"), keep_rows=True)
    Catalogue(store.shelf).publish((desk / "survey.signed.json").read_bytes(), [key.raw.hex()])
    for i in range(50):
        made = Report(
            survey=survey.digest, question="q1", design=survey.questions[0].design, answer=str(i % 2), id=f"{i:032x}"
        )
        store.take([incoming(made.row)])
    assert store.fold() == 50
    store.disconnect()
    capsys.readouterr()
    code, out, _ = run(capsys, "store", "export", "--out", "counts.json", "--store", "reports.sqlite3")
    assert (code, out) == (0, "counts.json: 50 reports\n")
    code, out, _ = run(capsys, "store", "export", "--out", "night.parquet", "--store", "reports.sqlite3")
    assert (code, out) == (0, "night.parquet: 50 reports\n")
    signed = ["survey.signed.json", "--trust", "publisher.pem.pub"]
    code, out, _ = run(capsys, "tally", "night.parquet", *signed, "--out", "tallies.json")
    assert code == 0
    assert "50 accepted" in out
    for source in ("counts.json", "tallies.json", "night.parquet", "reports.sqlite3", "sqlite:///reports.sqlite3"):
        code, out, _ = run(capsys, "estimate", source, *signed)
        assert code == 0
        assert "50.0" in out
        assert "95 % exact" in out
    code, out, _ = run(capsys, "tally", "night.parquet", *signed, "--json")
    assert json.loads(out)["summary"]["accepted"] == 50
    code, _, err = run(capsys, "estimate", "night.parquet")
    assert (code, "SURVEY and --trust" in err) == (2, True)
    code, _, err = run(capsys, "store", "export", "--out", "night.parquet", "--store", "reports.sqlite3")
    assert (code, "--force" in err) == (4, True)
    assert main(["store", "export", "--out", "night.parquet", "--store", "reports.sqlite3", "--force"]) == 0
    capsys.readouterr()
    code, _, err = run(capsys, "store", "export", "--out", "x.parquet", "--store", "absent.sqlite3")
    assert (code, "there is no database absent.sqlite3" in err) == (4, True)
    code, _, err = run(capsys, "serve", "--token-file", "absent")
    assert code != 0
    assert err.count("\n") == 1
