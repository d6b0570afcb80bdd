"""No design of a fine grid over the feasible region beats the one chosen: optimum, prior, minimax, regret, cap.

Exactly, on a grid of rationals with the promise decided exactly; and by floats on a much finer grid, where every
design that keeps the promise up to 1e-12 is admitted and must not win by more than 1e-9 (relative).
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from rrcollect import (
    Design,
    Promise,
    optimal_design,
)
from rrcollect.design.corners import corners
from tests.support.strategies import deltas, epsilons, intervals, positive_deltas, prevalences

SLACK = 1e-9


def exact_grid(epsilon, delta, steps=16):
    """Every design (i/steps, j/steps) with c > 0 that keeps the promise, decided exactly."""
    ticks = [Fraction(i, steps) for i in range(steps + 1)]
    grid = [Design(a, b) for a in ticks for b in ticks if a + b > 1]
    return [design for design in grid if design.satisfies(epsilon, delta)]


def fine_grid(epsilon, delta, steps=500, cap=None):
    """(p00, p11) of all feasible points, and of the boundary points above every p00."""
    e, d = float(epsilon.exp), float(delta)
    ticks = np.linspace(0, 1, steps + 1)
    p00, p11 = (a.ravel() for a in np.meshgrid(ticks, ticks))
    limits = np.minimum(1, e * (1 - ticks) + d)
    back = np.minimum(1, np.where(ticks <= d, 1.0, 1 - (ticks - d) / e))
    edge = np.minimum(limits, back)
    p00, p11 = np.concatenate([p00, ticks, edge]), np.concatenate([p11, edge, ticks])
    keep = (p00 + p11 > 1 + 1e-6) & (p11 <= e * (1 - p00) + d + 1e-12) & (p00 <= e * (1 - p11) + d + 1e-12)
    if cap is not None:
        keep &= (p11 <= cap * (1 - p00) + 1e-12) & (p00 <= cap * (1 - p11) + 1e-12)
    return p00[keep], p11[keep]


def line(p00, p11):
    c = p00 + p11 - 1
    return p00 * (1 - p00) / c**2, (2 * p00 - 1) / c


def worst_variance(p00, p11, low, high):
    a, b = line(p00, p11)
    p = np.clip(b / 2, low, high)
    return a + b * p - p * p


def not_beaten(found: float, rivals) -> bool:
    return bool(found <= np.min(rivals) + SLACK * max(1.0, abs(found)))


def of(design) -> tuple[float, float]:
    return float(design.p00), float(design.p11)


@settings(max_examples=25)
@given(epsilons, deltas, prevalences)
def test_optimum_exactly(epsilon, delta, pi):
    best = min(corner.n_variance(pi) for corner in corners(Promise.of(epsilon, delta)))
    for rival in exact_grid(epsilon, delta):
        assert best <= rival.variance(pi)


@settings(max_examples=60)
@given(epsilons, deltas, prevalences)
def test_optimum_finely(epsilon, delta, pi):
    found = float(optimal_design(epsilon, delta, prevalence=pi).variance(pi))
    a, b = line(*fine_grid(epsilon, delta))
    assert not_beaten(found, a + b * float(pi) - float(pi) ** 2)


def test_the_check_catches_a_wrong_corner():
    """A planted bug: choosing (q, q) always, or (1, δ) whenever δ > 0, is beaten."""
    promise, pi = Promise.of(1, "2/5"), 0.1
    a, b = line(*fine_grid(promise.epsilon, promise.delta))
    rivals = a + b * pi - pi**2
    assert not not_beaten(float(optimal_design(1, "2/5").variance("0.1")), rivals)
    assert not not_beaten(float(Design(1, "2/5").variance("0.9")), a + b * 0.9 - 0.81)


@settings(max_examples=40)
@given(epsilons, deltas, prevalences, prevalences, prevalences)
def test_prior_mean_is_enough(epsilon, delta, first, second, third):
    prior = {first: 1, second: 2, third: Fraction(1, 2)}
    design = optimal_design(epsilon, delta, prevalence=prior)
    total = sum(prior.values())

    def expected(p00, p11):
        a, b = line(p00, p11)
        return sum(float(w / total) * (a + b * float(pi) - float(pi) ** 2) for pi, w in prior.items())

    assert not_beaten(expected(*of(design)), expected(*fine_grid(epsilon, delta)))


@settings(max_examples=60)
@given(epsilons, deltas, intervals())
def test_minimax(epsilon, delta, interval):
    low, high = (float(x) for x in interval)
    design = optimal_design(epsilon, delta, prevalence=interval)
    assert not_beaten(worst_variance(*of(design), low, high), worst_variance(*fine_grid(epsilon, delta), low, high))
    assert min(dict(design.choice.compared).values()) == pytest.approx(
        worst_variance(*of(design), low, high), rel=1e-9, abs=1e-6
    )


@settings(max_examples=60)
@given(epsilons, positive_deltas, intervals())
def test_minimax_regret(epsilon, delta, interval):
    low, high = (float(x) for x in interval)
    ends = []
    for pi in (low, high):
        candidates = [c.n_variance(Fraction(pi)) for c in corners(Promise.of(epsilon, delta))]
        ends.append(float(min(candidates)) + pi**2)

    def regret(p00, p11):
        a, b = line(p00, p11)
        return np.maximum(a + b * low - ends[0], a + b * high - ends[1])

    design = optimal_design(epsilon, delta, prevalence=interval, criterion="regret")
    assert not_beaten(regret(*of(design)), regret(*fine_grid(epsilon, delta)))


@settings(max_examples=60)
@given(epsilons, deltas, prevalences, epsilons)
def test_ratio_cap(epsilon, delta, pi, other):
    cap = 1 + Fraction(float(other.exp)).limit_denominator(1000)
    design = optimal_design(Promise.capped(epsilon, delta, cap), prevalence=pi)
    assert design.satisfies(epsilon, delta)
    assert design.worst_likelihood_ratio <= cap
    a, b = line(*fine_grid(epsilon, delta, cap=float(cap)))
    assert not_beaten(float(design.variance(pi)), a + b * float(pi) - float(pi) ** 2)


@settings(max_examples=60)
@given(epsilons, deltas, prevalences)
def test_results_lie_on_the_grid_and_keep_the_promise(epsilon, delta, pi):
    found = list(optimal_design(epsilon, delta, prevalence=pi).choice.ties)
    found += [
        optimal_design(epsilon, delta, prevalence=(0, pi)),
        optimal_design(epsilon, delta, prevalence=(0, pi), criterion="regret"),
    ]
    for design in found:
        assert design.on_grid
        assert design.satisfies(epsilon, delta)
