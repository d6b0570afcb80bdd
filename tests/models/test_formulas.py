"""Formulas: the same as arrays, categories, interactions, and marginal effects of variables."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest

from rrcollect import Design, ParameterError, optimal_design
from rrcollect.errors import MissingExtra
from server_agg import models
from tests.inside.models import simulate_survey

DESIGN = optimal_design(2)


@pytest.fixture(scope="module")
def frame():
    survey = simulate_survey(3000, [-0.5, 0.7, 0.3], DESIGN, seed=5)
    return pd.DataFrame(
        {
            "answer": survey.answers,
            "age": 40 + 10 * survey.covariates[:, 0],
            "member": (survey.covariates[:, 1] > 0).astype(int),
            "region": np.array(["north", "south", "west"])[np.arange(3000) % 3],
            "people": 1 + np.arange(3000) % 2,
        }
    )


def test_the_same_as_arrays(frame):
    by_formula = models.fit("answer ~ age + member", frame, DESIGN, repeats="people")
    by_arrays = models.fit(frame["answer"], frame[["age", "member"]], DESIGN, repeats=frame["people"])
    np.testing.assert_allclose(by_formula.coefficients, by_arrays.coefficients, atol=1e-9)
    np.testing.assert_allclose(
        by_formula.using("outer").standard_errors, by_arrays.using("outer").standard_errors, rtol=1e-9
    )
    assert by_formula.names == ("Intercept", "age", "member")
    assert by_arrays.names == ("Intercept", "age", "member")
    assert "Dep. Variable:" in by_formula.summary()
    assert by_formula.outcome == "answer"
    ours, theirs = by_formula.marginal_effects(), by_arrays.marginal_effects()
    for name in ("age", "member"):
        assert ours[name].value == pytest.approx(theirs[name].value, rel=1e-5)
        assert ours[name].standard_error == pytest.approx(theirs[name].standard_error, rel=1e-4)
    assert by_formula.predict(frame.head(2))[0].value == pytest.approx(
        by_arrays.predict(frame[["age", "member"]].head(2))[0].value
    )


def test_categories_interactions_and_powers(frame):
    fit = models.fit("answer ~ age * member + C(region)", frame, DESIGN)
    assert len(fit.names) == 6
    found = fit.marginal_effects()
    assert {row.name for row in found.rows} == {"age", "member", "region[south]", "region[west]"}
    h = 1e-3
    up, down = (fit.predict(frame.assign(age=frame["age"] + d)) for d in (h, -h))
    slope = np.mean([(a.value - b.value) / (2 * h) for a, b in zip(up.rows, down.rows, strict=True)])
    assert found["age"].value == pytest.approx(slope, rel=1e-4)
    assert found["age"].value != pytest.approx(fit.coefficients[1] * 0.2, rel=1e-3)
    assert found["region[west]"].extras["kind"] == "north to west"
    squared = models.fit("answer ~ age + I(age**2)", frame, DESIGN)
    assert len(squared.marginal_effects(["age"]).rows) == 1
    assert json.loads(squared.to_json())["outcome"] == "answer"
    smaller = models.fit("answer ~ age", frame, DESIGN)
    assert squared.likelihood_ratio(smaller).df == 1


def test_designs_in_a_column(frame):
    mixed = frame.assign(design=[DESIGN, Design("0.9", "0.7")] * 1500)
    fit = models.fit("answer ~ age", mixed, "design")
    again = models.fit(frame["answer"], frame["age"], list(mixed["design"]))
    np.testing.assert_allclose(fit.coefficients, again.coefficients, atol=1e-9)
    assert len(fit.model.table) == 2


@pytest.mark.parametrize(
    ("formula", "change", "words"),
    [
        ("age", {}, "a text such as"),
        ("income ~ age", {}, "a column of the data"),
        ("answer ~ income", {}, "a formula for columns"),
        ("answer ~ age +", {}, "a formula for columns"),
        ("answer ~ age", {"age": np.nan}, "without missing values"),
        ("answer ~ age", {"answer": 3}, "answer 0 is 3"),
    ],
)
def test_wrong_formulas_are_named(frame, formula, change, words):
    with pytest.raises(ParameterError, match=words):
        models.fit(formula, frame.assign(**change), DESIGN)


def test_wrong_questions_to_a_fit(frame):
    fit = models.fit("answer ~ age", frame, DESIGN)
    with pytest.raises(ParameterError, match="a frame the formula can be read from"):
        fit.predict(pd.DataFrame({"other": [1.0]}))
    with pytest.raises(ParameterError, match="one of"):
        fit.marginal_effects(["member"])


def test_without_formulaic_the_extra_is_named(frame, monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic", None)  # as where the extra is not installed
    with pytest.raises(MissingExtra, match=r"formulaic is not installed; pip install 'rrcollect\[analysis\]"):
        models.fit("answer ~ age", frame, DESIGN)
