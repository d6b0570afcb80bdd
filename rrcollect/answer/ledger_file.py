"""The ledger's file: a SQLite database that is opened and verified for every operation, with a rollback guard.

Rules
1. A connection lives for one operation.  Nothing is shared between threads or processes, and nothing survives a fork.
2. WAL and synchronous=FULL, checked, not only asked for.  A writing transaction is immediate, verified before it
   writes, committed whole or rolled back whole, and the rollback guard is brought up to it before anything it holds is
   handed out.
3. Every row of every table is under one hash, checked before each operation.  A transaction that changes a row takes
   the next serial number and adds the new hash to a chain, which the guard repeats.  Indexes are compared with their
   tables.  A flipped bit anywhere is an error, never a forgotten draw or an altered report.
4. Every failure of the file becomes a `LedgerError`: unavailable (permissions, lock, full disk), corrupt, restored, or
   newer than this program.  What fails in code of others that runs inside an operation passes as it is
   (`ForeignError`).
5. The file carries its schema's number (`user_version`).  An older file is verified and brought forward by the steps it
   lacks, in one exclusive transaction; see `rrcollect.schema`.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rrcollect.answer.rollback_guard import RollbackGuard, link
from rrcollect.errors import LedgerCorrupt, LedgerNewer, LedgerRestored, LedgerUnavailable, NewerSchema
from rrcollect.schema import upgrade

APPLICATION_ID = 0x72726C64  # "rrld"
BUSY_SECONDS = 30.0

STEPS = [
    [
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
        "CREATE TABLE draws (seq INTEGER PRIMARY KEY, attribute TEXT NOT NULL, round INTEGER NOT NULL, "
        "design TEXT NOT NULL, answer TEXT NOT NULL CHECK (answer <> '' AND answer NOT GLOB '*[^01]*'), "
        "epsilon TEXT NOT NULL, delta TEXT NOT NULL, kind TEXT NOT NULL, UNIQUE (attribute, round))",
        "CREATE TABLE reports (survey TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, "
        "attribute TEXT NOT NULL, words TEXT NOT NULL, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL, "
        "state TEXT NOT NULL DEFAULT 'waiting', reason TEXT, publisher TEXT NOT NULL, destination TEXT NOT NULL, "
        "times TEXT NOT NULL DEFAULT '[]', attempts INTEGER NOT NULL DEFAULT 0, "
        "earlier_attempts INTEGER NOT NULL DEFAULT 0, "  # those of reports that this one replaced
        "PRIMARY KEY (survey, question, round))",
        "CREATE TABLE words (fingerprint TEXT PRIMARY KEY, attribute TEXT NOT NULL)",
        "CREATE TABLE surveys (publisher TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, "
        "digest TEXT NOT NULL, PRIMARY KEY (publisher, name))",
        "CREATE TABLE withdrawn (survey TEXT NOT NULL, publisher TEXT NOT NULL, moment TEXT NOT NULL, "
        "PRIMARY KEY (survey, publisher))",
        "CREATE TABLE asked (publisher TEXT NOT NULL, name TEXT NOT NULL, attribute TEXT NOT NULL, "
        "PRIMARY KEY (publisher, name))",
        "CREATE TABLE panels (attribute TEXT PRIMARY KEY, round INTEGER NOT NULL)",
        "CREATE TABLE declined (survey TEXT NOT NULL, question TEXT NOT NULL, PRIMARY KEY (survey, question))",
    ],
]
"""What makes a ledger, schema by schema."""

DRAWS = "SELECT seq, attribute, round, design, answer, epsilon, delta, kind FROM draws NOT INDEXED ORDER BY seq"


class ForeignError(Exception):
    """Carries the error of somebody else's code out of an operation, past the handlers of the file's own errors."""


class LedgerFile:
    """The database at `path` and its rollback guard; made if it is not there."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).resolve()
        self.guard = RollbackGuard(self.path)

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """A connection for one operation: every SQLite error turned into ours, what is not committed rolled back."""
        connection: sqlite3.Connection | None = None
        try:
            if not self.path.exists():
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
            self._patiently(connection)
            yield connection
        except ForeignError as foreign:
            (error,), foreign.args = foreign.args, ()  # no circle: it would keep the frames of the draw
            raise error from error.__cause__
        except NewerSchema as error:
            raise LedgerNewer(str(error)) from None
        except sqlite3.OperationalError as error:
            kind = LedgerCorrupt if "decode" in str(error) or "no such" in str(error) else LedgerUnavailable
            raise kind(f"the ledger {self.path.name} cannot be used: {error}") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise LedgerCorrupt(f"the ledger {self.path.name} is damaged: {type(error).__name__}") from None
        except OSError as error:
            raise LedgerUnavailable(f"the ledger {self.path.name} cannot be used: {error.strerror}") from None
        finally:
            if connection is not None:
                _roll_back(connection)
                connection.close()

    def _patiently(self, connection: sqlite3.Connection) -> None:
        """Set the file up; SQLite's own patience does not cover the change to WAL, so we wait for others here."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                _make_durable(connection)
                self._bring_forward(connection)
            except sqlite3.OperationalError as error:
                _roll_back(connection)
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
        """A writing transaction: verified before, guarded after its commit; rolled back whole on any error."""
        with self.open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self.verify(connection)
            self._catch_up(connection)
            yield connection
            _renew(connection)
            connection.execute("COMMIT")
            self.advance_guard(connection)

    # ---- its schema -------------------------------------------------------------------------------------------

    def _bring_forward(self, connection: sqlite3.Connection) -> None:
        """Make or upgrade the tables; refuse a file that is not a ledger, or is one of a newer program."""
        if _pragma(connection, "user_version") != len(STEPS):
            connection.execute("BEGIN EXCLUSIVE")  # of several programs the first does it
        current = _pragma(connection, "user_version")
        if (current or _tables(connection)) and _pragma(connection, "application_id") != APPLICATION_ID:
            raise LedgerCorrupt(f"{self.path.name} is a database, but not a ledger")
        if not connection.in_transaction:
            return
        if 0 < current < len(STEPS):
            self._check_history(connection, self.guard.lines())
            self._catch_up(connection)
        made = upgrade(connection.execute, current, STEPS, f"the ledger {self.path.name}")
        if current == 0:
            self._begin(connection)
        _renew(connection)
        connection.execute(f"PRAGMA user_version = {made}")
        connection.execute("COMMIT")
        self.advance_guard(connection)

    def _begin(self, connection: sqlite3.Connection) -> None:
        """A new history, if there was none before."""
        remembered = self.guard.last()
        if remembered is not None and remembered[0] > 0:
            raise LedgerRestored(
                f"the ledger is empty but its rollback guard remembers {remembered[0]} changes: a file was removed or "
                "replaced"
            )
        start, content = secrets.token_hex(32), _content(connection)
        chain = link(start, 0, content)
        connection.execute(
            "INSERT INTO meta VALUES ('serial', '0'), ('before', ?), ('content', ?), ('chain', ?)",
            (start, content, chain),
        )
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self.guard.append(0, chain)

    # ---- its content ------------------------------------------------------------------------------------------

    def verify(self, connection: sqlite3.Connection) -> None:
        """The file is whole, and it is not older than its rollback guard."""
        remembered = self.guard.lines()  # read first: the database can only be newer
        if not connection.in_transaction:
            connection.execute("BEGIN")  # one snapshot for all the checks; the caller's reads see it too
        self._check_history(connection, remembered)
        rows = connection.execute(DRAWS).fetchall()
        if len({row[1:3] for row in rows}) != len(rows):
            raise LedgerCorrupt(f"the ledger {self.path.name} holds two draws for one attribute")

    def _check_history(self, connection: sqlite3.Connection, remembered: dict[int, str] | None) -> None:
        """The content is the one of its chain, and its chain the one of the guard, whatever the schema."""
        if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise LedgerCorrupt(f"the ledger {self.path.name} is damaged")
        meta = _meta(connection)
        if not {"serial", "before", "content", "chain"} <= set(meta) or meta["content"] != _content(connection):
            raise LedgerCorrupt(f"the ledger {self.path.name} was altered, or has lost its beginning")
        if meta["chain"] != link(meta["before"], meta["serial"], meta["content"]):
            raise LedgerCorrupt(f"the chain of the ledger {self.path.name} was altered")
        self.compare(int(meta["serial"]), meta["before"], meta["chain"], remembered)

    def compare(self, serial: int, before: str, chain: str, remembered: dict[int, str] | None) -> None:
        """The ledger's state is the last that the guard remembers, or the one after."""
        if remembered is None:
            raise LedgerRestored("the ledger's rollback guard is missing; restore it together with the ledger")
        last = max(remembered)
        if serial > last:  # by others since the guard was read, or cut off between commit and guard
            remembered = self.guard.lines() or {}
            fits = chain == remembered.get(serial, chain if remembered.get(serial - 1) == before else None)
        else:
            fits = serial == last and remembered[last] == chain
        if not fits:
            raise LedgerRestored(
                f"the ledger is at change {serial} but its rollback guard remembers {last}, or others: an old copy was "
                "restored. Answering from it could draw or report twice, so it is not used"
            )

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Guard what an earlier transaction committed when it was cut off, before another one begins."""
        self.advance_guard(connection)

    def advance_guard(self, connection: sqlite3.Connection) -> None:
        """Bring the rollback guard up to the ledger; nothing is handed out before."""
        meta, remembered = _meta(connection), self.guard.last()
        if remembered is None or remembered[0] < int(meta["serial"]):
            self.guard.append(int(meta["serial"]), meta["chain"])


def _meta(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT key, value FROM meta NOT INDEXED").fetchall())


def _content(connection: sqlite3.Connection) -> str:
    """A hash over every table but `meta`: its name and all its rows."""
    digest = hashlib.sha256()
    for table in sorted(_tables(connection) - {"meta"}):
        digest.update(repr(table).encode())
        for row in connection.execute(f'SELECT * FROM "{table}" NOT INDEXED ORDER BY rowid'):  # noqa: S608  made by STEPS
            digest.update(repr(row).encode())
    return digest.hexdigest()


def _renew(connection: sqlite3.Connection) -> None:
    """Take the next serial number and the next link of the chain; what changed nothing is not written."""
    meta, content = _meta(connection), _content(connection)
    if content != meta["content"]:
        serial = int(meta["serial"]) + 1
        chain = link(meta["chain"], serial, content)
        values = {"serial": str(serial), "before": meta["chain"], "content": content, "chain": chain}
        connection.executemany("UPDATE meta SET value = ? WHERE key = ?", [(v, k) for k, v in values.items()])


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):  # a rollback that fails is made up for when the file is opened again
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _make_durable(connection: sqlite3.Connection) -> None:
    """WAL with a sync at every commit, or no ledger."""
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")
    if mode != "wal" or _pragma(connection, "synchronous") != 2:
        raise LedgerUnavailable(f"this file system does not allow a durable ledger (journal mode {mode!r})")
