"""Collectors with a planted bug, and those of them that are killed or starved as programs.

Run: python -m tests.assurance.collector.planted BUG serve …

early      acknowledges a report, and commits it a little later
sure       acknowledges a report whether or not it could be committed
unflushed  does not let PostgreSQL flush its log before a commit returns
twice      gives every delivery an id of its own: a report that comes again is counted again
keyless    keeps every delivery: an id may be there many times
plain      writes rows and spent tickets as they come, in a transaction of each (on PostgreSQL: plain-postgres)
hoarder    folds as it should, and keeps the old keys (on PostgreSQL: hoarder-postgres)
"""

from __future__ import annotations

import os
import secrets
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any
from unittest.mock import patch

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rrcollect import Report, RRCollectError
from server_agg import create_app
from server_agg.collect import Store
from server_agg.collect.store import store
from server_agg.collect.store.database import COLUMNS
from server_agg.collect.store.fold import FoldResult, Folds
from server_agg.collect.store.postgres import PostgresDatabase
from server_agg.collect.store.reports import SPENDING
from server_agg.errors import StoreError
from tests.assurance.collector.fuzz_targets import unchecked_fields
from tests.inside.collect import (
    STEPS,
    Cell,
    CellCount,
    Collector,
    IncomingReport,
    KeyFolder,
    KeyRing,
    ReportOutcome,
    SqliteDatabase,
    add_to_crowds,
    marked_reports,
    packed,
    postgres,
    sqlite,
)
from tests.support.collector_running import Process
from tests.support.command_line import main

DELAY = 0.2  # seconds
KEYED = " {clustered}"


class EarlyStore(Store):
    """Says yes before the commit."""

    def take(self, reports: Sequence[IncomingReport]) -> list[ReportOutcome]:
        def later() -> None:
            with suppress(StoreError):
                Store.take(self, reports)

        threading.Timer(DELAY, later).start()
        return [ReportOutcome.NEW] * len(reports)


class SureStore(Store):
    """Says yes after the commit, even if it failed."""

    def take(self, reports: Sequence[IncomingReport]) -> list[ReportOutcome]:
        with suppress(StoreError):
            return super().take(reports)
        return [ReportOutcome.NEW] * len(reports)


class UnflushedDatabase(PostgresDatabase):
    """Says yes after a commit that is in PostgreSQL's memory alone, for some tenths of a second."""

    def _open(self) -> Any:
        connection = super()._open()
        connection.execute("SET synchronous_commit = off")
        connection.commit()
        return connection


class TwiceStore(Store):
    """Gives every incoming report an id of its own."""

    def take(self, reports: Sequence[IncomingReport]) -> list[ReportOutcome]:
        return super().take([r._replace(row=r.row._replace(id=secrets.token_hex(16))) for r in reports])


class KeylessDatabase(SqliteDatabase):
    """Has an intake and a set of ids in which an id is not a key."""

    def _prepare(self, connection: Any) -> None:
        (tables,) = STEPS
        keyless = [table.replace("{bytes} PRIMARY KEY", "{bytes}").replace(KEYED, "") for table in tables]
        with patch.object(sqlite, "STEPS", [keyless]):
            super()._prepare(connection)


class KeylessStore(Store):
    """Does not look for an id."""

    def take(self, reports: Sequence[IncomingReport]) -> list[ReportOutcome]:
        with self.database.writing() as cursor:
            key = self.epochs.current(cursor).key
            marks = [(one[0], 0) for one in marked_reports(key, reports)]
            self.database.append(cursor, "marks", "mark, place", marks)
            self.database.append(cursor, "intake", "content", [(key.sealed(packed(reports), 256 * len(reports)),)])
        return [ReportOutcome.NEW] * len(reports)


def keyless(where: str | os.PathLike[str]) -> Store:
    """Without keys, and without looking."""
    return KeylessStore(KeylessDatabase(where))


class PlainStore(Store):
    """Writes rows, counts and spent tickets as they come: the store before there was an intake."""

    def take(self, reports: Sequence[IncomingReport]) -> list[ReportOutcome]:
        database = self.database
        with database.writing() as cursor:
            for report in reports:
                survey, question, round_, design, answer, _, _, segments = report.row
                database.append(cursor, "reports", COLUMNS, [report.row])
                database.append(cursor, "spent", SPENDING, [report.spending] if report.spending else [])
                cell = Cell(survey or "", question or "", round_ or 0, design or "", segments or "", answer or "")
                add_to_crowds(database, cursor, {}, {cell: CellCount(1)})
        return [ReportOutcome.NEW] * len(reports)


class HoardedKeys(KeyFolder):
    """A folder from which no key goes away."""

    def keep_only(self, database: str, name: str) -> int:
        return 0


class HastyFolds(Folds):
    """Destroys the old key before the fold is committed."""

    def _write(self, cursor: Any, folded: FoldResult, ring: KeyRing, name: str, finish: str | None) -> None:
        super()._write(cursor, folded, ring, name, finish)
        self.epochs.keys.keep_only(self.epochs.name, name)


class HalvingFolds(Folds):
    """Commits the counts of a fold before the rest of it."""

    def _write(self, cursor: Any, folded: FoldResult, ring: KeyRing, name: str, finish: str | None) -> None:
        add_to_crowds(self.database, cursor, ring.surveys, folded.counts)
        cursor.execute("COMMIT")
        cursor.execute("BEGIN IMMEDIATE")
        super()._write(cursor, folded._replace(counts={}), ring, name, finish)


def hasty(where: str) -> Store:
    """What cannot be read any more is given up, as its owner would have to."""
    made = Store(SqliteDatabase(where), discard_unreadable=True)
    made.folds = HastyFolds(made.epochs)
    return made


def halving(where: str) -> Store:
    """A fold in two halves."""
    made = Store(SqliteDatabase(where))
    made.folds = HalvingFolds(made.epochs)
    return made


STORES: dict[str, list[tuple[ModuleType, str, type]]] = {  # what stands for what
    "early": [(store, "Store", EarlyStore)],
    "sure": [(store, "Store", SureStore)],
    "unflushed": [(postgres, "PostgresDatabase", UnflushedDatabase)],
    "twice": [(store, "Store", TwiceStore)],
    "keyless": [(store, "Store", KeylessStore), (sqlite, "SqliteDatabase", KeylessDatabase)],
    "plain": [(store, "Store", PlainStore)],
    "plain-postgres": [(store, "Store", PlainStore)],
    "hoarder": [(store, "KeyFolder", HoardedKeys)],
    "hoarder-postgres": [(store, "KeyFolder", HoardedKeys)],
}


def _program(bug: str) -> tuple[str, ...]:
    return "-m", "tests.assurance.collector.planted", bug


class Early(Process):
    """`early`, as a process."""

    program = _program("early")


class Sure(Process):
    """`sure`, as a process."""

    program = _program("sure")


class Unflushed(Process):
    """`unflushed`, as a process."""

    program = _program("unflushed")


class Twice(Process):
    """`twice`, as a process."""

    program = _program("twice")


class Keyless(Process):
    """`keyless`, as a process."""

    program = _program("keyless")


class PlainCollector(Process):
    """`plain`, as a process."""

    program = _program("plain")


class PlainPostgresCollector(Process):
    """`plain-postgres`, as a process."""

    program = _program("plain-postgres")


class Hoarder(Process):
    """`hoarder`, as a process."""

    program = _program("hoarder")


class HoarderPostgres(Process):
    """`hoarder-postgres`, as a process."""

    program = _program("hoarder-postgres")


class UncheckedReport(Report):
    """The planted bug in the collector: a report that takes its fields for granted."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Report:
        with suppress(RRCollectError):
            unchecked_fields(data)
        return Report.from_bytes(data)


@contextmanager
def presuming() -> Iterator[None]:
    """Collectors whose results take it for granted that a format is one of those they have (KeyError)."""
    sound = Collector.results

    async def results(self: Collector, request: Request) -> Response:
        self.owner.check(request.headers.get("authorization", "").encode())
        {"json": True, "csv": True}[request.query_params.get("format", "json")]
        return await sound(self, request)

    with patch.object(Collector, "results", results):
        yield


def hoarding(*given: Any) -> ASGIApp:
    """A collector that keeps the bytes of every request: its path and headers, and what it read of the body."""
    app, kept = create_app(*given), list[bytes]()

    async def hoard(scope: Scope, receive: Receive, send: Send) -> None:
        pieces = [scope["raw_path"], scope["query_string"], *(b": ".join(pair) for pair in scope["headers"])]

        async def read() -> Any:
            message = await receive()
            pieces.append(message.get("body", b""))
            return message

        try:
            await app(scope, read, send)
        finally:
            kept.append(b"\n".join(pieces))

    return hoard


if __name__ == "__main__":
    for module, name, planted in STORES[sys.argv[1]]:
        vars(module)[name] = planted
    sys.exit(main(sys.argv[2:]))
