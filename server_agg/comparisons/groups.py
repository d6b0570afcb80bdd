"""Groups of people side by side: rows whose bars hold all at once, and what `compare` and `trend` share.

Rules
1. With k rows each bar has level 1 − (1−level)/k (Bonferroni, always valid) or level^(1/k) (Šidák, valid because groups
   are disjoint sets of people), so that all k cover with probability >= level.  The choice is stated.
2. An option of a choice against the rest is a yes/no.  Its bars have level 1 − (1−level)/m for m options, before rule
   1, so that those of all options and all rows hold at once (two options need no correction: they are one).
3. Answers of a group by several designs are pooled.  Differences and ratios are for groups by one design each.
4. A mean is a share of its range, and so is the difference of two.
The groups must be disjoint sets of people; a device that repeats its answer is the same person in every round.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.errors import ParameterError
from server_agg.comparisons.pairs import Group, Pair, score_test
from server_agg.count.tallies import merged
from server_agg.count.tally import Tally, checked_tallies
from server_agg.errors import EmptySelection
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.estimates.interval import TargetLike, aimed
from server_agg.estimates.methods import interval_of
from server_agg.estimates.numerics import root_level
from server_agg.results.interval import Interval, bars_words, exact_level
from server_agg.results.result import Result
from server_agg.results.row import DIFFERENCES, SHARES, Row, Scale, Test, named_options

SIMULTANEOUS = {"bonferroni": "Bonferroni", "sidak": "Šidák", "none": ""}
Counted = Tally | Sequence[Tally]
Made = TypeVar("Made", bound="_Grouped")


def option_level(level: NumberLike, options: int) -> Fraction:
    """The level of one option's bars so that those of all hold at `level`.

    >>> option_level(0.95, 5), option_level(0.95, 2)
    (Fraction(99, 100), Fraction(19, 20))
    """
    exact = exact_level(level)
    return exact if options == 2 else 1 - (1 - exact) / options


def simultaneous_level(level: NumberLike, rows: int, how: str) -> Fraction:
    """The level of each of `rows` bars so that all hold at `level`.

    >>> simultaneous_level(0.95, 5, "bonferroni")
    Fraction(99, 100)
    """
    if how not in SIMULTANEOUS:
        raise ParameterError("simultaneous", how, f"one of {', '.join(SIMULTANEOUS)}")
    exact = exact_level(level)
    if how == "bonferroni":
        return 1 - (1 - exact) / rows
    return root_level(exact, rows) if how == "sidak" else exact


def read_groups(
    given: Mapping[Any, Counted], labels: Sequence[str], target: Any, name: str
) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    """The groups in the order given, and the labels of the options if these are tallies of a choice.  `target` gives
    the target of a group by its name."""
    found = []
    for key, counted in given.items():
        tallies = checked_tallies(counted)
        if not tallies:
            raise EmptySelection(f"group {label_of(key)!r} holds no tally: give it a Tally, or several")
        kept = tuple(merged([tally for tally in tallies if tally.n] or tallies[:1]))
        found.append(Group(label_of(key), (label_of(key),), kept, target(key)))
    cells = {len(tally) for group in found for tally in group.tallies}
    if len({group.name for group in found}) != len(found):
        raise ParameterError(name, list(given), "names that differ when written")
    if len(cells) > 1:
        raise ParameterError(name, list(given), "tallies of one question, all of the same options")
    width = max(cells, default=1)
    return tuple(found), named_options(labels, found[0].tallies[0].design) if width > 1 else ()


def label_of(key: Hashable) -> str:
    """The name of a group as it is shown."""
    return " / ".join(str(part) for part in key) if isinstance(key, tuple) else str(key)


@dataclass(frozen=True)
class _Grouped(Result):
    """Groups with what is asked of them; of a choice `labels` names the options, and `options` are the parts."""

    groups: tuple[Group, ...]
    labels: tuple[str, ...]
    target: TargetLike
    bounds: tuple[NumberLike, NumberLike] | None
    unit: str
    simultaneous: str
    over: int  # of how many rows it may become, if it is looked at while it grows
    level: NumberLike = 0.95
    group_method: str | None = None  # of the groups' bars; None: the usual one
    option: str = ""  # of which option this is the part
    many: int = 1  # of how many options this is one (rule 2)
    family: int | None = None  # of how many comparisons each is one; None: of all pairs, or of all changes

    def __post_init__(self) -> None:
        simultaneous_level(self.level, 1, self.simultaneous)
        if self.family is not None:
            whole_number("family", self.family, 1)
        for group in self.groups:
            if len(group.tallies) > 1 and group.target != "population":
                raise ParameterError(
                    "target", group.target, f"'population': {group.name} was answered by several designs"
                )

    @cached_property
    def options(self: Made) -> tuple[Made, ...]:
        """For each option of a choice the same of this option alone, at a level at which all hold at once."""
        many = 1 if len(self.labels) == 2 else len(self.labels)
        return tuple(
            replace(self, groups=tuple(group.option(j) for group in self.groups), labels=(), option=label, many=many)
            for j, label in enumerate(self.labels)
        ) or (self,)

    # ---- the groups, each by itself -----------------------------------------------------------------------------

    @cached_property
    def estimated(self) -> Scale:
        """What one value is about: a share, or a number's mean."""
        return SHARES if self.bounds is None else Scale.of_number(*self.bounds, self.unit)

    @cached_property
    def _found(self) -> tuple[Estimate, ...]:
        """The estimate of every group."""
        how: dict[str, Any] = {"bounds": self.bounds, "unit": self.unit}
        return tuple(estimate(group.tallies, **aimed(group.target), **how) for group in self.groups)

    @cached_property
    def group_rows(self) -> tuple[Row, ...]:
        """A row for each group, of a choice for each option in each group."""
        if self.labels:
            return tuple(row for part in self.options for row in part.group_rows)
        return tuple(self._row(group, found) for group, found in zip(self.groups, self._found, strict=True))

    def _row(self, group: Group, found: Estimate) -> Row:
        def bar(level: NumberLike, method: str | None) -> Interval[Any]:
            each = simultaneous_level(self._of_options(level), max(self.over, len(self.groups)), self.simultaneous)
            made = found.interval(each, found.method_for(method or self.group_method or "exact"))
            return made.with_ends((made.low, made.high), level=exact_level(level))

        extras: dict[str, object] = {"group": group.name, "cells": list(group.cells)}
        if self.option:
            extras["option"] = self.option
        error = found.standard_error
        return Row(
            self._named(group.name), group.n, found.value, error, bar, None, found.misfit, self.estimated, extras
        )

    def _of_options(self, level: NumberLike) -> Fraction:
        return 1 - (1 - exact_level(level)) / self.many

    @property
    def at_once(self) -> str:
        """Whether the groups' bars hold at once."""
        if len(self.groups) < 2:
            return ""
        if self.simultaneous == "none":
            return "each for itself"
        of = f"all {len(self.groups)} {self.first}s" + (f" and {len(self.labels)} options" if self.labels else "")
        return f"{of} at once ({SIMULTANEOUS[self.simultaneous]})"

    def design_text(self) -> str:
        """The designs of all groups."""
        return estimate(merged([tally for group in self.groups for tally in group.tallies])).design_text()

    def caption(self) -> str:
        """What the groups' bars are; a picture shows no difference, which has another scale."""
        return bars_words([row.interval(self.level) for row in self.group_rows], self.at_once)

    def bars_note(self) -> str:
        """What the groups' bars cover, and how well their counts fit."""
        fits = [(row.name, row.misfit) for row in self.group_rows if row.misfit is not None and row.misfit.told]
        return "; ".join([self.caption(), *(f"{name}: {fit.describe()}" for name, fit in fits)])

    # ---- two groups against each other --------------------------------------------------------------------------

    def pair(self, a: int, b: int) -> Pair:
        """Group a against group b; refused where differences are not made (rule 3)."""
        pair = self.groups[a], self.groups[b]
        if not all(self.single(place) for place in (a, b)):
            raise ParameterError("groups", tuple(group.name for group in pair), "groups by one design each")
        return Pair(*pair, *(estimate(group.tallies[0], **aimed(group.target)) for group in pair))

    def single(self, place: int) -> bool:
        """Whether a group can be one of a pair: of one design, and for a number's mean of a population."""
        group = self.groups[place]
        return len(group.tallies) == 1 and (self.bounds is None or group.target == "population")

    def difference_bar(self, pair: Pair, family: int, level: NumberLike, method: str) -> Interval[Any]:
        """The bar of a difference, one of `family` at once, of a choice for all options."""
        of, span = family * self.many, self.estimated.span
        made = interval_of(pair.problem(of), 1 - (1 - exact_level(level)) / of, method)
        return made.with_ends((span * made.low, span * made.high), level=exact_level(level))

    def at_once_of(self, comparisons: int) -> int:
        """Of how many at once each of these comparisons is one."""
        return self.family or (1 if self.simultaneous == "none" else comparisons)

    def pair_row(self, a: int, b: int, family: int) -> Row:
        """a − b as a row; its bar is one of `family` at once, and so is p (Bonferroni)."""
        pair, of, span = self.pair(a, b), family * self.many, self.estimated.span
        test = pair.test()

        def bar(level: NumberLike, method: str | None) -> Interval[Any]:
            return self.difference_bar(pair, family, level, method or "score")

        scale = DIFFERENCES if self.bounds is None else Scale(-span, span, self.unit, f"difference, {self.unit}")
        extras: dict[str, object] = {"a": pair.first.name, "b": pair.second.name, "test": test.method}
        extras |= {"p_alone": test.p, "family": of}
        value, error, p = span * float(pair.value), span * pair.standard_error, min(1.0, of * test.p)
        shown = span * (pair.a.clipped - pair.b.clipped)
        return Row(self._named(pair.name("−")), pair.n, value, error, bar, p, None, scale, extras, shown)

    def ratio_row(self, a: int, b: int, family: int) -> Row:
        """a/b as a row."""
        pair, of = self.pair(a, b), family * self.many
        usual = "mover" if pair.target == "population" else "guaranteed"

        def bar(level: NumberLike, method: str | None) -> Interval[Any]:
            made = pair.ratio_interval(1 - (1 - exact_level(level)) / of, method or usual, of)
            return made.with_ends((made.low, made.high), level=exact_level(level))  # type: ignore[arg-type]

        scale = Scale(0.0, math.inf, "", "ratio")
        return Row(self._named(pair.name("/")), pair.n, pair.ratio, None, bar, None, None, scale)

    def _named(self, name: str) -> str:
        return f"{self.option}: {name}" if self.option else name

    # ---- the one test -------------------------------------------------------------------------------------------

    def _test(self, hypothesis: str, df: int, scores: tuple[float, ...] = ()) -> Test:
        """Of equal prevalences or, with scores, of no trend over them; of a choice that of the option with the least p,
        for all options at once."""
        if self.labels:
            each = [part._test(hypothesis, df, scores) for part in self.options]
            least = min(each, key=lambda test: test.p_value)
            return replace(least, p_value=min(1.0, self.options[0].many * least.p_value))
        found = score_test(self.groups, scores)
        return Test(hypothesis, found.method, found.statistic, df, found.p)
