"""The likelihood of the prevalence, from one or several tallies, on [0, 1].

    ℓ(π) = Σ N log λ + (n − N) log(1 − λ),   λ = 1 − p00 + πc          (0·log 0 = 0)
is concave in π: its derivative, the score Σ c(N − nλ)/(λ(1−λ)), falls.  So the maximum on [0, 1] is 0 if the score is
<= 0 there, 1 if it is >= 0 there, and otherwise found by bisection; and {π : 2(ℓ(π̂) − ℓ(π)) <= x} is an interval.
Information (expected): Σ n c²/(λ(1−λ)).
The deviance is summed as N·log(λ̂/λ) + (n−N)·log((1−λ̂)/(1−λ)) with log1p, so that it does not drown in ℓ for large n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from server_agg.tally import Tally

__all__ = ["deviance", "deviance_lower", "information", "maximum_likelihood", "mirrored_all"]


def mirrored_all(tallies: Sequence[Tally]) -> list[Tally]:
    """The same answers about the complementary attribute."""
    return [tally.mirrored() for tally in tallies]


def _rates(tally: Tally, pi: float) -> tuple[float, float]:
    """λ and 1 − λ, each a sum of positive terms (c > 0), so that neither loses digits near 0."""
    q00, p11 = float(1 - tally.design.p00), float(tally.design.p11)
    p00, q11 = float(tally.design.p00), float(1 - tally.design.p11)
    return q00 * (1 - pi) + p11 * pi, p00 * (1 - pi) + q11 * pi


def _score(tallies: Sequence[Tally], pi: float) -> float:
    """The derivative of ℓ; infinite where an observed answer is impossible."""
    total = 0.0
    for tally in tallies:
        yes, no = _rates(tally, pi)
        c = float(tally.design.c)
        if (tally.ones and not yes) or (tally.n - tally.ones and not no):
            return math.inf if tally.ones and not yes else -math.inf
        total += (c * tally.ones / yes if tally.ones else 0.0) - (c * (tally.n - tally.ones) / no if no else 0.0)
    return total


def maximum_likelihood(tallies: Sequence[Tally]) -> float:
    """The maximum of ℓ on [0, 1]; the tallies must be oriented (c > 0).  Mirrors exactly.

    For one tally this is the clipped unbiased value.
    """
    if len(tallies) == 1:
        tally = tallies[0]
        exact = (Fraction(tally.ones, tally.n) - 1 + tally.design.p00) / tally.design.c
        return float(min(max(exact, Fraction(0)), Fraction(1)))
    low = _bisected(lambda pi: _score(tallies, pi) > 0)
    high = 1.0 - _bisected(lambda pi: _score(mirrored_all(tallies), pi) > 0)
    return (low + high) / 2


def _bisected(below: Callable[[float], bool]) -> float:
    """The point in [0, 1] up to which `below` holds; 0 if it does not hold at 0, 1 if it holds at 1."""
    if not below(0.0):
        return 0.0
    if below(1.0):
        return 1.0
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        low, high = (middle, high) if below(middle) else (low, middle)


def deviance(tallies: Sequence[Tally], best: float, pi: float) -> float:
    """2(ℓ(best) − ℓ(π)); infinite where π makes an observed answer impossible."""
    total = 0.0
    for tally in tallies:
        counts = tally.ones, tally.n - tally.ones
        for times, at_best, here in zip(counts, _rates(tally, best), _rates(tally, pi), strict=True):
            if times:
                if not here:
                    return math.inf
                total += times * math.log1p((at_best - here) / here)
    return 2 * total


def deviance_lower(tallies: Sequence[Tally], threshold: float) -> float:
    """The lower end of {π in [0, 1] : deviance <= threshold}."""
    best = maximum_likelihood(tallies)
    return _bisected(lambda pi: pi < best and deviance(tallies, best, pi) > threshold)


def information(tallies: Sequence[Tally], pi: float) -> float:
    """The expected information about π; infinite where an answer is certain."""
    total = 0.0
    for tally in tallies:
        yes, no = _rates(tally, pi)
        if not yes or not no:
            return math.inf
        total += tally.n * float(tally.design.c) ** 2 / (yes * no)
    return total
