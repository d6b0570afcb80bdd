"""Respondents who do not follow the rules: the self-protective "no".

Some people say "no" (answer 0) whatever the procedure tells them.  Then there are three kinds of people,
    honest carriers      share h, who say 1 with probability p11
    honest others        share b, who say 1 with probability 1 − p00
    cheaters             share γ = 1 − h − b, who never say 1
and a survey by design i shows   λ_i = h·p11_i + b·(1 − p00_i).

Identification.  One design gives one equation for two unknowns: the cheaters cannot be seen.  Two designs given at
random to two halves of the sample give two, and (h, b, γ) is identified if and only if the ratios p11/(1 − p00) differ
("cheating detection", [CD98]).  Three designs or more leave a test of the model itself.
Who the cheaters are is *not* in the data:
    unknown (cheating detection):       the prevalence lies in [h, h + γ]
    all carriers (the stochastic lie detector [MME12]):  the prevalence is h + γ = 1 − b, honesty t = h/(h + γ)

ℓ is concave in the shares.  The estimate is its maximum on the triangle; bars are profile-likelihood; the test of "no
cheaters" is the likelihood ratio with half the usual tail, since γ = 0 is an edge.  With exactly two designs the linear
solution is unbiased, and may leave the triangle.
With one design: `sensitivity` says what the estimate would be for every supposed share of cheaters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from rrcollect.design.parameters import NumberLike
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.count.tallies import merged
from server_agg.count.tally import Tally
from server_agg.errors import TooFewAnswers
from server_agg.estimates.interval import Interval
from server_agg.estimates.numerics import chi_squared_quantile, chi_squared_tail, exact_level, turning_point
from server_agg.models.errors import NotIdentified
from server_agg.models.inference import Test, chi_squared
from server_agg.report.result import Result

__all__ = ["CheatingFit", "detect_cheating", "explain_identification"]

SHARES = ("honest carriers", "honest others", "cheaters")
Triple = tuple[float, float, float]


class _Group(NamedTuple):
    """A tally as floats: its counts, and P(1) of the three kinds of people."""

    ones: int
    zeros: int
    yes: Triple

    @classmethod
    def of(cls, tally: Tally) -> _Group:
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


def explain_identification(designs: Sequence[Design]) -> str:
    """Whether these designs, together, can show cheaters, and why.

    >>> print(explain_identification([Design("3/4", "3/4")]))
    not identified: one design gives one equation, λ = h·p11 + b·(1 − p00), for two unknown shares
    """
    distinct = list(dict.fromkeys(designs))
    if len(distinct) < 2:
        return "not identified: one design gives one equation, λ = h·p11 + b·(1 − p00), for two unknown shares"
    first = distinct[0]
    if all(_determinant(first, other) == 0 for other in distinct[1:]):
        ratio = "∞" if first.p00 == 1 else f"{float(first.p11 / (1 - first.p00)):.6g}"
        return (
            f"not identified: all designs have the same ratio p11/(1 − p00) = {ratio}, so a 1 tells the same by each "
            "and fewer of them look the same as more cheaters"
        )
    return f"identified: {len(distinct)} designs with different ratios p11/(1 − p00)"


def _determinant(a: Design, b: Design) -> Fraction:
    return a.p11 * (1 - b.p00) - b.p11 * (1 - a.p00)


@dataclass(frozen=True)
class CheatingFit(Result):
    """The three shares from tallies by two designs or more."""

    tallies: tuple[Tally, ...]
    shares: Triple
    log_likelihood: float
    no_cheaters: Test
    fit: Test | None
    unbiased: tuple[Fraction, Fraction, Fraction] | None

    @property
    def prevalence_bounds(self) -> tuple[float, float]:
        """[h, h + γ]: from "no cheater is a carrier" to "all are"."""
        return self.shares[0], self.shares[0] + self.shares[2]

    @property
    def lie_detector_prevalence(self) -> float:
        """The prevalence if all cheaters are carriers."""
        return 1 - self.shares[1]

    @property
    def honesty(self) -> float | None:
        """The share of carriers who follow the rules, if all cheaters are carriers; None if there are no carriers."""
        carriers = self.shares[0] + self.shares[2]
        return self.shares[0] / carriers if carriers > 0 else None

    def interval(self, share: str, level: NumberLike = 0.95) -> Interval:
        """The profile-likelihood bar of one of "honest carriers", "honest others", "cheaters"."""
        if share not in SHARES:
            raise ParameterError("share", share, f"one of {', '.join(SHARES)}")
        place, exact = SHARES.index(share), exact_level(level)
        lowest = self.log_likelihood - chi_squared_quantile(1 - exact) / 2
        best, groups = self.shares[place], [_Group.of(t) for t in self.tallies]

        def inside(v: float) -> bool:
            return _held(groups, place, v)[0] >= lowest

        low = turning_point(lambda v: not inside(v), 0.0, best)
        high = turning_point(inside, best, 1.0)
        return Interval((low, high), method="profile", level=exact, target=f"share of {share}")

    def as_dict(self, level: NumberLike = 0.95) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "tallies": [t.as_dict() for t in self.tallies],
            "shares": {
                name: {"value": value, "interval": self.interval(name, level).as_dict()}
                for name, value in zip(SHARES, self.shares, strict=True)
            },
            "prevalence_bounds": list(self.prevalence_bounds),
            "lie_detector": {"prevalence": self.lie_detector_prevalence, "honesty": self.honesty},
            "no_cheaters": self.no_cheaters.as_dict(),
            "fit": None if self.fit is None else self.fit.as_dict(),
            "unbiased": None if self.unbiased is None else [float(x) for x in self.unbiased],
        }


def detect_cheating(tallies: Sequence[Tally]) -> CheatingFit:
    """The shares of honest carriers, honest others and cheaters, from groups given different designs at random.

    >>> found = detect_cheating([Tally(Design("0.9", "0.7"), 1000, 230), Tally(Design("0.4", "0.7"), 1000, 530)])
    >>> [float(round(x, 4)) for x in found.shares]              # h, b, γ
    [0.2429, 0.6, 0.1571]
    >>> print(found.no_cheaters.describe())
    no cheaters: likelihood ratio χ² = 34.13, 1 df, p = 2.58e-09
    """
    counted = tuple(t for t in merged(list(tallies)) if t.n)
    words = explain_identification([t.design for t in counted])
    if words.startswith("not"):
        raise NotIdentified(f"{words}; allowed: two designs, or cheating_sensitivity for one")
    if min(t.n for t in counted) < 2:
        raise TooFewAnswers(min(t.n for t in counted), "a group")
    groups, more = [_Group.of(t) for t in counted], len(counted) - 2
    linear = None if more else _linear(counted)
    shares, level = _maximum(groups, linear)
    honest, _ = _held(groups, 2, 0.0)
    statistic = max(0.0, 2 * (level - honest))
    p = chi_squared_tail(statistic, 1) / 2 if statistic > 0 else 1.0
    no_cheaters = Test("no cheaters", "likelihood ratio", statistic, 1, p)
    saturated = sum(group.saturated() for group in groups)
    fit = chi_squared("three kinds of people", "likelihood ratio", 2 * (saturated - level), more) if more else None
    return CheatingFit(counted, shares, level, no_cheaters, fit, linear)


def _linear(groups: Sequence[Tally]) -> tuple[Fraction, Fraction, Fraction]:
    (a, b), rates = groups, [Fraction(t.ones, t.n) for t in groups]
    determinant = _determinant(a.design, b.design)
    h = (rates[0] * (1 - b.design.p00) - rates[1] * (1 - a.design.p00)) / determinant
    others = (a.design.p11 * rates[1] - b.design.p11 * rates[0]) / determinant
    return h, others, 1 - h - others


def _slopes(groups: Sequence[_Group], shares: Triple) -> Triple:
    """dℓ by each share, λ and 1 − λ both taken as sums over the three kinds."""
    found = [0.0, 0.0, 0.0]
    for group in groups:
        yes = group.rate(shares)
        up, down = group.ones / max(yes, 1e-300), group.zeros / max(1 - yes, 1e-300)
        for kind, y in enumerate(group.yes):
            found[kind] += up * y + down * (1 - y)
    return found[0], found[1], found[2]


def _held(groups: Sequence[_Group], place: int, value: float) -> tuple[float, Triple]:
    """The maximum of ℓ with one share held, and where: the other two split the rest (ℓ is concave along the split)."""
    one, other = (k for k in range(3) if k != place)
    rest = 1 - value

    def at(split: float) -> Triple:
        shares = [0.0, 0.0, 0.0]
        shares[place], shares[one], shares[other] = value, split, rest - split
        return shares[0], shares[1], shares[2]

    def rising(split: float) -> bool:
        slopes = _slopes(groups, at(split))
        return slopes[one] > slopes[other]

    best = at(turning_point(rising, 0.0, rest))
    return sum(group.log_likelihood(group.rate(best)) for group in groups), best


def _maximum(groups: Sequence[_Group], linear: Sequence[Fraction] | None) -> tuple[Triple, float]:
    """The maximum on the triangle: the linear solution if it lies there; else bisection on the cheaters' share, whose
    profile is concave too."""
    if linear is not None and min(linear) >= 0:
        shares = float(linear[0]), float(linear[1]), float(linear[2])
        return shares, sum(group.saturated() for group in groups)

    def rising(value: float) -> bool:
        _, shares = _held(groups, 2, value)
        slopes = _slopes(groups, shares)
        return slopes[2] > max(slopes[k] for k in (0, 1) if shares[k] > 0)

    level, shares = _held(groups, 2, turning_point(rising, 0.0, 1 - 1e-12))
    return shares, level
