"""Recovery and coverage over simulated surveys; the naive regression in the same harness is the planted bug.

The judgements, with their false-alarm rates of at most 1e-9, are those of `tests.assurance.bars.recovery`.
"""

from __future__ import annotations

import numpy as np
import pytest

from rrcollect import optimal_design
from server_agg import models
from tests.assurance.bars.recovery import DESIGNS, DIRECT, TRUE, covers, estimates, recovered
from tests.inside.models import simulate_survey

SEEDS = range(200)


@pytest.mark.parametrize("name", DESIGNS)
def test_coefficients_are_recovered_and_bars_cover(name):
    values, errors = estimates(DESIGNS[name], DESIGNS[name], SEEDS)
    assert recovered(values)
    assert covers(values, errors)
    np.testing.assert_allclose(errors.mean(axis=0), values.std(axis=0, ddof=1), rtol=0.31)  # 200 surveys: 6.2 × 5 %


@pytest.mark.parametrize("name", DESIGNS)
def test_the_naive_regression_on_the_bits_fails_the_same_checks(name):
    values, errors = estimates(DESIGNS[name], DIRECT, SEEDS)
    assert not recovered(values)
    assert not covers(values, errors)
    assert abs(values[:, 1].mean()) < 0.85 * TRUE[1]  # shrunk


def test_bars_that_are_too_narrow_are_seen():
    values, errors = estimates(DESIGNS["ε = 2"], DESIGNS["ε = 2"], SEEDS)
    assert not covers(values, 0.6 * errors)


@pytest.mark.parametrize("kind", ["linear", "normal"])
def test_a_randomised_predictor_is_recovered_and_the_naive_fit_is_not(kind):
    """Linear outcome 1 + 1.5·truth + 0.5·x + N(0, 1), where truth depends on x."""
    design, target = optimal_design(2), np.array([1.0, 1.5, 0.5])
    values, errors, naive_fits, naive_errors = [], [], [], []
    for seed in range(64):
        survey = simulate_survey(800, TRUE, design, seed)
        noise = np.random.default_rng([seed, 1]).standard_normal(800)
        y = 1 + 1.5 * survey.truths + 0.5 * survey.covariates[:, 0] + noise
        fit = models.fit_predictor(y, survey.answers, design, survey.covariates, kind=kind)
        values.append(fit.coefficients[:3])
        errors.append(np.sqrt(np.diag(fit.covariance)[:3]))
        rows = np.column_stack([np.ones(800), survey.answers, survey.covariates])
        beta, residual, _, _ = np.linalg.lstsq(rows, y, rcond=None)
        naive_fits.append(beta)
        naive_errors.append(np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)) * residual[0] / 797))
    assert recovered(np.array(values), target)
    assert covers(np.array(values), np.array(errors), target)
    assert not recovered(np.array(naive_fits), target)
    assert not covers(np.array(naive_fits), np.array(naive_errors), target)
