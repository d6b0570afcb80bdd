"""Every kind on the command line: at a terminal, from a column of truths, and when choosing a design."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rrcollect import Choice, Number, Report, SetDesign, optimal_design
from tests.inside.cli import cells_of
from tests.inside.publish import YesNo
from tests.support.accounts import living_in, reserved
from tests.support.command_line import PROGRAM, SIGNED, at_a_terminal, json_of, main, refused, run

SURVEY = """\
name = "kinds"
version = 1
title = "Kinds"
publisher = "Example Institute"
collector = "https://collect.example.org/reports"
expires = "2100-01-01T00:00:00Z"
segments = { sport = ["run", "ski"] }

[[questions]]
id = "colour"
attribute = "colour"
kind = "choice"
options = ["Red", { en = "Green", de = "Grün" }, "Blue", "White", "Other"]
text = "Which colour?"
size = 2
p = "3/4"

[[questions]]
id = "hours"
attribute = "hours"
kind = "number"
low = 0
high = 24
unit = "hours per day"
text = "How many hours?"
epsilon = "ln 3"

[[questions]]
id = "weekly"
attribute = "weekly"
text = "This week?"
epsilon = "ln 3"
rounds = 4
panel = true
"""
NAMES = ["Red", "Green", "Blue", "White", "Other"]


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    living_in(monkeypatch, tmp_path / "home")
    (tmp_path / "survey.toml").write_text(SURVEY)
    assert main(["keygen", "--out", "publisher.pem"]) == 0
    assert main(["publish", "survey.toml", "--key", "publisher.pem", "--out", "survey.signed.json"]) == 0
    with open("t.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "sport", "colour", "hours", "place"])
        writer.writerows([f"p{i}", "ski", NAMES[i % 5] if i else "Grün", i % 25, i % 7 + 1] for i in range(500))
    capsys.readouterr()
    return tmp_path


def asked(question: str, out: str) -> list[str]:
    words = ["randomise", "t.csv", "--column", question, "--id", "person", "--question", question, "--out", out]
    return [*words, "--by", "sport", *SIGNED]


# ---- at a terminal --------------------------------------------------------------------------------------------------


@pytest.mark.process
def test_an_option_and_a_number_are_typed_unseen(desk):
    words = [*PROGRAM, "answer", "survey.signed.json", "--trust", "publisher.pem.pub", "--ledger", "mine.sqlite3"]
    shown, code = at_a_terminal(words, ["9\n", "4\n", "77777\n", "19.25\n", "\n"])
    assert code == 0
    assert "> Which colour?\r\n> 1  Red\r\n> 2  Green" in shown
    assert "[the number of an option, 1 to 5, empty to decline; not shown]" in shown
    assert "please type the number of an option, 1 to 5" in shown
    assert "> hours per day\r\n[a number from 0 to 24, empty" in shown
    assert "please type a number from 0 to 24" in shown
    assert "77777" not in shown
    assert "19.25" not in shown
    assert "19.25" not in (desk / "mine.sqlite3").read_bytes().decode("latin-1")
    assert shown.count("An answer was drawn. It is shown here after it was sent.") == 2


# ---- a column of truths ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_column_of_options_becomes_reports(desk, capsys, ending):
    told = json_of(capsys, *asked("colour", f"out.{ending}"))
    assert (told["answers"], sum(told["ones"])) == (500, 1000)
    assert told["design"] == SetDesign(5, 2, "3/4").to_wire()
    if ending == "jsonl":
        reports = [Report.from_bytes(line) for line in (desk / "out.jsonl").read_bytes().splitlines()]
        answers = [report.answer for report in reports]
        assert {report.segments["sport"] for report in reports} == {"ski"}
    elif ending == "csv":
        answers = [row["answer"] for row in csv.DictReader((desk / "out.csv").read_text().splitlines())]
    else:
        answers = pq.read_table("out.parquet")["answer"].to_pylist()
    counts = Counter(place for answer in answers for place, bit in enumerate(answer) if bit == "1")
    assert [counts[place] for place in range(5)] == told["ones"]
    refused(capsys, 3, "nobody is left to draw", *asked("colour", "again.jsonl"))


def test_the_answers_of_a_column_follow_the_design(desk, capsys):
    """All truths alike: the truth's own option is in a binomial number of sets; beyond 6.5 errors in 1e-10 of runs."""
    with open("t.csv", "w", newline="") as file:
        csv.writer(file).writerows([["person", "sport", "colour"], *([f"p{i}", "ski", "Blue"] for i in range(4000))])
    ones = json_of(capsys, *asked("colour", "out.jsonl"))["ones"]
    for place, count in enumerate(ones):
        chance = 0.75 if place == 2 else (2 - 0.75) / 4
        assert abs(count - 4000 * chance) < 6.5 * (4000 * chance * (1 - chance)) ** 0.5


@pytest.mark.parametrize("ending", ["jsonl", "rrbits"])
def test_a_column_of_numbers_becomes_bits(desk, capsys, ending):
    segments = ("--by", "sport") if ending == "rrbits" else ()  # a packed file is one segment
    words = [word for word in asked("hours", f"out.{ending}") if word not in segments]
    told = json_of(capsys, *words)
    assert told["answers"] == 500
    assert 0 < told["ones"] < 500  # 1 with a chance between 1/4 and 3/4 each: 2·(3/4)^500 < 1e-62


def test_a_parquet_column_of_any_number_type(desk, capsys):
    for place, kind in enumerate((np.float32, np.int16, np.uint8, np.float64)):
        table = {"person": [f"p{place}-{i}" for i in range(50)], "sport": ["run"] * 50}
        pq.write_table(pa.table({**table, "hours": pa.array(np.arange(50, dtype=kind) % 24)}), "t.parquet")
        words = [word.replace("t.csv", "t.parquet") for word in asked("hours", f"o{place}.jsonl")]
        assert json_of(capsys, *words)["answers"] == 50


@pytest.mark.parametrize(
    ("column", "cell", "allowed"),
    [
        ("colour", "red", "one of 'Red', 'Grün', 'Green'"),
        ("colour", "", "one of"),
        ("colour", "6", "one of"),
        ("hours", "24.5", "a number from 0 to 24"),
        ("hours", "nan", "a number from 0 to 24"),
        ("hours", "inf", "a number from 0 to 24"),
        ("hours", "secret-7Q", "a number from 0 to 24"),
    ],
)
def test_a_cell_that_is_not_a_truth_is_told_by_its_place(desk, capsys, column, cell, allowed):
    rows = list(csv.reader((desk / "t.csv").read_text().splitlines()))
    rows[7][rows[0].index(column)] = cell
    with open("t.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    hint = f"row 7, column {column!r}: not a truth (not shown): use {allowed}"
    err = refused(capsys, 2, hint, *asked(column, "o.jsonl"))
    assert not cell or f" {cell}" not in err.replace(allowed, "")
    assert not os.path.exists("o.jsonl")
    assert reserved(desk / "home") == []


def test_bits_alone_of_options_and_numbers(desk, capsys):
    words = ["--column", "place", "--epsilon", "1", "--options", "7", "--out", "o.bits"]
    told = json_of(capsys, "randomise", "t.csv", *words)
    bits = np.unpackbits(np.fromfile("o.bits", np.uint8), bitorder="little", count=500 * 7).reshape(500, 7)
    design = optimal_design(1, options=7)
    assert told["design"] == design.to_wire()
    assert set(bits.sum(axis=1)) == {design.size}
    assert bits.sum(axis=0).tolist() == told["ones"]
    words = ["--epsilon", "1", "--bounds", "0", "24", "--out", "h.bits"]
    assert json_of(capsys, "randomise", "t.csv", "--column", "hours", *words)["answers"] == 500


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--column", "place", "--epsilon", "1", "--options", "7", "--bounds", "0", "1"], "not both"),
        (["--column", "hours", "--question", "hours", *SIGNED, "--bounds", "0", "1"], "it names the design"),
        (["--column", "colour", "--question", "colour", *SIGNED], "one bit per person"),
        (["--column", "sport", "--question", "weekly", *SIGNED], "without a panel"),
    ],
)
def test_words_that_do_not_go_together(desk, capsys, words, hint):
    refused(capsys, 2, hint, "randomise", "t.csv", *words, "--out", "o.bits")


def test_cells_are_read_by_their_kind():
    choice = cells_of(Choice(options=[{"en": "One", "de": "Eins"}, {"en": "Gift"}, {"en": "Poison", "de": "Gift"}]))
    given = ("One", " Eins ", "Poison", "Gift", "one", 1, None, True)
    assert [choice.read(cell) for cell in given] == [0, 0, 2, None, None, None, None, None]
    digits = cells_of(Choice(options=["10", "20"]))
    assert [digits.read(cell) for cell in (10, 20.0, "10", 20.5)] == [0, 1, 0, None]
    third = cells_of(Number(low=Fraction(1, 3), high=1))
    assert [third.read(cell) for cell in ("0.3333333333333333", "0.33333333333333337", "1", "1.0000000000000002")] == [
        None, 0.33333333333333337, 1.0, None,
    ]  # fmt: skip
    assert [cells_of(YesNo()).read(cell) for cell in ("Yes", "0.0", 1, 0.0, 2, "", None)] == [
        True, False, True, False, None, None, None,
    ]  # fmt: skip


# ---- choosing a design ----------------------------------------------------------------------------------------------


def test_design_for_options_shows_others_beside_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, "design", "--options", "10", "--epsilon", "1")
    assert code == 0
    assert "3 options of 10" in out
    assert "k-ary response" in out
    told = json_of(capsys, "design", "--options", "10", "--epsilon", "1", "--plot", "others.svg")
    assert told["design"] == optimal_design(1, options=10).to_wire()
    assert [line["people"] for line in told["compared"]][:1] == [1]
    assert (tmp_path / "others.svg").read_text().startswith("<?xml")
    json.dumps(told, allow_nan=False)


def test_design_for_two_promises_says_when_it_is_fair(capsys):
    code, out, _ = run(capsys, "design", "--epsilon-yes", "ln 2", "--epsilon-no", "ln 6", "--prevalence", "0.1")
    assert code == 0
    assert "It is fair to ask this way where only one of the answers can harm" in " ".join(out.split())
    rows = json_of(capsys, "design", "--epsilon-yes", "ln 2", "--epsilon-no", "ln 6")["candidates"]
    assert [round(row["n_variance"], 6) for row in rows] == [1.21, 2.09]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--options", "10"], "--epsilon"),
        (["--options", "10", "--epsilon", "1", "--prevalence", "0.1"], "not together with --options"),
        (["--options", "10", "--epsilon", "1", "--delta", "0.1"], "delta"),
        (["--epsilon-yes", "1"], "both of them"),
        (["--epsilon-yes", "1", "--epsilon-no", "2", "--epsilon", "1"], "not together with --epsilon-yes"),
        (["--epsilon", "1", "--epsilon-yes", "1"], "not together with --epsilon-yes"),
        ([], "--epsilon"),
    ],
)
def test_design_refuses_what_does_not_go_together(capsys, words, hint):
    refused(capsys, 2, hint, "design", *words)
