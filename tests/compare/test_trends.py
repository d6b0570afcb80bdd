"""Trends over rounds by several designs: the score test for all of it, its size by exact sums."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from rrcollect import Design, optimal_design
from server_agg import Tally, pool, trend, trend_across
from server_agg.estimates.numerics import normal_tail
from server_agg.estimates.score import variance_line

E1, P3 = optimal_design(1), Design(1, "0.3")


def planted(rounds):
    """Unbiased values by weights planned at ½, standard errors as if they were the best ones."""
    groups = list(rounds.values())
    common = Fraction(pool([t for group in groups for t in group]).value)
    weights = []
    for group in groups:
        each = [variance_line(t.design, t.n).at(common) or 1 / (t.n * t.design.c) ** 2 for t in group]
        weights.append(float(sum(1 / v for v in each)))
    ys = [pool(group).unbiased for group in groups]
    xs, w = np.array(list(rounds), float), np.array(weights)
    xs = xs - w @ xs / w.sum()
    slope, error = w @ (xs * ys) / (w @ xs**2), 1 / math.sqrt(w @ xs**2)
    return min(1.0, 2 * normal_tail(abs(slope) / error))


def test_it_agrees_with_trend_across_of_the_same_counts():
    rounds = {k: [Tally(E1, 300, v), Tally(P3, 300, 0)] for k, v in ((1, 66), (2, 80), (3, 84))}
    found, same = trend(rounds), trend_across({str(k): v for k, v in rounds.items()})
    assert found.p == pytest.approx(same.p, rel=1e-12)
    assert (found.slope / found.slope_standard_error) ** 2 == pytest.approx(same.test.statistic, rel=1e-12)
    uneven = {1: Tally(E1, 300, 66), 4: Tally(P3, 200, 9), 9: [Tally(E1, 100, 40), Tally(P3, 50, 3)]}
    across = trend_across({str(k): v for k, v in uneven.items()}, scores=[1, 4, 9])
    assert trend(uneven).p == pytest.approx(across.p, rel=1e-12)


def test_two_designs_per_round_hold_the_size_at_prevalence_0_and_the_planted_errors_do_not():
    """300 simulated trends of 3 rounds; at prevalence 0 the second design never says 1.  If the size is at most 0.05,
    more than 0.05 + 6.2·√(.05·.95/300) = 0.128 false alarms have probability < 1e-9."""
    generator, surveys, alarms = np.random.default_rng(5), 300, np.zeros(2)
    for counts in generator.binomial(300, float(1 - E1.p00), (surveys, 3)):
        rounds = {k: [Tally(E1, 300, int(x)), Tally(P3, 300, 0)] for k, x in enumerate(counts)}
        alarms += [trend(rounds, method="hoeffding").p < 0.05, planted(rounds) < 0.05]
    assert alarms[0] / surveys < 0.128
    assert alarms[1] / surveys > 0.3


def test_the_size_of_the_score_trend_by_an_exact_sum():
    """Three rounds of 12 answers by each design at prevalence 0, over all counts."""
    law = binom.pmf(np.arange(13), 12, float(1 - E1.p00))
    total = 0.0
    for counts in itertools.product(range(13), repeat=3):
        if (weight := law[list(counts)].prod()) > 1e-5:
            groups = {str(k): [Tally(E1, 12, x), Tally(P3, 12, 0)] for k, x in enumerate(counts)}
            total += weight * (trend_across(groups).p < 0.05)
    assert total < 0.06


def test_answers_that_tell_nothing_of_a_trend_say_so():
    flat = trend({0: Tally(Design(1, "1/2"), 30, 0), 1: Tally(Design(1, "1/2"), 30, 0)})
    assert (flat.slope, flat.slope_standard_error, flat.p) == (0.0, None, 1.0)
    assert flat.describe() == "the answers tell nothing of a trend"
