"""Hoeffding's reach to the digit, and where exact tails give way to it."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from rrcollect import Design
from server_agg import Tally, estimate
from server_agg.estimates.methods import TOO_LARGE, too_large
from server_agg.estimates.numerics import hoeffding_lower, hoeffding_reach, squared_widths, unbiased
from tests.inside.estimates import exact_lower
from tests.support.aims import aimed

DESIGN = Design("3/4", "3/4")
TAIL = Fraction(1, 40)


def lower(tally, tail):
    """Hoeffding's lower end for one tally."""
    return hoeffding_lower(unbiased(tally), squared_widths([Fraction(1)], [tally]), tail)


@pytest.mark.parametrize("tail", [TAIL, Fraction(1, 20), Fraction(1, 10**6)])
def test_hoeffdings_reach_is_its_formula_rounded_up_by_a_hair(tail):
    tallies = [Tally(DESIGN, 100, 40), Tally(Design("9/10", "3/5"), 50, 10)]
    weights = [Fraction(2, 3), Fraction(1, 3)]
    widths = (2 / 3) ** 2 / (100 * 0.5**2) + (1 / 3) ** 2 / (50 * 0.5**2)
    reach = hoeffding_reach(squared_widths(weights, tallies), tail)
    assert float(reach) == pytest.approx(math.sqrt(math.log(1 / tail) / 2 * widths), rel=1e-14)
    one = hoeffding_reach(squared_widths([Fraction(1)], tallies[:1]), tail)
    assert one > Fraction(math.sqrt(math.log(1 / tail) / 2 / 25))
    assert lower(tallies[0], tail) == pytest.approx(float(unbiased(tallies[0]) - one), abs=1e-10)
    assert Fraction(lower(tallies[0], tail)) < unbiased(tallies[0]) - one  # outward, exactly


def test_every_tally_has_its_weight():
    tally = Tally(DESIGN, 100, 40)
    for weights, tallies in (([Fraction(1)], [tally, tally]), ([Fraction(1), Fraction(1)], [tally])):
        with pytest.raises(ValueError, match="zip"):
            squared_widths(weights, tallies)


@pytest.mark.parametrize(("target", "most"), [("population", 10**12), ("sample", 10**12), (10**15, 10**9)])
def test_exact_tails_end_where_they_are_said_to(target, most):
    assert not too_large(estimate(Tally(DESIGN, most, most // 2), **aimed(target)).problem)
    beyond = estimate(Tally(DESIGN, most + 1, most // 2), **aimed(target))
    assert too_large(beyond.problem)
    bar = beyond.interval(0.95, "exact")
    assert bar.warning == TOO_LARGE
    assert bar.low == beyond.interval(0.95, "hoeffding").low


def test_the_exact_bar_of_a_large_survey_is_not_a_hoeffding_bar():
    tally = Tally(DESIGN, 10**12, 4 * 10**11)
    bar = estimate(tally).interval(0.95, "exact")
    assert bar.warning == ""
    assert bar.low == exact_lower(tally, TAIL) > lower(tally, TAIL)
