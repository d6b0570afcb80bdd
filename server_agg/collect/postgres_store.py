"""The store in PostgreSQL (extra `postgres`), for several collectors at once.

Durability.  Every session asks for synchronous_commit=on; a server that runs with fsync or full_page_writes off is
refused, when it is first opened and whenever it is opened again after a lost connection.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rrcollect.errors import MissingExtra
from rrcollect.schema import upgrade
from server_agg.collect.errors import StoreError, StoreFull, StoreUnavailable, UnsafeDurability, WrongSchema
from server_agg.collect.store import COLUMNS, STEPS, Store
from server_agg.collect.stored_report import IncomingReport

try:
    import psycopg
except ImportError:
    raise MissingExtra("psycopg", "postgres") from None

__all__ = ["PostgresStore"]

TYPES = {"bytes": "BYTEA", "clustered": ""}
INSERT_MANY = (
    f"INSERT INTO reports ({COLUMNS}) SELECT * FROM unnest(%s::text[], %s::text[], %s::integer[], %s::text[], "  # noqa: S608
    "%s::text[], %s::text[], %s::text[], %s::text[]) ON CONFLICT (id) DO NOTHING"
)
NEEDED = {"fsync": ("on",), "full_page_writes": ("on",), "synchronous_commit": ("on", "remote_apply")}
SETUP_LOCK = 7237_2331  # one collector at a time makes the tables
DISK_FULL = ("53100", "58030")  # disk_full, io_error


class PostgresStore(Store):
    """The store behind a postgresql:// address."""

    mark = "%s"

    def __init__(self, address: str, *, connect_seconds: int = 5) -> None:
        self._address = address
        self._connect_seconds = connect_seconds
        self._lock = threading.Lock()
        self._writer: psycopg.Connection[Any] | None = None
        with self._lock, _translated():
            connection = self._open()
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._writer = connection

    def _open(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(self._address, connect_timeout=self._connect_seconds, application_name="rrcollect")
        try:
            connection.execute("SET synchronous_commit = on")
            for setting, safe in NEEDED.items():
                found = connection.execute(f"SHOW {setting}").fetchone()
                if found is None or found[0] not in safe:
                    raise UnsafeDurability(
                        f"the PostgreSQL server runs with {setting}={found and found[0]}; needed: on"
                    )
            connection.commit()
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: psycopg.Connection[Any]) -> None:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (SETUP_LOCK,))
            known = connection.execute("SELECT to_regclass('collector_schema'), to_regclass('reports')").fetchone()
            if known is None or (known[0] is None and known[1] is not None):
                raise WrongSchema("the database has a table `reports` that is not a collector's")
            if known[0] is None:
                connection.execute("CREATE TABLE collector_schema AS SELECT 0 AS version")
            found = connection.execute("SELECT MAX(version) FROM collector_schema").fetchone()
            number = 0 if found is None else int(found[0])
            if 0 < number < len(STEPS):
                connection.execute("LOCK TABLE reports")  # against collectors that run already
            now = upgrade(lambda step: connection.execute(step.format(**TYPES)), number, STEPS, "the database")
            if now != number:
                connection.execute("UPDATE collector_schema SET version = %s", (now,))

    @contextmanager
    def writing(self) -> Iterator[Any]:
        with self._lock, _translated():
            if self._writer is None or self._writer.closed:
                self._writer = self._open()
            connection = self._writer
            try:
                with connection.cursor() as cursor:
                    yield cursor
                connection.commit()
            except BaseException:
                with suppress(psycopg.Error):
                    connection.close()
                self._writer = None
                raise

    @contextmanager
    def reading(self) -> Iterator[Any]:
        with (
            _translated(),
            psycopg.connect(self._address, connect_timeout=self._connect_seconds, application_name="rrcollect") as c,
            c.cursor() as cursor,
        ):
            yield cursor

    def insert_all(self, cursor: Any, reports: Sequence[IncomingReport]) -> bool:
        ordered = sorted(reports, key=lambda report: report.id)  # one order: no deadlock
        cursor.execute(INSERT_MANY, [list(column) for column in zip(*(r.row for r in ordered), strict=True)])
        return bool(cursor.rowcount == len(reports))

    def close(self) -> None:
        with self._lock, suppress(psycopg.Error):
            if self._writer is not None:
                self._writer.close()
            self._writer = None


@contextmanager
def _translated() -> Iterator[None]:
    """psycopg's errors as ours, without the data or the address they were about."""
    try:
        yield
    except StoreError:
        raise
    except psycopg.Error as error:
        if error.sqlstate in DISK_FULL:
            raise StoreFull(f"the PostgreSQL server is out of space ({error.sqlstate})") from None
        kind = error.sqlstate or type(error).__name__
        raise StoreUnavailable(f"PostgreSQL cannot be used ({kind})") from None
