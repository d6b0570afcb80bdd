"""Covariates in the cheating models: against the models without them, RRreg, and exact expected counts."""

from __future__ import annotations

import numpy as np
import pytest

from rrcollect import Design, ParameterError
from server_agg import Tally, models
from server_agg.errors import NotIdentified, Separation
from server_agg.models.cheating_models import Rates
from tests.sampling.data import figures

FIRST, SECOND = Design("0.9", "0.7"), Design("0.4", "0.7")


def sigma(eta: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-eta))


def expected(cheaters: str, beta: list[float], delta: list[float]) -> dict[str, np.ndarray]:
    """A table with exactly the expected counts: its maximum of the likelihood is the truth itself."""
    rows = [(d, x, a) for d in (0, 1) for x in (-1.0, 0.0, 1.0, 2.0) for a in (0, 1)]
    design, x, answer = (np.array(column) for column in zip(*rows, strict=True))
    yes, no = np.full(len(rows), 0.7), np.where(design == 0, 0.1, 0.6)
    s, t = sigma(beta[0] + beta[1] * x), sigma(delta[0] + delta[1] * x)
    rate = s * t * yes + (1 - s) * no if cheaters == "carriers" else t * (s * yes + (1 - s) * no)
    return {
        "answer": answer.astype(int), "x": x, "design": design.astype(int),
        "weight": np.where(answer == 1, rate, 1 - rate) * 500,
    }  # fmt: skip


@pytest.mark.parametrize("cheaters", ["carriers", "anybody"])
def test_the_truth_is_found_from_its_expected_counts(cheaters: str) -> None:
    beta, delta = [-0.6, 0.8], [1.2, -0.5]
    table = expected(cheaters, beta, delta)
    designs = [(FIRST, SECOND)[d] for d in table["design"]]
    fit = models.fit_cheating(
        table["answer"],
        table["x"],
        designs,
        cheaters=cheaters,
        honesty_covariates=table["x"],
        names=["x"],
        weights=table["weight"],
    )
    assert np.allclose(fit.coefficients, [*beta, *delta], atol=1e-5)
    assert fit.names == ("Intercept", "x", "honest ~ Intercept", "honest ~ x1")
    naive = models.fit(table["answer"], table["x"], designs, weights=table["weight"])
    assert abs(naive.coefficients[1] - 0.8) > 0.1  # planted bug: cheaters taken for honest people


@pytest.mark.parametrize("cheaters", ["carriers", "anybody"])
def test_without_covariates_it_is_the_cheating_of_tallies(cheaters: str) -> None:
    answers = np.repeat([1, 0, 1, 0], [230, 770, 530, 470])
    fit = models.fit_cheating(answers, None, [FIRST] * 1000 + [SECOND] * 1000, cheaters=cheaters)
    plain = models.cheating([Tally(FIRST, 1000, 230), Tally(SECOND, 1000, 530)])
    h, _, gamma = plain.shares
    assert fit.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-9)
    if cheaters == "carriers":
        assert (fit.prevalence, fit.honesty) == pytest.approx((plain.lie_detector_prevalence, plain.honesty), abs=1e-5)
    else:
        assert (fit.prevalence, fit.honesty) == pytest.approx((h / (1 - gamma), 1 - gamma), abs=1e-5)


def test_rrreg_s_stochastic_lie_detector_finds_the_same() -> None:
    """RRreg has one honesty for all, not on the log-odds; its optimiser stops at four digits."""
    judged = figures()["lie_detector"]
    i = np.arange(2000)
    group, x = i % 2, (13 * i % 29) / 10 - 1.4
    said = ((i * i * 31 + 17 * i + 7 * (i // 50)) % 101 < np.where(group == 0, 28, 52) + 6 * x).astype(int)
    assert said.sum() == judged["ones"]
    designs = [(Design("0.8", 1), Design("0.4", 1))[g] for g in group]
    fit = models.fit_cheating(said, x, designs, names=["x"])
    assert fit.log_likelihood >= judged["log_likelihood"] - 1e-4
    assert np.allclose(fit.coefficients[:2], judged["coefficients"][:2], rtol=5e-3, atol=5e-3)
    assert fit.honesty == pytest.approx(judged["coefficients"][2], rel=5e-3)


def test_the_gradient_is_that_of_differences() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(30), rng.standard_normal(30)])
    for cheaters in ("carriers", "anybody"):
        rates = Rates(cheaters, rng.uniform(0.5, 1, 30), rng.uniform(0, 0.4, 30), x, x)
        theta = np.array([0.3, -0.4, 1.0, 0.5])
        for j in range(4):
            step = np.eye(4)[j] * 1e-6
            slope = (rates.at(theta + step)[0] - rates.at(theta - step)[0]) / 2e-6
            assert np.allclose(rates.at(theta)[1][:, j], slope, atol=1e-7)


@pytest.mark.needs("pandas")
def test_clusters_widen_the_bars_and_results_show_themselves() -> None:
    rng = np.random.default_rng(5)
    units = np.repeat(np.arange(60), 40)
    x = np.repeat(rng.standard_normal(60), 40)
    pi = np.repeat(rng.beta(3, 4, 60), 40)
    first = rng.random(2400) < 0.5
    rate = pi * 0.7 * 0.7 + (1 - pi) * np.where(first, 0.1, 0.6)
    answers = (rng.random(2400) < rate).astype(int)
    designs = [FIRST if f else SECOND for f in first]
    plain, survey = (models.fit_cheating(answers, x, designs, names=["x"], **how) for how in ({}, {"clusters": units}))
    assert np.allclose(plain.coefficients, survey.coefficients)
    assert survey["x"].standard_error > 1.15 * plain["x"].standard_error
    assert survey.df == 59
    assert "share of honest carriers" in str(survey)
    assert list(survey.to_frame()["name"]) == ["Intercept", "x", "honest ~ Intercept"]


def test_what_cannot_be_found_is_refused() -> None:
    answers = np.tile([1, 0], 50)
    with pytest.raises(NotIdentified, match="one design"):
        models.fit_cheating(answers, None, FIRST)
    with pytest.raises(ParameterError, match="anybody, carriers"):
        models.fit_cheating(answers, None, [FIRST, SECOND] * 50, cheaters="nobody")
    with pytest.raises(Separation, match="fit without cheaters"):
        models.fit_cheating(np.repeat([1, 0, 1, 0], [380, 620, 660, 340]), None, [FIRST] * 1000 + [SECOND] * 1000)
