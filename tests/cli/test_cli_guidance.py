"""What a newcomer types first: the wrong key, a wrong address, a typo; each is told what to do, in plain words."""

import shlex
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.command_line import (
    COMMANDS,
    PROGRAM,
    at_a_terminal,
    main,
    refused,
    run,
    signed_survey,
    template_text,
)

ANSWER = shlex.split(COMMANDS["answer"].examples[0])[1:]


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """A folder with the template published."""
    signed_survey(tmp_path)
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    return tmp_path


# ---- keys -----------------------------------------------------------------------------------------------------------


def test_a_public_key_is_not_signed_with(here, capsys):
    err = refused(capsys, 3, "publisher.pem.pub is the public key; sign with the private one",
                  "publish", "survey.toml", "--key", "publisher.pem.pub", "--out", "o.json")  # fmt: skip
    assert "chmod" not in err
    assert not (here / "o.json").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["verify", "survey.signed.json", "--trust"],
        ["answer", "survey.signed.json", "--ledger", "l.sqlite3", "--trust"],
        ["tally", "a.jsonl", "survey.signed.json", "--trust"],
        ["randomise", "t.csv", "--column", "doped", "--id", "p", "--out", "o.jsonl", "survey.signed.json",
         "--question", "doped", "--trust"],
    ],
)  # fmt: skip
def test_a_private_key_is_not_handed_out(here, capsys, words):
    (here / "t.csv").write_text("doped\nyes\n")
    (here / "a.jsonl").write_text("")
    (here / "no.pem").write_text("no key")
    refused(capsys, 3, "publisher.pem: this is the PRIVATE key: do not hand it out", *words, "publisher.pem")
    err = refused(capsys, 3, "no.pem: this is not a public key in PEM form", *words, "no.pem")
    assert "(bytes)" not in err


# ---- answering ------------------------------------------------------------------------------------------------------


@pytest.mark.process
def test_a_report_that_is_not_delivered_says_why(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        signed_survey(tmp_path, f"http://127.0.0.1:{port}/reports")
    monkeypatch.chdir(tmp_path)
    command = [*PROGRAM, *ANSWER, "--send", "--spread", "0"]
    shown, code = at_a_terminal(command, ["yes\n", "\n", "\n", "\n", "\n"])
    assert code == 4
    assert "delivered 0, waiting 1, refused 0" in shown
    assert "could not be reached (ConnectionRefusedError)" in shown
    assert "run this again to send them" in shown


@pytest.mark.process
def test_an_address_without_a_collector_is_told_at_the_first_try(tmp_path, monkeypatch):
    class Other(BaseHTTPRequestHandler):  # knows GET alone
        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        signed_survey(tmp_path, f"http://127.0.0.1:{server.server_port}/reports")
        monkeypatch.chdir(tmp_path)
        shown, code = at_a_terminal([*PROGRAM, *ANSWER, "--send", "--spread", "0"], ["yes\n", "\n", "\n", "\n", "\n"])
        server.shutdown()
    assert code == 4
    assert "there is no collector at" in shown
    assert "delivered 0, waiting 1, refused 0" in shown


def test_the_help_of_answer_says_where_reports_go(capsys):
    with pytest.raises(SystemExit):
        main(["answer", "--help"])
    assert "send what waits to where the surveys say" in " ".join(capsys.readouterr().out.split())


@pytest.mark.process
def test_what_is_given_is_checked_before_the_survey_is_shown(here, capsys):
    for given, hint in (("sport=chess", "sport=cycling"), ("club=x", "sport=cycling"), ("sport", "NAME=VALUE")):
        err = refused(capsys, 2, hint, *ANSWER, "--segment", given)
        assert "banned substance" not in err
    refused(capsys, 2, "relay", *ANSWER, "--relay", "ftp://nowhere")
    refused(capsys, 2, "spread", *ANSWER, "--spread", "-1")
    done = subprocess.run([*PROGRAM, *ANSWER], input=b"yes\n", capture_output=True, check=False, start_new_session=True)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"an interactive terminal that can hide what you type" in done.stderr


# ---- figures --------------------------------------------------------------------------------------------------------


def test_an_estimate_worth_nothing_is_not_said_to_be_worth_0(capsys):
    code, out, _ = run(capsys, "estimate", "--counts", "0", "--n", "40", "--epsilon", "1")
    assert code == 0
    assert "direct answers" not in out
    assert "at an edge no margin is told" in out
    assert "as many as" in run(capsys, "estimate", "--counts", "20", "--n", "40", "--epsilon", "1")[1]


# ---- words of the shell, not of Python ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("publish", "give FILE, --key and --out"),
        ("randomise", "give SURVEY, one table, one --column and --out"),
        ("plan", "give --margin alone, or two of"),
        ("plan --n 3", "give --margin alone, or two of"),
        ("estimate", "give tallies, reports or a database; or --counts and --n"),
        ("estimate --counts 1 --n 3", "give the design once: --epsilon; --p00 and --p11"),
        ("estimate --counts 1400 --n 1000 --epsilon 1", "--counts is 1400: use 0 to 1000"),
        ("plan --rehearse --prevalence 0.1", "give the design once: --epsilon"),
        ("plan --rehearse --prevalence 0.1 --options 5", "give --epsilon for a choice"),
        ("serve", "give --token-file FILE"),
        ("tally a.jsonl", "give SURVEY and --trust"),
    ],
)
def test_what_is_lacking_is_asked_for_plainly(tmp_path, monkeypatch, capsys, words, hint):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RRCOLLECT_OWNER_TOKEN", raising=False)
    err = refused(capsys, 2, hint, *words.split())
    assert not [talk for talk in ("None", "[]", "'incomplete'", "'missing'", "ones") if talk in err]


@pytest.mark.parametrize(
    ("old", "new", "code", "hint"),
    [
        ('name = "clean-sport"', 'name = "Clean Sport"', 3, "s.toml: name: a name of small letters"),
        ('name = "clean-sport"', "", 3, "s.toml: name: is missing"),
        ("rounds = 2", "roundz = 2", 3, "s.toml: question 'pressed': the name 'roundz' means nothing here; did you"),
        ('epsilon = "ln 3"', "epsilom = 1", 3, "the name 'epsilom' means nothing here; did you mean 'epsilon'?"),
        ('epsilon = "ln 3"', 'epsilon = "much"', 2, "s.toml: question 'doped': epsilon is 'much'"),
        ('epsilon = "ln 3"', "", 3, "s.toml: question 'doped': give epsilon"),
        ('id = "doped"', "", 3, "s.toml: question 1: id: is missing"),
        ("max_ratio = 8", "", 3, "the line `disclosure = { exposed = …, respondents = … }`"),
        ("version = 1 ", 'version = "1" ', 3, "s.toml: version: must be a whole number"),
    ],
)  # fmt: skip
def test_a_fault_in_a_survey_names_file_and_place(here, capsys, old, new, code, hint):
    text = template_text()
    assert old in text
    (here / "s.toml").write_text(text.replace(old, new, 1))
    err = refused(capsys, code, hint, "publish", "s.toml", "--key", "publisher.pem", "--out", "o.json")
    assert not [talk for talk in ("Disclosure(", "String should", "Extra inputs", "Field required") if talk in err]
