"""The file of a bulk ledger: one row per reservation, every row under a chain, the chain under a rollback guard.

Rules
1. Opened, waited for and closed as every ledger's file (`LedgerFile`); mode 0600, WAL, synchronous=FULL.
2. The chain begins with the key and takes in every column of every row.  It is checked before each operation, so that
   a flipped bit is an error and never a forgotten draw; the rollback guard repeats it before anything is returned.
3. The file carries its schema's number; see `rrcollect.schema`.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from rrcollect.answer.ledger.file import LedgerFile, Verified
from rrcollect.answer.ledger.guard import link, stat_of
from rrcollect.errors import LedgerCorrupt, LedgerRestored
from rrcollect.schema import upgrade

APPLICATION_ID = 0x72726C62  # "rrlb"
STEPS = [
    [
        "CREATE TABLE secret (key BLOB NOT NULL)",
        "CREATE TABLE runs (seq INTEGER PRIMARY KEY, attribute TEXT, round INTEGER, epsilon TEXT, delta TEXT, "
        "people BLOB NOT NULL, marks BLOB NOT NULL, because TEXT, at TEXT, chain TEXT NOT NULL)",
    ],
]
"""What makes a bulk ledger, schema by schema.  A run is one reservation; without ids it has no `attribute`."""

RUNS = "SELECT seq, attribute, round, epsilon, delta, people, marks, because, at, chain FROM runs ORDER BY seq"


class BulkLedgerFile(LedgerFile):
    """The database at `path` and its rollback guard; made if it is not there."""

    def _bring_forward(self, connection: sqlite3.Connection) -> None:
        """Make or upgrade the tables; refuse a file that is not a bulk ledger, or is one of a newer program."""
        connection.execute("BEGIN IMMEDIATE")
        (current,), (own,) = (connection.execute(f"PRAGMA {n}").fetchone() for n in ("user_version", "application_id"))
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if (current or tables) and own != APPLICATION_ID:
            raise LedgerCorrupt(f"{self.path.name} is a database, but not a bulk ledger")
        made = upgrade(connection.execute, current, STEPS, f"the bulk ledger {self.path.name}")
        if current == 0:
            remembered = self.guard.last()
            if remembered is not None and remembered[0] > 0:
                raise LedgerRestored(
                    f"the bulk ledger {self.path.name} is gone, but its rollback guard remembers {remembered[0]} runs"
                )
            key = secrets.token_bytes(32)
            connection.execute("INSERT INTO secret VALUES (?)", (key,))
            self.guard.append(0, link("", key.hex()))  # there before the first run: others may look between its steps
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        if made != current:
            connection.execute(f"PRAGMA user_version = {made}")
        connection.execute("COMMIT")

    def verify(self, connection: sqlite3.Connection) -> Verified:
        """Every row is under its chain, and the ledger is not older than its rollback guard."""
        guard, remembered = stat_of(self.guard.path), self.guard.last()  # read first: the database can only be newer
        if not connection.in_transaction:
            connection.execute("BEGIN")
        chains = [link("", key_of(connection).hex())]
        for expected, (*row, chain) in enumerate(connection.execute(RUNS), start=1):
            chains.append(_link(chains[-1], row))
            if row[0] != expected or chain != chains[-1]:
                raise LedgerCorrupt(f"run {expected} of the bulk ledger {self.path.name} was altered or is missing")
        number, last = remembered or (0, chains[0])
        if (remembered is None and len(chains) > 1) or (number and (number >= len(chains) or chains[number] != last)):
            raise LedgerRestored(
                f"the bulk ledger {self.path.name} holds {len(chains) - 1} runs and its rollback guard remembers "
                f"{number if remembered else 'nothing'}, or others: an old copy was restored, or a file was removed"
            )
        return Verified({"serial": str(len(chains) - 1), "chain": chains[-1]}, number if remembered else -1, guard)

    @contextmanager
    def reserving(self) -> Iterator[sqlite3.Connection]:
        """A writing transaction: verified before, guarded after its commit; rolled back whole on any error."""
        with self.open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            meta, guarded, guard = self.verify(connection)
            self.guard.compact(self.advance_guard(meta, guarded) or guard)
            yield connection
            connection.execute("COMMIT")
            number, chain = _head(connection)
            self.advance_guard({"serial": str(number), "chain": chain}, int(meta["serial"]))


def key_of(connection: sqlite3.Connection) -> bytes:
    """The key that was made with the ledger."""
    rows = connection.execute("SELECT key FROM secret").fetchall()
    if len(rows) != 1 or not isinstance(rows[0][0], bytes) or len(rows[0][0]) != 32:
        raise LedgerCorrupt("the bulk ledger has lost its key")
    return rows[0][0]


def _head(connection: sqlite3.Connection) -> tuple[int, str]:
    row = connection.execute("SELECT seq, chain FROM runs ORDER BY seq DESC LIMIT 1").fetchone()
    return row or (0, link("", key_of(connection).hex()))


def _link(chain: str, row: list[Any]) -> str:
    return link(chain, repr([hashlib.sha256(cell).hexdigest() if isinstance(cell, bytes) else cell for cell in row]))


def append_run(connection: sqlite3.Connection, run: tuple[Any, ...], again: str | None) -> None:
    """Write a reservation: its columns from `attribute` to `marks`, and the reason of an opt-in."""
    seq, chain = _head(connection)
    at = None if again is None else datetime.now(UTC).isoformat(timespec="seconds")
    row = [seq + 1, *run, again, at]
    connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, _link(chain, row)))
