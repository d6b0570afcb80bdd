"""Choices and numbers on the owner's command line: tally, estimate, plot, plan."""

from __future__ import annotations

import random
import re

import pytest

from rrcollect import Choice, Number, Report, SetDesign, optimal_design
from server_agg import (
    Tallies,
    Tally,
    estimate,
    write_reports,
)
from tests.support.command_line import json_of, run
from tests.support.devices import KEY, question, survey

SETS = optimal_design(1, options=4)
ASKED = survey(
    question(id="party", attribute="party", design=SETS, rounds=2,
             kind=Choice(options=[{"en": name} for name in ("red", "blue", "green", "other")])),
    question(id="hours", attribute="hours", design=optimal_design(1),
             kind=Number(low=0, high=40, unit={"en": "hours"})),
    question(),
    segments={"sport": ["run", "ski"]},
)  # fmt: skip


def answered(source, design):
    if not isinstance(design, SetDesign):
        return source.choice("01")
    chosen = source.sample(range(design.options), design.size)
    return "".join("1" if j in chosen else "0" for j in range(design.options))


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder, source = tmp_path_factory.mktemp("kinds"), random.Random(3)
    (folder / "survey.json").write_bytes(ASKED.publish([KEY]).envelope)
    (folder / "key.pub").write_bytes(KEY.public.to_pem())
    made = [
        Report(survey=ASKED.digest, question=asked.id, design=asked.design, answer=answered(source, asked.design),
               id=f"{source.getrandbits(128):032x}", round=i % asked.rounds,
               segments={"sport": source.choice(["run", "ski"])})
        for asked in ASKED.questions
        for i in range(200)
    ]  # fmt: skip
    write_reports(folder / "night.parquet", made)
    return folder, made


def fails(capsys, hint, *words):
    """The command ends with one line that holds the hint."""
    code, out, err = run(capsys, *words)
    assert (code != 0, out, err.count("\n")) == (True, "", 1), err
    assert hint in err


def verified(folder):
    return folder / "survey.json", "--trust", folder / "key.pub"


def test_a_tally_of_every_kind_reads_back_and_is_named(desk, capsys, tmp_path):
    folder, made = desk
    out = tmp_path / "tallies.json"
    status, said, _ = run(capsys, "tally", folder / "night.parquet", *verified(folder), "--out", out)
    assert status == 0
    assert "600 rows read: 600 accepted" in said
    assert "party, round 1: red" in said
    assert "hours" in said
    texts = [one.answer for one in made if one.question == "party" and one.round == 0]
    wanted = Tally(SETS, 100, [sum(text[j] == "1" for text in texts) for j in range(4)])
    assert Tallies.from_json(out.read_text()).where(question="party", round=0).one() == wanted
    found = json_of(capsys, "estimate", out, "--question", "party", "--round", "0")
    assert [one["value"] for one in found["rows"]] == [row.value for row in estimate(wanted).rows]
    status, said, _ = run(capsys, "estimate", out, "--question", "party", "--round", "0")
    assert "party: option 1" in said
    status, said, _ = run(capsys, "estimate", out, *verified(folder))
    assert "party, round 2: green" in said
    assert " hours" in said
    assert "those of a choice hold for all its options at once" in said


def test_groups_of_every_kind(desk, capsys):
    folder, _ = desk
    source = (folder / "night.parquet", *verified(folder), "--by", "sport")
    status, said, _ = run(capsys, "estimate", *source)
    assert status == 0
    assert "all 2 groups and 4 options at once" in said
    found = json_of(capsys, "estimate", *source, "--question", "party", "--round", "1")
    assert {row["option"] for row in found[0]["rows"]} == {"red", "blue", "green", "other"}
    assert re.search(r"run +\d+ +\d+ hours", said)


@pytest.mark.parametrize(
    ("figure", "more"),
    [
        ("estimates", ("--question", "party")),
        ("estimates", ("--question", "hours")),
        ("trend", ("--question", "party", "--by", "round")),
        ("segments", ("--question", "party", "--round", "0", "--by", "sport")),
        ("segments", ("--question", "hours", "--by", "sport")),
    ],
)
def test_pictures_of_every_kind(desk, capsys, tmp_path, figure, more):
    folder, _ = desk
    out = tmp_path / "picture.svg"
    status, said, _ = run(capsys, "estimate", folder / "night.parquet", *verified(folder), *more, "--plot", out)
    assert status == 0, said
    assert ("green" in out.read_text()) is ("party" in more)


def test_a_number_is_drawn_alone(desk, capsys, tmp_path):
    folder, _ = desk
    words = ("estimate", folder / "night.parquet", *verified(folder), "--plot", tmp_path / "a.svg")
    fails(capsys, "an axis of its own", *words)


def test_typed_counts_of_a_choice_and_of_a_number(capsys):
    found = json_of(capsys, "estimate", "--counts", "420,260,180,140", "--epsilon", "1")
    assert [round(one["value"], 6) for one in found["rows"]] == [0.815744, 0.283279, 0.017047, -0.11607]
    found = json_of(capsys, "estimate", "--counts", "520", "--n", "1000", "--epsilon", "1", "--bounds", "0", "1")
    assert found["rows"][0]["value"] == pytest.approx(0.543279068275)
    for wrong in (
        ("--counts", "1,x", "--epsilon", "1"),
        ("--counts", "10,20,30"),
        ("--counts", "5", "--n", "10", "--epsilon", "1", "--options", "2", "--bounds", "0", "1"),
        ("--counts", "3,3,3", "--epsilon", "1", "--n", "5"),
    ):
        fails(capsys, "", "estimate", *wrong)


def test_plans_of_every_kind(capsys):
    assert json_of(capsys, "plan", "--epsilon", "1", "--options", "10", "--margin", "0.05")["design"]["size"] == 3
    assert json_of(capsys, "plan", "--epsilon", "1", "--bounds", "0", "40", "--margin", "2")["n"] == 1839
    assert json_of(capsys, "plan", "--epsilon", "1", "--bounds", "0", "40", "--n", "1839")["margin"] <= 2
    assert json_of(capsys, "plan", "--epsilon", "1", "--options", "3", "--n", "1000")["margin"] < 0.2
    for wrong in (("--options", "3"), ("--options", "3", "--epsilon", "1"), ("--bounds", "0", "1")):
        fails(capsys, "give ", "plan", *wrong)
