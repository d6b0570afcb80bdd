"""One list of words for yes and no: every command and `analyse` read the same file in the same way."""

import csv
import json

import pytest

from rrcollect import classic
from server_agg import analyse
from server_agg.answer_words import NO, YES, yes_or_no
from server_agg.errors import UnclearAnswer
from tests.support.accounts import living_in
from tests.support.command_line import PROGRAM, SIGNED, at_a_terminal, json_of, refused, signed_survey

TYPED = {
    True: ["yes", "Yes", " YES ", "y", "Y", "true", "True", "1", "1.0", "1.00"],
    False: ["no", "No", " NO ", "n", "N", "false", "False", "0", "0.0", "-0"],
}
NEITHER = ["maybe", "2", "0.5", "yess", "ja", "t", "f", "-1", "on"]
WORDS = [(truth, word) for truth, words in TYPED.items() for word in words]
DIE = classic.forced_response(yes="1/6", no="1/6")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    living_in(monkeypatch, tmp_path / "home")
    signed_survey(tmp_path)
    return tmp_path


def written(folder, words):
    with (folder / "words.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["person", "answer"], *([f"p{i}", word] for i, word in enumerate(words))])
    return folder / "words.csv"


def test_the_words_of_the_table_are_the_listed_ones():
    assert {yes_or_no(word) for word in YES} == {True}
    assert {yes_or_no(word) for word in NO} == {False}
    assert [yes_or_no(word) for _, word in WORDS] == [truth for truth, _ in WORDS]
    assert {yes_or_no(word) for word in [*NEITHER, "", None, float("nan"), [1], b"yes"]} == {None}


def test_a_column_is_analysed_and_randomised_by_the_same_words(desk, capsys):
    path = written(desk, [word for _, word in WORDS])
    found = analyse(path, DIE, column="answer").whole.tally
    assert (found.n, found.ones) == (len(WORDS), sum(truth for truth, _ in WORDS))
    estimated = json_of(capsys, "estimate", path, "--column", "answer", "--p00", "0.8", "--p11", "0.8")
    assert estimated["rows"][0]["n"] == len(WORDS)
    words = ["--column", "answer", "--id", "person", "--question", "doped", *SIGNED, "--out", "o.jsonl"]
    assert json_of(capsys, "randomise", path, *words)["answers"] == len(WORDS)


@pytest.mark.parametrize("word", NEITHER)
def test_other_words_are_refused_by_both(desk, capsys, word):
    path = written(desk, ["yes", "no", word])
    with pytest.raises(UnclearAnswer):
        analyse(path, DIE, column="answer")
    refused(capsys, 2, "line 4", "estimate", path, "--column", "answer", "--p00", "0.8", "--p11", "0.8")
    words = ["--column", "answer", "--id", "person", "--question", "doped", *SIGNED, "--out", "o.jsonl"]
    refused(capsys, 2, "row 3", "randomise", path, *words)


@pytest.mark.process
@pytest.mark.parametrize("word", ["y", "N", "True", "0"])
def test_a_person_at_a_terminal_may_type_the_same_words(desk, word):
    words = [*PROGRAM, "answer", "survey.signed.json", "--trust", "publisher.pem.pub", "--ledger", "mine.sqlite3"]
    shown, code = at_a_terminal(words, [f"{word}\n", *["maybe\n", "\n"] * 1, *["\n"] * 9])
    assert code == 0
    assert shown.count("please type yes or no") == 1
    assert json.dumps(shown).count("An answer was drawn") == 1
