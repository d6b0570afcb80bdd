"""Every benchmark in turn, and the page of it.

    make bench                                   everything; writes docs/performance.md, its plots and recorded.json
    python -m tests.benchmarks.run --resume      the same, without what an interrupted run had finished already
    python -m tests.benchmarks.run --only bulk   one section anew, the page from it and from the saved others
    python -m tests.benchmarks.run --page        nothing is measured, the page is composed from what was saved

A section's findings are saved in .bench/ as soon as it is done; the page and the record are composed from these files.
Progress is told on stderr, figures below their floor at the end; with one of these the exit status is 1, after
everything has been written.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from tests.benchmarks import report
from tests.benchmarks.check import write_record
from tests.benchmarks.measure import load, machine, tell
from tests.benchmarks.section import FULL, Effort, Section

ROOT = Path(__file__).resolve().parents[2]
SAVED = ROOT / ".bench"
NAMES = (
    "single",
    "ledger",
    "bulk",
    "kinds",
    "cold",
    "memory",
    "estimate",
    "batch",
    "ingest",
    "store",
    "regression",
    "clusters",
)


def measure(name: str, effort: Effort) -> Section:
    """One section, with the machine and the time it took."""
    module = importlib.import_module(f"tests.benchmarks.{name}")
    start, where = time.perf_counter(), machine()
    found: Section = module.section(effort)
    return found.model_copy(update={"machine": where, "seconds": time.perf_counter() - start})


def measured(names: Iterable[str], effort: Effort, folder: Path, *, resume: bool) -> list[Section]:
    """The named sections, each saved when it is done; with `resume` those saved already are taken as they are."""
    found = []
    for name in names:
        section = Section.load(folder, name) if resume else None
        if section is None:
            tell(f"== {name}")
            section = measure(name, effort)
            section.save(folder)
            tell(f"== {name}: {section.seconds:.0f} s")
        found.append(section)
    return found


def below_floor(sections: Iterable[Section]) -> list[str]:
    """One line for each figure below its floor; these make the run fail."""
    return [
        f"BELOW ITS FLOOR  {section.name}: {r.name} = {r.value:.3g}, floor {r.floor:.3g}"
        for section in sections
        for r in section.ratios
        if r.below
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resume", action="store_true", help="keep the sections an interrupted run has saved")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help=f"measure only: {', '.join(NAMES)}")
    parser.add_argument("--page", action="store_true", help="measure nothing: the page from what was saved")
    given = parser.parse_args(arguments)
    if not given.page:
        measure_all(given.only, resume=given.resume)
    sections = [s for s in (Section.load(SAVED, name) for name in NAMES) if s is not None]
    if not sections:
        print("nothing is saved yet: run make bench first")
        return 2
    report.write(sections, ROOT / "docs", "make bench")
    write_record(sections)
    tell("wrote docs/performance.md, docs/performance/*.svg and tests/benchmarks/recorded.json")
    lines = below_floor(sections)
    print("\n".join(lines) if lines else "all floors that were measured are kept")
    return 1 if lines else 0


def measure_all(only: list[str] | None, *, resume: bool) -> None:
    """Measure and save; without `only` and `resume` everything saved before is dropped first."""
    if load() > 0.6:
        tell(f"the machine is busy (load {load():.1f} per core): expect noise")
    if not resume and not only:
        for name in NAMES:
            (SAVED / f"{name}.json").unlink(missing_ok=True)
    measured(only or NAMES, FULL, SAVED, resume=resume)


if __name__ == "__main__":
    sys.exit(main())
