"""The store: where acknowledged reports live.  One interface, one set of statements, two databases.

    take → intake (sealed, in the order of arrival) → fold → counts, ids, spent tickets (and rows, if they are kept)

Rules
1. `take` is one durable transaction: when it returns, every NEW report is on disk; when it raises, none is counted.
2. An id is stored once.  The same report again is SAME; the same id with other content is CONFLICTING_ID and changes
   nothing.  Of an id that was folded without its row only the id is left: whatever comes under it is SAME, and is
   not counted.  Of reports in one batch that share an id or a ticket the first comes first.
3. A ticket is spent once per question and round.  Only hashes are stored, and nothing joins a spent ticket with its
   report: both wait in one sealed content, and a fold writes the tickets of a whole crowd, sorted (`fold`).
4. `fold` is one transaction: counts, ids, rows and spent tickets of every ripe group are written, the intake is
   emptied, what is not ripe is sealed again, and the next epoch key is named.  Then the old key is destroyed
   (`epoch_key`).  So at rest a folded report is a member of a crowd and nothing else: no order, no time, no ticket.
5. Takes see one epoch: a fold excludes them, in every process that works on the database.
6. `finish` ends a survey that is over: it is folded to its last report, counts stay, ids, rows, invites and spent
   tickets are deleted, and nothing is taken for it any more.
7. A name and version of a publisher is one survey, by a unique index.
8. The schema has a number and `tables.STEPS` lead to it (`rrcollect.schema`): an older database is brought up to date
   when it is opened, a newer one is refused, and another program's is not touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from server_agg.collect.counts import tallies_of
from server_agg.collect.database import NOTHING_SEEN, Database, Epoch, Marked, marked_reports
from server_agg.collect.epoch_key import EpochKey
from server_agg.collect.errors import Refusal
from server_agg.collect.fold import FoldResult, folded_from, ripe_groups, waiting_in
from server_agg.collect.stored_report import Crowd, IncomingReport, Spending, packed, unpacked
from server_agg.collect.tables import ADD_COUNT, ADD_INVITE, ADD_SURVEY, BETWEEN, COLUMNS, READ_COUNTS
from server_agg.count.tallies import Tallies

__all__ = ["PublishedSurvey", "ReportOutcome", "Store"]

ROWS_PER_READ = 20_000
LEFT_PER_PLACE = 200  # reports that wait on together after a fold: a repeat of one opens them all
SPENT = ", ".join(Spending._fields)


class ReportOutcome(Enum):
    """What became of one report: taken, or refused for a reason of the rules."""

    NEW = "new"
    SAME = "same"
    CONFLICTING_ID = "conflicting_id"
    UNKNOWN_TICKET = "unknown_ticket"
    TICKET_REUSED = "ticket_reused"
    CLOSED = "closed"


@dataclass(frozen=True)
class PublishedSurvey:
    """A signed envelope with the public keys (hexadecimal) its owner named when publishing it, and what a store must
    know of the survey in it: whose it is, how many reports a crowd has, and whether it is a trial."""

    digest: str
    envelope: bytes
    keys: tuple[str, ...]
    publisher: str
    name: str
    version: int
    minimum: int
    pilot: bool = False
    closed: bool = False


class Store(Database):
    """What both kinds do alike."""

    keep_rows: bool

    # ---- surveys and invites ----------------------------------------------------------------------------------

    def publish(self, survey: PublishedSurvey) -> bool:
        """Keep a survey; False if it was there already, a `Refusal` if its name and version is another's."""
        given = (survey.digest, survey.envelope, " ".join(survey.keys), survey.publisher, survey.name, survey.version)
        with self.writing() as cursor:
            if self.run(cursor, ADD_SURVEY, (*given, survey.minimum, int(survey.pilot))).rowcount == 1:
                return True
            if self.run(cursor, "SELECT 1 FROM surveys WHERE digest = ?", (survey.digest,)).fetchone() is None:
                raise Refusal(
                    409, "version_taken", f"version {survey.version} is published with other content; raise version"
                )
        return False

    def surveys(self, digest: str | None = None) -> list[PublishedSurvey]:
        """Every published survey, or the one of this digest."""
        columns = "digest, envelope, keys, publisher, name, version, minimum, pilot, closed"
        where, values = (" WHERE digest = ?", (digest,)) if digest is not None else ("", ())
        with self.reading() as cursor:
            rows = self.run(cursor, f"SELECT {columns} FROM surveys{where} ORDER BY digest", values).fetchall()  # noqa: S608
        return [
            PublishedSurvey(of, bytes(made), tuple(keys.split()), by, name, version, least, bool(pilot), bool(closed))
            for of, made, keys, by, name, version, least, pilot, closed in rows
        ]

    def withdraw(self, digest: str, envelope: bytes) -> bool:
        """Keep the publisher's withdrawal of a survey, for good; False if there is one already."""
        statement = "UPDATE surveys SET withdrawal = ? WHERE digest = ? AND withdrawal IS NULL"
        with self.writing() as cursor:
            return bool(self.run(cursor, statement, (envelope, digest)).rowcount == 1)

    def withdrawals(self) -> dict[str, bytes]:
        """By digest the withdrawals there are."""
        with self.reading() as cursor:
            rows = self.run(cursor, "SELECT digest, withdrawal FROM surveys WHERE withdrawal IS NOT NULL").fetchall()
        return {digest: bytes(envelope) for digest, envelope in rows}

    def add_invites(self, survey: str, hashes: Sequence[str]) -> None:
        """Make these invites (by the hashes of their tickets) good for a survey; written in the order of the hashes."""
        with self.writing() as cursor:
            self.run_many(cursor, ADD_INVITE, [(survey, one) for one in sorted(hashes)])

    # ---- reports ----------------------------------------------------------------------------------------------

    def take(self, reports: Sequence[IncomingReport]) -> list[ReportOutcome]:
        """What became of each report, after one durable commit of all of them."""
        if not reports:
            return []
        outcomes = [ReportOutcome.CLOSED] * len(reports)
        with self.writing() as cursor:
            epoch = self.current(cursor)
            marked = dict(enumerate(marked_reports(epoch.key, reports)))
            if epoch.closed:
                marked = {at: one for at, one in marked.items() if one[2].row.survey not in epoch.closed}
            self._put(cursor, epoch, marked, outcomes)
        return outcomes

    def _put(self, cursor: Any, epoch: Epoch, marked: dict[int, Marked], outcomes: list[ReportOutcome]) -> None:
        """Tell what became of each: marks in one statement, contents in another, and the rest looked up in one go."""
        while marked:
            first = _firsts(marked)
            put = self._written(cursor, epoch.key, list(first.values()))
            for at, (mark, _, _) in first.items():
                if mark in put:
                    outcomes[at] = ReportOutcome.NEW
                    del marked[at]
            for at, outcome in self._explained(cursor, epoch, marked).items() if marked else ():
                outcomes[at] = outcome
                del marked[at]  # of what is left, that which stood in its way is not there

    def _written(self, cursor: Any, key: EpochKey, marked: Sequence[Marked]) -> set[bytes]:
        """Put into the intake what is new and may be spent; the marks of what was put."""
        place, put = self.put(cursor, marked)
        reports = [report for mark, _, report in marked if mark in put]
        if reports:
            content = key.sealed(packed(reports), len(reports))
            self.run(cursor, "INSERT INTO intake (place, content) VALUES (?, ?)", (place, content))
        return put

    def _explained(self, cursor: Any, epoch: Epoch, rest: dict[int, Marked]) -> dict[int, ReportOutcome]:
        """Why these were not put."""
        marks = sorted({mark for mark, _, _ in rest.values()})
        places = sorted({place for (place,) in self.select_in(cursor, "place", "marks", "mark", marks)})
        contents = self.select_in(cursor, "content", "intake", "place", places)
        known: dict[str, IncomingReport | None] = {report.id: report for report in _opened(epoch.key, contents)}
        if unknown := sorted({report.id for _, _, report in rest.values()} - known.keys()):
            folded = self.select_in(cursor, "id", "ids", "id", [bytes.fromhex(id_) for id_ in unknown])
            known |= {bytes(id_).hex(): None for (id_,) in folded}
        found: dict[int, ReportOutcome] = {}
        refused: dict[int, Marked] = {}
        folded_ids = [id_ for id_, waiting in known.items() if waiting is None]
        rows = {row[5]: row for row in self.select_in(cursor, COLUMNS, "reports", "id", folded_ids)}
        for at, one in rest.items():
            report = one[2]
            if report.id not in known:
                refused[at] = one
                continue
            waiting, row = known[report.id], rows.get(report.id)
            same = waiting == report if waiting else row is None or tuple(row) == report.row
            found[at] = ReportOutcome.SAME if same else ReportOutcome.CONFLICTING_ID
        return found | self._by_tickets(cursor, refused)

    def _by_tickets(self, cursor: Any, rest: dict[int, Marked]) -> dict[int, ReportOutcome]:
        """What is wrong with the tickets of reports whose ids are new."""
        tickets = sorted({report.ticket for _, _, report in rest.values() if report.ticket is not None})
        given = {tuple(row) for row in self.select_in(cursor, "survey, ticket", "invites", "ticket", tickets)}
        used = {tuple(row) for row in self.select_in(cursor, SPENT, "spent", "ticket", tickets)}
        marks = sorted({ticket for _, ticket, _ in rest.values() if ticket is not None})
        waiting = {bytes(row[0]) for row in self.select_in(cursor, "ticket", "marks", "ticket", marks)}
        found = {}
        for at, (_, ticket, report) in rest.items():
            spending = report.spending
            if spending is not None and (spending.survey, spending.ticket) not in given:
                found[at] = ReportOutcome.UNKNOWN_TICKET
            elif spending in used or ticket in waiting:
                found[at] = ReportOutcome.TICKET_REUSED
        return found

    # ---- the fold ---------------------------------------------------------------------------------------------

    def fold(self, finish: str | None = None) -> int:
        """Fold what is ripe, and all of a survey that is to `finish`; returns how many reports were folded."""
        with self.keys.lock():
            with self.writing(alone=True) as cursor:
                epoch = self.current(cursor)
                first = epoch.seen == NOTHING_SEEN
                arrived = self._arrived(cursor, epoch)
                known = self.run(cursor, "SELECT digest, minimum, number FROM surveys").fetchall()
                minimum = {digest: 0 if digest == finish else least for digest, least, _ in known}
                ripe = ripe_groups(epoch.waiting, minimum)
                if not ripe and finish is None:
                    return 0
                folded = folded_from(arrived if first else self._waiting(cursor, epoch), ripe)
                name = self.keys.make(self._name)
                self._write(cursor, folded, {digest: number for digest, _, number in known}, name)
                if finish is not None:
                    self._forget(cursor, finish)
                self._epoch = None
            self.keys.keep_only(self._name, name)
        return sum(map(len, folded.ids.values()))

    def _arrived(self, cursor: Any, epoch: Epoch) -> list[Crowd]:
        """What came into the intake since this was last asked, counted into the epoch."""
        rows = self.run(cursor, "SELECT place, content FROM intake WHERE place > ?", (epoch.seen,)).fetchall()
        arrived = [crowd for _, content in rows for crowd in unpacked(epoch.key.opened(bytes(content)))]
        epoch.waiting += waiting_in(arrived)
        epoch.seen = max((place for place, _ in rows), default=epoch.seen)
        return arrived

    def _waiting(self, cursor: Any, epoch: Epoch) -> list[Crowd]:
        contents = self.run(cursor, "SELECT content FROM intake ORDER BY place").fetchall()
        return [crowd for (content,) in contents for crowd in unpacked(epoch.key.opened(bytes(content)))]

    def _write(self, cursor: Any, folded: FoldResult, numbers: dict[str, int], name: str) -> None:
        """Everything a fold changes, in one transaction."""
        key = self.keys.read(self._name, name)
        self.run_many(cursor, ADD_COUNT, [(*cell, n) for cell, n in folded.counts.items()])
        for survey, ids in folded.ids.items():
            self.append_ids(cursor, numbers[survey], ids)
        if self.keep_rows:
            self.append(cursor, "reports", COLUMNS, folded.rows())
        self.append(cursor, "spent", SPENT, folded.spent)
        self.empty_intake(cursor)
        for start in range(0, len(folded.left), LEFT_PER_PLACE):
            some, place = folded.left[start : start + LEFT_PER_PLACE], -1 - start  # before all that come later
            marks = [(mark, ticket, place) for mark, ticket, _ in marked_reports(key, some)]
            self.append(cursor, "marks", "mark, ticket, place", marks)
            self.append(cursor, "intake", "place, content", [(place, key.sealed(packed(some), len(some)))])
        self.run(cursor, "UPDATE epoch SET key = ?", (name,))

    def _forget(self, cursor: Any, survey: str) -> None:
        """What `finish` deletes."""
        self.run(cursor, "UPDATE surveys SET closed = 1 WHERE digest = ?", (survey,))
        self.run(cursor, "DELETE FROM ids WHERE survey = (SELECT number FROM surveys WHERE digest = ?)", (survey,))
        for table in ("reports", "invites", "spent"):
            self.run(cursor, f"DELETE FROM {table} WHERE survey = ?", (survey,))  # noqa: S608

    def finish(self, survey: str) -> None:
        """End a survey that is over, as the caller knows: counts stay, ids, rows and tickets are overwritten."""
        self.fold(finish=survey)
        self.overwrite()

    # ---- what was counted -------------------------------------------------------------------------------------

    def tallies(self, survey: str | None = None) -> Tallies:
        """Exact counts of what was folded, by survey × question × design × segments × round; as costly as cells."""
        where, values = (" WHERE survey = ?", (survey,)) if survey is not None else ("", ())
        with self.reading() as cursor:
            pilots = self.run(cursor, "SELECT digest FROM surveys WHERE pilot = 1").fetchall()
            cells = self.run(cursor, READ_COUNTS + where, values).fetchall()
        return tallies_of(cells, {digest for (digest,) in pilots})

    def pages(self, survey: str | None = None) -> Iterator[str]:
        """The rows that are kept, in the order of their ids, some thousands at a time: a line for each, its fields in
        the order of `PAGE_COLUMNS` with `BETWEEN` between them, nothing for no ticket.  The database joins the text,
        which is several times as fast as handing over value by value; no field holds a control character: names are
        plain, and canonical JSON escapes them."""
        last = ""
        with self.reading(snapshot=True) as cursor:
            while True:
                (text,) = self.run(cursor, self.page, (last, survey, survey, ROWS_PER_READ)).fetchone()
                if text is None:
                    return
                yield text
                last = text[text.rindex(BETWEEN) + 1 :]

    def waiting(self) -> list[IncomingReport]:
        """The reports that are not folded yet, as whoever has the database and the key can read them."""
        with self.writing() as cursor:
            crowds = self._waiting(cursor, self.current(cursor))
        return [report for crowd in crowds for report in crowd.reports()]

    def alive(self) -> None:
        """Return if the database answers; a `StoreError` if it does not."""
        with self.reading() as cursor:
            self.run(cursor, "SELECT 1").fetchone()


def _opened(key: EpochKey, contents: Sequence[Sequence[Any]]) -> list[IncomingReport]:
    """The reports of some contents."""
    return [report for (one,) in contents for crowd in unpacked(key.opened(bytes(one))) for report in crowd.reports()]


def _firsts(marked: dict[int, Marked]) -> dict[int, Marked]:
    """Of those that share an id or a ticket the first."""
    seen: set[bytes] = set()
    found = {}
    for at, one in marked.items():
        mark, ticket, _ = one
        if mark in seen:
            continue
        seen.add(mark)
        if ticket is not None:
            if ticket in seen:
                continue
            seen.add(ticket)
        found[at] = one
    return found
