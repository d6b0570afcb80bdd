"""The groups and the rounds of a question as the results page shows them: plain values, ready for JSON.

Rules
1. Every row has its bar beside it, and how well its counts fit: `fit` for a board, `misfit` for the method.
2. Of several options the bars and the differences of all of them hold at once (Bonferroni); how many comparisons there
   are does not depend on what was answered.
3. What is released is looked at once: the bar of a difference is made of two exact ones by MOVER, in closed form, since
   a page is made for many pairs (the score's bar and p of one pair: `compare_groups`).  In the live view it is made of
   the two groups' own, which hold at all looks and all at once.
4. Groups that were put together (merged, not told apart, not declared) are compared with nobody.
5. Of more than `MOST` pairs, those of all options together, the highest group is told against the lowest ones; the
   level stays that of all pairs.
6. A mean is a share of its range, and so is the difference of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from rrcollect.publish.survey import Survey
from server_agg.compare.groups import Comparison
from server_agg.compare.options import OptionTables, OptionTrends
from server_agg.compare.segments import MERGED, Row, SegmentTable
from server_agg.compare.trends import Trend
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.results.interval import exact_level
from server_agg.results.row import Scale
from server_agg.survey_page.released import NOT_TOLD
from server_agg.survey_page.rounds import UNDECLARED, View, group_name
from server_agg.survey_page.words import difference_words, fit_words, others_words, shown_value, trend_words

MOST = 30  # pairs that are told of one segment
TOGETHER = (MERGED, NOT_TOLD, UNDECLARED)


def _misfit(found: Estimate) -> str | None:
    return found.misfit.describe() if found.misfit.told else None


def _row(row: Row, scale: Scale, rows: int) -> dict[str, Any]:
    found = row.estimate
    fit = fit_words([found.misfit], rows)
    return {"n": row.n, **shown_value(found.value, *row.interval, scale), "misfit": _misfit(found), "fit": fit}


def _rows(table: SegmentTable) -> list[dict[str, Any]]:
    return [
        {"label": row.label, "cells": list(row.cells), **_row(row, table.scale, len(table.rows))} for row in table.rows
    ]


def segment_table(survey: Survey, name: str, found: SegmentTable | OptionTables, view: View) -> dict[str, Any]:
    """The groups of a segment, of each option if there are several, with the differences between them."""
    segment, level, looking = survey.segments[name], exact_level(view.options.level), view.looking
    labels = {group_name(value.value): survey.say(value.label) or value.value for value in segment.values}
    shown: dict[str, Any] = {"name": name, "label": survey.say(segment.label) or name, "labels": labels}
    if isinstance(found, SegmentTable):
        pairs = differences(found, level, looking=looking)
        return {**shown, "rows": _rows(found), "differences": pairs, "others": _others(pairs), "note": _note(found)}
    many = 1 if len(found.labels) == 2 else len(found.labels)  # two options are one question
    options: list[dict[str, Any]] = [
        {"label": label, "rows": _rows(table), "differences": differences(table, level, looking=looking, tables=many)}
        for label, table in zip(found.labels, found.tables_by_option, strict=True)
    ]
    pairs = [pair for one in options for pair in one["differences"]]
    return {**shown, "options": options, "others": _others(pairs), "note": found.describe()}


def _others(pairs: list[dict[str, Any]]) -> str:
    """What is said of the differences that are not certain."""
    return others_words(sum(one["certain"] for one in pairs), len(pairs), pairs[0]["comparisons"]) if pairs else ""


def _rounds(line: Trend) -> list[dict[str, Any]]:
    table = line.table
    rows = zip(line.rounds, table.rows, strict=True)
    return [{"round": number, **_row(row, table.scale, len(table.rows))} for number, row in rows]


def trend_lines(line: Trend | OptionTrends, view: View) -> dict[str, Any]:
    """The rounds of a question, of each option if there are several, and the line through them."""
    if isinstance(line, Trend):
        return {**_line(line, view), "note": f"{line.describe()}; {_note(line.table)}"}
    many = 1 if len(line.labels) == 2 else len(line.labels)
    options = [{"label": label, **_line(one, view, many)} for label, one in zip(line.labels, line.trends, strict=True)]
    return {"options": options, "note": f"{line.describe()}; {line.caption()}"}


def _line(line: Trend, view: View, many: int = 1) -> dict[str, Any]:
    """The rounds and the line through them; with `many` options p is Bonferroni's."""
    p, words = min(1.0, many * line.p), ""
    if line.slope_standard_error is not None:
        words = trend_words(line.slope, p, line.table.scale, view.options.level)
        words += ", for one look that was planned beforehand" if view.looking else ""
    return {"rounds": _rounds(line), "slope": line.slope, "p": p, "words": words}


def _note(table: SegmentTable) -> str:
    fits = [(row.label, words) for row in table.rows if (words := _misfit(row.estimate))]
    return "; ".join([table.describe(), *(f"{label}: {words}" for label, words in fits)])


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
    if len(found.tallies) > 1:
        return None
    return estimate(found.tally) if found.bounds else found


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
