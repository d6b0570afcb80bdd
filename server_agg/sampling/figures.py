"""One figure of a complex sample with its bars, and the difference of two.

    korn-graubard  Clopper and Pearson's with the effective sample size (see `estimates.effective`): for rare attributes
                   too.  Its degrees of freedom are units − strata, or fewer: (ΣW²)²/ΣW⁴ − 1 where a few units carry
                   the weight W, and 2m/(κ − 1) where a few of m units make the variance (κ their kurtosis: a variance
                   estimated from m of them has the relative variance (κ − 1)/m).
    wald           value ∓ t·SE, t with units − strata degrees of freedom; what R's `confint` and Stata print.
    mover          for differences: square-and-add on the Korn-Graubard bars of the parts, with their correlation [Z07].
All are approximate: no theorem bounds their coverage; docs/coverage.md has simulated ones.

Rules
1. A figure is a share or a mean of numbers from `low` to `high`; it is computed as a share.
2. The design effect is the variance over that of a simple random sample of as many people drawn with replacement, the
   variance among people estimated with the weights (R's `deff = "replace"`).
3. Figures of one sample are dependent: differences use their covariance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from server_agg.estimates.effective import EffectiveSample
from server_agg.estimates.interval import DIFFERENCE, Problem
from server_agg.estimates.methods import interval_of
from server_agg.estimates.numerics import t_tail, turning_point
from server_agg.report.result import Result
from server_agg.results.interval import Interval, Misfit, Side
from server_agg.results.tables import Table
from server_agg.results.words import bar_note, digits_for, figure_table, percent, plain_number
from server_agg.sampling.totals import Total

ROUNDING, SMALLEST = 1e-9, 1e-9  # beyond a range but for rounding; the least p that is looked for


@dataclass(frozen=True)
class SurveyFigure(Result):
    """A share (or a mean between `low` and `high`) with its design-based error."""

    name: str
    n: int
    share: float
    share_error: float
    freedom: int
    sample: EffectiveSample
    simple: float  # the variance of a simple random sample, of the share
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    unit: str = ""
    sum: Total | None = None

    @property
    def _range(self) -> float:
        return float(self.high - self.low)

    @property
    def is_share(self) -> bool:
        """Whether it is a share, and not a mean of other numbers."""
        return self.low == 0 and self.high == 1 and not self.unit

    def _scaled(self, share: float) -> float:
        return float(self.low) + self._range * share

    @property
    def value(self) -> float:
        """The weighted share or mean; it may leave the range."""
        return self._scaled(self.share)

    @property
    def standard_error(self) -> float:
        """Of `value`."""
        return self._range * self.share_error

    @property
    def design_effect(self) -> float | None:
        """The variance over that of a simple random sample; None if that is 0 but for rounding."""
        least = (ROUNDING * float(self.sample.most - self.sample.least)) ** 2
        return self.share_error**2 / self.simple if self.simple > least else None

    @property
    def coefficient_of_variation(self) -> float | None:
        """The standard error over the value; None at 0."""
        return self.standard_error / abs(self.value) if self.value else None

    @property
    def total(self) -> Total:
        """The number of people (or the sum of their numbers) in the population, Σwr."""
        if self.sum is None:
            allowed = "weights that count people, or the population's size: without them there is no total"
            raise ParameterError("weights", None, allowed)
        return self.sum

    @property
    def problem(self) -> Problem:
        """What its bars are made from."""
        return Problem(
            "complex sample", Fraction(self.share), lambda: self.share_error, n=self.n, sample=self.sample,
            freedom=self.freedom,
        )  # fmt: skip

    def interval(self, level: NumberLike = 0.95, method: str = "korn-graubard", *, side: Side = "both") -> Interval:
        """The bar, within the range; "korn-graubard" or "wald"."""
        bar = interval_of(self.problem, level, method, side)
        return bar.with_ends((self._scaled(bar.low), self._scaled(bar.high)))

    @property
    def misfit(self) -> Misfit:
        """Whether the share is too extreme for any in [0, 1], by the law of its bar; approximate."""
        return self.sample.misfit(self.share, self.share_error)

    def beside(self, bar: Interval) -> str:
        """What stands beside a value that is shown cut to its range."""
        low, high = float(self.low), float(self.high)
        width = bar.width or high - low
        raw = percent(self.value, digits_for(width)) if self.is_share else plain_number(self.value, width)
        slack = ROUNDING * (high - low)
        cut = [] if low - slack <= self.value <= high + slack else [f"unclipped {raw}"]
        return "; ".join([*cut, *([self.misfit.describe()] if self.misfit.told else [])])

    def shown(self, bar: Interval) -> tuple[str, str, str, str]:
        """Value and ends as they are printed, cut to the range, and their unit."""
        inside = min(max(self.value, float(self.low)), float(self.high))
        if self.is_share:
            digits = digits_for(bar.width)
            return percent(inside, digits), percent(bar.low, digits), percent(bar.high, digits), " %"
        digits = max(0, 1 - math.floor(math.log10(bar.width))) if bar.width > 0 else 1
        unit = f" {self.unit}" if self.unit else ""
        return f"{inside:.{digits}f}", f"{bar.low:.{digits}f}", f"{bar.high:.{digits}f}", unit

    def sentence(self, level: NumberLike = 0.95, method: str = "korn-graubard") -> str:
        """One sentence that may be put into a report."""
        bar = self.interval(level, method)
        value, low, high, unit = self.shown(bar)
        effect = "" if self.design_effect is None else f", design effect {self.design_effect:.2f}"
        return (
            f"{value}{unit} ({float(100 * bar.level):.10g} % {method} interval {low}–{high}{unit}), n = {self.n}, "
            f"{self.freedom} degrees of freedom{effect}; target: the population"
            + (f"; {self.beside(bar)}" if self.beside(bar) else "")
        )

    numeric = frozenset(range(1, 5))

    def cells(self) -> Table:
        """The figure with its bar."""
        bar = self.interval()
        inside = min(max(self.value, float(self.low)), float(self.high))
        head, [line] = figure_table(self.name, self.n, inside, bar, percentage=self.is_share, unit=self.unit)
        return head, [[*line[:-1], self.beside(bar)]]

    def notes(self) -> list[str]:
        """What the bar is."""
        return [f"{self.freedom} degrees of freedom; {bar_note(self.interval())}"]

    def as_dict(self, level: NumberLike = 0.95, method: str = "korn-graubard") -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "name": self.name,
            "n": self.n,
            "value": self.value,
            "standard_error": self.standard_error,
            "degrees_of_freedom": self.freedom,
            "design_effect": self.design_effect,
            "interval": self.interval(level, method).as_dict(),
            "misfit": self.misfit.as_dict(),
            "total": None if self.sum is None else self.sum.value,
            "total_standard_error": None if self.sum is None else self.sum.standard_error,
        }


class MeanFigure(SurveyFigure):
    """A mean of numbers: its picture is in their unit."""

    axis, in_percent = "mean", False


@dataclass(frozen=True)
class SurveyDifference(Result):
    """One figure minus another of the same sample."""

    first: SurveyFigure
    second: SurveyFigure
    share_covariance: float
    freedom: int

    @property
    def value(self) -> float:
        """The difference; it may leave what is possible."""
        return self.first.value - self.second.value

    @property
    def _share_error(self) -> float:
        square = self.first.share_error**2 + self.second.share_error**2 - 2 * self.share_covariance
        return math.sqrt(max(square, 0.0))

    @property
    def standard_error(self) -> float:
        """Of `value`, with the covariance of the two."""
        return float(self.first.high - self.first.low) * self._share_error

    @property
    def p_value(self) -> float:
        """Two-sided, of no difference, by Student's t; where the estimated error is 0, by the mover bar."""
        if self.standard_error == 0:
            return turning_point(lambda p: _holds_0(self.interval(1 - p)), SMALLEST, 1 - SMALLEST)
        return min(1.0, 2 * t_tail(abs(self.value) / self.standard_error, self.freedom))

    @property
    def correlation(self) -> float:
        """Of the two figures; 0 if one has no error."""
        both = self.first.share_error * self.second.share_error
        return min(max(self.share_covariance / both, -1.0), 1.0) if both > 0 else 0.0

    def interval(self, level: NumberLike = 0.95, method: str = "mover", *, side: Side = "both") -> Interval:
        """The bar: "mover" or "wald"."""
        parts = ((Fraction(1), self.first.problem), (Fraction(-1), self.second.problem))
        problem = Problem(
            "complex difference", parts[0][1].value - parts[1][1].value, lambda: self._share_error, parts=parts,
            span=DIFFERENCE, freedom=self.freedom, correlation=self.correlation,
        )  # fmt: skip
        bar, width = interval_of(problem, level, method, side), float(self.first.high - self.first.low)
        return bar.with_ends((width * bar.low, width * bar.high))

    numeric = frozenset(range(1, 4))

    @property
    def in_percent(self) -> bool:  # type: ignore[override]
        """Whether it is a difference of shares."""
        return self.first.is_share

    def cells(self) -> Table:
        """Both figures with their bars, and the difference in points or in their unit."""
        how = {"percentage": self.first.is_share, "unit": self.first.unit}
        head, lines = figure_table(self._name, None, self.value, self.interval(), **how)  # type: ignore[arg-type]
        return head, lines

    @property
    def _name(self) -> str:
        return f"{self.first.name} − {self.second.name}"

    def notes(self) -> list[str]:
        """The test, and what the bar is."""
        how = "the mover bar" if self.standard_error == 0 else f"Student's t, {self.freedom} degrees of freedom"
        return [f"no difference: p = {self.p_value:.3g} ({how}); {bar_note(self.interval())}"]

    def as_dict(self, level: NumberLike = 0.95, method: str = "mover") -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "name": self._name,
            "difference": self.value,
            "standard_error": self.standard_error,
            "degrees_of_freedom": self.freedom,
            "p": self.p_value,
            "interval": self.interval(level, method).as_dict(),
        }


def _holds_0(bar: Interval) -> bool:
    return bar.low <= 0 <= bar.high
