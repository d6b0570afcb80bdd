"""10,000 random promises: the device's design keeps each exactly and is tight; doubles in the same harness do not.

The judge (FLINT's ball arithmetic, not our own) and the search are those of the long suite, which looks at 250,000:
tests/assurance/promise/check.py.
"""

import math
from fractions import Fraction

import pytest

from rrcollect import Design, Epsilon
from rrcollect.errors import UninformativeDesign
from tests.assurance.promise.check import Judge, by_doubles, cases, search, shipped, verdict
from tests.inside.design import GRID

CHUNKS, EACH = 4, 2_500
pytestmark = pytest.mark.no_cover  # the same lines again and again: measuring them doubles the time


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_every_promise_is_kept_and_tight(seed):
    found = search(shipped, EACH)(100 + seed, lambda done, total: None)
    assert found.passed, found.remark
    assert found.figures["kept and tight"] > EACH * 0.98


def test_doubles_break_about_half():
    broken = sum(verdict(case, by_doubles) == "broken promises" for case in cases(98, 2000))
    assert broken > 500


def test_our_own_verdict_is_flints():
    for case in cases(99, 1500):
        epsilon, judge = Epsilon.of_parts(case.r, case.m), Judge(case)
        try:
            k00, k11 = shipped(case)
        except UninformativeDesign:
            continue
        for more in (-1, 0, 1, 1000):
            a, b = min(k00 + more, GRID), min(k11 + more, GRID)
            if a + b > GRID:
                design = Design(Fraction(a, GRID), Fraction(b, GRID))
                assert design.satisfies(epsilon, case.delta) == judge.keeps(a, b)


def test_the_proving_corner_is_tight_too():
    for case in cases(7, 1500):
        epsilon, delta = Epsilon.of_parts(case.r, case.m), case.delta
        if math.floor(delta * GRID) == 0:
            continue
        design = Design(1, delta).to_grid()
        assert design.satisfies(epsilon, delta)
        assert design.satisfies(0, delta)  # ε plays no part
        if design.p11 < 1:
            assert not Design(1, design.p11 + Fraction(1, GRID)).satisfies(epsilon, delta)
