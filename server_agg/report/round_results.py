"""One question in one round: its estimate with its bars, and its table by the groups of a segment.

Rules
1. No estimate without a bar, and none of fewer than `minimum` answers.
2. The kind of the question says what is estimated: a share, the shares of all options (their bars holding at once), or
   a mean in its unit.  Without the survey a number cannot be told from a yes/no: it is the share of its range.
3. Answers by several designs are pooled; a bar they cannot have becomes that of the likelihood, of a choice the normal
   approximation.
4. Who did not declare a segment is a group of it, and so are released answers that are not told apart by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from rrcollect.publish.kinds import Choice, Number
from rrcollect.publish.question import Question
from rrcollect.publish.survey import Survey
from server_agg.compare.options import OptionTables, option_tables
from server_agg.compare.segments import MERGED, SegmentTable, segment_table
from server_agg.count.choice_tally import ChoiceTally
from server_agg.count.tallies import Tallies
from server_agg.count.tally import Tally
from server_agg.estimates.choice import ChoiceEstimate
from server_agg.estimates.interval import Interval, TargetLike
from server_agg.estimates.pooled_choice import PooledChoice, pool_choices, pooled_choice_method
from server_agg.estimates.scale import SHARES, OneValue, Scale, standard_error_of
from server_agg.report.released import MIXED, NOT_TOLD
from server_agg.report.result import Result
from server_agg.report.words import privacy_words, value_notes

UNDECLARED = "(not declared)"
TAKEN = (UNDECLARED, MERGED, NOT_TOLD)  # names of ours; a group that is called so gets a space after it
AnyEstimate = OneValue | ChoiceEstimate | PooledChoice


@dataclass(frozen=True)
class ResultOptions:
    """How many answers a cell needs, and what the bars are."""

    minimum: int = 2
    level: NumberLike = 0.95
    method: str = "exact"
    target: TargetLike = "population"


class QuestionScale(NamedTuple):
    """What the survey says of a question's values: the labels of its options, or the scale of its number."""

    labels: tuple[str, ...] = ()
    scale: Scale = SHARES

    @classmethod
    def of(cls, question: Question, survey: Survey) -> QuestionScale:
        """What this survey says."""
        kind = question.kind
        if isinstance(kind, Choice):
            return cls(tuple(survey.say(option) for option in kind.options))
        if isinstance(kind, Number):
            return cls((), Scale.of_number(kind.low, kind.high, survey.say(kind.unit) if kind.unit else ""))
        return cls()


PLAIN = QuestionScale()


class Finding(NamedTuple):
    """One value with its bar: of a choice there is one for each option."""

    label: str
    value: float
    standard_error: float | None
    simplex: float | None  # of a choice: the value brought to shares that add up to 1
    bar: Interval


@dataclass(frozen=True)
class RoundResults(Result):
    """One question in one round; without enough answers there is no estimate and no bar."""

    question: str
    round: int
    tallies: Tallies
    options: ResultOptions
    asked: QuestionScale = PLAIN

    @property
    def n(self) -> int:
        """Answers."""
        return self.tallies.n

    @property
    def is_choice(self) -> bool:
        """Whether it is one of several options."""
        return any(isinstance(tally, ChoiceTally) for tally in self.tallies.values())

    @cached_property
    def estimate(self) -> AnyEstimate | None:
        """By one design, or pooled over several."""
        if self.n < max(2, self.options.minimum):
            return None
        counted = self.tallies.each_design()
        if not self.is_choice:
            return self.asked.scale.estimate(
                shares_of(counted), self.options.target if len(counted) == 1 else "population"
            )
        sets = [tally for tally in counted if isinstance(tally, ChoiceTally)]
        if len(sets) == len(counted) == 1:
            return ChoiceEstimate(sets[0], self.options.target, self.asked.labels)
        return pool_choices(counted, self.asked.labels)

    @property
    def method(self) -> str:
        """The method of the bars."""
        found = self.estimate
        if isinstance(found, PooledChoice):
            return pooled_choice_method(self.options.method)
        if found is None or isinstance(found, ChoiceEstimate):
            return self.options.method
        return self.asked.scale.method(found, self.options.method)

    @cached_property
    def findings(self) -> list[Finding]:
        """Every value with its bar; none without enough answers."""
        found, level = self.estimate, self.options.level
        if found is None:
            return []
        if isinstance(found, ChoiceEstimate | PooledChoice):
            bars, inside = found.intervals(level, self.method), found.simplex()
            rows = zip(found.labels, found.values, found.standard_errors, inside, bars, strict=True)
            return [Finding(*row) for row in rows]
        return [Finding("", found.value, standard_error_of(found), None, found.interval(level, self.method))]

    @property
    def bar(self) -> Interval | None:
        """The bar of the estimate; of a choice that of its first option."""
        return self.findings[0].bar if self.findings else None

    def segments(self, name: str, minimum: int | None = None, over: int = 0) -> SegmentTable | OptionTables:
        """By the groups of a segment, the bars holding all at once; who did not declare it is a group too."""
        counted = self.tallies.by(f"segments.{name}")
        order = sorted(counted, key=lambda group: group == (MIXED,))  # what is not told apart comes last
        groups: dict[Any, Any] = {group_name(group[0]): counted[group] for group in order}
        least = max(2, self.options.minimum) if minimum is None else minimum
        how: dict[str, Any] = {"level": self.options.level, "target": self.options.target, "minimum": least}
        how |= {"method": self.options.method, "over": over}
        if self.is_choice:
            return option_tables(groups, self.asked.labels, **how)
        return segment_table(groups, scale=self.asked.scale, **how)

    def as_dict(self) -> dict[str, object]:
        """Inputs and results as plain values, ready for JSON; `estimate` is None where there is none."""
        found = self.estimate
        shown = {"estimate": None} if found is None else found.as_dict(self.options.level, self.method)
        return {"question": self.question, "round": self.round, **shown}

    def records(self) -> list[dict[str, object]]:
        """One row, of a choice one for each option."""
        if not self.is_choice or self.estimate is None:
            return super().records()
        named: dict[str, object] = {"question": self.question, "round": self.round, "n": self.n}
        return [
            {**named, "option": one.label, "value": one.value, "standard_error": one.standard_error,
             "simplex": one.simplex, **one.bar.as_dict()}
            for one in self.findings
        ]  # fmt: skip

    def lines(self, *, units: bool = False) -> list[list[str]]:
        """The lines of the table of `SurveyResults`, on request with their units; none without an estimate."""
        found, scale = self.estimate, self.asked.scale
        if found is None:
            return []
        privacy = "several designs"
        counted = self.tallies.each_design()
        if len(counted) == 1:
            privacy = privacy_words(counted[0].mechanism)
        lines = []
        for one in self.findings:
            bar, notes = one.bar, found.misfit.describe() if found.misfit.told else ""
            if not isinstance(found, ChoiceEstimate | PooledChoice):
                notes = value_notes(found, bar, scale)
            write = scale.words if units else scale.text
            shown = [write(value, bar.width) for value in (scale.clipped(one.value), bar.low, bar.high)]
            name = f"{self.question}: {one.label}" if one.label else self.question
            at_once = " (all options at once)" if self.is_choice else ""
            how = f"{float(100 * bar.level):.10g} % {bar.method}{at_once}"
            lines.append([name, str(self.round), f"{self.n:,}", *shown, how, bar.target, privacy, notes])
        return lines


def shares_of(counted: Any) -> list[Tally]:
    """The yes/no tallies; a choice among them is another question."""
    for tally in counted:
        if not isinstance(tally, Tally):
            raise ParameterError("tallies", tally, "answers of one kind")
    return list(counted)


def group_name(value: str | None) -> str:
    """The name of a group as it is shown."""
    ours = {None: UNDECLARED, MIXED: NOT_TOLD}
    return ours[value] if value in ours else f"{value} " if value in TAKEN else str(value)
