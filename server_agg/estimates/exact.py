"""Guaranteed lower ends from exact binomial tails (Clopper and Pearson) and from independence alone (Hoeffding).

For the population N ~ Bin(n, λ): the end of {λ : P(N >= observed | λ) > tail} maps affinely, π = (λ − (1−p00))/c.
Other targets: see `finite`.
Hoeffding: an estimate is a sum of independent answers, the i-th of which can move it by w_i; then
    P(π̂ − its mean >= t) <= exp(−2t²/Σw²),     so  t = √(ln(1/tail)/2 · Σw²)     leaves at most `tail`.
It holds for every target: drawing without replacement is dominated in the convex order by drawing with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from server_agg.count.tally import Tally
from server_agg.estimates.numerics import ROUNDING_MARGIN, beta_quantile, float_below

BETA_ROUNDING = 1 - Fraction(64, 2**52)  # SciPy's beta quantile is good to a few units in the last place


def unbiased(tally: Tally) -> Fraction:
    """π̂ = (N/n − (1−p00))/c, exactly."""
    return (Fraction(tally.ones, tally.n) - 1 + tally.column.p00) / tally.column.c


def exact_lower(tally: Tally, tail: Fraction) -> float:
    """Clopper and Pearson's lower end for the population, rounded down; the tally must be oriented (c > 0)."""
    yes = Fraction(0)
    if tally.ones:
        yes = Fraction(beta_quantile(tally.ones, tally.n - tally.ones + 1, tail)) * BETA_ROUNDING
    return float_below((yes - 1 + tally.design.p00) / tally.design.c - ROUNDING_MARGIN)


def squared_widths(weights: Sequence[Fraction], tallies: Sequence[Tally]) -> Fraction:
    """Σw² of the estimate Σ weight·π̂: an answer of a tally can move it by weight/(n|c|)."""
    return sum((w * w / (t.n * t.design.c**2) for w, t in zip(weights, tallies, strict=True)), Fraction(0))


def hoeffding_reach(squares: Fraction, tail: Fraction) -> Fraction:
    """t with P(estimate − its mean >= t) <= tail, rounded up; `squares` is Σw²."""
    return Fraction(math.sqrt(math.log(1 / tail) / 2 * squares)) * (1 + Fraction(8, 2**52))


def hoeffding_lower(value: Fraction, squares: Fraction, tail: Fraction) -> float:
    """Hoeffding's lower end around the unbiased value, rounded down."""
    return float_below(value - hoeffding_reach(squares, tail) - ROUNDING_MARGIN)
