"""Results as data: for every question the estimate with its bar, its segments and its trend.

Rules
1. No estimate without a bar, none of a cell with fewer than `minimum` answers; a small segment is merged, and said.
2. Rounds are not mixed: the headline is the latest round with enough answers.
3. Where no invite guards a survey, the result says how far 1 % of fakes could move it.
4. Estimates are for the population the respondents were drawn from; the bar says its method and level.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rrcollect.publish.survey import Question, Survey
from server_agg.compare.segments import MERGED, segment_table
from server_agg.compare.trends import trend
from server_agg.count.tallies import Tallies
from server_agg.count.tally import Tally
from server_agg.estimates.one import estimate
from server_agg.report.words import bar_words

__all__ = ["findings"]

LEVEL = 0.95
UNDECLARED = "(not declared)"
TAKEN = (UNDECLARED, MERGED)  # names of ours; a group that is called so gets a space after it


def findings(survey: Survey, tallies: Tallies, minimum: int) -> dict[str, Any]:
    """Everything the results page and its downloads show of one survey."""
    own = tallies.where(survey=survey.digest)
    return {
        "digest": survey.digest,
        "name": survey.name,
        "version": survey.version,
        "title": survey.title,
        "publisher": survey.publisher,
        "expires": survey.expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "invite_only": survey.invite_only,
        "answers": own.n,
        "minimum": minimum,
        "questions": [
            _question(survey, question, own.where(question=question.id), minimum) for question in survey.questions
        ],
    }


def _question(survey: Survey, question: Question, tallies: Tallies, minimum: int) -> dict[str, Any]:
    design = question.design
    rounds = {number: counted for (number,), (counted,) in sorted(tallies.by("round").items())}
    enough = {number: tally for number, tally in rounds.items() if tally.n >= minimum}
    found: dict[str, Any] = {
        "id": question.id,
        "text": question.text,
        "promise": {
            "epsilon": float(question.promise.epsilon),
            "delta": float(question.promise.delta),
            "exact": {"epsilon": str(question.promise.epsilon), "delta": str(question.promise.delta)},
        },
        "design": design.to_wire(),
        "changed": {"no": float(1 - design.p00), "yes": float(1 - design.p11)},
        "rounds": question.rounds,
        "n": tallies.n,
        "fullest": max((tally.n for tally in rounds.values()), default=0),  # the minimum applies to each round
        "estimate": None,
        "segments": [],
        "trend": None,
    }
    if enough:
        latest = max(enough)
        found["round"] = latest
        found["estimate"] = _estimate(enough[latest], survey)
        now = tallies.where(round=latest)
        found["segments"] = [_segment(name, now, minimum) for name in survey.segments]
    if len(enough) > 1:
        found["trend"] = _trend(enough)
    return found


def _estimate(tally: Tally, survey: Survey) -> dict[str, Any]:
    result = estimate(tally)
    bar = result.interval(LEVEL)
    misfit = result.misfit
    points = 100 * result.manipulation("0.01")
    return {
        "n": tally.n,
        "value": result.value,
        "shown": result.clipped,
        "standard_error": result.standard_error,
        "low": bar.low,
        "high": bar.high,
        "level": LEVEL,
        "method": bar.method,
        "bar": bar_words(bar),
        "target": "the population",
        "misfit": misfit.describe() if misfit else None,
        "manipulation": None if survey.invite_only else points,
        "direct_answers": result.effective_sample_size,
    }


def _segment(name: str, tallies: Tallies, minimum: int) -> dict[str, Any]:
    cells: Mapping[Any, Any] = {
        UNDECLARED if value is None else f"{value} " if value in TAKEN else value: counted
        for (value,), counted in tallies.by(f"segments.{name}").items()
    }
    table = segment_table(cells, minimum=minimum, level=LEVEL)
    shown = [row for row in table.rows if row.n >= minimum]
    return {
        "name": name,
        "rows": [
            {
                "label": row.label,
                "cells": list(row.cells),
                "n": row.n,
                "shown": min(max(row.estimate.value, 0.0), 1.0),
                "value": row.estimate.value,
                "low": row.interval.low,
                "high": row.interval.high,
            }
            for row in shown
        ],
        "note": table.describe(),
    }


def _trend(rounds: dict[int, Tally]) -> dict[str, Any]:
    line = trend(rounds, level=LEVEL)
    return {
        "rounds": [
            {
                "round": number,
                "n": row.n,
                "shown": min(max(row.estimate.value, 0.0), 1.0),
                "value": row.estimate.value,
                "low": row.interval.low,
                "high": row.interval.high,
            }
            for number, row in zip(line.rounds, line.table.rows, strict=True)
        ],
        "slope": line.slope,
        "p": line.p,
        "note": line.describe(),
    }
