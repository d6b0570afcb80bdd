"""The variance as a line in π and the bars from it: exact numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from rrcollect import Design
from server_agg.estimates.score import VarianceLine, chebyshev_k2, score_lower, variance_line, wilson_k2

LINE = VarianceLine(Fraction(1, 2), Fraction(1, 3), Fraction(1, 5))
OTHER = VarianceLine(Fraction(1, 7), Fraction(-1, 11), Fraction(1, 13))
POINTS = [Fraction(k, 7) for k in range(8)]


def test_a_line_adds_scales_and_mirrors_as_the_variance_does():
    for pi in POINTS:
        assert LINE.at(pi) == Fraction(1, 2) + pi / 3 + pi * (1 - pi) / 5
        assert LINE.plus(OTHER).at(pi) == LINE.at(pi) + OTHER.at(pi)
        assert LINE.scaled(Fraction(3, 4)).at(pi) == LINE.at(pi) * 3 / 4
        assert LINE.mirrored().at(pi) == LINE.at(1 - pi)


def test_the_line_of_a_design_is_its_variance():
    design = Design("9/10", "3/5")
    for pi in POINTS:
        assert variance_line(design, 8).at(pi) == design.variance(pi, n=8)
        assert variance_line(design, 8, Fraction(0)).at(pi) == design.variance(pi, n=8, target="sample")
        noise = design.variance(pi, n=8, target="sample")
        assert variance_line(design, 8, draws=4).at(pi) == noise / 4 + pi * (1 - pi) / 8


@pytest.mark.parametrize(("level", "both", "one"), [("0.95", 20, 19), ("3/4", 4, 3), (0.9, 10, 9)])
def test_chebyshev_and_cantelli(level, both, one):
    assert chebyshev_k2(level, "both") == both
    assert chebyshev_k2(level, "lower") == chebyshev_k2(level, "upper") == one


def test_wilson_is_the_square_of_the_quantile():
    assert float(wilson_k2(Fraction(1, 40))) == pytest.approx(1.959963984540054**2, rel=1e-14)


@pytest.mark.parametrize("k2", [Fraction(1), Fraction(4), Fraction(19)])
@pytest.mark.parametrize("value", [Fraction(1, 5), Fraction(1, 2), Fraction(6, 5)])
def test_the_lower_end_solves_the_equation_and_is_not_above_it(k2, value):
    """(π̂ − π)² = k²·σ²(π) at the end, which is below π̂; the end returned is at most 1e-12 below it."""
    line = variance_line(Design("9/10", "3/5"), 50)
    low = score_lower(value, line, k2)
    a = float(1 + k2 * line.s)
    b = float(2 * value + k2 * (line.b + line.s))
    c = float(value**2 - k2 * line.a)
    assert low == pytest.approx((b - math.sqrt(b * b - 4 * a * c)) / (2 * a), abs=1e-10)
    assert low < value
    inside, outside = Fraction(low) + Fraction(1, 10**8), Fraction(low)
    assert (value - inside) ** 2 < k2 * line.at(inside)
    assert (value - outside) ** 2 >= k2 * line.at(outside)


def test_without_a_real_root_the_end_is_that_of_the_quadratic():
    line = VarianceLine(Fraction(-1), Fraction(0), Fraction(0))
    assert score_lower(Fraction(1, 2), line, Fraction(1)) == pytest.approx(0.5, abs=1e-9)
