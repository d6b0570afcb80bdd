"""A bulk ledger whose program is killed while it reserves people."""

import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rrcollect import BulkLedger, Policy, Promise
from tests.support.ledger_crashing import at_line, in_child, traced

PEOPLE = ["person 0", "person 1"]
Reserve = Callable[[Path, Sequence[str]], bytes]
"""Reserve people in a folder's ledger: one byte for each, 1 if it is new."""
Stop = Callable[[int, Path, Reserve], tuple[int, bytes]]
"""Reserve PEOPLE and be stopped at the n-th moment: (0 or -SIGKILL, what was returned)."""


def reserve(folder: Path, people: Sequence[str]) -> bytes:
    mine = BulkLedger(folder / "bulk-ledger.sqlite3")
    found: Any = mine.reserve("P/doped", 0, people, Promise.of("ln 3", 0), Policy())
    return bytes(found.new)


def one_by_one(folder: Path, people: Sequence[str]) -> bytes:
    """Planted bug: a transaction for each person."""
    return b"".join(reserve(folder, [person]) for person in people)


def killed_at(line: int, folder: Path, work: Reserve) -> tuple[int, bytes]:
    """Killed (SIGKILL) when it is about to run its n-th line of answering."""
    kill = at_line(line, lambda: os.kill(os.getpid(), signal.SIGKILL))
    return in_child(lambda: traced(kill, lambda: work(folder, PEOPLE)))


def reservation_killed_everywhere(
    folder: Path, stride: int, work: Reserve = reserve, stop: Stop = killed_at
) -> tuple[dict[str, int], str]:
    """Stop a reservation of two people at its first, (1 + stride)th, … moment: afterwards both are reserved, or nobody.

    Returns how many kills left whom reserved, and the first fault ("" if none)."""
    start, now = folder / "start", folder / "now"
    start.mkdir()
    reserve(start, ["before"])
    counts, moment = {"kills with nobody reserved": 0, "kills with all reserved": 0}, 1
    while True:
        shutil.copytree(start, now)
        status, told = stop(moment, now, work)
        after = list(reserve(now, [*PEOPLE, "before"]))
        shutil.rmtree(now)
        if status == 0:
            shutil.rmtree(start)
            return counts, ""
        if (status, told) != (-signal.SIGKILL, b"") or after not in ([1, 1, 0], [0, 0, 0]):
            return counts, f"moment {moment}: ended with {status}, told {told!r}, then new: {after}"
        counts["kills with nobody reserved" if after[0] else "kills with all reserved"] += 1
        moment += stride
