"""What a newcomer types first: the wrong key, a wrong address, a typo; each is told what to do, in words of the shell."""

import shlex
import subprocess

import pytest

from server_agg.cli.main import COMMANDS, main
from tests.cli.support import PROGRAM, at_a_terminal, refused, run, signed_survey
from tests.postgres_server import free_port

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
        ["verify", "survey.signed.json", "--key"],
        ["answer", "survey.signed.json", "--ledger", "l.sqlite3", "--key"],
        ["tally", "a.jsonl", "--survey", "survey.signed.json", "--key"],
        ["randomise", "t.csv", "--column", "doped", "--out", "o.jsonl", "--survey", "survey.signed.json",
         "--question", "doped", "--key"],
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


def test_a_report_that_is_not_delivered_says_why_and_is_sent_later(here):
    url = f"http://127.0.0.1:{free_port()}/reports"
    shown, code = at_a_terminal([*PROGRAM, *ANSWER, "--url", url], ["yes\n", "\n", "\n"])
    assert code == 4
    assert "delivered 0, waiting 1, refused 0" in shown
    assert "could not be reached (ConnectionRefusedError)" in shown
    assert "/reports" in shown


def test_the_help_of_answer_says_where_reports_go(capsys):
    with pytest.raises(SystemExit):
        main(["answer", "--help"])
    assert "/reports" in capsys.readouterr().out


def test_what_is_given_is_checked_before_the_survey_is_shown(here, capsys):
    for given, hint in (("sport=chess", "sport=cycling"), ("club=x", "sport=cycling"), ("sport", "NAME=VALUE")):
        err = refused(capsys, 2, hint, *ANSWER, "--segment", given)
        assert "banned substance" not in err
    refused(capsys, 2, "url", *ANSWER, "--url", "ftp://nowhere")
    done = subprocess.run([*PROGRAM, *ANSWER], input=b"yes\n", capture_output=True, check=False, start_new_session=True)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"a terminal that can hide what is typed" in done.stderr


# ---- figures --------------------------------------------------------------------------------------------------------


def test_an_estimate_worth_nothing_is_not_said_to_be_worth_0(capsys):
    code, out, _ = run(capsys, "estimate", "--yes", "0", "--n", "40", "--epsilon", "1")
    assert code == 0
    assert "direct answers" not in out
    assert "asked directly" in out
    assert "as many as" in run(capsys, "estimate", "--yes", "20", "--n", "40", "--epsilon", "1")[1]
