"""Bars by inverting |π̂ − π| <= k·σ(π) with the true standard deviation, not an estimated one.

For every target n times the variance of π̂ is a quadratic in π,
    n·Var(π) = a + bπ + s·π(1 − π),   a = p00(1−p00)/c²,   b = [p11(1−p11) − p00(1−p00)]/c²,
with s = 1 for a population, 0 for the people who answered, (M−n)/(M−1) for n of M drawn without replacement.  So the
inequality is a quadratic one and its ends are
    (B ∓ √(B² − 4AC))/(2A),   A = 1 + k²s/n,   B = 2π̂ + k²(b+s)/n,   C = π̂² − k²a/n.
k = z gives Wilson's interval; k² = 1/(1−level) is Chebyshev's inequality and k² = level/(1−level) Cantelli's, its
one-sided form: with these the coverage is guaranteed ([HLM17] Section II, the rigorous route).
Postcondition: the lower end returned is not above the exact one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from rrcollect.design.yes_no import Design
from server_agg.estimates.numerics import ROUNDING_MARGIN, float_below, normal_quantile, sqrt_above
from server_agg.results.interval import exact_level


class VarianceLine(NamedTuple):
    """Var(π) = a + bπ + s·π(1 − π), already divided by n."""

    a: Fraction
    b: Fraction
    s: Fraction

    def at(self, pi: Fraction) -> Fraction:
        """The variance at prevalence π."""
        return self.a + self.b * pi + self.s * pi * (1 - pi)

    def scaled(self, factor: Fraction) -> VarianceLine:
        """The variance times `factor`."""
        return VarianceLine(self.a * factor, self.b * factor, self.s * factor)

    def plus(self, other: VarianceLine) -> VarianceLine:
        """The variance of a sum of independent estimates."""
        return VarianceLine(self.a + other.a, self.b + other.b, self.s + other.s)

    def mirrored(self) -> VarianceLine:
        """The same variance as a function of 1 − π."""
        return VarianceLine(self.a + self.b, -self.b, self.s)


NO_VARIANCE = VarianceLine(Fraction(0), Fraction(0), Fraction(0))


def variance_line(design: Design, n: int, sampling: Fraction = Fraction(1), draws: int = 1) -> VarianceLine:
    """The exact variance of π̂ from n people with `draws` answers each; `sampling` is s.

    >>> design = Design("3/4", "3/4")
    >>> variance_line(design, 10).at(Fraction(1, 5)) == design.variance("1/5", n=10)
    True
    """
    noise0, noise1 = design.p00 * (1 - design.p00), design.p11 * (1 - design.p11)
    scale = draws * design.c**2
    return VarianceLine(noise0 / scale / n, (noise1 - noise0) / scale / n, sampling / n)


def wilson_k2(tail: Fraction) -> Fraction:
    """z² for a tail probability at one end."""
    return Fraction(normal_quantile(tail)) ** 2


def chebyshev_k2(level: object, side: str) -> Fraction:
    """The k² with which P(|π̂ − π| <= kσ) >= level, or its one-sided form, whatever the distribution."""
    exact = exact_level(level)
    return 1 / (1 - exact) if side == "both" else exact / (1 - exact)


def score_lower(value: Fraction, line: VarianceLine, k2: Fraction) -> float:
    """The lower end, rounded down."""
    a = 1 + k2 * line.s
    b = 2 * value + k2 * (line.b + line.s)
    c = value * value - k2 * line.a
    return float_below((b - sqrt_above(max(b * b - 4 * a * c, Fraction(0)))) / (2 * a) - ROUNDING_MARGIN)
