"""The store: where acknowledged reports live.  One interface, one set of statements, two databases.

Rules
1. `take` is one durable transaction: when it returns, every NEW report is on disk; when it raises, none is counted.
2. An id is stored once.  The same report again is SAME; the same id with other content is CONFLICT and changes nothing.
3. An invite is spent once a question and round, in the transaction that stores its report.  Only hashes are stored, and
   a spent invite does not point to its report.
4. Rows lie in the order of their random ids: the order of arrival is not kept.
5. The schema has a number; a database with another one is refused, not guessed at.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rrcollect.design.yes_no import Design
from server_agg.collect.stored_report import Arrival, ReportRow
from server_agg.count.tallies import Tallies, TallyKey
from server_agg.count.tally import Tally

__all__ = ["SCHEMA", "Outcome", "PublishedSurvey", "Store", "open_store"]

SCHEMA = 1
ROWS_A_READ = 10_000

TABLES = (
    "CREATE TABLE surveys (digest TEXT PRIMARY KEY, envelope {bytes} NOT NULL, keys TEXT NOT NULL)",
    "CREATE TABLE reports (survey TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, p00 TEXT NOT NULL, "
    "p11 TEXT NOT NULL, answer {small} NOT NULL CHECK (answer IN (0, 1)), id TEXT PRIMARY KEY, invite TEXT, "
    "segments TEXT NOT NULL, day {day} NOT NULL) {clustered}",
    "CREATE TABLE invites (survey TEXT NOT NULL, ticket TEXT NOT NULL, PRIMARY KEY (survey, ticket)) {clustered}",
    "CREATE TABLE spent (survey TEXT NOT NULL, ticket TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, "
    "PRIMARY KEY (survey, ticket, question, round)) {clustered}",
)
INSERT = (
    "INSERT INTO reports (survey, question, round, p00, p11, answer, id, invite, segments, day) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
)
SELECT = "SELECT survey, question, round, p00, p11, answer, id, invite, segments, day FROM reports"
GROUPED = "survey, question, round, p00, p11, segments"
COUNT = "SELECT survey, question, round, p00, p11, segments, COUNT(*), SUM(answer) FROM reports"


class Outcome(Enum):
    """What became of one report."""

    NEW = "new"
    SAME = "same"
    CONFLICT = "conflict"
    INVITE_UNKNOWN = "invite_unknown"
    INVITE_USED = "invite_used"


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
    def insert_all(self, cursor: Any, arrivals: Sequence[Arrival]) -> bool:
        """Insert rows without invites in bulk; False if some id was there already."""

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

    def add_invites(self, survey: str, tickets: Sequence[str]) -> None:
        """Make these invites (by their hashes) good for a survey."""
        with self.writing() as cursor:
            for ticket in tickets:
                self._run(cursor, "INSERT INTO invites VALUES (?, ?) ON CONFLICT DO NOTHING", (survey, ticket))

    # ---- reports ----------------------------------------------------------------------------------------------

    def take(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        """What became of each report, after one durable commit of all of them."""
        plain = all(arrival.ticket is None for arrival in arrivals)
        if plain and len({arrival.row.id for arrival in arrivals}) == len(arrivals):
            with self.writing() as cursor:
                if self.insert_all(cursor, arrivals):
                    return [Outcome.NEW] * len(arrivals)
                cursor.connection.rollback()
        order = sorted(range(len(arrivals)), key=lambda place: arrivals[place].row.id)  # one order: no deadlock
        with self.writing() as cursor:
            outcomes = {place: self._take_one(cursor, arrivals[place]) for place in order}
        return [outcomes[place] for place in range(len(arrivals))]

    def _take_one(self, cursor: Any, arrival: Arrival) -> Outcome:
        row = arrival.row
        if self._run(cursor, INSERT, row).rowcount != 1:
            found = self._run(cursor, f"{SELECT} WHERE id = ?", (row.id,)).fetchone()
            return Outcome.SAME if _row(found).same_report(row) else Outcome.CONFLICT
        if arrival.ticket is None:
            return Outcome.NEW
        outcome = self._spend(cursor, arrival.ticket, row)
        if outcome is not Outcome.NEW:
            self._run(cursor, "DELETE FROM reports WHERE id = ?", (row.id,))
        return outcome

    def _spend(self, cursor: Any, ticket: str, row: ReportRow) -> Outcome:
        given = self._run(cursor, "SELECT 1 FROM invites WHERE survey = ? AND ticket = ?", (row.survey, ticket))
        if given.fetchone() is None:
            return Outcome.INVITE_UNKNOWN
        spent = self._run(
            cursor,
            "INSERT INTO spent (survey, ticket, question, round) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (row.survey, ticket, row.question, row.round),
        )
        return Outcome.NEW if spent.rowcount == 1 else Outcome.INVITE_USED

    def tallies(self, survey: str | None = None) -> Tallies:
        """Exact counts by survey × question × design × segments × round."""
        where, values = ("WHERE survey = ? ", (survey,)) if survey is not None else ("", ())
        with self.reading() as cursor:
            rows = self._run(cursor, f"{COUNT} {where}GROUP BY {GROUPED}", values).fetchall()
        found = {}
        for digest, question, round_, p00, p11, segments, n, ones in rows:
            design = Design(p00, p11)
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
                    f"{SELECT} WHERE id > ? {also}ORDER BY id LIMIT {ROWS_A_READ}",
                    (last,) if survey is None else (last, survey),
                ).fetchall()
            yield from map(_row, rows)
            if len(rows) < ROWS_A_READ:
                return
            last = _row(rows[-1]).id

    def alive(self) -> None:
        """Return if the database answers; a `StoreError` if it does not."""
        with self.reading() as cursor:
            self._run(cursor, "SELECT 1").fetchone()


def _row(values: Sequence[Any]) -> ReportRow:
    return ReportRow._make([*values[:-1], str(values[-1])])


def open_store(where: str | os.PathLike[str] = "rrcollect.sqlite3") -> Store:
    """The store at a path (SQLite) or a postgresql:// address; made if it is empty, refused if it is not safe.

    >>> import tempfile, pathlib
    >>> store = open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3"))
    >>> store.tallies().n, store.close()
    (0, None)
    >>> open_store(":memory:")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    server_agg.collect.errors.UnsafeDurability: ...
    """
    text = os.fspath(where)
    if text.startswith(("postgresql://", "postgres://")):
        from server_agg.collect.postgres_store import PostgresStore

        return PostgresStore(text)
    from server_agg.collect.sqlite_store import SqliteStore

    return SqliteStore(text.removeprefix("sqlite:///"))
