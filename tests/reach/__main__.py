"""What is heavy or rare, run for real.  Run: make reach, or python -m tests.reach [NAME …] [--page] [--list]

Each part runs in an environment of its own, if it needs one.  What it found is recorded, and docs/reach.md is written
from the records.
--page only writes the page anew.  Exit code 1 if a part that was run did not hold.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tests.assurance.evidence import ROOT
from tests.reach.environment import made
from tests.reach.page import page
from tests.reach.part import Part
from tests.reach.rows import NOT_RUN, PARTS
from tests.reach.running import RESULTS, record, recorded, run

PAGE = ROOT / "docs" / "reach.md"


def reach(
    chosen: list[Part], environment: Callable[[Part], Path], folder: Path = RESULTS, out: Path = PAGE,
    parts: tuple[Part, ...] = PARTS,
) -> bool:  # fmt: skip
    """Run these parts, record them and write the page; whether all held."""
    good = True
    for part in chosen:
        found, said = run(part, environment)
        record(found, folder)
        good &= found["held"]
        word = "held" if found["held"] else f"FAILED\n{said}"
        sys.stderr.write(f"{part.name}: {found['said']} in {found['seconds']:.0f} s: {word}\n")
        out.write_text(page(parts, recorded(parts, folder), NOT_RUN), encoding="utf-8")
    return good


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.reach", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts to run (default: all)")
    parser.add_argument("--page", action="store_true", help="run nothing: write the page from what is recorded")
    parser.add_argument("--list", action="store_true", help="say what there is")
    options = parser.parse_args(arguments)
    known = {part.name: part for part in PARTS}
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; there are: {', '.join(known)}")
    if options.list:
        sys.stdout.write("".join(f"{part.name:16s} {part.title}\n" for part in PARTS))
        return 0
    if options.page:
        PAGE.write_text(page(PARTS, recorded(PARTS), NOT_RUN), encoding="utf-8")
        return 0
    return 0 if reach([known[name] for name in options.names] or list(PARTS), made) else 1


if __name__ == "__main__":
    sys.exit(main())
