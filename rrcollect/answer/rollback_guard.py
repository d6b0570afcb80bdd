"""The rollback guard: an append-only file beside the ledger that remembers how many reports there have been.

Rules
1. After a report (with its draw, if that is new) is committed and before it may leave the device, a line "number,
   chain" is appended to the guard and synced.  The chain value is a hash over all reports up to that number.
2. A ledger that has fewer reports than its guard, or another history, is an old copy or a damaged one: it is refused,
   because answering from it would draw, or report, a second time.  A ledger ahead of its guard was cut off between the
   two steps; its guard is brought up to it before anything leaves.
3. A torn last line (a crash in mid-write) does not count.  Restoring both files together cannot be seen.
"""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

from rrcollect.errors import LedgerUnavailable

__all__ = ["RollbackGuard", "link"]

_LINE = 16 + 1 + 64 + 1


def link(previous: str, *parts: object) -> str:
    """The next value of the hash chain."""
    text = "\x1f".join([previous, *map(str, parts)])
    return hashlib.sha256(text.encode()).hexdigest()


class RollbackGuard:
    """The rollback guard of the ledger at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(path.name + ".guard")

    def last(self) -> tuple[int, str] | None:
        """(number of reports, chain) of the highest complete line; None if there is no guard."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerUnavailable(f"the ledger's rollback guard cannot be read: {error.strerror}") from None
        found = None
        for line in data.split(b"\n")[:-1]:
            number, _, chain = line.decode("ascii", "replace").partition(" ")
            if len(line) == _LINE - 1 and number.isdigit() and (found is None or int(number) >= found[0]):
                found = (int(number), chain)
        return found

    def append(self, number: int, chain: str) -> None:
        """Remember this many reports, durably."""
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
                self._sync_folder()
        except OSError as error:
            raise LedgerUnavailable(f"the ledger's rollback guard cannot be written: {error.strerror}") from None

    def _sync_folder(self) -> None:
        """So that a new file is found again after a crash."""
        if os.name == "posix":
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
