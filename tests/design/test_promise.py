"""100,000 random promises: the device's design keeps each exactly and is tight; doubles in the same harness do not.

The judge is FLINT's ball arithmetic, not our own: k/2^64 twice keeps (ε, δ) iff k(E+1) <= 2^64(E+δ), that is iff
k = 2^64 (only for δ = 1) or E >= (k − 2^64 δ)/(2^64 − k).
"""

import math
from fractions import Fraction
from random import Random

import flint
import pytest

from rrcollect import Design, Epsilon, optimal_design
from rrcollect.design.matrix import GRID

CHUNKS, EACH = 8, 12_500
pytestmark = pytest.mark.no_cover  # the same lines a million times: measuring them doubles the time


def random_promises(seed: int, how_many: int):
    """ε between 10^-3 and 40, written as a decimal, a quotient or a logarithm; δ 0, tiny or large."""
    random = Random(seed)
    for _ in range(how_many):
        size = 10 ** random.uniform(-3, 1.6)
        form = random.randrange(3)
        if form == 0:
            epsilon = Epsilon(f"{size:.{random.randrange(1, 17)}f}")
        elif form == 1:
            epsilon = Epsilon(Fraction(size).limit_denominator(random.randrange(2, 10**6)))
        else:
            epsilon = Epsilon.of_ratio(1 + Fraction(size).limit_denominator(random.randrange(2, 10**6)))
        delta = Fraction(0) if random.random() < 0.3 else Fraction(f"{10 ** random.uniform(-12, -0.05):.12e}")
        if epsilon > Epsilon(0) or delta:
            yield epsilon, delta


def keeps(epsilon: Epsilon, delta: Fraction, k: int) -> bool:
    if k >= GRID:
        return delta == 1
    needed = (k - GRID * delta) / (GRID - k)
    r, m = epsilon.rational, epsilon.factor
    if r == 0:
        return m >= needed
    with flint.ctx.workprec(300):
        big_e = flint.arb(flint.fmpq(r.numerator, r.denominator)).exp() * flint.arb(
            flint.fmpq(m.numerator, m.denominator)
        )
        limit = flint.arb(flint.fmpq(needed.numerator, needed.denominator))
        assert (big_e > limit) != (big_e < limit)  # decided
        return bool(big_e > limit)


def naive_numerator(epsilon: Epsilon, delta: Fraction) -> int:
    """What everybody writes: doubles, then a scaled integer."""
    e = math.exp(float(epsilon))
    return int((e + float(delta)) / (e + 1) * 2**64)


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_every_promise_is_kept_and_tight(seed):
    checked = broken_by_doubles = 0
    for epsilon, delta in random_promises(seed, EACH):
        design = optimal_design(epsilon, delta)
        k, same = design.numerators
        assert k == same
        assert keeps(epsilon, delta, k), (epsilon, delta)
        assert not keeps(epsilon, delta, k + 1), (epsilon, delta)
        checked += 1
        broken_by_doubles += not keeps(epsilon, delta, naive_numerator(epsilon, delta))
    assert checked > EACH * 0.99
    assert broken_by_doubles > 500  # the planted twin: about half of all cases


def test_our_own_verdict_is_flints():
    for epsilon, delta in random_promises(99, 1500):
        k, _ = optimal_design(epsilon, delta).numerators
        for numerator in (k - 1, k, min(k + 1, GRID), min(k + 1000, GRID)):
            p = Fraction(numerator, GRID)
            if 2 * p > 1:
                assert Design(p, p).satisfies(epsilon, delta) == keeps(epsilon, delta, numerator)


def test_the_proving_corner_is_tight_too():
    for epsilon, delta in random_promises(7, 1500):
        if math.floor(delta * GRID) == 0:
            continue
        design = Design(1, delta).to_grid()
        assert design.satisfies(epsilon, delta)
        assert design.satisfies(0, delta)  # ε plays no part
        if design.p11 < 1:
            assert not Design(1, design.p11 + Fraction(1, GRID)).satisfies(epsilon, delta)
