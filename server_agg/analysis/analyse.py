"""One call from a column of randomised answers, wherever it is stored, to shares with their bars.

Rules
1. A row whose answer is missing is dropped and told, or refused (`missing="refuse"`); a row without a group keeps its
   answer and is in the group "(missing)".
2. The bar over all rows is for itself.  The groups' bars hold all at once, and groups below `minimum` are merged: see
   `compare.segments`.
3. The design is the caller's word.  What the counts say against it (misfit) stands beside every value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rrcollect.design.parameters import NumberLike
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.answer_words import Coding, is_null, plain_text
from server_agg.columns import count_rows
from server_agg.compare.segments import MERGED, SegmentTable, segment_table
from server_agg.count.tally import Tally
from server_agg.errors import TooFewAnswers, UnclearAnswer
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.estimates.interval import TargetLike, aimed
from server_agg.report.result import Result
from server_agg.results.drawing import Point
from server_agg.results.interval import Interval
from server_agg.results.tables import Table
from server_agg.results.words import privacy_words, share_cells, share_point

NOT_SAID = "(missing)"
ALL = "all"
MISSING_RULES = ("drop", "refuse")


@dataclass(frozen=True)
class Analysis(Result):
    """The share over all rows with its bar, the groups if any were asked for, and what was dropped."""

    numeric = frozenset(range(1, 5))
    tidy = "rows"
    estimate: Estimate
    interval: Interval
    groups: SegmentTable | None
    answer: str
    by: tuple[str, ...]
    dropped: int

    def cells(self) -> Table:
        """All rows, and each group."""
        head = [" / ".join(self.by) or "rows", "n", "estimate %", "low", "high", "method", ""]
        n, value, low, high, _, notes = share_cells(self.estimate, self.interval)
        lines = self.groups.cells()[1] if self.groups else []
        return head, [[ALL, n, value, low, high, self.interval.method, notes], *lines]

    def notes(self) -> list[str]:
        """What the bars cover, by which design, and what was dropped."""
        design = self.estimate.tally.design
        whole = f"p00 = {float(design.p00):.4g}, p11 = {float(design.p11):.4g}, {privacy_words(design)}"
        said = [f"{ALL}: {self.interval.describe()}; {whole}"]
        said += [f"by {' / '.join(self.by)}: {note}" for note in (self.groups.notes() if self.groups else [])]
        return [*said, self.describe_dropped()]

    def describe_dropped(self) -> str:
        """How many rows had no answer."""
        rows = self.estimate.n + self.dropped
        return f"{self.dropped} of {rows} rows dropped: their {self.answer!r} is missing" if self.dropped else (
            f"no row dropped of {rows}"
        )  # fmt: skip

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        found: dict[str, Any] = self.groups.as_dict() if self.groups else {"rows": []}
        first = {
            "label": ALL,
            "cells": [],
            "n": self.estimate.n,
            "value": self.estimate.value,
            "standard_error": self.estimate.standard_error,
            "interval": self.interval.as_dict(),
            "misfit": self.estimate.misfit.as_dict(),
        }
        how = {"answer": self.answer, "by": list(self.by), "dropped": self.dropped}
        return {**how, "design": self.estimate.tally.design.to_wire(), **found, "rows": [first, *found["rows"]]}

    def points(self) -> list[Point]:
        """All rows, and each group."""
        first = share_point(ALL, self.estimate, self.interval)
        return [first, *(self.groups.points() if self.groups else [])]

    def caption(self) -> str:
        """What the bars of the picture are."""
        own = f"{float(100 * self.interval.level):.10g} % {self.interval.method} bar"
        return f"{ALL}: {own}; by {' / '.join(self.by)}: {self.groups.caption()}" if self.groups else own


def analyse(
    data: Any,
    *,
    design: Design,
    answer: str = "answer",
    by: str | Sequence[str] = (),
    yes: Any = None,
    no: Any = None,
    missing: str = "drop",
    level: NumberLike = 0.95,
    method: str = "exact",
    minimum: int = 30,
    target: TargetLike = "population",
    encoding: str = "utf-8",
) -> Analysis:
    """The share behind a column of randomised answers, over all rows and by groups.

    `data` is a frame of any library that narwhals knows, a mapping of names to columns, or the name of a file (.csv,
    .tsv, .jsonl, .parquet, .dta, .sav, .zsav, .por).  `design` is the procedure the answers were given by, e.g. from
    `rrcollect.classic`.  `yes` and `no` say what the answers are called, unless it is plain; `encoding` is that of a
    text file.

    >>> from rrcollect import classic
    >>> die = classic.forced_response(yes="1/6", no="1/6")
    >>> told = {"cheated": ["yes"] * 70 + ["no"] * 129 + [None], "region": ["north", "south"] * 100}
    >>> print(analyse(told, answer="cheated", design=die, by="region"))
    region    n  estimate %   low  high  method
    all     199        27.8  17.8  38.4  exact
    north   100        27.5  11.8  44.9  exact
    south    99        28.0  12.2  45.5  exact
    all: 95 % exact interval for the population, coverage guaranteed; p00 = 0.8333, p11 = 0.8333, ε = 1.609
    by region: all 2 bars cover at once with probability >= 95 % (Bonferroni)
    1 of 200 rows dropped: their 'cheated' is missing
    """
    names = [by] if isinstance(by, str) else list(by)
    if not isinstance(design, Design):
        raise ParameterError("design", design, "a Design, such as classic.forced_response(yes='1/6', no='1/6')")
    if missing not in MISSING_RULES:
        raise ParameterError("missing", missing, f"one of {', '.join(MISSING_RULES)}")
    if answer in names or len(set(names)) != len(names):
        raise ParameterError("by", names, "other columns than the answer, each once")
    found = count_rows(data, [answer, *names], encoding)
    bits = Coding.of(yes, no).bits(dict.fromkeys(cells[0] for cells in found.counts), found.where)
    dropped = sum(n for cells, n in found.counts.items() if bits[cells[0]] is None)
    if dropped and missing == "refuse":
        value = next(value for value, bit in bits.items() if bit is None)
        raise UnclearAnswer(found.where(value), value, "an answer in every row; missing='drop' leaves such rows out")
    counts: dict[tuple[str, ...], list[int]] = {}
    for cells, n in found.counts.items():
        if (bit := bits[cells[0]]) is not None:
            tally = counts.setdefault(tuple(_group(cell) for cell in cells[1:]), [0, 0])
            tally[0] += n
            tally[1] += n * bit
    every = Tally(design, sum(n for n, _ in counts.values()), sum(ones for _, ones in counts.values()))
    if every.n < 2:
        raise TooFewAnswers(every.n, f"the column {answer!r} ({dropped} rows without an answer)")
    whole = estimate(every, **aimed(target))
    table = None
    if names:
        cells_of = {key: Tally(design, n, ones) for key, (n, ones) in sorted(counts.items())}
        how: dict[str, Any] = {"level": level, "method": method, "minimum": minimum}
        table = segment_table(cells_of, target=target, **how)
    return Analysis(whole, whole.interval(level, method), table, answer, tuple(names), dropped)


def _group(cell: Any) -> str:
    """The name of a group as it is shown; one that is named like our own gets a space after it."""
    if is_null(cell) or (isinstance(cell, str) and not cell.strip()):  # "NA" may be Namibia
        return NOT_SAID
    text = plain_text(cell)
    return f"{text} " if text in (ALL, NOT_SAID, MERGED) else text
