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

import secrets
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import patch

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rrcollect import Report
from rrcollect.errors import RRCollectError
from server_agg import create_app
from server_agg.cli.main import main
from server_agg.collect import postgres_store, sqlite_store
from server_agg.collect.app import Collector
from server_agg.collect.database import marked_reports
from server_agg.collect.epoch_key import KeyFolder
from server_agg.collect.errors import StoreError
from server_agg.collect.fold import FoldResult
from server_agg.collect.folding import SPENT
from server_agg.collect.postgres_store import PostgresStore
from server_agg.collect.sqlite_store import SqliteStore
from server_agg.collect.store import ReportOutcome, Store
from server_agg.collect.stored_report import IncomingReport, packed
from server_agg.collect.tables import ADD_COUNT, COLUMNS, STEPS
from tests.assurance.collector.fuzz_targets import unchecked_fields
from tests.support.collector_running import Process

DELAY = 0.2  # seconds
KEYED = " {clustered}"


class EarlyStore(SqliteStore):
    """Says yes before the commit."""

    def take(self, reports: Sequence[IncomingReport]) -> list[ReportOutcome]:
        def later() -> None:
            with suppress(StoreError):
                SqliteStore.take(self, reports)

        threading.Timer(DELAY, later).start()
        return [ReportOutcome.NEW] * len(reports)


class SureStore(SqliteStore):
    """Says yes after the commit, even if it failed."""

    def take(self, reports: Sequence[IncomingReport]) -> list[ReportOutcome]:
        with suppress(StoreError):
            return super().take(reports)
        return [ReportOutcome.NEW] * len(reports)


class UnflushedStore(PostgresStore):
    """Says yes after a commit that is in PostgreSQL's memory alone, for some tenths of a second."""

    def _open(self) -> Any:
        connection = super()._open()
        connection.execute("SET synchronous_commit = off")
        connection.commit()
        return connection


class TwiceStore(SqliteStore):
    """Gives every incoming report an id of its own."""

    def take(self, reports: Sequence[IncomingReport]) -> list[ReportOutcome]:
        return super().take([r._replace(row=r.row._replace(id=secrets.token_hex(16))) for r in reports])


class KeylessStore(SqliteStore):
    """Has an intake and a set of ids in which an id is not a key, and does not look for one."""

    def _prepare(self, connection: Any) -> None:
        (tables,) = STEPS
        keyless = [table.replace("{bytes} PRIMARY KEY", "{bytes}").replace(KEYED, "") for table in tables]
        with patch.object(sqlite_store, "STEPS", [keyless]):
            super()._prepare(connection)

    def take(self, reports: Sequence[IncomingReport]) -> list[ReportOutcome]:
        with self.writing() as cursor:
            key = self.current(cursor).key
            self.append(cursor, "marks", "mark, place", [(one[0], 0) for one in marked_reports(key, reports)])
            self.append(cursor, "intake", "content", [(key.sealed(packed(reports), len(reports)),)])
        return [ReportOutcome.NEW] * len(reports)


class Plain(Store):
    """Writes rows, counts and spent tickets as they come: the store before there was an intake."""

    def take(self, reports: Sequence[IncomingReport]) -> list[ReportOutcome]:
        with self.writing() as cursor:
            for report in reports:
                survey, question, round_, design, answer, _, _, segments = report.row
                self.append(cursor, "reports", COLUMNS, [report.row])
                self.append(cursor, "spent", SPENT, [report.spending] if report.spending else [])
                self.run(cursor, ADD_COUNT, (survey, question, round_, design, segments, answer, 1, 0))
        return [ReportOutcome.NEW] * len(reports)


class PlainStore(Plain, SqliteStore):
    """In SQLite."""


class PlainPostgresStore(Plain, PostgresStore):
    """In PostgreSQL."""

    take = Plain.take


class HoardedKeys(KeyFolder):
    """A folder from which no key goes away."""

    def keep_only(self, database: str, name: str) -> int:
        return 0


class HoarderStore(SqliteStore):
    """Does not destroy keys."""

    def begin(self, *, keep_rows: bool | None, discard: bool) -> None:
        self.keys = HoardedKeys(self.keys.folder)
        super().begin(keep_rows=keep_rows, discard=discard)


class HoarderPostgresStore(PostgresStore):
    """Does not destroy keys."""

    def begin(self, *, keep_rows: bool | None, discard: bool) -> None:
        self.keys = HoardedKeys(self.keys.folder)
        super().begin(keep_rows=keep_rows, discard=discard)


class HastyStore(SqliteStore):
    """Destroys the old key before the fold is committed."""

    def _write(self, cursor: Any, folded: FoldResult, numbers: dict[str, int], name: str) -> None:
        super()._write(cursor, folded, numbers, name)
        self.keys.keep_only(self._name, name)


class HalvingStore(SqliteStore):
    """Commits the counts of a fold before the rest of it."""

    def _write(self, cursor: Any, folded: FoldResult, numbers: dict[str, int], name: str) -> None:
        self.run_many(cursor, ADD_COUNT, [(*cell, *n) for cell, n in folded.counts.items()])
        cursor.execute("COMMIT")
        cursor.execute("BEGIN IMMEDIATE")
        super()._write(cursor, folded._replace(counts={}), numbers, name)


def hasty(where: str) -> Store:
    """What cannot be read any more is given up, as its owner would have to."""
    return HastyStore(where, discard_unreadable=True)


def halving(where: str) -> Store:
    """A fold in two halves."""
    return HalvingStore(where)


STORES: dict[str, type[Store]] = {
    "early": EarlyStore,
    "sure": SureStore,
    "unflushed": UnflushedStore,
    "twice": TwiceStore,
    "keyless": KeylessStore,
    "plain": PlainStore,
    "plain-postgres": PlainPostgresStore,
    "hoarder": HoarderStore,
    "hoarder-postgres": HoarderPostgresStore,
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
    planted = STORES[sys.argv[1]]
    if issubclass(planted, PostgresStore):
        vars(postgres_store)["PostgresStore"] = planted
    else:
        vars(sqlite_store)["SqliteStore"] = planted
    sys.exit(main(sys.argv[2:]))
