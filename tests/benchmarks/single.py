"""One answer a call, against the peers.  Run: python -m tests.benchmarks.single"""

from __future__ import annotations

import time

from rrcollect import optimal_design, randomise
from tests.benchmarks.measure import interleave
from tests.benchmarks.peers import MAKERS, PACKAGES, one_at_a_time, versions
from tests.benchmarks.report import show
from tests.benchmarks.section import FULL, Effort, Section, compare, durations

DESIGN = optimal_design(1)
OURS = "randomise"
FLOORS: dict[str, float] = {"OpenDP": 10}


def section(effort: Effort = FULL) -> Section:
    calls = effort.size(3000)
    truths = [i % 3 == 0 for i in range(calls)]
    contestants = {OURS: (calls, lambda: [randomise(t, DESIGN) for t in truths])}
    timings = interleave(contestants | one_at_a_time(DESIGN, 1.0, calls), effort.repetitions, clock=time.process_time)
    return Section(
        name="single",
        title="One answer a call",
        text="One truth in, one answer out, in a loop; ε = 1. `randomise` checks the truth and the design at every "
        "call, asks the operating system for 8 bytes and is exact. The `secrets` loop is the same draw without "
        "any check. pure-LDP and multi-freq-ldpy use generators that are not secure, and floats.",
        unit="µs an answer",
        rows=durations(timings, 1e6),
        ratios=compare(timings, {(OURS, name): FLOORS.get(name) for name in MAKERS}),
        notes=[f"Versions: {versions()}."]
        + [f"{name} could not be imported." for name in PACKAGES if name not in timings],
    )


if __name__ == "__main__":
    show(section())
