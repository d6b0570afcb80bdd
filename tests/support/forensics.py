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
"""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np

from server_agg.collect.epoch_key import EpochKey
from server_agg.collect.stored_report import Spending
from tests.support.postgres_server import PostgresServer, binary

__all__ = ["Traffic", "found_in", "most_by_chance", "postgres_evidence", "sqlite_evidence"]

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
    keys = Path(os.environ.get("RRCOLLECT_KEYS") or f"{path}.keys")  # as `open_store` looks for them
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
