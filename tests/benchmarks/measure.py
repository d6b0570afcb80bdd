"""Timing for comparisons: interleaved repetitions in one run, best and median.

Contestants take turns in every repetition: noise of the machine hits all of them alike, and the best run is the one it
hit least.  Their order changes from one repetition to the next, so that nobody always runs after the one that returned
a large array to the system, and pays for fetching the memory anew.
"""

from __future__ import annotations

import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

Contestants = dict[str, tuple[int, Callable[[], object]]]


@dataclass(frozen=True)
class Timing:
    """Seconds per item (of memory: megabytes), best and median of the repetitions; less is better."""

    name: str
    best: float
    median: float


def interleave(
    contestants: Contestants, repetitions: int, *, clock: Callable[[], float] = time.perf_counter
) -> dict[str, Timing]:
    """Time contestants in turn; each is (items per call, function)."""

    def timed(items: int, work: Callable[[], object]) -> float:
        start = clock()
        work()
        return (clock() - start) / items

    return take_turns({name: partial(timed, *given) for name, given in contestants.items()}, repetitions)


def take_turns(contestants: Mapping[str, Callable[[], float]], repetitions: int) -> dict[str, Timing]:
    """The same for contestants that tell their own figure: seconds an item, megabytes."""
    told: dict[str, list[float]] = {name: [] for name in contestants}
    order = list(contestants)
    for turn in range(repetitions):
        random.Random(turn).shuffle(order)
        for name in order:
            told[name].append(contestants[name]())
    return {name: timing_of(name, figures) for name, figures in told.items()}


def timing_of(name: str, figures: list[float]) -> Timing:
    """The best and the median of what was told."""
    return Timing(name, min(figures), statistics.median(figures))


def tell(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def machine() -> str:
    """What this ran on, how busy it was, and when."""
    try:
        with open("/proc/cpuinfo") as info:
            model = next(line.split(":")[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    now = datetime.now(UTC)
    busy = f"load {load():.1f} per core"
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, {busy}, {now:%Y-%m-%d %H:%M} UTC"


def load() -> float:
    """The machine's load over the last minute, by core; above about 0.6 before a run the figures are noisy."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except OSError:
        return 0.0
