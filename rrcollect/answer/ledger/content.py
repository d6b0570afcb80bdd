"""What a ledger holds: its tables, and the hash over all their rows.

Rules
1. Every row of every table is under one hash, `content`.  It is a sum: one number of 2048 bits for each row, added up
   [Bellare & Micciancio 1997].  So the next one is made from the rows that a transaction changes alone.
2. Rows are changed by a `Change` and by no other way; only an upgrade of the schema hashes all of them again.
3. A transaction that changes a row takes the next serial number and adds the new hash to a chain.  `meta`, which is not
   under the hash, holds serial number, hash, chain, and the chain before.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from rrcollect.answer.ledger.guard import link

BITS = 2048  # of the number that a row adds to the content

META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
NAMES = [  # of every ledger: which words were answered about which attribute, and which names are one (`rules`)
    "CREATE TABLE words (fingerprint TEXT PRIMARY KEY, attribute TEXT NOT NULL)",
    "CREATE TABLE same (name TEXT NOT NULL, other TEXT NOT NULL, PRIMARY KEY (name, other))",
]
STEPS = [
    [
        META,
        *NAMES,
        "CREATE TABLE draws (seq INTEGER PRIMARY KEY, attribute TEXT NOT NULL, round INTEGER NOT NULL, "
        "design TEXT NOT NULL, answer TEXT NOT NULL, "
        "epsilon TEXT NOT NULL, delta TEXT NOT NULL, kind TEXT NOT NULL, UNIQUE (attribute, round))",
        "CREATE INDEX costs ON draws (epsilon, delta)",  # summed up before every draw
        "CREATE TABLE reports (survey TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, "
        "attribute TEXT NOT NULL, words TEXT NOT NULL, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL, "
        "state TEXT NOT NULL DEFAULT 'waiting', reason TEXT, publisher TEXT NOT NULL, destination TEXT NOT NULL, "
        "times TEXT NOT NULL DEFAULT '[]', attempts INTEGER NOT NULL DEFAULT 0, "
        "earlier_attempts INTEGER NOT NULL DEFAULT 0, "  # those of reports that this one replaced
        "place TEXT, sending INTEGER NOT NULL DEFAULT 0, "  # where there is an issuer: of its token, its window
        "PRIMARY KEY (survey, question, round))",
        "CREATE TABLE surveys (publisher TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, "
        "digest TEXT NOT NULL, PRIMARY KEY (publisher, name))",
        "CREATE TABLE withdrawn (survey TEXT NOT NULL, publisher TEXT NOT NULL, moment TEXT NOT NULL, "
        "PRIMARY KEY (survey, publisher))",
        "CREATE TABLE asked (publisher TEXT NOT NULL, name TEXT NOT NULL, attribute TEXT NOT NULL, "
        "PRIMARY KEY (publisher, name))",
        "CREATE TABLE panels (attribute TEXT PRIMARY KEY, round INTEGER NOT NULL)",
        "CREATE TABLE logs (name TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL)",
        "CREATE TABLE declined (survey TEXT NOT NULL, question TEXT NOT NULL, PRIMARY KEY (survey, question))",
        "CREATE TABLE tokens (survey TEXT NOT NULL, place TEXT NOT NULL, nonce BLOB, blind BLOB, output BLOB, "
        "over INTEGER NOT NULL, PRIMARY KEY (survey, place))",
        "CREATE TABLE issuer_keys (key TEXT PRIMARY KEY, survey TEXT NOT NULL)",
    ],
]
"""What makes a ledger, schema by schema."""

DRAWS = "SELECT seq, attribute, round, design, answer, epsilon, delta, kind FROM draws NOT INDEXED ORDER BY seq"


class Change:
    """A writing transaction: `connection` to read by, and the only way to change rows (rule 2)."""

    def __init__(self, connection: sqlite3.Connection, meta: dict[str, str]) -> None:
        self.connection = connection
        self._meta, self._content = meta, int(meta["content"], 16)
        self.erased = False  # whether something was overwritten that the log must not keep either

    def insert(self, table: str, row: Mapping[str, object], *, unless_there: bool = False) -> None:
        """Add a row; one whose key is there is an error, or left as it is."""
        start, places = "INSERT OR IGNORE" if unless_there else "INSERT", ", ".join("?" * len(row))
        made = self.connection.execute(
            f"{start} INTO {table} ({', '.join(row)}) VALUES ({places}) RETURNING *", tuple(row.values())
        )
        self._counted(table, (), made.fetchall())

    def update(self, table: str, values: str, given: Sequence[object], where: str, which: Sequence[object]) -> int:
        """`UPDATE table SET values WHERE where`; how many rows there are."""
        old = self.connection.execute(f"SELECT * FROM {table} WHERE {where}", which).fetchall()  # noqa: S608
        if old:
            statement = f"UPDATE {table} SET {values} WHERE {where} RETURNING *"  # noqa: S608
            self._counted(table, old, self.connection.execute(statement, (*given, *which)).fetchall())
        return len(old)

    def delete(self, table: str, where: str, which: Sequence[object]) -> None:
        """`DELETE FROM table WHERE where`."""
        gone = self.connection.execute(f"DELETE FROM {table} WHERE {where} RETURNING *", which)  # noqa: S608
        self._counted(table, gone.fetchall(), ())

    def _counted(self, table: str, old: Sequence[Any], new: Sequence[Any]) -> None:
        self._content += sum(_number(table, row) for row in new) - sum(_number(table, row) for row in old)

    def renew(self) -> dict[str, str]:
        """Take the next serial number and the next link of the chain; what changed nothing is not written."""
        return renewed(self.connection, self._meta, _spelled(self._content))


def meta_of(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT key, value FROM meta NOT INDEXED").fetchall())


def content_of(connection: sqlite3.Connection) -> str:
    """A hash over every row of every table but `meta`, whatever their order."""
    total = 0
    for table in sorted(tables_of(connection) - {"meta"}):
        total += _number(table, ())  # a table without rows is there too
        for row in connection.execute(f'SELECT * FROM "{table}" NOT INDEXED'):  # noqa: S608  made by STEPS
            total += _number(table, row)
    return _spelled(total)


def _number(table: str, row: tuple[Any, ...]) -> int:
    """What a row adds to the content; bytes, which may be many, are hashed by themselves first."""
    cells = [hashlib.sha256(cell).digest() if isinstance(cell, bytes) else cell for cell in row]
    return int.from_bytes(hashlib.shake_128(repr((table, cells)).encode()).digest(BITS // 8), "big")


def _spelled(total: int) -> str:
    return f"{total % (1 << BITS):0{BITS // 4}x}"


def renewed(connection: sqlite3.Connection, meta: dict[str, str], content: str) -> dict[str, str]:
    """`meta` after a transaction that leaves this content: with the next serial number and the next link of the chain,
    unless nothing was changed."""
    if content == meta["content"]:
        return meta
    serial = str(int(meta["serial"]) + 1)
    chain = link(meta["chain"], serial, content)
    after = {"serial": serial, "before": meta["chain"], "content": content, "chain": chain}
    cells = [cell for pair in after.items() for cell in pair]
    connection.execute("REPLACE INTO meta VALUES (?, ?), (?, ?), (?, ?), (?, ?)", cells)
    return after


def tables_of(connection: sqlite3.Connection) -> set[str]:
    return {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
