"""Trends over rounds by several designs: the score test for all of it, its size by exact sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chi2

from rrcollect import Design, optimal_design
from server_agg import Tally, trend
from tests.inside.estimates import Groups
from tests.support.comparing import both

E1, P3 = optimal_design(1), Design(1, "0.3")


def test_rounds_by_number_and_groups_by_score_are_one_trend():
    rounds = {k: [Tally(E1, 300, v), Tally(P3, 300, 0)] for k, v in ((1, 66), (2, 80), (3, 84))}
    found, same = trend(rounds), trend({str(k): v for k, v in rounds.items()})
    assert found.test.p_value == pytest.approx(same.test.p_value, rel=1e-12)
    assert (found.slope.value / found.slope.standard_error) ** 2 == pytest.approx(same.test.statistic, rel=1e-12)
    uneven = {1: Tally(E1, 300, 66), 4: Tally(P3, 200, 9), 9: [Tally(E1, 100, 40), Tally(P3, 50, 3)]}
    across = trend({str(k): v for k, v in uneven.items()}, scores=[1, 4, 9])
    assert trend(uneven).test.p_value == pytest.approx(across.test.p_value, rel=1e-12)


def tables(n):
    """All counts of three rounds, each of n answers by either design, at prevalence 0: the second never says 1."""
    counts = np.indices((n + 1,) * 3).reshape(3, -1).T
    law = binom.pmf(np.arange(n + 1), n, float(1 - E1.p00))
    both = np.zeros((len(counts), 6))
    both[:, ::2] = counts
    return both, law[counts].prod(axis=1)


def planted(counts, n):
    """X² of unbiased values by weights planned at ½, with standard errors as if those were the best ones."""
    weights = np.array([float(n / d.variance("1/2")) for d in (E1, P3)])
    unbiased = [(counts[:, j::2] / n - float(1 - d.p00)) / float(d.c) for j, d in enumerate((E1, P3))]
    values = (weights[0] * unbiased[0] + weights[1] * unbiased[1]) / weights.sum()
    at_zero = n / float(E1.variance(0)) + n**2 * float(P3.c) ** 2  # what the old code took for the information
    xs = np.array([-1.0, 0.0, 1.0])
    return (values @ xs) ** 2 * at_zero / (xs @ xs)


def test_two_designs_per_round_hold_the_size_at_prevalence_0_by_an_exact_sum():
    """The statistic over all 29,791 tables of 30 answers; the planted standard errors break the size."""
    counts, law = tables(30)
    groups = Groups.of([[Tally(E1, 30, 0), Tally(P3, 30, 0)] for _ in range(3)])
    found = groups.scores(counts).trend_statistic(np.array([1.0, 2.0, 3.0]))
    limit = chi2.isf(0.05, 1)
    assert law.sum() == pytest.approx(1)
    assert law[found > limit].sum() < 0.065
    counts, law = tables(80)
    assert law[planted(counts, 80) > limit].sum() > 0.15  # and 0.5 at n = 300


def test_small_rounds_have_an_exact_or_a_simulated_p():
    """χ² has size 0.092 for rounds of 400 and 15 answers: two rounds are two groups, and their p must be the same."""
    a, b = Tally(P3, 400, 4), Tally(P3, 15, 1)
    found = trend({1: a, 2: b})
    assert found.test.p_value == pytest.approx(both(a, b).test.p_value, rel=1e-9)
    assert found.test.method == "exact"
    assert chi2.sf((found.slope.value / found.slope.standard_error) ** 2, 1) < 0.05 < found.test.p_value
    assert trend({1: Tally(E1, 8, 1), 2: Tally(E1, 8, 2), 3: Tally(E1, 8, 7)}).test.method == "simulated"
    assert trend({k: Tally(E1, 300, 90 + k) for k in range(3)}).test.method == "score"


def test_answers_that_tell_nothing_of_a_trend_say_so():
    flat = trend({0: Tally(Design(1, "1/2"), 30, 0), 1: Tally(Design(1, "1/2"), 30, 0)})
    assert (flat.slope.value, flat.slope.standard_error, flat.test.p_value) == (0.0, None, 1.0)
    assert flat.line() == "the answers tell nothing of a trend"
