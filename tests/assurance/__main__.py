"""The long suite.  Run: make assure, or python -m tests.assurance [NAME …] [--small] [--fresh] [--list]

Pieces already recorded for the sources as they are now are not run again, so the suite can be stopped and go on.
Exit code 1 if a claim was refuted or a planted bug was not caught.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.assurance.check import Check, Outcome, Part, Size
from tests.assurance.evidence import ROOT, Evidence, page, version
from tests.benchmarks.measure import machine

NAMES = sorted(path.parent.name for path in Path(__file__).parent.glob("*/check.py"))


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


def run_piece(check: Check, part: Part, piece: int, evidence: Evidence) -> Outcome:
    """Run one piece and record it."""
    about = f"{check.name}: {part.name}" + (f" [{piece + 1}/{part.pieces}]" if part.pieces > 1 else "")
    judged, start = version(check, evidence.root, part), time.monotonic()
    outcome = part.run(piece, Meter(about))
    seconds = time.monotonic() - start
    evidence.record(
        part,
        piece,
        outcome,
        judged,
        {
            "seconds": round(seconds, 1),
            "date": str(datetime.now(UTC).date()),
            "machine": ", ".join(machine().split(", ")[:3]),
        },
    )
    word = ("caught" if part.planted else "held") if outcome.passed else "FAILED"
    sys.stderr.write(f"{about}: {word} in {seconds:,.1f} s {outcome.remark}\n")
    return outcome


def write_page(path: Path, size: Size, folder: Path) -> None:
    """Compose the page from what is recorded."""
    found = [(check, Evidence(check, folder).rows(check.parts(size))) for check in checks()]
    fresh = path.with_suffix(".new")
    fresh.write_text(page(found), encoding="utf-8")
    fresh.replace(path)


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for and missing; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.assurance", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="checks to run (default: all)")
    parser.add_argument("--small", action="store_true", help="the size of the tests; recorded nowhere")
    parser.add_argument("--fresh", action="store_true", help="run again what is recorded")
    parser.add_argument("--list", action="store_true", help="say what there is")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        parser.error(f"unknown check {unknown[0]!r}; there are: {', '.join(NAMES)}")
    if options.list:
        sys.stdout.write("".join(f"{check.number:2d} {check.name:14s} {check.title}\n" for check in checks()))
        return 0
    size = Size.SMALL if options.small else Size.FULL
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if options.small else ROOT / "tests" / "assurance" / "results"
        good = True
        for check in checks(options.names):
            evidence = Evidence(check, folder)
            for part in check.parts(size):
                for piece in range(part.pieces):
                    if options.fresh or not evidence.done(part, piece):
                        good &= run_piece(check, part, piece, evidence).passed
                    if not options.small:
                        write_page(ROOT / "docs" / "assurance.md", size, folder)
            good &= all(row["outcome"].passed for row in evidence.rows(check.parts(size)))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
