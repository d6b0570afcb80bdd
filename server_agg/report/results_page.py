"""What was found about a survey as the collector's results page and its downloads show it: one dict of plain values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rrcollect.errors import ParameterError
from rrcollect.publish.survey import Question, Survey
from server_agg.compare.segments import Row
from server_agg.compare.trends import Trend
from server_agg.estimates.one import Estimate
from server_agg.report.result import clipped
from server_agg.report.words import bar_words

if TYPE_CHECKING:
    from server_agg.report.survey_results import QuestionResults, RoundResults

__all__ = ["page_dict"]


def page_dict(survey: Survey, questions: Iterable[QuestionResults], minimum: int) -> dict[str, Any]:
    """Everything about one survey."""
    shown = [_question(survey, found) for found in questions]
    return {
        "digest": survey.digest,
        "name": survey.name,
        "version": survey.version,
        "title": survey.title,
        "publisher": survey.publisher,
        "expires": survey.expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "invite_only": survey.invite_only,
        "answers": sum(question["n"] for question in shown),
        "minimum": minimum,
        "questions": shown,
    }


def _question(survey: Survey, found: QuestionResults) -> dict[str, Any]:
    latest, line = found.latest, found.trend
    shown: dict[str, Any] = {
        **_asked(survey.question(found.id)),
        "n": sum(each.n for each in found.rounds),
        "fullest": max((each.n for each in found.rounds), default=0),  # the minimum applies to each round
        "estimate": None,
        "segments": [],
        "trend": None if line is None else _trend(line),
    }
    if latest is not None:
        shown["round"] = latest.round
        shown["estimate"] = _estimate(latest, survey)
        shown["segments"] = [_segment(name, latest) for name in survey.segments]
    return shown


def _asked(question: Question) -> dict[str, Any]:
    design, promise = question.design, question.promise
    return {
        "id": question.id,
        "text": question.text,
        "promise": {
            "epsilon": float(promise.epsilon),
            "delta": float(promise.delta),
            "exact": {"epsilon": str(promise.epsilon), "delta": str(promise.delta)},
        },
        "design": {"p00": str(design.p00), "p11": str(design.p11)},
        "changed": {"no": float(1 - design.p00), "yes": float(1 - design.p11)},
        "rounds": question.rounds,
    }


def _estimate(found: RoundResults, survey: Survey) -> dict[str, Any]:
    result, bar = found.estimate, found.bar
    if not isinstance(result, Estimate) or bar is None:
        raise ParameterError("tallies", found.tallies, f"answers by the published design of {found.question!r} alone")
    return {
        "n": found.n,
        "value": result.value,
        "shown": result.clipped,
        "standard_error": result.standard_error,
        "low": bar.low,
        "high": bar.high,
        "level": float(bar.level),
        "method": bar.method,
        "bar": bar_words(bar),
        "target": f"the {bar.target}",
        "misfit": result.misfit.describe() if result.misfit else None,
        "manipulation": None if survey.invite_only else 100 * result.manipulation("0.01"),
        "direct_answers": result.effective_sample_size,
    }


def _row(row: Row) -> dict[str, Any]:
    low, high = row.interval
    return {"n": row.n, "shown": clipped(row.estimate.value), "value": row.estimate.value, "low": low, "high": high}


def _segment(name: str, found: RoundResults) -> dict[str, Any]:
    table = found.segments(name)
    rows = [{"label": row.label, "cells": list(row.cells), **_row(row)} for row in table.rows]
    return {"name": name, "rows": rows, "note": table.describe()}


def _trend(line: Trend) -> dict[str, Any]:
    rows = [{"round": number, **_row(row)} for number, row in zip(line.rounds, line.table.rows, strict=True)]
    return {"rounds": rows, "slope": line.slope, "p": line.p, "note": line.describe()}
