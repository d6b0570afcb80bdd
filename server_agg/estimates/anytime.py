"""Bars that may be looked at every day: valid at all n at once, by Ville's inequality [WR23].

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
from fractions import Fraction
from typing import Any

from server_agg.count.tally import Tally
from server_agg.estimates.numerics import ROUNDING_MARGIN, float_below, scipy_special

HALVINGS = 60
SLACK = 1e-9  # of log e, more than its rounding


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
    return float_below((share - 1 + tally.design.p00) / tally.design.c - ROUNDING_MARGIN)
