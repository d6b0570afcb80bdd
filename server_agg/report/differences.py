"""Which group is higher: every pair of a segment's groups, told with its bar and whether it is certain.

Rules
1. The comparisons of one table hold all at once, those of every option of a choice with them (Bonferroni); how many
   they are does not depend on what was answered.
2. What is released is looked at once: the bar of a difference is made of two exact ones by MOVER, in closed form, since
   a page is made for many pairs (the score's bar and p of one pair: `compare_groups`).  In the live view it is made of
   the two groups' own, which hold at all looks and all at once.
3. Groups that were put together (merged, not told apart, not declared) are compared with nobody.
4. Of more than `MOST` pairs, those of all options together, the highest group is told against the lowest ones; the
   level stays that of all pairs.
5. A mean is a share of its range, and so is the difference of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from server_agg.compare.groups import Comparison
from server_agg.compare.segments import MERGED, Row, SegmentTable
from server_agg.estimates.mean import MeanEstimate
from server_agg.estimates.one import Estimate
from server_agg.report.plain_words import difference_words
from server_agg.report.released import NOT_TOLD
from server_agg.report.round_results import UNDECLARED

MOST = 30  # pairs that are told of one segment
TOGETHER = (MERGED, NOT_TOLD, UNDECLARED)


def differences(table: SegmentTable, level: Fraction, *, looking: bool, tables: int = 1) -> list[dict[str, Any]]:
    """The pairs of a table, the higher group first; `tables` is of how many options of a choice this is one.

    >>> from rrcollect import Design
    >>> from server_agg.compare.segments import segment_table
    >>> from server_agg.count.tally import Tally
    >>> cells = {name: Tally(Design("3/4", "3/4"), 400, ones) for name, ones in (("Berlin", 150), ("Dublin", 180))}
    >>> (found,) = differences(segment_table(cells), Fraction(19, 20), looking=False)
    >>> found["higher"], found["lower"], found["words"]
    ('Dublin', 'Berlin', 'by about 15 points (between 1 and 29): certain at the level 95 %')
    """
    found = [(row, share) for row in table.rows if row.label not in TOGETHER and (share := _share(row)) is not None]
    family = len(found) * (len(found) - 1) // 2 * tables
    ranked = sorted(found, key=lambda one: -one[0].estimate.value)
    pairs = list(combinations(ranked, 2))
    most = max(1, MOST // tables)
    told = pairs if len(pairs) <= most else [(ranked[0], other) for other in ranked[:0:-1]][:most]
    return [_pair(table, pair, level, family, looking=looking) for pair in told]


def _share(row: Row) -> Estimate | None:
    """The estimate as a share of its scale; None where answers of several designs were pooled."""
    found = row.estimate
    if isinstance(found, MeanEstimate):
        return Estimate(found.tally)
    return found if isinstance(found, Estimate) else None


def _pair(
    table: SegmentTable, pair: Sequence[tuple[Row, Estimate]], level: Fraction, family: int, *, looking: bool
) -> dict[str, Any]:
    (a, one), (b, other) = pair
    if looking:
        low, high = a.interval.low - b.interval.high, a.interval.high - b.interval.low
        value, method = a.estimate.value - b.estimate.value, "anytime"
        guaranteed = a.interval.guaranteed and b.interval.guaranteed
    else:
        compared, span = Comparison(one, other, family, (a.label, b.label)), table.scale.span
        bar = compared.interval(level, "mover")
        low, high, value = span * bar.low, span * bar.high, span * compared.difference
        method, guaranteed = bar.method, bar.guaranteed
    verb, words = difference_words(value, (low, high), table.scale, level)
    shown = {"higher": a.label, "verb": verb, "lower": b.label, "words": words, "comparisons": family}
    shown["certain"] = low > 0 or high < 0
    ends = {"value": value, "low": low, "high": high, "level": float(level)}
    return {**shown, **ends, "method": method, "guaranteed": guaranteed}
