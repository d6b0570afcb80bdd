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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rrcollect.publish.survey import Survey
from server_agg.compare.options import OptionTrends, option_level, option_trends
from server_agg.compare.trends import Trend, trend
from server_agg.count.choice_tally import AnyTally
from server_agg.count.tallies import Tallies, TallyKey
from server_agg.errors import EmptySelection
from server_agg.report.drawing import Point
from server_agg.report.question_page import question_page
from server_agg.report.released import LIVE, LOOKING, ReleaseFacts, conditions, release_words
from server_agg.report.result import Result
from server_agg.report.round_results import Finding, QuestionScale, ResultOptions, RoundResults, shares_of
from server_agg.report.words import misfit_note
from server_agg.weigh.smoothed import SmoothedCurve, smoothed

__all__ = ["PILOT", "SurveyResults", "released_results", "survey_results"]

PILOT = "pilot: trial data"


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

    def to_markdown(self) -> str:
        """As `Result.to_markdown`, a trial said first."""
        return f"{PILOT}\n\n{super().to_markdown()}" if self.pilot else super().to_markdown()

    def to_latex(self) -> str:
        """As `Result.to_latex`, a trial said first."""
        return f"{PILOT}\n\n{super().to_latex()}" if self.pilot else super().to_latex()

    def to_html(self) -> str:
        """As `Result.to_html`, a trial said first."""
        return f"<p>{PILOT}</p>{super().to_html()}" if self.pilot else super().to_html()

    def records(self) -> list[dict[str, object]]:
        """One row per question and round."""
        return [row for each in self.rounds for row in each.records()]

    def points(self) -> list[Point]:
        """Every question and round that has an estimate, by its text where there is a survey."""
        texts = {} if self.survey is None else {q.id: self.survey.say(q.text) for q in self.survey.questions}
        return [
            Point(
                f"{texts.get(each.question, each.question)}{_round_words(each)}{_option(one)}",
                *(one.value, *one.bar, misfit_note(each.estimate.misfit)),
            )
            for each in self.rounds
            if each.estimate is not None
            for one in each.findings
            if each.asked.scale.is_share  # a mean has an axis of its own
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

    def trend(self, question: str) -> Trend | OptionTrends | None:
        """Over the rounds with enough answers; None if there are not two."""
        found, how, over = self.enough(question), self.options, 0
        if len(found) < 2:
            return None
        if self.looking and self.survey is not None:
            over = self.survey.question(question).rounds
        rounds: dict[int, Any] = {each.round: each.tallies.each_design() for each in found}
        if found[0].is_choice:
            return option_trends(rounds, found[0].asked.labels, level=how.level, method=how.method, over=over)
        return trend(rounds, level=how.level, method=how.method, scale=found[0].asked.scale, over=over)

    @property
    def looking(self) -> bool:
        """Whether the bars allow for looking while answers come."""
        return self.options.method == "anytime"

    def smoothed(self, question: str, width: int = 2) -> dict[str, SmoothedCurve]:
        """The curve over the rounds with enough answers, by option of a choice; nothing if there are not two, or if the
        bars must allow for looking, which those of a curve do not."""
        found = self.enough(question)
        if len(found) < 2 or self.looking:
            return {}
        if not found[0].is_choice:
            rounds = {each.round: shares_of(each.tallies.each_design()) for each in found}
            return {"": smoothed(rounds, width=width, level=self.options.level, scale=found[0].asked.scale)}
        labels = [one.label for one in found[0].findings]
        each_level = option_level(self.options.level, len(labels))
        return {
            label: smoothed(
                {each.round: shares_of(each.tallies.option(j).each_design()) for each in found},
                width=width,
                level=each_level,
            )
            for j, label in enumerate(labels)
        }

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The estimates as a table of text: its head, and a line for each."""
        units = not all(each.asked.scale.is_share for each in self.rounds)
        head = [
            "question",
            "round",
            "n",
            "estimate" if units else "estimate %",
            "low",
            "high",
            "bar",
            "target",
            "privacy",
        ]
        return [*head, ""], [line for each in self.rounds for line in each.lines(units=units)]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: with a survey all that its results page shows, else a list of rounds."""
        if self.survey is None:
            return {"pilot": self.pilot, "rounds": [each.as_dict() for each in self.rounds]}
        questions = [question_page(self, self.survey, question) for question in self.survey.questions]
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
            "beside": notes,
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
    asked: Mapping[str, QuestionScale] | None = None,
    **options: Any,
) -> SurveyResults:
    """What was found; with a survey, only what was answered to it.  The other options are those of `ResultOptions`.

    `asked` says, by question, what options are called and where numbers lie; with a survey it is the survey's.

    `live`: the tallies are all that was counted; otherwise they are those of the `release`, if there was one.
    `headline` is the round that the owner chose for it, None for the whole.

    >>> from rrcollect import Design
    >>> from server_agg.count.tally import Tally
    >>> design = Design("3/4", "3/4")
    >>> found = survey_results(Tallies({TallyKey("s1", "tax", design): Tally(design, 1000, 400)}), minimum=30)
    >>> round(found.round("tax", 0).estimate.value, 12), "{:.3f} to {:.3f}".format(*found.round("tax", 0).bar)
    (0.3, '0.239 to 0.362')
    """
    how, parts = ResultOptions(**options), dict[tuple[str, int], dict[TallyKey, AnyTally]]()
    named = dict(asked or {}) if survey is None else {q.id: QuestionScale.of(q, survey) for q in survey.questions}
    for key, tally in (tallies if survey is None else tallies.where(survey=survey.digest)).items():
        parts.setdefault((key.question, key.round), {})[key] = tally
    rounds = (
        RoundResults(question, number, Tallies(parts[question, number]), how, named.get(question, QuestionScale()))
        for question, number in sorted(parts)
    )
    return SurveyResults(tuple(rounds), how, survey, release, live, headline)


def released_results(tallies: Tallies, survey: Survey, release: ReleaseFacts | None) -> SurveyResults:
    """What strangers may see: the tallies of the last release, with the minimum that the survey signs."""
    headline = None if release is None else release.headline
    return survey_results(tallies, survey, release=release, live=False, headline=headline, minimum=survey.minimum)


def _option(one: Finding) -> str:
    return f", {one.label}" if one.label else ""


def _round_words(found: RoundResults) -> str:
    return f"\n{f'round {found.round}, ' if found.round else ''}n = {found.n:,}"
