"""Many answers at once, against what a user would pick instead.  Run: python -m tests.benchmarks.bulk

No NumPy form is secure or exact; the peers answer one question per call, OpenDP also a vector of bits; the C loop is
the limit.  The C loop draws with the same cipher by the same law (see `tests.benchmarks.c_loop`), booleans for booleans
and packed for packed; with the cipher from a library, as ours, and with the cipher and the comparison in the same
registers, which is a harder limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from rrcollect import Design, optimal_design, randomise_many
from tests.benchmarks.bulk_profile import profile
from tests.benchmarks.c_loop import openssl_loop, register_loop
from tests.benchmarks.measure import Contestants, interleave, tell
from tests.benchmarks.peers import BIT_VECTOR, PACKAGES, bit_vector, one_at_a_time
from tests.benchmarks.report import show
from tests.benchmarks.section import FULL, Curve, Effort, Section, compare, rates

SYMMETRIC = optimal_design(1)
ASYMMETRIC = Design("0.7311", "0.8177").to_grid()
ANSWERS = 10_000_000
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
SHORTCUT, WHERE = "NumPy shortcut, insecure", "NumPy where, insecure"
INTEGERS, ONE_DRAW = "NumPy 16-bit integers, insecure", "NumPy one float32 draw, insecure"
C_OPENSSL = "C loop, OpenSSL's AES-CTR"
C_BOOLEANS, C_PACKED, C_128 = (f"C loop in registers, {form}" for form in ("booleans", "packed", "AES-128"))
FLOORS: dict[tuple[str, str], float | None] = {
    ("booleans, symmetric", SHORTCUT): 4,
    ("booleans, asymmetric", WHERE): 10,
    ("packed, symmetric", SHORTCUT): 6,
    ("packed, asymmetric", WHERE): None,
    ("booleans, symmetric", INTEGERS): None,
    ("booleans, asymmetric", ONE_DRAW): None,
    ("booleans, symmetric", "diffprivlib"): 2_000,
    ("booleans, symmetric", "OpenDP"): 50_000,
    ("packed, symmetric", BIT_VECTOR): None,
    ("booleans, symmetric", "pure-LDP"): None,
    ("booleans, symmetric", "multi-freq-ldpy"): None,
    ("booleans, symmetric", "a secrets loop"): None,
    ("booleans, symmetric", C_OPENSSL): 0.6,
    ("booleans, asymmetric", C_OPENSSL): 0.6,
    ("booleans, symmetric", C_BOOLEANS): None,
    ("booleans, asymmetric", C_BOOLEANS): 0.6,
    ("packed, symmetric", C_PACKED): 0.75,
    ("packed, asymmetric", C_PACKED): 0.75,
    ("booleans, symmetric", C_128): None,
    ("booleans, asymmetric", C_128): None,
}


def insecure_shortcut(truths: np.ndarray, design: Design) -> Callable[[], object]:
    """What one writes for a symmetric design: flip where a uniform double is small."""
    rng, flip = np.random.default_rng(1), float(1 - design.p00)
    return lambda: truths ^ (rng.random(truths.size) < flip)


def insecure_where(truths: np.ndarray, design: Design) -> Callable[[], object]:
    """What one writes for any design."""
    rng, p01, p11 = np.random.default_rng(1), float(1 - design.p00), float(design.p11)
    return lambda: np.where(truths, rng.random(truths.size) < p11, rng.random(truths.size) < p01)


def insecure_integers(truths: np.ndarray, design: Design) -> Callable[[], object]:
    """The fastest for a symmetric design: a quarter of the random bits, and probabilities rounded to 16 bits."""
    rng, limit = np.random.default_rng(1), round((1 - design.p00) * 65536)
    return lambda: truths ^ (rng.integers(0, 65536, truths.size, np.uint16) < limit)


def insecure_one_draw(truths: np.ndarray, design: Design) -> Callable[[], object]:
    """Faster for any design: one draw per answer, in single precision."""
    rng, p01, p11 = np.random.default_rng(1), np.float32(1 - design.p00), np.float32(design.p11)
    return lambda: rng.random(truths.size, np.float32) < np.where(truths, p11, p01)


def contestants(n: int) -> Contestants:
    truths = np.random.default_rng(1).random(n) < 0.3
    packed = np.packbits(truths, bitorder="little")
    made: Contestants = {
        "booleans, symmetric": (n, lambda: randomise_many(truths, SYMMETRIC)),
        "booleans, asymmetric": (n, lambda: randomise_many(truths, ASYMMETRIC)),
        "packed, symmetric": (n, lambda: randomise_many(packed, SYMMETRIC, packed=n)),
        "packed, asymmetric": (n, lambda: randomise_many(packed, ASYMMETRIC, packed=n)),
        SHORTCUT: (n, insecure_shortcut(truths, SYMMETRIC)),
        WHERE: (n, insecure_where(truths, ASYMMETRIC)),
        INTEGERS: (n, insecure_integers(truths, SYMMETRIC)),
        ONE_DRAW: (n, insecure_one_draw(truths, ASYMMETRIC)),
    }
    limits, plain, loop = ASYMMETRIC.applied, openssl_loop(), register_loop()
    if plain is not None:
        made[C_OPENSSL] = (n, lambda: plain.booleans(truths, limits))
    if loop is not None:
        made[C_BOOLEANS] = (n, lambda: loop.booleans(truths, limits))
        made[C_PACKED] = (n, lambda: loop.packed(packed, limits))
        made[C_128] = (n, lambda: loop.booleans(truths, limits, rounds=10))
    return made


def growth(sizes: tuple[int, ...]) -> Curve:
    """Million answers per second against the number of answers asked for in one call."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for size in sizes:
        n = max(128, size // 128 * 128)
        tell(f"bulk: {n:,} answers per call")
        timings = interleave(contestants(n), max(3, min(50, 20_000_000 // n)), clock=time.process_time)
        for name, t in timings.items():
            if name != C_128:
                lines.setdefault(name, []).append((n, 1e-6 / t.best))
    return Curve(
        name="bulk",
        title="Answers per second against answers per call",
        xlabel="answers in one call",
        ylabel="million per second",
        lines=lines,
    )


def section(effort: Effort = FULL) -> Section:
    n = effort.size(ANSWERS)
    peers = one_at_a_time(SYMMETRIC, 1.0, effort.size(3000)) | bit_vector(SYMMETRIC, effort.size(100_000))
    timings = interleave(contestants(n), effort.repetitions, clock=time.process_time)
    tell("bulk: the peers")
    timings |= interleave(peers, max(3, effort.repetitions // 3), clock=time.process_time)
    missing: list[str] = []
    ratios = compare(timings, FLOORS, missing)
    notes = [
        "The C loops are the limit: the same law, the same cipher (AES-256 in counter mode, keyed afresh), the same "
        "56 more bits for one byte in 256. One takes its bytes from OpenSSL, as one would write it; the other has "
        "cipher and comparison in the same registers, which neither an array library nor a cipher library can "
        "reach, and is shown with AES-128 also. Both answer by two thresholds, whatever the design.",
        "The floors against the loop in registers are for processors with vector AES. On one without it asymmetric "
        "booleans reached half of that loop: there drawing takes longer, and the passes over the arrays too.",
        "OpenDP answers bits packed in bytes too (`make_randomized_response_bitvec`), far faster than one call an "
        "answer: whoever has many truths at once should look at that ratio, which has no floor.",
    ]
    notes += [f"{name}: not installed here, or could not be compiled; not compared." for name in missing]
    return Section(
        name="bulk",
        title="Many answers at once",
        text=f"{n:,} answers in one call, 30 % of the truths yes; symmetric: ε = 1; asymmetric: p00 = 0.7311, p11 = "
        "0.8177. The NumPy forms are what one would write without this library: a shortcut that flips, which "
        "fits symmetric designs only, and `np.where`, both with doubles, as is usual. Whoever cares more for speed "
        "draws 16-bit integers, or once per answer in single precision: these are faster, less exact "
        "still, and have no floor. None is secure or exact. Peers are timed on a few thousand single calls, OpenDP's "
        f"vector of bits on {effort.size(100_000):,} at once, in turns of their own.",
        unit="million answers per second",
        rows=rates(timings),
        ratios=ratios,
        curves=[growth(SIZES)] if effort.curves else [],
        table=profile(n, SYMMETRIC, ASYMMETRIC, effort.repetitions) if effort.curves else [],
        notes=notes + (PROFILE_NOTES if effort.curves else []),
    )


PROFILE_NOTES = [
    "Where the time goes (last table, of the best repetition, in milliseconds): drawing is AES-256 alone, and no "
    "array code can avoid it; the C loop in registers hides its comparisons and its memory traffic behind the "
    "latency of AES, which passes over arrays cannot. The last column is one copy of the truths into fresh answers: "
    "the price of touching the memory at all.",
]
assert set(PACKAGES) <= {theirs for _, theirs in FLOORS}


if __name__ == "__main__":
    show(section())
