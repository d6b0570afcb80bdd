"""The ledger's file: a SQLite database that is opened, verified and sealed for every operation.

Rules
1. A connection lives for one operation.  Nothing is shared between threads or processes, and nothing survives a fork.
2. WAL and synchronous=FULL, checked, not only asked for.  A writing transaction is immediate, verified before it
   writes, committed whole or rolled back whole, and sealed (see `seal`) before anything it holds is handed out.
3. Every row of every table is under one hash, checked before each operation and renewed by each transaction; draws and
   reports are each under a chain besides, and the seal repeats that of the reports (every draw has one).  Indexes are
   compared with their tables.  A flipped bit anywhere is an error, never a forgotten draw or an altered report.
4. Every failure of the file becomes a `LedgerError`: unavailable (permissions, lock, full disk), corrupt, or restored.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rrcollect.answer.rollback_guard import Seal, link
from rrcollect.errors import LedgerCorrupt, LedgerRestored, LedgerUnavailable

__all__ = ["LedgerFile", "head"]

SCHEMA_VERSION = 1
APPLICATION_ID = 0x72726C64  # "rrld"
BUSY_SECONDS = 30.0

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE draws (
    seq INTEGER PRIMARY KEY, attribute TEXT NOT NULL, round INTEGER NOT NULL, p00 TEXT NOT NULL, p11 TEXT NOT NULL,
    answer INTEGER NOT NULL CHECK (answer IN (0, 1)), epsilon TEXT NOT NULL, delta TEXT NOT NULL, chain TEXT NOT NULL,
    UNIQUE (attribute, round));
CREATE TABLE reports (
    survey TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, attribute TEXT NOT NULL, words TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE, body BLOB NOT NULL, state TEXT NOT NULL DEFAULT 'waiting', reason TEXT,
    PRIMARY KEY (survey, question, round));
CREATE TABLE surveys (
    publisher TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (publisher, name));
CREATE TABLE declined (survey TEXT NOT NULL, question TEXT NOT NULL, PRIMARY KEY (survey, question));
"""


class LedgerFile:
    """The database at `path` and its seal; made if it is not there."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self.seal = Seal(self.path)

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """A connection for one operation, with every SQLite error turned into ours."""
        connection: sqlite3.Connection | None = None
        try:
            if not self.path.exists():
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
            self._patiently(connection)
            yield connection
        except sqlite3.OperationalError as error:
            kind = LedgerCorrupt if "decode" in str(error) or "no such" in str(error) else LedgerUnavailable
            raise kind(f"the ledger {self.path.name} cannot be used: {error}") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise LedgerCorrupt(f"the ledger {self.path.name} is damaged: {type(error).__name__}") from None
        except OSError as error:
            raise LedgerUnavailable(f"the ledger {self.path.name} cannot be used: {error.strerror}") from None
        finally:
            if connection is not None:
                connection.close()

    def _patiently(self, connection: sqlite3.Connection) -> None:
        """Set the file up; SQLite's own patience does not cover the change to WAL, so we wait for others here."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                _make_durable(connection)
                self._prepare(connection)
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() >= deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection whose content was verified; what is read is the snapshot that was."""
        with self.open() as connection:
            self.verify(connection)
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A writing transaction: verified before, committed and sealed after; rolled back whole on any error."""
        with self.open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                self.verify(connection)
                yield connection
                connection.execute("UPDATE meta SET value = ? WHERE key = 'content'", (_content(connection),))
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self.seal_up(connection)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Create the schema in an empty file; refuse a file that is not a ledger of this version."""
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            connection.execute("BEGIN EXCLUSIVE")
            try:
                if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
                    self._create(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise LedgerCorrupt(f"{self.path.name} is a database, but not a ledger")
        if version != SCHEMA_VERSION:
            raise LedgerCorrupt(f"{self.path.name} has schema version {version}; this program knows {SCHEMA_VERSION}")

    def _create(self, connection: sqlite3.Connection) -> None:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise LedgerCorrupt(f"{self.path.name} is a database, but not a ledger")
        sealed = self.seal.last()
        if sealed is not None and sealed[0] > 0:
            raise LedgerRestored(
                f"the ledger is empty but its seal remembers {sealed[0]} reports: a file was removed or replaced"
            )
        for statement in _SCHEMA.strip().split(";\n"):
            connection.execute(statement)
        start = link("", secrets.token_hex(16))
        connection.execute("INSERT INTO meta VALUES ('start', ?), ('content', ?)", (start, _content(connection)))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self.seal.append(0, start)

    def verify(self, connection: sqlite3.Connection) -> None:
        """The file is whole, its chain is unbroken, and it is not older than its seal."""
        sealed = self.seal.last()  # read first: the database can only be newer
        if not connection.in_transaction:
            connection.execute("BEGIN")  # one snapshot for all the checks; the caller's reads see it too
        if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise LedgerCorrupt(f"the ledger {self.path.name} is damaged")
        meta = dict(connection.execute("SELECT key, value FROM meta NOT INDEXED").fetchall())
        if "start" not in meta or meta.get("content") != _content(connection):
            raise LedgerCorrupt(f"the ledger {self.path.name} was altered, or has lost its beginning")
        chain = meta["start"]
        rows = connection.execute("SELECT * FROM draws NOT INDEXED ORDER BY seq").fetchall()
        if len({row[1:3] for row in rows}) != len(rows):
            raise LedgerCorrupt(f"the ledger {self.path.name} holds two draws for one attribute")
        for expected, row in enumerate(rows, start=1):
            chain = link(chain, *row[:-1])
            if row[0] != expected or row[-1] != chain:
                raise LedgerCorrupt(f"draw {expected} of the ledger {self.path.name} was altered or is missing")
        chains = _history(connection)
        if sealed is None and len(chains) > 1:
            raise LedgerRestored("the ledger's seal is missing; restore it together with the ledger")
        if sealed is not None and sealed[0] > 0 and (sealed[0] >= len(chains) or chains[sealed[0]] != sealed[1]):
            raise LedgerRestored(
                f"the ledger holds {len(chains) - 1} reports but its seal remembers {sealed[0]}, or others: an old "
                "copy was restored. Answering from it could draw or report twice, so it is not used"
            )

    def seal_up(self, connection: sqlite3.Connection) -> None:
        """Bring the seal up to the ledger; nothing is handed out before."""
        chains = _history(connection)
        sealed = self.seal.last()
        if sealed is None or sealed[0] < len(chains) - 1:
            self.seal.append(len(chains) - 1, chains[-1])


def head(connection: sqlite3.Connection) -> tuple[int, str]:
    """The number of draws and the chain's end."""
    row = connection.execute("SELECT seq, chain FROM draws ORDER BY seq DESC LIMIT 1").fetchone()
    if row:
        return int(row[0]), str(row[1])
    return 0, str(connection.execute("SELECT value FROM meta WHERE key = 'start'").fetchone()[0])


def _history(connection: sqlite3.Connection) -> list[str]:
    """The chain over all reports in the order they were made: what the seal remembers, at every number of them."""
    chains = [str(connection.execute("SELECT value FROM meta WHERE key = 'start'").fetchone()[0])]
    made = "SELECT survey, question, round, attribute, words, id, body FROM reports NOT INDEXED ORDER BY rowid"
    for *told, body in connection.execute(made):
        if not isinstance(body, bytes):
            raise LedgerCorrupt("one of the reports in the ledger is not stored as bytes: it was altered")
        chains.append(link(chains[-1], *told, body.hex()))
    return chains


def _content(connection: sqlite3.Connection) -> str:
    """A hash over every row of every table but `meta`."""
    digest = hashlib.sha256()
    for table in ("draws", "reports", "surveys", "declined"):
        for row in connection.execute(f"SELECT * FROM {table} NOT INDEXED ORDER BY rowid"):  # noqa: S608  four fixed names
            digest.update(repr((table, *row)).encode())
    return digest.hexdigest()


def _make_durable(connection: sqlite3.Connection) -> None:
    """WAL with a sync at every commit, or no ledger."""
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")
    if mode != "wal" or connection.execute("PRAGMA synchronous").fetchone()[0] != 2:
        raise LedgerUnavailable(f"this file system does not allow a durable ledger (journal mode {mode!r})")
