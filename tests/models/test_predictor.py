"""A randomised answer as predictor: limits that are known, exact scores, hostile input."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import binom

from rrcollect import Design, ParameterError, optimal_design
from server_agg import models
from server_agg.errors import NoInformation, NotConverged, NotIdentified
from server_agg.models.joint import JointLikelihood
from tests.inside.models import simulate_survey
from tests.support.regression_data import DIRECT

DESIGN = optimal_design(2)


def data(kind, n=3000, seed=1, design=DESIGN):
    survey = simulate_survey(n, [-0.3, 0.6], design, seed)
    rng = np.random.default_rng([seed, 2])
    line = -0.5 + 1.2 * survey.truths + 0.4 * survey.covariates[:, 0]
    y = line + rng.standard_normal(n) if kind != "logistic" else (rng.random(n) < 1 / (1 + np.exp(-line))).astype(int)
    return survey, y


@pytest.mark.parametrize("kind", ["normal", "logistic"])
def test_without_noise_it_is_ordinary_regression(kind):
    survey, y = data(kind, design=DIRECT)
    fit = models.fit_predictor(y, survey.answers, DIRECT, survey.covariates, kind=kind)
    rows = sm.add_constant(np.column_stack([survey.truths, survey.covariates]))
    theirs = sm.OLS(y, rows).fit() if kind != "logistic" else sm.Logit(y, rows).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(fit.coefficients[:3], theirs.params, atol=1e-6)
    scale = math.sqrt(2997 / 3000) if kind != "logistic" else 1.0  # maximum likelihood divides by n
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance)[:3]), theirs.bse * scale, rtol=1e-4)
    truth = models.fit(survey.truths, survey.covariates, DIRECT)
    np.testing.assert_allclose(fit.coefficients[-2:], truth.coefficients, atol=1e-6)
    assert fit.checks == () or fit.checks[0].statistic == 0  # one and the same regression


def test_without_noise_moments_are_least_squares_with_a_sandwich():
    survey, y = data("linear", design=DIRECT)
    fit = models.fit_predictor(y, survey.answers, DIRECT, survey.covariates)
    theirs = sm.OLS(y, sm.add_constant(np.column_stack([survey.truths, survey.covariates]))).fit(cov_type="HC1")
    np.testing.assert_allclose(fit.coefficients, theirs.params, rtol=1e-9)
    np.testing.assert_allclose(fit.covariance, theirs.cov_params(), rtol=1e-9)


def test_moments_have_the_truth_s_equations_as_their_mean():
    """Summed over the law of every answer, the equations of r are those of the truth: exactly unbiased."""
    rng = np.random.default_rng(5)
    truths, y, design = rng.integers(0, 2, 40), rng.exponential(size=40), Design("0.9", "0.7")
    for power, expected in ((1, truths @ y), (0, truths.sum())):
        mean = 0.0
        for truth, value in zip(truths, y, strict=True):
            for said, chance in enumerate(design.matrix[truth]):
                mean += float(chance) * (said - 0.1) / 0.6 * value**power
        assert mean == pytest.approx(expected)


def false_effects(kind, surveys=50):
    """In how many surveys an exponential outcome that has nothing to do with the truth shows p < 0.05; and the
    same of the check."""
    found = checked = 0
    design = optimal_design(1)
    for seed in range(surveys):
        survey = simulate_survey(1000, [-2.2], design, seed)
        y = np.random.default_rng([seed, 9]).exponential(size=1000)
        try:
            fit = models.fit_predictor(y, survey.answers, design, kind=kind)
        except (NotConverged, NoInformation):
            continue
        found += fit["truth"].p_value < 0.05
        checked += fit.checks != () and fit.checks[0].p_value < 0.05
    return found, checked


def test_a_skewed_outcome_is_not_an_effect():
    most = binom.isf(1e-9, 50, 0.05)  # 50 surveys of size 0.05 exceed it once in 1e9
    assert false_effects("linear")[0] <= most
    found, checked = false_effects("normal")  # the default before, the planted bug
    assert found > most
    assert checked >= 0.8 * found  # and its check says so


def test_a_normal_outcome_passes_the_check():
    survey, y = data("normal")
    fit = models.fit_predictor(y, survey.answers, DESIGN, survey.covariates, kind="normal")
    free = models.fit_predictor(y, survey.answers, DESIGN, survey.covariates)
    assert fit.checks[0].p_value > 1e-9
    assert fit["truth"].standard_error < free["truth"].standard_error
    assert abs(free["truth"].value - 1.2) < 6.2 * free["truth"].standard_error  # 1e-9
    assert "supposes: the outcome is normal around its line" in str(fit)
    assert "the normal law does not shape the effect: Hausman" in str(fit)
    assert fit.as_dict()["checks"][0]["df"] == 1


def test_moments_and_several_designs():
    survey, y = data("linear", n=6000)
    weak = simulate_survey(6000, [-0.3, 0.6], optimal_design(1), 1)
    mixed = np.where(np.arange(6000) % 2, survey.answers, weak.answers)
    assert (weak.truths == survey.truths).all()
    each = [DESIGN if k % 2 else optimal_design(1) for k in range(6000)]
    fit = models.fit_predictor(y, mixed, each, survey.covariates)
    assert abs(fit["truth"].value - 1.2) < 6.2 * fit["truth"].standard_error
    wrong = models.fit_predictor(y, mixed, DESIGN, survey.covariates)
    assert wrong["truth"].value < 0.85 * fit["truth"].value


def test_moments_without_variation_of_the_truth():
    y = np.random.default_rng(0).standard_normal(60)
    with pytest.raises(NoInformation, match="do not show that the truth differs"):
        models.fit_predictor(y, [0] * 60, optimal_design(6))


def newton_step(z, y, weights, beta):
    """One step of weighted logistic regression towards fractional outcomes, halved until ℓ (which is concave) rises."""

    def level(b):
        return weights @ (y * (z @ b) - np.logaddexp(0, z @ b))

    s = 1 / (1 + np.exp(-(z @ beta)))
    gram = (z * (weights * s * (1 - s))[:, None]).T @ z + 1e-10 * np.eye(beta.size)
    step = np.linalg.solve(gram, z.T @ (weights * (y - s)))
    while level(beta + step) < level(beta) and np.abs(step).max() > 1e-12:
        step = step / 2
    return beta + step


def maximised(joint, tau, theta):
    """The M-step: both parts refitted with τ, the chance that the truth is 1, as weights."""
    found, k = theta.copy(), joint.with1.shape[1]
    stacked, weights = np.vstack([joint.with1, joint.with0]), np.concatenate([tau, 1 - tau])
    twice = np.concatenate([joint.y, joint.y])
    if joint.kind == "normal":
        found[:k] = np.linalg.solve((stacked * weights[:, None]).T @ stacked, stacked.T @ (weights * twice))
        found[k] = 0.5 * math.log(weights @ (twice - stacked @ found[:k]) ** 2 / joint.y.size)
    else:
        found[:k] = newton_step(stacked, twice, weights, theta[:k])
    found[joint.outcome_size :] = newton_step(joint.z, tau, np.ones(tau.size), theta[joint.outcome_size :])
    return found


def em_start(joint):
    """Half the records on each side, as far as the answers tell."""
    tau = np.exp(joint.log_q1 - np.logaddexp(joint.log_q0, joint.log_q1))
    return maximised(joint, tau, np.zeros(joint.size))


@pytest.mark.parametrize("kind", ["normal", "logistic"])
def test_scores_information_and_the_rise_of_em(kind):
    survey, y = data(kind, n=200, seed=4)
    joint = JointLikelihood(y.astype(float), survey.answers, DESIGN, survey.covariates, kind)
    theta = np.random.default_rng(3).normal(0, 0.4, joint.size)
    h, eye = 1e-5, np.eye(joint.size)
    slope = [(joint.posterior(theta + h * e)[0] - joint.posterior(theta - h * e)[0]) / (2 * h) for e in eye]
    np.testing.assert_allclose(joint.scores(theta).sum(axis=0), slope, rtol=1e-5, atol=1e-5)
    assert np.abs(joint.scores(theta + 0.05).sum(axis=0) - slope).max() > 1e-2
    levels, here = [], em_start(joint)
    for _ in range(50):
        level, tau = joint.posterior(here)
        levels.append(level)
        here = maximised(joint, tau, here)
    assert (np.diff(levels) > -1e-9).all()
    assert levels[-1] > levels[0]


@pytest.mark.parametrize("kind", ["normal", "logistic"])
def test_the_fit_is_a_maximum_that_em_also_finds(kind):
    survey, y = data(kind)
    fit = models.fit_predictor(y, survey.answers, DESIGN, survey.covariates, kind=kind, names=["age"])
    joint = JointLikelihood(y.astype(float), survey.answers, DESIGN, survey.covariates, kind)
    assert np.abs(joint.scores(fit.coefficients).sum(axis=0)).max() < 1e-4
    rng = np.random.default_rng(9)
    for _ in range(10):
        assert joint.posterior(fit.coefficients + rng.normal(0, 0.02, joint.size))[0] < fit.log_likelihood
    by_em, before, (level, tau) = em_start(joint), -math.inf, (0.0, None)
    while level - before > 1e-6:
        before, (level, tau) = (-math.inf if tau is None else level), joint.posterior(by_em)
        by_em = maximised(joint, tau, by_em)
    np.testing.assert_allclose(by_em, fit.coefficients, atol=0.05)
    assert abs(fit["truth"].value - 1.2) < 6.2 * fit["truth"].standard_error  # 1e-9
    naive_fit = models.fit_predictor(y, survey.answers, DIRECT, survey.covariates, kind=kind)
    assert abs(naive_fit["truth"].value) < 0.9 * abs(fit["truth"].value)
    np.testing.assert_allclose(fit.using("sandwich").covariance, fit.covariance, rtol=0.5, atol=0.003)


@pytest.mark.parametrize("kind", ["linear", "normal"])
def test_labels_swapped_and_mirrored(kind):
    survey, y = data(kind)
    design = Design("0.9", "0.7")
    fit = models.fit_predictor(y, survey.answers, design, survey.covariates, kind=kind)
    swapped = models.fit_predictor(y, 1 - survey.answers, design.swapped(), survey.covariates, kind=kind)
    mirrored = models.fit_predictor(y, 1 - survey.answers, design.mirrored(), survey.covariates, kind=kind)
    np.testing.assert_allclose(swapped.coefficients, fit.coefficients, atol=1e-5)
    assert mirrored["truth"].value == pytest.approx(-fit["truth"].value, abs=1e-5)
    assert mirrored["Intercept"].value == pytest.approx(fit["Intercept"].value + fit["truth"].value, abs=1e-5)


def test_it_shows_itself():
    survey, y = data("linear", n=500)
    fit = models.fit_predictor(y, survey.answers, [DESIGN] * 500, survey.covariates, names=["age"])
    assert fit.names == ("Intercept", "truth", "age")
    assert str(fit).startswith("Linear Regression".center(78).rstrip())
    assert "Covariance Type: sandwich" in " ".join(str(fit).split())
    assert fit.notes[0].startswith("n = 500, covariance: sandwich")
    normal = models.fit_predictor(y, survey.answers, DESIGN, survey.covariates, names=["age"], kind="normal")
    assert normal.names == ("Intercept", "truth", "age", "log sigma", "truth ~ Intercept", "truth ~ age")
    assert "Normal Regression" in str(normal)
    assert "Log-Likelihood:" in str(normal)
    assert "truth ~ age" in str(normal)
    assert "<td>truth</td>" in fit._repr_html_()
    assert json.loads(fit.to_json())["rows"][1]["name"] == "truth"
    bar = fit["truth"].interval()
    assert bar.low < fit["truth"].value < bar.high
    assert 0 <= fit["truth"].p_value <= 1


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"kind": "probit"}, ParameterError, "one of linear, normal, logistic"),
        ({"kind": "logistic"}, ParameterError, "0 or 1, for a logistic"),
        ({"outcome": [1.0] * 20}, NoInformation, "1 in every record"),
        ({"outcome": [math.nan] * 20}, ParameterError, "outcome of record 0 is nan"),
        ({"outcome": [1.0] * 3}, ParameterError, "one number for each of 20"),
        ({"covariates": np.ones(20)}, NotIdentified, "linearly dependent"),
        ({"names": ["truth"], "covariates": np.arange(20)}, ParameterError, "none 'Intercept', 'truth'"),
        ({"answers": [2] * 20}, ParameterError, "answer 0 is 2"),
        ({"design": 0.7}, ParameterError, "one Design"),
        ({"outcome": np.arange(3.0), "answers": [1, 0, 1], "kind": "normal"}, ParameterError, "more than 4"),
        ({"outcome": np.arange(2.0), "answers": [1, 0]}, ParameterError, "more than 2"),
    ],
)
def test_wrong_input_is_named(change, error, words):
    given = {"outcome": np.arange(20) * 7919 % 13 / 3, "answers": [1, 0] * 10, "design": DESIGN, **change}
    with pytest.raises(error, match=words):
        models.fit_predictor(given.pop("outcome"), given.pop("answers"), given.pop("design"), **given)


@pytest.mark.parametrize("n", [60, 61, 200])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["normal", "logistic"])
def test_answers_that_show_nobody_with_the_attribute(n, seed, kind):
    # Far out the likelihood is flat to the last digit and looks like a maximum on some machines.
    y = np.random.default_rng(seed).standard_normal(n)
    y = (y > 0).astype(float) if kind == "logistic" else y
    with pytest.raises(NotConverged, match="tends to 0 or 1"):
        models.fit_predictor(y, [0] * n, optimal_design(6), kind=kind)


def test_an_unknown_coefficient_is_named():
    y = np.random.default_rng(0).standard_normal(60)
    with pytest.raises(ParameterError, match="one of"):
        models.fit_predictor(y, [0, 1] * 30, optimal_design(6))["age"]
