"""Choices in collections of tallies: keys, merging, JSON, pilots, one option against the rest."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace

import numpy as np
import pytest

from rrcollect import Design, ParameterError, SetDesign, randomise_many
from server_agg import Tallies, Tally, TallyKey, compare, estimate, models, sampling, trend
from server_agg.count.tallies import merged
from server_agg.errors import EmptySelection

YES_NO, SETS, OTHER = Design("3/4", "3/4"), SetDesign(4, 2, "3/4"), SetDesign(4, 1, "1/2")


def key(question, design, region="north", **more):
    return TallyKey("s", question, design, (("region", region),), **more)


def sets(source, n, k=4, size=2):
    chosen = [set(source.sample(range(k), size)) for _ in range(n)]
    return ["".join("1" if j in one else "0" for j in range(k)) for one in chosen]


def reports(source, n):
    for _ in range(n):
        design = source.choice([YES_NO, SETS, OTHER])
        answer = {YES_NO: lambda: source.choice("01"), SETS: lambda: sets(source, 1)[0],
                  OTHER: lambda: sets(source, 1, size=1)[0]}[design]()  # fmt: skip
        yield SimpleNamespace(survey="s", question="tax" if design == YES_NO else "party", design=design, answer=answer,
                              segments={"region": source.choice(["north", "south"])}, round=0)  # fmt: skip


def test_kinds_stand_side_by_side_and_read_back_the_same():
    made = Tallies.of(reports(random.Random(1), 500))
    assert made.n == 500
    assert {len(tally) for tally in made.values()} == {1, 4}
    assert Tallies.from_json(made.to_json()) == made
    for entry in json.loads(made.to_json()):
        assert len(entry["counts"]) == entry["design"].get("options", 1)


@pytest.mark.parametrize("seed", range(3))
def test_any_grouping_of_the_reports_gives_the_same_tallies(seed):
    source = random.Random(seed)
    all_reports = list(reports(source, 300))
    whole = Tallies.of(all_reports)
    source.shuffle(all_reports)
    parts = [Tallies.of(all_reports[i::3]) for i in range(3)]
    assert parts[0] + parts[1] + parts[2] == whole == parts[2] + (parts[1] + parts[0])


def test_column_sums_are_those_of_the_answers():
    drawn = sets(random.Random(2), 1000)
    made = Tally.of(drawn, SETS)
    assert made == Tally(SETS, 1000, [sum(text[j] == "1" for text in drawn) for j in range(4)])
    table = np.array([[int(bit) for bit in text] for text in drawn])
    assert Tally.of(table, SETS) == made
    design = SetDesign(4, 2, "3/4")
    bulk = randomise_many([0, 1, 2, 3] * 50, design)
    assert Tally.of(bulk, design) == Tally.of(bulk.texts(), design)


@pytest.mark.parametrize("answer", ["1000", "1110", "11000", "110", "12 0", "", [1, 1, 1, 0], [1, 0]])
def test_a_set_of_another_size_is_refused_with_its_position(answer):
    with pytest.raises(ParameterError, match="^answer 1 is"):
        Tally.of(["1100", answer], SETS)
    with pytest.raises(ParameterError, match="answers is"):
        Tally.of(randomise_many([0, 1], SETS), OTHER)


@pytest.mark.parametrize("sums", [[], [5, 5], [11]])
def test_a_tally_under_another_design_is_refused(sums):
    with pytest.raises(ParameterError):
        Tallies({key("q", SETS): Tally(OTHER, 10, [10, 0, 0, 0])})
    with pytest.raises(ParameterError):
        Tallies({key("q", YES_NO): Tally(SETS, 1, [1, 1, 0, 0])})
    text = json.dumps([{"counts": sums, "design": SETS.to_wire(), "n": 10, "pilot": False, "question": "q", "round": 0,
                        "segments": {}, "survey": "s"}])  # fmt: skip
    with pytest.raises(ParameterError, match="counts"):
        Tallies.from_json(text)
    assert Tally.from_json(Tally(SETS, 10, [5, 5, 5, 5]).to_json()) == Tally(SETS, 10, [5, 5, 5, 5])


def test_designs_are_kept_apart_and_trials_too():
    first, second = Tally(SETS, 10, [9, 5, 4, 2]), Tally(OTHER, 10, [4, 3, 2, 1])
    both = Tallies({key("q", SETS): first, key("q", OTHER): second})
    assert both.each_design() == merged([second, first]) == (first, second)  # in the order of their chances
    with pytest.raises(ParameterError):
        both.one()
    assert both.where(design=SETS).one() == first
    trial = Tallies({key("q", SETS): first, TallyKey("t", "q", SETS, pilot=True): first})
    with pytest.raises(ParameterError, match="trial data"):
        trial.one()


def test_one_option_against_the_rest_is_a_collection_of_yes_no_tallies():
    north, south = Tally(SETS, 100, [70, 60, 40, 30]), Tally(SETS, 50, [30, 30, 20, 20])
    made = Tallies({key("q", SETS): north, key("q", SETS, "south"): south})
    first = made.option(0)
    assert first.by("region") == {("north",): (north[0],), ("south",): (south[0],)}
    assert first.one() == (north + south)[0]
    assert first.one().mechanism == SETS  # ε is the mechanism's
    assert compare(first.by("region"), minimum=2).options[0].groups[0].tallies == (north[0],)
    assert trend({0: north[0], 1: south[0]}).rows[1].n == 50
    other = Tally(OTHER, 80, [40, 20, 10, 10])
    assert estimate([north[0], other[0]]).n == 180
    with pytest.raises(ParameterError, match="read back"):
        first.to_json()
    with pytest.raises(ParameterError, match="option of a choice"):
        Tallies({key("q", YES_NO): Tally(YES_NO, 10, 4)}).option(0)
    with pytest.raises(ParameterError, match="option is 4"):
        made.option(4)
    with pytest.raises(EmptySelection):
        Tallies().one()


def test_columns_of_two_mechanisms_with_the_same_chances_are_not_added():
    """Two designs may have the same column and another promise: what each costs stays apart."""
    wide, narrow = SetDesign(3, 1, "1/2"), Design("3/4", "1/2")
    assert wide.column == narrow
    kept = merged([Tally(wide, 4, [2, 1, 1])[0], Tally(narrow, 4, 2)])
    assert {tally.mechanism for tally in kept} == {wide, narrow}


def test_one_option_of_records_goes_to_regressions_and_weights():
    """The bits of an option with its column are a yes/no of each record: sums, weights and a fit see one."""
    design, source = SetDesign(4, 1, "7/10").to_grid(), np.random.default_rng(3)
    truths = source.integers(0, 4, 600)
    answers = randomise_many(truths, design)
    bits, column = np.asarray(answers)[:, 2], design.column
    tally = Tally.of(answers, design)
    assert int(bits.sum()) == tally.counts[2]
    assert [int(text[2]) for text in answers.texts()] == bits.tolist()
    weighted = sampling.estimate(bits, column, weights=np.ones(600))
    assert weighted.value == pytest.approx(estimate(tally)[2].value)
    fit = models.fit(bits, np.zeros((600, 0)), column)
    assert 1 / (1 + np.exp(-fit.coefficients[0])) == pytest.approx(min(max(estimate(tally)[2].value, 0), 1), abs=1e-6)
    for wrong in (4, -1, True):
        with pytest.raises(ParameterError, match="option"):
            tally[wrong]
    with pytest.raises(ParameterError, match="answer 0"):
        Tally.of(["1100"], design)
