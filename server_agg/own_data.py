"""`analyse`: one call from a column of randomised answers, wherever it is stored, to shares with their bars.

Rules
1. A row whose answer is missing is dropped and counted, or refused (`missing="refuse"`).  A row without a group keeps
   its answer and is in the group "(missing)".
2. Without weights, strata and clusters everybody counts once: the bar over all rows is for itself, the groups' bars
   hold all at once, and groups below `minimum` are merged (`comparisons.compare`).
3. With them the rows are a complex sample (`sampling.estimate`): every bar is for itself and nothing is merged.
   Weights are numbers in every row that has an answer; a weight, stratum or cluster that is missing there is refused.
   The stratum may itself be the group.
4. A missing answer is not adjusted for: people who stay away are not in these columns (`sampling.response_weights`).
5. The design is the caller's word.  What the counts say against it (misfit) stands beside every value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rrcollect.design.parameters import NumberLike
from rrcollect.design.yes_no import Design, checked_yes_no
from rrcollect.errors import ParameterError
from server_agg.answer_words import Coding, is_missing, is_null, own_order, plain_text
from server_agg.columns import count_rows
from server_agg.comparisons.compare import MERGED, Comparison, compare
from server_agg.count.tally import Tally
from server_agg.errors import TooFewAnswers, UnclearAnswer
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.results.result import Result
from server_agg.results.row import Row
from server_agg.sampling.estimating import estimate as estimate_sample
from server_agg.sampling.sample_estimate import SampleEstimate

NOT_SAID, ALL = "(missing)", "all"
MISSING_RULES = ("drop", "refuse")
LEAST = 30  # answers that a group needs


@dataclass(frozen=True)
class Analysis(Result):
    """The share over all rows, the groups if any were asked for, and what was dropped; `whole` and `groups` are the
    results that its rows come from (of a complex sample `whole` has them all)."""

    whole: Estimate | SampleEstimate
    groups: Comparison | None
    design: Design
    column: str
    by: tuple[str, ...]
    dropped: int
    level: NumberLike = 0.95
    method: str | None = None

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All rows, then every group."""
        first, *more = self.whole.rows
        return (replace(first, name=ALL), *more, *(self.groups.group_rows if self.groups else ()))

    @property
    def target(self) -> str:
        """Whose shares these are."""
        return str(self.whole.target)

    @property
    def first(self) -> str:  # type: ignore[override]
        """The columns of the groups."""
        return " / ".join(self.by)

    @property
    def together(self) -> str:  # type: ignore[override]
        """Which bars hold at once; where only the groups' do, it is a remark."""
        return "" if self.groups else self.whole.together

    def context(self) -> str:
        """The design, how people were drawn, and what an answer costs them."""
        p00, p11 = float(self.design.p00), float(self.design.p11)
        return f"p00 = {p00:.4g}, p11 = {p11:.4g}, {self.whole.context()}"

    def design_text(self) -> str:
        """The design."""
        return f"Answers were randomised by {self.design}, and estimates account for it"

    def columns(self) -> dict[str, list[str]]:
        """What a complex sample costs."""
        return {} if self.groups else self.whole.columns()

    def remarks(self) -> list[str]:
        """What was merged, and how many rows had no answer."""
        merged, rows = [], self.rows[0].n or 0
        if self.groups and self.groups.at_once:
            merged = [f"by {self.first}: the bars hold for {self.groups.at_once}; the bar over all rows is for itself"]
        merged += self.groups.merged_note() if self.groups else []
        dropped = f"{self.dropped} of {rows + self.dropped} rows dropped: their {self.column!r} is missing"
        return [*self.whole.remarks(), *merged, dropped if self.dropped else f"no row dropped of {rows}"]

    def extras(self) -> dict[str, object]:
        """How it was asked for, and what was merged."""
        merged = [{"name": name, "n": n} for name, n in self.groups.suppressed] if self.groups else []
        asked = {"column": self.column, "by": list(self.by), "dropped": self.dropped, "design": self.design.to_wire()}
        return {**self.whole.extras(), **asked, "suppressed": merged}


def analyse(
    data: Any,
    design: Design,
    *,
    column: str,
    by: str | Sequence[str] = (),
    weights: str | None = None,
    strata: str | None = None,
    clusters: str | None = None,
    population: int | Mapping[str, int] | None = None,
    replicates: str | None = None,
    bounds: tuple[NumberLike, NumberLike] | None = None,
    unit: str = "",
    yes: Any = None,
    no: Any = None,
    missing: str = "drop",
    target: str = "population",
    level: NumberLike = 0.95,
    method: str | None = None,
    minimum: int | None = None,
    encoding: str = "utf-8",
) -> Analysis:
    """The share behind a column of randomised answers (or the mean of a number within `bounds`), over all rows and by
    groups.

    `data` is a frame of any library that narwhals knows, a mapping of names to columns, or the name of a file (.csv,
    .tsv, .jsonl, .parquet, .dta, .sav, .zsav, .por; text also with .gz).  `design` is the procedure the answers were
    given by, e.g. from `rrcollect.classic`.  `column`, `by`, `weights`, `strata` and `clusters` are names of columns.
    `population` is the size of a finite population, by the strata's names as text where there are strata, and counts
    clusters where there are clusters.  `yes` and `no` are the words for the answers, if they are not yes and no, y and
    n, true and false or 1 and 0.

    >>> from rrcollect import classic
    >>> die = classic.forced_response(yes="1/6", no="1/6")
    >>> told = {"cheated": ["yes"] * 70 + ["no"] * 129 + [None], "region": ["north", "south"] * 100}
    >>> print(analyse(told, die, column="cheated", by="region"))
    region    n  estimate %   low  high
    all     199        27.8  17.8  38.4
    north   100        27.5  11.8  44.9
    south    99        28.0  12.2  45.5
    p00 = 0.8333, p11 = 0.8333, n = 199, ε = 1.609; 95 % exact bars for the population, coverage guaranteed
    by region: the bars hold for all 2 groups at once (Bonferroni); the bar over all rows is for itself
    1 of 200 rows dropped: their 'cheated' is missing
    >>> told = {"said": ["yes", "no"] * 60, "village": [i // 10 for i in range(120)], "w": [1.5, 1.0, 2.0] * 40}
    >>> found = analyse(told, die, column="said", weights="w", clusters="village")
    >>> round(found.value, 3), found.whole.df
    (0.5, 11)
    """
    design, names = checked_yes_no(design), [by] if isinstance(by, str) else list(by)
    if missing not in MISSING_RULES:
        raise ParameterError("missing", missing, f"one of {', '.join(MISSING_RULES)}")
    if column in names or len(set(names)) != len(names):
        raise ParameterError("by", names, "other columns than the answer, each once")
    roles = {"weights": weights, "strata": strata, "clusters": clusters}
    used = {role: name for role, name in roles.items() if name is not None}
    if column in used.values() or len(set(used.values())) != len(used):
        raise ParameterError("columns", [column, *used.values()], "a column of its own for each role but `by`")
    wanted = list(dict.fromkeys([column, *names, *used.values()]))
    rows, dropped = _read(data, wanted, Coding.of(yes, no), missing, encoding)
    n = sum(row.n for row in rows)
    if n < 2:
        raise TooFewAnswers(n, f"the column {column!r} ({dropped} rows without an answer)")
    groups = [tuple(_group(cell) for cell in row.cells[1 : 1 + len(names)]) for row in rows]
    how: dict[str, Any] = {"bounds": bounds, "unit": unit, "target": target}
    done = (design, column, tuple(names), dropped, level, method)
    if used or replicates is not None or isinstance(population, Mapping):
        if minimum is not None:
            raise ParameterError("minimum", minimum, "none for a complex sample, whose groups are never merged")
        times = [row.n for row in rows]
        places = {role: wanted.index(name) for role, name in used.items()}
        given: dict[str, Any] = {
            role: np.repeat(_cells(role, used[role], [row.cells[place] for row in rows]), times)
            for role, place in places.items()
        }
        labels = np.repeat(np.array([" / ".join(group) for group in groups]), times) if names else None
        answers = np.repeat([row.bit for row in rows], times).astype(int)
        how |= {"population": population, "replicates": replicates, "by": labels}
        return Analysis(estimate_sample(answers, design, **given, **how), None, *done)
    cells: dict[tuple[str, ...], list[int]] = {}
    for row, group in zip(rows, groups, strict=True):
        counted = cells.setdefault(group, [0, 0])
        counted[0] += row.n
        counted[1] += row.n * row.bit
    in_order = sorted(cells.items(), key=lambda cell: [own_order(name) for name in cell[0]])
    tallies = {" / ".join(key): Tally(design, many, ones) for key, (many, ones) in in_order}
    every = Tally(design, n, sum(tally.ones for tally in tallies.values()))
    whole = estimate(every, population=population, **how)
    if not names:
        return Analysis(whole, None, *done)
    if population is not None:
        raise ParameterError("population", population, "'population' or 'sample' as the target where there are groups")
    least = LEAST if minimum is None else minimum
    return Analysis(whole, compare(tallies, minimum=least, level=level, method=method, **how), *done)


class _Row(NamedTuple):
    cells: tuple[Any, ...]
    bit: int
    n: int


def _read(data: Any, columns: Sequence[str], coding: Coding, missing: str, encoding: str) -> tuple[list[_Row], int]:
    """Different rows with an answer and how often each is there, and how many have no answer."""
    found = count_rows(data, columns, encoding)
    bits = coding.bits(dict.fromkeys(cells[0] for cells in found.counts), found.where)
    kept = [_Row(cells, bit, n) for cells, n in found.counts.items() if (bit := bits[cells[0]]) is not None]
    dropped = found.rows - sum(row.n for row in kept)
    if dropped and missing == "refuse":
        value = next(value for value, bit in bits.items() if bit is None)
        raise UnclearAnswer(found.where(value), value, "an answer in every row; missing='drop' leaves such rows out")
    return sorted(kept, key=lambda row: tuple(map(str, row.cells))), dropped


def _group(cell: Any) -> str:
    """The name of a group as it is shown; one that is named like our own gets a space after it."""
    if is_null(cell) or (isinstance(cell, str) and not cell.strip()):  # "NA" may be Namibia
        return NOT_SAID
    text = plain_text(cell)
    return f"{text} " if text in (ALL, NOT_SAID, MERGED) else text


def _cells(role: str, name: str, cells: Sequence[Any]) -> Any:
    """The cells of a column as its role needs them."""
    for cell in cells:
        if is_missing(cell):
            allowed = f"a value in column {name!r} wherever there is an answer; leave such rows out, or name them"
            raise ParameterError(role, "missing", allowed)
    if role != "weights":
        return np.array([plain_text(cell) for cell in cells])
    weights = []
    for cell in cells:
        try:
            weights.append(float(cell))
        except (TypeError, ValueError):
            hint = " (a decimal comma?)" if isinstance(cell, str) and "," in cell else ""
            raise ParameterError(f"weights, column {name!r},", cell, f"numbers{hint}") from None
    return np.array(weights)
