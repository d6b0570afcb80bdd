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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from rrcollect.design.parameters import NumberLike
from rrcollect.publish.question import Question
from rrcollect.publish.survey import Survey
from server_agg.comparisons.compare import MERGED, Comparison, compare
from server_agg.comparisons.groups import simultaneous_level
from server_agg.comparisons.trend import Trend, trend
from server_agg.count.tallies import Tallies
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.estimates.interval import TargetLike, aimed
from server_agg.results.interval import Interval, exact_level, privacy_words
from server_agg.results.result import Result
from server_agg.results.row import SHARES, Row, Scale
from server_agg.survey_page.released import MIXED, NOT_TOLD, ReleaseFacts
from server_agg.survey_page.words import shown_value

UNDECLARED = "(not declared)"
TAKEN = (UNDECLARED, MERGED, NOT_TOLD)  # names of ours; a group that is called so gets a space after it


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
        scale, unit = SHARES, survey.say(kind.units) if kind.units else ""
        if "bounds" in kind.bounded:
            low, high = kind.bounded["bounds"]
            scale = Scale.of_number(low, high, unit)
        return cls(tuple(survey.say(option) for option in kind.labels), scale)

    @property
    def how(self) -> dict[str, Any]:
        """What `compare` and `trend` are told of it."""
        bounds = None if self.scale.is_share else (self.scale.low, self.scale.high)
        return {"labels": self.labels, "bounds": bounds, "unit": "" if bounds is None else self.scale.unit}


PLAIN = QuestionScale()


@dataclass(frozen=True)
class QuestionResults(Result):
    """One question in one round; without enough answers there is no estimate and no row."""

    first = "question"
    question: str
    round: int
    tallies: Tallies
    options: ResultOptions
    asked: QuestionScale = PLAIN
    named: str = ""  # how its rows are called, if not by the question alone

    @property
    def n(self) -> int:
        """Answers."""
        return self.tallies.n

    @property
    def is_choice(self) -> bool:
        """Whether it is one of several options."""
        return self.asked.scale.is_share and any(len(tally) > 1 for tally in self.tallies.values())

    @property
    def in_bins(self) -> bool:
        """Whether it is a number of which the whole distribution is known."""
        return not self.asked.scale.is_share and any(len(tally) > 1 for tally in self.tallies.values())

    @cached_property
    def estimate(self) -> Any:
        """By one design, or pooled over several; None of too few answers (of some option, where each was asked of other
        people)."""
        if self.n < max(2, self.options.minimum):
            return None
        counted = self.tallies.each_design()
        if self.is_choice and min(sum(tally[j].n for tally in counted) for j in range(len(counted[0]))) < 2:
            return None
        aim, scale = aimed(self.options.target if len(counted) == 1 else "population"), self.asked.scale
        unit = "" if scale.is_share else scale.unit
        return estimate(counted, **aim, labels=self.asked.labels, bounds=scale.bounds, unit=unit)

    @property
    def level(self) -> NumberLike:  # type: ignore[override]
        """The level of the bars."""
        return self.options.level

    @property
    def method(self) -> str:  # type: ignore[override]
        """The method of the bars."""
        found = self.estimate
        return self.options.method if found is None else found.method_for(self.options.method)

    @property
    def target(self) -> TargetLike:
        """What the bars are for."""
        return self.options.target

    @property
    def together(self) -> str:  # type: ignore[override]
        """Of a choice, that the bars of all options hold at once."""
        return "all options at once" if self.is_choice else ""

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The value, of a choice one for each option."""
        return tuple(self._named(self.estimate, row) for row in self.estimate.rows) if self.estimate is not None else ()

    def _named(self, found: Estimate, row: Row) -> Row:
        """A row of the estimate under its name here, whose bar is by the nearest method that it can have."""

        def bar(level: NumberLike, method: str | None) -> Interval:
            return row.interval(level, found.method_for(method))

        whole, of = self.named or self.question, {"question": self.question, "round": self.round}
        if self.is_choice or self.in_bins:
            whole, of = f"{whole}: {row.name}", {**of, "option": row.name}
        return replace(row, name=whole, bar=bar, extras={**of, **row.extras})

    @property
    def bar(self) -> Interval | None:
        """The bar of the estimate; of a choice that of its first option."""
        return next(iter(self.intervals()), None)

    @property
    def privacy(self) -> str:
        """The ε that answers were given with."""
        counted = self.tallies.each_design()
        return privacy_words(counted[0].mechanism) if len(counted) == 1 else "several designs"

    def columns(self) -> dict[str, list[str]]:
        """The privacy of the answers."""
        return {"privacy": [self.privacy] * len(self.rows)}

    def remarks(self) -> list[str]:
        """What must be said of the estimate, or that there is none."""
        few = f"{self.named or self.question}: too few answers for an estimate"
        return [few] if self.estimate is None else self.estimate.remarks()

    def extras(self) -> dict[str, object]:
        """What was counted, and what stands beside the value."""
        beside = {} if self.estimate is None else self.estimate.extras()
        return {"question": self.question, "round": self.round, **beside}

    def segments(self, name: str, minimum: int | None = None, over: int = 0) -> Comparison:
        """By the groups of a segment, the bars holding all at once; who did not declare it is a group too."""
        counted = self.tallies.by(f"segments.{name}")
        order = sorted(counted, key=lambda group: group == (MIXED,))  # what is not told apart comes last
        groups: dict[Any, Any] = {group_name(group[0]): counted[group] for group in order}
        least = max(2, self.options.minimum) if minimum is None else minimum
        how: dict[str, Any] = {"level": self.options.level, "target": self.options.target, "minimum": least}
        how |= {"method": self.options.method, "over": over}
        return compare(groups, **self.asked.how, **how)


def group_name(value: str | None) -> str:
    """The name of a group as it is shown."""
    ours = {None: UNDECLARED, MIXED: NOT_TOLD}
    return ours[value] if value in ours else f"{value} " if value in TAKEN else str(value)


def enough_of(rounds: Iterable[QuestionResults], question: str) -> list[QuestionResults]:
    """The rounds of a question that have an estimate, in order."""
    return [each for each in rounds if each.question == question and each.estimate is not None]


def trend_of(enough: Sequence[QuestionResults], view: View) -> Trend | None:
    """The trend over the rounds with enough answers; None if there are fewer than two such rounds."""
    if len(enough) < 2 or enough[0].in_bins:
        return None
    first, how, over = enough[0], view.options, 0
    if view.looking and view.survey is not None:
        over = view.survey.question(first.question).rounds
    rounds: dict[int, Any] = {each.round: each.tallies.each_design() for each in enough}
    return trend(rounds, **first.asked.how, level=how.level, method=how.method, over=over)


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


def distribution_page(found: QuestionResults, survey: Survey) -> dict[str, Any]:
    """A number in bins: its quantiles, and the curve of shares below with its band."""
    told, level, method = found.estimate, found.level, found.method
    scale, factor = found.asked.scale, float(told.tally.mechanism.manipulation_factor)
    quantiles = []
    for row in told.rows:
        bar = row.interval(level, method)
        quantiles.append({"label": row.name, "n": row.n, **shown_value(row.value, bar.low, bar.high, scale)})
    middle, bar = told.headline(), told.headline().interval(level, method)
    return {
        "n": told.n,
        "level": float(level),
        "method": bar.method,
        "target": f"the {bar.target}",
        "misfit": None,
        "fit": None,
        "manipulation": None if survey.invite_only else factor,
        "direct_answers": None,
        "guaranteed": True,
        "bar": f"{100 * float(level):.10g} % {bar.method} intervals, all quantiles at once",
        **shown_value(middle.value, bar.low, bar.high, scale),
        "standard_error": None,
        "quantiles": quantiles,
        "curve": [{"at": p.high, "value": p.value, "low": p.bar[0], "high": p.bar[1]} for p in told.cdf(level, method)],
    }
