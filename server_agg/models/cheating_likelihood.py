"""Three kinds of people behind randomised answers, and the likelihood of their shares.

    honest carriers      share h, who say 1 with probability p11
    honest others        share b, who say 1 with probability 1 − p00
    cheaters             share γ = 1 − h − b, who never say 1
ℓ is concave in the shares.  Its maximum on the triangle is the linear solution if two designs have one there, and
otherwise found by bisection: along a split of two shares, and along the third, whose profile is concave too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from rrcollect.design.yes_no import Design
from server_agg.count.tally import Tally
from server_agg.estimates.numerics import turning_point

Triple = tuple[float, float, float]


class Group(NamedTuple):
    """A tally as floats: its counts, and P(1) of the three kinds of people."""

    ones: int
    zeros: int
    yes: Triple

    @classmethod
    def of(cls, tally: Tally) -> Group:
        """Of a tally."""
        return cls(tally.ones, tally.n - tally.ones, (float(tally.design.p11), float(1 - tally.design.p00), 0.0))

    def rate(self, shares: Triple) -> float:
        """λ, within [0, 1]."""
        return min(max(sum(s * y for s, y in zip(shares, self.yes, strict=True)), 0.0), 1.0)

    def log_likelihood(self, yes: float) -> float:
        """Of answers that are 1 with probability `yes`; 0·log 0 = 0."""
        total = 0.0
        for times, rate in ((self.ones, yes), (self.zeros, 1 - yes)):
            if times:
                total += times * math.log(rate) if rate > 0 else -math.inf
        return total

    def saturated(self) -> float:
        """The most it can be: at the observed rate."""
        return self.log_likelihood(self.ones / (self.ones + self.zeros))


def determinant(a: Design, b: Design) -> Fraction:
    """Not 0: the two designs tell the shares apart."""
    return a.p11 * (1 - b.p00) - b.p11 * (1 - a.p00)


def explain_identification(designs: Sequence[Design]) -> str:
    """Whether these designs, together, can show cheaters, and why.

    >>> print(explain_identification([Design("3/4", "3/4")]))
    not identified: one design gives one equation, λ = h·p11 + b·(1 − p00), for two unknown shares
    """
    distinct = list(dict.fromkeys(designs))
    if len(distinct) < 2:
        return "not identified: one design gives one equation, λ = h·p11 + b·(1 − p00), for two unknown shares"
    first = distinct[0]
    if all(determinant(first, other) == 0 for other in distinct[1:]):
        ratio = "∞" if first.p00 == 1 else f"{float(first.p11 / (1 - first.p00)):.6g}"
        return (
            f"not identified: all designs have the same ratio p11/(1 − p00) = {ratio}, so a 1 tells the same by each "
            "and fewer of them look the same as more cheaters"
        )
    return f"identified: {len(distinct)} designs with different ratios p11/(1 − p00)"


def linear_shares(groups: Sequence[Tally]) -> tuple[Fraction, Fraction, Fraction]:
    """The shares that two designs give exactly; unbiased, and perhaps outside of the triangle."""
    (a, b), rates = groups, [Fraction(t.ones, t.n) for t in groups]
    scale = determinant(a.design, b.design)
    h = (rates[0] * (1 - b.design.p00) - rates[1] * (1 - a.design.p00)) / scale
    others = (a.design.p11 * rates[1] - b.design.p11 * rates[0]) / scale
    return h, others, 1 - h - others


def slopes_of(groups: Sequence[Group], shares: Triple) -> Triple:
    """dℓ by each share, λ and 1 − λ both taken as sums over the three kinds."""
    found = [0.0, 0.0, 0.0]
    for group in groups:
        yes = group.rate(shares)
        up, down = group.ones / max(yes, 1e-300), group.zeros / max(1 - yes, 1e-300)
        for kind, y in enumerate(group.yes):
            found[kind] += up * y + down * (1 - y)
    return found[0], found[1], found[2]


def held(groups: Sequence[Group], place: int, value: float) -> tuple[float, Triple]:
    """The maximum of ℓ with one share held, and where: the other two split the rest (ℓ is concave along the split)."""
    one, other = (k for k in range(3) if k != place)
    rest = 1 - value

    def at(split: float) -> Triple:
        shares = [0.0, 0.0, 0.0]
        shares[place], shares[one], shares[other] = value, split, rest - split
        return shares[0], shares[1], shares[2]

    def rising(split: float) -> bool:
        slopes = slopes_of(groups, at(split))
        return slopes[one] > slopes[other]

    best = at(turning_point(rising, 0.0, rest))
    return sum(group.log_likelihood(group.rate(best)) for group in groups), best


def maximum(groups: Sequence[Group], linear: Sequence[Fraction] | None) -> tuple[Triple, float]:
    """The maximum on the triangle: the linear solution if it lies there; else bisection on the cheaters' share, whose
    profile is concave too."""
    if linear is not None and min(linear) >= 0:
        shares = float(linear[0]), float(linear[1]), float(linear[2])
        return shares, sum(group.saturated() for group in groups)

    def rising(value: float) -> bool:
        _, shares = held(groups, 2, value)
        slopes = slopes_of(groups, shares)
        return slopes[2] > max(slopes[k] for k in (0, 1) if shares[k] > 0)

    level, shares = held(groups, 2, turning_point(rising, 0.0, 1 - 1e-12))
    return shares, level
