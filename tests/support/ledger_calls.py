"""Ledgers whose program is killed at a system call: the writes inside one commit, which are no lines of Python.

Run by itself, under strace, it plays one scene: python -m tests.support.ledger_calls NAME FOLDER
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

from tests.support.bulk_crashing import PEOPLE, Reserve, reserve
from tests.support.ledger_crashing import SCENES, Scene

CALLS = ("pwrite64", "write", "fdatasync", "fsync", "ftruncate", "unlink")
RESERVATION = "a reservation"
ROOT = Path(__file__).resolve().parents[2]


def _played(call: str, number: int, folder: Path, name: str) -> tuple[int, bytes]:
    """Play a scene in a process that is killed at its n-th call of this name."""
    watch = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
    kill = ["-e", f"inject={call}:signal=SIGKILL:when={number}"]
    program = [sys.executable, "-m", "tests.support.ledger_calls", name, str(folder)]
    done = subprocess.run([*watch, *kill, *program], cwd=ROOT, capture_output=True, check=False, timeout=120)
    return done.returncode, done.stdout


def answer_killed_at(call: str, number: int, folder: Path, scene: Scene) -> tuple[int, bytes]:
    """As `ledger_crashing.Stop`."""
    return _played(call, number, folder, next(name for name, play in SCENES.items() if play is scene))


def reservation_killed_at(call: str, number: int, folder: Path, work: Reserve) -> tuple[int, bytes]:
    """As `bulk_crashing.Stop`, of the real reservation."""
    assert work is reserve
    return _played(call, number, folder, RESERVATION)


def stops(call: str) -> tuple[partial[tuple[int, bytes]], partial[tuple[int, bytes]]]:
    """Both, at calls of one name."""
    return partial(answer_killed_at, call), partial(reservation_killed_at, call)


if __name__ == "__main__":
    name, folder = sys.argv[1], Path(sys.argv[2])
    found = reserve(folder, PEOPLE) if name == RESERVATION else SCENES[name](folder)().to_bytes()
    sys.stdout.buffer.write(found)
