"""The rollback guard: a file beside the ledger that remembers the last states the ledger was in.

Rules
1. Each transaction that changes the ledger has a serial number and a chain value: a hash over the content after it and
   the chain before it.  After the commit, and before anything may leave the device, a line "serial, chain" is appended
   to the guard and synced.  So all that the ledger holds is covered: draws, reports and what became of them, words,
   survey versions, what was declined or withdrawn.
2. A ledger that is behind its guard, or has another chain, is an old copy or a damaged one: it is refused, because
   answering from it would draw, or report, a second time.  A ledger one step ahead was cut off between commit and
   guard; the guard is brought up to it before anything else is done.
3. A ledger has a guard from its beginning: one without is refused.
4. A torn last line (a crash in mid-write) does not count.  Restoring both files together cannot be seen.
5. Every chain value is a hash over all earlier ones, so the last lines say as much as all of them.  A guard of more
   than `MOST_LINES` lines is cut down to its last `KEPT_LINES`: written over its beginning, synced, then cut off behind
   them.  Whatever is cut short there leaves the last lines at the end, where they count.  The file stays the same file,
   by whatever path it is reached.  Only the program that holds the guard's lock does this.
7. The guard is the arbiter between programs.  SQLite keeps programs apart by the path of the file (its log has that
   name); hard links, and files mounted one by one, are several paths to one ledger.  So the guard is locked before a
   transaction begins and until its connection is closed (`locked`), and read back after a line is appended: a line of
   this serial number with another chain means that somebody else was first, and nothing is handed out.
6. A file that we wrote has a time of its own (`stamped`), which no other write can leave on it: see `file`, rule 7.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rrcollect.errors import LedgerRestored, LedgerUnavailable

fcntl: Any = None
with suppress(ImportError):  # Windows, where SQLite's own locks remain, and the guard is read back
    import fcntl


_LINE = 16 + 1 + 64 + 1
MOST_LINES, KEPT_LINES = 256, 64

Stat = tuple[int, int, int, int, int]
"""Device, inode, size, and the times of the last change of content and of anything else, in nanoseconds."""


def link(previous: str, *parts: object) -> str:
    """The next value of the hash chain."""
    text = "\x1f".join([previous, *map(str, parts)])
    return hashlib.sha256(text.encode()).hexdigest()


def stat_of(file: int | Path) -> Stat | None:
    """What the system says of a file without reading it; None if there is none."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def stamped(file: int | Path) -> Stat | None:
    """What the system says of a file that is given the present second, but random nanoseconds, as its time.

    Clocks of file systems may tick a few hundred times a second only.  Without the stamp, a change within one tick of
    ours, and of the same size, could not be seen by `stat_of`."""
    second = 1_000_000_000
    moment = time.time_ns() // second * second + int.from_bytes(os.urandom(8)) % second  # one call, whatever comes
    try:
        os.utime(file, ns=(moment, moment))
    except (OSError, NotImplementedError):
        return None
    found = stat_of(file)
    return found if found is not None and found[3] == moment else None


class RollbackGuard:
    """The rollback guard of the ledger at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(path.name + ".guard")
        self._mine = threading.local()  # `held`: whether this thread has it locked

    def lines(self) -> dict[int, str] | None:
        """The chain by serial number, of all complete lines; None if there is not one."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerUnavailable(f"the ledger's rollback guard cannot be read: {error.strerror}") from None
        found = {}
        for line in data.split(b"\n")[:-1]:
            number, _, chain = line.decode("ascii", "replace").partition(" ")
            if len(line) == _LINE - 1 and number.isdigit():
                found[int(number)] = chain
        return found or None

    def last(self) -> tuple[int, str] | None:
        """(serial, chain) of the highest complete line; None if there is not one."""
        found = self.lines()
        return max(found.items()) if found is not None else None

    @contextmanager
    def locked(self, patience: float) -> Iterator[None]:
        """Keep all other programs and threads from changing the ledger, by whatever path (rule 7); whoever has it is
        waited for, so many seconds."""
        if fcntl is None or getattr(self._mine, "held", False):
            yield
            return
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise LedgerUnavailable(f"the ledger's rollback guard cannot be opened: {error.strerror}") from None
        try:
            _wait_for_lock(handle, patience)
            self._mine.held = True
            try:
                yield
            finally:
                self._mine.held = False
                fcntl.flock(handle, fcntl.LOCK_UN)  # also if a fork has the handle too
        finally:
            os.close(handle)

    def append(self, number: int, chain: str) -> Stat | None:
        """Remember this state, durably.  Returns what the system says of the file then."""
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                size = os.fstat(handle).st_size
                torn = size and os.pread(handle, 1, size - 1) != b"\n"
                _write(handle, (b"\n" if torn else b"") + _spelled(number, chain))
                told = stamped(handle)
                found = b"\n" + os.pread(handle, os.fstat(handle).st_size, 0)
            finally:
                os.close(handle)
            if size == 0:
                sync_folder(self.path.parent)
        except OSError as error:
            raise LedgerUnavailable(f"the ledger's rollback guard cannot be written: {error.strerror}") from None
        made = set(re.findall(rb"\n%016d ([^\n]{64})(?=\n)" % number, found))  # by whole lines
        if number and made != {chain.encode()}:  # nothing was drawn by number 0: a ledger may begin again
            raise LedgerRestored(
                f"another program has made change {number} of the ledger, by another path to its files; nothing is "
                "handed out. Use one path to a ledger"
            )
        return told

    def compact(self, told: Stat | None) -> Stat | None:
        """Cut a guard that has grown long down to its last lines (rule 5).  The caller holds its lock, and knows what
        the system says of the file; returned is what it says then."""
        if told is None or told[2] <= MOST_LINES * _LINE:
            return told
        kept = b"".join(_spelled(*line) for line in sorted((self.lines() or {}).items())[-KEPT_LINES:])
        try:
            handle = os.open(self.path, os.O_RDWR)
            try:
                os.pwrite(handle, kept, 0)
                os.fsync(handle)
                os.ftruncate(handle, len(kept))
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise LedgerUnavailable(f"the ledger's rollback guard cannot be written: {error.strerror}") from None
        return stamped(self.path)


def _wait_for_lock(handle: int, patience: float) -> None:
    """Lock the file, within `patience` seconds."""
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise LedgerUnavailable("the ledger is in use: another program has locked its guard") from None
            time.sleep(0.001)
        except OSError as error:
            raise LedgerUnavailable(f"this file system cannot lock the ledger's guard: {error.strerror}") from None


def _spelled(number: int, chain: str) -> bytes:
    return f"{number:016d} {chain}\n".encode()


def _write(handle: int, data: bytes) -> None:
    """Write all of it, durably."""
    if os.write(handle, data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(handle)


def append(path: Path, data: bytes) -> None:
    """Write at the end of a file, whole and durably; made if it is not there."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        _write(handle, data)
    finally:
        os.close(handle)


def sync_folder(path: Path) -> None:
    """So that a new file in it is found again after a crash."""
    if os.name == "posix":
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
