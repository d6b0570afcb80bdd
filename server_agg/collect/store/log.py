"""The store's log: one append-only tree (`rrcollect.publish.tree`) of published surveys and of the owner's deeds.

Rules
1. A published survey has the entry that its device computes (`rrcollect.publish.log`), which everybody may read.  A
   deed is a line of canonical JSON: the `moment` (UTC, whole seconds), the `deed`, the survey it was about (or ""),
   what else is to be said (`facts`), and 128 random bits.  Its entry is the line's SHA-256: strangers see that
   something was done, and no more.
2. Both are written in the transaction of what they tell, with the hashes of every tile that they complete: there is
   none without the other, and no proof costs more than a few tiles.
3. A changed, missing or exchanged entry or line is noticed when the log is read (`read_log`).  Anyone who writes the
   database can cut its end, or write it anew: that is noticed against a *checkpoint* (size and root) kept elsewhere.
4. Deeds are: published, opened (a collector started on the store), released, closed, token changed.  Nobody who
   answers leaves a trace here: neither reports nor folds are deeds.
5. Of the owner's token nothing is kept but a salted, slow hash, by which a new one is noticed when a collector starts.
6. A collector with a key for its log signs every state that it shows (`SignedLog`), and keeps what witnesses sign.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from rrcollect.errors import NotLogged, ParameterError
from rrcollect.publish.canonical import canonical
from rrcollect.publish.keys import PublicKey, SigningKey
from rrcollect.publish.log import Checkpoint, LogKey, LogProof, packed, read_checkpoint
from rrcollect.publish.tree import WIDTH, Read, Tree, joined, leaf_hash
from server_agg.collect.store.database import Database
from server_agg.errors import Refusal, UnfitDatabase

_CHECKPOINT = re.compile(r"(0|[1-9][0-9]{0,11}):([0-9a-f]{64})")


class Deed(NamedTuple):
    """What an owner did; `number` is that of its entry in the log."""

    number: int
    moment: str
    deed: str
    survey: str
    facts: dict[str, Any]
    nonce: str

    @property
    def line(self) -> str:
        """As it is written."""
        return canonical({name: value for name, value in self._asdict().items() if name != "number"}).decode()


@dataclass(frozen=True)
class StoreLog:
    """A log that was read and verified: the owner's deeds, and the size and root of the tree."""

    deeds: tuple[Deed, ...]
    size: int
    root: bytes

    @property
    def checkpoint(self) -> str:
        """What tells this state, and all before it, from any other: its size and root."""
        return f"{self.size}:{self.root.hex()}"


def add_deed(
    database: Database, cursor: Any, deed: str, survey: str = "", *, moment: float | None = None, **facts: Any
) -> None:
    """Write a deed, in a transaction that writes what it tells."""
    when = datetime.fromtimestamp(int(time.time() if moment is None else moment), UTC)
    line = Deed(0, f"{when:%Y-%m-%dT%H:%M:%SZ}", deed, survey, facts, secrets.token_hex(16)).line
    add_entry(database, cursor, _entry_of(line), line)


def add_entry(database: Database, cursor: Any, entry: bytes, line: str = "") -> None:
    """Write the next entry of the log, with the hashes of every tile that it completes."""
    database.run(cursor, "UPDATE epoch SET keep_rows = keep_rows")  # a line that all share: one entry after the other
    number, hashed = _size(database, cursor), leaf_hash(entry)
    database.append(cursor, "log", "number, entry, line", [(number, entry.decode(), line)])
    level = 0
    while True:
        database.append(cursor, "log_hashes", "level, number, hash", [(level, number, hashed)])
        if (number + 1) % WIDTH:
            return
        number //= WIDTH
        hashed, level = joined(_stored(database, cursor)(level, number * WIDTH, WIDTH)), level + 1


def _entry_of(line: str) -> bytes:
    return canonical({"deed": hashlib.sha256(line.encode()).hexdigest()})


def _size(database: Database, cursor: Any) -> int:
    (size,) = database.run(cursor, "SELECT coalesce(max(number) + 1, 0) FROM log").fetchone()
    return int(size)


def _stored(database: Database, cursor: Any) -> Read:
    """The hashes that are kept."""
    select = "SELECT hash FROM log_hashes WHERE level = ? AND number >= ? AND number < ? ORDER BY number"

    def read(level: int, first: int, count: int) -> list[bytes]:
        return [bytes(one) for (one,) in database.run(cursor, select, (level, first, first + count)).fetchall()]

    return read


def read_log(database: Database, checkpoint: str | None = None) -> StoreLog:
    """The whole log; an `UnfitDatabase` names the first entry that was changed, or says that the log is not the one of
    which this `checkpoint` was kept."""
    with database.reading(snapshot=True) as cursor:
        rows = database.run(cursor, "SELECT number, entry, line FROM log ORDER BY number").fetchall()
        kept = database.run(cursor, "SELECT level, number, hash FROM log_hashes ORDER BY level, number").fetchall()
    leaves, deeds = list[bytes](), list[Deed]()
    for place, (number, entry, line) in enumerate(rows):
        try:
            deed = Deed(number, **json.loads(line)) if line else None
        except (ValueError, TypeError):
            deed = None
        good = number == place and (deed is not None) == bool(line) == entry.startswith('{"deed"')
        if deed is not None:
            good = good and (deed.line, _entry_of(line)) == (line, entry.encode())
        if not good or [leaf_hash(entry.encode())] != [bytes(one[2]) for one in kept[place : place + 1]]:
            raise UnfitDatabase(f"the owner's log was changed: entry {place} is not what was written; restore a backup")
        leaves.append(leaf_hash(entry.encode()))
        deeds += [] if deed is None else [deed]
    levels = [leaves]
    while len(levels[-1]) >= WIDTH:
        below = levels[-1]
        levels.append([joined(below[i : i + WIDTH]) for i in range(0, len(below) - WIDTH + 1, WIDTH)])
    whole = [(level, number, one) for level, hashes in enumerate(levels) for number, one in enumerate(hashes)]
    if whole != [(level, number, bytes(one)) for level, number, one in kept]:
        raise UnfitDatabase("the owner's log was changed: its hashes are not what was written; restore a backup")
    if checkpoint is not None:
        parts = _CHECKPOINT.fullmatch(checkpoint)
        if parts is None:
            raise ParameterError("checkpoint", checkpoint, "SIZE:ROOT, as `rrcollect store check` prints it")
        if int(parts[1]) > len(leaves) or joined(leaves[: int(parts[1])]).hex() != parts[2]:
            raise UnfitDatabase("the owner's log was cut or written anew: it does not begin as the checkpoint says")
    return StoreLog(tuple(deeds), len(leaves), joined(leaves))


def begin_log(database: Database, hashed: Callable[[str], str]) -> None:
    """The deeds of a collector that starts: that it opened the store, and that the owner's token is another than at
    the last start, by its hash with a salt."""
    with database.writing() as cursor:
        lines = database.run(cursor, "SELECT line FROM log WHERE line <> '' ORDER BY number DESC").fetchall()
        last = next((json.loads(line) for (line,) in lines if '"deed":"token changed"' in line), None)
        add_deed(database, cursor, "opened")
        if last is None or hashed(last["facts"]["salt"]) != last["facts"]["hash"]:
            salt = secrets.token_hex(16)
            add_deed(database, cursor, "token changed", salt=salt, hash=hashed(salt))


# ---- what strangers see of it ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SignedLog:
    """The log of a store as its collector shows it, under a name and a key of its own."""

    database: Database
    name: str
    key: SigningKey
    witnesses: frozenset[LogKey] = frozenset()

    @property
    def own(self) -> LogKey:
        """The key by which apps know this log."""
        return LogKey(self.name, self.key.public)

    def checkpoint(self) -> str:
        """The signed state of this moment."""
        with self.database.reading(snapshot=True) as cursor:
            return self._state(cursor).signed(self.key)

    def _state(self, cursor: Any, size: int | None = None) -> Checkpoint:
        tree = Tree(_size(self.database, cursor), _stored(self.database, cursor))
        return Checkpoint(self.name, tree.size if size is None else size, tree.root(size))

    def tile(self, level: int, number: int, width: int) -> bytes | None:
        """A tile of hashes; None if the log has none such."""
        with self.database.reading() as cursor:
            hashes = _stored(self.database, cursor)(level, number * WIDTH, width)
        return b"".join(hashes) if len(hashes) == width else None

    def entries(self, number: int, width: int) -> bytes | None:
        """A bundle of entries; None if the log has none such."""
        select, first = "SELECT entry FROM log WHERE number >= ? AND number < ? ORDER BY number", number * WIDTH
        with self.database.reading() as cursor:
            rows = self.database.run(cursor, select, (first, first + width)).fetchall()
        return packed(entry.encode() for (entry,) in rows) if len(rows) == width else None

    def proof(self, digest: str) -> str | None:
        """The proof that a survey is in the log, in the state that most witnesses have signed, the last of these."""
        found = "SELECT number, entry FROM log WHERE line = '' AND entry LIKE ?"
        noted = "SELECT size, note FROM log_notes WHERE size > ? ORDER BY seen DESC, size DESC LIMIT 1"
        with self.database.reading(snapshot=True) as cursor:
            row = self.database.run(cursor, found, (f'{{"digest":"{digest}"%',)).fetchone()
            if row is None:
                return None
            size, note = self.database.run(cursor, noted, (row[0],)).fetchone() or (None, "")
            state = self._state(cursor, size)
            path = Tree(state.size, _stored(self.database, cursor)).inclusion(row[0])
        by = PublicKey(bytes.fromhex(json.loads(row[1])["key"]))
        return LogProof(by, row[0], tuple(path), note or state.signed(self.key)).text

    def add_cosignatures(self, size: int, lines: str) -> int:
        """Keep what witnesses sign of the state of this size; how many have signed it now."""
        with self.database.writing() as cursor:
            if not 0 < size <= _size(self.database, cursor):
                raise Refusal(409, "size", "the log has no state of this size")
            state = self._state(cursor, size)
            row = self.database.run(cursor, "SELECT note FROM log_notes WHERE size = ?", (size,)).fetchone()
            note = state.signed(self.key) if row is None else row[0]
            try:
                note += "".join(f"{line}\n" for line in lines.splitlines() if f"{line}\n" not in note)
                seen = read_checkpoint(note, self.own, self.witnesses)[1]
            except NotLogged as error:
                raise Refusal(400, "cosignature", str(error)) from None
            if len(seen) + 1 != note.count("\n— "):
                raise Refusal(403, "witness", "a signature is by none of this collector's witnesses")
            self.database.run(cursor, "DELETE FROM log_notes WHERE size = ?", (size,))
            self.database.append(cursor, "log_notes", "size, seen, note", [(size, len(seen), note)])
        return len(seen)
