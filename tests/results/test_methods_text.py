"""The paragraph for a paper: every fact that is printed is in it, for every kind of result."""

from __future__ import annotations

import numpy as np
import pytest

from rrcollect import Design, SetDesign, classic, optimal_design
from server_agg import Tally, analyse, compare, estimate, models, plan, sampling, trend

E1 = optimal_design(1)
RNG = np.random.default_rng(3)
SAID, X, UNITS = RNG.integers(0, 2, 120), RNG.standard_normal(120), np.repeat(np.arange(12), 10)
RESULTS = {
    "estimate": lambda: estimate(Tally(E1, 100, 20)),
    "choice": lambda: estimate(Tally(SetDesign(3, 1, "3/4"), 100, [60, 25, 15])),
    "pool": lambda: estimate([Tally(E1, 100, 40), Tally(optimal_design(2), 100, 30)]),
    "mean": lambda: estimate(Tally(E1, 100, 40), bounds=(0, 40), unit="hours"),
    "two options": lambda: estimate(Tally(SetDesign(3, 1, "3/4"), 100, [60, 25, 15])).compare(0, 1),
    "comparison": lambda: compare({"a": Tally(E1, 100, 40), "b": Tally(E1, 100, 50)}),
    "trend": lambda: trend({1: Tally(E1, 100, 40), 2: Tally(E1, 100, 50)}),
    "sample": lambda: sampling.estimate(SAID, E1, clusters=UNITS, weights=np.where(X > 0, 1.0, 2.0)),
    "difference": lambda: sampling.estimate(SAID, E1, clusters=UNITS, by=X > 0).difference("False", "True"),
    "fit": lambda: models.fit(SAID, X, optimal_design(3), clusters=UNITS),
    "correlation": lambda: models.correlate(SAID, Design("9/10", "9/10"), X),
    "cheating": lambda: models.cheating(Tally(Design("3/4", "3/4"), 1000, 400)),
    "list": lambda: sampling.list_experiment([1, 2, 2, 3, 1, 2, 1, 2], [1] * 4 + [0] * 4, 3),
    "analysis": lambda: analyse({"said": SAID.tolist()}, classic.warner("0.8"), column="said"),
    "plan": lambda: plan.power_curve({"ε = 1": E1}, [200], difference="0.1", prevalence="0.2"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_it_says_who_how_what_the_bars_are_and_every_warning(name: str) -> None:
    found = RESULTS[name]()
    text = found.methods_text()
    assert text.endswith("Computed with rrcollect.")
    assert "\n" not in text
    assert ".." not in text
    assert found.context().rstrip(".") in text
    assert str(found.target) in text
    for warning in found.notes[1:]:  # the first is context and bars, each of which stands in it for itself
        assert warning.rstrip(".") in text
    bars = found.intervals()
    for bar in bars:
        assert bar.method in text
    if bars:
        assert ("approximate" in text) is not all(bar.guaranteed for bar in bars)
    else:
        assert "No error bar is given" in text
    if any(row.p_value is not None for row in found.rows):
        assert "null hypothesis" in text


def test_levels_and_designs_are_those_asked_for() -> None:
    text = estimate(Tally(E1, 100, 40)).methods_text(0.9, "wilson")
    assert "90 % wilson interval" in text
    assert "ε = 1" in text
    assert "coverage approximate" in text


def test_groups_of_your_own_data_come_in_their_own_order() -> None:
    told = {"said": ["yes", "no"] * 60, "age": (["9", "10", "100"] * 39 + ["", "", "10"])}
    found = analyse(told, classic.warner("0.8"), column="said", by="age", minimum=2)
    assert [row.name for row in found.rows][1:4] == ["9", "10", "100"]
