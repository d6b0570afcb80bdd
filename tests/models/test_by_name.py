"""Regression: columns by name, only nested models compared, repeats and sampling weights told apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rrcollect import Design, ParameterError, optimal_design
from server_agg import (
    Tally,
    estimate,
    fit_logistic,
    fit_logistic_formula,
)

E2 = optimal_design(2)
GENERATOR = np.random.default_rng(8)
FRAME = pd.DataFrame({"age": GENERATOR.normal(size=400), "income": GENERATOR.normal(size=400)})
SHARES = 1 / (1 + np.exp(-0.7 * FRAME["age"] - 0.3 * FRAME["income"].to_numpy()))
ANSWERS = (GENERATOR.random(400) < 0.12 + 0.76 * SHARES).to_numpy().astype(int)
FIT = fit_logistic(ANSWERS, FRAME, E2)


def test_predictions_go_by_the_names_of_a_frame():
    new = pd.DataFrame({"age": [1.0], "income": [-2.0]})
    right = FIT.predict(new)[0].prevalence
    assert FIT.predict(new[["income", "age"]])[0].prevalence == right
    assert FIT.predict(pl.from_pandas(new[["income", "age"]]))[0].prevalence == right
    assert FIT.predict([[1.0, -2.0]])[0].prevalence == right
    assert FIT.predict([[-2.0, 1.0]])[0].prevalence != right  # what position alone made of the reordered frame


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"age": [1.0], "wage": [2.0]}, r"without \['income'\]; with \['wage'\]"),
        ({"age": [1.0]}, r"without \['income'\]"),
        ({"age": [1.0], "income": [2.0], "x": [0.0]}, r"with \['x'\]"),
    ],
)
def test_foreign_and_missing_columns_are_refused(columns, words):
    with pytest.raises(ParameterError, match=words):
        FIT.predict(pd.DataFrame(columns))


def test_covariates_may_be_a_mapping_or_none():
    named = fit_logistic(ANSWERS, {"age": FRAME["age"], "income": FRAME["income"].tolist()}, E2)
    assert named.names == FIT.names
    assert named.coefficients == pytest.approx(FIT.coefficients)
    assert named.predict({"income": [-2.0], "age": [1.0]})[0].prevalence == FIT.predict([[1.0, -2.0]])[0].prevalence
    with pytest.raises(ParameterError, match="without"):
        named.predict({"age": [1.0]})
    with pytest.raises(ParameterError, match="covariate age of record 1 is nan"):
        fit_logistic([1, 0], {"age": [1.0, float("nan")]}, E2)
    alone = fit_logistic(ANSWERS, None, E2)
    assert alone.names == ("intercept",)
    assert 1 / (1 + np.exp(-alone["intercept"])) == pytest.approx(estimate(Tally.of(ANSWERS, E2)).value)


def test_only_nested_models_of_the_same_data_are_compared():
    counts = np.arange(400) % 3 + 1
    smaller = {
        "with other weights": fit_logistic(ANSWERS, FRAME[["age"]], E2, repeats=counts),
        "by other designs": fit_logistic(ANSWERS, FRAME[["age"]], optimal_design(3)),
        "not nested": fit_logistic(ANSWERS, FRAME[["age"]] ** 2, E2),
        "of other answers": fit_logistic(ANSWERS[::-1], FRAME[["age"]], E2),
    }
    for words, fit in smaller.items():
        with pytest.raises(ParameterError, match=words):
            FIT.likelihood_ratio(fit)
    with pytest.raises(ParameterError, match="not nested"):
        smaller["not nested"].likelihood_ratio(FIT)
    nested = fit_logistic(ANSWERS, FRAME[["income"]] * 7 + 3, E2)  # the same column in other units
    assert FIT.likelihood_ratio(nested).p == pytest.approx(FIT.likelihood_ratio(FIT.without("age")).p, rel=1e-6)
    ones = fit_logistic(ANSWERS, FRAME[["age"]], E2, repeats=np.ones(400))
    assert FIT.likelihood_ratio(ones).freedom == 1
    mixed = [E2 if i % 2 else Design("3/4", "3/4") for i in range(400)]
    both = fit_logistic(ANSWERS, FRAME, mixed)
    assert both.likelihood_ratio(both.without("age")).freedom == 1


def test_repeats_are_whole_and_sampling_weights_have_no_scale():
    with pytest.raises(ParameterError, match=r"repeats of record 1 is 2\.5; expected a whole number"):
        fit_logistic([1, 0, 1, 0], [0.0, 1.0, 2.0, 0.5], E2, repeats=[1, 2.5, 1, 1])
    with pytest.raises(ParameterError, match="sampling_weights"):
        fit_logistic(ANSWERS, FRAME, E2, repeats=np.ones(400), sampling_weights=np.ones(400))
    weights = GENERATOR.uniform(50, 150, 400)
    once = fit_logistic(ANSWERS, FRAME, E2, sampling_weights=weights)
    scaled = fit_logistic(ANSWERS, FRAME, E2, sampling_weights=weights / 100)
    assert once.standard_errors() == pytest.approx(scaled.standard_errors(), rel=1e-6)
    plain = FIT.standard_errors("sandwich")
    assert (once.standard_errors() > 0.7 * plain).all()  # taken for repeats they were ten times too small
    planted = fit_logistic(ANSWERS, FRAME, E2, repeats=np.round(weights))
    assert (planted.standard_errors() < 0.2 * plain).all()
    by_formula = fit_logistic_formula("answer ~ age + income", FRAME.assign(answer=ANSWERS, w=weights), E2,
                                      sampling_weights="w")  # fmt: skip
    assert by_formula["age"] == pytest.approx(once["age"], rel=1e-6)
