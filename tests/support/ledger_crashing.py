"""Devices, and programs that reserve many people, stopped at their every moment: what must be true of their ledgers.

Run by itself, under strace, it plays one scene: python -m tests.support.ledger_crashing NAME FOLDER
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rrcollect import BulkLedger, Client, Policy, Promise, RRCollectError
from tests.support.devices import client, envelope, question
from tests.support.stopping import (
    KILLED,
    Ended,
    Round,
    Stop,
    Work,
    copy_of,
    everywhere,
    full_at,
    killed_at_line,
    struck,
)

SIGNED = envelope(question(), question(id="q2", attribute="b"))
AGAIN = envelope(question(id="later"), name="again")  # another question about the same attribute
ROOT = Path(__file__).resolve().parents[2]
CALLS = ("pwrite64", "write", "fdatasync", "fsync", "ftruncate", "unlink")
"""The system calls by which a ledger writes: the writes inside one commit are no lines of Python."""


def device(path: Path, **changes: Any) -> Client:
    return client(path, **{"attributes": ["doped", "b"], **changes})


def rows(path: Path, table: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path / "ledger.sqlite3")
    try:
        return connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608
    finally:
        connection.close()


def answered(mine: Client, truth: bool = True) -> bytes:
    """What the device hands out when it is asked the first question."""
    return mine.answer(mine.accept(SIGNED), "q1", truth).to_bytes()


# ---- what is stopped ------------------------------------------------------------------------------------------------


def first_answer(path: Path) -> Callable[[], bytes]:
    mine = device(path)
    accepted = mine.accept(SIGNED)
    return lambda: mine.answer(accepted, "q1", True).to_bytes()


def making_the_ledger(path: Path) -> Callable[[], bytes]:
    return lambda: answered(device(path))


def another_question(path: Path) -> Callable[[], bytes]:
    mine = device(path)
    accepted = mine.accept(AGAIN)
    return lambda: mine.answer(accepted, "later", True).to_bytes()


PEOPLE = ["person 0", "person 1"]


def reserve(folder: Path, people: Sequence[str]) -> bytes:
    """Reserve people in a folder's ledger: one byte for each, 1 if it is new."""
    mine = BulkLedger(folder / "bulk-ledger.sqlite3")
    found: Any = mine.reserve("P/doped", 0, people, Promise.of("ln 3", 0), Policy())
    return bytes(found.new)


def reserving(folder: Path) -> Callable[[], bytes]:
    return lambda: reserve(folder, PEOPLE)


def one_by_one(folder: Path) -> Callable[[], bytes]:
    """Planted bug: a transaction for each person."""
    return lambda: b"".join(reserve(folder, [person]) for person in PEOPLE)


SCENES: dict[str, Work] = {
    "a first answer": first_answer,
    "a new ledger and a first answer": making_the_ledger,
    "another question about an attribute that is drawn": another_question,
}
PLAYED = SCENES | {"a reservation": reserving}


# ---- how ------------------------------------------------------------------------------------------------------------


def without_space(size: int, folder: Path, work: Work) -> Ended:
    """A `Stop` in a child whose files cannot grow beyond so many bytes: refused by name, it was stopped."""

    def play() -> bytes:
        try:
            return work(folder)()
        except (RRCollectError, OSError):
            return b""

    ended = full_at(size, play)
    return ended if ended.status or ended.said else Ended(KILLED, b"")


def killed_at_call(call: str) -> Stop:
    """The `Stop` of a program at its n-th system call of this name."""

    def stop(number: int, folder: Path, work: Work) -> Ended:
        name = next(name for name, play in PLAYED.items() if play is work)
        program = [sys.executable, "-m", "tests.support.ledger_crashing", name, str(folder)]
        command = [*struck(call, f"signal=SIGKILL:when={number}"), *program]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=120)
        return Ended(done.returncode, done.stdout)

    return stop


# ---- what must be true ----------------------------------------------------------------------------------------------


def answers_stopped(
    folder: Path,
    scene: str,
    *,
    stride: int = 1,
    first: int = 1,
    open_again: Callable[[Path], object] = lambda p: None,
    stop: Stop = killed_at_line,
) -> tuple[Counter[str], str]:
    """Stop a scene at its first, (first + stride)th, … moment.  After each a restart must give the bytes that were
    promised, or draw for the first time, with one debit in all.  Returns counts, and the first fault ("" if none).

    `open_again` is called with the folder after each stop: the place for a planted bug."""
    template = folder / "template"
    template.mkdir()
    work = SCENES[scene]
    if work is not making_the_ledger:
        mine = device(template)
        mine.accept(SIGNED)
        mine.accept(AGAIN)
    if work is another_question:
        first_answer(template)()
    before = rows(template, "reports") if work is another_question else []

    def play(moment: int) -> Round:
        with copy_of(template) as now:
            ended = stop(moment, now, work)
            made = (now / "ledger.sqlite3").exists() and bool(rows(now, "sqlite_master"))
            draws, reports = (rows(now, "draws"), rows(now, "reports")) if made else ([], [])
            open_again(now)
            again = work(now)()
            after = rows(now, "draws")
        committed, fault = len(reports) > len(before), ""
        if ended.status not in (0, KILLED):
            fault = f"the child ended with {ended.status}"
        elif len(after) != 1 or (draws and after != draws):
            fault = f"{len(draws)} draws before the restart, {len(after)} after, or another one"
        elif committed and again not in {report[6] for report in reports}:
            fault = "the report that was committed is not the one that is given now"
        elif ended.said and ended.said != again:
            fault = "the report that was given is not the one that is given now"
        return Round(ended.status != 0, f"kills {'after' if committed else 'before'} the commit", fault)

    return everywhere(play, first=first, stride=stride)


def reservation_stopped(
    folder: Path, *, stride: int = 1, work: Work = reserving, stop: Stop = killed_at_line
) -> tuple[Counter[str], str]:
    """Stop a reservation of two people at its first, (1 + stride)th, … moment: then both are reserved, or nobody."""
    start = folder / "start"
    start.mkdir()
    reserve(start, ["before"])

    def play(moment: int) -> Round:
        with copy_of(start) as now:
            ended = stop(moment, now, work)
            after = list(reserve(now, [*PEOPLE, "before"]))
        kind = "kills with nobody reserved" if after[0] else "kills with all reserved"
        if ended.status == 0 or (ended == (KILLED, b"") and after in ([1, 1, 0], [0, 0, 0])):
            return Round(ended.status != 0, kind)
        return Round(True, kind, f"ended with {ended.status}, told {ended.said!r}, then new: {after}")

    return everywhere(play, stride=stride)


if __name__ == "__main__":
    sys.stdout.buffer.write(PLAYED[sys.argv[1]](Path(sys.argv[2]))())
