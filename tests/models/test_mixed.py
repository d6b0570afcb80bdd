"""A random intercept per cluster: against lme4, a dense integral, and the plain model; planted bugs."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from rrcollect import Design, ParameterError, optimal_design
from server_agg import models
from server_agg.models.fits import Fit
from server_agg.models.mixed import Marginal
from tests.sampling.data import figures, survey

DIRECT = Design(1, 1)


def fitted(name: str, design: Design = DIRECT) -> Fit:
    data = survey(name)
    answers = (data["i"] * 37 % 100 < 20 + 12 * (data["cluster"] % 6)).astype(int)
    return models.fit_mixed(answers, data.covariates, design, data["cluster"], names=["x", "z"], nodes=25)


@pytest.mark.parametrize("name", "AB")
def test_lme4_finds_the_same(name: str) -> None:
    """The likelihoods agree to 1e-6; lme4's optimiser stops where its last digits do not matter to it."""
    fit, judged = fitted(name), figures()["intercepts"][name]
    assert fit.log_likelihood == pytest.approx(judged["log_likelihood"], rel=1e-7)
    assert fit.log_likelihood >= judged["log_likelihood"] - 1e-6
    assert np.allclose(fit.coefficients, judged["coefficients"], rtol=2e-3, atol=2e-4)
    assert fit.sigma == pytest.approx(judged["sigma"], rel=2e-3)


def test_the_integral_is_that_of_a_dense_grid_for_randomised_answers() -> None:
    data, design = survey("A"), optimal_design(2)
    plain = models.fit(data["answer"], data.covariates, design)
    theta = np.append(plain.maximum.gamma, 0.8)
    whole = Marginal(plain.maximum.scaled, data["cluster"], 24, 15)
    found, gradient = whole.value(theta)
    grid = np.linspace(-9, 9, 4001)
    eta = plain.maximum.scaled.eta(plain.maximum.gamma)
    logs = np.array([
        np.bincount(data["cluster"], plain.maximum.scaled.eta_derivatives(eta + 0.8 * u)[0], 24) - u * u / 2
        for u in grid
    ])  # fmt: skip
    dense = np.log(np.exp(logs).sum(axis=0) * (grid[1] - grid[0]) / math.sqrt(2 * math.pi)).sum()
    assert found == pytest.approx(float(dense), rel=1e-8)
    for j in range(theta.size):
        step = np.eye(theta.size)[j] * 1e-5
        slope = (whole.value(theta + step)[0] - whole.value(theta - step)[0]) / 2e-5
        assert gradient[j] == pytest.approx(slope, rel=1e-4, abs=1e-5)


def test_planted_bug_one_point_is_not_enough() -> None:
    """Laplace's approximation (one point) is another number, in small clusters visibly."""
    data = survey("A")
    plain = models.fit(data["answer"], data.covariates, DIRECT)
    theta = np.append(plain.maximum.gamma, 2.0)
    values = [Marginal(plain.maximum.scaled, data["cluster"], 24, nodes).value(theta)[0] for nodes in (1, 15, 31)]
    assert abs(values[0] - values[2]) > 1e-2
    assert abs(values[1] - values[2]) < 1e-5


@pytest.mark.needs("pandas")
def test_recovery_through_the_noise_and_attenuation_without_the_intercept() -> None:
    """80 clusters of 40, σ = 1.5, by one seed: the truth is within 4.5 standard errors, the naive fit's is not 1."""
    rng = np.random.default_rng(7)
    units = np.repeat(np.arange(80), 40)
    x = rng.standard_normal(3200)
    eta = -0.5 + 1.0 * x + 1.5 * rng.standard_normal(80)[units]
    truths = (rng.random(3200) < 1 / (1 + np.exp(-eta))).astype(int)
    design = optimal_design(3)
    answers = np.where(rng.random(3200) < float(design.p11), truths, 1 - truths)
    fit = models.fit_mixed(answers, x, design, units, names=["x"])
    low, high = fit["x"].interval(level=1 - 1e-5)
    assert low < 1.0 < high
    assert abs(fit.sigma - 1.5) < 4.5 * (fit.sigma_error or 0)
    assert fit.no_spread.p_value < 1e-9
    assert 0.3 < fit.intraclass_correlation < 0.5
    assert fit.plain["x"].value < fit["x"].value - 0.1  # the population's coefficient is nearer to 0
    assert "80 clusters" in str(fit)
    assert fit.to_frame()["name"].tolist() == ["Intercept", "x"]


def test_clusters_that_do_not_differ_have_no_spread() -> None:
    answers = np.tile([1, 0, 0, 1, 0], 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = models.fit_mixed(answers, np.empty((200, 0)), DIRECT, np.repeat(np.arange(40), 5))
    assert fit.sigma == 0
    assert fit.sigma_error is None
    assert fit.no_spread.p_value == 1.0
    assert np.allclose(fit.coefficients, fit.plain.coefficients)
    with pytest.raises(ParameterError, match="two clusters or more"):
        models.fit_mixed(answers, np.empty((200, 0)), DIRECT, np.arange(200))
