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

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from rrcollect.publish.issuer import place_of
from rrcollect.publish.survey import Survey
from server_agg.comparisons.trend import Trend
from server_agg.count.tallies import Tallies, TallyKey
from server_agg.count.tally import Tally
from server_agg.errors import EmptySelection
from server_agg.estimates.interval import TargetLike
from server_agg.results.drawing import Picture, Point
from server_agg.results.result import Result
from server_agg.results.row import Row
from server_agg.survey_page.question import question_page
from server_agg.survey_page.released import (
    LIVE,
    LOOKING,
    ReleaseFacts,
    conditions,
    promise_words,
    release_words,
    token_words,
)
from server_agg.survey_page.rounds import QuestionResults, QuestionScale, ResultOptions, View, enough_of, trend_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PILOT = "pilot: trial data"


@dataclass(frozen=True)
class SurveyResults(Result):
    """The results of every question and round with answers; with a `survey` also in the form of its results page."""

    first = "question"
    rounds: tuple[QuestionResults, ...]
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

    @property
    def level(self) -> NumberLike:  # type: ignore[override]
        """The level of the bars."""
        return self.options.level

    @property
    def method(self) -> str:  # type: ignore[override]
        """The method of the bars, where answers have it."""
        return self.options.method

    @property
    def target(self) -> TargetLike:
        """What the bars are for."""
        return self.options.target

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every value of every question and round, in their order."""
        return tuple(row for each in self.rounds for row in each.rows)

    @property
    def opening(self) -> list[str]:  # type: ignore[override]
        """That these are the results of a trial."""
        return [PILOT] if self.pilot else []

    def columns(self) -> dict[str, list[str]]:
        """The privacy of the answers: what was promised, without a survey that of the design."""
        return {"privacy": [self._privacy(each) for each in self.rounds for _ in each.rows]}

    def _privacy(self, each: QuestionResults) -> str:
        return each.privacy if self.survey is None else promise_words(self.survey.question(each.question).promise)

    def remarks(self) -> list[str]:
        """What must be said of every question, and what the bars hold for."""
        said = [note for each in self.rounds for note in each.remarks()]
        if not self.rows:
            return said
        choice = "; those of a choice hold for all its options at once" if any(r.is_choice for r in self.rounds) else ""
        each = f"each bar covers on its own{choice}; " if len(self.rows) > 1 else ""
        return [*said, f"{each}bars hold for independent respondents who follow the protocol"]

    def extras(self) -> dict[str, object]:
        """Whether it is a trial, and every question and round with what was counted."""
        return {"pilot": self.pilot, "rounds": [{"n": each.n, **each.extras()} for each in self.rounds]}

    def points(self) -> list[Point]:
        """The rows, named by the question's text if there is a survey."""
        return [
            point._replace(label=self._label(each, row))
            for each in self.rounds
            for row, point in zip(each.rows, each.points(), strict=True)
        ]

    def plot(self, ax: Axes | None = None, *, limits: tuple[float, float] | None = None) -> Picture:
        """The rows with their bars; means, which are not on the axis of shares, are left out beside them."""
        shares = tuple(each for each in self.rounds if each.asked.scale.is_share)
        if 0 < len(shares) < len(self.rounds):
            return replace(self, rounds=shares).plot(ax, limits=limits)
        return super().plot(ax, limits=limits)

    def _label(self, each: QuestionResults, row: Row) -> str:
        text = each.question if self.survey is None else self.survey.say(self.survey.question(each.question).text)
        option = f", {row.extras['option']}" if each.is_choice else ""
        number = f"round {each.round + 1}, " if each.round else ""
        return f"{text}\n{number}n = {each.n:,}{option}"

    def round(self, question: str, number: int) -> QuestionResults:
        """The results of one question in one round; an error if nothing was counted of it."""
        for each in self.rounds:
            if (each.question, each.round) == (question, number):
                return each
        raise EmptySelection(f"nothing was counted of question {question!r} in round {number}")

    def enough(self, question: str) -> list[QuestionResults]:
        """The rounds of a question that have an estimate, in order."""
        return enough_of(self.rounds, question)

    def trend(self, question: str) -> Trend | None:
        """The trend over the rounds with enough answers; None if there are fewer than two such rounds."""
        return trend_of(self.enough(question), self.view)

    def page(self) -> dict[str, Any]:
        """All that the results page shows, as plain values, ready for JSON; it needs the survey."""
        if self.survey is None:
            raise ParameterError("survey", None, "the survey that was answered: survey_results(tallies, survey)")
        view, of = self.view, dict[str, list[QuestionResults]]()
        for each in self.rounds:
            of.setdefault(each.question, []).append(each)
        questions = [question_page(of.get(asked.id, ()), view, self.survey, asked) for asked in self.survey.questions]
        notes = [LOOKING if view.looking else LIVE] if view.live else release_words(view.release, self.survey)
        if self.survey.invite_only:
            counted: Counter[str] = Counter()
            for each in self.rounds:
                place = (self.survey.question(each.question), each.round)
                counted["" if self.survey.issuer is None else place_of(self.survey, *place)] += each.n
            notes += token_words(self.survey, counted, None if view.release is None else view.release.issued)
        return {
            "pilot": self.pilot,
            "digest": self.survey.digest,
            "name": self.survey.name,
            "version": self.survey.version,
            "title": self.survey.say(self.survey.title),
            "publisher": self.survey.publisher,
            "expires": self.survey.expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "invite_only": self.survey.invite_only,
            "issuer": None if self.survey.issuer is None else self.survey.issuer.address,
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
    several = Counter(question for question, _ in parts)
    rounds = (
        QuestionResults(
            *(question, number, Tallies(parts[question, number]), how, named.get(question, QuestionScale())),
            named=f"{question}, round {number + 1}" if several[question] > 1 else "",
        )
        for question, number in sorted(parts)
    )
    return SurveyResults(tuple(rounds), View(how, survey, release, live, headline))


def released_results(tallies: Tallies, survey: Survey, release: ReleaseFacts | None) -> SurveyResults:
    """The results that the public may see: those of the last release, with the `minimum` of the signed survey."""
    headline = None if release is None else release.headline
    return survey_results(tallies, survey, release=release, live=False, headline=headline)
