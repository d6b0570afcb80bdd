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
cheaters" is the likelihood ratio with half the usual tail, since γ = 0 is an edge; near a corner its p is simulated.
The test of the model has a degree of freedom for each design beyond two, and one more for each share that is estimated
as 0: given the face of the triangle that the maximum lies on, the likelihood ratio has that many [WD86].
With exactly two designs the linear solution is unbiased, and may leave the triangle.
With one design: `sensitivity` says what the estimate would be for every supposed share of cheaters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from rrcollect.design.parameters import NumberLike
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.count.tallies import merged
from server_agg.count.tally import Tally
from server_agg.errors import NotIdentified, TooFewAnswers
from server_agg.estimates.exact import exact_lower
from server_agg.estimates.numerics import chi_squared_quantile, chi_squared_tail, turning_point
from server_agg.models.cheating_likelihood import Group, Triple, determinant, held, linear_shares, maximum
from server_agg.models.inference import Test, chi_squared
from server_agg.report.result import Result
from server_agg.results.interval import Interval, exact_level
from server_agg.results.tables import Table
from server_agg.results.words import figure_table, percent

CORNER, DRAWS = 10_000, 999  # 1/γ, also the generator's seed; tables simulated per prevalence
AT_AN_EDGE = 1e-9  # a share below is 0 but for rounding
SHARES = ("honest carriers", "honest others", "cheaters")


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


@dataclass(frozen=True)
class CheatingFit(Result):
    """The three shares from tallies by two designs or more."""

    tidy, axis = "shares", "share of the respondents"
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
        best, groups = self.shares[place], [Group.of(t) for t in self.tallies]

        def inside(v: float) -> bool:
            return held(groups, place, v)[0] >= lowest

        low = turning_point(lambda v: not inside(v), 0.0, best)
        high = turning_point(inside, best, 1.0)
        return Interval((low, high), method="profile", level=exact, target=f"share of {share}")

    numeric = frozenset(range(1, 5))

    def cells(self) -> Table:
        """The three shares with their bars."""
        n, lines = sum(t.n for t in self.tallies), []
        for name, value in zip(SHARES, self.shares, strict=True):
            head, line = figure_table(name, n, value, self.interval(name))
            lines += line
        return head, lines

    def notes(self) -> list[str]:
        """The tests, and what the shares say about the prevalence."""
        low, high = (percent(end) for end in self.prevalence_bounds)
        tests = [test.describe() for test in (self.no_cheaters, self.fit) if test is not None]
        return [f"prevalence: {low} % if no cheater is a carrier, {high} % if all are", *tests]

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
        raise NotIdentified(f"{words}; expected two designs, or cheating_sensitivity for one")
    if min(t.n for t in counted) < 2:
        raise TooFewAnswers(min(t.n for t in counted), "a group")
    groups, more = [Group.of(t) for t in counted], len(counted) - 2
    linear = None if more else linear_shares(counted)
    shares, level = maximum(groups, linear)
    honest, _ = held(groups, 2, 0.0)
    statistic = max(0.0, 2 * (level - honest))
    no_cheaters = _no_cheaters(counted, statistic)
    fit = _fit(groups, shares, level) if more else None
    return CheatingFit(counted, shares, level, no_cheaters, fit, linear)


def _fit(groups: Sequence[Group], shares: Triple, level: float) -> Test:
    """That there are three kinds of people and no more, for three designs or more."""
    saturated = sum(group.saturated() for group in groups)
    freedom = len(groups) - 2 + sum(share <= AT_AN_EDGE for share in shares)
    return chi_squared("three kinds of people", "likelihood ratio", 2 * (saturated - level), freedom)


def _no_cheaters(tallies: Sequence[Tally], statistic: float) -> Test:
    """Half the tail of χ²; where no carriers, or nobody else, may be the truth it is too small (two edges meet there),
    and p is the largest simulated one over the prevalences that the counts allow at 1 − γ, plus γ."""
    if statistic <= 0:
        return Test("no cheaters", "likelihood ratio", 0.0, 1, 1.0)
    half = chi_squared_tail(statistic, 1) / 2
    low, high = 0.0, 1.0
    for tally in (t.oriented() for t in tallies):
        tail = Fraction(1, 2 * CORNER * len(tallies))
        low, high = max(low, exact_lower(tally, tail)), min(high, 1 - exact_lower(tally.mirrored(), tail))
    if (low > 0 and high < 1) or low > high:
        return Test("no cheaters", "likelihood ratio", statistic, 1, half)
    generator, worst = np.random.default_rng(CORNER), 0.0
    for prevalence in np.linspace(low, high, 4):
        rates = [float(t.design.says_yes(Fraction(float(prevalence)))) for t in tallies]
        drawn = generator.binomial([t.n for t in tallies], rates, (DRAWS, len(tallies)))
        tables, times = np.unique(drawn, axis=0, return_counts=True)
        same = tuple(replace(t, counts=0) for t in tallies)
        reached = [_statistic(same, tuple(table)) >= statistic * (1 - 1e-9) for table in tables.tolist()]
        worst = max(worst, (1 + int(times[reached].sum())) / (DRAWS + 1))
    p = min(1.0, max(half, worst + 1 / CORNER))
    return Test("no cheaters", "likelihood ratio, simulated p,", statistic, 1, p)


@lru_cache(maxsize=10_000)
def _statistic(tallies: tuple[Tally, ...], ones: tuple[int, ...]) -> float:
    """The likelihood ratio of a table: these designs and sizes with these counts."""
    counted = [replace(t, counts=int(k)) for t, k in zip(tallies, ones, strict=True)]
    groups = [Group.of(t) for t in counted]
    _, level = maximum(groups, linear_shares(counted) if len(counted) == 2 else None)
    return max(0.0, 2 * (level - held(groups, 2, 0.0)[0]))
