"""Sums and quotients of the options of one choice, with bars that know that options are dependent; and totals.

Σ wπ̂ is a mean over the answers of y = Σ w(bit − q)/c, so its variance is that of the options' covariance, and y lies
between two ends that the mechanism knows (`answer_ends`).  Bars:

    adjusted   value ∓ z·SE after a few answers were added, half of them at each end of y [AC00]: approximate; holds
               near its level where value ∓ z·SE does not, as it is never of width 0
    wald       value ∓ z·SE: approximate
    hoeffding  guaranteed for every target, as answers are independent and y lies between two ends

The share R of an option a among several, R = π_a/π_b, is where π_a − Rπ_b = 0.  Its bar is Fieller's: every R for which
the bar of that sum holds 0.  It is guaranteed if the sum's is.  Where nothing shows that there is anybody in b, every R
is possible.

Rules
1. The edge rule: a value beyond what is possible is cut to it before an end is computed that it would draw inward.
2. The p-value of a difference is that of the adjusted bar: the bar holds 0 if and only if p is not below 1 − level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from rrcollect.design.parameters import NumberLike
from server_agg.count.tally import Tally
from server_agg.estimates.effective import EffectiveSample
from server_agg.estimates.interval import ANYWHERE, Problem, Request, TargetLike, as_prior, target_words
from server_agg.estimates.methods import NO_ERROR, WALD_WARNING, adjusted, checked_method, interval_of, methods_for
from server_agg.estimates.numerics import (
    binomial_at_least,
    float_below,
    likeliest_shares,
    nearest_shares,
    normal_tail,
    turning_point,
    unbiased,
)
from server_agg.estimates.share import Share
from server_agg.results.interval import Interval, Misfit, exact_level
from server_agg.results.result import Result
from server_agg.results.row import DIFFERENCES, SHARES, Row, Scale

STEP = 1e-9  # how finely an end of a quotient is looked for, to the safe side
NOBODY = "nothing shows that there is anybody in the group: every share is possible"


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


@dataclass(frozen=True)
class Options:
    """The shares of the options of a choice by one design, and how they hang together."""

    tally: Tally
    target: TargetLike = "population"
    asked: int = 0  # the first so many are options of the question; 0: all

    @property
    def k(self) -> int:
        """How many options the question has."""
        return self.asked or len(self.tally)

    def __getitem__(self, option: int) -> Share:
        """One option as a yes/no."""
        return Share(self.tally[option], self.target)

    @cached_property
    def exact_values(self) -> tuple[Fraction, ...]:
        """The unbiased shares, exactly."""
        return tuple(unbiased(self.tally[j]) for j in range(self.k))

    @cached_property
    def exclusive(self) -> bool:
        """Whether an answer holds one option: sums of options are then a yes/no, and the likelihood is known."""
        return not any(self.tally.design.pair_chances()) and sum(self.tally.held) == self.tally.n

    def row(self, option: int, name: str) -> Row:
        """One of very many options, with the bar that holds for all of them at once."""
        share = self[option]

        def bar(level: NumberLike, method: str | None) -> Interval:
            own = exact_level(level)
            found = share.interval(1 - (1 - own) / self.k, method or "exact")
            return found.with_ends((found.low, found.high), level=own)

        more = {"count": share.tally.ones}
        value, error = float(share.exact_value), share.standard_error
        return Row(name, self.tally.n, value, error, bar, None, share.misfit, SHARES, more)

    def _line(self, i: int, j: int) -> Sequence[int]:
        """The options that are in an answer whenever two options are: of sets these two alone."""
        design: Any = self.tally.design
        return (i, j) if design is self.tally.column else tuple(design.line(i, j))

    def covariance(self, i: int, j: int) -> Fraction:
        """The unbiased estimate of the covariance of two shares, for the target."""
        if i == j:
            return self[i].variance
        n, column, tally = self.tally.n, self.tally.column, self.tally
        on_line, elsewhere = tally.design.pair_chances()
        p, q = column.p11, 1 - column.p00
        share, line = (sum(map(unbiased, (tally[v] for v in of))) for of in ((i, j), self._line(i, j)))
        together = elsewhere + (on_line - elsewhere) * line
        seen = Fraction(tally[i].ones * tally[j].ones, n * n)
        drawn = (together - seen) / ((n - 1) * column.c**2)
        noise = (together - p * q * share - q * q * (1 - share)) / (n * column.c**2)
        f = self[i].sampled_share
        return Fraction((1 - f) * drawn + f * noise)

    def simplex(self) -> list[float]:
        """The shares brought into [0, 1] and adding up to 1: of greatest likelihood where an answer holds one option,
        otherwise the nearest such shares.  Biased; for reading, not for adding up."""
        found = likeliest_shares(self.tally) if self.exclusive else nearest_shares(self.exact_values)
        return [float(value) for value in found]

    @property
    def misfit(self) -> Misfit:
        """Whether some count is too extreme for any shares: k times the least chance, at most 1.  What is no option of
        the question is nobody's truth: its share is 0."""
        column, n, held = self.tally.column, self.tally.n, self.tally.held
        few = len(held) * binomial_at_least(n - min(held), n, float(column.p00))
        many = self.k * binomial_at_least(max(held[: self.k]), n, float(column.p11))
        if unused := held[self.k :]:
            many = min(many, len(unused) * binomial_at_least(max(unused), n, 1 - float(column.p00)))
        return Misfit(min(1.0, few), "below") if few <= many else Misfit(min(1.0, many), "above")

    def intervals(self, level: NumberLike, method: str) -> list[Interval]:
        """The bars of all options, holding at once: each at 1 − α/k, then tightened by what the others leave."""
        k, miss = self.k, 1 - exact_level(level)
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

    def combined(
        self, weights: Sequence[Fraction | int], name: str, scale: Scale, covers: str, start: int = 0
    ) -> Combination:
        """start + Σ weight·share, by the covariance: a group of options, a mean of scores, what is left."""
        problem = self._sum(weights, scale, covers, start)

        def bar(level: NumberLike, method: str | None) -> Interval:
            return interval_of(problem, level, method or "adjusted")

        row = Row(name, self.tally.n, float(problem.value), problem.error(), bar, None, None, scale)
        return Combination(row, target_words(self.target))

    def difference(self, first: int, second: int, names: tuple[str, str], family: int) -> Combination:
        """One option minus another, one of `family` comparisons at once."""
        weights = [Fraction((j == first) - (j == second)) for j in range(self.k)]
        name, at_once = " − ".join(names), f", one of {family} at once" if family > 1 else ""
        problem = self._sum(weights, DIFFERENCES, f"difference {name}{at_once}")

        def bar(level: NumberLike, method: str | None) -> Interval:
            asked = exact_level(level)
            made = interval_of(problem, 1 - (1 - asked) / family, method or "adjusted")
            return made.with_ends((made.low, made.high), level=asked)

        centre, spread = adjusted(replace(problem, value=Fraction(DIFFERENCES.clipped(float(problem.value)))))
        p = min(1.0, 2 * normal_tail(abs(centre) / spread)) if spread else float(centre == 0)
        extras, shown = {"p_alone": p, "family": family}, float(self[first].exact_clipped - self[second].exact_clipped)
        row = Row(
            name, self.tally.n, float(problem.value), problem.error(), bar, min(1.0, family * p), None, DIFFERENCES,
            extras, shown,
        )  # fmt: skip
        return Combination(row, target_words(self.target))

    def _sum(self, weights: Sequence[Fraction | int], scale: Scale, covers: str, start: int = 0) -> Problem:
        """start + Σ weight·share as its bars see it."""
        used = [j for j, weight in enumerate(weights) if weight]
        value = sum((weights[j] * unbiased(self.tally[j]) for j in used), Fraction(start))
        square = sum((weights[i] * weights[j] * self.covariance(i, j) for i in used for j in used), Fraction(0))
        return self._problem(value, square, weights, start, span=scale.ends, covers=covers)

    def _problem(
        self, value: Fraction, square: Fraction | float, weights: Sequence[Any], start: int = 0, **more: Any
    ) -> Problem:
        """A sum of options as its bars see it."""
        n, (least, most) = self.tally.n, (start + Fraction(end) for end in self.tally.design.answer_ends(weights))
        error, sample = math.sqrt(max(square, 0.0)), EffectiveSample(n, least, most, n, math.inf)
        return Problem("options", value, lambda: error, n=n, squares=(most - least) ** 2 / n, sample=sample, **more)

    def among(self, option: int, several: Sequence[int], name: str) -> Combination:
        """The share of an option among several, one of which it is, with Fieller's bar; its value is None if the group
        seems empty."""
        own, group = self.exact_values[option], sum((self.exact_values[j] for j in several), Fraction(0))
        crossed = sum((self.covariance(option, j) for j in several), Fraction(0))
        square = sum((self.covariance(i, j) for i in several for j in several), Fraction(0))
        others = [0] * (self.k - len(several))
        value = float(min(max(own / group, Fraction(0)), Fraction(1))) if group > 0 else None

        def bar(level: NumberLike, method: str | None) -> Interval:
            share, how = exact_level(level), method or "adjusted"
            row, asked = checked_method("options", how), Request(share, "both", (1 - share) / 2, as_prior("uniform"))

            def of_sum(of: Fraction, at: float) -> Problem:
                spread = float(self[option].variance) - 2 * at * float(crossed) + at**2 * float(square)
                weights = [1 - at, *[-at] * (len(several) - 1), *others]
                return self._problem(of - Fraction(at) * group, spread, weights, span=ANYWHERE)

            low, high = 0.0, 1.0
            if value is not None:
                under, over = min(own, group), max(own, Fraction(0))
                low = turning_point(lambda at: row.lower(of_sum(under, at), asked) > 0, 0.0, value, STEP)
                past = turning_point(
                    lambda out: row.lower(of_sum(over, 1 - out).mirrored(), asked) > 0, 0.0, 1 - value, STEP
                )
                high = 1 - past
            notes = [WALD_WARNING if how == "wald" else "", NOBODY if (low, high) == (0.0, 1.0) else ""]
            notes.append(NO_ERROR if high - low <= 2 * STEP else "")
            warning = "; ".join(filter(None, notes))
            return Interval(
                (low, high),
                method=how,
                level=share,
                target=f"share of {name}",
                guaranteed=row.guaranteed,
                warning=warning,
            )

        return Combination(Row(name, self.tally.n, value, None, bar, None, None, SHARES), target_words(self.target))
