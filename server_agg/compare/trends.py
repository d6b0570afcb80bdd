"""Prevalence over rounds: a trend with bars.

The rounds' bars hold all at once (see `segments`).  Slope, standard error and test are the score's, the same as those
of `trend_across` with the rounds' numbers for scores: see `estimates.score`.  Rounds may be by several designs.
Rounds must be answered by independent people.  A device that keeps its first answer for life, as this project's
client does, repeats it: for a panel of the same devices the differences between rounds are smaller than these bars.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.errors import ParameterError
from server_agg.compare.groups import Comparison, compare_groups
from server_agg.compare.segments import SegmentTable, segment_table
from server_agg.count.tally import Tally
from server_agg.estimates.score import Groups
from server_agg.estimates.small_counts import p_value
from server_agg.report.result import Result
from server_agg.results.drawing import Picture, Point
from server_agg.results.row import SHARES, Scale
from server_agg.results.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Trend(Result):
    """Rounds in order, their table, and the line through them."""

    rounds: tuple[int, ...]
    table: SegmentTable
    slope: float
    slope_standard_error: float | None  # None where the answers tell nothing of a trend
    p: float
    test: str  # how p was found: "score", "exact" or "simulated"

    def changes(self) -> tuple[Comparison, ...]:
        """Each round against the one before, all at once as the rounds' bars are; rounds must be by one design each."""
        found = []
        for before, after in zip(self.table.rows, self.table.rows[1:], strict=False):
            if any(len(each.estimate.tallies) > 1 or each.estimate.bounds for each in (before, after)):
                raise ParameterError("rounds", (before.label, after.label), "rounds of shares by one design each")
            family = 1 if self.table.simultaneous == "none" else len(self.rounds) - 1
            names = after.label, before.label
            found.append(compare_groups(after.estimate, before.estimate, family=family, names=names))
        return tuple(found)

    def describe(self) -> str:
        """The slope with the p-value of no change; the verdict is the reader's."""
        if self.slope_standard_error is None:
            return "the answers tell nothing of a trend"
        error, unit = f"SE {self.slope_standard_error:.2g}", "" if self.table.scale.is_share else self.table.scale.unit
        steep = f"{self.slope:+.3g} {unit}".rstrip()
        return f"slope {steep} per round ({error}); no change: {self.test} test, p = {self.p:.3g}"

    numeric = SegmentTable.numeric
    tidy = "rounds"

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        table = self.table.as_dict()
        rows: Any = table.pop("rows")
        rounds = [{"round": number, **row} for number, row in zip(self.rounds, rows, strict=True)]
        line = {"slope": self.slope, "slope_standard_error": self.slope_standard_error, "p": self.p, "test": self.test}
        return {"rounds": rounds, **table, **line}

    def cells(self) -> Table:
        """The rounds as text."""
        head, lines = self.table.cells()
        return ["round", *head[1:]], lines

    def notes(self) -> list[str]:
        """What the bars cover, and the line through the rounds."""
        return [*self.table.notes(), self.describe()]

    def points(self) -> list[Point]:
        """The rounds."""
        return self.table.points()

    def caption(self) -> str:
        """What the bars of the picture are."""
        return self.table.caption()

    def _placed(self) -> list[float]:
        return [float(number) for number in self.rounds]

    def plot(self, ax: Axes | None = None, *, limits: tuple[float, float] | None = None) -> Picture:
        """The prevalence by round."""
        drawn = super().plot(ax, limits=limits)
        names = [f"{number}\n{point.note}".strip() for number, point in zip(self.rounds, self.points(), strict=True)]
        drawn.axes.set_xticks(list(self.rounds), names)
        drawn.axes.set_xlabel("round")
        return drawn


def trend(
    rounds: Mapping[int, Tally | Sequence[Tally]],
    *,
    level: NumberLike = 0.95,
    method: str = "exact",
    simultaneous: str = "bonferroni",
    over: int = 0,
    scale: Scale = SHARES,
) -> Trend:
    """The prevalence by round.  A round too small for an estimate (n < 2) is refused, not merged.  `over`: of how many
    rounds it may become, if it is looked at before the last.

    >>> from rrcollect import Design
    >>> design = Design("3/4", "3/4")
    >>> found = trend({1: Tally(design, 500, 150), 2: Tally(design, 500, 190), 3: Tally(design, 500, 240)})
    >>> [row.estimate.exact_value for row in found.table.rows]
    [Fraction(1, 10), Fraction(13, 50), Fraction(23, 50)]
    >>> print(found.describe())
    slope +0.18 per round (SE 0.031); no change: score test, p = 5.09e-09
    """
    if len(rounds) < 2:
        raise ParameterError("rounds", list(rounds), "two rounds or more")
    order = sorted(whole_number("round", number, minimum=0) for number in rounds)
    cells = {number: rounds[number] for number in order}
    table = segment_table(
        {str(number): cells[number] for number in order},
        level=level,
        method=method,
        simultaneous=simultaneous,
        minimum=2,
        over=over,
        scale=scale,
    )
    if table.suppressed:
        raise ParameterError("rounds", table.suppressed, "rounds of two answers or more")
    groups = Groups.of([[given] if isinstance(given, Tally) else list(given) for given in cells.values()])
    xs = np.array(order, float)
    (top,), (spread,) = groups.scores(groups.counts).trend(xs)
    test = p_value(groups, "trend", tuple(xs))
    span = scale.span
    slope, error = (span * float(top / spread), span * float(1 / np.sqrt(spread))) if spread > 0 else (0.0, None)
    return Trend(tuple(order), table, slope, error, test.p, test.method)
