"""The fold: which waiting reports are ripe, what they become, and how that is written.

Rules
1. A question and round of a survey is ripe when at least as many of its reports wait as the signed survey's `minimum`.
   All of them are folded then, and nothing of the others: what is added to the spent tickets, and to the sums that the
   owner sees, is always a crowd of that size.
2. Stored counts by segment always cover at least `minimum` reports.  A folded report is *gathered* first: it is in a
   sum that only the key of the epoch opens.  When the sum of a crowd (`crowds`) has reached the `minimum`, it is added
   to the counts, and its rows (if rows are kept) and their ids are written.  So nobody who reads the counts or rows
   after every fold sees one person's segments come and go.
3. What is folded has the order of its values, never of its arrival: counts by cell, ids, rows and spent tickets sorted.
4. What is not ripe goes on waiting, under the next key and in an order drawn afresh.
5. A survey that is closed is folded to its last report, and all that was gathered of it is counted.  Where a sum could
   be a single answer among many (`crowds.Form.SUMS`), what is no crowd with its segments is counted without them, and
   if that is no crowd either, not at all.  Reports to a survey that the store does not have wait.
6. A fold is one transaction: counts, ids, rows and spent tickets that are ripe are written, the intake is emptied, what
   is not ripe is sealed again, and the next epoch key is named.  Then every other key of the database is destroyed,
   also one that an earlier fold could not destroy.
7. Folds, ends of surveys and copies of a database come one after the other, by the lock of the folder of keys.  Other
   work does not wait for it: without `wait` a folder that is busy is `KeysBusy`.
8. `finish` ends a survey that is over: it is folded to its last report, counts stay, sealed answers, ids, rows, invites
   and spent tickets are deleted, and nothing is taken for it any more (`closed` is 1).  Then the tables are written
   again, so that nothing deleted is in their files, and the survey is done (2).  A `finish` that was interrupted is
   done again.  Before that the secret of its tokens is destroyed, if it has an issuer.
9. Whether rows are kept is a choice of the database, not of a process that happens to fold.
10. A report is in exactly one crowd, and a crowd is a line: reading costs as much as there are crowds, and as there are
    answers that are still sealed.  A fold costs as much as what came, and what is gathered in the same questions.

>>> from server_agg.collect.store.crowds import sums_of
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
>>> next(iter(tallies_of(sums_of(cells)).values()))
Tally(design=Design('3/4', '3/4'), n=100, counts=(40,))
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from rrcollect.publish.report import ReportRow
from server_agg.collect.store.crowds import (
    Form,
    Held,
    add_to_crowds,
    erase,
    form_of,
    mechanism_of,
    read_crowds,
    with_more,
)
from server_agg.collect.store.database import COLUMNS
from server_agg.collect.store.epochs import NOTHING_GATHERED, NOTHING_SEEN, Epochs, GatheredReports, Group, KeyRing
from server_agg.collect.store.log import add_deed
from server_agg.collect.store.reports import SPENDING, Cell, CellCount, Crowd, IncomingReport, Spending
from server_agg.count.tallies import Tallies, TallyKey
from server_agg.count.tally import Tally
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


def without_few(counts: dict[Cell, CellCount], survey: str | None, minimum: int) -> dict[Cell, CellCount]:
    """The same, but where sums of few are answers, what is no crowd of the survey is added without its segments, if
    that is a crowd."""
    many: Counter[tuple[object, ...]] = Counter()
    for cell, count in counts.items():
        many[cell[:5]] += count.n
    found: dict[Cell, CellCount] = {}
    few: dict[Cell, CellCount] = {}
    for cell, (n, public) in counts.items():
        single = cell.survey == survey and many[cell[:5]] < minimum and form_of(cell.design) is not Form.ANSWERS
        into, own = (few, cell._replace(segments="{}")) if single else (found, cell)
        before = into.get(own, CellCount(0))
        into[own] = CellCount(before.n + n, before.published + public)
    together: Counter[tuple[object, ...]] = Counter()
    for cell, count in few.items():
        together[cell[:5]] += count.n
    for cell, (n, public) in few.items():
        if together[cell[:5]] >= minimum:
            before = found.get(cell, CellCount(0))
            found[cell] = CellCount(before.n + n, before.published + public)
    return found


@lru_cache(maxsize=65_536)
def _segments(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(json.loads(text).items())


def tallies_of(crowds: Mapping[Cell, tuple[int, Sequence[int]]], pilots: Collection[str] = ()) -> Tallies:
    """Crowds (n and the counts of each) as tallies; `pilots` are the digests of trials."""
    made = {}
    for (survey, question, round_, text, declared, _), (n, sums) in crowds.items():
        mechanism = mechanism_of(text)
        key = TallyKey(survey, question, mechanism, _segments(declared), round_, survey in pilots)
        made[key] = Tally(mechanism, n, sums)
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
                ring = self.epochs.ring(cursor)
                touched = ripe | {group for group in ring.groups if group[0] == finish}
                gathered = self.epochs.gathered(cursor, ring, touched)
                folded = folded_from(crowds, ripe, minimum, gathered, keep_rows=bool(keep))
                if finish is not None:
                    folded = folded._replace(counts=without_few(folded.counts, finish, self._known[finish][0]))
                self.epochs.write_gathered(cursor, self.epochs.sealed_groups(ring, folded.gathered, sorted(touched)))
                name = self.epochs.keys.make(self.epochs.name)
                self._write(cursor, folded, ring, name, finish)
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

    def _write(self, cursor: Any, folded: FoldResult, ring: KeyRing, name: str, finish: str | None) -> None:
        """Everything a fold changes, in one transaction."""
        add_to_crowds(self.database, cursor, ring.surveys, folded.counts)
        for survey, ids in folded.ids.items():
            self.database.append_ids(cursor, self._known[survey][1], ids)
        self.database.append(cursor, "reports", COLUMNS, folded.rows)
        self.database.append(cursor, "spent", SPENDING, folded.spent)
        if finish is not None:
            self._forget(cursor, finish)
            ring.surveys.pop(finish, None)
        self.epochs.seal_again(cursor, folded.left, ring, name)

    def _forget(self, cursor: Any, survey: str) -> None:
        """What `finish` deletes."""
        closing = "UPDATE surveys SET closed = 1 WHERE digest = ? AND closed = 0"
        if self.database.run(cursor, closing, (survey,)).rowcount == 1:
            add_deed(self.database, cursor, "closed", survey)
        counted = "UPDATE surveys SET issued = issued + (SELECT COUNT(*) FROM issued WHERE survey = ?) WHERE digest = ?"
        self.database.run(cursor, counted, (survey, survey))
        number = "survey = (SELECT number FROM surveys WHERE digest = ?)"
        self.database.delete(cursor, "ids", number, (survey,))
        for table in ("reports", "invites", "spent", "issued"):
            self.database.delete(cursor, table, "survey = ?", (survey,))
        erase(self.database, cursor, survey)

    def finish(self, survey: str, *, wait: bool = True) -> None:
        """End a survey that is over, as the caller knows: counts stay, ids, rows and tickets are overwritten."""
        with self.epochs.keys.lock(wait=wait):
            self._fold(survey)
            self.epochs.keys.destroy_secret(survey)
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
        crowds = self.counted(survey)
        with self.database.reading() as cursor:
            pilots = self.database.run(cursor, "SELECT digest FROM surveys WHERE pilot = 1").fetchall()
        counted = {crowd: held[:2] for each in crowds.values() for crowd, held in each.items()}
        return tallies_of(counted, {digest for (digest,) in pilots})

    def counted(self, survey: str | None = None) -> dict[str, dict[Cell, Held]]:
        """By survey every crowd of what was folded, with its answers as far as they are kept: all from one committed
        state."""

        def read(cursor: Any) -> dict[Cell, Held]:
            ring = self.epochs.ring(cursor)
            held = read_crowds(self.database, cursor, ring.surveys, survey)
            groups = {group for group in ring.groups if survey in (None, group[0])}
            with_more(held, self.epochs.gathered(cursor, ring, groups).counts)
            return held

        found: dict[str, dict[Cell, Held]] = {}
        for crowd, held in self.epochs.consistently(read).items():
            found.setdefault(crowd.survey, {})[crowd] = held
        return found

    def keeps_rows(self) -> bool:
        """Whether folded reports are kept as rows."""
        with self.database.reading() as cursor:
            return bool(self.database.run(cursor, "SELECT keep_rows FROM epoch").fetchone()[0])
