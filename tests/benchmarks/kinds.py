"""Choices and numbers against what one would write with NumPy, and OpenDP.  Run: python -m tests.benchmarks.kinds"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from rrcollect import (
    SetDesign,
    optimal_design,
    randomise,
    randomise_many,
)
from tests.benchmarks.measure import Contestants, interleave, tell
from tests.benchmarks.report import show
from tests.benchmarks.section import FULL, Effort, Section, compare, rates
from tests.inside.design import made_for

ANSWERS = 1 << 21
SINGLE = SetDesign(4, 1, "1/2").to_grid()
ONE, TEN, HUNDRED = "one option of 4", "3 options of 10", "27 options of 100"
INT64, UINT8, PARTITION, UNARY = "NumPy, int64", "NumPy, uint8", "NumPy, argpartition", "NumPy, unary encoding"
NUMBER, NUMPY_NUMBER = "a number", "NumPy, a number"
OPENDP, CALL, BIT = "OpenDP", "one choice per call", "one yes/no per call"
FLOORS: dict[tuple[str, str], float | None] = {
    (ONE, INT64): 5,
    (ONE, UINT8): 4,
    (ONE, OPENDP): 10_000,
    (TEN, f"{PARTITION}, 3 of 10"): 20,
    (TEN, f"{UNARY}, 10"): 5,
    (HUNDRED, f"{PARTITION}, 27 of 100"): 8,
    (HUNDRED, f"{UNARY}, 100"): 1.8,
    (NUMBER, NUMPY_NUMBER): 1.2,
    (CALL, BIT): 1 / 1.6,
}


def insecure_response(truths: np.ndarray, design: SetDesign) -> Callable[[], object]:
    """k-ary response as one writes it: keep the truth, or another option, in the integers of the truths."""
    rng, k, keep, kind = np.random.default_rng(1), design.options, float(design.p), truths.dtype

    def answers() -> object:
        other = rng.integers(1, k, truths.size, kind)
        return np.where(rng.random(truths.size) < keep, truths, (truths + other) % kind.type(k))

    return answers


def insecure_selection(n: int, k: int, w: int) -> Callable[[], object]:
    """Some of the options by the least of random keys, without even looking at the truth."""
    rng = np.random.default_rng(1)
    return lambda: np.argpartition(rng.random((n, k), np.float32), w - 1, axis=1)[:, :w]


def insecure_unary(truths: np.ndarray, k: int) -> Callable[[], object]:
    """Optimised unary encoding: a bit per option, each by a draw of its own in single precision."""
    rng, stray = np.random.default_rng(1), np.float32(1 / (math.e + 1))

    def answers() -> object:
        bits = rng.random((truths.size, k), np.float32) < stray
        bits[np.arange(truths.size), truths] = rng.random(truths.size) < 0.5
        return bits

    return answers


def opendp(calls: int) -> Contestants:
    """OpenDP's k-ary response, one call per answer; nothing if it cannot be imported."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return {}
    dp.enable_features("contrib")
    answer = dp.m.make_randomized_response([0, 1, 2, 3], prob=0.5)
    return {OPENDP: (calls, lambda: [answer(i % 4) for i in range(calls)])}


def contestants(n: int) -> Contestants:
    """Everybody, each with truths of the same law."""
    rng = np.random.default_rng(1)
    four, ten, hundred = (rng.integers(0, k, n) for k in (4, 10, 100))
    by_ten, by_hundred, number = optimal_design(1, options=10), made_for(1, 100, 27), optimal_design(1)
    assert (by_ten.size, by_hundred.size) == (3, 27)
    few, numbers, small = n // 8, rng.random(n), four.astype(np.uint8)
    return {
        ONE: (n, lambda: randomise_many(small, SINGLE)),
        INT64: (n, insecure_response(four, SINGLE)),
        UINT8: (n, insecure_response(small, SINGLE)),
        TEN: (n, lambda: randomise_many(ten, by_ten)),
        f"{PARTITION}, 3 of 10": (few, insecure_selection(few, 10, 3)),
        f"{UNARY}, 10": (n, insecure_unary(ten, 10)),
        HUNDRED: (few, lambda: randomise_many(hundred[:few], by_hundred)),
        f"{PARTITION}, 27 of 100": (few, insecure_selection(few, 100, 27)),
        f"{UNARY}, 100": (few, insecure_unary(hundred[:few], 100)),
        NUMBER: (n, lambda: randomise_many(numbers, number, bounds=(0, 1))),
        NUMPY_NUMBER: (n, lambda: rng.random(n) < 0.2689 + 0.4622 * numbers),
    }


def single(calls: int) -> Contestants:
    """One answer per call: a choice of one option, beside a yes/no."""
    yes_no = optimal_design(1)
    return {
        CALL: (calls, lambda: [randomise(i % 4, SINGLE) for i in range(calls)]),
        BIT: (calls, lambda: [randomise(i % 4 == 0, yes_no) for i in range(calls)]),
    }


def section(effort: Effort = FULL) -> Section:
    n = max(1 << 12, effort.size(ANSWERS))
    timings = interleave(contestants(n), max(3, effort.repetitions // 2), clock=time.process_time)
    tell("kinds: one answer per call")
    timings |= interleave(single(effort.size(3000)), effort.repetitions, clock=time.process_time)
    timings |= interleave(opendp(effort.size(500)), max(3, effort.repetitions // 5), clock=time.process_time)
    missing: list[str] = []
    return Section(
        name="kinds",
        title="Choices and numbers",
        text=f"{n:,} answers in one call (fewer of the widest): a choice of 4 options by k-ary response, sets of 3 "
        "of 10 and of 27 of 100 options at ε = 1, and a number by one bit. The NumPy forms are what one would write; "
        "none is secure or exact, and the selection by keys does not even look at the truth. Optimised unary encoding "
        "needs more people for the same bars. One answer per call: a choice beside a yes/no. How quickly sets are "
        "counted is among the batch tallies.",
        unit="million answers per second",
        rows=rates(timings),
        ratios=compare(timings, FLOORS, missing),
        notes=[f"{name}: not installed here; not compared." for name in missing],
    )


if __name__ == "__main__":
    show(section())
