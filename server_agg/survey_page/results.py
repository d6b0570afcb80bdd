"""The results of a survey: for every question the estimate with its bar, the table of each segment, and the trend.

The collector's page, the command line and the demo all show these results; they are computed here and nowhere else.

Rules
1. Every estimate has a bar.  A cell with fewer than `minimum` answers has no estimate.  Small groups of a segment are
   merged, and the table says which.
2. Every round is estimated by itself.  The headline is the round that the owner chose, or all rounds (see `rounds`).
3. Answers by several designs are pooled.  If the chosen method cannot give a bar for pooled answers, the bar is by
   likelihood (of a choice: the normal approximation).
4. If a survey is not by invitation, its results say that one person can send many answers, and by how much fake answers
   could move the estimate.
5. A release says when it was made, what it does not show and why, and what privacy the crowd adds (see `released`).
6. A live view says that its bars hold for one planned look only.  With method "anytime" they hold at all looks at once:
   from the first look on they allow for all rounds of the question, and for all rows that a segment's table can have
   (its groups, "not declared" and "merged").
7. Results of a pilot begin with "pilot: trial data".
8. Beside every value stands whether the counts fit the design (misfit).  Every bar names its method, level and target.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rrcollect.errors import ParameterError
from rrcollect.publish.survey import Survey
from server_agg.compare.options import OptionTrends
from server_agg.compare.trends import Trend
from server_agg.count.tallies import Tallies, TallyKey
from server_agg.count.tally import Tally
from server_agg.errors import EmptySelection
from server_agg.report.result import Result
from server_agg.results.drawing import Point
from server_agg.results.words import misfit_note
from server_agg.survey_page.question import enough_of, question_page, trend_of
from server_agg.survey_page.released import LIVE, LOOKING, ReleaseFacts, conditions, release_words
from server_agg.survey_page.rounds import Finding, QuestionScale, ResultOptions, RoundResults, View

PILOT = "pilot: trial data"


@dataclass(frozen=True)
class SurveyResults(Result):
    """The results of every question and round with answers; with a `survey` also in the form of its results page."""

    numeric = frozenset(range(1, 6))
    rounds: tuple[RoundResults, ...]
    view: View

    @property
    def survey(self) -> Survey | None:
        """The survey that was answered."""
        return self.view.survey

    @property
    def options(self) -> ResultOptions:
        """How many answers a cell needs, and what the bars are."""
        return self.view.options

    @property
    def pilot(self) -> bool:
        """Whether these are the results of a trial."""
        return any(key.pilot for each in self.rounds for key in each.tallies) or bool(self.survey and self.survey.pilot)

    def __str__(self) -> str:
        return f"{PILOT}\n{super().__str__()}" if self.pilot else super().__str__()

    def to_markdown(self) -> str:
        """As `Result.to_markdown`; for a pilot it begins with `PILOT`."""
        return f"{PILOT}\n\n{super().to_markdown()}" if self.pilot else super().to_markdown()

    def to_latex(self) -> str:
        """As `Result.to_latex`; for a pilot it begins with `PILOT`."""
        return f"{PILOT}\n\n{super().to_latex()}" if self.pilot else super().to_latex()

    def to_html(self) -> str:
        """As `Result.to_html`; for a pilot it begins with `PILOT`."""
        return f"<p>{PILOT}</p>{super().to_html()}" if self.pilot else super().to_html()

    def records(self) -> list[dict[str, object]]:
        """One row per question and round."""
        return [row for each in self.rounds for row in each.records()]

    def points(self) -> list[Point]:
        """One point per estimated share, named by the question's text if there is a survey; means are left out."""
        texts = {} if self.survey is None else {q.id: self.survey.say(q.text) for q in self.survey.questions}
        return [
            Point(
                f"{texts.get(each.question, each.question)}{_round_words(each)}{_option(one)}",
                *(one.value, *one.bar, misfit_note(each.estimate.misfit)),
            )
            for each in self.rounds
            if each.estimate is not None
            for one in each.findings
            if each.asked.scale.is_share  # a mean does not fit on an axis of shares
        ]

    def round(self, question: str, number: int) -> RoundResults:
        """The results of one question in one round; an error if nothing was counted of it."""
        for each in self.rounds:
            if (each.question, each.round) == (question, number):
                return each
        raise EmptySelection(f"nothing was counted of question {question!r} in round {number}")

    def enough(self, question: str) -> list[RoundResults]:
        """The rounds of a question that have an estimate, in order."""
        return enough_of(self.rounds, question)

    def trend(self, question: str) -> Trend | OptionTrends | None:
        """The trend over the rounds with enough answers; None if there are fewer than two such rounds."""
        return trend_of(self.enough(question), self.view)

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The estimates as a table of text: (its head, its lines)."""
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
        """Plain values, ready for JSON: all that the results page shows, or without a survey a list of rounds."""
        if self.survey is None:
            return {"pilot": self.pilot, "rounds": [each.as_dict() for each in self.rounds]}
        view, of = self.view, dict[str, list[RoundResults]]()
        for each in self.rounds:
            of.setdefault(each.question, []).append(each)
        questions = [question_page(of.get(asked.id, ()), view, self.survey, asked) for asked in self.survey.questions]
        notes = [LOOKING if view.looking else LIVE] if view.live else release_words(view.release, self.survey)
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
            "view": "live" if view.live else "released",
            "released": None if view.release is None else {"number": view.release.number, "at": view.release.when},
            "headline": view.headline,
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
    """The results of these tallies; with a survey, only of the answers to it.

    `live`: True if the tallies are all that was counted, False if they are those of the `release` (None: not yet made).
    `headline`: the round that the owner chose for the headline, None for all rounds.
    `asked`: for each question the labels of its options or the range of its number; with a survey it is not used.
    `options`: see `ResultOptions`; with a survey the `minimum` is the signed one, for the owner as for strangers.

    >>> from rrcollect import Design
    >>> from server_agg.count.tally import Tally
    >>> design = Design("3/4", "3/4")
    >>> found = survey_results(Tallies({TallyKey("s1", "tax", design): Tally(design, 1000, 400)}), minimum=30)
    >>> round(found.round("tax", 0).estimate.value, 12), "{:.3f} to {:.3f}".format(*found.round("tax", 0).bar)
    (0.3, '0.239 to 0.362')
    """
    if survey is not None:
        if "minimum" in options:
            raise ParameterError("minimum", options["minimum"], "none: that of the signed survey counts")
        options["minimum"] = survey.minimum
    how, parts = ResultOptions(**options), dict[tuple[str, int], dict[TallyKey, Tally]]()
    named = dict(asked or {}) if survey is None else {q.id: QuestionScale.of(q, survey) for q in survey.questions}
    for key, tally in (tallies if survey is None else tallies.where(survey=survey.digest)).items():
        parts.setdefault((key.question, key.round), {})[key] = tally
    rounds = (
        RoundResults(question, number, Tallies(parts[question, number]), how, named.get(question, QuestionScale()))
        for question, number in sorted(parts)
    )
    return SurveyResults(tuple(rounds), View(how, survey, release, live, headline))


def released_results(tallies: Tallies, survey: Survey, release: ReleaseFacts | None) -> SurveyResults:
    """The results that the public may see: those of the last release, with the `minimum` of the signed survey."""
    headline = None if release is None else release.headline
    return survey_results(tallies, survey, release=release, live=False, headline=headline)


def _option(one: Finding) -> str:
    return f", {one.label}" if one.label else ""


def _round_words(found: RoundResults) -> str:
    return f"\n{f'round {found.round}, ' if found.round else ''}n = {found.n:,}"
