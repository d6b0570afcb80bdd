"""The ledger's file: a SQLite database that is opened and verified for every operation, with a rollback guard.

Rules
1. A connection lives for one operation, or for one pass of deliveries (`kept_open`).  Nothing survives a fork.
2. WAL and synchronous=FULL, checked, not only asked for.  A writing transaction is immediate, verified before it
   writes, committed whole or rolled back whole, and the rollback guard is brought up to it before anything it holds is
   handed out.
3. What is deleted is overwritten, as far as a disk forgets; once something was `erased`, the log is cut off too.
4. Every row of every table is under one hash, which a chain of such hashes ends in and the guard repeats (`content`).
   Indexes are compared with their tables.  A flipped bit anywhere is an error, never a forgotten draw or an altered
   report.
5. Every failure of the file becomes a `LedgerError`: unavailable (permissions, lock, full disk), corrupt, restored, or
   newer than this program.  What fails in code of others that runs inside an operation passes as it is
   (`ForeignError`).
6. The file carries its schema's number (`user_version`).  An older file is verified and brought forward by the steps it
   lacks, in one exclusive transaction; see `rrcollect.schema`.
7. A file that this object has verified or written is not read again as long as nobody has written to it.  That is so if
   file and guard are the same files, of the same sizes, and of the same times to the nanosecond (no other write leaves
   that time behind, see `guard.stamped`), if there is no log of changes beside the file, and if serial number and chain
   are the ones that we left (`Mark`).  While a connection is kept open, SQLite itself says whether another one has
   written (`data_version`).  A new object reads everything.  (Not seen before that: a change whose time somebody sets
   back by hand within one tick of the clock.  Who can do that can restore both files, which nobody can see.)
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import ClassVar, NamedTuple

from rrcollect.answer.ledger.content import STEPS, Change, content_of, meta_of, renewed, tables_of
from rrcollect.answer.ledger.guard import RollbackGuard, Stat, link, stamped, stat_of
from rrcollect.errors import LedgerCorrupt, LedgerNewer, LedgerRestored, LedgerUnavailable, NewerSchema
from rrcollect.schema import upgrade

BUSY_SECONDS = 30.0


class ForeignError(Exception):
    """Carries the error of somebody else's code out of an operation, past the handlers of the file's own errors."""


class Mark(NamedTuple):
    """How this object left file and guard (rule 7): serial number and chain, what the system says of both files, and
    the version of the data by the connection that is kept open, if one is."""

    serial: str
    chain: str
    file: Stat | None
    guard: Stat | None
    version: int | None = None


class Verified(NamedTuple):
    """What was found: `meta`, the last serial number in the guard, and what the system says of the guard."""

    meta: dict[str, str]
    guarded: int
    guard: Stat | None


class LedgerFile:
    """The database at `path` and its rollback guard; made if it is not there.

    What it is called, SQLite's mark of its program and the steps that make its tables are those of a device's ledger;
    the bulk ledger has its own."""

    what: ClassVar = "ledger"
    application: ClassVar = 0x72726C64  # "rrld"
    steps: ClassVar = STEPS

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).resolve()
        self.name = f"the {self.what} {self.path.name}"  # in errors
        self.guard = RollbackGuard(self.path)
        self._log = self.path.with_name(self.path.name + "-wal")
        self._mark: Mark | None = None
        self._kept: tuple[int, sqlite3.Connection] | None = None  # by which process, the connection kept open
        self._one_at_a_time = threading.RLock()  # who uses it

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """A connection for one operation: every SQLite error turned into ours, what is not committed rolled back."""
        held = self._held
        with self._errors(), nullcontext() if held is None else self._one_at_a_time:
            connection = held or self._connected()
            try:
                yield connection
            finally:
                _roll_back(connection)
                if held is None:
                    connection.close()

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """The connection is opened once for all operations inside, of all threads."""
        with self._errors():
            connection = self._connected(shared=True)
            self._kept = (os.getpid(), connection)
        try:
            yield
        finally:
            with self._one_at_a_time, self._errors():
                mark, self._kept = self._mark, None
                try:
                    if mark is not None and mark.version == _pragma(connection, "data_version"):
                        self._leave(connection, mark)
                finally:
                    connection.close()

    @property
    def _held(self) -> sqlite3.Connection | None:
        """The connection that is kept open, by this process."""
        return self._kept[1] if self._kept is not None and self._kept[0] == os.getpid() else None

    def _connected(self, *, shared: bool = False) -> sqlite3.Connection:
        if not self.path.exists():
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=not shared
        )
        try:
            self._patiently(connection)
        except BaseException:
            _roll_back(connection)
            connection.close()
            raise
        return connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Every failure of the file as a `LedgerError` (rule 5)."""
        try:
            yield
        except ForeignError as foreign:
            (error,), foreign.args = foreign.args, ()  # no circle: it would keep the frames of the draw
            raise error from error.__cause__
        except NewerSchema as error:
            raise LedgerNewer(str(error)) from None
        except sqlite3.OperationalError as error:
            kind = LedgerCorrupt if "decode" in str(error) or "no such" in str(error) else LedgerUnavailable
            raise kind(f"{self.name} cannot be used: {error}") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise LedgerCorrupt(f"{self.name} is damaged: {type(error).__name__}") from None
        except OSError as error:
            raise LedgerUnavailable(f"{self.name} cannot be used: {error.strerror}") from None

    def _patiently(self, connection: sqlite3.Connection) -> None:
        """Set the file up; SQLite's own patience does not cover the change to WAL, so we wait for others here."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                _make_durable(connection)
                made = _pragma(connection, "user_version") == len(self.steps)
                with nullcontext() if made else self.guard.locked(BUSY_SECONDS):
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
    def transaction(self) -> Iterator[Change]:
        """A writing transaction: the guard locked, all verified before, guarded after its commit; rolled back whole on
        any error."""
        with self.guard.locked(BUSY_SECONDS), self.open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            version = _pragma(connection, "data_version")
            meta, guarded, guard = self.verify(connection)
            guard = self.guard.compact(self.advance_guard(meta, guarded) or guard)
            change = Change(connection, meta)
            yield change
            after = change.renew()
            connection.execute("COMMIT")
            guard = self.advance_guard(after, int(meta["serial"])) or guard
            if self._mark is None or after is not meta or change.erased:
                self._leave(connection, Mark(after["serial"], after["chain"], None, guard, version), change.erased)

    # ---- its schema -------------------------------------------------------------------------------------------

    def _bring_forward(self, connection: sqlite3.Connection) -> None:
        """Make or upgrade the tables; refuse a file that is not a ledger, or is one of a newer program."""
        if _pragma(connection, "user_version") != len(self.steps):
            connection.execute("BEGIN EXCLUSIVE")  # of several programs the first does it
        current = _pragma(connection, "user_version")
        if (current or tables_of(connection)) and _pragma(connection, "application_id") != self.application:
            raise LedgerCorrupt(f"{self.path.name} is a database, but not a {self.what}")
        if not connection.in_transaction:
            return
        if 0 < current < len(self.steps):
            self.advance_guard(*self._check_history(connection, self.guard.lines()))
        made = upgrade(connection.execute, current, self.steps, self.name)
        if current == 0:
            self._begin(connection)
        meta = meta_of(connection)
        after = renewed(connection, meta, content_of(connection))
        connection.execute(f"PRAGMA user_version = {made}")
        connection.execute("COMMIT")
        self.advance_guard(after, int(meta["serial"]))

    def _begin(self, connection: sqlite3.Connection) -> None:
        """A new history, if there was none before."""
        remembered = self.guard.last()
        if remembered is not None and remembered[0] > 0:
            raise LedgerRestored(
                f"{self.name} is empty but its rollback guard remembers {remembered[0]} changes: a file was removed or "
                "replaced"
            )
        start, content = secrets.token_hex(32), content_of(connection)
        first = {"serial": "0", "before": start, "content": content, "chain": (chain := link(start, 0, content))}
        connection.executemany("INSERT INTO meta VALUES (?, ?)", first.items())
        connection.execute(f"PRAGMA application_id = {self.application}")
        self.guard.append(0, chain)

    # ---- its content ------------------------------------------------------------------------------------------

    def verify(self, connection: sqlite3.Connection) -> Verified:
        """The file is whole, and it is not older than its rollback guard."""
        mark, writing = self._mark, connection.in_transaction
        if mark is not None:
            if not writing:
                connection.execute("BEGIN")  # one snapshot for all the checks; the caller's reads see it too
            meta = meta_of(connection)
            if self._unchanged(connection, meta, mark):
                return Verified(meta, int(mark.serial), mark.guard)
            self._mark = None
            if not writing:
                connection.execute("ROLLBACK")
        guard, remembered = stat_of(self.guard.path), self.guard.lines()  # read first: the database can only be newer
        if not writing:
            connection.execute("BEGIN")
        return Verified(*self._check_history(connection, remembered), guard)

    def _unchanged(self, connection: sqlite3.Connection, meta: dict[str, str], mark: Mark) -> bool:
        """Whether nobody has written to file or guard since this object left them so (rule 7)."""
        if (meta.get("serial"), meta.get("chain")) != (mark.serial, mark.chain):
            return False
        alone = self._log_is_empty() or (
            connection is self._held and mark.version == _pragma(connection, "data_version")
        )
        return alone and None not in mark[2:4] and (stat_of(self.path), stat_of(self.guard.path)) == mark[2:4]

    def _leave(self, connection: sqlite3.Connection, mark: Mark, erased: bool = False) -> None:
        """Remember how file and guard are left after a commit, if nobody else has written since."""
        self._mark = None
        if erased and connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone():
            stamped(self.path)
        if connection is self._held:
            self._mark = mark._replace(file=stat_of(self.path))
            return
        file = stat_of(self.path)
        if not self._log_is_empty():
            _, frames, done = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            file = stamped(self.path) if frames == done else None  # None: others still read what is older
        if mark.version == _pragma(connection, "data_version"):
            self._mark = mark._replace(file=file, version=None)

    def _log_is_empty(self) -> bool:
        log = stat_of(self._log)
        return log is None or log[2] == 0

    def _check_history(
        self, connection: sqlite3.Connection, remembered: dict[int, str] | None
    ) -> tuple[dict[str, str], int]:
        """The content matches the hash chain, and the chain matches the guard file, whatever the schema.  Returns
        `meta` and the last serial number in the guard."""
        if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise LedgerCorrupt(f"{self.name} is damaged")
        meta = meta_of(connection)
        if not {"serial", "before", "content", "chain"} <= set(meta) or meta["content"] != content_of(connection):
            raise LedgerCorrupt(f"{self.name} was altered, or has lost its beginning")
        if meta["chain"] != link(meta["before"], meta["serial"], meta["content"]):
            raise LedgerCorrupt(f"the chain of {self.name} was altered")
        return meta, self.compare(int(meta["serial"]), meta["before"], meta["chain"], remembered)

    def compare(self, serial: int, before: str, chain: str, remembered: dict[int, str] | None) -> int:
        """The ledger's state is the last that the guard remembers, or the one after.  Returns the last one."""
        if remembered is None:
            raise LedgerRestored(f"{self.name}: its rollback guard is missing; restore both together")
        last = max(remembered)
        if serial > last:  # by others since the guard was read, or cut off between commit and guard
            remembered = self.guard.lines() or {}
            fits = chain == remembered.get(serial, chain if remembered.get(serial - 1) == before else None)
        else:
            fits = serial == last and remembered[last] == chain
        if not fits:
            raise LedgerRestored(
                f"{self.name} is at change {serial} but its rollback guard remembers {last}, or others: an old copy "
                "was restored. Answering from it could draw or report twice, so it is not used"
            )
        return last

    def advance_guard(self, meta: dict[str, str], guarded: int) -> Stat | None:
        """Bring the rollback guard, which is at `guarded`, up to the ledger; nothing is handed out before."""
        return self.guard.append(int(meta["serial"]), meta["chain"]) if guarded < int(meta["serial"]) else None


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):  # a rollback that fails is made up for when the file is opened again
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _make_durable(connection: sqlite3.Connection) -> None:
    """WAL with a sync at every commit, or no ledger."""
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    for setting in ("synchronous = FULL", "fullfsync = ON", "secure_delete = ON"):
        connection.execute(f"PRAGMA {setting}")
    if mode != "wal" or _pragma(connection, "synchronous") != 2:
        raise LedgerUnavailable(f"this file system does not allow a durable ledger (journal mode {mode!r})")
