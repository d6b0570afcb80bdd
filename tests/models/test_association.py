"""Correlations with truths that nobody saw: exact limits, simulation with planted bugs, hostile input."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from rrcollect import Design, ParameterError, optimal_design
from server_agg import models
from server_agg.errors import NoInformation, TooFewAnswers
from tests.inside.models import simulate_answers, simulate_survey
from tests.support.regression_data import DIRECT

A, B = optimal_design(2), Design("0.9", "0.75")


def pairs(n, seed):
    """Two truths with φ = 0.5 and P = 0.4 each."""
    rng = np.random.default_rng(seed)
    both = 0.16 + 0.5 * 0.24
    cell = rng.choice(4, n, p=[both, 0.4 - both, 0.4 - both, 0.2 + both])
    return (cell < 2).astype(int), ((cell == 0) | (cell == 2)).astype(int)


def test_without_noise_it_is_the_plain_correlation():
    first, second = pairs(500, 1)
    found = models.correlate(first, DIRECT, second, DIRECT)
    assert found.value == pytest.approx(np.corrcoef(first, second)[0, 1], abs=1e-12)
    assert found.table.both == pytest.approx((first & second).mean())
    a, b, c, d = (
        np.mean(x) for x in (first & second, first & ~second & 1, second & ~first & 1, (1 - first) & (1 - second))
    )
    assert found.table.odds_ratio == pytest.approx(a * d / (b * c))
    x = np.random.default_rng(2).normal(size=500) + first
    assert models.correlate(first, DIRECT, x).value == pytest.approx(np.corrcoef(first, x)[0, 1], abs=1e-12)


def off_by(found, target):
    return abs(np.mean(found) - target) / (np.std(found, ddof=1) / math.sqrt(len(found)))


def test_two_randomised_answers_are_unmixed_and_the_naive_correlation_is_not():
    ours, errors, naive = [], [], []
    for seed in range(200):
        truths = pairs(4000, seed)
        said = [simulate_answers(t, d, [seed, k + 1]) for k, (d, t) in enumerate(zip((A, B), truths, strict=True))]
        found = models.correlate(said[0], A, said[1], B)
        ours.append(found.value)
        errors.append(found.standard_error)
        naive.append(np.corrcoef(*said)[0, 1])
    assert off_by(ours, 0.5) < 6.2  # false alarms: 1e-9, with n large enough for its bias of order 1/n not to show
    assert off_by(naive, 0.5) > 50
    assert np.mean(errors) == pytest.approx(np.std(ours, ddof=1), rel=0.35)  # 6.2 standard errors of a spread


def test_with_a_covariate():
    ours, errors, naive, target = [], [], [], []
    for seed in range(200):
        survey = simulate_survey(2000, [-0.3, 1.0], B, seed)
        x = survey.covariates[:, 0]
        found = models.correlate(survey.answers, B, x)
        ours.append(found.value)
        errors.append(found.standard_error)
        naive.append(np.corrcoef(survey.answers, x)[0, 1])
        target.append(np.corrcoef(survey.truths, x)[0, 1])
    gaps = np.array(ours) - target
    assert off_by(gaps, 0) < 6.2
    assert off_by(np.array(naive) - target, 0) > 50
    assert np.mean(errors) == pytest.approx(np.std(ours, ddof=1), rel=0.35)


def test_the_test_of_independence_keeps_its_level_and_finds_dependence():
    rejected = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        said = [simulate_answers(rng.integers(0, 2, 500), d, rng) for d in (A, B)]
        rejected += models.correlate(said[0], A, said[1], B).p_value < 0.05
    assert rejected <= 60  # of 400 at 5 %: P(more) < 1e-10; at 6 % still < 1e-9
    first, second = pairs(4000, 1)
    said = simulate_answers(first, A, 1), simulate_answers(second, B, 2)
    assert models.correlate(said[0], A, said[1], B).p_value < 1e-6


def test_swapped_labels_change_nothing_and_mirrored_ones_the_sign():
    first, second = pairs(500, 3)
    said = simulate_answers(first, A, 1), simulate_answers(second, B, 2)
    found = models.correlate(said[0], A, said[1], B)
    swapped = models.correlate(1 - said[0], A.swapped(), said[1], B)
    mirrored = models.correlate(said[0], A, 1 - said[1], B.mirrored())
    assert swapped.value == pytest.approx(found.value)
    assert mirrored.value == pytest.approx(-found.value)
    assert mirrored.standard_error == pytest.approx(found.standard_error)
    assert mirrored.p_value == pytest.approx(found.p_value)


def test_an_association_is_shown_with_its_table_and_bar():
    first, second = pairs(500, 3)
    found = models.correlate(simulate_answers(first, A, 1), A, simulate_answers(second, B, 2), B)
    low, high = found.interval()
    assert -1 <= low < found.value < high <= 1
    said = json.loads(found.to_json())
    assert said["table"]["both"] == pytest.approx(found.table.both)
    assert "correlation" in str(found)
    assert models.correlate([1, 1, 0, 0], DIRECT, [1, 1, 0, 0]).value == pytest.approx(1.0)


def test_wrong_input_is_named():
    with pytest.raises(NoInformation, match="same for every record"):
        models.correlate([1, 0, 1], A, [2, 2, 2])
    with pytest.raises(NoInformation, match="not strictly between 0 and 1"):
        models.correlate([0, 0, 0, 1, 0, 0, 0, 0, 0, 0], A, range(10))
    with pytest.raises(TooFewAnswers):
        models.correlate([1], A, [2])
    with pytest.raises(ParameterError, match="as many as"):
        models.correlate([1, 0, 1], A, [1, 0], B)
    with pytest.raises(ParameterError, match="other of record 1 is nan"):
        models.correlate([1, 0, 1], A, [1, math.nan, 2])
