"""What was found about a survey: for every question the estimate with its bar, its segments and its trend.

The collector's page, the command line and the demo all show this; it is computed here and nowhere else.

Rules
1. No estimate without a bar, none of a cell with fewer than `minimum` answers; a small segment is merged, and said.
2. Rounds are not mixed: the headline is the latest round with enough answers.
3. Answers by several designs are pooled; a bar they cannot have becomes that of the likelihood.
4. Where no invite guards a survey, the result says how far 1 % of fakes could move it.
5. Misfit is told wherever a value is; the bar says its method, level and target.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from rrcollect.publish.question import Question
from rrcollect.publish.survey import Survey
from server_agg.compare.segments import MERGED, Row, SegmentTable, segment_table
from server_agg.compare.trends import Trend, trend
from server_agg.count.tallies import Tallies, TallyKey
from server_agg.count.tally import Tally
from server_agg.errors import EmptySelection
from server_agg.estimates.interval import Interval, TargetLike
from server_agg.estimates.one import Estimate, estimate
from server_agg.estimates.pooled import PooledEstimate, pool, pooled_method
from server_agg.report.result import Result, clipped
from server_agg.report.words import bar_words, digits_for, percent, privacy_words

__all__ = ["UNDECLARED", "ResultOptions", "RoundResults", "SurveyResults", "survey_results"]

UNDECLARED = "(not declared)"
TAKEN = (UNDECLARED, MERGED)  # names of ours; a group that is called so gets a space after it


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

    def segments(self, name: str, minimum: int | None = None) -> SegmentTable:
        """By the groups of a segment, the bars holding all at once; who did not declare it is a group too."""
        groups: dict[Any, Any] = {
            UNDECLARED if value is None else f"{value} " if value in TAKEN else value: counted
            for (value,), counted in self.tallies.by(f"segments.{name}").items()
        }
        least = max(2, self.options.minimum) if minimum is None else minimum
        how = {"level": self.options.level, "method": self.options.method, "target": self.options.target}
        return segment_table(groups, minimum=least, **how)  # type: ignore[arg-type]

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
        digits, privacy, notes = digits_for(bar.width), "several designs", []
        if not 0 <= found.value <= 1:
            notes.append(f"unclipped {percent(found.value, digits)}")
        if isinstance(found, Estimate):
            privacy = privacy_words(found.tally.mechanism)
            notes += [found.misfit.describe()] if found.misfit else []
        shares = [percent(share, digits) for share in (clipped(found.value), bar.low, bar.high)]
        how = [f"{float(100 * bar.level):.10g} % {bar.method}", bar.target, privacy, "; ".join(notes)]
        return [self.question, str(self.round), f"{self.n:,}", *shares, *how]


@dataclass(frozen=True)
class SurveyResults(Result):
    """Every round of every question that was answered; with its `survey` also as its results page shows it."""

    rounds: tuple[RoundResults, ...]
    options: ResultOptions
    survey: Survey | None = None

    def round(self, question: str, number: int) -> RoundResults:
        """One question in one round."""
        for each in self.rounds:
            if (each.question, each.round) == (question, number):
                return each
        raise EmptySelection(f"nothing was counted of question {question!r} in round {number}")

    def enough(self, question: str) -> list[RoundResults]:
        """The rounds of a question that have an estimate, in order."""
        return [each for each in self.rounds if each.question == question and each.estimate is not None]

    def trend(self, question: str) -> Trend | None:
        """Over the rounds with enough answers; None if there are not two."""
        rounds = {each.round: each.tallies.each_design() for each in self.enough(question)}
        how = self.options
        return trend(rounds, level=how.level, method=how.method) if len(rounds) > 1 else None

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The estimates as a table of text: its head, and a line for each."""
        head = ["question", "round", "n", "estimate %", "low", "high", "bar", "target", "privacy", ""]
        return head, [line for each in self.rounds if (line := each.line())]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: with a survey all that its results page shows, else a list of rounds."""
        if self.survey is None:
            return {"rounds": [each.as_dict() for each in self.rounds]}
        return {
            "digest": self.survey.digest,
            "name": self.survey.name,
            "version": self.survey.version,
            "title": self.survey.say(self.survey.title),
            "publisher": self.survey.publisher,
            "expires": self.survey.expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "invite_only": self.survey.invite_only,
            "answers": sum(each.n for each in self.rounds),
            "minimum": self.options.minimum,
            "questions": [_question(self, self.survey, question) for question in self.survey.questions],
        }


def survey_results(tallies: Tallies, survey: Survey | None = None, **options: Any) -> SurveyResults:
    """What was found; with a survey, only what was answered to it.  The options are those of `ResultOptions`.

    >>> from rrcollect import Design
    >>> design = Design("3/4", "3/4")
    >>> found = survey_results(Tallies({TallyKey("s1", "tax", design): Tally(design, 1000, 400)}), minimum=30)
    >>> round(found.round("tax", 0).estimate.value, 12), "{:.3f} to {:.3f}".format(*found.round("tax", 0).bar)
    (0.3, '0.239 to 0.362')
    """
    how, parts = ResultOptions(**options), dict[tuple[str, int], dict[TallyKey, Tally]]()
    for key, tally in (tallies if survey is None else tallies.where(survey=survey.digest)).items():
        parts.setdefault((key.question, key.round), {})[key] = tally
    rounds = (
        RoundResults(question, number, Tallies(parts[question, number]), how) for question, number in sorted(parts)
    )
    return SurveyResults(tuple(rounds), how, survey)


# ---- as the results page shows it ---------------------------------------------------------------------------------


def _question(results: SurveyResults, survey: Survey, question: Question) -> dict[str, Any]:
    design, promise, line = question.design, question.promise, results.trend(question.id)
    answers = [each.n for each in results.rounds if each.question == question.id]
    shown: dict[str, Any] = {
        "id": question.id,
        "text": survey.say(question.text),
        "promise": {
            "epsilon": float(promise.epsilon),
            "delta": float(promise.delta),
            "exact": {"epsilon": str(promise.epsilon), "delta": str(promise.delta)},
        },
        "design": {"p00": str(design.p00), "p11": str(design.p11)},
        "changed": {"no": float(1 - design.p00), "yes": float(1 - design.p11)},
        "rounds": question.rounds,
        "n": sum(answers),
        "fullest": max(answers, default=0),  # the minimum applies to each round
        "estimate": None,
        "segments": [],
        "trend": None if line is None else _trend(line),
    }
    if enough := results.enough(question.id):
        shown["round"] = enough[-1].round
        shown["estimate"] = _estimate(enough[-1], survey)
        shown["segments"] = [_segment(name, enough[-1].segments(name)) for name in survey.segments]
    return shown


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


def _segment(name: str, table: SegmentTable) -> dict[str, Any]:
    rows = [{"label": row.label, "cells": list(row.cells), **_row(row)} for row in table.rows]
    return {"name": name, "rows": rows, "note": table.describe()}


def _trend(line: Trend) -> dict[str, Any]:
    rows = [{"round": number, **_row(row)} for number, row in zip(line.rounds, line.table.rows, strict=True)]
    return {"rounds": rows, "slope": line.slope, "p": line.p, "note": line.describe()}
