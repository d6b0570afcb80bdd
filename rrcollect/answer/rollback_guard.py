"""The rollback guard: an append-only file beside the ledger that remembers every state the ledger was in.

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
"""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

from rrcollect.errors import LedgerUnavailable

_LINE = 16 + 1 + 64 + 1


def link(previous: str, *parts: object) -> str:
    """The next value of the hash chain."""
    text = "\x1f".join([previous, *map(str, parts)])
    return hashlib.sha256(text.encode()).hexdigest()


class RollbackGuard:
    """The rollback guard of the ledger at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(path.name + ".guard")

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

    def append(self, number: int, chain: str) -> None:
        """Remember this state, durably."""
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                size = os.fstat(handle).st_size
                torn = size and os.pread(handle, 1, size - 1) != b"\n"
                line = (b"\n" if torn else b"") + f"{number:016d} {chain}\n".encode()
                if os.write(handle, line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(handle)
            finally:
                os.close(handle)
            if size == 0:
                sync_folder(self.path.parent)
        except OSError as error:
            raise LedgerUnavailable(f"the ledger's rollback guard cannot be written: {error.strerror}") from None


def sync_folder(path: Path) -> None:
    """So that a new file in it is found again after a crash."""
    if os.name == "posix":
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
