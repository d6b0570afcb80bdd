"""Many answers at once, against what a user would pick instead.  Run: python -m benchmarks.bulk [--answers N]

Neither NumPy form is secure or exact; OpenDP and diffprivlib answer one question a call; the C loop is the limit.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.c_loop import c_loop
from benchmarks.measure import Timing, interleave, machine
from rrcollect import Design, optimal_design, randomise, randomise_many, randomise_packed
from rrcollect.answer.draw import thresholds

SYMMETRIC = optimal_design(1)
ASYMMETRIC = Design("0.7311", "0.8177").to_grid()
FLOORS = {
    ("booleans, symmetric", "NumPy shortcut, insecure"): 4,
    ("booleans, asymmetric", "NumPy where, insecure"): 10,
    ("packed, symmetric", "NumPy shortcut, insecure"): 6,
    ("booleans, symmetric", "diffprivlib Binary"): 2_000,
    ("booleans, symmetric", "OpenDP, one call each"): 50_000,
}


def one_at_a_time() -> dict[str, tuple[int, Callable[[], object]]]:
    """The peers that answer one question a call; each is given a few thousand."""
    found: dict[str, tuple[int, Callable[[], object]]] = {}
    truths = [i % 3 == 0 for i in range(3000)]
    found["randomise, one call each"] = (3000, lambda: [randomise(t, SYMMETRIC) for t in truths])
    try:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        measurement = dp.m.make_randomized_response_bool(float(SYMMETRIC.p00))
        found["OpenDP, one call each"] = (1000, lambda: [measurement(t) for t in truths[:1000]])
    except ImportError:
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from diffprivlib.mechanisms import Binary
        binary = Binary(epsilon=1, value0="0", value1="1")
        words = ["1" if t else "0" for t in truths]
        found["diffprivlib Binary"] = (3000, lambda: [binary.randomise(w) for w in words])
    except ImportError:
        pass
    return found


def contestants(n: int) -> dict[str, tuple[int, Callable[[], object]]]:
    rng = np.random.default_rng(1)
    truths = rng.random(n) < 0.3
    packed = np.packbits(truths, bitorder="little")
    flip = float(1 - SYMMETRIC.p00)
    p01, p11 = float(1 - ASYMMETRIC.p00), float(ASYMMETRIC.p11)
    made: dict[str, tuple[int, Callable[[], object]]] = {
        "NumPy shortcut, insecure": (n, lambda: truths ^ (rng.random(n) < flip)),
        "NumPy where, insecure": (n, lambda: np.where(truths, rng.random(n) < p11, rng.random(n) < p01)),
        "booleans, symmetric": (n, lambda: randomise_many(truths, SYMMETRIC)),
        "booleans, asymmetric": (n, lambda: randomise_many(truths, ASYMMETRIC)),
        "packed, symmetric": (n, lambda: randomise_packed(packed, n, SYMMETRIC)),
        "packed, asymmetric": (n, lambda: randomise_packed(packed, n, ASYMMETRIC)),
    }
    loop = c_loop()
    if loop is not None:
        limits = thresholds(ASYMMETRIC)
        made["C loop with AES-NI"] = (n, lambda: loop(truths, limits))
    return made


def report(timings: dict[str, Timing]) -> list[str]:
    """Lines of text: speed, then the ratios with their floors."""
    lines = [f"{t.name:28s} {t.millions:10.4g} million/s (median {1e-6 / t.median:.4g})" for t in timings.values()]
    lines.append("")
    for (ours, theirs), floor in FLOORS.items():
        if theirs in timings:
            ratio = timings[theirs].best / timings[ours].best
            lines.append(f"{ours} is {ratio:,.1f} × {theirs} (floor {floor:,}){'' if ratio >= floor else '  BELOW'}")
    if "C loop with AES-NI" in timings:
        for ours in ("booleans, symmetric", "booleans, asymmetric", "packed, symmetric", "packed, asymmetric"):
            share = timings["C loop with AES-NI"].best / timings[ours].best
            lines.append(f"{ours}: {share:.0%} of the C loop")
    return lines


def main() -> list[str]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=10_000_000 // 128 * 128)
    parser.add_argument("--repetitions", type=int, default=9)
    options = parser.parse_args()
    timings = interleave(contestants(options.answers), options.repetitions)
    timings |= interleave(one_at_a_time(), 3)
    lines = [machine(), f"{options.answers:,} answers", "", *report(timings)]
    print("\n".join(lines))
    return lines


if __name__ == "__main__":
    main()
