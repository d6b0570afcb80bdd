"""One question as the results page shows it: plain values, ready for JSON, by the kind of the question.

    yes_no   estimate: a share                    segments: rows               trend: rounds
    number   the same, on the number's scale
    choice   estimate: `options`, one each        segments: rows per option    trend: rounds per option

Rules
1. Every value has its bar beside it, and `shown` is the value cut to its scale.
2. Of a choice the bars of all options hold at once, with those of every group or round where there are several.
3. What chance did to an answer is said as the devices told it (`told`).
4. What is said beside a value is said for people, in whole sentences (`notes`).  How well counts fit is `fit` for a
   board and `misfit`, with its probability, for the method.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from rrcollect.answer.explain.words import Words
from rrcollect.errors import ParameterError
from rrcollect.publish.document import CARRIED
from rrcollect.publish.question import Question
from rrcollect.publish.survey import Survey
from server_agg.comparisons.groups import option_level
from server_agg.comparisons.trend import Trend, trend
from server_agg.count.tallies import Tallies
from server_agg.estimates.estimate import Estimate
from server_agg.results.interval import Interval
from server_agg.results.row import Scale
from server_agg.results.words import bar_words
from server_agg.survey_page.groups import segment_table, trend_lines
from server_agg.survey_page.released import (
    JOINED,
    crowd_words,
    dishonest_words,
    fakes_words,
    missing_words,
    promise_words,
    waiting_words,
)
from server_agg.survey_page.rounds import Headline, QuestionResults, QuestionScale, View, headline_of
from server_agg.survey_page.words import axis_of, fit_words, largest_words, shown_value

NOT_DECLARED, ALL_MERGED = 1, 1  # rows of a table in addition to the segment's groups


def enough_of(rounds: Iterable[QuestionResults], question: str) -> list[QuestionResults]:
    """The rounds of a question that have an estimate, in order."""
    return [each for each in rounds if each.question == question and each.estimate is not None]


def trend_of(enough: Sequence[QuestionResults], view: View) -> Trend | None:
    """The trend over the rounds with enough answers; None if there are fewer than two such rounds."""
    if len(enough) < 2:
        return None
    first, how, over = enough[0], view.options, 0
    if view.looking and view.survey is not None:
        over = view.survey.question(first.question).rounds
    rounds: dict[int, Any] = {each.round: each.tallies.each_design() for each in enough}
    return trend(rounds, **first.asked.how, level=how.level, method=how.method, over=over)


def question_page(rounds: Sequence[QuestionResults], view: View, survey: Survey, question: Question) -> dict[str, Any]:
    """What the page shows of a question; `rounds` are its own."""
    promise, enough = question.promise, enough_of(rounds, question.id)
    line = trend_of(enough, view)
    chosen = view.headline if question.rounds > 1 and (view.headline or 0) < question.rounds else None
    enough = [each for each in enough if chosen in (None, each.round)]
    fullest = max((each.n for each in rounds), default=0) if view.live else None
    scale = QuestionScale.of(question, survey).scale
    shown: dict[str, Any] = {
        "id": question.id,
        "text": survey.say(question.text),
        "kind": question.kind.kind,
        "scale": {"low": float(scale.low), "high": float(scale.high), "unit": scale.unit},
        "axis": axis_of(scale),
        "promise": {
            "epsilon": float(promise.epsilon),
            "delta": float(promise.delta),
            "exact": {"epsilon": str(promise.epsilon), "delta": str(promise.delta)},
            "words": promise_words(promise),
        },
        "design": question.design.to_wire(),
        "told": Words.of("en").spoken(question.sentences.drawn),
        "rounds": question.rounds,
        "panel": question.panel,
        "round": 0 if question.rounds == 1 else chosen,
        "n": sum(each.n for each in rounds),
        "estimate": None,
        "segments": [],
        "beside": [],
        "trend": None if line is None else trend_lines(line, view),
        "notes": [waiting_words(view.options.minimum, question.rounds, fullest)],
    }
    if enough:
        looking = view.looking
        over = question.rounds if looking and chosen is None else 0
        joined = question.panel and not looking  # one prevalence over the window is what an anytime bar needs
        whole = _HeadlineLines(enough, view.options.level, view.options.method, independent=joined, over=over)
        shown["estimate"] = whole.page(survey)
        if shown["round"] is not None:
            for name, segment in survey.segments.items():
                rows = len(segment.names) + NOT_DECLARED + ALL_MERGED if looking else 0
                shown["segments"].append(segment_table(survey, name, enough[0].segments(name, over=rows), view))
        shown["beside"], method = _notes(view, survey, question, shown, whole)
        shown["notes"] = [*shown["beside"], *method]
    return shown


class _HeadlineLines:
    """The headline of a question: one line, or one for each option."""

    def __init__(self, enough: list[QuestionResults], level: Any, method: str, *, independent: bool, over: int) -> None:
        self.rounds, self.scale = [each.round for each in enough], enough[0].asked.scale
        self.over = f", over {len(enough)} rounds" if independent and len(enough) > 1 else ""
        if self.over:
            enough = [_joined(enough)]
        self.choice = enough[0].estimate if enough[0].is_choice else None
        self.level = level
        parts = [_parts(each) for each in enough]
        each_level = option_level(level, len(parts[0])) if self.choice else level
        self.lines: list[Headline] = [
            headline_of(
                {each.round: part[j] for each, part in zip(enough, parts, strict=True)}, each_level, method, over
            )
            for j in range(len(parts[0]))
        ]
        self.bars: list[Interval] = [line.bar for line in self.lines]
        self.single = len(enough) == 1
        if self.choice and self.single and over <= 1:
            self.bars = self.choice.intervals(level, method)  # tightened, which only one tally allows
        misfits = [(each.round, each.estimate.misfit) for each in enough if each.estimate and each.estimate.misfit.told]
        self.fit, several = fit_words([misfit for _, misfit in misfits], len(enough)), len(enough) > 1
        told = [f"round {n + 1}: {m.describe()}" if several else m.describe() for n, m in misfits]
        self.misfit = "; ".join(told) or None

    @property
    def n(self) -> int:
        return self.lines[0].n

    def page(self, survey: Survey) -> dict[str, Any]:
        first, bar = self.lines[0].estimates[0], self.bars[0]
        factor = first.tally.mechanism.column.manipulation_factor
        shown: dict[str, Any] = {
            "n": self.n,
            "level": float(self.level),
            "method": bar.method,
            "target": f"the {bar.target}{self.over}",
            "misfit": self.misfit,
            "fit": self.fit,
            "manipulation": None if survey.invite_only else _scaled(self.scale, float(factor)) / 100,
            "direct_answers": self._worth(first),
        }
        if not self.choice:
            words = bar_words(bar) if self.scale.is_share else _words(self.scale, bar)
            return {**shown, "guaranteed": bar.guaranteed, "bar": words, **_value(self.lines[0], bar, self.scale)}
        inside = self.choice.simplex() if self.single else [None] * len(self.lines)
        options = [
            {"label": label, **_value(line, own, self.scale), "simplex": simplex}
            for label, line, own, simplex in zip(self.choice.labels, self.lines, self.bars, inside, strict=True)
        ]
        words = f"{100 * float(self.level):.10g} % {bar.method} intervals, all options at once"
        bars = [(one["label"], one["value"], one["low"], one["high"]) for one in options]
        largest = dict(zip(("label", "words"), largest_words(bars, self.level), strict=True))
        sure = all(own.guaranteed for own in self.bars)
        return {**shown, "guaranteed": sure, "bar": words, "largest": largest, "options": options}

    def _worth(self, first: Estimate) -> float | None:
        """How many direct answers tell as much: of one share, in one round."""
        one = self.single and not self.choice
        return first.effective_sample_size if first.bounds is None and one else None


def _joined(enough: list[QuestionResults]) -> QuestionResults:
    """The rounds of a panel as one: different people answered in each, so their answers are one sample of the mean over
    rounds, and a two-sided exact bar of all of them holds for it ([Hoe56]: unequal chances have lighter tails)."""
    first = enough[0]
    counted = Tallies()
    for each in enough:
        counted += Tallies({replace(key, round=first.round): tally for key, tally in each.tallies.items()})
    return replace(first, tallies=counted)


def _parts(found: QuestionResults) -> list[Estimate]:
    """The estimates of a round, one for each option of a choice."""
    estimate = found.estimate
    if estimate is None or len(estimate.tallies) > 1:
        raise ParameterError("tallies", found.tallies, f"answers by the published design of {found.question!r} alone")
    return [estimate.option(j) for j in range(len(estimate.labels))] if found.is_choice else [estimate]


def _scaled(scale: Scale, factor: float) -> float:
    return 100 * factor if scale.is_share else scale.span * factor


def _words(scale: Scale, bar: Interval) -> str:
    ends = f"{scale.text(bar.low, bar.width)}–{scale.words(bar.high, bar.width)}"
    return f"{float(100 * bar.level):.10g} % {bar.method} interval {ends}"


def _value(line: Headline, bar: Interval, scale: Scale) -> dict[str, Any]:
    return {**shown_value(line.value, *bar, scale), "standard_error": line.standard_error}


def _notes(
    view: View, survey: Survey, question: Question, shown: dict[str, Any], whole: _HeadlineLines
) -> tuple[list[str], list[str]]:
    """What is said of a question: what must be read beside its estimate, and what belongs to the method."""
    beside, method = [], []
    if shown["round"] is None:
        beside.append(_rounds_words(whole.rounds, question.rounds))
        if survey.segments:
            method.append(
                "Each round weighs by its answers. Tables by group are of one round, if the owner chooses it for the "
                "headline."
            )
    if question.panel:
        beside.append(
            "Each device answered in one round, which it drew by chance beforehand: the rounds are of different people."
        )
    if survey.ask == "one":
        beside.append(
            "Each device was asked one of the survey's questions, which it drew by chance beforehand: those who "
            "answered this one are a fair sample of all."
        )
    if survey.invite_only:
        shown["estimate"]["dishonest"] = dishonest_words(question.design, whole.scale)
    else:
        method.append(fakes_words(question.design, whole.n, whole.scale))
    if view.release is not None and not view.live:
        for table in shown["segments"]:
            called, part = table["labels"], table["options"][0] if "options" in table else table
            rows = [called.get(row["label"], row["label"]) for row in part["rows"]]
            table["missing"] = missing_words(called.values(), rows, survey.minimum)
            if table["missing"]:
                method.append(f"By {table['label']}: {table['missing']}")
        crowd = view.release.crowds.get(question.id, survey.minimum)
        method.append(JOINED if survey.collector == CARRIED else crowd_words(question.design, crowd, question.promise))
    return [note for note in beside if note], method


def _rounds_words(found: list[int], asked: int) -> str:
    """Which rounds the headline is about.

    >>> _rounds_words([0, 1, 2], 3), _rounds_words([0, 2], 3), _rounds_words([1], 3)
    ('All 3 rounds together.', 'Rounds 1 and 3 of 3 together.', 'Round 2 of 3.')
    """
    if len(found) == asked:
        return f"All {asked} rounds together."
    numbers = [str(number + 1) for number in found]
    if len(numbers) == 1:
        return f"Round {numbers[0]} of {asked}."
    return f"Rounds {', '.join(numbers[:-1])} and {numbers[-1]} of {asked} together."
