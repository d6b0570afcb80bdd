"""Who else answers a yes/no question by randomised response, one question per call; each is used as its manual shows.

    OpenDP             make_randomized_response_bool; secure and exact, checked as a measurement
                       make_randomized_response_bitvec, the only one here that answers many truths in one call
    diffprivlib        mechanisms.Binary; a secure generator, floats
    pure-LDP           DEClient of two values; Python's `random`
    multi-freq-ldpy    GRR_Client of two values; NumPy's generator, compiled by Numba
    a secrets loop     what one writes by hand: 64 secure bits against a threshold

A peer that cannot be imported is left out, and the run says so.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from rrcollect import Design
from tests.benchmarks.measure import Contestants

PACKAGES = {
    "OpenDP": "opendp",
    "diffprivlib": "diffprivlib",
    "pure-LDP": "pure-ldp",
    "multi-freq-ldpy": "multi-freq-ldpy",
}
BIT_VECTOR = "OpenDP, a vector of bits"
Answer = Callable[[bool], object]


def opendp(design: Design, epsilon: float) -> Answer:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp.m.make_randomized_response_bool(float(design.p00))


def diffprivlib(design: Design, epsilon: float) -> Answer:
    from diffprivlib.mechanisms import Binary

    randomise = Binary(epsilon=epsilon, value0="0", value1="1").randomise
    return lambda truth: randomise("1" if truth else "0")


def pure_ldp(design: Design, epsilon: float) -> Answer:
    from pure_ldp.frequency_oracles.direct_encoding import DEClient

    privatise = DEClient(epsilon=epsilon, d=2, index_mapper=lambda x: x).privatise
    return lambda truth: privatise(int(truth))


def multi_freq_ldpy(design: Design, epsilon: float) -> Answer:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

    GRR_Client(1, 2, epsilon)  # compiled at the first call
    return lambda truth: GRR_Client(int(truth), 2, epsilon)


def secrets_loop(design: Design, epsilon: float) -> Answer:
    limits, bits = design.applied, secrets.randbits
    return lambda truth: bits(64) < limits[truth]


MAKERS = {
    "OpenDP": opendp,
    "diffprivlib": diffprivlib,
    "pure-LDP": pure_ldp,
    "multi-freq-ldpy": multi_freq_ldpy,
    "a secrets loop": secrets_loop,
}
CALLS = {"OpenDP": 500}  # slow ones get fewer


def one_at_a_time(design: Design, epsilon: float, calls: int = 3000) -> Contestants:
    """The peers that are installed, each answering a list of truths in a loop."""
    found: Contestants = {}
    for name, maker in MAKERS.items():
        truths = [i % 3 == 0 for i in range(min(calls, CALLS.get(name, calls)))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                answer = maker(design, epsilon)
            except ImportError:
                continue
        found[name] = (len(truths), lambda answer=answer, truths=truths: [answer(t) for t in truths])  # type: ignore[misc]
    return found


def bit_vector(design: Design, n: int) -> Contestants:
    """OpenDP's answers to n packed truths in one call, if it is installed; symmetric designs only."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return {}
    dp.enable_features("contrib")
    flip = float(2 * (1 - design.p00))  # it flips with half of what it is given
    answer = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=n), dp.discrete_distance(), flip)
    truths = np.packbits(np.arange(n) % 3 == 0).tobytes()
    return {BIT_VECTOR: (n, lambda: answer(truths))}


def versions() -> str:
    """The peers' versions, or that they are not installed."""

    def one(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return "not installed here"

    return ", ".join(f"{name} {one(package)}" for name, package in PACKAGES.items())
