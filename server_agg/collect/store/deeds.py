"""The owner's log: what an owner did with a store, entry by entry, each with the hash of the one before.

Rules
1. An entry is one line of canonical JSON: its `number`, the `moment` (UTC, whole seconds), the `deed`, the survey it
   was about (or ""), what else is to be said (`facts`), and `before`, the SHA-256 of the line before it (of nothing:
   64 zeros).  It is written in the transaction of the deed itself: there is none without the other.
2. Entries are only ever added.  A changed, missing or exchanged line is noticed by whoever reads the log (`read_log`).
   Whoever writes the database can cut its end, or write it anew: that is noticed against a *checkpoint* (number and
   hash of an entry) that somebody keeps elsewhere.
3. Deeds are: published, opened (a collector started on the store), released, closed, token changed.  Nobody who
   answers leaves a trace here: neither reports nor folds are deeds.
4. Of the owner's token nothing is kept but a salted, slow hash, by which a new one is noticed when a collector starts.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from rrcollect.errors import ParameterError
from rrcollect.publish.canonical import canonical
from server_agg.collect.store.database import Database
from server_agg.errors import UnfitDatabase

FIRST = "0" * 64
_CHECKPOINT = re.compile(r"(0|[1-9][0-9]{0,11}):([0-9a-f]{64})")


class Deed(NamedTuple):
    """An entry of the log."""

    number: int
    moment: str
    deed: str
    survey: str
    facts: dict[str, Any]
    before: str

    @property
    def line(self) -> str:
        """As it is written."""
        return canonical(self._asdict()).decode()

    @property
    def checkpoint(self) -> str:
        """What tells this entry, and all before it, from any other: its number and hash."""
        return f"{self.number}:{_hash(self.line)}"


def add_deed(
    database: Database, cursor: Any, deed: str, survey: str = "", *, moment: float | None = None, **facts: Any
) -> None:
    """Write the next entry, in a transaction that writes what it tells."""
    database.run(cursor, "UPDATE epoch SET keep_rows = keep_rows")  # a line that all share: one entry after the other
    last = database.run(cursor, "SELECT number, line FROM deeds ORDER BY number DESC LIMIT 1").fetchone()
    when = datetime.fromtimestamp(int(time.time() if moment is None else moment), UTC)
    number, before = (0, FIRST) if last is None else (last[0] + 1, _hash(last[1]))
    made = Deed(number, f"{when:%Y-%m-%dT%H:%M:%SZ}", deed, survey, facts, before)
    database.append(cursor, "deeds", "number, line", [(number, made.line)])


def read_log(database: Database, checkpoint: str | None = None) -> list[Deed]:
    """All entries; an `UnfitDatabase` names the first that was changed, or says that the log is not the one of which
    this `checkpoint` was kept."""
    with database.reading() as cursor:
        lines = database.run(cursor, "SELECT number, line FROM deeds ORDER BY number").fetchall()
    found: list[Deed] = []
    before = FIRST
    for place, (number, line) in enumerate(lines):
        try:
            made = Deed(**json.loads(line))
        except (ValueError, TypeError):
            made = None
        if made is None or made.line != line or (made.number, number, made.before) != (place, place, before):
            raise UnfitDatabase(f"the owner's log was changed: entry {place} is not what was written; restore a backup")
        found.append(made)
        before = _hash(line)
    if checkpoint is not None:
        kept = _CHECKPOINT.fullmatch(checkpoint)
        if kept is None:
            raise ParameterError("checkpoint", checkpoint, "NUMBER:HASH, as `rrcollect store check` prints it")
        if int(kept[1]) >= len(found) or found[int(kept[1])].checkpoint != checkpoint:
            raise UnfitDatabase("the owner's log was cut or written anew: the entry of the checkpoint is not in it")
    return found


def begin_log(database: Database, hashed: Callable[[str], str]) -> None:
    """The entries of a collector that starts: that it opened the store, and that the owner's token is another than at
    the last start, by its hash with a salt."""
    with database.writing() as cursor:
        lines = database.run(cursor, "SELECT line FROM deeds ORDER BY number DESC").fetchall()
        last = next((json.loads(line) for (line,) in lines if '"deed":"token changed"' in line), None)
        add_deed(database, cursor, "opened")
        if last is None or hashed(last["facts"]["salt"]) != last["facts"]["hash"]:
            salt = secrets.token_hex(16)
            add_deed(database, cursor, "token changed", salt=salt, hash=hashed(salt))


def _hash(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()
