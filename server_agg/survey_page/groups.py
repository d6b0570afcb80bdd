"""The groups and the rounds of a question as the results page shows them: plain values, ready for JSON.

Rules
1. Every row has its bar beside it, and how well its counts fit: `fit` for a board, `misfit` for the method.
2. Of several options the bars and the differences of all of them hold at once (Bonferroni); how many comparisons there
   are does not depend on what was answered.
3. What is released is looked at once: the bar of a difference is made of two exact ones by MOVER, in closed form, since
   a page is made for many pairs (the score's bar and p of one pair: `compare`).  In the live view it is made of
   the two groups' own, which hold at all looks and all at once.
4. Groups that were put together (merged, not told apart, not declared) are compared with nobody.
5. Of more than `MOST` pairs, those of all options together, the highest group is told against the lowest ones; the
   level stays that of all pairs.
6. A mean is a share of its range, and so is the difference of two.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from rrcollect.publish.survey import Survey
from server_agg.comparisons.compare import MERGED, Comparison
from server_agg.comparisons.trend import Trend
from server_agg.results.interval import exact_level
from server_agg.results.row import Row
from server_agg.survey_page.released import NOT_TOLD
from server_agg.survey_page.rounds import UNDECLARED, View, group_name
from server_agg.survey_page.words import difference_words, fit_words, others_words, shown_value, trend_words

MOST = 30  # pairs that are told of one segment
TOGETHER = (MERGED, NOT_TOLD, UNDECLARED)


def _row(row: Row, table: Comparison | Trend) -> dict[str, Any]:
    misfit, fits = row.misfit, [row.misfit] if row.misfit is not None else []
    said = misfit.describe() if misfit is not None and misfit.told else None
    shown = shown_value(row.value or 0.0, *row.interval(table.level), table.estimated)
    return {"n": row.n, **shown, "misfit": said, "fit": fit_words(fits, len(table.groups))}


def _rows(table: Comparison) -> list[dict[str, Any]]:
    pairs = zip(table.groups, table.group_rows, strict=True)
    return [{"label": group.name, "cells": list(group.cells), **_row(row, table)} for group, row in pairs]


def segment_table(survey: Survey, name: str, found: Comparison, view: View) -> dict[str, Any]:
    """The groups of a segment, of each option if there are several, with the differences between them."""
    segment, looking = survey.segments[name], view.looking
    labels = {group_name(value.value): survey.say(value.label) or value.value for value in segment.values}
    shown: dict[str, Any] = {"name": name, "label": survey.say(segment.label) or name, "labels": labels}
    tables: list[dict[str, Any]] = [
        {"label": part.option, "rows": _rows(part), "differences": differences(part, looking=looking)}
        for part in found.options
    ]
    pairs = [pair for one in tables for pair in one["differences"]]
    note = "; ".join([found.bars_note(), *found.merged_note()])
    parts = {"options": tables} if found.labels else {name: tables[0][name] for name in ("rows", "differences")}
    return {**shown, **parts, "others": _others(pairs), "note": note}


def _others(pairs: list[dict[str, Any]]) -> str:
    """What is said of the differences that are not certain."""
    return others_words(sum(one["certain"] for one in pairs), len(pairs), pairs[0]["comparisons"]) if pairs else ""


def trend_lines(line: Trend, view: View) -> dict[str, Any]:
    """The rounds of a question, of each option if there are several, and the line through them."""
    lines = [_line(part, view) for part in line.options]
    shown = {"options": lines} if line.labels else {name: lines[0][name] for name in ("rounds", "slope", "p", "words")}
    return {**shown, "note": "; ".join([*line.remarks(), line.bars_note()])}


def _line(line: Trend, view: View) -> dict[str, Any]:
    """The rounds and the line through them; of several options p is for all of them."""
    slope, words = line.slope, ""
    p: Any = slope.extras["p_adjusted"]
    if slope.standard_error is not None:
        words = trend_words(slope.value or 0.0, p, line.estimated, view.options.level)
        words += ", for one look that was planned beforehand" if view.looking else ""
    rounds = zip(line.scores, line.group_rows, strict=True)
    shown = [{"round": int(number), **_row(row, line)} for number, row in rounds]
    return {"label": line.option, "rounds": shown, "slope": slope.value, "p": p, "words": words}


def differences(table: Comparison, *, looking: bool) -> list[dict[str, Any]]:
    """The pairs of a table, the higher group first.

    >>> from rrcollect import Design
    >>> from server_agg import Tally, compare
    >>> cells = {name: Tally(Design("3/4", "3/4"), 400, ones) for name, ones in (("Berlin", 150), ("Dublin", 180))}
    >>> (found,) = differences(compare(cells), looking=False)
    >>> found["higher"], found["lower"], found["words"]
    ('Dublin', 'Berlin', 'by about 15 points (between 1 and 29): certain at the level 95 %')
    """
    alone = [place for place, group in enumerate(table.groups) if group.name not in TOGETHER and table.single(place)]
    family = len(alone) * (len(alone) - 1) // 2
    ranked = sorted(alone, key=lambda place: -(table.group_rows[place].value or 0.0))
    pairs = list(combinations(ranked, 2))
    most = max(1, MOST // table.many)
    told = pairs if len(pairs) <= most else [(ranked[0], other) for other in ranked[:0:-1]][:most]
    return [_pair(table, a, b, family, looking=looking) for a, b in told]


def _pair(table: Comparison, a: int, b: int, family: int, *, looking: bool) -> dict[str, Any]:
    level, (one, other) = exact_level(table.level), (table.group_rows[place].interval(table.level) for place in (a, b))
    value = (table.group_rows[a].value or 0.0) - (table.group_rows[b].value or 0.0)
    low, high, method, guaranteed = one.low - other.high, one.high - other.low, "anytime", one.guaranteed
    if not looking:
        bar = table.difference_bar(table.pair(a, b), family, level, "mover")
        low, high, method, guaranteed = bar.low, bar.high, bar.method, bar.guaranteed
    verb, words = difference_words(value, (low, high), table.estimated, level)
    names = {"higher": table.groups[a].name, "verb": verb, "lower": table.groups[b].name, "words": words}
    shown = {**names, "comparisons": family * table.many, "certain": low > 0 or high < 0}
    ends = {"value": value, "low": low, "high": high, "level": float(level)}
    return {**shown, **ends, "method": method, "guaranteed": guaranteed}
