"""The guard against slow-downs: is a ratio below its floor, or more than a third below the recorded one?

Run: make bench-check

Rules
1. Ratios only, never times: both sides of a ratio are measured now, on this machine, in turn.
2. The record, tests/benchmarks/recorded.json, is written by `make bench` and committed.  Floors stand in the benchmarks
   and are not rewritten by a run: many small falls, each recorded, still end at the floor.
3. What seems to have fallen is measured once more, and the better of the two counts: noise passes, a slow-down stays.
   What is below its floor likewise.
4. One line for each offender, and exit status 1.  A competitor that was not measured is told, not counted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.benchmarks.measure import machine, tell
from tests.benchmarks.section import GUARD, Effort, Section

RECORD = Path(__file__).resolve().parent / "recorded.json"
GUARDED = (
    *("single", "ledger", "bulk", "kinds", "cold", "memory", "estimate"),
    *("batch", "ingest", "store", "regression", "clusters"),
)
ALLOWED = 2 / 3
Record = dict[str, dict[str, float]]


def record_of(sections: Iterable[Section]) -> Record:
    """section → ratio → value."""
    return {s.name: {r.name: r.value for r in s.ratios} for s in sections}


def write_record(sections: Iterable[Section], path: Path = RECORD) -> None:
    """The ratios of a run, rounded to three figures."""
    ratios = {s: {name: float(f"{v:.3g}") for name, v in found.items()} for s, found in record_of(sections).items()}
    path.write_text(json.dumps({"machine": machine(), "ratios": ratios}, indent=1, ensure_ascii=False) + "\n")


def read_record(path: Path = RECORD) -> Record:
    found: Record = json.loads(path.read_text())["ratios"]
    return found


def fallen(recorded: Record, now: Record) -> dict[str, dict[str, float]]:
    """section → ratio → value now, of those more than a third below the record."""
    found: Record = {}
    for section, ratios in now.items():
        for name, value in ratios.items():
            if value < ALLOWED * recorded.get(section, {}).get(name, 0.0):
                found.setdefault(section, {})[name] = value
    return found


def offenders(recorded: dict[str, float], floors: dict[str, float], now: dict[str, float]) -> dict[str, str]:
    """ratio → what is wrong with it, of one section: fallen, below its floor, or both."""
    fell = fallen({"": recorded}, {"": now}).get("", {})
    found = {}
    for ratio, value in now.items():
        below = value < floors.get(ratio, 0.0)
        said = f"is {value:.3g}"
        if ratio in fell:
            said = f"fell to {value:.3g} from {recorded[ratio]:.3g} ({value / recorded[ratio]:.0%})"
        if below or ratio in fell:
            found[ratio] = said + (f", below its floor of {floors[ratio]:.3g}" if below else "")
    return found


def better(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {name: max(value, other.get(name, 0.0)) for name, value in one.items()}


def check(
    recorded: Record, names: Iterable[str], effort: Effort, measure: Callable[[str, Effort], Section]
) -> list[str]:
    """One line for each ratio that has fallen or is below its floor."""
    lines = []
    for name in names:
        tell(f"bench-check: {name}")
        section, was = measure(name, effort), recorded.get(name, {})
        now = record_of([section])[name]
        floors = {r.name: r.floor for r in section.ratios if r.floor is not None}
        if offenders(was, floors, now):
            tell(f"bench-check: {name} once more")
            now = better(now, record_of([measure(name, effort)])[name])
        for ratio in was:
            if ratio not in now:
                tell(f"bench-check: {name}: {ratio} was not measured now")
        lines += [f"{name}: {ratio} {said}" for ratio, said in offenders(was, floors, now).items()]
    return lines


def main() -> int:
    from tests.benchmarks.run import measure

    if not RECORD.exists():
        print("there is no tests/benchmarks/recorded.json: run make bench first")
        return 2
    lines = check(read_record(RECORD), GUARDED, GUARD, measure)
    for line in lines:
        print(line)
    good = "no ratio is below its floor or has fallen by more than a third"
    tell(good if not lines else f"{len(lines)} ratios have fallen or are below their floors")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
