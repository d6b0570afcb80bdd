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
from rrcollect.publish.survey import Survey
from server_agg.compare.segments import MERGED, SegmentTable, segment_table
from server_agg.compare.trends import Trend, trend
from server_agg.count.tallies import Tallies, TallyKey
from server_agg.count.tally import Tally
from server_agg.errors import EmptySelection
from server_agg.estimates.interval import Interval, TargetLike
from server_agg.estimates.one import Estimate, estimate
from server_agg.estimates.pooled import PooledEstimate, pool, pooled_method
from server_agg.report.result import Result, clipped
from server_agg.report.results_page import page_dict
from server_agg.report.words import digits_for, percent, privacy_words

__all__ = ["UNDECLARED", "QuestionResults", "ResultOptions", "RoundResults", "SurveyResults", "survey_results"]

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
class RoundResults:
    """One question in one round."""

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
        """None with fewer answers than the minimum."""
        if self.n < max(2, self.options.minimum):
            return None
        counted = self.tallies.each_design()
        return estimate(counted[0], self.options.target) if len(counted) == 1 else pool(counted)

    def _method(self) -> str:
        several = isinstance(self.estimate, PooledEstimate)
        return pooled_method(self.options.method) if several else self.options.method

    @cached_property
    def bar(self) -> Interval | None:
        """The bar of the estimate."""
        return None if self.estimate is None else self.estimate.interval(self.options.level, self._method())

    @property
    def notes(self) -> list[str]:
        """What must be said beside the value: that it was cut to [0, 1], that the data do not fit the design."""
        found = self.estimate
        if found is None or self.bar is None:
            return []
        cut = not 0 <= found.value <= 1
        said = [f"unclipped {percent(found.value, digits_for(self.bar.width))}"] if cut else []
        return said + ([found.misfit.describe()] if isinstance(found, Estimate) and found.misfit else [])

    def segments(self, name: str, minimum: int | None = None) -> SegmentTable:
        """By the groups of a segment, the bars holding all at once; who did not declare it is a group too."""
        options = self.options
        groups: dict[Any, Any] = {
            UNDECLARED if value is None else f"{value} " if value in TAKEN else value: counted
            for (value,), counted in self.tallies.by(f"segments.{name}").items()
        }
        return segment_table(
            groups,
            minimum=max(2, options.minimum) if minimum is None else minimum,
            level=options.level,
            method=options.method,
            target=options.target,
        )

    def as_dict(self) -> dict[str, Any]:
        """Inputs and results as plain values, ready for JSON; `estimate` is None where there is none."""
        found = self.estimate
        shown = {"estimate": None} if found is None else found.as_dict(self.options.level, self._method())
        return {"question": self.question, "round": self.round, **shown}

    def cells(self) -> list[str]:
        """One line of the table of `SurveyResults`; nothing without an estimate."""
        found, bar = self.estimate, self.bar
        if found is None or bar is None:
            return []
        digits = digits_for(bar.width)
        shares = [percent(share, digits) for share in (clipped(found.value), bar.low, bar.high)]
        privacy = privacy_words(found.tally.mechanism) if isinstance(found, Estimate) else "several designs"
        how = [f"{float(100 * bar.level):.10g} % {bar.method}", bar.target, privacy, "; ".join(self.notes)]
        return [self.question, str(self.round), f"{self.n:,}", *shares, *how]


@dataclass(frozen=True)
class QuestionResults:
    """One question: its rounds, the latest with enough answers, and the trend over those."""

    id: str
    rounds: tuple[RoundResults, ...]

    def round(self, number: int) -> RoundResults:
        """The results of one round."""
        for each in self.rounds:
            if each.round == number:
                return each
        raise EmptySelection(f"nothing was counted of question {self.id!r} in round {number}")

    @property
    def _enough(self) -> list[RoundResults]:
        return [each for each in self.rounds if each.estimate is not None]

    @property
    def latest(self) -> RoundResults | None:
        """The latest round with enough answers."""
        return max(self._enough, key=lambda each: each.round, default=None)

    @cached_property
    def trend(self) -> Trend | None:
        """Over the rounds with enough answers; None if there are not two."""
        enough = self._enough
        if len(enough) < 2:
            return None
        options = enough[0].options
        return trend(
            {each.round: each.tallies.each_design() for each in enough}, level=options.level, method=options.method
        )


@dataclass(frozen=True)
class SurveyResults(Result):
    """Every question that was answered, or every question of the `survey` if that is known."""

    questions: tuple[QuestionResults, ...]
    options: ResultOptions
    survey: Survey | None = None

    def __getitem__(self, question: str) -> QuestionResults:
        for each in self.questions:
            if each.id == question:
                return each
        raise EmptySelection(f"no question {question!r}; there are {[each.id for each in self.questions]}")

    def rounds(self) -> list[RoundResults]:
        """Every round of every question."""
        return [each for question in self.questions for each in question.rounds]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: with a survey all that its results page shows, else a list of rounds."""
        if self.survey is None:
            return {"rounds": [each.as_dict() for each in self.rounds()]}
        return page_dict(self.survey, self.questions, self.options.minimum)

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The rounds with an estimate as text: head, and a line for each."""
        head = ["question", "round", "n", "estimate %", "low", "high", "bar", "target", "privacy", ""]
        return head, [line for each in self.rounds() if (line := each.cells())]


def survey_results(tallies: Tallies, survey: Survey | None = None, **options: Any) -> SurveyResults:
    """What was found; with a survey, only what was answered to it.  The options are those of `ResultOptions`.

    >>> from rrcollect import Design
    >>> design = Design("3/4", "3/4")
    >>> found = survey_results(Tallies({TallyKey("s1", "tax", design): Tally(design, 1000, 400)}), minimum=30)
    >>> round(found["tax"].latest.estimate.value, 12), "{:.3f} to {:.3f}".format(*found["tax"].latest.bar)
    (0.3, '0.239 to 0.362')
    """
    own = tallies if survey is None else tallies.where(survey=survey.digest)
    asked = sorted({key.question for key in own}) if survey is None else [each.id for each in survey.questions]
    rounds: dict[str, dict[int, dict[TallyKey, Tally]]] = {question: {} for question in asked}
    for key, tally in own.items():
        if key.question in rounds:
            rounds[key.question].setdefault(key.round, {})[key] = tally
    how = ResultOptions(**options)
    questions = (
        QuestionResults(name, tuple(RoundResults(name, r, Tallies(rounds[name][r]), how) for r in sorted(rounds[name])))
        for name in asked
    )
    return SurveyResults(tuple(questions), how, survey)
