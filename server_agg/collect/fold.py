"""The fold, without I/O: which waiting reports are ripe, and what they become.

Rules
1. A question and round of a survey is ripe when at least as many of its reports wait as the signed survey's `minimum`.
   All of them are folded then, and nothing of the others: what is added to the spent tickets, and to the sums that the
   owner sees, is always a crowd of that size.
2. What is told at rest by segments is told by crowds of the same segments.  A folded report is *gathered* first: it is
   in a sum that only the key of the epoch opens.  When the sum of a question, round and declared segments has reached
   the `minimum`, it is added to the counts, and its rows (if rows are kept) and their ids are written.  So nobody who
   reads the counts or rows after every fold sees one person's segments come and go.
3. What is folded has the order of its values, never of its arrival: counts by cell, ids, rows and spent tickets sorted.
4. What is not ripe goes on waiting, under the next key and in an order drawn afresh.
5. A survey that is closed is folded to its last report, and all that was gathered of it is counted.  Reports to a
   survey that the store does not have wait.

>>> row = ReportRow("ab" * 32, "q1", 0, '{"p00":"3/4","p11":"3/4"}', "1", "0f" * 16, None, "{}")
>>> from server_agg.collect.stored_report import crowds_of
>>> made = crowds_of(IncomingReport(row._replace(id=f"{number:032x}")) for number in (9, 4, 7))
>>> ripe_groups(waiting_in(made), {"ab" * 32: 4})
set()
>>> least = {"ab" * 32: 3}
>>> folded = folded_from(made, ripe_groups(waiting_in(made), least), least)
>>> [n.n for n in folded.counts.values()], [id_[-1] for id_ in folded.ids["ab" * 32]], folded.left
([3], ['4', '7', '9'], [])
>>> apart = crowds_of(IncomingReport(row._replace(id=f"{number:032x}", segments=f'{{"age":"{number}"}}'))
...                   for number in (9, 4, 7))
>>> folded = folded_from(apart, ripe_groups(waiting_in(apart), least), least)
>>> list(folded.counts), [n.n for n in folded.gathered.counts.values()]
([], [1, 1, 1])
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import NamedTuple

from rrcollect.publish.report import ReportRow
from server_agg.collect.stored_report import Crowd, IncomingReport, Spending

Group = tuple[str, str, int]  # a survey, and a question and round of it


class Cell(NamedTuple):
    """What the answers of one count have in common, and the answer itself."""

    survey: str
    question: str
    round: int
    design: str
    segments: str
    answer: str


class CellCount(NamedTuple):
    """How many reports a cell has, and how many of them were released."""

    n: int
    published: int = 0


class GatheredReports(NamedTuple):
    """Reports that were folded and whose segments have no crowd yet: their sums, and their rows if those are kept."""

    counts: dict[Cell, CellCount]
    rows: list[ReportRow]

    @property
    def n(self) -> int:
        """How many reports."""
        return sum(found.n for found in self.counts.values())


NOTHING_GATHERED = GatheredReports({}, [])


class FoldResult(NamedTuple):
    """What a fold writes: additions to counts, ids by survey, rows, spent tickets; what is gathered from now on, what
    waits on, and how many reports were folded."""

    counts: dict[Cell, CellCount]
    ids: dict[str, list[str]]
    rows: list[ReportRow]
    spent: list[Spending]
    gathered: GatheredReports
    left: list[IncomingReport]
    folded: int


def waiting_in(crowds: Iterable[Crowd]) -> Counter[Group]:
    """How many reports wait, by group."""
    found: Counter[Group] = Counter()
    for crowd in crowds:
        found[crowd.survey, crowd.question, crowd.round] += len(crowd.ids)
    return found


def ripe_groups(waiting: Mapping[Group, int], minimum: Mapping[str, int]) -> set[Group]:
    """The groups that may be folded; `minimum` has that of every survey in the store (0: it is closed)."""
    return {group for group, n in waiting.items() if group[0] in minimum and n >= max(1, minimum[group[0]])}


def folded_from(
    crowds: Iterable[Crowd],
    ripe: set[Group],
    minimum: Mapping[str, int],
    gathered: GatheredReports = NOTHING_GATHERED,
    *,
    keep_rows: bool = False,
) -> FoldResult:
    """What becomes of the waiting reports, and of those that were gathered before."""
    counts, rows = Counter({cell: found.n for cell, found in gathered.counts.items()}), list(gathered.rows)
    ids: dict[str, list[str]] = {}
    spent, left, before = [], [], counts.total()
    for crowd in crowds:
        survey, question, round_, design, segments, answers, own, _ = crowd
        if (survey, question, round_) not in ripe:
            left += crowd.reports()
            continue
        for answer, n in Counter(answers).items():
            counts[Cell(survey, question, round_, design, segments, answer)] += n
        if keep_rows:
            rows += crowd.rows()
        else:
            ids.setdefault(survey, []).extend(own)
        spent += crowd.spendings()
    many: Counter[tuple[object, ...]] = Counter()
    for cell, n in counts.items():
        many[cell[:5]] += n
    told = {place for place, n in many.items() if n >= minimum[str(place[0])]}
    out: dict[Cell, CellCount] = {}
    kept: dict[Cell, CellCount] = {}
    for cell in sorted(counts):
        published = gathered.counts[cell].published if cell in gathered.counts else 0
        (out if cell[:5] in told else kept)[cell] = CellCount(counts[cell], published)
    rows.sort(key=attrgetter("id"))
    written = [row for row in rows if (*row[:4], row.segments) in told]
    waiting = [row for row in rows if (*row[:4], row.segments) not in told]
    for row in written:
        ids.setdefault(row.survey or "", []).append(row.id or "")
    spent.sort(key=lambda one: (one.ticket, one))
    random.SystemRandom().shuffle(left)
    ordered = {survey: sorted(ids[survey]) for survey in sorted(ids)}
    return FoldResult(out, ordered, written, spent, GatheredReports(kept, waiting), left, counts.total() - before)
