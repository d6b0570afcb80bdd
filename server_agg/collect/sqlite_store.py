"""The store in one SQLite file: no configuration, no server.

The path must stay what it was: a file that was deleted or replaced while it is open takes no more reports.

Durability.  WAL with synchronous=FULL: the log is flushed to disk (fsync) before a commit returns.  Both settings are
read back when the file is opened, and anything weaker is refused.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote

from rrcollect.schema import upgrade
from server_agg.collect.errors import StoreError, StoreFull, StoreUnavailable, UnsafeDurability, WrongSchema
from server_agg.collect.store import INSERT, STEPS, Store
from server_agg.collect.stored_report import IncomingReport

__all__ = ["SqliteStore"]

APPLICATION = 0x72726331  # "rrc1", so that another program's file is told from ours
PATIENCE = 10.0  # seconds to wait for another process's lock
TYPES = {"bytes": "BLOB", "clustered": "WITHOUT ROWID"}


class SqliteStore(Store):
    """The store in the file at `path`; only its owner may read it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._lock = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        with self._lock, _translated():
            if self.path != ":memory:" and not self.path.startswith("file:"):
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._file = _identity(self.path)
            connection = self._open()
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._writer = connection

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            connection.execute("PRAGMA synchronous = FULL")
            (flush,) = connection.execute("PRAGMA synchronous").fetchone()
            if mode != "wal" or flush < 2:
                raise UnsafeDurability(
                    f"{self.path} would be written with journal_mode={mode}, synchronous={flush}; needed: wal and 2 "
                    "(a file on a local disk; memory and most network file systems cannot do it)"
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN EXCLUSIVE")
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (number,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if tables and application != APPLICATION:
            raise WrongSchema(f"{self.path} is a database of another program")
        now = upgrade(lambda step: connection.execute(step.format(**TYPES)), number, STEPS, self.path)
        if now != number:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {now}")
        connection.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[Any]:
        with self._lock, _translated():
            try:
                if _identity(self.path) != self._file:  # deleted or replaced under us: what we write would be lost
                    raise StoreUnavailable("the database file was moved or replaced while it was open")
                if self._writer is None:
                    self._writer = self._open()
                connection = self._writer
                connection.execute("BEGIN IMMEDIATE")
                yield connection.cursor()
                if connection.in_transaction:
                    connection.execute("COMMIT")
            except BaseException:
                self._abandon()
                raise

    def _abandon(self) -> None:
        """Forget a transaction; after a failure of the disk the connection goes too, and is opened anew."""
        connection, self._writer = self._writer, None
        if connection is None:
            return
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        with suppress(sqlite3.Error):
            connection.close()

    @contextmanager
    def reading(self) -> Iterator[Any]:
        with _translated():
            address = f"file:{quote(self.path)}?mode=rw"  # never makes a new, empty file
            connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)
            try:
                connection.execute("PRAGMA query_only = ON")
                yield connection.cursor()
            finally:
                connection.close()

    def insert_all(self, cursor: Any, reports: Sequence[IncomingReport]) -> bool:
        cursor.executemany(INSERT, [report.row for report in reports])
        return bool(cursor.rowcount == len(reports))

    def close(self) -> None:
        with self._lock, suppress(sqlite3.Error):
            if self._writer is not None:
                self._writer.close()
            self._writer = None


def _identity(path: str) -> tuple[int, int] | None:
    """Which file lies at the path; None for a database without one."""
    if path == ":memory:" or path.startswith("file:"):
        return None
    found = os.stat(path)
    return found.st_dev, found.st_ino


@contextmanager
def _translated() -> Iterator[None]:
    """SQLite's errors as ours, without the data they were about."""
    try:
        yield
    except StoreError:
        raise
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or type(error).__name__
        if name.startswith(("SQLITE_FULL", "SQLITE_IOERR_WRITE")):
            raise StoreFull(f"the database cannot grow ({name}): free some space on its disk") from None
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            raise WrongSchema(f"the file is damaged or is not a SQLite database ({name})") from None
        raise StoreUnavailable(f"the database cannot be used ({name})") from None
    except OSError as error:
        raise StoreUnavailable(f"the database cannot be opened: {error.strerror}") from None
