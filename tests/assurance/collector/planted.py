"""Collectors with a planted bug, and those of them that are killed or starved as programs.

Run: python -m tests.assurance.collector.planted BUG serve …

early      acknowledges a report, and commits it a little later
sure       acknowledges a report whether or not it could be committed
unflushed  does not let PostgreSQL flush its log before a commit returns
twice      gives every delivery an id of its own: a report that comes again is counted again
keyless    keeps every delivery: an id may be there many times
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
from server_agg.collect.errors import StoreError
from server_agg.collect.postgres_store import PostgresStore
from server_agg.collect.sqlite_store import SqliteStore
from server_agg.collect.store import INSERT, STEPS, Outcome, Store
from server_agg.collect.stored_report import IncomingReport
from tests.assurance.collector.fuzz_targets import unchecked_fields
from tests.support.collector_running import Process

__all__ = ["Early", "Keyless", "KeylessStore", "Sure", "Twice", "UncheckedReport", "Unflushed", "hoarding", "presuming"]

DELAY = 0.2  # seconds
KEYED = "id TEXT PRIMARY KEY"


class EarlyStore(SqliteStore):
    """Says yes before the commit."""

    def take(self, reports: Sequence[IncomingReport]) -> list[Outcome]:
        def later() -> None:
            with suppress(StoreError):
                SqliteStore.take(self, reports)

        threading.Timer(DELAY, later).start()
        return [Outcome.NEW] * len(reports)


class SureStore(SqliteStore):
    """Says yes after the commit, even if it failed."""

    def take(self, reports: Sequence[IncomingReport]) -> list[Outcome]:
        with suppress(StoreError):
            return super().take(reports)
        return [Outcome.NEW] * len(reports)


class UnflushedStore(PostgresStore):
    """Says yes after a commit that is in PostgreSQL's memory alone, for some tenths of a second."""

    def _open(self) -> Any:
        connection = super()._open()
        connection.execute("SET synchronous_commit = off")
        connection.commit()
        return connection


class TwiceStore(SqliteStore):
    """Gives every incoming report an id of its own."""

    def take(self, reports: Sequence[IncomingReport]) -> list[Outcome]:
        return super().take([r._replace(row=r.row._replace(id=secrets.token_hex(16))) for r in reports])


class KeylessStore(SqliteStore):
    """Has a table of reports in which an id is not a key, and does not look for one."""

    def _prepare(self, connection: Any) -> None:
        (tables,) = STEPS
        keyless = [t.replace(KEYED, "id TEXT").replace("{clustered}", "") if KEYED in t else t for t in tables]
        with patch.object(sqlite_store, "STEPS", [keyless]):
            super()._prepare(connection)

    def take(self, reports: Sequence[IncomingReport]) -> list[Outcome]:
        with self.writing() as cursor:
            cursor.executemany(INSERT.partition("ON CONFLICT")[0], [report.row for report in reports])
        return [Outcome.NEW] * len(reports)


STORES: dict[str, type[Store]] = {
    "early": EarlyStore,
    "sure": SureStore,
    "unflushed": UnflushedStore,
    "twice": TwiceStore,
    "keyless": KeylessStore,
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
