"""What was found about a survey: for every question the estimate with its bar, its segments and its trend.

The collector's page, the command line and the demo all show this; it is computed here and nowhere else.

Rules
1. No estimate without a bar, none of a cell with fewer than `minimum` answers; a small segment is merged, and said.
2. Rounds are not mixed.  The headline is the round that the owner chose, or the whole (`headline`).
3. Answers by several designs are pooled; a bar they cannot have becomes that of the likelihood.
4. Where no invite guards a survey, the result says that one person can send many answers, and what fakes would do.
5. A release says when it was made, what it does not show and why, and what the crowd adds.  A live view says what
   looking costs (`released`).  With method "anytime" it costs nothing: the bars are from the first look those of all
   rounds of the question, and of all rows of a segment's table: its groups, not declared, and merged.
6. Results of a pilot say so first: "pilot: trial data".
7. Misfit is told wherever a value is; the bar says its method, level and target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rrcollect.errors import ParameterError
from rrcollect.publish.question import Question
from rrcollect.publish.survey import Survey
from server_agg.compare.segments import Row, SegmentTable
from server_agg.compare.trends import Trend, trend
from server_agg.count.tallies import Tallies, TallyKey
from server_agg.count.tally import Tally
from server_agg.errors import EmptySelection
from server_agg.estimates.one import Estimate
from server_agg.estimates.pooled import PooledEstimate
from server_agg.report.drawing import Point
from server_agg.report.headline import Headline, headline_of
from server_agg.report.released import (
    LIVE,
    LOOKING,
    ReleaseFacts,
    conditions,
    crowd_words,
    fakes_words,
    missing_words,
    release_words,
    waiting_words,
)
from server_agg.report.result import Result, clipped
from server_agg.report.round_results import UNDECLARED, ResultOptions, RoundResults, group_name
from server_agg.report.words import bar_words, share_point

__all__ = ["PILOT", "SurveyResults", "released_results", "survey_results"]

PILOT = "pilot: trial data"
NOT_DECLARED, ALL_MERGED = 1, 1  # rows of a table besides the segment's groups


@dataclass(frozen=True)
class SurveyResults(Result):
    """Every round of every question that was answered; with its `survey` also as its results page shows it."""

    numeric = frozenset(range(1, 6))
    rounds: tuple[RoundResults, ...]
    options: ResultOptions
    survey: Survey | None = None
    release: ReleaseFacts | None = None
    live: bool = True
    headline: int | None = None

    @property
    def pilot(self) -> bool:
        """Whether these are the results of a trial."""
        return any(key.pilot for each in self.rounds for key in each.tallies) or bool(self.survey and self.survey.pilot)

    def __str__(self) -> str:
        return f"{PILOT}\n{super().__str__()}" if self.pilot else super().__str__()

    def _repr_html_(self) -> str:
        return f"<p>{PILOT}</p>{super()._repr_html_()}" if self.pilot else super()._repr_html_()

    def records(self) -> list[dict[str, object]]:
        """One row per question and round."""
        return [row for each in self.rounds for row in each.records()]

    def points(self) -> list[Point]:
        """Every question and round that has an estimate, by its text where there is a survey."""
        texts = {} if self.survey is None else {q.id: self.survey.say(q.text) for q in self.survey.questions}
        return [
            share_point("", each.estimate, each.bar)._replace(
                label=f"{texts.get(each.question, each.question)}{_round_words(each)}"
            )
            for each in self.rounds
            if each.estimate is not None and each.bar is not None
        ]

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
        how, over = self.options, 0
        if self.looking and self.survey is not None:
            over = self.survey.question(question).rounds
        return trend(rounds, level=how.level, method=how.method, over=over) if len(rounds) > 1 else None

    @property
    def looking(self) -> bool:
        """Whether the bars allow for looking while answers come."""
        return self.options.method == "anytime"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The estimates as a table of text: its head, and a line for each."""
        head = ["question", "round", "n", "estimate %", "low", "high", "bar", "target", "privacy", ""]
        return head, [line for each in self.rounds if (line := each.line())]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: with a survey all that its results page shows, else a list of rounds."""
        if self.survey is None:
            return {"pilot": self.pilot, "rounds": [each.as_dict() for each in self.rounds]}
        questions = [_question(self, self.survey, question) for question in self.survey.questions]
        notes = [LOOKING if self.looking else LIVE] if self.live else release_words(self.release, self.survey)
        return {
            "pilot": self.pilot,
            "digest": self.survey.digest,
            "name": self.survey.name,
            "version": self.survey.version,
            "title": self.survey.say(self.survey.title),
            "publisher": self.survey.publisher,
            "expires": self.survey.expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "invite_only": self.survey.invite_only,
            "answers": sum(each.n for each in self.rounds),
            "minimum": self.options.minimum,
            "view": "live" if self.live else "released",
            "released": None if self.release is None else {"number": self.release.number, "at": self.release.when},
            "headline": self.headline,
            "notes": [*notes, *conditions(note for question in questions for note in question["notes"])],
            "questions": questions,
        }


def survey_results(
    tallies: Tallies,
    survey: Survey | None = None,
    *,
    release: ReleaseFacts | None = None,
    live: bool = True,
    headline: int | None = None,
    **options: Any,
) -> SurveyResults:
    """What was found; with a survey, only what was answered to it.  The other options are those of `ResultOptions`.

    `live`: the tallies are all that was counted; otherwise they are those of the `release`, if there was one.
    `headline` is the round that the owner chose for it, None for the whole.

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
    return SurveyResults(tuple(rounds), how, survey, release, live, headline)


def released_results(tallies: Tallies, survey: Survey, release: ReleaseFacts | None) -> SurveyResults:
    """What strangers may see: the tallies of the last release, with the minimum that the survey signs."""
    headline = None if release is None else release.headline
    return survey_results(tallies, survey, release=release, live=False, headline=headline, minimum=survey.minimum)


def _round_words(found: RoundResults) -> str:
    return f"\n{f'round {found.round}, ' if found.round else ''}n = {found.n:,}"


# ---- as the results page shows it ---------------------------------------------------------------------------------


def _question(results: SurveyResults, survey: Survey, question: Question) -> dict[str, Any]:
    design, promise, line = question.design, question.promise, results.trend(question.id)
    answers = [each.n for each in results.rounds if each.question == question.id]
    chosen = results.headline if question.rounds > 1 and (results.headline or 0) < question.rounds else None
    enough = [each for each in results.enough(question.id) if chosen in (None, each.round)]
    fullest = max(answers, default=0) if results.live else None
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
        "round": 0 if question.rounds == 1 else chosen,
        "n": sum(answers),
        "estimate": None,
        "segments": [],
        "trend": None if line is None else _trend(line),
        "notes": [waiting_words(results.options.minimum, question.rounds, fullest)],
    }
    if enough:
        level, method, looking = results.options.level, results.options.method, results.looking
        over = question.rounds if looking and chosen is None else 0
        found = headline_of({each.round: _one(each) for each in enough}, level, method, over)
        shown["estimate"] = _estimate(found, survey)
        if shown["round"] is not None:
            for name, segment in survey.segments.items():
                over = len(segment.names) + NOT_DECLARED + ALL_MERGED if looking else 0
                shown["segments"].append(_segment(name, enough[0].segments(name, over=over)))
        shown["notes"] = _notes(results, survey, question, shown, found)
    return shown


def _notes(
    results: SurveyResults, survey: Survey, question: Question, shown: dict[str, Any], found: Headline
) -> list[str]:
    """What is said of a question beside its estimate."""
    notes = []
    if shown["round"] is None:
        numbers = ", ".join(str(number + 1) for number in found.rounds)
        notes.append(
            f"This is the whole: round {numbers} of {question.rounds}, each by its answers. Tables by group are of one "
            "round, if the owner chooses it for the headline."
        )
    if not survey.invite_only:
        notes.append(fakes_words(question.design, found.n))
    if results.release is not None and not results.live:
        for table in shown["segments"]:
            groups = [*map(group_name, survey.segments[table["name"]].names), UNDECLARED]
            rows = [row["label"] for row in table["rows"]]
            notes.append(missing_words(table["name"], groups, rows, survey.minimum))
        notes.append(crowd_words(question.design, results.release.crowds.get(question.id, survey.minimum)))
    return [note for note in notes if note]


def _one(found: RoundResults) -> Estimate:
    if not isinstance(found.estimate, Estimate):
        raise ParameterError("tallies", found.tallies, f"answers by the published design of {found.question!r} alone")
    return found.estimate


def _estimate(found: Headline, survey: Survey) -> dict[str, Any]:
    bar, single = found.bar, found.estimates[0] if len(found.rounds) == 1 else None
    return {
        "n": found.n,
        "value": found.value,
        "shown": clipped(found.value),
        "standard_error": found.standard_error,
        "low": bar.low,
        "high": bar.high,
        "level": float(bar.level),
        "method": bar.method,
        "bar": bar_words(bar),
        "target": f"the {bar.target}",
        "misfit": found.misfit,
        "manipulation": None if survey.invite_only else 100 * found.estimates[0].manipulation("0.01"),
        "direct_answers": None if single is None else single.effective_sample_size,
    }


def _misfit(found: Estimate | PooledEstimate) -> str | None:
    return found.misfit.describe() if found.misfit.told else None


def _row(row: Row) -> dict[str, Any]:
    found, (low, high) = row.estimate, row.interval
    values = {"n": row.n, "shown": clipped(found.value), "value": found.value, "low": low, "high": high}
    return {**values, "misfit": _misfit(found)}


def _segment(name: str, table: SegmentTable) -> dict[str, Any]:
    rows = [{"label": row.label, "cells": list(row.cells), **_row(row)} for row in table.rows]
    return {"name": name, "rows": rows, "note": _note(table)}


def _trend(line: Trend) -> dict[str, Any]:
    rows = [{"round": number, **_row(row)} for number, row in zip(line.rounds, line.table.rows, strict=True)]
    return {"rounds": rows, "slope": line.slope, "p": line.p, "note": f"{line.describe()}; {_note(line.table)}"}


def _note(table: SegmentTable) -> str:
    fits = [(row.label, words) for row in table.rows if (words := _misfit(row.estimate))]
    return "; ".join([table.describe(), *(f"{label}: {words}" for label, words in fits)])
