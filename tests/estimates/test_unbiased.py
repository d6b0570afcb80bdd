"""Unbiasedness as exact fractions: sums over every count, no rounding, no simulation."""

from __future__ import annotations

from fractions import Fraction

import pytest

from rrcollect import Design
from server_agg import Tally, estimate
from tests.assurance.bars.laws import binomial, finite_law, mean, sample_law

DESIGNS = [
    Design("3/4", "3/4"),
    Design(1, "1/20"),
    Design("1/20", 1),
    Design("9/10", "3/5"),
    Design("1/5", "3/10"),
    Design("1/4", "1/4"),
]
PREVALENCES = [Fraction(x) for x in ("0", "1/10", "1/3", "1/2", "4/5", "1")]
F0 = Fraction(0)


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
@pytest.mark.parametrize("n", [2, 3, 10, 50])
def test_value_and_population_variance(design, n):
    found = [estimate(Tally(design, n, k)) for k in range(n + 1)]
    for pi in PREVALENCES:
        law = binomial(n, design.says_yes(pi))
        assert mean(law, lambda k: found[k].exact_value) - pi == 0
        assert mean(law, lambda k: found[k].variance) - design.variance(pi, n) == 0
        spread = mean(law, lambda k, pi=pi: (found[k].exact_value - pi) ** 2)
        assert spread == design.variance(pi, n)


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
@pytest.mark.parametrize("n", [2, 3, 12])
def test_value_and_noise_variance_given_who_answered(design, n):
    found = [estimate(Tally(design, n, k), target="sample") for k in range(n + 1)]
    for t in range(n + 1):
        law, pi = sample_law(design, n, t), Fraction(t, n)
        assert mean(law, lambda k: found[k].exact_value) == pi
        assert mean(law, lambda k: found[k].variance) == design.variance(pi, n, target="sample")
    assert all(e.variance >= 0 for e in found)


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
@pytest.mark.parametrize(("n", "size"), [(2, 3), (5, 9), (6, 6)])
def test_the_mix_for_a_finite_population(design, n, size):
    found = [estimate(Tally(design, n, k), population=size) for k in range(n + 1)]
    given = [sample_law(design, n, t) for t in range(n + 1)]
    for yes in range(size + 1):
        law = finite_law(given, n, yes, size)
        pi = Fraction(yes, size)
        noise = design.variance(pi, n, target="sample")
        true = noise + pi * (1 - pi) / n * Fraction(size - n, size - 1)
        assert mean(law, lambda k: found[k].exact_value) == pi
        assert mean(law, lambda k, pi=pi: (found[k].exact_value - pi) ** 2) == true
        assert mean(law, lambda k: found[k].variance) == true


def test_planted_biases_are_seen():
    """Clipping, dividing by n instead of n − 1, and the noise at the clipped value: each fails the same sums."""
    design, n, pi = Design("3/4", "2/3"), 10, Fraction(1, 10)
    found = [estimate(Tally(design, n, k)) for k in range(n + 1)]
    law = binomial(n, design.says_yes(pi))
    assert mean(law, lambda k: min(max(found[k].exact_value, F0), Fraction(1))) > pi
    assert mean(law, lambda k: found[k].variance * (n - 1) / n) < design.variance(pi, n)
    given = sample_law(design, n, 1)
    at_clipped = mean(given, lambda k: design.variance(min(max(found[k].exact_value, F0), Fraction(1)), n, "sample"))
    assert at_clipped != design.variance(pi, n, target="sample")
