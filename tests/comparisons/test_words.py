"""What stands beside a value: misfit wherever one is shown, and "at once" under guaranteed bars alone."""

from __future__ import annotations

import itertools
import json

import pytest

from rrcollect import Design, SetDesign, classic, optimal_design
from server_agg import (
    Tallies,
    Tally,
    TallyKey,
    analyse,
    compare,
    estimate,
    models,
    sampling,
    survey_results,
    trend,
)
from tests.inside.estimates import METHODS, Groups, methods_for, p_value
from tests.support.comparing import both
from tests.support.devices import question, survey

E1 = optimal_design(1)
UNFIT, FIT = Tally(E1, 300, 40), Tally(E1, 300, 120)
FLAG = "data do not fit the design: P(a count so far below) = 1.08e-08"


def test_misfit_is_shown_in_segments_trends_and_pools():
    table = compare({"a": UNFIT, "b": FIT})
    a, b = (row.beside(row.interval()) for row in table.group_rows)
    assert table["a"].shown(table["a"].interval()) == "0.0"  # cut, with the unbiased value beside it
    assert a[0].startswith("unclipped −29.3")
    assert a[1].startswith(FLAG)
    assert b == []
    assert [note for note in table.notes if note.startswith("a: unclipped −29.3")]
    assert [note for note in table.notes if note.startswith(f"a: {FLAG}")]
    line = trend({1: UNFIT, 2: FIT})
    pooled = estimate([UNFIT, Tally(optimal_design(2), 300, 60)])
    for words in (str(table), table._repr_html_(), str(line), line._repr_html_()):
        assert FLAG in words
    assert "data do not fit the design" in pooled.sentence()
    assert pooled.as_dict()["rows"][0]["misfit"]["flag"]
    assert json.loads(table.to_json())["rows"][0]["misfit"]["flag"] is True
    mixed = compare({"a": [UNFIT, Tally(optimal_design(2), 300, 60)], "b": FIT})
    assert any("a: data do not fit the design" in note for note in mixed.notes)


CARDS = classic.kuk("0.8", "0.2", draws=2)
EVERYWHERE = {
    "estimate": lambda: estimate(UNFIT),
    "pool": lambda: estimate([UNFIT, Tally(optimal_design(2), 300, 60)]),
    "comparison": lambda: both(UNFIT, FIT),
    "many groups": lambda: compare({"a": UNFIT, "b": FIT, "c": FIT}),
    "trend across": lambda: trend({"a": UNFIT, "b": FIT, "c": FIT}),
    "trend": lambda: trend({1: UNFIT, 2: FIT}),
    "segments": lambda: compare({"a": UNFIT, "b": FIT}),
    "analysis": lambda: analyse({"answer": [1] * 40 + [0] * 260}, E1, column="answer"),
    "stratified": lambda: sampling.estimate({"a": UNFIT, "b": FIT}, population={"a": 3000, "b": 1000}),
    "post-stratified": lambda: sampling.estimate({"a": UNFIT, "b": FIT}, weights={"a": 1, "b": 3}),
    "weighted": lambda: sampling.estimate([1] * 40 + [0] * 260, E1, weights=[1.0, 2.0, 1.5] * 100),
    "mean": lambda: estimate(UNFIT, bounds=(0, 40), unit="hours"),
    "choice": lambda: estimate(Tally(SetDesign(4, 1, "1/2"), 1000, [720, 200, 50, 30])),
    "repeated draws": lambda: models.kuk([180, 20, 0], CARDS),
    "two samples": lambda: models.moors((800, 60), (200, 100), classic.moors("0.7")),
    "graph": lambda: models.graph(EMPTY, design=Design("0.6", "0.9")),
}
PAIRS = list(itertools.combinations("abcdefghijkl", 2))
EMPTY = {"source": [a for a, _ in PAIRS], "target": [b for _, b in PAIRS], "answer": [0] * len(PAIRS)}


@pytest.mark.parametrize("name", EVERYWHERE)
@pytest.mark.needs("matplotlib", "pandas")
def test_misfit_stands_beside_every_value(name):
    """In words, in HTML, LaTeX and Markdown, in plain values, in the tidy frame, and under the name in a picture."""
    found = EVERYWHERE[name]()
    for words in (str(found), found._repr_html_(), found.to_markdown(), found.to_latex()):
        assert "so far" in words or "misfit" in words
    assert "≈" not in found.to_latex()
    told = json.loads(found.to_json())
    assert '"flag": true' in json.dumps(told)
    assert any("misfit_flag" in column for column in found.to_frame().columns)
    if "stratified" in name:  # a stratum's, and not the figure's own
        assert any(note.startswith("stratum a: data do not fit") for note in found.notes)
        return
    drawn = found.plot()
    labels = [each.get_text() for each in [*drawn.axes.get_yticklabels(), *drawn.axes.get_xticklabels()]]
    assert any("so far" in label for label in labels), labels


def test_one_question_has_one_p_whoever_asks_it():
    """Counts as they were observed: two groups, two rounds, and χ² of many groups; the misfit stands beside."""
    unlikely = Tally(E1, 300, 50)
    two, three = compare({"a": unlikely, "b": Tally(E1, 300, 100)}), {"a": unlikely, "b": FIT, "c": FIT}
    assert two.test.p_value == pytest.approx(both(unlikely, Tally(E1, 300, 100)).test.p_value, rel=1e-6)
    groups = Groups.of([[t] for t in three.values()])
    assert compare(three).test.p_value == p_value(groups).p
    assert trend({1: unlikely, 2: Tally(E1, 300, 100)}).test.p_value == pytest.approx(two.test.p_value, rel=1e-9)
    assert any("a: data do not fit the design" in note for note in two.notes)


def test_misfit_of_a_pool_is_that_of_its_worst_design_for_all_of_them():
    alone = estimate([UNFIT]).misfit.tail_probability
    both = estimate([UNFIT, Tally(optimal_design(2), 300, 60)]).misfit
    assert both.tail_probability == pytest.approx(2 * alone)
    assert not estimate([FIT, Tally(optimal_design(2), 300, 60)]).misfit.told


def test_one_count_does_not_decide_about_words():
    """66 and 65 of 300 lie on both sides of the flag; both tell their probability."""
    for ones, flagged in ((66, False), (65, True)):
        words = " ".join(compare({"a": Tally(E1, 300, ones), "b": FIT}).notes)
        assert ("do not fit" in words) is flagged
        assert "P(a count so far below) = 0.0" in words


def test_misfit_is_shown_on_the_results_page():
    asked = survey(question(id="q", design=E1, rounds=2), segments={"sport": ["a", "b"]})
    cells = [("a", 0, UNFIT), ("b", 0, FIT), ("a", 1, FIT)]
    key = {(name, r): TallyKey(asked.digest, "q", E1, (("sport", name),), r) for name, r, _ in cells}
    counted = Tallies({key[name, r]: tally for name, r, tally in cells})
    (shown,) = survey_results(counted, asked, headline=0).page()["questions"]
    (table,) = shown["segments"]
    assert FLAG in table["rows"][0]["misfit"]
    assert table["rows"][1]["misfit"] is None
    assert f"a: {FLAG}" in table["note"]
    unfit = Tallies({key["a", 0]: UNFIT, key["a", 1]: FIT})
    drawn = survey_results(unfit, asked).page()["questions"][0]["trend"]
    assert FLAG in drawn["rounds"][0]["misfit"]
    assert f"0: {FLAG}" in drawn["note"]


@pytest.mark.parametrize("how", ["bonferroni", "sidak"])
@pytest.mark.parametrize("method", methods_for("one design"))
def test_only_guaranteed_bars_are_said_to_cover_at_once(method, how):
    table = compare({"a": FIT, "b": Tally(E1, 200, 100)}, method=method, simultaneous=how)
    said = table.bars_note()
    assert "the bars of both groups hold at once (" in " ".join(table.notes)
    assert ("coverage guaranteed" in said) is METHODS[method].guaranteed
    assert ("coverage approximate" in said) is not METHODS[method].guaranteed
    assert f"95 % {method} {'guaranteed' if METHODS[method].guaranteed else 'approximate'}" in table.notes[0]
    assert f"95 % {method}" in table.plot().axes.get_title()


def test_a_pooled_row_under_exact_bars_is_approximate_too():
    table = compare({"a": FIT, "b": [FIT, Tally(Design("3/4", "3/4"), 200, 100)]})
    assert "coverage approximate" in table.bars_note()
    assert "coverage guaranteed" not in table.bars_note()
    assert compare({"b": FIT}, method="wilson", minimum=30).notes[0].endswith("coverage approximate")


def test_results_give_numbers_and_no_verdicts():
    """ "the designs agree, p = 0.0111" and "no clear change" were verdicts by thresholds that nobody saw."""
    pooled = estimate([Tally(E1, 600, 230), Tally(optimal_design(2), 400, 95)])
    assert 0.01 < pooled.pooled.homogeneity.p_value < 0.2
    words = [pooled.pooled.homogeneity.describe(), pooled.sentence(), trend({1: FIT, 2: FIT}).line()]
    for each in words:
        assert "p = " in each
        assert "agree" not in each
        assert "clear" not in each
