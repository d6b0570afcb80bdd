"""Prevalence over rounds: a trend with bars.

The rounds' bars hold all at once (see `segments`).  The slope is the weighted least-squares line through the unbiased
values, weights 1/V_i at the pooled prevalence; under "no change" slope/SE is about normal, which gives the test.
Rounds must be answered by independent people.  A device that keeps its first answer for life, as this project's
client does, repeats it: for a panel of the same devices the differences between rounds are smaller than these bars.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.errors import ParameterError
from server_agg.compare.groups import Comparison, compare_groups
from server_agg.compare.segments import SegmentTable, segment_table
from server_agg.count.tally import Tally
from server_agg.estimates.numerics import normal_tail
from server_agg.estimates.pooled import PooledEstimate, pool
from server_agg.estimates.score import variance_line

__all__ = ["Trend", "trend"]


@dataclass(frozen=True)
class Trend:
    """Rounds in order, their table, and the line through them."""

    rounds: tuple[int, ...]
    table: SegmentTable
    slope: float
    slope_standard_error: float
    p: float

    def changes(self) -> tuple[Comparison, ...]:
        """Each round against the one before; rounds must be by one design each."""
        found = []
        for before, after in zip(self.table.rows, self.table.rows[1:], strict=False):
            if isinstance(before.estimate, PooledEstimate) or isinstance(after.estimate, PooledEstimate):
                raise ParameterError("rounds", (before.label, after.label), "rounds by one design each")
            found.append(compare_groups(after.estimate, before.estimate))
        return tuple(found)

    def describe(self) -> str:
        """One sentence on the slope."""
        verdict = "a change" if self.p < 0.05 else "no clear change"
        return f"{verdict}: slope {self.slope:+.3g} per round (SE {self.slope_standard_error:.2g}), p = {self.p:.3g}"

    def __str__(self) -> str:
        return f"{self.table}\n{self.describe()}"

    def _repr_html_(self) -> str:
        return self.table._repr_html_() + f"<p>{self.describe()}</p>"


def trend(
    rounds: Mapping[int, Tally | Sequence[Tally]],
    *,
    level: NumberLike = 0.95,
    method: str = "exact",
    simultaneous: str = "bonferroni",
) -> Trend:
    """The prevalence by round.  A round too small for an estimate (n < 2) is refused, not merged.

    >>> from rrcollect import Design
    >>> design = Design("3/4", "3/4")
    >>> found = trend({1: Tally(design, 500, 150), 2: Tally(design, 500, 190), 3: Tally(design, 500, 240)})
    >>> [row.estimate.exact_value for row in found.table.rows]
    [Fraction(1, 10), Fraction(13, 50), Fraction(23, 50)]
    >>> print(found.describe())
    a change: slope +0.18 per round (SE 0.031), p = 5.09e-09
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
    )
    if table.suppressed:
        raise ParameterError("rounds", table.suppressed, "rounds of two answers or more")
    tallies = [[given] if isinstance(given, Tally) else list(given) for given in cells.values()]
    common = Fraction(pool([t for group in tallies for t in group]).value)
    spreads = [
        float(1 / sum(1 / (variance_line(t.design, t.n).at(common) or _tiny(t)) for t in g if t.n)) for g in tallies
    ]
    planning = common if 0 < common < 1 else Fraction(1, 2)
    values = [pool(group, planning=planning).unbiased for group in tallies]
    return Trend(tuple(order), table, *_line([float(x) for x in order], values, spreads))


def _tiny(tally: Tally) -> Fraction:
    """A variance for a design that is certain at the pooled prevalence: that of a count of one."""
    return 1 / (tally.n * tally.design.c) ** 2


def _line(xs: Sequence[float], ys: Sequence[float], spreads: Sequence[float]) -> tuple[float, float, float]:
    weights = [1 / v for v in spreads]
    centre = sum(w * x for w, x in zip(weights, xs, strict=True)) / sum(weights)
    leverage = sum(w * (x - centre) ** 2 for w, x in zip(weights, xs, strict=True))
    slope = sum(w * (x - centre) * y for w, x, y in zip(weights, xs, ys, strict=True)) / leverage
    error = 1 / math.sqrt(leverage)
    return slope, error, min(1.0, 2 * normal_tail(abs(slope) / error))
