"""The long suite.  Run: make assure, or python -m tests.assurance [NAME …] [--jobs N] [--small] [--fresh] [--list]

Pieces already recorded for the sources as they are now are not run again, so the suite can be stopped and go on.
With --jobs N, pieces of checks that do not need the machine for themselves run in so many processes, first of all; the
others follow one by one.  What was found is recorded by this process alone.
Exit code 1 if a claim was refuted or a planted bug was not caught.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tests.assurance.check import Check, Figure, Outcome, Part, Size
from tests.assurance.evidence import ROOT, Evidence
from tests.assurance.page import page
from tests.assurance.pieces import NAMES, Piece, PieceResult, checks, label, ran, run_side_by_side
from tests.benchmarks.measure import machine


def record(check: Check, part: Part, piece: int, evidence: Evidence, found: PieceResult) -> Outcome:
    """Keep what one piece found, and say it."""
    outcome, judged, seconds = found
    about: dict[str, Figure] = {
        "seconds": round(seconds, 1),
        "date": str(datetime.now(UTC).date()),
        "machine": ", ".join(machine().split(", ")[:3]),
    }
    evidence.record(part, piece, outcome, judged, about)
    word = ("caught" if part.planted else "held") if outcome.passed else "FAILED"
    sys.stderr.write(f"{label(check, part, piece)}: {word} in {seconds:,.1f} s {outcome.remark}\n")
    return outcome


def run_piece(check: Check, part: Part, piece: int, evidence: Evidence) -> Outcome:
    """Run one piece and record it."""
    return record(check, part, piece, evidence, ran(check, part, piece, evidence.root))


def write_page(path: Path, size: Size, folder: Path) -> None:
    """Compose the page from what is recorded."""
    found = [(check, Evidence(check, folder).rows(check.parts(size))) for check in checks()]
    fresh = path.with_suffix(".new")
    fresh.write_text(page(found), encoding="utf-8")
    fresh.replace(path)


def run_all(chosen: list[Check], size: Size, folder: Path, jobs: int, fresh: bool) -> bool:
    """Run what is missing of these checks; whether all of it is good."""
    evidence = {check.name: Evidence(check, folder) for check in chosen}
    pieces = [(check, part, piece) for check in chosen for part in check.parts(size) for piece in range(part.pieces)]
    todo = [one for one in pieces if fresh or not evidence[one[0].name].done(one[1], one[2])]
    beside = [one for one in todo if jobs > 1 and not one[0].alone]

    def results() -> Iterator[tuple[Piece, PieceResult]]:
        if beside:
            yield from run_side_by_side(beside, size, jobs)
        for check, part, piece in todo:
            if (check, part, piece) not in beside:
                yield (check, part, piece), ran(check, part, piece, evidence[check.name].root)

    for (check, part, piece), found in results():
        record(check, part, piece, evidence[check.name], found)
        if size is Size.FULL:
            write_page(ROOT / "docs" / "assurance.md", size, folder)
    return all(row["outcome"].passed for check in chosen for row in evidence[check.name].rows(check.parts(size)))


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for and missing; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.assurance", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="checks to run (default: all)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes for what may run side by side")
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
        good = run_all(checks(options.names), size, folder, options.jobs, options.fresh)
        if not options.small:
            write_page(ROOT / "docs" / "assurance.md", size, folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
