"""The likelihood of the prevalence, from one or several tallies, on [0, 1].

    ℓ(π) = Σ N log λ + (n − N) log(1 − λ),   λ = 1 − p00 + πc          (0·log 0 = 0)
is concave in π: its derivative, the score Σ c(N − nλ)/(λ(1−λ)), falls.  So the maximum on [0, 1] is 0 if the score is
<= 0 there, 1 if it is >= 0 there, and otherwise found by bisection; and {π : 2(ℓ(π̂) − ℓ(π)) <= x} is an interval.
Information (expected): Σ n c²/(λ(1−λ)).
The deviance is summed as N·log(λ̂/λ) + (n−N)·log((1−λ̂)/(1−λ)) with log1p, so that it does not drown in ℓ for large n.
All tallies must be oriented (c > 0).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from server_agg.count.tally import Tally
from server_agg.estimates.numerics import turning_point, unbiased


class _Term(NamedTuple):
    """One tally as floats; λ and 1 − λ are sums of positive terms, so that neither loses digits near 0."""

    ones: int
    zeros: int
    c: float
    yes0: float
    yes1: float
    no0: float
    no1: float

    def rates(self, pi: float) -> tuple[float, float]:
        """λ and 1 − λ."""
        return self.yes0 * (1 - pi) + self.yes1 * pi, self.no0 * (1 - pi) + self.no1 * pi


def _terms(tallies: Sequence[Tally]) -> list[_Term]:
    terms = []
    for tally in tallies:
        (no0, yes0), (no1, yes1) = ((float(p) for p in row) for row in tally.column.matrix)
        terms.append(_Term(tally.ones, tally.n - tally.ones, float(tally.column.c), yes0, yes1, no0, no1))
    return terms


def _score(terms: Sequence[_Term], pi: float) -> float:
    """The derivative of ℓ; infinite where an observed answer is impossible."""
    total = 0.0
    for term in terms:
        yes, no = term.rates(pi)
        if (term.ones and not yes) or (term.zeros and not no):
            return math.inf if term.ones and not yes else -math.inf
        total += term.c * ((term.ones / yes if term.ones else 0.0) - (term.zeros / no if term.zeros else 0.0))
    return total


def maximum_likelihood(tallies: Sequence[Tally]) -> float:
    """The maximum of ℓ on [0, 1].  For one tally this is the clipped unbiased value."""
    if len(tallies) == 1:
        return float(min(max(unbiased(tallies[0]), Fraction(0)), Fraction(1)))
    here, there = _terms(tallies), _terms([tally.mirrored() for tally in tallies])
    low = turning_point(lambda pi: _score(here, pi) > 0, 0.0, 1.0)
    high = 1.0 - turning_point(lambda pi: _score(there, pi) > 0, 0.0, 1.0)
    return (low + high) / 2


def _deviance(terms: Sequence[_Term], best: float, pi: float) -> float:
    """2(ℓ(best) − ℓ(π)); infinite where π makes an observed answer impossible."""
    total = 0.0
    for term in terms:
        for times, at_best, here in zip((term.ones, term.zeros), term.rates(best), term.rates(pi), strict=True):
            if times:
                if not here:
                    return math.inf
                there = at_best or times / (term.ones + term.zeros)  # it is 0 only by rounding
                total += times * (math.log1p((there - here) / here) if 2 * there > here else math.log(there / here))
    return 2 * total


def deviance_lower(tallies: Sequence[Tally], threshold: float) -> float:
    """The lower end of {π in [0, 1] : deviance <= threshold}."""
    best, terms = maximum_likelihood(tallies), _terms(tallies)
    return turning_point(lambda pi: pi < best and _deviance(terms, best, pi) > threshold, 0.0, 1.0)


def information(tallies: Sequence[Tally], pi: float) -> float:
    """The expected information about π; infinite where an answer is certain."""
    total = 0.0
    for term in _terms(tallies):
        yes, no = term.rates(pi)
        if not yes or not no:
            return math.inf
        total += (term.ones + term.zeros) * term.c**2 / (yes * no)
    return total
