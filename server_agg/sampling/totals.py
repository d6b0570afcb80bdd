"""How many people a complex sample stands for, or the sum of their numbers, with a bar.

A total Σwr is the share times the people that the weights stand for, and these vary from sample to sample unless the
weights were calibrated.  Its bar must know both:

    korn-graubard  from the lower of both lower ends to the higher of both upper ends of
                   Σw times the share's Korn-Graubard bar, with the error of the total: for rare attributes
                   value ∓ t·SE: for people who are not counted beforehand
    wald           value ∓ t·SE alone; what R's `confint(svytotal())` and Stata print
Both are approximate.  A total of shares has no end below 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.parameters import NumberLike
from server_agg.estimates.effective import EffectiveSample
from server_agg.estimates.interval import Problem
from server_agg.estimates.methods import checked_method, interval_of, wald_interval
from server_agg.report.result import Result
from server_agg.results.interval import Interval
from server_agg.results.tables import Table
from server_agg.results.words import bar_note, figure_table, plain_number


@dataclass(frozen=True)
class Total(Result):
    """How many people, or the sum of their numbers; `people` is what the weights of the group add up to."""

    axis, in_percent = "total", False
    numeric = frozenset(range(1, 4))
    value: float
    standard_error: float
    freedom: int
    people: float
    sample: EffectiveSample
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)

    def interval(self, level: NumberLike = 0.95, method: str = "korn-graubard") -> Interval:
        """ "korn-graubard" or "wald", see above."""
        checked_method("complex sample", method)
        plain = wald_interval(self.value, self.standard_error, level, "total", freedom=self.freedom)
        if method == "wald":
            return plain
        least, most = (float(end) * self.people for end in (self.low, self.high))
        span = most - least
        problem = Problem(
            "complex sample", Fraction((self.value - least) / span), lambda: self.standard_error / span,
            n=self.sample.n, sample=self.sample, freedom=self.freedom,
        )  # fmt: skip
        bar = interval_of(problem, level, method)
        low, high = min(least + span * bar.low, plain.low), max(least + span * bar.high, plain.high)
        low = max(low, 0.0) if self.low >= 0 else low
        return bar.with_ends((low, high), target="total")

    @property
    def clipped(self) -> float:
        """The total as it is shown: of shares, not below 0."""
        return max(self.value, 0.0) if self.low >= 0 else self.value

    def cells(self) -> Table:
        """The total with its bar."""
        bar = self.interval()
        head, [line] = figure_table("total", None, self.clipped, bar, percentage=False)
        cut = [] if self.clipped == self.value else [f"unclipped {plain_number(self.value, bar.width)}"]
        return head, [[*line[:-1], "; ".join(filter(None, [line[-1], *cut]))]]

    def notes(self) -> list[str]:
        """What the bar is."""
        return [f"{self.freedom} degrees of freedom; {bar_note(self.interval())}"]

    def as_dict(self, level: NumberLike = 0.95, method: str = "korn-graubard") -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "value": self.value,
            "standard_error": self.standard_error,
            "degrees_of_freedom": self.freedom,
            "interval": self.interval(level, method).as_dict(),
        }
