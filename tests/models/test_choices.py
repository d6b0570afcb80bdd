"""Regression of a randomised choice: R's nnet, MASS and survey, statsmodels, the yes/no fit, enumeration, bad input.

Judges' figures stand in reference/figures.json; their optimisers stop within about 1e-6, their Hessians are numerical.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.miscmodels.ordinal_model import OrderedModel

from rrcollect import Design, ParameterError, SetDesign, optimal_design
from server_agg import models
from server_agg.errors import NotConverged, NotIdentified, Separation
from server_agg.models.fitting import differences
from server_agg.models.options import Options
from tests.inside.models import LAWS
from tests.models.data import DIRECT4, KEPT, covariates, drawn, figures, people, sets

THREE = SetDesign(3, 1, "3/4")
LAW_NAMES = list(LAWS)


def close(found: Any, judged: Any, digits: float = 1e-5) -> bool:
    return np.allclose(found, judged, rtol=digits, atol=digits)


@pytest.mark.parametrize("name", ["A", "B"])
def test_direct_choices_are_those_of_nnet_mass_and_statsmodels(name: str) -> None:
    data, judged = people(name), figures()["options"][name]
    z = covariates(data)
    fit = models.fit(sets(data["rank"]), z, DIRECT4, outcome="multinomial")
    assert close(fit.coefficients, judged["multinom"]["coefficients"], 1e-6)
    assert close(fit.standard_errors, judged["multinom"]["se"], 1e-6)
    assert fit.log_likelihood == pytest.approx(judged["multinom"]["log_likelihood"], abs=1e-8)
    other = sm.MNLogit(data["rank"], sm.add_constant(z)).fit(disp=0, method="newton", tol=1e-14)
    assert np.allclose(fit.coefficients.reshape(3, -1).T, other.params, atol=1e-10)
    assert np.allclose(fit.standard_errors.reshape(3, -1).T, other.bse, atol=1e-10)
    assert fit.aic == pytest.approx(other.aic)
    assert fit.against_null().p_value == pytest.approx(other.llr_pvalue)
    for link, called in (("logit", "logistic"), ("probit", "probit")):
        ordinal = models.fit(sets(data["rank"]), z, DIRECT4, outcome="ordinal", link=link)
        assert close(ordinal.coefficients, judged["polr"][called]["coefficients"])
        assert close(ordinal.standard_errors, judged["polr"][called]["se"], 1e-4)
        assert ordinal.log_likelihood == pytest.approx(judged["polr"][called]["log_likelihood"], abs=1e-7)
    ordered = OrderedModel(data["rank"], z, distr="logit").fit(method="newton", disp=0)
    again = models.fit(sets(data["rank"]), z, DIRECT4, outcome="ordinal")
    assert np.allclose(again.coefficients[:2], ordered.params[:2], atol=1e-6)


@pytest.mark.parametrize("name", ["A", "B"])
def test_randomised_choices_are_those_of_r_s_optim(name: str) -> None:
    data, judged = people(name), figures()["options"][name]["noisy"]
    z = covariates(data)
    for (outcome, link), told in zip(LAW_NAMES, ("multinomial", "logit", "probit"), strict=True):
        fit = models.fit(sets(data["said"]), z, KEPT, outcome=outcome, link=link)
        assert close(fit.coefficients, judged[told]["coefficients"], 1e-4), outcome
        assert close(fit.standard_errors, judged[told]["se"], 1e-3), outcome
        assert fit.log_likelihood == pytest.approx(judged[told]["log_likelihood"], abs=1e-7)
        assert fit.log_likelihood >= judged[told]["log_likelihood"] - 1e-9
    weighted = models.fit(sets(data["said"]), z, KEPT, weights=data["w"])
    assert close(weighted.coefficients, judged["weighted"], 2e-4)
    assert (weighted.kind, weighted.aic) == ("sandwich", None)
    naive = models.fit(sets(data["said"]), z, DIRECT4)  # the planted bug: answers taken for truths
    assert not close(naive.coefficients, judged["multinomial"]["coefficients"], 0.1)


@pytest.mark.parametrize("name", ["A", "B"])
def test_choices_of_samples_are_those_of_r_s_survey(name: str) -> None:
    data, judged = people(name), figures()["options"][name]
    z, how = covariates(data), drawn(data)
    replicated = models.fit(sets(data["rank"]), z, DIRECT4, replicates="jackknife", **how)
    assert replicated.kind == "replicates"
    assert close(replicated.coefficients, judged["jackknife"]["coefficients"], 1e-5)
    assert close(replicated.standard_errors, judged["jackknife"]["se"], 1e-4)
    ordinal = models.fit(sets(data["rank"]), z, DIRECT4, outcome="ordinal", **how)
    assert close(ordinal.coefficients, judged["svyolr"]["coefficients"], 1e-4)
    factor = math.sqrt(ordinal.sample.df / ordinal.df)  # svyolr has none for few clusters
    assert close(ordinal.standard_errors, factor * np.array(judged["svyolr"]["se"]), 1e-3)
    assert not close(ordinal.using("sandwich").standard_errors, judged["svyolr"]["se"], 1e-2)


def two(link: str = "logit") -> tuple[Any, Any, np.ndarray, Design]:
    generator = np.random.default_rng(4)
    x, design = generator.normal(size=(600, 2)), Design("0.8", "0.9")
    truth = generator.random(600) < 1 / (1 + np.exp(0.5 - x[:, 0]))
    answers = (generator.random(600) < np.where(truth, 0.9, 0.2)).astype(int)
    return models.fit(answers, x, design, link=link).using("observed"), answers, x, design


@pytest.mark.parametrize(("outcome", "link"), LAW_NAMES)
def test_two_options_are_the_logistic_fit(outcome: str, link: str) -> None:
    """Also by a set of one of two, and with a design for each record."""
    fit, answers, x, design = two(link)
    each = [design] * 300 + [Design("0.8", "0.9")] * 300
    turn = -1.0 if outcome == "ordinal" else 1.0  # a threshold is minus an intercept
    order = [1, 2, 0] if outcome == "ordinal" else [0, 1, 2]
    for given in (design, each):
        found = models.fit(answers, x, given, outcome=outcome, link=link)
        assert np.allclose(found.coefficients, fit.coefficients[order] * [1, 1, turn], rtol=1e-12)
        assert np.allclose(found.standard_errors, fit.standard_errors[order], rtol=1e-12)
        assert found.log_likelihood == pytest.approx(fit.log_likelihood, rel=1e-13)
    both = np.column_stack([1 - answers, answers])
    alike = models.fit(answers, x, Design("0.8", "0.8"), link=link)
    found = models.fit(both, x, SetDesign(2, 1, "0.8"), outcome=outcome, link=link)
    assert np.allclose(found.coefficients, alike.coefficients[order] * [1, 1, turn], rtol=1e-11)


@pytest.mark.parametrize(("outcome", "link"), LAW_NAMES)
@pytest.mark.parametrize("design", [THREE, SetDesign(3, 2, "0.8"), SetDesign(3, 1, 1)], ids=str)
def test_derivatives_against_numerical_differentiation(outcome: str, link: str, design: SetDesign) -> None:
    generator = np.random.default_rng(7)
    every = [bits for bits in itertools.product((0, 1), repeat=3) if sum(bits) == design.size]
    answers = np.array(every)[generator.integers(0, 3, 40)]
    z = np.column_stack([np.ones(40), generator.normal(size=(40, 2))])
    model = Options.of(answers, z, design, LAWS[outcome, link])
    model = replace(model, weights=generator.uniform(0.2, 2, 40))
    gamma = generator.normal(size=model.size) * 0.4
    if outcome == "ordinal":
        gamma[2:] = [-0.4, 0.9]
    found = model.derivatives(gamma, "observed")
    step = 1e-6
    slope = [
        (model.log_likelihood(gamma + way) - model.log_likelihood(gamma - way)) / (2 * step)
        for way in np.eye(model.size) * step
    ]
    assert np.allclose(found.gradient, slope, atol=1e-6)
    curved = differences(lambda at: model.derivatives(at).gradient, gamma, 1e-5)
    assert np.allclose(found.information, curved, atol=1e-6)
    assert np.allclose(model.scores(gamma).sum(axis=0), found.gradient)
    scores = model.scores(gamma) / model.weights[:, None]
    assert np.allclose(model.outer_products(gamma, 2), (scores * (model.weights**2)[:, None]).T @ scores)


def test_the_score_has_mean_zero_over_all_answers() -> None:
    """The sum over every set that may be sent, by the design's own law: no bias where the model is true."""
    for design, (outcome, link) in itertools.product((THREE, SetDesign(3, 2, "0.8")), LAW_NAMES):
        every = [bits for bits in itertools.product((0, 1), repeat=3) if sum(bits) == design.size]
        z = np.array([[1.0, 0.7]] * len(every))
        model = Options.of(np.array(every), z, design, LAWS[outcome, link])
        gamma = np.array([0.3, -0.5, 1.1, 0.2]) if outcome == "multinomial" else np.array([0.6, -0.2, 0.9])
        s = model.link.shares(model._eta(gamma, z[:1]))[:, 0]
        chance = design.chances(np.array(every)) @ s
        assert chance.sum() == pytest.approx(1)
        assert np.allclose(chance @ model.scores(gamma), 0, atol=1e-14)


def test_shares_and_effects_are_those_of_statsmodels() -> None:
    data = people("A")
    z = np.column_stack([data["x"], data["age"]])
    fit = models.fit(sets(data["rank"]), pd.DataFrame(z, columns=["x", "age"]), DIRECT4, labels=list("abcd"))
    other = sm.MNLogit(data["rank"], sm.add_constant(z)).fit(disp=0, tol=1e-14)
    assert np.allclose([row.value for row in fit.predict(pd.DataFrame(z[:2], columns=["x", "age"])).rows],
                       other.predict(sm.add_constant(z)[:2]).ravel())  # fmt: skip
    margins = other.get_margeff()
    found = fit.marginal_effects()
    assert np.allclose([row.value for row in found.rows], margins.margeff.ravel(), atol=1e-7)
    assert np.allclose([row.standard_error for row in found.rows], margins.margeff_se.ravel(), atol=1e-6)
    assert [row.name for row in found.rows][:2] == ["x: a", "x: b"]
    assert abs(sum(row.value for row in found.rows[:4])) < 1e-12  # what one option gains the others lose
    step = models.fit(sets(data["rank"]), data["group"], DIRECT4, labels=list("abcd")).marginal_effects()
    apart = [np.mean(data["rank"][data["group"] == g] == 0) for g in (0, 1)]
    assert (step["x1: a"].value, step["x1: a"].extras["kind"]) == (pytest.approx(apart[1] - apart[0]), "0 to 1")
    shares = [row.interval() for row in fit.predict(pd.DataFrame(z[:1], columns=["x", "age"])).rows]
    assert all(0 < bar.low < bar.high < 1 for bar in shares)


def test_a_formula_a_test_and_a_summary() -> None:
    data = people("B")
    frame = pd.DataFrame(
        {"said": ["".join(map(str, row)) for row in sets(data["said"])], "x": data["x"], "z": data["z"]}
    )
    fit = models.fit("said ~ x + z", frame, KEPT, labels=["never", "once", "twice", "often"])
    assert fit.names[:4] == ("once: Intercept", "once: x", "once: z", "twice: Intercept")
    less = fit.without("z")
    assert less.names[:2] == ("once: Intercept", "once: x")
    test = fit.likelihood_ratio(less)
    assert (test.df, test.statistic) == (3, pytest.approx(2 * (fit.log_likelihood - less.log_likelihood)))
    assert test.hypothesis == "once: z = twice: z = often: z = 0"
    wald = fit.wald_test("once: z", "twice: z", "often: z")
    assert wald.statistic == pytest.approx(test.statistic, rel=0.2)
    told = str(fit)
    assert "Randomised Multinomial Logistic Regression" in told
    assert "Newton's steps" in told
    assert {"odds_ratio", "odds_ratio_low"} <= set(fit.rows[0].extras)
    ordinal = models.fit("said ~ x + z", frame, KEPT, outcome="ordinal")
    assert ordinal.names == ("x", "z", *(f"option {k} | option {k + 1}" for k in (1, 2, 3)))
    assert len(ordinal.marginal_effects().rows) == 8
    with pytest.raises(ParameterError, match="answers, weights and designs nested"):
        fit.likelihood_ratio(ordinal)
    with pytest.raises(ParameterError, match="a choice has no profile bars"):
        fit.rows[0].interval(method="profile")


def test_sets_of_two_repeats_and_bulk() -> None:
    """Repeats are as many equal records; sets of two of five come back to the truth."""
    design, generator = optimal_design("ln 3", options=5), np.random.default_rng(3)
    assert design.size > 1 or SetDesign(5, 2, "2/3").size == 2
    design = SetDesign(5, 2, "0.9")
    n, x = 4000, generator.normal(size=4000)
    truth = (generator.random(n)[:, None] > np.cumsum(_shares(x), axis=1)).sum(axis=1)
    bits = np.zeros((n, 5), np.uint8)
    for person in range(n):
        inside = generator.random() < 0.9
        others = [j for j in range(5) if j != truth[person]]
        kept = [truth[person], generator.choice(others)] if inside else generator.choice(others, 2, replace=False)
        bits[person, kept] = 1
    fit = models.fit(bits, x, design)
    want = np.array([0.2, 0.5, 0.1, -0.5, 0.0, 0.3, -0.2, 0.0])
    assert (np.abs(fit.coefficients - want) < 6.2 * fit.standard_errors).all()  # false alarm below 1e-8
    twice = models.fit(bits, x, design, repeats=np.full(n, 2))
    assert np.allclose(twice.coefficients, fit.coefficients)
    assert np.allclose(twice.standard_errors * math.sqrt(2), fit.standard_errors)


def _shares(x: np.ndarray) -> np.ndarray:
    powers = np.exp(np.column_stack([0 * x, 0.2 + 0.5 * x, 0.1 - 0.5 * x, 0.3 * x, -0.2 + 0 * x]))
    return powers / powers.sum(axis=1, keepdims=True)


def test_without_a_maximum_the_error_says_why() -> None:
    z = np.arange(40) / 10
    never = sets(np.arange(40) % 3)  # nobody sends the last option: less than its noise
    with pytest.raises((Separation, NotConverged), match="fitted shares tend to 0|no maximum"):
        models.fit(never, z, KEPT)
    with pytest.raises((Separation, NotConverged)):
        models.fit(never, z, KEPT, outcome="ordinal")
    with pytest.raises(NotIdentified, match="linearly dependent"):
        models.fit(sets(np.arange(40) % 4), np.column_stack([z, 2 * z]), KEPT)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"outcome": "many"}, "outcome is 'many': use one of yes/no, multinomial, ordinal"),
        ({"outcome": "multinomial", "link": "probit"}, "link is 'probit': use logit"),
        ({"outcome": "ordinal", "link": "cloglog"}, "use logit or probit"),
        ({"link": "identity", "outcome": "ordinal"}, "'logit' for a choice"),
        ({"outcome": "ordinal", "intercept": False}, "thresholds take its place"),
        ({"labels": ["a", "b"]}, "4 different names"),
        ({"labels": ["a", "b", "b", "c"]}, "4 different names"),
        ({"answers": [0, 1] * 10}, "4 options|4 of 0 and 1"),
        ({"answers": ["1100"] * 20}, "answer 0 is '1100'"),
        ({"answers": [["1", "0", "0", None]] * 20}, "answer 0"),
        ({"population": 100}, "nothing for a choice"),
        ({"replicates": np.ones((20, 3))}, "replicates"),
        ({"among": [1, 2] * 10}, "True or False"),
        ({"among": [True] + [False] * 19}, "True for two or more"),
        ({"covariance": "expected"}, "one of observed"),
        ({"repeats": [1] * 20, "weights": [1] * 20}, "repeats alone"),
        ({"data": [math.nan] * 20}, "nan"),
        ({"design": THREE}, "of 3 options|3 of 0 and 1"),
        ({"design": "choice"}, "a Design, SetDesign or BlockDesign"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], words: str) -> None:
    given = {"answers": sets(np.arange(20) % 4), "data": np.arange(20) % 7, "design": KEPT, **change}
    with pytest.raises(ParameterError, match=words):
        models.fit(given.pop("answers"), given.pop("data"), given.pop("design"), **given)
