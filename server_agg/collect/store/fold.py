"""The fold: which waiting reports are ripe, what they become, and how that is written.

Rules
1. A question and round of a survey is ripe when at least as many of its reports wait as the signed survey's `minimum`.
   All of them are folded then, and nothing of the others: what is added to the spent tickets, and to the sums that the
   owner sees, is always a crowd of that size.
2. Stored counts by segment always cover at least `minimum` reports.  A folded report is *gathered* first: it is in a
   sum that only the key of the epoch opens.  When the sum of a question, round and declared segments has reached the
   `minimum`, it is added to the counts, and its rows (if rows are kept) and their ids are written.  So nobody who
   reads the counts or rows after every fold sees one person's segments come and go.
3. What is folded has the order of its values, never of its arrival: counts by cell, ids, rows and spent tickets sorted.
4. What is not ripe goes on waiting, under the next key and in an order drawn afresh.
5. A survey that is closed is folded to its last report, and all that was gathered of it is counted.  Reports to a
   survey that the store does not have wait.
6. A fold is one transaction: counts, ids, rows and spent tickets that are ripe are written, the intake is emptied, what
   is not ripe is sealed again, and the next epoch key is named.  Then every other key of the database is destroyed,
   also one that an earlier fold could not destroy.
7. Folds, ends of surveys and copies of a database come one after the other, by the lock of the folder of keys.  Other
   work does not wait for it: without `wait` a folder that is busy is `KeysBusy`.
8. `finish` ends a survey that is over: it is folded to its last report, counts stay, ids, rows, invites and spent
   tickets are deleted, and nothing is taken for it any more (`closed` is 1).  Then the tables are written again, so
   that nothing deleted is in their files, and the survey is done (2).  A `finish` that was interrupted is done again.
9. Whether rows are kept is a choice of the database, not of a process that happens to fold.
10. A report is in exactly one cell of the counts, and a cell is a line: reading costs as much as there are cells,
    however many reports were counted.

>>> from server_agg.collect.store.epochs import waiting_in
>>> from server_agg.collect.store.reports import crowds_of
>>> row = ReportRow("ab" * 32, "q1", 0, '{"p00":"3/4","p11":"3/4"}', "1", "0f" * 16, None, "{}")
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
>>> cells = {Cell("s1", "tax", 0, row.design, '{"region":"north"}', answer): n for answer, n in (("0", 60), ("1", 40))}
>>> next(iter(tallies_of(cells).values()))
Tally(design=Design('3/4', '3/4'), n=100, counts=(40,))
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from rrcollect.design import from_text
from rrcollect.design.mechanism import Mechanism
from rrcollect.publish.report import ReportRow
from server_agg.collect.store.database import ADD_COUNT, COLUMNS, READ_COUNTS
from server_agg.collect.store.epochs import NOTHING_GATHERED, NOTHING_SEEN, CellCount, Epochs, GatheredReports, Group
from server_agg.collect.store.reports import SPENDING, Cell, Crowd, IncomingReport, Spending
from server_agg.count.tallies import Tallies, TallyKey
from server_agg.count.tally import Tally, counts_of_texts
from server_agg.errors import KeysBusy


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
        cell, answers, own, _ = crowd
        if cell[:3] not in ripe:
            left += crowd.reports()
            continue
        for answer, n in Counter(answers).items():
            counts[cell._replace(answer=answer)] += n
        if keep_rows:
            rows += crowd.rows()
        else:
            ids.setdefault(cell.survey, []).extend(own)
        spent += crowd.spendings()
    many: Counter[tuple[object, ...]] = Counter()
    for cell, n in counts.items():
        many[cell[:5]] += n
    shown = {cell for cell, n in many.items() if n >= minimum[str(cell[0])]}
    out: dict[Cell, CellCount] = {}
    kept: dict[Cell, CellCount] = {}
    for cell in sorted(counts):
        published = gathered.counts[cell].published if cell in gathered.counts else 0
        (out if cell[:5] in shown else kept)[cell] = CellCount(counts[cell], published)
    rows.sort(key=attrgetter("id"))
    written = [row for row in rows if (*row[:4], row.segments) in shown]
    waiting = [row for row in rows if (*row[:4], row.segments) not in shown]
    for row in written:
        ids.setdefault(row.survey or "", []).append(row.id or "")
    spent.sort(key=lambda one: (one.ticket, one))
    random.SystemRandom().shuffle(left)
    ordered = {survey: sorted(ids[survey]) for survey in sorted(ids)}
    return FoldResult(out, ordered, written, spent, GatheredReports(kept, waiting), left, counts.total() - before)


@lru_cache(maxsize=4096)
def _design(text: str) -> Mechanism:
    return from_text(text)


@lru_cache(maxsize=65_536)
def _segments(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(json.loads(text).items())


def tallies_of(cells: Mapping[Cell, int], pilots: Collection[str] = ()) -> Tallies:
    """Counted cells as tallies; `pilots` are the digests of trials."""
    answers: dict[tuple[str, str, int, str, str], dict[str, int]] = {}
    for (survey, question, round_, design, segments, answer), n in cells.items():
        answers.setdefault((survey, question, round_, design, segments), {})[answer] = n
    made = {}
    for (survey, question, round_, text, declared), texts in answers.items():
        mechanism = _design(text)
        key = TallyKey(survey, question, mechanism, _segments(declared), round_, survey in pilots)
        made[key] = Tally(mechanism, sum(texts.values()), counts_of_texts(texts, mechanism))
    return Tallies(made)


class Folds:
    """The folds of a database."""

    def __init__(self, epochs: Epochs) -> None:
        self.epochs = epochs
        self.database = epochs.database
        self.unfolded = 0  # reports that waited on after the last look of this process
        self._known: dict[str, tuple[int, int]] = {}  # by digest, for good: a survey's minimum and number

    def fold(self, *, wait: bool = True) -> int:
        """Fold what is ripe; returns how many reports were folded."""
        with self.epochs.keys.lock(wait=wait):
            return self._fold(None)

    def fold_unless_busy(self) -> None:
        """Fold what is ripe, for somebody who looks; while another folds or copies, what was folded will do."""
        with suppress(KeysBusy):
            self.fold(wait=False)

    def _fold(self, finish: str | None) -> int:
        """The same, and all of a survey that is to `finish`; under the lock of the folder."""
        folded: FoldResult | None = None
        with self.database.writing(alone=True) as cursor:
            epoch = self.epochs.current(cursor)
            name, first = epoch.name, epoch.seen == NOTHING_SEEN
            arrived = self.epochs.arrived(cursor, epoch)
            self.unfolded = epoch.waiting.total()
            if finish is not None or not {group[0] for group in epoch.waiting} <= self._known.keys():
                self._look(cursor)
            ripe = ripe_groups(epoch.waiting, self._minimum(finish))
            if ripe or finish is not None:
                self._look(cursor)  # others may have gathered reports to a survey that is new here
                minimum = self._minimum(finish)
                crowds = arrived if first else self.epochs.sealed_reports(cursor, epoch.key)
                (keep,) = self.database.run(cursor, "SELECT keep_rows FROM epoch").fetchone()
                folded = folded_from(crowds, ripe, minimum, self.epochs.gathered(cursor), keep_rows=bool(keep))
                name = self.epochs.keys.make(self.epochs.name)
                self._write(cursor, folded, name)
                if finish is not None:
                    self._forget(cursor, finish)
        self.epochs.keys.keep_only(self.epochs.name, name)
        if folded is None:
            return 0
        self.unfolded = len(folded.left)
        return folded.folded

    def _look(self, cursor: Any) -> None:
        rows = self.database.run(cursor, "SELECT digest, minimum, number FROM surveys").fetchall()
        self._known = {digest: (least, number) for digest, least, number in rows}

    def _minimum(self, finish: str | None) -> dict[str, int]:
        return {digest: 0 if digest == finish else least for digest, (least, _) in self._known.items()}

    def _write(self, cursor: Any, folded: FoldResult, name: str) -> None:
        """Everything a fold changes, in one transaction."""
        self.database.run_many(cursor, ADD_COUNT, [(*cell, *n) for cell, n in folded.counts.items()])
        for survey, ids in folded.ids.items():
            self.database.append_ids(cursor, self._known[survey][1], ids)
        self.database.append(cursor, "reports", COLUMNS, folded.rows)
        self.database.append(cursor, "spent", SPENDING, folded.spent)
        self.epochs.seal_again(cursor, folded.left, folded.gathered, name)

    def _forget(self, cursor: Any, survey: str) -> None:
        """What `finish` deletes."""
        self.database.run(cursor, "UPDATE surveys SET closed = 1 WHERE digest = ?", (survey,))
        number = "survey = (SELECT number FROM surveys WHERE digest = ?)"
        self.database.delete(cursor, "ids", number, (survey,))
        for table in ("reports", "invites", "spent"):
            self.database.delete(cursor, table, "survey = ?", (survey,))

    def finish(self, survey: str, *, wait: bool = True) -> None:
        """End a survey that is over, as the caller knows: counts stay, ids, rows and tickets are overwritten."""
        with self.epochs.keys.lock(wait=wait):
            self._fold(survey)
            self.database.overwrite()
            with self.database.writing() as cursor:
                self.database.run(cursor, "UPDATE surveys SET closed = 2 WHERE digest = ?", (survey,))

    def unfinished(self) -> list[str]:
        """Surveys whose closing was interrupted."""
        with self.database.reading() as cursor:
            found = self.database.run(cursor, "SELECT digest FROM surveys WHERE closed = 1 ORDER BY digest").fetchall()
        return [digest for (digest,) in found]

    # ---- what was folded --------------------------------------------------------------------------------------

    def tallies(self, survey: str | None = None) -> Tallies:
        """Exact counts of what was folded, by survey × question × design × segments × round; as costly as cells."""
        cells = self.counted(survey)
        with self.database.reading() as cursor:
            pilots = self.database.run(cursor, "SELECT digest FROM surveys WHERE pilot = 1").fetchall()
        counted = {cell: found.n for each in cells.values() for cell, found in each.items()}
        return tallies_of(counted, {digest for (digest,) in pilots})

    def counted(self, survey: str | None = None) -> dict[str, dict[Cell, CellCount]]:
        """By survey every cell of what was folded, how many reports it has and how many of them are public: all from
        one committed state."""
        where, values = (" WHERE survey = ?", (survey,)) if survey is not None else ("", ())

        def read(cursor: Any) -> tuple[list[Any], GatheredReports]:
            rows = self.database.run(cursor, READ_COUNTS + where, values).fetchall()
            return rows, self.epochs.gathered(cursor)

        rows, gathered = self.epochs.consistently(read)
        found: dict[str, dict[Cell, CellCount]] = {}
        for *cell, n, published in rows:
            found.setdefault(cell[0], {})[Cell(*cell)] = CellCount(n, published)
        for cell, more in gathered.counts.items():
            if survey in (None, cell.survey):
                own = found.setdefault(cell.survey, {})
                n, published = own.get(cell, CellCount(0))
                own[cell] = CellCount(n + more.n, published + more.published)
        return found

    def keeps_rows(self) -> bool:
        """Whether folded reports are kept as rows."""
        with self.database.reading() as cursor:
            return bool(self.database.run(cursor, "SELECT keep_rows FROM epoch").fetchone()[0])
