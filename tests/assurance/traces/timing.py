"""Does the time of an answer depend on the truth?  Helper of the check `traces`.

As dudect does it: truths in random order, each call timed, and the means of both truths compared on all the times and
on what is left when the slowest thousandth, hundredth, tenth or half is cut off.  A slow path that is rare shows in the
wide crops and a small difference, which the noise of a busy machine hides there, in the narrow ones.  Draws are such
that both truths answer alike, since time may depend on the answer, which is sent.  For the single path a yes is rare,
so that a processor that predicts the truth is surprised by one.

The claim is that the truths differ by less than 1/200 of a call: CPython does not let us rule out single nanoseconds.
Refuted: on some crop the difference exceeds that by 10 standard errors.  The standard error here is the one over all
orders of the truths, with the times as they are.  If the truths have no say in the times, then by the bounds of
Hoeffding (a yes in two) and of Kearns and Saul (one in eight) a crop is more than 10 of them off with a chance below
2e-12, whatever the distribution of the times: 1e-11 for all crops.
Shown: when the slowest tenth is cut off the difference is within the limit by 5 of Welch's standard errors (wrong with
a chance of 3e-7 for a normal mean); where a busy machine makes that too noisy to tell, when the slower half is cut off.
This is asked of every clock at full size.

An index by the truth (15 to 25 ns of 2 µs), `isinstance(truth, bool)` (9 to 18 ns longer for True) and the comparison
`type(truth) is bool` (7 ns of 600) were found by it.
Of the whole answer both the wall clock and the thread's own clock are judged.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import SystemRandom

import numpy as np

from rrcollect import Design, randomise
from tests.assurance.check import Figure, Outcome, Step
from tests.assurance.scratch import scratch
from tests.assurance.traces.answers import DESIGNS, answers, leaking, warm
from tests.inside.design import GRID

Run = Callable[[int, Step], Outcome]
REFUTED, SHOWN = 10.0, 5.0  # standard errors
RARE = 0.125
CROPS = {1.0: "all", 0.999: "99.9 %", 0.99: "99 %", 0.9: "90 %", 0.5: "50 %"}
SHOWING = (0.9, 0.5)


@dataclass(frozen=True)
class Difference:
    """Mean time for yes less mean time for no, with its standard errors, and the median time of a call.

    `error` is Welch's; `shuffled` the one over all orders of the truths."""

    mean: float
    error: float
    shuffled: float
    call: float

    @classmethod
    def of(cls, times: Sequence[float], truths: Sequence[bool]) -> dict[float, Difference]:
        """By crop: the share of the fastest calls that is kept.  A crop without one of the truths is left out."""
        seconds, yes = np.array(times, np.float64), np.array(truths, np.bool_)
        call, found = float(np.median(seconds)), {}
        for crop in CROPS:
            kept = seconds <= np.quantile(seconds, crop)
            a, b = seconds[kept & ~yes], seconds[kept & yes]
            if min(a.size, b.size) >= 2:
                error = float(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size) ** 0.5
                shuffled = float(seconds[kept].var(ddof=1) * (1 / a.size + 1 / b.size)) ** 0.5
                found[crop] = cls(float(b.mean() - a.mean()), error, shuffled, call)
        return found

    @property
    def refuted(self) -> bool:
        """Beyond 1/200 of a call."""
        return abs(self.mean) - REFUTED * self.shuffled > self.call / 200

    @property
    def shown(self) -> bool:
        """Within 1/200 of a call."""
        return abs(self.mean) + SHOWN * self.error < self.call / 200

    def __str__(self) -> str:
        return f"{self.mean:,.4f} ± {self.error:,.4f} µs (Welch's t = {self.mean / self.error:.2f})"


def judged(clocks: Mapping[str, Sequence[float]], truths: Sequence[bool], strict: bool) -> Outcome:
    """Not refuted by any clock on any crop; `strict`: and shown by every clock."""
    figures: dict[str, Figure] = {}
    wrong = []
    for clock, times in clocks.items():
        crops = Difference.of(times, truths)
        figures[f"median call, {clock}"] = f"{crops[1.0].call:,.5g} µs"
        for crop, found in crops.items():
            figures[f"yes less no, {clock}, {CROPS[crop]}"] = str(found)
            if found.refuted:
                wrong.append(f"{clock}: the truths differ on {CROPS[crop]} of the calls")
        by = [CROPS[crop] for crop in SHOWING if crop in crops and crops[crop].shown]
        figures[f"less than 1/200, {clock}"] = f"shown on {by[0]} of the calls" if by else "not shown"
        if strict and not by:
            wrong.append(f"{clock}: a difference below 1/200 was not shown")
    return Outcome(not wrong, figures, "; ".join(wrong))


def alike(design: Design) -> bytes:
    """A random draw that both truths answer alike."""
    while True:
        drawn = secrets.token_bytes(8)
        if design.numerators[1] <= (number := int.from_bytes(drawn, "big")) or number < GRID - design.numerators[0]:
            return drawn


LEAKS: dict[str, tuple[float, Callable[[], object]]] = {
    "": (0.0, int),
    "delay": (1.0, lambda: sum(range(100))),
    "slight delay": (1.0, int),
    "rare slow path": (0.02, lambda: sum(range(8_000))),
}
"""What is planted into the single path: for which share of the yeses, and what it does."""


def single_path(how_many: int, kind: str = "", *, strict: bool = False) -> Run:
    """`randomise` on random draws; `kind` is one of LEAKS."""

    def run(piece: int, step: Step) -> Outcome:
        random, clock, design = SystemRandom(), time.perf_counter_ns, DESIGNS[1]
        truths = [random.random() < RARE for _ in range(how_many)]
        draws = [alike(design) for _ in range(1024)]
        share, leak = LEAKS[kind]
        slow = [truth and random.random() < share for truth in truths]
        times = []
        for number, truth in enumerate(truths):
            drawn = draws[number % 1024]
            start = clock()
            randomise(truth, design, source=lambda n, drawn=drawn: drawn)  # type: ignore[misc]
            if slow[number]:
                leak()
            times.append((clock() - start) / 1000)
            if number % 4096 == 0:
                step(number, how_many)
        found = judged({"wall clock": times}, truths, strict)
        return Outcome(found.passed, {"calls": how_many, **found.figures}, found.remark)

    return run


def whole_answer(how_many: int, kind: str = "", *, strict: bool = False) -> Run:
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
        found = judged({"wall clock": wall, "thread's clock": own}, truths, strict)
        return Outcome(found.passed, {"answers": how_many, **found.figures}, found.remark)

    return run
