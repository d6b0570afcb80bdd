"""Whoever takes a collector's files: a reader that looks for the order of reports, and for whose ticket each was.

Rules
1. The reader has every byte: the database's files and logs, a dump, an export, the folder of keys, and what PostgreSQL
   says about its rows (ctid, xmin).  It knows all ids and the hashes of all tickets, and what each ticket was spent on.
2. It looks for an id and for a ticket under every name they have: hexadecimal, raw, and as marks under every key that
   it finds.
3. Order: in every file, by first and by last places, how many reports that came one after the other lie side by side.
   Pairs: the ticket that lies nearest to an id, the ticket of the same rank, the ticket of the same transaction, and
   SHA-256("id:ticket").
4. In an order that was drawn at random the number of neighbours has mean 2 and the number of right pairs mean 1, both
   nearly Poisson; a fold is such an order of its own.  `most_by_chance` is exceeded with probability 10^-13 for a mean
   of 4 per fold; a reading makes fewer than 1,000 comparisons, so that a false alarm has a probability below 10^-9.
5. Steps: the reader has every committed state too, as the log of SQLite or an archived log of PostgreSQL gives them.
   Between two of them it looks at what came by question, round and segments, in the counts, in the rows, and in the
   rows by the state in which their ids came: the least of these steps is the smallest crowd that can be singled out.
6. Order within crowds: of ids that came together, the rank correlation of their places with their arrival, summed over
   all crowds and in units of its standard deviation under chance, which is nearly normal.
"""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
import struct
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.inside.collect import EpochKey, Spending
from tests.support.postgres_server import PostgresServer, binary

Traffic = list[tuple[str, Spending, str]]  # ids, what their tickets were spent on, and the tickets, as they came


def most_by_chance(folds: int) -> int:
    """The most neighbours or pairs that are still chance (rule 4).

    >>> most_by_chance(1), most_by_chance(4)
    (27, 54)
    """
    mean, many, beyond = 4.0 * folds, 0, 1.0
    while beyond > 1e-13:
        beyond -= math.exp(many * math.log(mean) - mean - math.lgamma(many + 1))
        many += 1
        if many > 20 * mean:
            break
    return many


def sqlite_evidence(path: Path, *more: Path) -> dict[str, bytes]:
    """Every file beside a SQLite database, as it lies there, and a dump of a copy."""
    files = [file for file in sorted(path.parent.rglob("*")) if file.is_file() and file.name.startswith(path.name)]
    keys = Path(os.environ.get("RRCOLLECT_EPOCH_KEYS") or f"{path}.keys")  # as `open_store` looks for them
    found = {file.name: file.read_bytes() for file in [*files, *keys.glob("*.key"), *more]}
    copy = path.with_name("copied.sqlite3")
    for file in (path, path.with_name(path.name + "-wal")):
        if file.exists():
            copy.with_name(copy.name + file.name.removeprefix(path.name)).write_bytes(file.read_bytes())
    with closing(sqlite3.connect(copy)) as connection:
        found["dump"] = "\n".join(connection.iterdump()).encode()
    return found


def postgres_evidence(server: PostgresServer, address: str, keys: Path, *more: Path) -> dict[str, bytes]:
    """The database's files and the server's log of changes, a dump, and rows as they lie with their transactions."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        row = connection.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()
        assert row is not None
        lying = {
            f"{table} by ctid": "\n".join(
                " ".join(map(str, line))
                for line in connection.execute(f"SELECT xmin, {column} FROM {table} ORDER BY ctid").fetchall()  # noqa: S608
            ).encode()
            for table, column in (("ids", "encode(id, 'hex')"), ("reports", "id"), ("spent", "ticket"))
        }
    data = server.folder / "data"
    files = [*(data / "base" / str(row[0])).iterdir(), *(data / "pg_wal").iterdir(), *keys.glob("*.key"), *more]
    found = {file.name: file.read_bytes() for file in files if file.is_file()}
    dump = subprocess.run([binary("pg_dump"), address], capture_output=True, check=True).stdout
    return {**found, **lying, "dump": dump}


def found_in(evidence: Mapping[str, bytes], traffic: Traffic) -> dict[str, int]:
    """The most neighbours, and the most right pairs, that any way of reading gives."""
    keys = [EpochKey(data) for name, data in evidence.items() if name.endswith(".key") and len(data) == 32]
    ids = {id_: place for place, (id_, _, _) in enumerate(traffic)}
    tickets = {spent.ticket: place for place, (_, spent, _) in enumerate(traffic)}
    names: dict[bytes, tuple[str, int]] = {}
    for place, (id_, spent, _) in enumerate(traffic):
        marks = [key.id_marks([id_])[0] for key in keys]
        for name in (id_.encode(), id_.upper().encode(), bytes.fromhex(id_), *marks):
            names[name] = "id", place
        marks = [key.ticket_mark(spent.plain()) for key in keys]
        for name in (spent.ticket.encode(), bytes.fromhex(spent.ticket), *marks):
            names[name] = "ticket", place
    neighbours, pairs = [0], [_hashed(evidence, traffic), _by_transaction(evidence, ids, tickets)]
    for data in evidence.values():
        places = list(_places(data, names))
        for order in (places, places[::-1]):
            of = {kind: _first(order, kind) for kind in ("id", "ticket")}
            neighbours += [_neighbours(of["id"]), _neighbours(of["ticket"])]
            pairs += [sum(a == b for a, b in zip(of["id"], of["ticket"], strict=False)), _nearest(order)]
    return {"neighbours": max(neighbours), "pairs": max(pairs)}


def _places(data: bytes, names: Mapping[bytes, tuple[str, int]]) -> Iterator[tuple[int, str, int]]:
    """Where the names stand: (offset, kind, place in the traffic), by offset."""
    starts = np.unique(np.frombuffer(b"".join(name[:8] for name in names), "<u8"))
    hits: list[int] = []
    for shift in range(min(8, len(data))):
        words = np.frombuffer(data, "<u8", (len(data) - shift) // 8, shift)
        at = np.minimum(np.searchsorted(starts, words), len(starts) - 1)
        hits += (np.flatnonzero(starts[at] == words) * 8 + shift).tolist()
    for offset in sorted(hits):
        for length in (64, 32, 16):
            if (found := names.get(data[offset : offset + length])) is not None:
                yield offset, *found
                break


def _first(order: Iterable[tuple[int, str, int]], kind: str) -> list[int]:
    return list(dict.fromkeys(place for _, which, place in order if which == kind))


def _neighbours(sequence: Sequence[int]) -> int:
    return sum(abs(a - b) == 1 for a, b in pairwise(sequence))


def _nearest(order: Sequence[tuple[int, str, int]]) -> int:
    """Ids beside which, before or after, their own ticket lies."""
    near = set()
    for (_, kind, place), (_, other, its) in pairwise(order):
        if kind != other and place == its:
            near.add(place)
    return len(near)


def _hashed(evidence: Mapping[str, bytes], traffic: Traffic) -> int:
    """Pairs that whoever issued the tickets can test by SHA-256("id:ticket")."""
    everything = b"\n".join(evidence.values())
    tried = (hashlib.sha256(f"{id_}:{ticket}".encode()).hexdigest() for id_, _, ticket in traffic)
    return sum(made.encode() in everything for made in tried)


def _by_transaction(evidence: Mapping[str, bytes], ids: Mapping[str, int], tickets: Mapping[str, int]) -> int:
    """Pairs by PostgreSQL's xmin: the ticket and the id of the same rank within one transaction."""
    together: dict[bytes, tuple[list[int], list[int]]] = {}
    for table, known, side in (("ids", ids, 0), ("reports", ids, 0), ("spent", tickets, 1)):
        for line in evidence.get(f"{table} by ctid", b"").splitlines():
            transaction, name = line.split()
            together.setdefault(transaction, ([], []))[side].append(known.get(name.decode(), -1 - side))
    return sum(a == b for own, others in together.values() for a, b in zip(own, others, strict=False))


# ---- every committed state -------------------------------------------------------------------------------------------

Group = tuple[str, int, str]  # a question and round, and the segments that were declared


class ClearState(NamedTuple):
    """What one committed state tells without a key: counts by group, rows by id, and ids as they lie."""

    counts: Counter[Group]
    rows: dict[str, Group]
    ids: list[str]


def clear_state(execute: Callable[[str], Any], order: str = "id") -> ClearState:
    """The state that a connection sees; `order` is how ids lie (in PostgreSQL: ctid)."""
    counts: Counter[Group] = Counter()
    for question, round_, segments, n in execute("SELECT question, round, segments, n FROM counts").fetchall():
        counts[question, round_, segments] += n
    rows = {row[0]: tuple(row[1:]) for row in execute("SELECT id, question, round, segments FROM reports").fetchall()}
    ids = [bytes(id_).hex() for (id_,) in execute(f"SELECT id FROM ids ORDER BY {order}").fetchall()]  # noqa: S608
    return ClearState(counts, rows, ids)


def logged_states(path: Path) -> list[ClearState]:
    """The states that the log of a SQLite file still has: the file with the log cut after each of its commits."""
    log, found = path.with_name(path.name + "-wal").read_bytes(), list[ClearState]()
    (page,) = struct.unpack(">I", log[8:12])
    with tempfile.TemporaryDirectory() as folder:
        for end in range(32 + 24 + page, len(log) + 1, 24 + page):
            head = log[end - 24 - page : end - page]
            if head[8:16] != log[16:24]:
                break  # what follows is of an earlier round of the log
            if not any(head[4:8]):
                continue  # not the last page of a commit
            copy = Path(folder, f"{end}.sqlite3")
            copy.write_bytes(path.read_bytes())
            copy.with_name(copy.name + "-wal").write_bytes(log[:end])
            with closing(sqlite3.connect(copy)) as connection:
                state = clear_state(connection.execute)
            if not found or state != found[-1]:
                found.append(state)
    return found


def least_step(states: Sequence[ClearState]) -> int:
    """The fewest reports of one group that came between two states (rule 5); 0 if none ever came."""
    steps: list[int] = []
    came: dict[str, int] = dict.fromkeys(states[0].ids, 0)
    for number, (before, after) in enumerate(pairwise(states), start=1):
        new = Counter(group for id_, group in after.rows.items() if id_ not in before.rows)
        steps += [*(after.counts - before.counts).values(), *new.values()]
        for id_ in after.ids:
            came.setdefault(id_, number)
    steps += Counter((came.get(id_), group) for id_, group in states[-1].rows.items() if came.get(id_) != 0).values()
    return min(steps, default=0)


def order_in_crowds(states: Sequence[ClearState], arrival: Sequence[str]) -> tuple[float, float]:
    """How far ids that came together lie in the order of their arrival (rule 6), and the rank correlation of crowds."""
    place = {id_: number for number, id_ in enumerate(arrival)}
    total, variance, crowds = 0.0, 0.0, []
    for before, after in pairwise(states):
        known = set(before.ids)
        ranks = np.argsort(np.argsort([place[id_] for id_ in after.ids if id_ not in known]))
        if len(ranks) > 1:
            centred = np.arange(len(ranks)) - (len(ranks) - 1) / 2
            total += float(centred @ (ranks - ranks.mean()))
            variance += float(centred @ centred) ** 2 / (len(ranks) - 1)
            crowds.append(float(np.mean([place[id_] for id_ in after.ids if id_ not in known])))
    across = np.corrcoef(np.arange(len(crowds)), np.argsort(np.argsort(crowds)))[0, 1] if len(crowds) > 1 else 0.0
    return total / math.sqrt(variance or 1.0), float(across)
