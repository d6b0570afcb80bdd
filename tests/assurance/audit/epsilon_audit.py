"""A black box is asked many times with either truth: how large must its ε be at least?  Helper of several checks.

For an event (said yes; said no) and two truths x, y: (ε, δ) demands P(event | x) <= e^ε P(event | y) + δ.  With
Clopper–Pearson limits low for the one probability and high for the other, each with doubt/8, ε is at least
ln((low − δ)/high) for every event and order of truths together, except with a chance of at most `doubt`.

Two bounds are used: the one reported has doubt 1/1000 (99.9 %).  A claim is called refuted only by the bound with doubt
1e-10, so that a sound mechanism whose promise is tight is accused with at most that chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import beta

REPORTED, REFUTING = 1e-3, 1e-10


@dataclass(frozen=True)
class Count:
    """What one truth led to: so many of n trials said yes."""

    n: int
    yes: int


def epsilon_at_least(no: Count, yes: Count, delta: float = 0.0, doubt: float = REPORTED) -> float:
    """The largest ε that what was seen rules out everything below.

    >>> round(epsilon_at_least(Count(10**6, 250_000), Count(10**6, 750_000)), 2)  # ln 3 = 1.0986
    1.09
    """
    bound = 0.0
    for likely, unlikely in ((no, yes), (yes, no)):
        for seen, seldom in ((likely.yes, unlikely.yes), (likely.n - likely.yes, unlikely.n - unlikely.yes)):
            low = beta.ppf(doubt / 8, seen, likely.n - seen + 1) if seen else 0.0
            high = beta.isf(doubt / 8, seldom + 1, unlikely.n - seldom) if seldom < unlikely.n else 1.0
            if low > delta:
                bound = max(bound, math.log((low - delta) / high))
    return bound


def refuted(claim: float, no: Count, yes: Count, delta: float = 0.0) -> bool:
    """Whether the claimed ε is too small, beyond the doubt at which we accuse."""
    return epsilon_at_least(no, yes, delta, REFUTING) > claim
