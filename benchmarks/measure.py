"""Timing for comparisons: interleaved repetitions in one process, best and median, ratios against a named competitor.

A ratio is the competitor's time over ours, from the best of the interleaved repetitions: noise of the machine hits all
contestants alike, and the best run is the one it hit least.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class Timing:
    """Seconds per item, best and median of the repetitions."""

    name: str
    best: float
    median: float

    @property
    def millions(self) -> float:
        """Millions of items a second, at best."""
        return 1e-6 / self.best


def interleave(contestants: dict[str, tuple[int, Callable[[], object]]], repetitions: int) -> dict[str, Timing]:
    """Time contestants in turn; each is (items a call, function)."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repetitions):
        for name, (items, work) in contestants.items():
            start = time.perf_counter()
            work()
            seconds[name].append((time.perf_counter() - start) / items)
    return {name: Timing(name, min(s), statistics.median(s)) for name, s in seconds.items()}


def machine() -> str:
    """What this ran on, and when."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as info:
            model = next(line.split(":")[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    today = datetime.now(UTC).date()
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, {today}"
