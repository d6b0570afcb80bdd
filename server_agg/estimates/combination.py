"""Sums and quotients of the options of one choice, with bars that know that options are dependent; and totals.

Σ wπ̂ is a mean over the answers of y = Σ w(bit − q)/c, so its variance is that of the options' covariance, and y lies
between two ends that the mechanism knows (`answer_ends`).  Bars:

    adjusted   value ∓ z·SE after `MORE` answers were added, half of them at each end of y [AC00]: approximate; holds
               near its level where value ∓ z·SE does not, as it is never of width 0
    wald       value ∓ z·SE: approximate
    hoeffding  guaranteed for every target, as answers are independent and y lies between two ends

The share R of an option a among several, R = π_a/π_b, is where π_a − Rπ_b = 0.  Its bar is Fieller's: every R for which
the bar of that sum holds 0.  It is guaranteed if the sum's is.  Where nothing shows that there is anybody in b, every R
is possible.

Rules
1. The edge rule: a value beyond what is possible is cut to it before an end is computed that it would draw inward.
2. The p-value is that of the adjusted bar: the bar holds 0 if and only if p is not below 1 − level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from rrcollect.design.mechanism import Mechanism
from rrcollect.design.parameters import NumberLike
from server_agg.count.tally import Tally
from server_agg.estimates.exact import hoeffding_reach, unbiased
from server_agg.estimates.interval import TargetLike, target_words
from server_agg.estimates.methods import ALL_CUT, NO_ERROR, NO_WIDTH, WALD_WARNING, checked_method, methods_for
from server_agg.estimates.numerics import (
    ROUNDING_MARGIN,
    binomial_at_least,
    float_below,
    likeliest_shares,
    nearest_shares,
    normal_quantile,
    normal_tail,
    turning_point,
)
from server_agg.estimates.share import Share
from server_agg.results.interval import Interval, Misfit, exact_level
from server_agg.results.result import Result
from server_agg.results.row import SHARES, Row, Scale

MORE = 3
STEP = 1e-9  # how finely an end of a quotient is looked for, to the safe side
NOBODY = "nothing shows that there is anybody in the group: every share is possible"
ALL_EQUAL = "width 0: all scores are equal, so nothing is random"


@dataclass(frozen=True)
class Combination(Result):
    """One figure made of others: a group of options, a difference of two, a mean of scores, a share among several, a
    total."""

    row: Row
    target: str
    kinds: tuple[str, ...] = methods_for("options")

    @property
    def rows(self) -> tuple[Row, ...]:
        """The figure."""
        return (self.row,)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods for its bar."""
        return self.kinds


class _Sum(NamedTuple):
    """A sum of options as its bars see it."""

    n: int
    value: float
    error: float
    ends: tuple[float, float]  # of what one answer says about it

    @property
    def adjusted(self) -> tuple[float, float]:
        """The value and its error with `MORE` answers added."""
        n, more, (low, high) = self.n, MORE, self.ends
        middle, reach, people = (low + high) / 2, (high - low) / 2, self.n + MORE
        value = (n * self.value + more * middle) / people
        spread = n * (n * self.error**2 + (self.value - value) ** 2) + more * (reach**2 + (middle - value) ** 2)
        return value, math.sqrt(spread) / people

    def bar(self, method: str, level: Fraction) -> tuple[float, float]:
        """Both ends, not yet cut."""
        if method == "hoeffding":
            width = Fraction(self.ends[1]) - Fraction(self.ends[0])
            half = float(hoeffding_reach(width**2 / self.n, (1 - level) / 2)) + ROUNDING_MARGIN
            return self.value - half, self.value + half
        value, error = self.adjusted if method == "adjusted" else (self.value, self.error)
        half = normal_quantile((1 - level) / 2) * error
        return value - half, value + half


def sum_of_options(
    n: int, value: float, error: float, *, name: str, scale: Scale, ends: tuple[float, float], target: str
) -> Combination:
    """Σ weight·share over the options: a group of them, a difference of two, a mean of scores."""
    (least, most), cut = scale.ends, scale.clipped(value)

    def made(at: float) -> _Sum:
        return _Sum(n, at, error, ends)

    def bar(level: NumberLike, method: str | None) -> Interval:
        share, how = exact_level(level), method or "adjusted"
        sure = checked_method("options", how).guaranteed
        at = (value, value) if how == "wald" else (min(value, most), max(value, least))
        found = made(at[0]).bar(how, share)[0], made(at[1]).bar(how, share)[1]
        low, high = (min(max(end, least), most) for end in found)
        why = ALL_EQUAL if ends[0] == ends[1] else NO_ERROR if least <= value <= most else ALL_CUT
        notes = [WALD_WARNING if how == "wald" else "", why if high - low < NO_WIDTH else ""]
        return Interval(
            (low, high), method=how, level=share, target=name, guaranteed=sure, warning="; ".join(filter(None, notes))
        )

    centre, spread = made(cut).adjusted
    p = min(1.0, 2 * normal_tail(abs(centre) / spread)) if spread else float(centre == 0)
    return Combination(Row(name, n, value, error, bar, p, None, scale), target)


@dataclass(frozen=True)
class Options:
    """The shares of the options of a choice by one design, and how they hang together."""

    tally: Tally
    target: TargetLike = "population"

    def __getitem__(self, option: int) -> Share:
        """One option as a yes/no."""
        return Share(self.tally[option], self.target)

    @cached_property
    def exact_values(self) -> tuple[Fraction, ...]:
        """The unbiased shares, exactly."""
        return tuple(unbiased(one) for one in self.tally)

    @cached_property
    def exclusive(self) -> bool:
        """Whether an answer holds one option: sums of options are then a yes/no, and the likelihood is known."""
        return tuple(self.tally.design.pair_chances()) == (0, 0) and sum(self.tally.counts) == self.tally.n

    def covariance(self, i: int, j: int) -> Fraction:
        """The unbiased estimate of the covariance of two shares, for the target."""
        if i == j:
            return self[i].variance
        n, values, column = self.tally.n, self.exact_values, self.tally.column
        with_truth, both_others = self.tally.design.pair_chances()
        p, q, share = column.p11, 1 - column.p00, values[i] + values[j]
        together = both_others + (with_truth - both_others) * share
        seen = Fraction(self.tally.counts[i] * self.tally.counts[j], n * n)
        drawn = (together - seen) / ((n - 1) * column.c**2)
        noise = (share * (with_truth - p * q) + (1 - share) * (both_others - q * q)) / (n * column.c**2)
        f = self[i].sampled_share
        return Fraction((1 - f) * drawn + f * noise)

    def simplex(self) -> list[float]:
        """The shares brought into [0, 1] and adding up to 1: of greatest likelihood where an answer holds one option,
        otherwise the nearest such shares.  Biased; for reading, not for adding up."""
        found = likeliest_shares(self.tally) if self.exclusive else nearest_shares(self.exact_values)
        return [float(value) for value in found]

    @property
    def misfit(self) -> Misfit:
        """Whether some count is too extreme for any shares: k times the least chance, at most 1."""
        column, n, k = self.tally.column, self.tally.n, len(self.tally)
        few = min(binomial_at_least(n - count, n, float(column.p00)) for count in self.tally.counts)
        many = min(binomial_at_least(count, n, float(column.p11)) for count in self.tally.counts)
        return Misfit(min(1.0, k * few), "below") if few <= many else Misfit(min(1.0, k * many), "above")

    def intervals(self, level: NumberLike, method: str) -> list[Interval]:
        """The bars of all options, holding at once: each at 1 − α/k, then tightened by what the others leave."""
        k, miss = len(self.tally), 1 - exact_level(level)
        each = 1 - (miss if k == 2 else miss / k)
        bars = [self[j].interval(each, method) for j in range(k)]
        low, high = (sum((Fraction(bar[end]) for bar in bars), Fraction(0)) for end in (0, 1))
        tight = [
            (
                max(bar.low, float_below(1 - high + Fraction(bar.high))),
                min(bar.high, -float_below(low - Fraction(bar.low) - 1)),
            )
            for bar in bars
        ]
        if k == 2 or not bars[0].guaranteed or any(ends[0] > ends[1] for ends in tight):
            tight = [(bar.low, bar.high) for bar in bars]
        return [bar.with_ends(ends, level=exact_level(level)) for ends, bar in zip(tight, bars, strict=True)]

    def combined(self, weights: Sequence[Fraction], name: str, scale: Scale) -> Combination:
        """Σ weight·share, by the covariance."""
        value = sum((w * v for w, v in zip(weights, self.exact_values, strict=True)), Fraction(0))
        used = [j for j, weight in enumerate(weights) if weight]
        square = sum((weights[i] * weights[j] * self.covariance(i, j) for i in used for j in used), Fraction(0))
        error, ends = math.sqrt(max(square, Fraction(0))), self.tally.design.answer_ends(weights)
        n, target = self.tally.n, target_words(self.target)
        return sum_of_options(n, float(value), error, name=name, scale=scale, ends=ends, target=target)

    def among(self, option: int, several: Sequence[int], name: str) -> Combination:
        """The share of an option among several, one of which it is."""
        share = sum((self.exact_values[j] for j in several), Fraction(0))
        crossed = sum((self.covariance(option, j) for j in several), Fraction(0))
        square = sum((self.covariance(i, j) for i in several for j in several), Fraction(0))
        given = Quotient(
            (float(self.exact_values[option]), float(share)),
            (float(self[option].variance), float(crossed), float(square)),
            len(several),
            self.tally.design,
        )
        return share_among(self.tally.n, given, name, target_words(self.target))


class Quotient(NamedTuple):
    """The share of an option among `several`: both shares, unbiased, and (variance, covariance, variance) of them."""

    shares: tuple[float, float]
    squares: tuple[float, float, float]
    several: int
    design: Mechanism


def share_among(n: int, given: Quotient, name: str, target: str) -> Combination:
    """The share of an option among several, with Fieller's bar; its value is None if the group seems empty."""
    (option, group), (a, ab, b) = given.shares, given.squares
    others = [0] * (given.design.cells - given.several)
    value = min(max(option / group, 0.0), 1.0) if group > 0 else None

    def bar(level: NumberLike, method: str | None) -> Interval:
        share, how = exact_level(level), method or "adjusted"
        sure = checked_method("options", how).guaranteed

        def of_sum(of: float, quotient: float) -> tuple[float, float]:
            error = math.sqrt(max(a - 2 * quotient * ab + quotient**2 * b, 0.0))
            weights: list[Any] = [1 - quotient, *[-quotient] * (given.several - 1), *others]
            return _Sum(n, of - quotient * group, error, given.design.answer_ends(weights)).bar(how, share)

        low, high = 0.0, 1.0
        if value is not None:
            under, over = min(option, group), max(option, 0.0)
            low = turning_point(lambda quotient: of_sum(under, quotient)[0] > 0, 0.0, value, STEP)
            high = 1 - turning_point(lambda missing: of_sum(over, 1 - missing)[1] < 0, 0.0, 1 - value, STEP)
        notes = [WALD_WARNING if how == "wald" else "", NOBODY if (low, high) == (0.0, 1.0) else ""]
        notes.append(NO_ERROR if high - low <= 2 * STEP else "")
        return Interval(
            (low, high), method=how, level=share, target=name, guaranteed=sure, warning="; ".join(filter(None, notes))
        )

    return Combination(Row(name, n, value, None, bar, None, None, SHARES), target)
