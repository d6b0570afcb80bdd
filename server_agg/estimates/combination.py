"""Sums and quotients of the options of one choice, with bars that know that options are dependent.

Σ wπ̂ is a mean over the answers of y = Σ w(bit − q)/c, so its variance is that of the options' covariance, and y lies
between (the ω least weights − qΣw)/c and (the ω greatest − qΣw)/c.  Bars:

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
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from rrcollect.design.mechanism import Mechanism
from rrcollect.design.parameters import NumberLike
from server_agg.estimates.exact import hoeffding_reach
from server_agg.estimates.methods import ALL_CUT, NO_ERROR, NO_WIDTH, WALD_WARNING, checked_method
from server_agg.estimates.numerics import ROUNDING_MARGIN, normal_quantile, normal_tail, turning_point
from server_agg.report.result import Result
from server_agg.results.interval import Interval, exact_level
from server_agg.results.tables import Table
from server_agg.results.words import bar_note, figure_table

MORE = 3
STEP = 1e-9  # how finely an end of a quotient is looked for, to the safe side
NOBODY = "nothing shows that there is anybody in the group: every share is possible"


class _Sum(NamedTuple):
    """A sum of options as its bars see it."""

    n: int
    value: float
    error: float
    ends: tuple[float, float]

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


class _OptionResult(Result):
    """What sums and quotients share: a table, and what stands under it."""

    numeric = frozenset(range(1, 5))

    def cells(self) -> Table:
        """The value with its bar."""
        found: Any = self
        return figure_table(found.what, found.n, found.value, found.interval(), percentage=self.in_percent)

    def notes(self) -> list[str]:
        """What the bar is."""
        found: Any = self
        return [bar_note(found.interval())]


@dataclass(frozen=True)
class Combination(_OptionResult):
    """Σ weight·share over the options: a group of options, a difference of two, a mean of scores."""

    n: int
    value: float
    standard_error: float
    what: str
    span: tuple[float, float]
    ends: tuple[float, float]  # of what one answer says about it

    def _sum(self, value: float) -> _Sum:
        return _Sum(self.n, value, self.standard_error, self.ends)

    @property
    def p_value(self) -> float:
        """Two-sided, of the value being 0, by rule 2."""
        value, error = self._sum(min(max(self.value, self.span[0]), self.span[1])).adjusted
        return min(1.0, 2 * normal_tail(abs(value) / error)) if error else float(value == 0)

    def interval(self, level: NumberLike = 0.95, method: str = "adjusted") -> Interval:
        """The bar, within what is possible, by the edge rule (wald: without it)."""
        share, (least, most), sure = exact_level(level), self.span, checked_method("options", method).guaranteed
        at = (self.value, self.value) if method == "wald" else (min(self.value, most), max(self.value, least))
        ends = self._sum(at[0]).bar(method, share)[0], self._sum(at[1]).bar(method, share)[1]
        low, high = (min(max(end, least), most) for end in ends)
        notes = [WALD_WARNING if method == "wald" else "", self._why_no_width() if high - low < NO_WIDTH else ""]
        return Interval(
            (low, high), method=method, level=share, target=self.what, guaranteed=sure,
            warning="; ".join(filter(None, notes)),
        )  # fmt: skip

    def _why_no_width(self) -> str:
        if self.ends[0] == self.ends[1]:
            return "width 0: all scores are equal, so nothing is random"
        return NO_ERROR if self.span[0] <= self.value <= self.span[1] else ALL_CUT

    def as_dict(self, level: NumberLike = 0.95, method: str = "adjusted") -> dict[str, object]:
        """Plain values, ready for JSON."""
        told = {"name": self.what, "n": self.n, "value": self.value, "standard_error": self.standard_error}
        return {**told, "p": self.p_value, "interval": self.interval(level, method).as_dict()}


class ScoreMean(Combination):
    """A mean of scores: its picture is in these."""

    axis, in_percent = "mean of the scores", False


@dataclass(frozen=True)
class ShareAmong(_OptionResult):
    """The share of an option among several."""

    n: int
    shares: tuple[float, float]  # of the option and of all the several, unbiased
    squares: tuple[float, float, float]  # variance of the first, covariance, variance of the second
    what: str
    several: int  # how many options they are
    design: Mechanism

    @property
    def value(self) -> float | None:
        """The quotient, cut to [0, 1]; biased, less so the more people there are.  None if the group seems empty."""
        option, group = self.shares
        return min(max(option / group, 0.0), 1.0) if group > 0 else None

    def interval(self, level: NumberLike = 0.95, method: str = "adjusted") -> Interval:
        """Fieller's bar from the sums π_a − Rπ_b (see above), within [0, 1]."""
        share, (option, group), (a, ab, b) = exact_level(level), self.shares, self.squares
        others = [0] * (self.design.cells - self.several)
        sure = checked_method("options", method).guaranteed

        def bar(of: float, quotient: float) -> tuple[float, float]:
            error = math.sqrt(max(a - 2 * quotient * ab + quotient**2 * b, 0.0))
            weights = [1 - quotient, *[-quotient] * (self.several - 1), *others]
            return _Sum(self.n, of - quotient * group, error, self.design.answer_ends(weights)).bar(method, share)

        low, high, at = 0.0, 1.0, self.value
        if at is not None:
            under, over = min(option, group), max(option, 0.0)
            low = turning_point(lambda quotient: bar(under, quotient)[0] > 0, 0.0, at, STEP)
            high = 1 - turning_point(lambda missing: bar(over, 1 - missing)[1] < 0, 0.0, 1 - at, STEP)
        notes = [WALD_WARNING if method == "wald" else "", NOBODY if (low, high) == (0.0, 1.0) else ""]
        notes.append(NO_ERROR if high - low <= 2 * STEP else "")
        return Interval(
            (low, high), method=method, level=share, target=self.what, guaranteed=sure,
            warning="; ".join(filter(None, notes)),
        )  # fmt: skip

    def as_dict(self, level: NumberLike = 0.95, method: str = "adjusted") -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {"name": self.what, "n": self.n, "value": self.value, "interval": self.interval(level, method).as_dict()}
