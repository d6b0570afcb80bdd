"""The store: where acknowledged reports live.  One interface, one set of statements, two databases.

Rules
1. `take` is one durable transaction: when it returns, every NEW report is on disk; when it raises, none is counted.
2. An id is stored once.  The same report again is SAME; the same id with other content is CONFLICTING_ID and changes
   nothing.
3. A ticket is spent once per question and round, in the transaction that stores its report.  Only hashes are stored,
   and a spent ticket does not point to its report.
4. Rows lie in the order of their random ids: the order of arrival is not kept.
5. The schema has a number and `STEPS` lead to it (`rrcollect.schema`): an older database is brought up to date when it
   is opened, a newer one is refused, and another program's is not touched.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rrcollect.design.mechanism import from_text
from rrcollect.publish.report import ReportRow
from server_agg.batch.sql_rules import column_sums
from server_agg.collect.stored_report import IncomingReport
from server_agg.count.tallies import Tallies, TallyKey
from server_agg.count.tally import Tally

__all__ = ["STEPS", "Outcome", "PublishedSurvey", "Store"]

ROWS_PER_READ = 10_000

STEPS = (
    (
        "CREATE TABLE surveys (digest TEXT PRIMARY KEY, envelope {bytes} NOT NULL, keys TEXT NOT NULL)",
        "CREATE TABLE reports (survey TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, design TEXT NOT "
        "NULL, answer TEXT NOT NULL, id TEXT PRIMARY KEY, ticket TEXT, segments TEXT NOT NULL) {clustered}",
        "CREATE TABLE invites (survey TEXT NOT NULL, ticket_hash TEXT NOT NULL, PRIMARY KEY (survey, ticket_hash)) "
        "{clustered}",
        "CREATE TABLE spent (survey TEXT NOT NULL, ticket_hash TEXT NOT NULL, question TEXT NOT NULL, round INTEGER "
        "NOT NULL, PRIMARY KEY (survey, ticket_hash, question, round)) {clustered}",
    ),
)
COLUMNS = ", ".join(ReportRow._fields)
INSERT = f"INSERT INTO reports ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"  # noqa: S608
SELECT = f"SELECT {COLUMNS} FROM reports"  # noqa: S608
GROUPED = "survey, question, round, design, segments"
COUNT = f"SELECT {GROUPED}, COUNT(*), {column_sums(1)} FROM reports"  # noqa: S608


class Outcome(Enum):
    """What became of one report: taken, or refused for a reason of the rules."""

    NEW = "new"
    SAME = "same"
    CONFLICTING_ID = "conflicting_id"
    UNKNOWN_TICKET = "unknown_ticket"
    TICKET_REUSED = "ticket_reused"


@dataclass(frozen=True)
class PublishedSurvey:
    """A signed envelope with the public keys (hexadecimal) its owner named when publishing it."""

    digest: str
    envelope: bytes
    keys: tuple[str, ...]


class Store(ABC):
    """What both databases do alike; a subclass opens connections, makes them safe, and names its types."""

    mark = "?"

    @abstractmethod
    def writing(self) -> AbstractContextManager[Any]:
        """A cursor in one durable transaction; transactions of this store come one after the other."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Any]:
        """A cursor that sees one committed state."""

    @abstractmethod
    def insert_all(self, cursor: Any, reports: Sequence[IncomingReport]) -> bool:
        """Insert rows without tickets in bulk; False if some id was there already."""

    @abstractmethod
    def close(self) -> None:
        """Release the database."""

    def _run(self, cursor: Any, statement: str, values: Sequence[object] = ()) -> Any:
        cursor.execute(statement.replace("?", self.mark), tuple(values))
        return cursor

    # ---- surveys and invites ----------------------------------------------------------------------------------

    def publish(self, survey: PublishedSurvey) -> bool:
        """Keep a survey; False if it was there already."""
        with self.writing() as cursor:
            self._run(
                cursor,
                "INSERT INTO surveys (digest, envelope, keys) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING",
                (survey.digest, survey.envelope, " ".join(survey.keys)),
            )
            return bool(cursor.rowcount == 1)

    def surveys(self) -> list[PublishedSurvey]:
        """Every published survey."""
        with self.reading() as cursor:
            rows = self._run(cursor, "SELECT digest, envelope, keys FROM surveys ORDER BY digest").fetchall()
        return [PublishedSurvey(digest, bytes(envelope), tuple(keys.split())) for digest, envelope, keys in rows]

    def add_invites(self, survey: str, hashes: Sequence[str]) -> None:
        """Make these invites (by the hashes of their tickets) good for a survey."""
        with self.writing() as cursor:
            for one in hashes:
                self._run(cursor, "INSERT INTO invites VALUES (?, ?) ON CONFLICT DO NOTHING", (survey, one))

    # ---- reports ----------------------------------------------------------------------------------------------

    def take(self, reports: Sequence[IncomingReport]) -> list[Outcome]:
        """What became of each report, after one durable commit of all of them."""
        plain = all(report.ticket is None for report in reports)
        if plain and len({report.id for report in reports}) == len(reports):
            with self.writing() as cursor:
                if self.insert_all(cursor, reports):
                    return [Outcome.NEW] * len(reports)
                cursor.connection.rollback()
        order = sorted(range(len(reports)), key=lambda place: reports[place].id)  # one order: no deadlock
        with self.writing() as cursor:
            outcomes = {place: self._take_one(cursor, reports[place]) for place in order}
        return [outcomes[place] for place in range(len(reports))]

    def _take_one(self, cursor: Any, report: IncomingReport) -> Outcome:
        row = report.row
        if self._run(cursor, INSERT, row).rowcount != 1:
            found = self._run(cursor, f"{SELECT} WHERE id = ?", (row.id,)).fetchone()
            return Outcome.SAME if tuple(found) == row else Outcome.CONFLICTING_ID
        if report.ticket is None:
            return Outcome.NEW
        outcome = self._spend(cursor, report.ticket, row)
        if outcome is not Outcome.NEW:
            self._run(cursor, "DELETE FROM reports WHERE id = ?", (row.id,))
        return outcome

    def _spend(self, cursor: Any, ticket: str, row: ReportRow) -> Outcome:
        given = self._run(cursor, "SELECT 1 FROM invites WHERE survey = ? AND ticket_hash = ?", (row.survey, ticket))
        if given.fetchone() is None:
            return Outcome.UNKNOWN_TICKET
        spent = self._run(
            cursor,
            "INSERT INTO spent (survey, ticket_hash, question, round) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (row.survey, ticket, row.question, row.round),
        )
        return Outcome.NEW if spent.rowcount == 1 else Outcome.TICKET_REUSED

    def tallies(self, survey: str | None = None) -> Tallies:
        """Exact counts by survey × question × design × segments × round."""
        where, values = ("WHERE survey = ? ", (survey,)) if survey is not None else ("", ())
        with self.reading() as cursor:
            rows = self._run(cursor, f"{COUNT} {where}GROUP BY {GROUPED}", values).fetchall()
        found = {}
        for digest, question, round_, text, segments, n, ones in rows:
            design = from_text(text)
            key = TallyKey(digest, question, design, tuple(json.loads(segments).items()), round_)
            found[key] = Tally(design, int(n), int(ones))
        return Tallies(found)

    def reports(self, survey: str | None = None) -> Iterator[ReportRow]:
        """Every report, in the order of its random id."""
        last = ""
        also = "" if survey is None else "AND survey = ? "
        while True:
            with self.reading() as cursor:
                rows = self._run(
                    cursor,
                    f"{SELECT} WHERE id > ? {also}ORDER BY id LIMIT {ROWS_PER_READ}",
                    (last,) if survey is None else (last, survey),
                ).fetchall()
            yield from map(ReportRow._make, rows)
            if len(rows) < ROWS_PER_READ:
                return
            last = ReportRow._make(rows[-1]).id or ""

    def alive(self) -> None:
        """Return if the database answers; a `StoreError` if it does not."""
        with self.reading() as cursor:
            self._run(cursor, "SELECT 1").fetchone()
