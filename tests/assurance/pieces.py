"""The checks, and running one piece of one: here, or in a process of a pool."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from tests.assurance.check import Check, Outcome, Part, Size
from tests.assurance.evidence import ROOT, version

NAMES = sorted(path.parent.name for path in Path(__file__).parent.glob("*/check.py"))
Piece = tuple[Check, Part, int]
PieceResult = tuple[Outcome, dict[str, str], float]
"""What a piece found, the version of the sources it judged, and its seconds."""


def checks(names: list[str] | None = None) -> list[Check]:
    """The checks, in the order of their numbers."""
    found = [importlib.import_module(f"tests.assurance.{name}.check").CHECK for name in names or NAMES]
    return sorted(found, key=lambda check: check.number)


class Meter:
    """Where a piece is, on standard error: a line that moves on a terminal, one per minute elsewhere."""

    def __init__(self, label: str) -> None:
        self.label, self.start, self.shown = label, time.monotonic(), 0.0
        self.every = 0.2 if sys.stderr.isatty() else 60.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.shown < self.every:
            return
        self.shown, spent = now, now - self.start
        left = f", {spent / done * (total - done):,.0f} s left" if done else ""
        end = "\r" if sys.stderr.isatty() else "\n"
        sys.stderr.write(f"{self.label}: {done:,} of {total:,}{left}      {end}")
        sys.stderr.flush()


def label(check: Check, part: Part, piece: int) -> str:
    """A piece in words."""
    return f"{check.name}: {part.name}" + (f" [{piece + 1}/{part.pieces}]" if part.pieces > 1 else "")


def ran(check: Check, part: Part, piece: int, root: Path = ROOT) -> PieceResult:
    """Run one piece."""
    judged, start = version(check, root, part), time.monotonic()
    outcome = part.run(piece, Meter(label(check, part, piece)))
    return outcome, judged, time.monotonic() - start


def ran_elsewhere(name: str, size: Size, number: int, piece: int) -> PieceResult:
    """Run one piece in a process of a pool, where functions do not go but names do."""
    (check,) = checks([name])
    return ran(check, check.parts(size)[number], piece)


def run_side_by_side(todo: list[Piece], size: Size, jobs: int) -> Iterator[tuple[Piece, PieceResult]]:
    """Run pieces in so many processes, one thread each; each comes when it has ended."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        started = {}
        for check, part, piece in todo:
            number = [one.name for one in check.parts(size)].index(part.name)
            started[pool.submit(ran_elsewhere, check.name, size, number, piece)] = (check, part, piece)
        try:
            for done in as_completed(started):
                yield started[done], done.result()
        finally:
            pool.shutdown(cancel_futures=True)
