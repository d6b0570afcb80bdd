"""The fold, without I/O: which waiting reports are ripe, and what they become.

Rules
1. A question and round of a survey is ripe when at least as many of its reports wait as the signed survey's `minimum`.
   All of them are folded then, and nothing of the others: what comes into the counts, the ids and the spent tickets
   together is always a crowd of that size.
2. What is folded has the order of its values, never of its arrival: counts by cell, ids, rows and spent tickets sorted.
3. What is not ripe goes on waiting, under the next key and in an order drawn afresh.
4. A survey that is closed is folded to its last report.  Reports to a survey that the store does not have wait.

>>> row = ReportRow("ab" * 32, "q1", 0, '{"p00":"3/4","p11":"3/4"}', "1", "0f" * 16, None, "{}")
>>> from server_agg.collect.stored_report import crowds_of
>>> made = crowds_of(IncomingReport(row._replace(id=f"{number:032x}")) for number in (9, 4, 7))
>>> ripe_groups(waiting_in(made), {"ab" * 32: 4})
set()
>>> folded = folded_from(made, ripe_groups(waiting_in(made), {"ab" * 32: 3}))
>>> list(folded.counts.values()), [id_[-1] for id_ in folded.ids["ab" * 32]], folded.left
([3], ['4', '7', '9'], [])
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import NamedTuple

from rrcollect.publish.report import ReportRow
from server_agg.collect.stored_report import Crowd, IncomingReport, Spending

__all__ = ["Cell", "FoldResult", "Group", "folded_from", "ripe_groups", "waiting_in"]

Group = tuple[str, str, int]  # a survey, and a question and round of it


class Cell(NamedTuple):
    """What the answers of one count have in common, and the answer itself."""

    survey: str
    question: str
    round: int
    design: str
    segments: str
    answer: str


class FoldResult(NamedTuple):
    """What a fold writes: additions to counts, ids by survey, the crowds whole (for their rows), spent tickets; and
    what waits on."""

    counts: dict[Cell, int]
    ids: dict[str, list[str]]
    crowds: list[Crowd]
    spent: list[Spending]
    left: list[IncomingReport]

    def rows(self) -> list[ReportRow]:
        """The reports as rows, in the order of their ids."""
        return sorted((row for crowd in self.crowds for row in crowd.rows()), key=attrgetter("id"))


def waiting_in(crowds: Iterable[Crowd]) -> Counter[Group]:
    """How many reports wait, by group."""
    found: Counter[Group] = Counter()
    for crowd in crowds:
        found[crowd.survey, crowd.question, crowd.round] += len(crowd.ids)
    return found


def ripe_groups(waiting: Mapping[Group, int], minimum: Mapping[str, int]) -> set[Group]:
    """The groups that may be folded; `minimum` has that of every survey in the store (0: it is closed)."""
    return {group for group, n in waiting.items() if group[0] in minimum and n >= max(1, minimum[group[0]])}


def folded_from(crowds: Iterable[Crowd], ripe: set[Group]) -> FoldResult:
    """What becomes of the waiting reports."""
    counts: Counter[Cell] = Counter()
    ids: dict[str, list[str]] = {}
    whole, spent, left = [], [], []
    for crowd in crowds:
        survey, question, round_, design, segments, answers, own, _ = crowd
        if (survey, question, round_) not in ripe:
            left += crowd.reports()
            continue
        for answer, n in Counter(answers).items():
            counts[Cell(survey, question, round_, design, segments, answer)] += n
        ids.setdefault(survey, []).extend(own)
        whole.append(crowd)
        spent += crowd.spendings()
    spent.sort(key=lambda one: (one.ticket, one))
    random.SystemRandom().shuffle(left)
    ordered = {survey: sorted(ids[survey]) for survey in sorted(ids)}
    return FoldResult({cell: counts[cell] for cell in sorted(counts)}, ordered, whole, spent, left)
