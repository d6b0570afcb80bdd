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

With one design the share γ of cheaters is supposed, not estimated:
    h = π̂ + γ(1 − p00)/c        the share of honest carriers, from λ = h·p11 + (1 − γ − h)(1 − p00)
and the prevalence lies between h (no cheater is a carrier) and h + γ (all of them are).  The bar is the exact one of π̂,
moved, and cut to [0, 1 − γ]; a γ for which nothing is left is excluded by the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from rrcollect.design.parameters import NumberLike, probability
from rrcollect.errors import ParameterError
from server_agg.count.tallies import merged
from server_agg.count.tally import Tally, checked_tallies
from server_agg.errors import NotIdentified, TooFewAnswers
from server_agg.estimates.methods import unclipped_exact
from server_agg.estimates.numerics import chi_squared_quantile, chi_squared_tail, exact_lower, turning_point
from server_agg.estimates.share import Share
from server_agg.models.cheating_models import (
    Group,
    Triple,
    explain_identification,
    held,
    linear_shares,
    maximum,
)
from server_agg.models.fits import chi_squared
from server_agg.results.findings import Findings
from server_agg.results.interval import Interval, exact_level, percent
from server_agg.results.row import SHARES, Row, Test

CORNER, DRAWS = 10_000, 20_000  # 1/γ, also the generator's seed; tables simulated per prevalence
AT_AN_EDGE = 1e-9  # a share below is 0 but for rounding
KINDS = ("honest carriers", "honest others", "cheaters")
TARGET = "respondents"
ONE_DESIGN = "one design cannot show cheaters: their share is supposed, no cheater being a carrier, or all"
SUPPOSED = (0, "0.05", "0.1", "0.2", "0.3")


def cheating(tallies: Tally | Iterable[Tally], *, cheaters: Sequence[NumberLike] = SUPPOSED) -> Findings:
    """The shares of honest carriers, honest others and cheaters, from groups given different designs at random; from
    one tally what the estimate would be if a share (`cheaters`) of the respondents said "no" by themselves.

    From several designs the result also has `shares` (h, b, γ); `prevalence_bounds` [h, h + γ], from "no cheater is a
    carrier" to "all are"; if all cheaters are carriers, `lie_detector_prevalence` and `honesty`, the share of carriers
    who follow the rules (None if there are no carriers); the tests `no_cheaters` and, from three designs, `fit`; and
    from two the `unbiased` solution.

    >>> from rrcollect import Design
    >>> found = cheating([Tally(Design("0.9", "0.7"), 1000, 230), Tally(Design("0.4", "0.7"), 1000, 530)])
    >>> [float(round(x, 4)) for x in found.shares]              # h, b, γ
    [0.2429, 0.6, 0.1571]
    >>> print(found.no_cheaters.sentence())
    no cheaters: likelihood ratio χ² = 34.13, 1 df, p = 2.58e-09
    >>> [round(row.value, 3) for row in cheating(Tally(Design("3/4", "3/4"), 1000, 400), cheaters=[0, "0.1"]).rows]
    [0.3, 0.35]
    """
    given = checked_tallies(tallies, yes_no=True)
    if len(given) == 1:
        return _supposed(given[0], cheaters)
    counted = tuple(t for t in merged(given) if t.n)
    words = explain_identification([t.column for t in counted])
    if words.startswith("not"):
        raise NotIdentified(f"{words}: use two designs, or one tally, for which cheaters are supposed")
    if min(t.n for t in counted) < 2:
        raise TooFewAnswers(min(t.n for t in counted), "a group")
    groups, linear, shares, level, statistic = _climbed(counted)
    more = len(counted) - 2
    n = sum(t.n for t in counted)
    rows = tuple(
        Row(name, n, shares[place], None, partial(_profile, groups, place, (shares[place], level)))
        for place, name in enumerate(KINDS)
    )
    h, others, gamma = shares
    low, high = h, h + gamma  # the prevalence, from "no cheater is a carrier" to "all are"
    tests = {
        "no_cheaters": _no_cheaters(counted, statistic), "fit": _fit(groups, shares, level) if more else None
    }  # fmt: skip
    facts = {
        "tallies": counted, "shares": shares, "log_likelihood": level, **tests, "unbiased": linear,
        "prevalence_bounds": (low, high), "lie_detector_prevalence": 1 - others,
        "honesty": h / high if high > 0 else None,
    }  # fmt: skip
    told = f"prevalence: {percent(low)} % if no cheater is a carrier, {percent(high)} % if all are"
    return Findings(rows, TARGET, facts, [told, *(test.sentence() for test in tests.values() if test is not None)])


def _profile(
    groups: Sequence[Group], place: int, at: tuple[float, float], level: NumberLike, method: str | None
) -> Interval[Any]:
    """The profile-likelihood bar of one share; `at` is its value and the likelihood there."""
    best, top = at
    if method not in (None, "profile"):
        raise ParameterError("method", method, "'profile'")
    exact = exact_level(level)
    lowest = top - chi_squared_quantile(1 - exact) / 2

    def inside(v: float) -> bool:
        return held(groups, place, v)[0] >= lowest

    low = turning_point(lambda v: not inside(v), 0.0, best)
    high = turning_point(inside, best, 1.0)
    return Interval((low, high), method="profile", level=exact, target=f"share of {KINDS[place]}")


def _supposed(tally: Tally, cheaters: Sequence[NumberLike]) -> Findings:
    """One row per supposed share; one that the data exclude (h < 0 or h > 1 − γ throughout its bar) has no bar."""
    if tally.n < 2:
        raise TooFewAnswers(tally.n)
    found, rows = Share(tally), []
    for given in cheaters:
        gamma = float(probability("cheaters", given))
        shift = gamma * float((1 - tally.column.p00) / tally.column.c)
        h = min(max(found.value + shift, 0.0), 1 - gamma)
        bar = partial(_moved, found, shift, gamma)
        extras = {"cheaters": gamma, "prevalence_if_all_cheaters_are_carriers": h + gamma}
        name = f"{percent(gamma)} % cheaters"
        there = bar(0.95, None).warning == ""
        rows.append(Row(name, tally.n, h, None, bar if there else None, None, found.misfit, SHARES, extras))
    carriers = {"all carriers %": [_if_carriers(row) for row in rows]}
    return Findings(tuple(rows), TARGET, {"tallies": (tally,)}, [ONE_DESIGN], heads=carriers)


def _moved(found: Share, shift: float, gamma: float, level: NumberLike, method: str | None) -> Interval[Any]:
    """The exact bar of π̂, moved and cut."""
    if method not in (None, "exact"):
        raise ParameterError("method", method, "'exact'")
    low, high = unclipped_exact(found.problem, level)
    ends = max(low + shift, 0.0), min(high + shift, 1 - gamma)
    told = "" if ends[0] <= ends[1] else "excluded by the data"
    ends = (ends[0], max(ends)) if ends[0] <= ends[1] else (min(max(ends[0], 0.0), 1 - gamma),) * 2
    return Interval(ends, method="exact", level=level, target="share of honest carriers", guaranteed=True, warning=told)


def _if_carriers(row: Row) -> str:
    if row.bar is None or row.value is None:
        return "excluded"
    gamma, bar = float(str(row.extras["cheaters"])), row.interval()
    return f"{percent(row.value + gamma)} ({percent(bar.low + gamma)}–{percent(bar.high + gamma)})"


def _fit(groups: Sequence[Group], shares: Triple, level: float) -> Test:
    """That there are three kinds of people and no more, for three designs or more."""
    saturated = sum(group.saturated() for group in groups)
    df = len(groups) - 2 + sum(share <= AT_AN_EDGE for share in shares)
    return chi_squared("three kinds of people", "likelihood ratio", 2 * (saturated - level), df)


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
        rates = [float(t.column.says_yes(Fraction(float(prevalence)))) for t in tallies]
        drawn = generator.binomial([t.n for t in tallies], rates, (DRAWS, len(tallies)))
        tables, times = np.unique(drawn, axis=0, return_counts=True)
        same = tuple(replace(t, counts=(0,)) for t in tallies)
        reached = [_statistic(same, tuple(table)) >= statistic * (1 - 1e-9) for table in tables.tolist()]
        worst = max(worst, (1 + int(times[reached].sum())) / (DRAWS + 1))
    worst += 2 * math.sqrt(worst * (1 - worst) / DRAWS)  # a seed's error is the same for ever: the upper end of its bar
    p = min(1.0, max(half, worst + 1 / CORNER))
    return Test("no cheaters", "likelihood ratio, simulated p,", statistic, 1, p)


@lru_cache(maxsize=10_000)
def _statistic(tallies: tuple[Tally, ...], ones: tuple[int, ...]) -> float:
    """The likelihood ratio of a table: these designs and sizes with these counts."""
    return _climbed([replace(t, counts=(int(k),)) for t, k in zip(tallies, ones, strict=True)])[-1]


def _climbed(tallies: Sequence[Tally]) -> tuple[list[Group], Any, Triple, float, float]:
    """The groups, the linear solution of two, the maximum, ℓ there, and the likelihood ratio of "no cheaters"."""
    groups = [Group.of(t) for t in tallies]
    linear = linear_shares(tallies) if len(tallies) == 2 else None
    shares, level = maximum(groups, linear)
    return groups, linear, shares, level, max(0.0, 2 * (level - held(groups, 2, 0.0)[0]))
