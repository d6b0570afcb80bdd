"""`MeanEstimate`: the mean of a number in [low, high], from bits whose chance to be 1 grew evenly with it.

With x the number scaled to [0, 1] the bit is 1 with chance 1 − p00 + c·x, so the share of ones tells the mean:

    mean = low + (high − low)·(N/n − (1 − p00))/c          unbiased
    variance = (high − low)²·λ̂(1 − λ̂)/((n − 1)c²)          unbiased, for people drawn from a population

Rules
1. For a population the bits are independent with one chance, so every bar of a yes/no tally holds, scaled to the range.
2. For the people who answered, a two-sided Clopper–Pearson bar stays valid ([Hoe56]: the count of unequal chances has
   lighter tails than the binomial one), and so does Hoeffding's.  All else is refused by name: the variance of "the
   people who answered" supposes truths 0 and 1, and a number may lie between.
3. Numbers within the range: nothing is said about people whose number was brought to an end of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from rrcollect.design.parameters import NumberLike, checked_bounds
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally, checked_tally
from server_agg.errors import TooFewAnswers
from server_agg.estimates.interval import TargetLike, checked_target
from server_agg.estimates.methods import checked_method
from server_agg.estimates.one import Estimate
from server_agg.report.result import Result
from server_agg.results.drawing import Picture, Point
from server_agg.results.interval import Interval, Misfit
from server_agg.results.tables import Table
from server_agg.results.words import bar_note, figure_table, plain_number, privacy_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class MeanEstimate(Result):
    """The mean of a number from `low` to `high`, for the "population" or for those who answered ("sample").

    >>> from rrcollect import optimal_design
    >>> e = estimate_mean(Tally(optimal_design(1), 1000, 520), 0, 40, unit="hours")
    >>> round(e.value, 4), round(e.standard_error, 4)
    (21.7312, 1.3682)
    >>> print(e.sentence())
    21.7 hours (95 % exact interval 19.0–24.4 hours), n = 1000, ε = 1; target: the population
    """

    tally: Tally
    low: Fraction
    high: Fraction
    unit: str = ""
    target: TargetLike = "population"

    @property
    def n(self) -> int:
        """Answers."""
        return self.tally.n

    @property
    def _share(self) -> Estimate:
        return Estimate(self.tally)

    def _scaled(self, share: float) -> float:
        return float(self.low + (self.high - self.low) * Fraction(share))

    @property
    def exact_value(self) -> Fraction:
        """The unbiased mean, exactly."""
        return self.low + (self.high - self.low) * self._share.exact_value

    @property
    def value(self) -> float:
        """The unbiased mean; it may leave the range."""
        return float(self.exact_value)

    @property
    def standard_error(self) -> float:
        """For the population; refused for those who answered (rule 2)."""
        if self.target != "population":
            allowed = "'population': the noise about those who answered depends on how their numbers are spread"
            raise ParameterError("target", self.target, allowed)
        return float(self.high - self.low) * self._share.standard_error

    @property
    def misfit(self) -> Misfit:
        """Whether the count is too extreme for any mean in the range."""
        return self._share.misfit

    def _fit(self) -> str:
        return self.misfit.describe().replace("[0, 1]", "the range")

    def interval(self, level: NumberLike = 0.95, method: str = "exact") -> Interval:
        """The bar of the mean, within the range."""
        checked_method("mean", method, self.target)
        bar = self._share.interval(level, method)
        return bar.with_ends((self._scaled(bar.low), self._scaled(bar.high)), target=str(self.target))

    def sentence(self, level: NumberLike = 0.95, method: str = "exact") -> str:
        """One sentence that may be put into a report."""
        bar = self.interval(level, method)
        digits = max(0, 1 - math.floor(math.log10(bar.width))) if bar.width > 0 else 1
        unit = f" {self.unit}" if self.unit else ""
        shown = min(max(self.value, float(self.low)), float(self.high))
        told = (
            f"{shown:.{digits}f}{unit} ({float(100 * bar.level):.10g} % {method} interval "
            f"{bar.low:.{digits}f}–{bar.high:.{digits}f}{unit}), n = {self.tally.n}, "
            f"{privacy_words(self.tally.mechanism)}; target: the {bar.target}"
        )
        return "; ".join([told, *([self._fit()] if self.misfit.told else [])])

    in_percent = False
    numeric = frozenset(range(1, 5))

    def cells(self) -> Table:
        """The mean with its bar, and how well the count fits."""
        bar, ends = self.interval(), (float(self.low), float(self.high))
        inside = min(max(self.value, ends[0]), ends[1])
        head, [line] = figure_table("mean", self.n, inside, bar, percentage=False, unit=self.unit)
        cut = [] if inside == self.value else [f"unclipped {plain_number(self.value, bar.width)}"]
        fit = [self._fit()] if self.misfit.told else []
        return head, [[*line[:-1], "; ".join(filter(None, [line[-1], *cut, *fit]))]]

    def notes(self) -> list[str]:
        """By which promise, and what the bar is."""
        return [f"{privacy_words(self.tally.mechanism)}; {bar_note(self.interval())}"]

    def points(self) -> list[Point]:
        """The mean with its bar."""
        note = f"P(so far {self.misfit.side}) = {self.misfit.tail_probability:.2g}" if self.misfit.told else ""
        name = f"mean, {self.unit}" if self.unit else "mean"
        return [Point(f"{name} (n = {self.tally.n:,})", self.value, *self.interval(), note)]

    def plot(self, ax: Axes | None = None, *, limits: tuple[float, float] | None = None) -> Picture:
        """The mean with its bar, on the range unless `limits` are given."""
        drawn = super().plot(ax, limits=limits or (float(self.low), float(self.high)))
        drawn.axes.set_xlabel(self.unit or "mean")
        return drawn

    def as_dict(self, level: NumberLike = 0.95, method: str = "exact") -> dict[str, object]:
        """Inputs and results as plain values, ready for JSON."""
        return {
            "n": self.tally.n,
            "range": {"low": str(self.low), "high": str(self.high), "unit": self.unit},
            "target": self.target,
            "value": self.value,
            "standard_error": self.standard_error if self.target == "population" else None,
            "interval": self.interval(level, method).as_dict(),
            "misfit": self.misfit.as_dict(),
        }


def estimate_mean(
    tally: Tally, low: NumberLike, high: NumberLike, *, unit: str = "", target: TargetLike = "population"
) -> MeanEstimate:
    """The mean of a number in [low, high] from the tally of its bits.

    >>> from rrcollect import Design
    >>> estimate_mean(Tally(Design("3/4", "3/4"), 1000, 500), 0, 10).value
    5.0
    """
    if checked_tally(tally, yes_no=True).n < 2:
        raise TooFewAnswers(tally.n)
    return MeanEstimate(tally, *checked_bounds((low, high)), unit, checked_target(target))
