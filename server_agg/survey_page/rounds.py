"""One question in one round: its estimate with its bars, and its table by the groups of a segment; and the headline.

Rules
1. No estimate without a bar, and none of fewer than `minimum` answers.
2. The kind of the question says what is estimated: a share, the shares of all options (their bars holding at once), or
   a mean in its unit.  Without the survey a number cannot be told from a yes/no: it is the share of its range.
3. Answers by several designs are pooled; a bar they cannot have becomes that of the likelihood, of a choice the normal
   approximation.
4. Who did not declare a segment is a group of it, and so are released answers that are not told apart by it.
5. Which rounds the headline is about the owner chose, or it is the whole: never what was answered.
6. The whole of R rounds is their mean, weighted by answers.  The same people may have answered in several rounds, in
   whatever dependence; so its bar is the mean of the rounds' bars at level 1 − (1−level)/R (Bonferroni), and its
   standard error the mean of theirs, which no dependence exceeds.
7. A headline that is looked at while rounds are added has from the first look the level that all of them will need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from rrcollect.publish.kinds import Choice, Number
from rrcollect.publish.question import Question
from rrcollect.publish.survey import Survey
from server_agg.compare.options import OptionTables, option_tables
from server_agg.compare.segments import MERGED, SegmentTable, segment_table, simultaneous_level
from server_agg.count.tallies import Tallies
from server_agg.count.tally import Tally
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.estimates.interval import TargetLike, aimed
from server_agg.report.result import Result
from server_agg.results.interval import Interval, exact_level
from server_agg.results.row import SHARES, Scale
from server_agg.results.words import privacy_words, value_notes
from server_agg.survey_page.released import MIXED, NOT_TOLD, ReleaseFacts

UNDECLARED = "(not declared)"
TAKEN = (UNDECLARED, MERGED, NOT_TOLD)  # names of ours; a group that is called so gets a space after it
AnyEstimate = Estimate | Estimate | Estimate


@dataclass(frozen=True)
class ResultOptions:
    """How many answers a cell needs, and what the bars are."""

    minimum: int = 2
    level: NumberLike = 0.95
    method: str = "exact"
    target: TargetLike = "population"


@dataclass(frozen=True)
class View:
    """How results are looked at: with which options, of which survey; `live`: all that was counted, else the `release`
    (None: not yet made); `headline`: the round that the owner chose, None for all rounds."""

    options: ResultOptions
    survey: Survey | None = None
    release: ReleaseFacts | None = None
    live: bool = True
    headline: int | None = None

    @property
    def looking(self) -> bool:
        """Whether the bars hold at every look while answers still arrive (method "anytime")."""
        return self.options.method == "anytime"


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
        return any(len(tally) > 1 for tally in self.tallies.values())

    @cached_property
    def estimate(self) -> Estimate | None:
        """By one design, or pooled over several."""
        if self.n < max(2, self.options.minimum):
            return None
        counted = self.tallies.each_design()
        aim, scale = aimed(self.options.target if len(counted) == 1 else "population"), self.asked.scale
        if self.is_choice:
            return estimate(counted, **aim, labels=self.asked.labels)
        unit = "" if scale.is_share else scale.unit
        return estimate(shares_of(counted), **aim, bounds=scale.bounds, unit=unit)

    @property
    def method(self) -> str:
        """The method of the bars."""
        found = self.estimate
        return self.options.method if found is None else found.method_for(self.options.method)

    @cached_property
    def findings(self) -> list[Finding]:
        """Every value with its bar; none without enough answers."""
        found, level = self.estimate, self.options.level
        if found is None:
            return []
        inside, bars = found.simplex() if self.is_choice else [None], found.intervals(level, self.method)
        return [
            Finding(row.name if self.is_choice else "", row.value or 0.0, row.standard_error, within, bar)
            for row, within, bar in zip(found.rows, inside, bars, strict=True)
        ]

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
            if not self.is_choice:
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
        if len(tally) > 1:
            raise ParameterError("tallies", tally, "answers of one kind")
    return list(counted)


def group_name(value: str | None) -> str:
    """The name of a group as it is shown."""
    ours = {None: UNDECLARED, MIXED: NOT_TOLD}
    return ours[value] if value in ours else f"{value} " if value in TAKEN else str(value)


@dataclass(frozen=True)
class Headline:
    """A value with its bar, over the rounds it is about."""

    rounds: tuple[int, ...]
    estimates: tuple[Estimate, ...]
    value: float
    standard_error: float | None
    bar: Interval

    @property
    def n(self) -> int:
        """Answers."""
        return sum(each.n for each in self.estimates)

    @property
    def misfit(self) -> str | None:
        """What does not fit, by round if there are several."""
        found = [
            (number, each.misfit) for number, each in zip(self.rounds, self.estimates, strict=True) if each.misfit.told
        ]
        several = len(self.rounds) > 1
        return "; ".join(f"round {n + 1}: {m.describe()}" if several else m.describe() for n, m in found) or None


def headline_of(estimates: Mapping[int, Estimate], level: object, method: str, over: int = 0) -> Headline:
    """The headline of these rounds.  `over`: of how many rounds it may become, if it is looked at before the last.

    >>> from rrcollect import Design
    >>> from server_agg.count.tally import Tally
    >>> rounds = {r: estimate(Tally(Design("3/4", "3/4"), n, ones)) for r, n, ones in ((0, 900, 360), (1, 100, 90))}
    >>> found = headline_of(rounds, "0.95", "exact")
    >>> round(found.value, 12), found.n, "{:.3f} to {:.3f}".format(*found.bar)
    (0.4, 1000, '0.282 to 0.438')
    """
    each = tuple(estimates.values())
    total = sum(one.n for one in each)
    alone = simultaneous_level(level, max(over, len(each)), "bonferroni")  # type: ignore[arg-type]
    bars = [one.interval(alone, method) for one in each]

    def mean(values: Sequence[float]) -> float:
        whole = sum(one.n * value for one, value in zip(each, values, strict=True)) / total
        return whole if len(values) > 1 else values[0]

    bar = bars[0]
    if max(over, len(each)) > 1:
        bar = bar.with_ends(
            (mean([one.low for one in bars]), mean([one.high for one in bars])),
            level=exact_level(level),
            target=bar.target if len(each) == 1 else f"{bar.target}, over {len(each)} rounds",
            guaranteed=all(one.guaranteed for one in bars),
            warning="; ".join(dict.fromkeys(one.warning for one in bars if one.warning)),
        )
    errors = [error for one in each if (error := one.standard_error) is not None]
    value, error = mean([one.value for one in each]), mean(errors) if len(errors) == len(each) else None
    return Headline(tuple(estimates), each, value, error, bar)
