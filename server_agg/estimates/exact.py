"""Guaranteed lower ends: exact binomial tails (Clopper and Pearson), independence (Hoeffding), all n at once (Ville).

For the population N ~ Bin(n, λ): the end of {λ : P(N >= observed | λ) > tail} maps affinely, π = (λ − (1−p00))/c.
Other targets: see `finite`.
Hoeffding: an estimate is a sum of independent answers, the i-th of which can move it by w_i; then
    P(π̂ − its mean >= t) <= exp(−2t²/Σw²),     so  t = √(ln(1/tail)/2 · Σw²)     leaves at most `tail`.
It holds for every target: drawing without replacement is dominated in the convex order by drawing with.

Bars that may be looked at every day: valid at all n at once, by Ville's inequality [WR23].

For answers that come one by one from one design at one prevalence,
    e(λ) = B(N+½, n−N+½) / (B(½, ½) λ^N (1−λ)^{n−N})
is, at the true λ, a martingale that starts at 1 (the likelihood ratio of a Beta(½, ½) mixture), so it ever reaches 1/α
with probability at most α.  Hence {λ : e(λ) < 1/α}, an interval around N/n, holds λ after every answer at once with
probability >= 1 − α, however often one looks and whenever one stops; it maps to π as the exact bar does.
If the prevalence drifts, begin anew with each period.  A population's prevalence only.
The difference of two groups: each at 1 − α/2, [L1 − U2, U1 − L2].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from server_agg.count.tally import Tally
from server_agg.estimates.numerics import ROUNDING_MARGIN, beta_quantile, float_below, scipy_special

HALVINGS = 60
SLACK = 1e-9  # of log e, more than its rounding
BETA_ROUNDING = 1 - Fraction(64, 2**52)  # SciPy's beta quantile is good to a few units in the last place


def unbiased(tally: Tally) -> Fraction:
    """π̂ = (N/n − (1−p00))/c, exactly."""
    return (Fraction(tally.ones, tally.n) - 1 + tally.column.p00) / tally.column.c


def exact_lower(tally: Tally, tail: Fraction) -> float:
    """Clopper and Pearson's lower end for the population, rounded down; the tally must be oriented (c > 0)."""
    yes = Fraction(0)
    if tally.ones:
        yes = Fraction(beta_quantile(tally.ones, tally.n - tally.ones + 1, tail)) * BETA_ROUNDING
    return float_below((yes - 1 + tally.column.p00) / tally.column.c - ROUNDING_MARGIN)


def squared_widths(weights: Sequence[Fraction], tallies: Sequence[Tally]) -> Fraction:
    """Σw² of the estimate Σ weight·π̂: an answer of a tally can move it by weight/(n|c|)."""
    return sum((w * w / (t.n * t.design.c**2) for w, t in zip(weights, tallies, strict=True)), Fraction(0))


def hoeffding_reach(squares: Fraction, tail: Fraction) -> Fraction:
    """t with P(estimate − its mean >= t) <= tail, rounded up; `squares` is Σw²."""
    return Fraction(math.sqrt(math.log(1 / tail) / 2 * squares)) * (1 + Fraction(8, 2**52))


def hoeffding_lower(value: Fraction, squares: Fraction, tail: Fraction) -> float:
    """Hoeffding's lower end around the unbiased value, rounded down."""
    return float_below(value - hoeffding_reach(squares, tail) - ROUNDING_MARGIN)


def anytime_shares(ones: Any, n: int, miss: float) -> Any:
    """The lower end of λ for every count of ones; of the two points that bracket it the lower one."""
    import numpy as np

    special, counts = scipy_special(), np.asarray(ones, float)
    top = special.betaln(counts + 0.5, n - counts + 0.5) - special.betaln(0.5, 0.5)
    low, high = np.zeros(counts.shape), counts / n
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        log_e = top - special.xlogy(counts, middle) - special.xlog1py(n - counts, -middle)
        outside = log_e > math.log(1 / miss) + SLACK
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    return np.where(counts > 0, low, 0.0)


def anytime_lower(tally: Tally, miss: Fraction) -> float:
    """The lower end for the population; the tally must be oriented (c > 0)."""
    share = Fraction(float(anytime_shares([tally.ones], tally.n, float(miss))[0]))
    return float_below((share - 1 + tally.column.p00) / tally.column.c - ROUNDING_MARGIN)
