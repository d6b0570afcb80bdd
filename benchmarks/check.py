"""The guard against slow-downs: has a ratio fallen more than a third below the recorded one?  Run: make bench-check

Rules
1. Ratios only, never times: both sides of a ratio are measured now, on this machine, in turn.
2. The record, benchmarks/recorded.json, is written by `make bench` and committed.
3. What seems to have fallen is measured once more, and the better of the two counts: noise passes, a slow-down stays.
4. One line for each offender, and exit status 1.  A competitor that was not measured is told, not counted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.measure import machine, tell
from benchmarks.section import GUARD, Effort, Section

RECORD = Path(__file__).resolve().parent / "recorded.json"
GUARDED = ("single", "bulk", "cold", "memory", "estimate", "batch", "ingest")
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


def better(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {name: max(value, other.get(name, 0.0)) for name, value in one.items()}


def check(
    recorded: Record, names: Iterable[str], effort: Effort, measure: Callable[[str, Effort], Section]
) -> list[str]:
    """One line for each ratio that has fallen."""
    lines = []
    for name in names:
        tell(f"bench-check: {name}")
        now = record_of([measure(name, effort)])
        if fallen(recorded, now):
            tell(f"bench-check: {name} once more")
            now[name] = better(now[name], record_of([measure(name, effort)])[name])
        for ratio in recorded.get(name, {}):
            if ratio not in now[name]:
                tell(f"bench-check: {name}: {ratio} was not measured now")
        for ratio, value in fallen(recorded, now).get(name, {}).items():
            was = recorded[name][ratio]
            lines.append(f"{name}: {ratio} fell to {value:.3g} from {was:.3g} ({value / was:.0%})")
    return lines


def main() -> int:
    from benchmarks.run import measure

    if not RECORD.exists():
        print("there is no benchmarks/recorded.json: run make bench first")
        return 2
    lines = check(read_record(RECORD), GUARDED, GUARD, measure)
    for line in lines:
        print(line)
    tell("no ratio has fallen by more than a third" if not lines else f"{len(lines)} ratios have fallen")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
