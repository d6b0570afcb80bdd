"""Segments: a table of estimates whose bars hold all at once.

Rules
1. With k rows each bar has level 1 − (1−level)/k (Bonferroni, always valid) or level^(1/k) (Šidák, valid because
   segments are disjoint groups of people), so that all k cover with probability >= level.  The choice is stated.
2. A cell with fewer than `minimum` answers is not shown on its own: all such cells are merged into one, and if that is
   still too small the next smallest cell joins it (otherwise its content could be found by subtraction).  What was
   merged is listed with its size: reported, not hidden.
3. A row by one design is an `Estimate`; answers by several designs are pooled.
4. That all bars cover at once is said of guaranteed bars alone; misfit is told beside every value.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.errors import ParameterError
from server_agg.compare.groups import Comparison, compare_groups
from server_agg.count.tallies import merged
from server_agg.count.tally import Tally
from server_agg.errors import EmptySelection, TooFewAnswers
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.estimates.interval import TargetLike, checked_target
from server_agg.estimates.numerics import root_level
from server_agg.report.result import Result
from server_agg.results.drawing import Point
from server_agg.results.interval import Interval, exact_level
from server_agg.results.row import SHARES, Scale
from server_agg.results.words import share_point, value_notes

SIMULTANEOUS = ("bonferroni", "sidak", "none")
MERGED = "(merged)"


@dataclass(frozen=True)
class Row:
    """One line: its name, the cells it holds (several if merged), the estimate and its bar."""

    label: str
    cells: tuple[str, ...]
    estimate: Estimate
    interval: Interval

    @property
    def n(self) -> int:
        """Answers behind the row."""
        return self.estimate.n


@dataclass(frozen=True)
class SegmentTable(Result):
    """Rows with simultaneous bars; `suppressed` lists (cell, answers) that were merged for being too small."""

    numeric = frozenset(range(1, 5))
    tidy = "rows"
    rows: tuple[Row, ...]
    suppressed: tuple[tuple[str, int], ...]
    level: Fraction
    simultaneous: str
    minimum: int
    scale: Scale = SHARES

    def __getitem__(self, label: str) -> Row:
        for row in self.rows:
            if row.label == label:
                return row
        raise EmptySelection(f"no row {label!r}; there are {[row.label for row in self.rows]}")

    def compare(self, a: str, b: str) -> Comparison:
        """Row a against row b: one of all pairs at once, unless each of the table's bars is for itself.  Rows pooled
        over designs are refused."""
        one, other = self[a].estimate, self[b].estimate
        if any(len(each.tallies) > 1 or each.bounds for each in (one, other)):
            raise ParameterError("rows", (a, b), "rows of shares by one design each")
        rows = len(self.rows)
        family = 1 if self.simultaneous == "none" else rows * (rows - 1) // 2
        return compare_groups(one, other, family=family, names=(a, b))

    @property
    def guaranteed(self) -> bool:
        """Whether every bar's coverage is."""
        return all(row.interval.guaranteed for row in self.rows)

    def describe(self) -> str:
        """What the bars cover together, and what was merged."""
        share, how = f"{float(100 * self.level):.10g} %", {"bonferroni": "Bonferroni", "sidak": "Šidák"}
        words = f"each bar is for itself, at {share}; not simultaneous"
        if len(self.rows) == 1:
            words = f"one bar, at {share}"
        elif self.simultaneous in how and self.guaranteed:
            words = f"all {len(self.rows)} bars cover at once with probability >= {share} ({how[self.simultaneous]})"
        elif self.simultaneous in how:
            words = f"{len(self.rows)} bars meant to hold at once at {share} ({how[self.simultaneous]})"
        if not self.guaranteed:
            words += "; their coverage is approximate, not guaranteed"
        if self.suppressed:
            cells = ", ".join(f"{label} (n = {n})" for label, n in self.suppressed)
            words += f"; merged for having fewer than {self.minimum} answers or to protect those: {cells}"
        return words

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The table as text: its head, and a line for each row."""
        head = ["segment", "n", f"estimate {self.scale.unit}".rstrip(), "low", "high", "method", ""]
        lines = []
        for row in self.rows:
            values = (self.scale.clipped(row.estimate.value), *row.interval)
            texts = (self.scale.text(value, row.interval.width) for value in values)
            notes = value_notes(row.estimate, row.interval, self.scale)
            lines.append([row.label, str(row.n), *texts, row.interval.method, notes])
        return head, lines

    def notes(self) -> list[str]:
        """What the bars cover."""
        return [self.describe()]

    def caption(self) -> str:
        """What the bars of the picture are."""
        methods = "/".join(sorted({row.interval.method for row in self.rows}))
        how = {"bonferroni": "all at once (Bonferroni)", "sidak": "all at once (Šidák)", "none": "each on its own"}
        together = how[self.simultaneous]
        promise = "" if self.guaranteed else ", approximate"
        return f"{float(100 * self.level):.10g} % {methods} bars, {together}{promise}"

    def points(self) -> list[Point]:
        """The rows, with their numbers of answers."""
        return [share_point(row.label, row.estimate, row.interval) for row in self.rows]

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        rows = [
            {
                "label": row.label,
                "cells": list(row.cells),
                "n": row.n,
                "value": row.estimate.value,
                "standard_error": row.estimate.standard_error,
                "interval": row.interval.as_dict(),
                "misfit": row.estimate.misfit.as_dict(),
            }
            for row in self.rows
        ]
        return {
            "rows": rows,
            "suppressed": [{"label": label, "n": n} for label, n in self.suppressed],
            "level": float(self.level),
            "simultaneous": self.simultaneous,
            "minimum": self.minimum,
        }


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


def segment_table(
    segments: Mapping[Any, Tally | Sequence[Tally]],
    *,
    level: NumberLike = 0.95,
    method: str = "exact",
    simultaneous: str = "bonferroni",
    minimum: int = 30,
    target: TargetLike = "population",
    over: int = 0,
    scale: Scale = SHARES,
) -> SegmentTable:
    """Estimates by segment, e.g. from `Tallies.by("region")`.  `over`: of how many rows the table may become, if it is
    looked at while it grows; the bars are then those of so many rows.

    >>> from rrcollect import Design
    >>> design = Design("3/4", "3/4")
    >>> cells = {"north": Tally(design, 400, 180), "south": Tally(design, 300, 90), "islands": Tally(design, 9, 3)}
    >>> print(segment_table(cells))  # doctest: +ELLIPSIS
    segment     n  estimate %   low  high  method
    north     400        40.0  28.7  51.5  exact
    (merged)  309        10.2   0.0  22.6  exact
    all 2 bars cover at once with probability >= 95 % (Bonferroni); merged for having fewer than 30 answers ...
    """
    whom = checked_target(target)
    cells = {_label(key): _tallies(key, given) for key, given in segments.items()}
    if not cells:
        raise EmptySelection("no segments; expected one or more")
    if len(cells) != len(segments) or MERGED in cells:
        raise ParameterError("segments", list(segments), f"names that differ when written, none of them {MERGED!r}")
    everybody = sum(t.n for ts in cells.values() for t in ts)
    if everybody < whole_number("minimum", minimum, 2):
        raise TooFewAnswers(everybody, "the whole table", minimum)
    kept, joined = _suppress(
        {label: sum(t.n for t in ts) for label, ts in cells.items()}, whole_number("minimum", minimum, 2)
    )
    groups = {label: (label,) for label in kept} | ({MERGED: tuple(joined)} if joined else {})
    each = simultaneous_level(level, max(over, len(groups)), simultaneous)
    rows = []
    for label, names in groups.items():
        tallies = merged([tally for name in names for tally in cells[name]])
        if len(tallies) > 1 and target != "population":
            raise ParameterError("target", target, f"'population': {label} was answered by several designs")
        unit = "" if scale.is_share else scale.unit
        found = estimate(tallies, target=whom, bounds=scale.bounds, unit=unit)
        rows.append(Row(label, names, found, found.interval(each, found.method_for(method))))
    suppressed = tuple((name, sum(t.n for t in cells[name])) for name in joined)
    return SegmentTable(tuple(rows), suppressed, exact_level(level), simultaneous, minimum, scale)


def _label(key: Hashable) -> str:
    return " / ".join(str(part) for part in key) if isinstance(key, tuple) else str(key)


def _tallies(key: Hashable, given: Tally | Sequence[Tally]) -> tuple[Tally, ...]:
    found = (given,) if isinstance(given, Tally) else tuple(given)
    if not found or not all(isinstance(tally, Tally) and len(tally) == 1 for tally in found):
        raise EmptySelection(f"segment {_label(key)!r} holds no tally; expected a Tally, or several")
    return tuple(tally for tally in found if tally.n) or found[:1]


def _suppress(sizes: Mapping[str, int], minimum: int) -> tuple[list[str], list[str]]:
    """(cells shown, cells merged), each in the order given."""
    by_size = sorted(sizes, key=lambda label: sizes[label])
    joined = {label for label in by_size if sizes[label] < minimum}
    for label in by_size:
        if joined and sum(sizes[x] for x in joined) < minimum:
            joined.add(label)
    return [x for x in sizes if x not in joined], [x for x in sizes if x in joined]
