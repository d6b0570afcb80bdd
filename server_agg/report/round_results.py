"""One question in one round: its estimate with its bar, and its table by the groups of a segment.

Rules
1. No estimate without a bar, and none of fewer than `minimum` answers.
2. Answers by several designs are pooled; a bar they cannot have becomes that of the likelihood.
3. Who did not declare a segment is a group of it, and so are released answers that are not told apart by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rrcollect.design.parameters import NumberLike
from server_agg.compare.segments import MERGED, SegmentTable, segment_table
from server_agg.count.tallies import Tallies
from server_agg.estimates.estimating import estimate
from server_agg.estimates.interval import Interval, TargetLike
from server_agg.estimates.one import Estimate
from server_agg.estimates.pooled import PooledEstimate, pool, pooled_method
from server_agg.report.released import MIXED, NOT_TOLD
from server_agg.report.result import Result, clipped
from server_agg.report.words import digits_for, percent, privacy_words, value_notes

__all__ = ["UNDECLARED", "ResultOptions", "RoundResults", "group_name"]

UNDECLARED = "(not declared)"
TAKEN = (UNDECLARED, MERGED, NOT_TOLD)  # names of ours; a group that is called so gets a space after it


@dataclass(frozen=True)
class ResultOptions:
    """How many answers a cell needs, and what the bars are."""

    minimum: int = 2
    level: NumberLike = 0.95
    method: str = "exact"
    target: TargetLike = "population"


@dataclass(frozen=True)
class RoundResults(Result):
    """One question in one round; without enough answers there is no estimate and no bar."""

    question: str
    round: int
    tallies: Tallies
    options: ResultOptions

    @property
    def n(self) -> int:
        """Answers."""
        return self.tallies.n

    @cached_property
    def estimate(self) -> Estimate | PooledEstimate | None:
        """By one design, or pooled over several."""
        if self.n < max(2, self.options.minimum):
            return None
        counted = self.tallies.each_design()
        return estimate(counted[0], self.options.target) if len(counted) == 1 else pool(counted)

    @property
    def method(self) -> str:
        """The method of the bar."""
        several = isinstance(self.estimate, PooledEstimate)
        return pooled_method(self.options.method) if several else self.options.method

    @cached_property
    def bar(self) -> Interval | None:
        """The bar of the estimate."""
        return None if self.estimate is None else self.estimate.interval(self.options.level, self.method)

    def segments(self, name: str, minimum: int | None = None, over: int = 0) -> SegmentTable:
        """By the groups of a segment, the bars holding all at once; who did not declare it is a group too."""
        counted = self.tallies.by(f"segments.{name}")
        order = sorted(counted, key=lambda group: group == (MIXED,))  # what is not told apart comes last
        groups: dict[Any, Any] = {group_name(group[0]): counted[group] for group in order}
        least = max(2, self.options.minimum) if minimum is None else minimum
        how = {"level": self.options.level, "method": self.options.method, "target": self.options.target}
        return segment_table(groups, minimum=least, over=over, **how)  # type: ignore[arg-type]

    def as_dict(self) -> dict[str, object]:
        """Inputs and results as plain values, ready for JSON; `estimate` is None where there is none."""
        found = self.estimate
        shown = {"estimate": None} if found is None else found.as_dict(self.options.level, self.method)
        return {"question": self.question, "round": self.round, **shown}

    def line(self) -> list[str]:
        """One line of the table of `SurveyResults`; nothing without an estimate."""
        found, bar = self.estimate, self.bar
        if found is None or bar is None:
            return []
        digits, privacy = digits_for(bar.width), "several designs"
        if isinstance(found, Estimate):
            privacy = privacy_words(found.tally.mechanism)
        shares = [percent(share, digits) for share in (clipped(found.value), bar.low, bar.high)]
        how = [f"{float(100 * bar.level):.10g} % {bar.method}", bar.target, privacy, value_notes(found, bar)]
        return [self.question, str(self.round), f"{self.n:,}", *shares, *how]


def group_name(value: str | None) -> str:
    """The name of a group as it is shown."""
    ours = {None: UNDECLARED, MIXED: NOT_TOLD}
    return ours[value] if value in ours else f"{value} " if value in TAKEN else str(value)
