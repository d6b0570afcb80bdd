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
5. Of several options the bars and the differences of all of them hold at once (Bonferroni); how many comparisons there
   are does not depend on what was answered.
6. What is released is looked at once: the bar of a difference is made of two exact ones by MOVER, in closed form, since
   a page is made for many pairs (the score's bar and p of one pair: `compare`).  In the live view it is made of
   the two groups' own, which hold at all looks and all at once.
7. Groups that were put together (merged, not told apart, not declared) are compared with nobody.
8. Of more than `MOST` pairs, those of all options together, the highest group is told against the lowest ones; the
   level stays that of all pairs.
9. A mean is a share of its range, and so is the difference of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Any

from rrcollect.answer.explain.words import Words
from rrcollect.design.mechanism import Mechanism
from rrcollect.design.promise import Promise
from rrcollect.errors import ParameterError
from rrcollect.publish.question import Question
from rrcollect.publish.survey import Survey
from server_agg.comparisons.compare import MERGED, Comparison
from server_agg.comparisons.groups import option_level
from server_agg.comparisons.trend import Trend
from server_agg.count.tallies import Tallies
from server_agg.estimates.estimate import Estimate
from server_agg.results.interval import Interval, bar_words, exact_level
from server_agg.results.row import Row, Scale
from server_agg.survey_page.released import NOT_TOLD, promise_words, question_notes, waiting_words
from server_agg.survey_page.rounds import (
    UNDECLARED,
    Headline,
    QuestionResults,
    QuestionScale,
    View,
    distribution_page,
    enough_of,
    group_name,
    headline_of,
    trend_of,
)
from server_agg.survey_page.words import (
    axis_of,
    difference_words,
    fit_words,
    largest_words,
    others_words,
    shown_value,
    trend_words,
)

MOST = 30  # pairs that are told of one segment
TOGETHER = (MERGED, NOT_TOLD, UNDECLARED)
NOT_DECLARED, ALL_MERGED = 1, 1  # rows of a table in addition to the segment's groups


def question_page(rounds: Sequence[QuestionResults], view: View, survey: Survey, question: Question) -> dict[str, Any]:
    """What the page shows of a question; `rounds` are its own."""
    epsilon, delta, exact, said = _promised(question.promise)
    enough = enough_of(rounds, question.id)
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
        "promise": {"epsilon": epsilon, "delta": delta, "exact": dict(exact), "words": said},
        "design": question.design.to_wire(),
        "told": _told(question.design, question.kind.kind),
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
        if enough[0].in_bins:
            return {**shown, "estimate": distribution_page(_joined(enough), survey)}
        whole = _HeadlineLines(enough, view.options.level, view.options.method, independent=joined, over=over)
        shown["estimate"] = whole.page(survey)
        if shown["round"] is not None:
            for name, segment in survey.segments.items():
                rows = len(segment.values) + NOT_DECLARED + ALL_MERGED if looking else 0
                shown["segments"].append(segment_table(survey, name, enough[0].segments(name, over=rows), view))
        release = None if view.live else view.release
        shown["beside"], method = question_notes(survey, question, shown, whole.scale, whole.rounds, release=release)
        shown["notes"] = [*shown["beside"], *method]
    return shown


@lru_cache(maxsize=1024)
def _told(design: Mechanism, kind: str) -> str:
    """What the devices tell of a question's answers: the same at every look."""
    return Words.of("en").spoken(design.sentences(kind).drawn)


@lru_cache(maxsize=1024)
def _promised(promise: Promise) -> tuple[float, float, tuple[tuple[str, str], ...], str]:
    """A promise as numbers, exactly, and in words: the same at every look."""
    exact = (("epsilon", str(promise.epsilon)), ("delta", str(promise.delta)))
    return float(promise.epsilon), float(promise.delta), exact, promise_words(promise)


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
        factor = first.tally.mechanism.manipulation_factor
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


# ---- groups and rounds ----------------------------------------------------------------------------------------------


def _row(row: Row, table: Comparison | Trend) -> dict[str, Any]:
    misfit, fits = row.misfit, [row.misfit] if row.misfit is not None else []
    said = misfit.describe() if misfit is not None and misfit.told else None
    shown = shown_value(row.value or 0.0, *row.interval(table.level), table.estimated)
    return {"n": row.n, **shown, "misfit": said, "fit": fit_words(fits, len(table.groups))}


def _rows(table: Comparison) -> list[dict[str, Any]]:
    pairs = zip(table.groups, table.group_rows, strict=True)
    return [{"label": group.name, "cells": list(group.cells), **_row(row, table)} for group, row in pairs]


def segment_table(survey: Survey, name: str, found: Comparison, view: View) -> dict[str, Any]:
    """The groups of a segment, of each option if there are several, with the differences between them."""
    segment, looking = survey.segments[name], view.looking
    labels = {group_name(value.value): survey.say(value.label) or value.value for value in segment.values}
    shown: dict[str, Any] = {"name": name, "label": survey.say(segment.label) or name, "labels": labels}
    tables: list[dict[str, Any]] = [
        {"label": part.option, "rows": _rows(part), "differences": differences(part, looking=looking)}
        for part in found.options
    ]
    pairs = [pair for one in tables for pair in one["differences"]]
    note = "; ".join([found.bars_note(), *found.merged_note()])
    parts = {"options": tables} if found.labels else {name: tables[0][name] for name in ("rows", "differences")}
    return {**shown, **parts, "others": _others(pairs), "note": note}


def _others(pairs: list[dict[str, Any]]) -> str:
    """What is said of the differences that are not certain."""
    return others_words(sum(one["certain"] for one in pairs), len(pairs), pairs[0]["comparisons"]) if pairs else ""


def trend_lines(line: Trend, view: View) -> dict[str, Any]:
    """The rounds of a question, of each option if there are several, and the line through them."""
    lines = [_line(part, view) for part in line.options]
    shown = {"options": lines} if line.labels else {name: lines[0][name] for name in ("rounds", "slope", "p", "words")}
    return {**shown, "note": "; ".join([*line.remarks(), line.bars_note()])}


def _line(line: Trend, view: View) -> dict[str, Any]:
    """The rounds and the line through them; of several options p is for all of them."""
    slope, words = line.slope, ""
    p: Any = slope.p_value
    if slope.standard_error is not None:
        words = trend_words(slope.value or 0.0, p, line.estimated, view.options.level)
        words += ", for one look that was planned beforehand" if view.looking else ""
    rounds = zip(line.scores, line.group_rows, strict=True)
    shown = [{"round": int(number), **_row(row, line)} for number, row in rounds]
    return {"label": line.option, "rounds": shown, "slope": slope.value, "p": p, "words": words}


def differences(table: Comparison, *, looking: bool) -> list[dict[str, Any]]:
    """The pairs of a table, the higher group first.

    >>> from rrcollect import Design
    >>> from server_agg import Tally, compare
    >>> cells = {name: Tally(Design("3/4", "3/4"), 400, ones) for name, ones in (("Berlin", 150), ("Dublin", 180))}
    >>> (found,) = differences(compare(cells), looking=False)
    >>> found["higher"], found["lower"], found["words"]
    ('Dublin', 'Berlin', 'by about 15 points (between 1 and 29): certain at the level 95 %')
    """
    alone = [place for place, group in enumerate(table.groups) if group.name not in TOGETHER and table.single(place)]
    family = len(alone) * (len(alone) - 1) // 2
    ranked = sorted(alone, key=lambda place: -(table.group_rows[place].value or 0.0))
    pairs = list(combinations(ranked, 2))
    most = max(1, MOST // table.many)
    told = pairs if len(pairs) <= most else [(ranked[0], other) for other in ranked[:0:-1]][:most]
    return [_pair(table, a, b, family, looking=looking) for a, b in told]


def _pair(table: Comparison, a: int, b: int, family: int, *, looking: bool) -> dict[str, Any]:
    level, (one, other) = exact_level(table.level), (table.group_rows[place].interval(table.level) for place in (a, b))
    value = (table.group_rows[a].value or 0.0) - (table.group_rows[b].value or 0.0)
    low, high, method, guaranteed = one.low - other.high, one.high - other.low, "anytime", one.guaranteed
    if not looking:
        bar = table.difference_bar(table.pair(a, b), family, level, "mover")
        low, high, method, guaranteed = bar.low, bar.high, bar.method, bar.guaranteed
    verb, words = difference_words(value, (low, high), table.estimated, level)
    names = {"higher": table.groups[a].name, "verb": verb, "lower": table.groups[b].name, "words": words}
    shown = {**names, "comparisons": family * table.many, "certain": low > 0 or high < 0}
    ends = {"value": value, "low": low, "high": high, "level": float(level)}
    return {**shown, **ends, "method": method, "guaranteed": guaranteed}
