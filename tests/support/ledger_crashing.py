"""Devices that are killed, raced and forked: what the tests of the ledger and the long suite share."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from rrcollect import Client, Report, RRCollectError
from tests.inside.answer import AcceptedSurvey
from tests.support.devices import client, envelope, question

SIGNED = envelope(question(), question(id="q2", attribute="b"))
AGAIN = envelope(question(id="later"), name="again")  # another question about the same attribute


def device(path: Path, **changes: Any) -> Client:
    return client(path, **{"attributes": ["doped", "b"], **changes})


def in_child(work: Callable[[], bytes | None]) -> tuple[int, bytes]:
    """Run `work` in a forked child; (exit status or minus the signal, what it returned)."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read)
            os.write(write, work() or b"")
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    chunks = []
    while chunk := os.read(read, 65536):
        chunks.append(chunk)
    os.close(read)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), b"".join(chunks)


def rows(path: Path, table: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path / "ledger.sqlite3")
    try:
        return connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608
    finally:
        connection.close()


def at_line(number: int, act: Callable[[], None]) -> Callable[[FrameType, str, Any], Any]:
    """A tracer that acts when the n-th line inside rrcollect.answer is about to run."""
    seen = [0]

    def tracer(frame: FrameType, event: str, arg: Any) -> Any:
        if "/rrcollect/answer/" not in frame.f_code.co_filename:
            return None
        if event == "line":
            seen[0] += 1
            if seen[0] == number:
                act()
        return tracer

    return tracer


T = TypeVar("T")


def traced(tracer: Callable[[FrameType, str, Any], Any], work: Callable[[], T]) -> T:
    """What `work` returns, run under a tracer, which the threads it starts are under as well."""
    threading.settrace(tracer)
    sys.settrace(tracer)
    try:
        return work()
    finally:
        sys.settrace(None)
        threading.settrace(None)


def first_answer(path: Path) -> Callable[[], Report]:
    mine = device(path)
    accepted = mine.accept(SIGNED)
    return lambda: mine.answer(accepted, "q1", True)


def making_the_ledger(path: Path) -> Callable[[], Report]:
    def work() -> Report:
        mine = device(path)
        return mine.answer(mine.accept(SIGNED), "q1", True)

    return work


def another_question(path: Path) -> Callable[[], Report]:
    mine = device(path)
    accepted: AcceptedSurvey = mine.accept(AGAIN)
    return lambda: mine.answer(accepted, "later", True)


Scene = Callable[[Path], Callable[[], Report]]
Stop = Callable[[int, Path, Scene], tuple[int, bytes]]
"""Play a scene that is stopped at its n-th moment: (0 if it was not, -SIGKILL if it was; what it returned)."""
SCENES: dict[str, Scene] = {
    "a first answer": first_answer,
    "a new ledger and a first answer": making_the_ledger,
    "another question about an attribute that is drawn": another_question,
}


def killed_at(line: int, path: Path, scene: Scene) -> tuple[int, bytes]:
    """Play a scene in a child that is killed (SIGKILL) when it is about to run its n-th line of answering."""

    def work() -> bytes:
        play = scene(path)
        return traced(at_line(line, lambda: os.kill(os.getpid(), signal.SIGKILL)), play).to_bytes()

    return in_child(work)


def without_space(limit: int, path: Path, scene: Scene) -> tuple[int, bytes]:
    """Play a scene in a child whose files cannot grow beyond so many bytes; refused by name, it was stopped."""

    def work() -> bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            return scene(path)().to_bytes()
        except (RRCollectError, OSError):
            return b""

    status, returned = in_child(work)
    return (status, returned) if status or returned else (-signal.SIGKILL, b"")


def killed_everywhere(
    folder: Path,
    scene: str,
    *,
    stride: int = 1,
    first: int = 1,
    open_again: Callable[[Path], object] = lambda p: None,
    stop: Stop = killed_at,
) -> tuple[dict[str, int], str]:
    """Stop a scene at its first, (first + stride)th, … moment (line).  After each a restart must give the bytes that
    were promised, or draw for the first time, with one debit in all.  Returns counts, and the first fault ("" if none).

    `open_again` is called with the folder after each kill: the place for a planted bug."""
    template, now = folder / "template", folder / "now"
    template.mkdir()
    play = SCENES[scene]
    if play is not making_the_ledger:
        mine = device(template)
        mine.accept(SIGNED)
        mine.accept(AGAIN)
    if play is another_question:
        first_answer(template)()
    counts = {"kills": 0, "kills before the commit": 0, "kills after the commit": 0}
    line, status, fault = first, -signal.SIGKILL, ""
    while status != 0 and not fault:
        shutil.copytree(template, now)
        status, returned = stop(line, now, play)
        made = (now / "ledger.sqlite3").exists() and bool(rows(now, "sqlite_master"))
        draws, reports = (rows(now, "draws"), rows(now, "reports")) if made else ([], [])
        expected = rows(template, "reports") if play is another_question else []
        committed = len(reports) > len(expected)
        open_again(now)
        again = play(now)()
        after = rows(now, "draws")
        if status not in (0, -signal.SIGKILL):
            fault = f"moment {line}: the child ended with {status}"
        elif len(after) != 1 or (draws and after != draws):
            fault = f"moment {line}: {len(draws)} draws before the restart, {len(after)} after, or another one"
        elif committed and again.to_bytes() not in {report[6] for report in reports}:
            fault = f"moment {line}: the report that was committed is not the one that is given now"
        elif returned and returned != again.to_bytes():
            fault = f"moment {line}: the report that was given is not the one that is given now"
        counts["kills"] += status == -signal.SIGKILL
        counts["kills after the commit" if committed else "kills before the commit"] += status == -signal.SIGKILL
        shutil.rmtree(now)
        line += stride
    shutil.rmtree(template)
    return counts, fault


def race(path: Path, processes: int, make: Callable[[Path], Client]) -> list[bytes]:
    """Start processes that all wait for one byte, then answer the same question; what each returned."""
    go_read, go_write = os.pipe()
    children = []
    for number in range(processes):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(go_write)
                os.read(go_read, 1)
                mine = make(path)
                os.write(write, mine.answer(mine.accept(SIGNED), "q1", number % 2 == 0).to_bytes())
                status = 0
            finally:
                os._exit(status)
        os.close(write)
        children.append((child, read))
    os.close(go_read)
    os.close(go_write)  # end of file for all: go
    returned = []
    for child, read in children:
        returned.append(os.read(read, 65536))
        os.close(read)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return returned
