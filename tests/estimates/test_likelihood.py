"""The likelihood at its edges: a rate so small that it is rounded away, and the deviance where it is known."""

from __future__ import annotations

import math

import flint
import pytest
from scipy.optimize import minimize_scalar

from rrcollect import Design
from server_agg import Tally
from server_agg.estimates.likelihood import _deviance, _terms, information, maximum_likelihood
from tests.inside.estimates import deviance_lower


@pytest.mark.parametrize(
    ("design", "ones"), [(Design("1/2", 1), 2**62 - 1), (Design("1/2", 1), 2**62 - 2), (Design(1, "1/2"), 1)]
)
def test_one_rare_answer_in_2_to_the_62(design, ones):
    """log(λ̂/λ) of a λ̂ near 1e-19: the ratio less one is −1 in doubles, whose log1p does not exist."""
    tally = Tally(design, 2**62, ones)
    for found in (deviance_lower([tally], 3.84), deviance_lower([tally.mirrored()], 3.84)):
        assert 0 <= found <= 1
    terms, best = _terms([tally]), maximum_likelihood([tally])
    for pi in (1e-3, 0.5, 0.999):
        assert _deviance(terms, best, pi) > 1e15


def test_the_deviance_is_twice_the_difference_of_log_likelihoods():
    tally = Tally(Design("3/4", "3/4"), 100, 40)
    best = maximum_likelihood([tally])
    assert best == pytest.approx(0.3)
    for pi in (0.0, 0.1, 0.3, 0.9, 1.0):
        yes = 0.25 + pi / 2
        expected = 2 * (40 * math.log(0.4 / yes) + 60 * math.log(0.6 / (1 - yes)))
        assert _deviance(_terms([tally]), best, pi) == pytest.approx(expected, abs=1e-11)
    assert _deviance(_terms([Tally(Design(1, "1/2"), 10, 1)]), 0.2, 0.0) == math.inf


@pytest.mark.parametrize("steps", [12345, 54321, 77777, 99991])
def test_the_deviance_of_10_to_the_15_answers_does_not_drown(steps):
    """Against FLINT.  At rates this near, the logarithm of their quotient is off by 0.1; log1p is not."""
    n, pi = 2**50, 0.5 - steps * 2.0**-40
    with flint.ctx.workprec(300):
        yes = flint.arb(0.25) + flint.arb(pi) / 2
        expected = float(n * ((0.5 / yes).log() + (0.5 / (1 - yes)).log()))
    found = _deviance(_terms([Tally(Design("3/4", "3/4"), n, n // 2)]), 0.5, pi)
    assert found == pytest.approx(expected, rel=1e-6)


def test_the_maximum_of_two_tallies_one_without_a_yes():
    """Against SciPy's search for the maximum of the likelihood, written as a product."""
    tallies = [Tally(Design("3/4", "3/4"), 10, 0), Tally(Design("9/10", "3/5"), 30, 21)]

    def likelihood(pi):
        rates = [float(1 - t.design.p00) + pi * float(t.design.c) for t in tallies]
        return math.prod(rate**t.ones * (1 - rate) ** (t.n - t.ones) for rate, t in zip(rates, tallies, strict=True))

    found = minimize_scalar(
        lambda pi: -math.log(likelihood(pi)), bounds=(0, 1), method="bounded", options={"xatol": 1e-9}
    )
    assert 0.2 < found.x < 0.8
    assert maximum_likelihood(tallies) == pytest.approx(found.x, abs=1e-6)


def test_information_of_two_tallies_is_the_sum_of_theirs():
    one, two = Tally(Design("3/4", "3/4"), 100, 40), Tally(Design("9/10", "3/5"), 50, 10)
    assert information([one], 0.3) == pytest.approx(100 * 0.25 / (0.4 * 0.6))
    assert information([one, two], 0.3) == pytest.approx(information([one], 0.3) + information([two], 0.3))
    assert information([one, Tally(Design(1, "1/2"), 10, 0)], 0.0) == math.inf
