"""A store's database in one SQLite file: no configuration, no server.  Its keys are beside it, in `FILE.keys`.

The path must stay what it was: a file that was deleted or replaced while it is open takes no more reports.  A copy that
was never opened has no log: one beside it is another file's, which SQLite would read as its own, and is refused.

Durability.  WAL with synchronous=FULL: the log is flushed to disk (fsync) before a commit returns.  Both settings are
read back when the file is opened, and anything weaker is refused.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rrcollect.schema import upgrade
from server_agg.collect.store.database import (
    BETWEEN,
    PAGE_COLUMNS,
    SEALED,
    STEPS,
    WAITING,
    Database,
    Marked,
    closed_on_failure,
)
from server_agg.errors import StoreError, StoreFull, StoreUnavailable, UnfitDatabase

APPLICATION = 0x72726331  # "rrc1", so that another program's file is told from ours
PATIENCE = 10.0  # seconds to wait for another process's lock
TYPES = {"bytes": "BLOB", "clustered": "WITHOUT ROWID", "number": "INTEGER PRIMARY KEY"}
VALUES_PER_LOOK_UP = 500
OUT_OF_SPACE = ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE")  # the last when it is opened anew
EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"
READERS_PATIENCE = 1.0  # seconds to wait for readers when the log is to be emptied: nothing is taken meanwhile
PIECES = (  # of a blob, in one statement: as many statements as rows would each wait for the interpreter's lock
    "WITH RECURSIVE piece(at) AS (VALUES (1) UNION ALL SELECT at + 16 FROM piece WHERE at + 16 < length(?1)) SELECT "
)
PUT_ALL = (
    f"INSERT INTO marks (mark, place) {PIECES} substr(?1, at, 16), ?3 FROM piece WHERE NOT EXISTS (SELECT 1 FROM ids "  # noqa: S608
    "WHERE id = substr(?2, at, 16)) ON CONFLICT DO NOTHING"
)
PUT_WITH_TICKET = (
    "INSERT INTO marks (mark, ticket, place) SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM ids WHERE id = ?4) AND "
    "EXISTS (SELECT 1 FROM invites WHERE survey = ?5 AND ticket IN (?6, '')) AND NOT EXISTS (SELECT 1 FROM spent WHERE "
    "survey = ?5 AND ticket = ?6) ON CONFLICT DO NOTHING"
)
PAGE = (
    f"SELECT group_concat(line, char(10)) FROM (SELECT printf('{BETWEEN.join(['%s'] * len(PAGE_COLUMNS))}', "  # noqa: S608
    f"{', '.join(PAGE_COLUMNS)}) AS line FROM reports WHERE id > ?1 AND (?2 IS NULL OR survey = ?3) ORDER BY id LIMIT "
    "?4)"
)
ADD_IDS = f"INSERT INTO ids (id, survey) {PIECES} substr(?1, at, 16), ?2 FROM piece"


class SqliteDatabase(Database):
    """The database in the file at `path`; only its owner may read it."""

    page = PAGE
    faults = (sqlite3.Error, OSError)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = self.address = os.fspath(path)
        self.default_keys = Path(f"{self.path}.keys")
        with self._translated():
            if self.path != ":memory:" and not self.path.startswith("file:"):
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._file = _identity(self.path)
            _refuse_foreign_log(self.path)
        super().__init__()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        with closed_on_failure(connection):
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            connection.execute("PRAGMA synchronous = FULL")
            (flush,) = connection.execute("PRAGMA synchronous").fetchone()
            if mode != "wal" or flush < 2:
                raise UnfitDatabase(
                    f"{self.path} would be written with journal_mode={mode}, synchronous={flush}; needed: wal and 2 "
                    "(a file on a local disk; memory and most network file systems cannot do it)"
                )
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN EXCLUSIVE")
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (number,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if tables and application != APPLICATION:
            raise UnfitDatabase(f"{self.path} is a database of another program: name another file for the collector")
        now = upgrade(lambda step: connection.execute(step.format(**TYPES)), number, STEPS, self.path)
        if now != number:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {now}")
        connection.execute("COMMIT")

    @contextmanager
    def writing(self, *, alone: bool = False) -> Iterator[Any]:  # a transaction that writes is always alone
        with self._lock, self._translated():
            try:
                if _identity(self.path) != self._file:  # deleted or replaced under us: what we write would be lost
                    raise StoreUnavailable(
                        "the database file was moved or replaced while it was open: restart the collector"
                    )
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
        with suppress(sqlite3.Error):
            if self._writer is not None and self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
        super()._abandon()

    @contextmanager
    def reading(self, *, snapshot: bool = False) -> Iterator[Any]:
        with self._translated():
            address = f"file:{quote(self.path)}?mode=rw"  # never makes a new, empty file
            connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)
            try:
                connection.execute("PRAGMA query_only = ON")
                if snapshot:
                    connection.execute("BEGIN")
                yield connection.cursor()
            finally:
                connection.close()

    def identity(self, cursor: Any) -> str:
        """The file, by its number on its disk: a copy has another as long as both exist."""
        return "" if self._file is None else str(self._file[1])

    def put(self, cursor: Any, marked: Sequence[Marked]) -> tuple[int, set[bytes]]:
        (place,) = cursor.execute("SELECT coalesce(max(place), 0) + 1 FROM intake").fetchone()
        written, marks = 0, [mark for mark, _, _ in marked]
        open_ = [(mark, report.row[5] or "") for mark, ticket, report in marked if ticket is None]
        if open_:
            plain = b"".join([mark for mark, _ in open_]), bytes.fromhex("".join([id_ for _, id_ in open_]))
            written = cursor.execute(PUT_ALL, (*plain, place)).rowcount
        if len(open_) < len(marked):
            invited = [
                (mark, ticket, place, bytes.fromhex(row.id or ""), row.survey, spent)
                for mark, ticket, (row, spent) in marked
                if ticket is not None
            ]
            written += cursor.executemany(PUT_WITH_TICKET, invited).rowcount
        if written == len(marked):
            return place, set(marks)
        there = self.select_in(cursor, "mark, place", "marks", "mark", marks)
        return place, {mark for mark, where in there if where == place}

    def select_in(self, cursor: Any, columns: str, table: str, column: str, values: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        for start in range(0, len(values), VALUES_PER_LOOK_UP):
            some = values[start : start + VALUES_PER_LOOK_UP]
            marks = ", ".join("?" * len(some))
            statement = f"SELECT {columns} FROM {table} WHERE {column} IN ({marks})"  # noqa: S608 (names of ours)
            found += cursor.execute(statement, some).fetchall()
        return found

    def append(self, cursor: Any, table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        marks = ", ".join("?" * len(columns.split(", ")))
        cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)  # noqa: S608 (names of ours)

    def append_ids(self, cursor: Any, survey: int, ids: Sequence[str]) -> None:
        cursor.execute(ADD_IDS, (bytes.fromhex("".join(ids)), survey))

    def empty_intake(self, cursor: Any) -> None:
        for table in WAITING:
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608 (names of ours)

    def delete(self, cursor: Any, table: str, where: str, values: Sequence[object]) -> None:
        cursor.execute("PRAGMA secure_delete = ON")
        super().delete(cursor, table, where, values)

    def overwrite(self) -> None:
        with self._lock, self._translated():
            self._writer = self._writer or self._open()
            try:
                self._writer.execute(f"PRAGMA busy_timeout = {int(READERS_PATIENCE * 1000)}")
                for statement in (EMPTY_LOG, "VACUUM", EMPTY_LOG):
                    found = self._writer.execute(statement).fetchone()
                    if found is not None and found[0] != 0:  # busy: somebody reads an older state
                        raise StoreUnavailable("what was deleted is still in the log, which somebody reads: try later")
            finally:
                self._abandon()  # its settings go with it

    def copy(self, file: Path, name: str, *, sealed: bool) -> str:
        """The copy bears a name of its own; whoever opens it first makes it theirs."""
        name = secrets.token_hex(16)
        try:
            with self._translated():
                with closing(sqlite3.connect(self.path, timeout=30, isolation_level=None)) as connection:
                    connection.execute("VACUUM INTO ?", (str(file),))
                with closing(sqlite3.connect(file, isolation_level=None)) as connection:
                    connection.execute("PRAGMA journal_mode = MEMORY")  # a copy that fails is not used
                    connection.execute("UPDATE epoch SET database = ?, identity = NULL", (name,))
                    if not sealed:
                        for table in SEALED:
                            connection.execute(f"DELETE FROM {table}")  # noqa: S608 (names of ours)
                        connection.execute("VACUUM")
        finally:
            file.with_name(f"{file.name}-journal").unlink(missing_ok=True)
        return name

    @staticmethod
    def trouble(error: Exception) -> StoreError:
        if isinstance(error, OSError):
            return StoreUnavailable(f"the database cannot be opened: {error.strerror}")
        name = getattr(error, "sqlite_errorname", "") or type(error).__name__
        if name.startswith(OUT_OF_SPACE):
            return StoreFull(f"the database, or its copy, cannot grow ({name}): free some space on its disk")
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            return UnfitDatabase(
                f"the file is damaged or is not a SQLite database ({name}): restore a backup, or name another"
            )
        return StoreUnavailable(f"the database cannot be used ({name})")


def _identity(path: str) -> tuple[int, int] | None:
    """Which file is at the path; None for a database without one."""
    if path == ":memory:" or path.startswith("file:"):
        return None
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _refuse_foreign_log(path: str) -> None:
    """A file that says of itself that it has no log (its 19th byte) and stands beside one."""
    if os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal"):
        with open(path, "rb") as file:
            if file.read(19)[18:] == b"\x01":
                raise UnfitDatabase(f"{path}-wal is the log of another file: remove it and {path}-shm")
