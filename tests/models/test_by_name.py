"""Regression: columns by name, only nested models compared, repeats and sampling weights told apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rrcollect import Design, ParameterError, optimal_design
from server_agg import Tally, estimate, models

E2 = optimal_design(2)
GENERATOR = np.random.default_rng(8)
FRAME = pd.DataFrame({"age": GENERATOR.normal(size=400), "income": GENERATOR.normal(size=400)})
SHARES = 1 / (1 + np.exp(-0.7 * FRAME["age"] - 0.3 * FRAME["income"].to_numpy()))
ANSWERS = (GENERATOR.random(400) < 0.12 + 0.76 * SHARES).to_numpy().astype(int)
FIT = models.fit(ANSWERS, FRAME, E2)


def test_predictions_go_by_the_names_of_a_frame():
    new = pd.DataFrame({"age": [1.0], "income": [-2.0]})
    right = FIT.predict(new)[0].value
    assert FIT.predict(new[["income", "age"]])[0].value == right
    assert FIT.predict(pl.from_pandas(new[["income", "age"]]))[0].value == right
    assert FIT.predict([[1.0, -2.0]])[0].value == right
    assert FIT.predict([[-2.0, 1.0]])[0].value != right  # what position alone made of the reordered frame


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
    named = models.fit(ANSWERS, {"age": FRAME["age"], "income": FRAME["income"].tolist()}, E2)
    assert named.names == FIT.names
    assert named.coefficients == pytest.approx(FIT.coefficients)
    assert named.predict({"income": [-2.0], "age": [1.0]})[0].value == FIT.predict([[1.0, -2.0]])[0].value
    with pytest.raises(ParameterError, match="without"):
        named.predict({"age": [1.0]})
    with pytest.raises(ParameterError, match="covariate age of record 1 is nan"):
        models.fit([1, 0], {"age": [1.0, float("nan")]}, E2)
    alone = models.fit(ANSWERS, None, E2)
    assert alone.names == ("Intercept",)
    assert 1 / (1 + np.exp(-alone["Intercept"].value)) == pytest.approx(estimate(Tally.of(ANSWERS, E2)).value)


def test_only_nested_models_of_the_same_data_are_compared():
    counts = np.arange(400) % 3 + 1
    smaller = {
        "with other weights": models.fit(ANSWERS, FRAME[["age"]], E2, repeats=counts),
        "by other designs": models.fit(ANSWERS, FRAME[["age"]], optimal_design(3)),
        "not nested": models.fit(ANSWERS, FRAME[["age"]] ** 2, E2),
        "of other answers": models.fit(ANSWERS[::-1], FRAME[["age"]], E2),
    }
    for words, fit in smaller.items():
        with pytest.raises(ParameterError, match=words):
            FIT.likelihood_ratio(fit)
    with pytest.raises(ParameterError, match="not nested"):
        smaller["not nested"].likelihood_ratio(FIT)
    nested = models.fit(ANSWERS, FRAME[["income"]] * 7 + 3, E2)  # the same column in other units
    assert FIT.likelihood_ratio(nested).p_value == pytest.approx(
        FIT.likelihood_ratio(FIT.without("age")).p_value, rel=1e-6
    )
    ones = models.fit(ANSWERS, FRAME[["age"]], E2, repeats=np.ones(400))
    assert FIT.likelihood_ratio(ones).df == 1
    mixed = [E2 if i % 2 else Design("3/4", "3/4") for i in range(400)]
    both = models.fit(ANSWERS, FRAME, mixed)
    assert both.likelihood_ratio(both.without("age")).df == 1


def test_repeats_are_whole_and_weights_have_no_scale():
    with pytest.raises(ParameterError, match=r"repeats of record 1 is 2\.5: use a whole number"):
        models.fit([1, 0, 1, 0], [0.0, 1.0, 2.0, 0.5], E2, repeats=[1, 2.5, 1, 1])
    with pytest.raises(ParameterError, match="weights"):
        models.fit(ANSWERS, FRAME, E2, repeats=np.ones(400), weights=np.ones(400))
    weights = GENERATOR.uniform(50, 150, 400)
    once = models.fit(ANSWERS, FRAME, E2, weights=weights)
    scaled = models.fit(ANSWERS, FRAME, E2, weights=weights / 100)
    assert once.standard_errors == pytest.approx(scaled.standard_errors, rel=1e-6)
    plain = FIT.using("sandwich").standard_errors
    assert (once.standard_errors > 0.7 * plain).all()  # taken for repeats they were ten times too small
    planted = models.fit(ANSWERS, FRAME, E2, repeats=np.round(weights))
    assert (planted.standard_errors < 0.2 * plain).all()
    by_formula = models.fit("answer ~ age + income", FRAME.assign(answer=ANSWERS, w=weights), E2, weights="w")
    assert by_formula["age"].value == pytest.approx(once["age"].value, rel=1e-6)
