"""A bulk ledger whose program is killed while it reserves people."""

import os
import shutil
import signal
from pathlib import Path

from rrcollect import BulkLedger, Policy, Promise
from tests.support.ledger_crashing import at_line, in_child, traced

PEOPLE = ["person 0", "person 1"]


def _reserve(folder: Path, people: list[str]) -> list[bool]:
    mine = BulkLedger(folder / "bulk-ledger.sqlite3")
    new: list[bool] = mine.reserve("P/doped", 0, people, Promise.of("ln 3", 0), Policy()).new.tolist()
    return new


def reservation_killed_everywhere(folder: Path, stride: int) -> tuple[dict[str, int], str]:
    """Kill a reservation of two people at its first, (1 + stride)th, … line: afterwards both are reserved, or nobody.

    Returns how many kills left whom reserved, and the first fault ("" if none)."""
    start, now = folder / "start", folder / "now"
    start.mkdir()
    _reserve(start, ["before"])
    counts, line, status = {"kills with nobody reserved": 0, "kills with all reserved": 0}, 1, -signal.SIGKILL
    while True:
        shutil.copytree(start, now)

        def work(line: int = line) -> bytes:
            mine = BulkLedger(now / "bulk-ledger.sqlite3")
            kill = at_line(line, lambda: os.kill(os.getpid(), signal.SIGKILL))
            reserved = traced(kill, lambda: mine.reserve("P/doped", 0, PEOPLE, Promise.of("ln 3", 0), Policy()))
            return bytes(reserved.new)

        status, mask = in_child(work)
        after = _reserve(now, [*PEOPLE, "before"])
        shutil.rmtree(now)
        if status == 0:
            return counts, ""
        if (status, mask) != (-signal.SIGKILL, b"") or after not in ([True, True, False], [False] * 3):
            return counts, f"line {line}: ended with {status}, told {mask!r}, then new: {after}"
        counts["kills with nobody reserved" if after[0] else "kills with all reserved"] += 1
        line += stride
