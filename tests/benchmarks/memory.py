"""Peak memory, each program in a process of its own.  Run: python -m tests.benchmarks.memory

Read from the kernel's high-water mark of the process's own memory (VmHWM): `ru_maxrss` counts the parent's before exec.
Of a bulk call: what it adds at its peak to a process that already holds the truths, its result included.  Of a cold
start: the peak of the whole process.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from tests.benchmarks.cold import DIFFPRIVLIB, DRAW, MULTI_FREQ_LDPY, NOTHING, OPENDP, PURE_LDP
from tests.benchmarks.measure import take_turns, tell
from tests.benchmarks.report import show
from tests.benchmarks.section import FULL, Curve, Effort, Section, compare, durations

PEAK = """
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
"""
BEFORE = """
import numpy as np
from rrcollect import optimal_design, randomise_many
n, rng = {n}, np.random.default_rng(1)
design = optimal_design(1)
p = float(design.p00)
q, r, limit = np.float32(p), np.float32(1 - p), round((1 - p) * 65536)
truths = np.zeros({size}, {kind})
truths[::3] = 1
rng.random(10); randomise_many(truths[:8].astype(bool), design); randomise_many(np.zeros(1, np.uint8), design, packed=8)
before = peak()
{work}
print(peak() - before)
"""
ALONE = "{code}\nprint(peak())"
BULK = {
    "booleans": "answers = randomise_many(truths, design)",
    "packed": "answers = randomise_many(truths, design, packed=n)",
    "NumPy shortcut, insecure": "answers = truths ^ (rng.random(n) < 1 - p)",
    "NumPy where, insecure": "answers = np.where(truths, rng.random(n) < p, rng.random(n) < 1 - p)",
    "NumPy 16-bit integers, insecure": "answers = truths ^ (rng.integers(0, 65536, n, np.uint16) < limit)",
    "NumPy one float32 draw, insecure": "answers = rng.random(n, np.float32) < np.where(truths, q, r)",
}
COLD = {
    "one randomised answer": DRAW,
    "OpenDP, one answer": OPENDP,
    "diffprivlib, one answer": DIFFPRIVLIB,
    "pure-LDP, one answer": PURE_LDP,
    "multi-freq-ldpy, one answer": MULTI_FREQ_LDPY,
    "Python alone": NOTHING,
}
ANSWERS = 30_000_000
SIZES = (1_000_000, 10_000_000, 100_000_000)
FLOORS = {("booleans", "NumPy shortcut, insecure"): 4.0, ("packed", "NumPy shortcut, insecure"): 16.0}


def megabytes(code: str) -> float | None:
    """What the program printed, kilobytes, as megabytes; None if it cannot run here."""
    done = subprocess.run([sys.executable, "-c", PEAK + code], capture_output=True, text=True, check=False)
    return int(done.stdout) / 1024 if done.returncode == 0 else None


def bulk(name: str, n: int) -> float:
    """Megabytes that a bulk call of n answers adds; at least one page, so that a ratio can be taken."""
    packed = name == "packed"
    size, kind = (n // 8, "np.uint8") if packed else (n, "bool")
    found = megabytes(BEFORE.format(n=n, size=size, kind=kind, work=BULK[name]))
    if found is None:
        raise RuntimeError(f"the program of {name!r} failed")
    return max(found, 4 / 1024)


def whole(code: str) -> float:
    """Megabytes at the peak of a process that runs the program, which is known to run here."""
    found = megabytes(ALONE.format(code=code))
    if found is None:
        raise RuntimeError("a program that ran has failed")
    return found


def section(effort: Effort = FULL) -> Section:
    n, repeats = effort.size(ANSWERS), max(1, min(3, effort.repetitions // 5))
    contestants = {name: partial(bulk, name, n) for name in BULK}
    for name, code in COLD.items():
        tell(f"memory: {name}")
        if megabytes(ALONE.format(code=code)) is not None:
            contestants[f"{name}, whole process"] = partial(whole, code)
    tell("memory: in turn")
    found = take_turns(contestants, repeats)
    pairs = [(ours, theirs) for ours in list(BULK)[:2] for theirs in list(BULK)[2:]]
    pairs += [("one randomised answer, whole process", f"{peer}, whole process") for peer in list(COLD)[1:-1]]
    missing: list[str] = []
    ratios = compare(found, {pair: FLOORS.get(pair) for pair in pairs}, missing)
    return Section(
        name="memory",
        title="Peak memory",
        text=f"The first rows: what a call for {n:,} answers adds at its peak to a process that holds the truths "
        "already, the answers included; packed answers are set against NumPy's booleans, as it draws none packed. The "
        "others: the peak of a whole process that answers one question.",
        unit="megabytes",
        rows=durations(found, 1.0),
        ratios=ratios,
        curves=[growth()] if effort.curves else [],
        notes=[f"{name}: could not be run here." for name in missing],
    )


def growth() -> Curve:
    """Megabytes against answers."""
    lines: dict[str, list[tuple[float, float]]] = {name: [] for name in BULK}
    for size in SIZES:
        tell(f"memory: {size:,} answers")
        for name, points in lines.items():
            points.append((size, bulk(name, size)))
    return Curve(
        name="memory",
        title="Memory that a bulk call adds at its peak",
        xlabel="answers in one call",
        ylabel="megabytes",
        lines=lines,
    )


if __name__ == "__main__":
    show(section())
