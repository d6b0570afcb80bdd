"""The edge rule: a count that no prevalence explains does not make a bar narrower; bars of width 0 say why."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from rrcollect import Design, classic, optimal_design
from rrcollect.classic import RepeatedDesign
from server_agg import Tally, compare, estimate, models
from tests.benchmarks.coverage import GUARANTEED, by_method, coverage
from tests.inside.estimates import METHODS, methods_for
from tests.support.aims import aimed
from tests.support.comparing import both

E1, ONE_SIDED, SKEW = optimal_design(1), Design(1, "0.05"), Design("0.9", "0.6")
RISING = [name for name in methods_for("one design") if METHODS[name].edge]
ROUNDING = 1e-12


def upper_ends(method, counts, n=300, target="population"):
    return [estimate(Tally(E1, n, k), **aimed(target)).interval(method=method).high for k in counts]


def test_66_of_300_has_the_bar_of_81():
    assert [round(high, 4) for high in upper_ends("exact", (60, 66, 80, 81))] == [0.1192] * 4
    found = estimate(Tally(E1, 300, 66))
    assert found.value < 0  # the value and the misfit stand beside it as before
    assert found.misfit.tail_probability == pytest.approx(0.03048, abs=1e-5)
    assert "unclipped −10.6" in found.sentence()
    assert "0.0–11.9 %" in found.sentence()


def test_the_planted_bar_without_the_rule_shrinks_to_nothing(monkeypatch):
    monkeypatch.setitem(METHODS, "exact", METHODS["exact"]._replace(edge=False))
    assert [round(high, 4) for high in upper_ends("exact", (60, 66, 80, 81))] == [0.0, 0.0049, 0.1116, 0.1192]


@pytest.mark.parametrize("method", RISING)
@pytest.mark.parametrize("target", ["population", "sample", 60])
def test_every_method_whose_ends_rise_keeps_the_rule_for_every_target(method, target):
    if target != "population" and METHODS[method].targets is not None:
        return
    for design in (E1, SKEW, Design("0.2", "0.3"), Design("1/4", 1)):
        bars = [estimate(Tally(design, 30, k), **aimed(target)).interval(method=method) for k in range(31)]
        ordered = bars if design.c > 0 else bars[::-1]
        assert all(bar.width > 0.01 for bar in bars)
        for one, two in pairwise(ordered):  # the ends rise with N
            assert one.low <= two.low + 1e-9
            assert one.high <= two.high + 1e-9
        oriented = design if design.c > 0 else design.swapped()
        first = -int(-(30 * (1 - oriented.p00)) // 1)  # the least count that a prevalence explains
        assert {bar.high for bar in ordered[: first + 1]} == {ordered[first].high}


@pytest.mark.parametrize("method", GUARANTEED)
def test_a_guaranteed_bar_stays_guaranteed(method):
    for design in (E1, ONE_SIDED, SKEW):
        for n in (10, 60):
            assert coverage(design, n, by_method(method), np.arange(401) / 400).min() >= 0.95 - ROUNDING


def test_other_estimates_have_the_rule_too():
    few, some = Tally(E1, 300, 40), Tally(optimal_design(2), 300, 5)
    pooled = estimate([few, some])
    for method in ("likelihood", "chebyshev", "hoeffding"):
        assert pooled.interval(method=method).high > 0.04
    assert pooled.interval("0.95", "likelihood").high > 0.1 * estimate(some).interval(method="likelihood").high
    repeated = models.kuk([400, 0, 0], RepeatedDesign(Design("3/4", "3/4"), 2))
    assert repeated.value < 0
    assert all(repeated.interval(method=m).high > 0.01 for m in methods_for("repeated draws"))
    moors = models.moors((300, 10), (300, 270), classic.moors("7/10"))
    assert moors.value < -0.3
    assert all(moors.interval(method=m).high > 0.03 for m in ("guaranteed", "hoeffding"))
    table = compare({"a": Tally(E1, 300, 40), "b": Tally(E1, 300, 120)})
    assert table["a"].interval().width > 0.1


def test_a_difference_of_counts_that_nothing_explains_is_as_wide_as_of_those_that_fit():
    """a is far below what any prevalence explains: the difference b − a may be as small as with a = 0."""
    found, fits = (both(Tally(E1, 300, 150), Tally(E1, 300, a)).difference for a in (20, 81))
    for method in ("mover", "guaranteed"):
        bar, other = found.interval(method=method), fits.interval(method=method)
        assert bar.low <= other.low + 1e-12
        assert bar.high >= other.high - 1e-12


def test_a_bar_of_width_0_says_why():
    cut = estimate(Tally(E1, 300, 40)).interval(method="wald")
    assert cut.width == 0
    assert "width 0: the whole bar lies beyond what is possible" in cut.warning
    alike = estimate(Tally(Design(1, "1/2"), 50, 0)).interval(method="wald")
    assert alike.width == 0
    assert "width 0: all answers are alike" in alike.warning
    census = estimate(Tally(Design(1, 1), 50, 20), target="sample").interval()
    assert census.width < 1e-12
    assert census.warning == "width 0: everybody was asked and every answer is the truth"
    for bar in (cut, alike, census):
        assert bar.as_dict()["warning"] == bar.warning


def test_no_bar_of_the_one_design_table_has_width_0_without_a_reason():
    for design in (E1, ONE_SIDED, Design(1, 1)):
        for target in ("population", "sample"):
            for n in (2, 9):
                for ones in range(n + 1):
                    found = estimate(Tally(design, n, ones), **aimed(target))
                    for method in methods_for("one design", target):
                        bar = found.interval(method=method)
                        assert bar.width > 1e-9 or "width 0" in bar.warning, (design, target, ones, method)


def test_the_rule_mirrors():
    found = estimate(Tally(SKEW, 40, 1)).interval()
    mirrored = estimate(Tally(SKEW, 40, 1).mirrored()).interval()
    assert (1 - Fraction(mirrored.high), 1 - Fraction(mirrored.low)) == pytest.approx(tuple(found), abs=1e-15)
