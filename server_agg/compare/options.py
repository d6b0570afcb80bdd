"""A choice by groups or by rounds: one table, or one trend, for each option, all their bars holding at once.

Rules
1. An option against the rest is a yes/no: its table and its trend are those of `segments` and `trends`, each at level
   1 − (1−level)/k, so that the bars of all k options and all rows hold at once (two options need no correction: they
   are one).
2. Which cells are merged depends on how many answered, so it is the same for every option.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from server_agg.compare.segments import SegmentTable, segment_table
from server_agg.compare.trends import Trend, trend
from server_agg.count.tally import Tally
from server_agg.errors import EmptySelection
from server_agg.estimates.estimate import named_options
from server_agg.estimates.interval import TargetLike
from server_agg.report.result import Result
from server_agg.results.drawing import Point
from server_agg.results.interval import exact_level
from server_agg.results.tables import Table

Counted = Tally | Sequence[Tally]


def option_level(level: NumberLike, options: int) -> Fraction:
    """The level of one option's bars so that those of all hold at `level`.

    >>> option_level(0.95, 5), option_level(0.95, 2)
    (Fraction(99, 100), Fraction(19, 20))
    """
    exact = exact_level(level)
    return exact if options == 2 else 1 - (1 - exact) / options


@dataclass(frozen=True)
class OptionTables(Result):
    """The groups of a segment, for each option a `SegmentTable`."""

    labels: tuple[str, ...]
    tables_by_option: tuple[SegmentTable, ...]
    level: Fraction

    numeric = frozenset(range(2, 6))
    tidy = "rows"

    def __getitem__(self, option: int) -> SegmentTable:
        return self.tables_by_option[option]

    def describe(self) -> str:
        """What the bars cover together, and what was merged."""
        first = self.tables_by_option[0]
        bars = len(first.rows) * len(self.labels)
        words = f"all {bars} bars, of every option and group, cover at once with probability >= "
        words += f"{float(100 * self.level):.10g} % (Bonferroni)"
        if not all(table.guaranteed for table in self.tables_by_option):
            words = (
                f"{bars} bars meant to hold at once at {float(100 * self.level):.10g} %; approximate, not guaranteed"
            )
        if first.suppressed:
            cells = ", ".join(f"{label} (n = {n})" for label, n in first.suppressed)
            words += f"; merged for having fewer than {first.minimum} answers or to protect those: {cells}"
        return words

    def cells(self) -> Table:
        """The rows of every option under its label."""
        head: list[str] = []
        lines: list[list[str]] = []
        for label, table in zip(self.labels, self.tables_by_option, strict=True):
            head, rows = table.cells()
            lines += [[label, *row] for row in rows]
        return ["option", *head], lines

    def notes(self) -> list[str]:
        """What the bars cover."""
        return [self.describe()]

    def caption(self) -> str:
        """What the bars of the picture are."""
        return f"{float(100 * self.level):.10g} % bars, all options and groups at once"

    def points(self) -> list[Point]:
        """Every option in every group."""
        return [
            Point(f"{label}: {point.label}", *point[1:])
            for label, table in zip(self.labels, self.tables_by_option, strict=True)
            for point in table.points()
        ]

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON: the rows of all options, each with its option."""
        rows: list[Any] = []
        for label, table in zip(self.labels, self.tables_by_option, strict=True):
            found: Any = table.as_dict()["rows"]
            rows += [{"option": label, **row} for row in found]
        first = self.tables_by_option[0].as_dict()
        return {"rows": rows, "suppressed": first["suppressed"], "level": float(self.level)}


@dataclass(frozen=True)
class OptionTrends(Result):
    """A choice over rounds: for each option its `Trend`."""

    labels: tuple[str, ...]
    trends: tuple[Trend, ...]
    level: Fraction

    numeric = frozenset(range(2, 6))
    tidy = "rounds"

    def __getitem__(self, option: int) -> Trend:
        return self.trends[option]

    def describe(self) -> str:
        """The slope of each option; with as many tests as options, p is Bonferroni's."""
        many = 1 if len(self.labels) == 2 else len(self.labels)
        told = [
            f"{label}: slope {one.slope:+.3g} per round, p = {min(1.0, many * one.p):.3g}"
            for label, one in zip(self.labels, self.trends, strict=True)
        ]
        return "; ".join([*told, "p of no change, for all options at once"])

    def cells(self) -> Table:
        """The rounds of every option under its label."""
        head: list[str] = []
        lines: list[list[str]] = []
        for label, one in zip(self.labels, self.trends, strict=True):
            found, rows = one.cells()
            head = list(found or ())
            lines += [[label, *row] for row in rows]
        return ["option", *head], lines

    def notes(self) -> list[str]:
        """What the lines through the rounds say."""
        return [self.describe()]

    def caption(self) -> str:
        """What the bars of the picture are."""
        return f"{float(100 * self.level):.10g} % bars, all options and rounds at once"

    def points(self) -> list[Point]:
        """Every option in every round."""
        return [
            Point(f"{label}: round {point.label}", *point[1:])
            for label, one in zip(self.labels, self.trends, strict=True)
            for point in one.points()
        ]

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        rows: list[Any] = []
        for label, one in zip(self.labels, self.trends, strict=True):
            found: Any = one.as_dict()["rounds"]
            rows += [{"option": label, **row} for row in found]
        lines = [
            {"option": label, "slope": one.slope, "slope_standard_error": one.slope_standard_error, "p": one.p}
            for label, one in zip(self.labels, self.trends, strict=True)
        ]
        return {"rounds": rows, "lines": lines, "level": float(self.level)}


def option_tables(
    groups: Mapping[Any, Counted],
    labels: Iterable[str] = (),
    *,
    level: NumberLike = 0.95,
    method: str = "exact",
    minimum: int = 30,
    target: TargetLike = "population",
    over: int = 0,
) -> OptionTables:
    """A choice by group, e.g. from `Tallies.by("region")`; `over` as in `segment_table`.

    >>> from rrcollect.design.sets import SetDesign
    >>> design = SetDesign(3, 1, "1/2")
    >>> found = option_tables({"north": Tally(design, 300, [120, 100, 80]),
    ...                        "south": Tally(design, 200, [70, 70, 60])}, ["a", "b", "c"])
    >>> round(found[0]["north"].estimate.value, 3), found.describe()[:11]
    (0.6, 'all 6 bars,')
    """
    counted, names = _counted(groups, labels)
    each = option_level(level, len(names))
    tables = tuple(
        segment_table(_column(counted, option), level=each, method=method, minimum=minimum, target=target, over=over)
        for option in range(len(names))
    )
    return OptionTables(names, tables, exact_level(level))


def option_trends(
    rounds: Mapping[int, Counted],
    labels: Iterable[str] = (),
    *,
    level: NumberLike = 0.95,
    method: str = "exact",
    over: int = 0,
) -> OptionTrends:
    """A choice by round; `over` as in `trend`.

    >>> from rrcollect.design.sets import SetDesign
    >>> design = SetDesign(3, 1, "1/2")
    >>> rounds = {r: Tally(design, 300, [100 + 10 * r, 120 - 10 * r, 80]) for r in range(3)}
    >>> [round(one.slope, 2) for one in option_trends(rounds, ["a", "b", "c"]).trends]
    [0.13, -0.13, 0.0]
    """
    counted, names = _counted(rounds, labels)
    each = option_level(level, len(names))
    trends = (trend(_column(counted, option), level=each, method=method, over=over) for option in range(len(names)))
    return OptionTrends(names, tuple(trends), exact_level(level))


def _counted(groups: Mapping[Any, Counted], labels: Iterable[str]) -> tuple[dict[Any, list[Tally]], tuple[str, ...]]:
    counted = {key: [given] if isinstance(given, Tally) else list(given) for key, given in groups.items()}
    found = [tally for tallies in counted.values() for tally in tallies]
    if not found:
        raise EmptySelection("no groups; expected one or more")
    if not all(isinstance(tally, Tally) and len(tally) > 1 for tally in found) or len({len(one) for one in found}) > 1:
        raise ParameterError("groups", list(groups), "tallies of one choice, all of the same options")
    return counted, named_options(labels, len(found[0]))


def _column(counted: Mapping[Any, list[Tally]], option: int) -> dict[Any, Any]:
    return {key: [tally[option] for tally in tallies] for key, tallies in counted.items()}
