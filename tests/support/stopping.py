"""Programs that are forked, raced, and stopped at their every moment: one enumerator, whatever is stopped, and how.

Rules
1. A moment is a line of some modules of ours, a system call of one name, or a size that no file may exceed.
2. `everywhere` plays a round at the first, (first + stride)th, … moment, until one ends without having been stopped, or
   with a fault.  With what a round begins, how it is stopped and what must be true then are the caller's.
3. Who is killed (SIGKILL) has no last word: nothing that was still to be done is done.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
Tracer = Callable[[FrameType, str, Any], Any]
Work = Callable[[Path], Callable[[], bytes]]
"""Something to do in a folder: what is done beforehand, and what can be stopped."""
KILLED = -signal.SIGKILL


class Ended(NamedTuple):
    """How a program ended: 0, its exit code, or minus the signal; and what it returned."""

    status: int
    said: bytes


Stop = Callable[[int, Path, Work], Ended]
"""Do the work in a folder and stop it at its n-th moment: KILLED if it was, 0 if it ended before."""


class Round(NamedTuple):
    """What became of the work when it was to be stopped at some moment."""

    stopped: bool
    kind: str  # what the stop is counted as
    fault: str = ""


# ---- the enumerator -------------------------------------------------------------------------------------------------


def everywhere(play: Callable[[int], Round], *, first: int = 1, stride: int = 1) -> tuple[Counter[str], str]:
    """How many stops there were of each kind, and the first fault ("" if none).

    >>> everywhere(lambda moment: Round(moment < 5, "odd" if moment % 2 else "even"))
    (Counter({'odd': 2, 'even': 2}), '')
    >>> everywhere(lambda moment: Round(moment < 50, "early", "late" * (moment > 30)), first=2, stride=10)
    (Counter({'early': 3}), 'moment 32: late')
    """
    counts = Counter[str]()
    for moment in count(first, stride):
        found = play(moment)
        if found.fault or not found.stopped:
            return counts, f"moment {moment}: {found.fault}" if found.fault else ""
        counts[found.kind] += 1
    raise AssertionError("moments do not end")


@contextmanager
def copy_of(folder: Path) -> Iterator[Path]:
    """A fresh copy of a folder, beside it, for one round."""
    now = shutil.copytree(folder, folder.with_name(f"{folder.name}-now"))
    try:
        yield now
    finally:
        shutil.rmtree(now)


# ---- ways to be stopped ---------------------------------------------------------------------------------------------


def kill() -> None:
    """End this process without a last word."""
    os.kill(os.getpid(), signal.SIGKILL)


def answering(code: CodeType) -> bool:
    """Code of the device's answers."""
    return "/rrcollect/answer/" in code.co_filename


def at_line(
    number: int,
    act: Callable[[], None],
    inside: Callable[[CodeType], bool] = answering,
    may: Callable[[FrameType], bool] = lambda frame: True,
) -> Tracer:
    """A tracer that acts once, when the n-th line inside is about to run, or the first one after it that `may`."""
    left, acted = number, False

    def tracer(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left, acted
        if not inside(frame.f_code):
            return None
        if event == "line":
            left -= 1
            if may(frame) and left <= 0 and not acted:
                acted = True
                act()
        return tracer

    return tracer


def traced(tracer: Tracer, work: Callable[[], T]) -> T:
    """What `work` returns, run under a tracer, which the threads it starts are under as well."""
    threading.settrace(tracer)
    sys.settrace(tracer)
    try:
        return work()
    finally:
        sys.settrace(None)
        threading.settrace(None)


def killed_at_line(number: int, folder: Path, work: Work, inside: Callable[[CodeType], bool] = answering) -> Ended:
    """In a child that is killed when it is about to run its n-th line of answering, or of what is `inside`."""

    def play() -> bytes:
        return traced(at_line(number, kill, inside), work(folder))

    return in_child(play)


def struck(call: str, fault: str) -> tuple[str, ...]:
    """The words before a command by which its system calls of one name fail or kill it, as strace's `inject` says."""
    return ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:{fault}")


def full_at(size: int, work: Callable[[], bytes]) -> Ended:
    """In a child whose files cannot grow beyond so many bytes: writing fails as on a full disk, but by EFBIG."""

    def limited() -> bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return work()

    return in_child(limited)


# ---- children -------------------------------------------------------------------------------------------------------


def _begun(work: Callable[[], bytes | None], *unused: int) -> tuple[int, int]:
    """A child that works, without these files; and where what it returns is read."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for file in (read, *unused):
                os.close(file)
            os.write(write, work() or b"")
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    return child, read


def _ended(child: int, read: int) -> Ended:
    with os.fdopen(read, "rb") as said:
        told = said.read()
    return Ended(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), told)


def in_child(work: Callable[[], bytes | None]) -> Ended:
    """Work in a forked child."""
    return _ended(*_begun(work))


def race(processes: int, work: Callable[[int], bytes]) -> list[bytes]:
    """What children returned that all waited for one byte, and then worked at once; each is told its number."""
    wait, go = os.pipe()

    def waiting(number: int) -> bytes:
        os.read(wait, 1)
        return work(number)

    children = [_begun(lambda number=number: waiting(number), go) for number in range(processes)]  # type: ignore[misc]
    os.close(wait)
    os.close(go)  # end of file for all: go
    ended = [_ended(*child) for child in children]
    assert {one.status for one in ended} <= {0}
    return [one.said for one in ended]
