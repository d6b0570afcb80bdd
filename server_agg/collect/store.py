"""The store: where acknowledged reports live.  One interface, one set of statements, two databases.

    take → intake (sealed, in the order of arrival) → fold → counts, ids, spent tickets (and rows, if they are kept)

Rules
1. `take` is one durable transaction: when it returns, every NEW report is on disk; when it raises, none is counted.
2. An id is stored once.  The same report again is SAME; the same id with other content is CONFLICTING_ID and changes
   nothing.  Of an id that was folded without its row only the id is left: whatever comes under it is SAME, and is
   not counted.  Of reports in one batch that share an id or a ticket the first comes first.
3. A ticket is spent once per question and round.  Only hashes are stored, and nothing joins a spent ticket with its
   report: both wait in one sealed content, and a fold writes the tickets of a whole crowd, sorted (`fold`).
4. So at rest a folded report is a member of a crowd and nothing else: no order within it, no time, no ticket
   (`folding`, `epochs`).
5. Takes see one epoch: a fold excludes them, in every process that works on the database.
6. A name and version of a publisher is one survey, by a unique index.
7. The schema has a number and `tables.STEPS` lead to it (`rrcollect.schema`): an older database is brought up to date
   when it is opened, a newer one is refused, and another program's is not touched.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rrcollect.publish.report import ReportRow
from server_agg.collect.database import Marked, marked_reports
from server_agg.collect.epoch_key import EpochKey
from server_agg.collect.epochs import GATHERED, Epoch
from server_agg.collect.errors import Refusal
from server_agg.collect.folding import SPENT, FoldingDatabase
from server_agg.collect.stored_report import IncomingReport, packed, unpacked
from server_agg.collect.tables import ADD_INVITE, ADD_SURVEY, BETWEEN, COLUMNS

ROWS_PER_READ = 20_000


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
    know of the survey in it: whose it is, how many reports a crowd has, and whether it is a trial.  `closed`: nothing
    is taken for it any more; `finished`: and what was deleted of it is overwritten."""

    digest: str
    envelope: bytes
    keys: tuple[str, ...]
    publisher: str
    name: str
    version: int
    minimum: int
    pilot: bool = False
    closed: bool = False
    finished: bool = False


class Store(FoldingDatabase, ABC):
    """What both kinds do alike."""

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
        found = []
        for of, made, keys, by, name, version, least, pilot, closed in rows:
            given = (of, bytes(made), tuple(keys.split()), by, name, version, least, bool(pilot))
            found.append(PublishedSurvey(*given, closed=closed > 0, finished=closed > 1))
        return found

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
        rows = {row.id: row for row in self.gathered(cursor).rows} if GATHERED in places else {}
        known |= {report.id: None for _, _, report in rest.values() if report.id in rows}
        if unknown := sorted({report.id for _, _, report in rest.values()} - known.keys()):
            folded = self.select_in(cursor, "id", "ids", "id", [bytes.fromhex(id_) for id_ in unknown])
            known |= {bytes(id_).hex(): None for (id_,) in folded}
        found: dict[int, ReportOutcome] = {}
        refused: dict[int, Marked] = {}
        folded_ids = [id_ for id_, waiting in known.items() if waiting is None]
        rows |= {row[5]: ReportRow(*row) for row in self.select_in(cursor, COLUMNS, "reports", "id", folded_ids)}
        for at, one in rest.items():
            report = one[2]
            if report.id not in known:
                refused[at] = one
                continue
            waiting, row = known[report.id], rows.get(report.id)
            same = waiting == report if waiting else row is None or row == report.row
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

    # ---- what was kept ----------------------------------------------------------------------------------------

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
