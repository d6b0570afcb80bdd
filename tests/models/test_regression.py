"""Regression of a randomised outcome: published numbers, another library, derivatives, symmetries, hostile input."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from statsmodels.genmod.families.links import Logit

from rrcollect import Design, ParameterError, optimal_design
from server_agg import models
from server_agg.errors import NoInformation, NotConverged, NotIdentified, Separation
from server_agg.models.covariates import BLOCK
from server_agg.models.fitting import climb, orthonormal
from server_agg.models.outcome import Outcome
from tests.inside.models import simulate_survey
from tests.support.regression_data import ANSWERS, DIRECT, EPSILON2, PEOPLE, X, expanded, grouped, naive

DESIGNS = [EPSILON2, optimal_design(1), Design(1, "0.3"), Design("0.6", 1), Design("0.2", "0.35"), DIRECT]
MIXED = [optimal_design(1), Design(1, "0.6"), Design("0.9", "0.7"), Design("0.2", "0.1")]


class RandomisedLink(Logit):
    """logit((μ − (1−p00))/c) as a link of statsmodels."""

    def __init__(self, design):
        self.a, self.c = float(1 - design.p00), float(design.c)

    def __call__(self, p):
        s = np.clip((p - self.a) / self.c, 1e-12, 1 - 1e-12)
        return np.log(s / (1 - s))

    def inverse(self, z):
        return self.a + self.c / (1 + np.exp(-z))

    def deriv(self, p):
        s = np.clip((p - self.a) / self.c, 1e-12, 1 - 1e-12)
        return 1 / (self.c * s * (1 - s))

    def inverse_deriv(self, z):
        return 1 / self.deriv(self.inverse(z))


def by_statsmodels(survey, design):
    rows = sm.add_constant(survey.covariates)
    family = sm.families.Binomial(link=RandomisedLink(design))
    return sm.GLM(survey.answers, rows, family=family).fit(start_params=np.zeros(rows.shape[1]), tol=1e-14, maxiter=200)


# ---- numbers ------------------------------------------------------------------------------------------------------


def test_the_published_numbers_to_their_last_digit():
    fit = grouped()
    assert [round(x, 10) for x in fit.coefficients] == [-0.4840959246, 0.7231249277]
    assert [round(x, 10) for x in fit.using("expected").standard_errors] == [0.1194645013, 0.1502107723]
    assert round(fit.log_likelihood, 10) == -394.4644134453
    naive_fit = naive(np.repeat(ANSWERS, PEOPLE), np.repeat(X, PEOPLE))
    assert abs(naive_fit["x1"].value) < 0.8 * fit["x"].value
    assert round(naive_fit.log_likelihood, 10) != -394.4644134453


def test_repeats_mean_the_same_as_rows():
    answers, x = expanded()
    long, short = models.fit(answers, x, EPSILON2, names=["x"]), grouped()
    np.testing.assert_allclose(long.coefficients, short.coefficients, atol=1e-9)
    for kind in ("expected", "observed", "outer", "sandwich"):
        np.testing.assert_allclose(long.using(kind).covariance, short.using(kind).covariance, rtol=1e-7)
    sampling = grouped(repeats=None, weights=PEOPLE)
    assert sampling.kind == "sandwich"
    assert not np.allclose(sampling.standard_errors, short.using("sandwich").standard_errors, rtol=0.1)


@pytest.mark.parametrize("design", [EPSILON2, optimal_design(1), Design("0.9", "0.7"), DIRECT], ids=repr)
def test_statsmodels_agrees_to_a_millionth(design):
    survey = simulate_survey(3000, [-0.4, 0.7, -0.5], design, seed=11)
    ours, theirs = models.fit(survey.answers, survey.covariates, design), by_statsmodels(survey, design)
    np.testing.assert_allclose(ours.coefficients, theirs.params, atol=1e-6)
    np.testing.assert_allclose(ours.standard_errors, theirs.bse, atol=1e-6)
    assert ours.log_likelihood == pytest.approx(theirs.llf, abs=1e-6)
    np.testing.assert_allclose([ours[n].p_value for n in ours.names], theirs.pvalues, atol=1e-6)
    other = models.fit(survey.answers, survey.covariates, Design("0.8", "0.95"))
    assert np.abs(other.coefficients - theirs.params).max() > 1e-3  # the comparison can fail


def test_statsmodels_agrees_on_weights_and_the_sandwich():
    survey = simulate_survey(2000, [-0.4, 0.7], DIRECT, seed=12)
    weights = np.random.default_rng(5).uniform(0.5, 3, 2000)
    fit = models.fit(survey.answers, survey.covariates, DIRECT, weights=weights)
    rows = sm.add_constant(survey.covariates)
    theirs = sm.GLM(survey.answers, rows, family=sm.families.Binomial(), freq_weights=weights).fit(tol=1e-14)
    scores = rows * (weights * (survey.answers - theirs.fittedvalues))[:, None]
    bread = np.linalg.inv((rows * (weights * theirs.fittedvalues * (1 - theirs.fittedvalues))[:, None]).T @ rows)
    np.testing.assert_allclose(fit.coefficients, theirs.params, atol=1e-7)
    np.testing.assert_allclose(fit.covariance, bread @ scores.T @ scores @ bread, rtol=1e-5)
    plain = models.fit(survey.answers, survey.covariates, DIRECT, covariance="sandwich")
    robust = sm.GLM(survey.answers, rows, family=sm.families.Binomial()).fit(cov_type="HC0", tol=1e-14)
    np.testing.assert_allclose(plain.standard_errors, robust.bse, rtol=1e-6)


# ---- derivatives --------------------------------------------------------------------------------------------------


def random_model(design, n=60, seed=3):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    model = Outcome.of(rng.integers(0, 2, n), rows, design)
    return replace(model, weights=rng.uniform(0.2, 2, n)), rng.normal(size=3) * 0.8


@pytest.mark.parametrize("design", [*DESIGNS[:5], "mixed"], ids=str)
def test_gradient_and_information_against_numerical_differentiation(design):
    given = [MIXED[i % 4] for i in range(60)] if design == "mixed" else design
    model, beta = random_model(given)
    exact = model.derivatives(beta, "observed")
    h, eye = 1e-5, np.eye(3)
    gradient = [(model.log_likelihood(beta + h * e) - model.log_likelihood(beta - h * e)) / (2 * h) for e in eye]
    np.testing.assert_allclose(exact.gradient, gradient, rtol=1e-6, atol=1e-7)
    information = [
        (model.derivatives(beta - h * e).gradient - model.derivatives(beta + h * e).gradient) / (2 * h) for e in eye
    ]
    np.testing.assert_allclose(exact.information, information, rtol=1e-5, atol=1e-6)
    elsewhere = model.derivatives(beta + 0.01, "observed")
    assert np.abs(elsewhere.gradient - gradient).max() > 1e-4


@pytest.mark.parametrize("design", DESIGNS[:5], ids=repr)
def test_expected_information_is_the_mean_of_the_observed_one_and_of_the_outer_products(design):
    """Exactly, by summing over both answers of every record."""
    model, beta = random_model(design, n=8)
    model = replace(model, weights=None)
    observed, outer = np.zeros((3, 3)), np.zeros((3, 3))
    for row in range(8):
        for said in (0, 1):
            one = Outcome.of([said], model.covariates[row : row + 1], design)
            chance = math.exp(one.log_likelihood(beta))
            observed += chance * one.derivatives(beta, "observed").information
            outer += chance * one.outer_products(beta)
    expected = model.derivatives(beta, "expected").information
    np.testing.assert_allclose(observed, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(outer, expected, rtol=1e-9, atol=1e-12)


def test_blocks_do_not_show():
    survey = simulate_survey(2 * BLOCK + 17, [-0.5, 0.3], EPSILON2, seed=2)
    model = Outcome.of(survey.answers, survey.covariates, EPSILON2)
    parts = [Outcome.of(survey.answers[s], survey.covariates[s], EPSILON2) for s in (slice(0, 5000), slice(5000, None))]
    beta = np.array([0.4])
    whole, sums = model.derivatives(beta), [p.derivatives(beta) for p in parts]
    np.testing.assert_allclose(whole.information, sum(s.information for s in sums), rtol=1e-10)
    np.testing.assert_allclose(model.triangle() ** 2, sum(p.triangle() ** 2 for p in parts), rtol=1e-10)


# ---- symmetries ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", DESIGNS[:5], ids=repr)
def test_swapping_and_mirroring_labels(design):
    """Labels of answers exchanged: nothing changes.  The complementary attribute: every sign changes."""
    survey = simulate_survey(4000, [0.2, 0.6], design, seed=21)
    fit = models.fit(survey.answers, survey.covariates, design)
    swapped = models.fit(1 - survey.answers, survey.covariates, design.swapped())
    mirrored = models.fit(1 - survey.answers, survey.covariates, design.mirrored())
    for other, sign in ((swapped, 1), (mirrored, -1)):
        np.testing.assert_allclose(other.coefficients, sign * fit.coefficients, atol=1e-8)
        np.testing.assert_allclose(other.using("observed").covariance, fit.using("observed").covariance, rtol=1e-6)
        assert other.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-8)
    unswapped = models.fit(1 - survey.answers, survey.covariates, DIRECT)
    assert np.abs(unswapped.coefficients - fit.coefficients).max() > 0.05
    model = Outcome.of(survey.answers, survey.covariates, design)
    exchanged = replace(model, answers=1 - model.answers, table=model.table[:, [2, 3, 0, 1]])
    assert exchanged.log_likelihood(np.ones(1)) == model.log_likelihood(np.ones(1))


def test_units_and_origins_of_covariates_do_not_matter():
    survey = simulate_survey(3000, [-0.5, 0.6], EPSILON2, seed=22)
    plain = models.fit(survey.answers, survey.covariates, EPSILON2)
    moved = models.fit(survey.answers, 2020 + 1e-3 * survey.covariates, EPSILON2)
    assert moved["x1"].value == pytest.approx(1000 * plain["x1"].value, rel=1e-6)
    assert moved.standard_errors[1] == pytest.approx(1000 * plain.standard_errors[1], rel=1e-6)
    assert moved.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-7)


def test_records_with_different_designs_in_one_model():
    survey = simulate_survey(6000, [-0.5, 0.6], [MIXED[i % 4] for i in range(6000)], seed=23)
    designs = [MIXED[i % 4] for i in range(6000)]
    fit = models.fit(survey.answers, survey.covariates, designs)
    assert len(fit.model.table) == 4
    one_by_one = sum(
        Outcome.of(
            survey.answers[k::4], np.column_stack([np.ones(1500), survey.covariates[k::4]]), MIXED[k]
        ).log_likelihood(fit.coefficients)
        for k in range(4)
    )
    assert fit.log_likelihood == pytest.approx(one_by_one, abs=1e-8)
    assert np.abs(fit.coefficients - [-0.5, 0.6]).max() < 6.2 * fit.standard_errors.max()  # 1e-9
    wrong = models.fit(survey.answers, survey.covariates, EPSILON2)
    assert np.abs(wrong.coefficients - [-0.5, 0.6]).max() > 6.2 * wrong.standard_errors.max()


# ---- from any start -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.1, 1, 10, 100, 1e4])
def test_every_start_leads_to_the_same_maximum(scale):
    fit, rng = grouped(), np.random.default_rng(int(scale * 10))
    for _ in range(20):
        other = grouped(start=rng.normal(0, scale, 2))
        np.testing.assert_allclose(other.coefficients, fit.coefficients, atol=1e-8)


def test_undamped_fisher_scoring_does_not():
    """A planted bug: whole steps, from the same starts."""
    model, lost = grouped().model, 0
    for start in np.random.default_rng(10).normal(0, 10, (20, 2)):
        beta = start
        for _ in range(50):
            here = model.derivatives(beta)
            beta = beta + np.linalg.lstsq(here.information, here.gradient, rcond=None)[0]
        lost += not np.allclose(beta, grouped().coefficients, atol=1e-6)
    assert lost > 0


def hostile(seed):
    """A few answers by a random design, covariates of any size."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.choice([5, 12, 40, 200])), int(rng.integers(1, 4))
    x = rng.normal(size=(n, k)) * rng.choice([0.1, 1, 20], size=k)
    p00, p11 = rng.integers(50, 1001, 2)
    design = Design(f"{p00}/1000", f"{p11 + (p00 + p11 == 1000)}/1000")
    return rng.integers(0, 2, n), x, design


@pytest.mark.long
def test_hostile_data_are_fitted_or_the_reason_is_right():
    """60 small surveys: a fit is a local maximum; where none is found, another optimiser runs away as well."""
    verdicts = {"fit": 0, "Separation": 0, "NotConverged": 0}
    for seed in range(60):
        answers, x, design = hostile(seed)
        model = Outcome.of(answers, np.column_stack([np.ones(len(x)), x]), design)
        try:
            fit = models.fit(answers, x, design)
        except (Separation, NotConverged) as error:
            verdicts[type(error).__name__] += 1
            other = minimize(
                lambda b, m=model: -m.log_likelihood(b),
                np.zeros(model.size),
                jac=lambda b, m=model: -m.derivatives(b).gradient,
                options={"gtol": 1e-9},
            )
            assert np.abs(model.eta(other.x)).max() > 8, (seed, other.x)
        except NoInformation:
            assert abs(float(design.c)) < 0.05
        else:
            verdicts["fit"] += 1
            here = fit.maximum.scaled.derivatives(fit.maximum.gamma, "observed")
            assert np.linalg.eigvalsh(here.information)[0] > 0
            assert here.gradient @ np.linalg.solve(here.information, here.gradient) < 1e-12

    assert min(verdicts["fit"], verdicts["Separation"]) > 6
    assert verdicts["NotConverged"] <= 2


@pytest.mark.long
def test_a_million_rows_take_seconds():
    import time

    survey = simulate_survey(1_000_000, [-1.0, *np.linspace(-0.5, 0.5, 10)], EPSILON2, seed=1)
    started = time.process_time()
    fit = models.fit(survey.answers, survey.covariates, EPSILON2)
    assert time.process_time() - started < 20  # it is about 2 on a free core
    assert np.abs((fit.coefficients - [-1.0, *np.linspace(-0.5, 0.5, 10)]) / fit.standard_errors).max() < 6.6  # 1e-9


# ---- inference ----------------------------------------------------------------------------------------------------


def test_the_four_covariances_are_near_each_other_and_labelled():
    fit = grouped()
    errors = {kind: fit.using(kind).standard_errors for kind in ("expected", "observed", "outer", "sandwich")}
    for kind, found in errors.items():
        np.testing.assert_allclose(found, errors["expected"], rtol=0.02)
        assert f"Covariance Type: {kind} " in " ".join(fit.using(kind).summary().split())
    assert len({tuple(e) for e in errors.values()}) == 4
    with pytest.raises(ParameterError, match="one of expected, observed, outer, sandwich"):
        fit.using("hessian")
    with pytest.raises(ParameterError, match="one of expected"):
        grouped(covariance="robust")


def test_tests_by_wald_and_by_likelihood_ratio():
    fit = grouped()
    smaller = fit.without("x")
    pooled = 250 / 600
    assert smaller.log_likelihood == pytest.approx(250 * math.log(pooled) + 350 * math.log(1 - pooled), abs=1e-9)
    test = fit.likelihood_ratio(smaller)
    assert test.df == 1
    assert test.statistic == pytest.approx(2 * (fit.log_likelihood - smaller.log_likelihood))
    assert test.statistic == pytest.approx(fit.against_null().statistic)
    wald = fit.wald_test("x")
    assert wald.statistic == pytest.approx((fit["x"].value / fit.standard_errors[1]) ** 2)
    assert wald.p_value == pytest.approx(fit["x"].p_value)
    assert fit.wald_test("Intercept", "x").df == 2
    assert "x = 0: likelihood ratio" in test.sentence()
    with pytest.raises(ParameterError, match="nested"):
        smaller.likelihood_ratio(fit)
    with pytest.raises(ParameterError, match="pseudo-likelihood"):
        grouped(repeats=None, weights=PEOPLE).likelihood_ratio(smaller)
    with pytest.raises(ParameterError, match="no likelihood"):
        grouped(repeats=None, weights=PEOPLE)["x"].interval(method="profile")
    with pytest.raises(ParameterError, match="'sandwich'"):
        grouped(repeats=None, weights=PEOPLE).using("expected")
    with pytest.raises(ParameterError, match="not all of them"):
        fit.without("Intercept", "x")


def test_the_ends_of_a_profile_bar_have_the_deviance_they_should():
    fit = grouped()
    for name, place in (("Intercept", 0), ("x", 1)):
        bar = fit[name].interval(method="profile")
        for end in (bar.low, bar.high):
            held = replace(fit.model.only([1 - place]), offset=end * fit.model.covariates[:, place])
            top = climb(orthonormal(held, ["other"])[0], np.zeros(1))
            assert 2 * (fit.log_likelihood - top.log_likelihood) == pytest.approx(3.841458820694124, abs=1e-6)
        wald = fit[name].interval()
        assert bar.low == pytest.approx(wald.low, abs=0.05)
        assert bar.low != pytest.approx(wald.low, abs=1e-4)


@pytest.mark.parametrize("table", [(5, 5), (3, 6), (4, 10), (15, 13), (17, 14), (8, 11)], ids=str)
def test_a_profile_bar_of_two_small_groups_is_that_of_a_scan(table):
    """With the slope held, the likelihood has two maxima: one for each group that can give way."""
    design, n = optimal_design(2), 20
    (i, j), q = table, float(design.p11)
    fit = models.fit([1, 0, 1, 0], [0.0, 0.0, 1.0, 1.0], design, repeats=[i, n - i, j, n - j])
    grid = np.linspace(-40, 40, 16001)

    def log_likelihood(ones, eta):
        yes = 1 - q + (2 * q - 1) / (1 + np.exp(-eta))
        return ones * np.log(yes) + (n - ones) * np.log(1 - yes)

    def excess(slope):
        best = (log_likelihood(i, grid) + log_likelihood(j, grid + slope)).max()
        return 2 * (fit.log_likelihood - best) - 3.841458820694124

    for end, far in zip(fit["x1"].interval(method="profile"), (-30, 30), strict=True):
        if end is None:
            assert excess(far) < 0  # the likelihood levels off above the threshold
        else:
            assert excess(end) == pytest.approx(0, abs=1e-3)


def test_a_profile_bar_without_an_end_says_so():
    """A prevalence near 0: nothing in the data bounds the log-odds from below."""
    fit = models.fit([1, 0], np.empty((2, 0)), optimal_design(1), repeats=[28, 72])
    bar = fit["Intercept"].interval(method="profile")
    assert bar.low is None
    assert bar.high is not None
    assert json.loads(json.dumps(bar.as_dict(), allow_nan=False))["low"] is None
    estimated = 1 / (1 + math.exp(-bar.high))
    assert 0.1 < estimated < 0.4


def test_predicted_prevalence_and_its_bar():
    fit = grouped()
    low, middle, high = fit.predict([[-1.0], [0.0], [1.0]]).rows
    assert middle.value == pytest.approx(1 / (1 + math.exp(0.4840959246)))
    z = 1.959963984540054
    assert middle.interval().high == pytest.approx(1 / (1 + math.exp(0.4840959246 - z * 0.1194645013)))
    assert low.value < middle.value < high.value
    assert fit.predict([-1.0])[0].value == low.value
    assert low.as_dict()["interval"]["method"] == "wald on the log-odds"
    with pytest.raises(ParameterError, match="a column for each of"):
        fit.predict([[1.0, 2.0]])


def test_marginal_effects_against_statsmodels_and_numerical_gradients():
    survey = simulate_survey(3000, [-0.4, 0.7, -0.5], DIRECT, seed=31)
    rows = survey.covariates.copy()
    rows[:, 1] = rows[:, 1] > 0
    fit = models.fit(survey.answers, rows, DIRECT, names=["age", "member"])
    theirs = sm.Logit(survey.answers, sm.add_constant(rows)).fit(disp=0, tol=1e-12).get_margeff(dummy=True)
    found = fit.marginal_effects()
    np.testing.assert_allclose([e.value for e in found.rows], theirs.margeff, atol=1e-7)
    np.testing.assert_allclose([e.standard_error for e in found.rows], theirs.margeff_se, atol=1e-7)
    assert (found["age"].extras["kind"], found["member"].extras["kind"]) == ("slope", "0 to 1")
    assert found["age"].p_value == pytest.approx(theirs.pvalues[0], abs=1e-7)
    randomised = simulate_survey(20000, [-0.4, 0.7, -0.5], EPSILON2, seed=32)
    true_effect = models.fit(randomised.truths, randomised.covariates, DIRECT).marginal_effects()["x1"]
    ours = models.fit(randomised.answers, randomised.covariates, EPSILON2).marginal_effects()["x1"]
    naive_fit = naive(randomised.answers, randomised.covariates).marginal_effects()["x1"]
    assert abs(ours.value - true_effect.value) < 6.2 * ours.standard_error  # false alarms: below 1e-9
    assert abs(naive_fit.value - true_effect.value) > 6.2 * naive_fit.standard_error
    with pytest.raises(ParameterError, match="one of"):
        found["income"]
    assert "slope" in str(found)
    assert "<td>age</td>" in found._repr_html_()
    assert json.loads(found.to_json())["rows"][0]["name"] == "age"


def test_the_summary_is_the_one_a_statsmodels_user_knows():
    text = str(grouped())
    for words in ("Dep. Variable:", "No. Observations:", "Log-Likelihood:", "LL-Null:", "LLR p-value:", "std err",
                  "P>|z|", "[0.025", "0.975]", "-394.464", "Covariance Type:"):  # fmt: skip
        assert words in text
    assert max(map(len, text.splitlines())) == 78
    html = models.fit(ANSWERS, X, EPSILON2, names=["<x>"], repeats=PEOPLE)._repr_html_()
    assert "&lt;x&gt;" in html
    assert "<x>" not in html
    said = json.loads(grouped().to_json())
    assert said["rows"][1]["value"] == pytest.approx(0.7231249277)
    assert "none" in models.fit(ANSWERS, X, EPSILON2, intercept=False, repeats=PEOPLE).summary()


# ---- what cannot be fitted ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", [EPSILON2, optimal_design(1), DIRECT, Design(1, "0.05")], ids=repr)
@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize(
    "covariates", [np.empty((30, 0)), np.arange(30.0), np.arange(30) < 3], ids=["none", "x", "few"]
)
def test_a_constant_outcome_is_separation(design, value, covariates):
    with pytest.raises(Separation, match="all 30 answers are"):
        models.fit([value] * 30, covariates, design)


def test_separation_names_the_covariate():
    group = np.repeat([0, 1], 100)
    answers = np.concatenate([np.tile([0, 1], 50), np.zeros(100, int)])
    with pytest.raises(Separation, match="coefficients of member run away .the fitted prevalence tends to 0 for 100"):
        models.fit(answers, group, EPSILON2, names=["member"])
    fine = np.concatenate([np.tile([0, 1], 50), np.tile([0, 0, 0, 0, 1], 20)])  # 20 %: above the 12 % of the design
    assert models.fit(fine, group, EPSILON2, names=["member"])["member"].value < 0
    below = np.concatenate([np.tile([0, 1], 50), np.tile([0] * 9 + [1], 10)])  # 10 %: below
    with pytest.raises(Separation):
        models.fit(below, group, EPSILON2)
    assert models.fit(below, group, DIRECT)["x1"].value < 0


def test_rare_is_not_separated():
    fit = models.fit([1, 0], np.empty((2, 0)), DIRECT, repeats=[3, 1_000_000])
    assert fit["Intercept"].value == pytest.approx(math.log(3e-6), rel=1e-6)
    outlier = np.concatenate([np.linspace(-1, 1, 200), [1e6]])
    answers = (np.arange(201) * 7919 % 13 < 5).astype(int)
    assert models.fit(answers, outlier, DIRECT).iterations < 100


def test_collinear_covariates_are_named():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 50))
    answers = rng.integers(0, 2, 50)
    with pytest.raises(NotIdentified, match="a, total are linearly|a, b, total are linearly"):
        models.fit(answers, np.column_stack([a, b, a + b]), EPSILON2, names=["a", "b", "total"])
    with pytest.raises(NotIdentified, match="Intercept, one"):
        models.fit(answers, np.column_stack([a, np.ones(50)]), EPSILON2, names=["a", "one"])
    with pytest.raises(NotIdentified, match="'zero' is 0 in every record"):
        models.fit(answers, np.column_stack([a, 0 * a]), EPSILON2, names=["a", "zero"])
    nearly = models.fit(answers, np.column_stack([a, a + 1e-4 * b]), DIRECT)
    assert nearly.standard_errors.max() > 100


def test_three_rows():
    with pytest.raises(Separation):
        models.fit([0, 0, 1], [0.0, 1.0, 2.0], EPSILON2)
    assert np.isfinite(models.fit([1, 0, 1], [0.0, 1.0, 2.0], DIRECT).coefficients).all()
    assert math.isfinite(models.fit([1, 0, 0], np.empty((3, 0)), EPSILON2)["Intercept"].value)
    with pytest.raises(ParameterError, match="at least 4"):
        models.fit([1, 0, 1], np.eye(3), EPSILON2)
    with pytest.raises(ParameterError, match="one or more"):
        models.fit([], np.empty((0, 1)), EPSILON2)


def test_designs_that_tell_next_to_nothing():
    with pytest.raises(NoInformation, match="standard error"):
        models.fit([1, 0] * 20, np.arange(40.0), Design("0.50001", "0.50001"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"covariates": [0.0, math.nan, 1.0, 2.0]}, "covariate 0 of record 1 is nan"),
        ({"covariates": [0.0, math.inf, 1.0, 2.0]}, "covariate 0 of record 1 is inf"),
        ({"covariates": ["a", "b", "c", "d"]}, "numbers"),
        ({"covariates": [1.0, 2.0]}, "4 rows, one for each answer"),
        ({"answers": [1, 0, None, 1]}, "answer 2 is None"),
        ({"answers": [1, 0, math.nan, 1]}, "answer 2 is nan"),  # a float is not an answer
        ({"answers": [1, 0, 2, 1]}, "answer 2 is 2"),
        ({"design": "warner"}, "design is 'warner': use a Design"),
        ({"design": [EPSILON2] * 3}, "one for each of 4"),
        ({"design": [EPSILON2] * 3 + [0.7]}, "design 3 is 0.7"),
        ({"weights": [1, 1, -1, 1]}, "weight 2 is -1.0: use a finite number, 0 or more"),
        ({"repeats": [1, 1]}, "one number for each of 4"),
        ({"repeats": [1, 1, 1, "x"]}, "repeats is"),
        ({"repeats": [1, 1, 1, 0.5]}, "repeats of record 3 is 0.5: use a whole number"),
        ({"names": ["a", "b"]}, "1 different names"),
        ({"names": ["Intercept"]}, "none 'Intercept'"),
        ({"start": [1.0]}, "one number for each of 2"),
        ({"start": [math.nan, 0.0]}, "start of record 0 is nan"),
    ],
)
def test_wrong_input_is_named(change, words):
    given = {"answers": [1, 0, 0, 1], "covariates": [0.0, 1.0, 3.0, 2.0], "design": EPSILON2, **change}
    with pytest.raises(ParameterError, match=words):
        models.fit(given.pop("answers"), given.pop("covariates"), given.pop("design"), **given)


def test_names_and_methods_that_do_not_exist():
    fit = grouped()
    with pytest.raises(ParameterError, match="one of"):
        fit["age"]
    with pytest.raises(ParameterError, match="'wald' or 'profile'"):
        fit["x"].interval(method="exact")
    with pytest.raises(ParameterError, match="one or more"):
        fit.wald_test()
    with pytest.raises(ParameterError, match="no columns"):
        models.fit([1, 0], np.empty((2, 0)), EPSILON2, intercept=False)


def test_odd_forms_of_input_are_taken_or_named():
    same = Design("0.9", "0.7"), Design("9/10", "7/10")
    fit = models.fit([1, 0, 1, 0, 1, 0], np.array([[1], [2], [0], [4], [3], [2]], dtype=object), same * 3)
    assert len(fit.model.table) == 1
    with pytest.raises(ParameterError, match="rows"):
        models.fit([1, 0], np.zeros((2, 2, 2)), EPSILON2)
    with pytest.raises(ParameterError, match="covariate 0 of record 0 is 1e"):
        models.fit([1, 0], [1e200, 1.0], EPSILON2)


def test_a_model_without_an_intercept_has_its_own_predictions():
    fit = models.fit(
        ANSWERS, np.column_stack([np.ones(6), X]), EPSILON2, names=["one", "x"], intercept=False, repeats=PEOPLE
    )
    np.testing.assert_allclose(fit.coefficients, grouped().coefficients, atol=1e-9)
    assert fit.predict([1.0, 0.0])[0].value == pytest.approx(grouped().predict([0.0])[0].value)


def test_where_the_intercept_alone_has_no_maximum_the_summary_says_none():
    answers, x = np.array([1, 0, 0, 0] * 5 + [0] * 60), np.repeat([1.0, 0.0], [20, 60])
    fit = models.fit(answers, x, optimal_design(2), intercept=False)
    assert fit.null_log_likelihood is None
    assert "LL-Null: none" in " ".join(fit.summary().split())
