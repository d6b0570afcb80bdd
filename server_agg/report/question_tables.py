"""The groups and the rounds of a question as the results page shows them: plain values, ready for JSON.

Rules
1. Every row has its bar beside it, and how well its counts fit: `fit` for a board, `misfit` for the method.
2. Of several options the bars and the differences of all of them hold at once.
"""

from __future__ import annotations

from typing import Any, Protocol

from rrcollect.publish.survey import Survey
from server_agg.compare.options import OptionTables, OptionTrends
from server_agg.compare.segments import Row, SegmentTable
from server_agg.compare.trends import Trend
from server_agg.estimates.numerics import exact_level
from server_agg.estimates.scale import OneValue, Scale
from server_agg.report.differences import differences
from server_agg.report.plain_words import about, fit_words, others_words, trend_words
from server_agg.report.released import ReleaseFacts
from server_agg.report.round_results import ResultOptions, RoundResults, group_name
from server_agg.weigh.smoothed import SmoothedCurve


class Results(Protocol):
    """What was found about the whole survey, as far as the page of one question looks at it."""

    @property
    def rounds(self) -> tuple[RoundResults, ...]: ...
    @property
    def options(self) -> ResultOptions: ...
    @property
    def release(self) -> ReleaseFacts | None: ...
    @property
    def live(self) -> bool: ...
    @property
    def headline(self) -> int | None: ...
    @property
    def looking(self) -> bool: ...
    def enough(self, question: str) -> list[RoundResults]: ...
    def trend(self, question: str) -> Trend | OptionTrends | None: ...
    def smoothed(self, question: str) -> dict[str, SmoothedCurve]: ...


def _misfit(found: OneValue) -> str | None:
    return found.misfit.describe() if found.misfit.told else None


def _row(row: Row, scale: Scale, rows: int) -> dict[str, Any]:
    found, (low, high) = row.estimate, row.interval
    values = {"n": row.n, "shown": scale.clipped(found.value), "value": found.value, "low": low, "high": high}
    fit = fit_words([found.misfit], rows)
    return {**values, "about": about(found.value, low, high, scale), "misfit": _misfit(found), "fit": fit}


def _rows(table: SegmentTable) -> list[dict[str, Any]]:
    return [
        {"label": row.label, "cells": list(row.cells), **_row(row, table.scale, len(table.rows))} for row in table.rows
    ]


def segment_table(survey: Survey, name: str, found: SegmentTable | OptionTables, results: Results) -> dict[str, Any]:
    """The groups of a segment, of each option if there are several, with the differences between them."""
    segment, level, looking = survey.segments[name], exact_level(results.options.level), results.looking
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


def trend_lines(line: Trend | OptionTrends, results: Results, question: str) -> dict[str, Any]:
    """The rounds of a question, of each option if there are several, and the line through them."""
    curves = {
        label: [
            {"round": one.round, "value": one.value, "shown": curve.scale.clipped(one.value), "low": one.interval.low,
             "high": one.interval.high}
            for one in curve.points_by_round
        ]
        for label, curve in results.smoothed(question).items()
    }  # fmt: skip
    if isinstance(line, Trend):
        note = f"{line.describe()}; {_note(line.table)}"
        return {**_line(line, results), "smooth": curves.get(""), "note": note}
    many = 1 if len(line.labels) == 2 else len(line.labels)
    options = [
        {"label": label, **_line(one, results, many), "smooth": curves.get(label)}
        for label, one in zip(line.labels, line.trends, strict=True)
    ]
    return {"options": options, "note": f"{line.describe()}; {line.caption()}"}


def _line(line: Trend, results: Results, many: int = 1) -> dict[str, Any]:
    """The rounds and the line through them; with `many` options p is Bonferroni's."""
    p, words = min(1.0, many * line.p), ""
    if line.slope_standard_error is not None:
        words = trend_words(line.slope, p, line.table.scale, results.options.level)
        words += ", for one look that was planned beforehand" if results.looking else ""
    return {"rounds": _rounds(line), "slope": line.slope, "p": p, "words": words}


def _note(table: SegmentTable) -> str:
    fits = [(row.label, words) for row in table.rows if (words := _misfit(row.estimate))]
    return "; ".join([table.describe(), *(f"{label}: {words}" for label, words in fits)])
