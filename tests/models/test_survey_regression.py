"""Regression with weights, clusters and strata: against R's survey, rr, RRreg and statsmodels, and by planted bugs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from rrcollect import Design, ParameterError, optimal_design
from server_agg import models, sampling
from tests.inside.models import LikelihoodFit
from tests.sampling.data import Survey, figures, survey

DIRECT = Design(1, 1)
CASES = [
    pytest.param(name, case, id=f"{name}: {', '.join(k for k, v in case['switches'].items() if v) or 'none'}")
    for name in "ABN"
    for case in figures()["regressions"][name]
    if not case["switches"]["fpc"]
]


def drawn(data: Survey, switches: dict[str, bool]) -> dict[str, Any]:
    how = data.drawn(**{**switches, "fpc": False})
    kept = {"weights": how["weights"], "clusters": how["clusters"], "strata": how["strata"]}
    return {name: column for name, column in kept.items() if column is not None}


def factor(data: Survey, how: dict[str, Any], many: int = 3) -> float:
    """What R has not: residuals are smaller than errors, so in clusters V is f/(f − k + 1) times as large."""
    if "clusters" not in how:
        return 1.0
    pairs = {*zip(how.get("strata", np.zeros(len(how["clusters"]))), how["clusters"], strict=True)}
    f = len(pairs) - len({stratum for stratum, _ in pairs})
    return math.sqrt(f / (f - many + 1))


def svyglm_errors(fit: LikelihoodFit) -> np.ndarray:
    """svyglm's sandwich: the expected information, where ours has the observed one (for probit they differ)."""
    assert fit.sample is not None
    bread = np.linalg.inv(fit.maximum.scaled.derivatives(fit.maximum.gamma, "expected").information)
    found = (
        fit.maximum.inverse
        @ bread
        @ fit.sample.covariance(fit.maximum.scaled.scores(fit.maximum.gamma))
        @ bread
        @ fit.maximum.inverse.T
    )
    return np.sqrt(np.diag(found))


@pytest.mark.parametrize(("name", "case"), CASES)
def test_coefficients_and_errors_are_those_of_r(name: str, case: dict[str, Any]) -> None:
    """svyglm for direct answers; pseudo-likelihood with svytotal of its influences for randomised ones."""
    data, switches = survey(name), case["switches"]
    how = drawn(data, switches)
    if not how:
        how = {"weights": np.ones(data["i"].size)}  # R's robust errors of a plain sample
    for design, judged in ((DIRECT, case["glm"]), (data.design, case["pseudo"])):
        for link in ("logit", "probit"):
            fit = models.fit(data["answer"], data.covariates, design, link=link, **how)
            assert np.allclose(fit.coefficients, judged[link]["coefficients"], rtol=1e-6, atol=1e-9)
            ours = fit.using("survey").standard_errors / factor(data, how)
            errors = svyglm_errors(fit) if design == DIRECT else ours
            assert np.allclose(errors, judged[link]["se"], rtol=1e-6)
            if design == DIRECT and link == "logit":  # where expected and observed information are one
                assert np.allclose(ours, errors, rtol=1e-9)
    linear = models.fit(data["answer"], data.covariates, data.design, **how, link="identity")
    assert np.allclose(linear.coefficients, case["linear"]["coefficients"], rtol=1e-6, atol=1e-9)
    errors = np.sqrt(np.diag(linear.using("survey").covariance)) / factor(data, how)
    assert np.allclose(errors, case["linear"]["se"], rtol=1e-6)


@pytest.mark.parametrize("name", "ABN")
def test_svymle_finds_the_same(name: str) -> None:
    """Its maximum is found by BFGS and its Hessian is numerical: five digits."""
    data, judged = survey(name), figures()["svymle"][name]
    how = drawn(data, {"weights": True, "strata": True, "clusters": True})
    fit = models.fit(data["answer"], data.covariates, data.design, **how)
    assert np.allclose(fit.coefficients, judged["coefficients"], rtol=1e-4, atol=1e-5)
    assert np.allclose(fit.standard_errors / factor(data, how), judged["se"], rtol=1e-4)


@pytest.mark.parametrize("package", ["rr", "RRreg"])
def test_rr_and_rrreg_find_the_same_in_nigeria(package: str) -> None:
    """Both stop early: four digits of the coefficients.  rr's errors are by outer products, RRreg's by the Hessian."""
    data, judged = survey("N"), figures()[package]
    x = np.column_stack([data["x"], data["z"], data["female"]])
    fit = models.fit(data["answer"], x, data.design)
    assert np.allclose(fit.coefficients, judged["coefficients"], rtol=2e-3)
    kind = "outer" if package == "rr" else "observed"
    assert np.allclose(fit.using(kind).standard_errors, judged["se"], rtol=2e-3)


def test_statsmodels_clustered_errors_are_the_same_but_for_their_factor() -> None:
    data = survey("B")
    z = sm.add_constant(data.covariates)
    judge = sm.GLM(data["answer"], z, family=sm.families.Binomial()).fit(
        tol=1e-14, cov_type="cluster", cov_kwds={"groups": data["cluster"], "use_correction": False}
    )
    fit = models.fit(data["answer"], data.covariates, DIRECT, clusters=data["cluster"])
    m = np.unique(data["cluster"]).size
    assert np.allclose(fit.standard_errors, judge.bse * math.sqrt(m / (m - 3)), rtol=1e-6)
    linear = models.fit(data["answer"], data.covariates, DIRECT, clusters=data["cluster"], link="identity")
    ols = sm.OLS(data["answer"], z).fit(
        cov_type="cluster", cov_kwds={"groups": data["cluster"], "use_correction": False}
    )
    assert np.allclose(np.sqrt(np.diag(linear.covariance)), ols.bse * math.sqrt(m / (m - 3)), rtol=1e-6)


def test_a_fit_of_a_constant_is_the_survey_s_estimate() -> None:
    """Intercept alone: the delta method on the share's own linearised error."""
    data = survey("A")
    how = drawn(data, {"weights": True, "strata": True, "clusters": True})
    share = sampling.estimate(
        data["answer"], data.design, weights=data["w"], strata=data["stratum"], clusters=data["cluster"]
    )
    fit = models.fit(data["answer"], np.empty((240, 0)), data.design, **how)
    at = fit.predict(np.empty((1, 0)))[0]
    assert at.value == pytest.approx(share.value)
    assert at.standard_error == pytest.approx(share.standard_error)
    assert fit.df == share.df == 20


def test_bars_and_tests_have_the_survey_s_degrees_of_freedom() -> None:
    data = survey("A")
    fit = models.fit(data["answer"], data.covariates, data.design, names=["x", "z"], clusters=data["cluster"])
    assert fit.kind == "survey"
    assert fit.df == 21  # 24 clusters, 3 coefficients: R's svyglm
    assert math.isinf(fit.using("sandwich").df)
    bar, error = fit["x"].interval(), fit.standard_errors[1]
    assert (bar.high - bar.low) / 2 / error == pytest.approx(2.0796, abs=1e-4)  # t of 21 degrees of freedom
    one = fit.wald_test("x")
    assert one.p_value == pytest.approx(fit["x"].p_value, rel=1e-9)  # F with 1 and 21 is t²
    assert "F with 20 df" in fit.wald_test("x", "z").sentence()
    assert fit.aic is None
    assert fit.against_null() is None
    for work in (lambda: fit["x"].interval(method="profile"), lambda: fit.likelihood_ratio(fit.without("z"))):
        with pytest.raises(ParameterError, match="clusters"):
            work()
    assert "Clusters:" in fit.summary()
    assert fit.as_dict()["clusters"] == 24
    assert fit.marginal_effects()["x"].interval().width > 2.06 * 2 * fit.marginal_effects()["x"].standard_error
    assert fit.without("z").df == 22


def test_planted_bug_naive_errors_in_clusters_find_what_is_not_there() -> None:
    """A covariate of the cluster, and an attribute that goes with clusters but not with the covariate: false alarms.

    400 surveys by fixed seeds, 40 clusters of 20, ICC 0.1: the survey's test finds about 5 %, the naive one far more.
    """
    alarms = {"survey": 0, "expected": 0}
    for seed in range(400):
        rng = np.random.default_rng([seed, 4])
        share = np.repeat(rng.beta(2.7, 6.3, 40), 20)
        answers = (rng.random(800) < share).astype(int)
        x = np.repeat(rng.standard_normal(40), 20)
        fit = models.fit(answers, x, DIRECT, clusters=np.repeat(np.arange(40), 20))
        for kind in alarms:
            alarms[kind] += fit.using(kind)["x1"].p_value < 0.05
    assert 0.02 < alarms["survey"] / 400 < 0.09
    assert alarms["expected"] / 400 > 0.15


def test_calibrated_weights_bring_their_residuals() -> None:
    data = survey("A")
    made = sampling.post_stratify(data["w"], data["z"], {0: 300, 1: 200})
    how = {"clusters": data["cluster"]}
    right = models.fit(data["answer"], data.covariates, data.design, weights=made, **how)
    plain = models.fit(data["answer"], data.covariates, data.design, weights=made.weights, **how)
    assert np.allclose(right.coefficients, plain.coefficients)
    assert not np.allclose(right.standard_errors, plain.standard_errors, rtol=1e-6)


def test_formulas_take_columns_by_name() -> None:
    data = survey("A")
    names = ("answer", "x", "z", "w", "stratum", "cluster")
    frame = pd.DataFrame({name: data[name] for name in names})
    fit = models.fit(
        "answer ~ x + z", frame, data.design, weights="w", clusters="cluster", strata="stratum", link="probit"
    )
    other = models.fit(
        data["answer"],
        data.covariates,
        data.design,
        weights=data["w"],
        clusters=data["cluster"],
        strata=data["stratum"],
        link="probit",
    )
    assert np.allclose(fit.coefficients, other.coefficients)
    assert np.allclose(fit.standard_errors, other.standard_errors)
    assert "Randomised Probit Regression" in fit.summary()
    assert "odds_ratio" not in fit.to_frame()
    assert fit.predict(frame.head(1))[0].interval().low > 0


def test_what_does_not_go_together_is_refused() -> None:
    data = survey("A")
    given = (data["answer"], data.covariates, data.design)
    with pytest.raises(ParameterError, match="repeats alone"):
        models.fit(*given, repeats=np.ones(240), clusters=data["cluster"])
    with pytest.raises(ParameterError, match="one of logit, probit"):
        models.fit(*given, link="cauchit")
    with pytest.raises(ParameterError, match="weights, clusters or strata"):
        models.fit(*given).using("survey")
    with pytest.raises(ParameterError, match="at most 1 at once"):
        models.fit(*given, clusters=data["i"] // 60).wald_test("x1", "x2")
    with pytest.raises(ParameterError, match="'linear' for weights"):
        models.fit_predictor(data["x"], data["answer"], data.design, kind="normal", clusters=data["cluster"])


# ---- moments --------------------------------------------------------------------------------------------------------


def test_several_predictors_are_unbiased_in_their_moments() -> None:
    """Exactly: with every pair of answers weighted by its chance, the equations are those of the truths."""
    first, second = Design("3/4", "2/3"), Design("0.9", "0.6")
    truths = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1], [0, 0]])
    y = np.array([1.0, 2.5, 0.5, 4.0, 3.0, 2.0])
    rows, weights = [], []
    for (a, b), outcome in zip(truths, y, strict=True):
        for said_a in (0, 1):
            for said_b in (0, 1):
                chances = [
                    float(d.p11 if t else 1 - d.p00) if said else float(1 - d.p11 if t else d.p00)
                    for d, t, said in ((first, a, said_a), (second, b, said_b))
                ]
                rows.append((said_a, said_b, outcome))
                weights.append(chances[0] * chances[1])
    said = np.array(rows)
    fit = models.fit_predictor(
        said[:, 2], {"a": (said[:, 0].astype(int), first), "b": (said[:, 1].astype(int), second)}, weights=weights
    )
    truth = np.linalg.lstsq(np.column_stack([np.ones(6), truths]), y, rcond=None)[0]
    assert np.allclose(fit.coefficients, truth)
    naive = np.linalg.lstsq(
        np.sqrt(weights)[:, None] * np.column_stack([np.ones(24), said[:, :2]]), np.sqrt(weights) * y.repeat(4),
        rcond=None,
    )[0]  # fmt: skip
    assert abs(naive[1]) < 0.75 * abs(truth[1]) or abs(naive[2]) < 0.75 * abs(truth[2])  # planted bug: shrunk


def test_one_of_several_is_the_one_predictor() -> None:
    data = survey("B")
    one = models.fit_predictor(data["x"], data["answer"], data.design, data["z"], clusters=data["cluster"])
    many = models.fit_predictor(
        data["x"], {"truth": (data["answer"], data.design)}, covariates=data["z"], clusters=data["cluster"]
    )
    assert np.allclose(one.coefficients, many.coefficients)
    assert np.allclose(one.covariance, many.covariance)
    assert one.df == 33
    assert "survey" in str(many)


def test_the_influences_of_several_predictors_are_their_jackknife() -> None:
    """Leaving out a record moves the estimate by its influence, to first order: an oracle of the sandwich."""
    rng = np.random.default_rng(2)
    n, design = 3000, optimal_design(3)
    truths = rng.integers(0, 2, (n, 2))
    said = np.where(rng.random((n, 2)) < float(design.p11), truths, 1 - truths)
    x, y = rng.standard_normal(n), truths @ [1.0, -0.5] + rng.standard_normal(n)
    fit = models.fit_predictor(
        y, {k: (said[:, j], design) for j, k in enumerate("ab")}, covariates=x, weights=1 + rng.random(n)
    )
    from server_agg.models.moments import moment_regression

    r = np.column_stack([design.unbiased(said[:, j]) for j in (0, 1)])
    z = np.column_stack([np.ones(n), x])
    whole = moment_regression(y, r, z)
    for left in (0, 17, 512):
        rest = np.arange(n) != left
        again = moment_regression(y[rest], r[rest], z[rest])
        assert np.allclose(whole.coefficients - again.coefficients, whole.influence[left], rtol=0.03, atol=1e-6)
    for name, truth in (("a", 1.0), ("b", -0.5)):
        low, high = fit[name].interval(level=1 - 1e-9)
        assert low < truth < high
    with pytest.raises(ParameterError, match="answers of b"):
        models.fit_predictor(y, {"b": (said[:5, 0], design)})
