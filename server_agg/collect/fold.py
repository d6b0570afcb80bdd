"""The fold, without I/O: which waiting reports are ripe, and what they become.

Rules
1. A question and round of a survey is ripe when at least as many of its reports wait as the signed survey's `minimum`.
   All of them are folded then, and nothing of the others: what comes into the counts, the ids and the spent tickets
   together is always a crowd of that size.
2. What is folded has the order of its values, never of its arrival: counts by cell, ids, rows and spent tickets sorted.
3. What is not ripe goes on waiting, under the next key and in an order drawn afresh.
4. A survey that is closed is folded to its last report.  Reports to a survey that the store does not have wait.

>>> row = ReportRow("ab" * 32, "q1", 0, '{"p00":"3/4","p11":"3/4"}', "1", "0f" * 16, None, "{}")
>>> made = [IncomingReport(row._replace(id=f"{number:032x}")) for number in (9, 4, 7)]
>>> ripe_groups(Counter(map(group_of, made)), {"ab" * 32: 4})
set()
>>> folded = folded_from(made, ripe_groups(Counter(map(group_of, made)), {"ab" * 32: 3}))
>>> list(folded.counts.values()), [row.id[-1] for row in folded.rows], folded.left
([3], ['4', '7', '9'], [])
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from rrcollect.publish.report import ReportRow
from server_agg.collect.stored_report import IncomingReport, Spending

__all__ = ["Cell", "Folded", "Group", "folded_from", "group_of", "ripe_groups"]

Group = tuple[str, str, int]  # a survey, and a question and round of it


class Cell(NamedTuple):
    """What the answers of one count have in common, and the answer itself."""

    survey: str
    question: str
    round: int
    design: str
    segments: str
    answer: str


class Folded(NamedTuple):
    """What a fold writes: additions to counts, rows (for their ids at least), spent tickets; and what waits on."""

    counts: dict[Cell, int]
    rows: list[ReportRow]
    spent: list[Spending]
    left: list[IncomingReport]


def group_of(report: IncomingReport) -> Group:
    """The group a report belongs to."""
    return report.row[:3]  # type: ignore[return-value]  # what was admitted has them


def ripe_groups(waiting: Mapping[Group, int], minimum: Mapping[str, int]) -> set[Group]:
    """The groups that may be folded; `minimum` has that of every survey in the store (0: it is closed)."""
    return {group for group, n in waiting.items() if group[0] in minimum and n >= max(1, minimum[group[0]])}


def folded_from(reports: Iterable[IncomingReport], ripe: set[Group]) -> Folded:
    """What becomes of the waiting reports."""
    counts: Counter[tuple[Any, ...]] = Counter()
    rows, spent, left = [], [], []
    for report in reports:
        survey, question, round_, design, answer, _, _, segments = report.row
        if (survey, question, round_) not in ripe:
            left.append(report)
            continue
        counts[survey, question, round_, design, segments, answer] += 1
        rows.append(report.row)
        if (spending := report.spending) is not None:
            spent.append(spending)
    rows.sort(key=itemgetter(5))  # the id
    spent.sort(key=lambda one: (one.ticket, one))
    random.SystemRandom().shuffle(left)
    return Folded({Cell(*cell): counts[cell] for cell in sorted(counts)}, rows, spent, left)
