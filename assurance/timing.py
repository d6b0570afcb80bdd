"""Does the time of an answer depend on the truth?  Helper of the check `traces`.

As dudect does it: truths in random order, each call timed, the slowest tenth cut off, Welch's t between the truths; on
draws that both truths answer alike, since time may depend on the answer, which is sent.  For the single path a yes is
rare, so that a processor that predicts the truth is surprised by one.

A million calls show differences of single nanoseconds, which CPython does not let us rule out; t is reported.  The
claim is that the truths differ by less than 1/200 of a call: refuted if the difference exceeds that by 7 standard
errors (false alarms of 1e-12 for a normal mean, even at the limit itself).  An index by the truth (15 to 25 ns of
2 µs) and `isinstance(truth, bool)` (9 to 18 ns longer for True) were found by it.  Of the whole answer both the wall
clock and the thread's own clock are judged.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import SystemRandom

import numpy as np

from assurance.check import Figure, Outcome, Step
from assurance.scratch import scratch
from assurance.traced_answers import DESIGNS, answers, leaking, warm
from rrcollect import Design, randomise
from rrcollect.design.matrix import GRID

__all__ = ["Difference", "single_path", "whole_answer"]

Run = Callable[[int, Step], Outcome]
LIMIT, RARE = 7.0, 0.125


@dataclass(frozen=True)
class Difference:
    """Mean time for yes less mean time for no, its standard error, and the median time of a call."""

    mean: float
    error: float
    call: float

    @classmethod
    def of(cls, times: Sequence[float], truths: Sequence[bool]) -> Difference:
        """The slowest tenth of all is left out."""
        seconds, yes = np.array(times, np.float64), np.array(truths, np.bool_)
        kept = seconds <= np.quantile(seconds, 0.9)
        a, b = seconds[kept & ~yes], seconds[kept & yes]
        error = float(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size) ** 0.5
        return cls(float(b.mean() - a.mean()), error, float(np.median(seconds)))

    @property
    def small(self) -> bool:
        """Not beyond 1/200 of a call."""
        return abs(self.mean) - LIMIT * self.error < self.call / 200

    def figures(self, clock: str) -> dict[str, Figure]:
        """For the page."""
        t = self.mean / self.error
        return {
            f"median call, {clock}": f"{self.call:,.5g} µs",
            f"yes less no, {clock}": f"{self.mean:,.4f} ± {self.error:,.4f} µs (Welch's t = {t:.2f})",
        }


def alike(design: Design) -> bytes:
    """A random draw that both truths answer alike."""
    while True:
        drawn = secrets.token_bytes(8)
        if design.numerators[1] <= (number := int.from_bytes(drawn, "big")) or number < GRID - design.numerators[0]:
            return drawn


def single_path(how_many: int, delay: bool = False) -> Run:
    """`randomise` on random draws."""

    def run(piece: int, step: Step) -> Outcome:
        random, clock, design = SystemRandom(), time.perf_counter_ns, DESIGNS[1]
        truths = [random.random() < RARE for _ in range(how_many)]
        draws = [alike(design) for _ in range(1024)]
        times = []
        for number, truth in enumerate(truths):
            drawn = draws[number % 1024]
            start = clock()
            randomise(truth, design, source=lambda n, drawn=drawn: drawn)  # type: ignore[misc]
            if delay and truth:
                sum(range(100))
            times.append((clock() - start) / 1000)
            if number % 4096 == 0:
                step(number, how_many)
        found = Difference.of(times, truths)
        return Outcome(found.small, {"calls": how_many, **found.figures("wall clock")})

    return run


def whole_answer(how_many: int, kind: str = "") -> Run:
    """`Client.answer` on draws that both truths answer alike."""

    def run(piece: int, step: Step) -> Outcome:
        random = SystemRandom()
        truths = [random.random() < 0.5 for _ in range(how_many)]
        wall, own = [], []
        with scratch() as folder:
            warm(folder)
            with leaking(kind):
                for number, answer in enumerate(answers(folder, how_many, alike)):
                    start = time.perf_counter(), time.thread_time()
                    answer(truths[number])
                    wall.append(1e6 * (time.perf_counter() - start[0]))
                    own.append(1e6 * (time.thread_time() - start[1]))
                    shutil.rmtree(folder / f"{number:05d}")
                    step(number + 1, how_many)
        found = {"wall clock": Difference.of(wall, truths), "thread's clock": Difference.of(own, truths)}
        figures: dict[str, Figure] = {"answers": how_many}
        for clock, difference in found.items():
            figures |= difference.figures(clock)
        return Outcome(all(difference.small for difference in found.values()), figures)

    return run
