"""Every result of `models` and `sampling` is rows with notes, in every form: frame, table, JSON, picture."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from rrcollect import Design, ParameterError, classic, optimal_design
from server_agg import Tally, models, sampling
from tests.inside.models import simulate_survey

D, E2 = Design("3/4", "3/4"), optimal_design(2)
HOSTILE = "<script>&|_%\\*"
TALLIES = {"north": Tally(D, 400, 180), HOSTILE: Tally(D, 300, 120)}
SURVEY = simulate_survey(600, [-0.5, 0.8], E2, seed=5)
FIT = models.fit(SURVEY.answers, SURVEY.covariates, E2, names=["age"])
OUTCOME = SURVEY.truths + np.random.default_rng(6).standard_normal(600)
TIES = {"source": list("aaabbc"), "target": list("bcdcdd"), "answer": [1, 1, 0, 0, 1, 1]}
UNITS = np.arange(600) % 20
SAMPLE = sampling.estimate(
    SURVEY.answers, E2, clusters=UNITS, weights=np.ones(600), by=np.where(UNITS < 9, "north", HOSTILE)
)
TWO = [Design("0.9", "0.7"), Design("0.4", "0.7")]
CHEATED = np.repeat([1, 0, 1, 0], [69, 231, 159, 141])

RESULTS = {  # the result, its rows, and how many of them are drawn
    "weighted": (sampling.estimate([1, 0, 1, 0], D, weights=[1.0, 2.0, 1.0, 1.0]), 1, 1),
    "stratified": (sampling.estimate(TALLIES, population={"north": 6000, HOSTILE: 7000}), 1, 1),
    "poststratified": (sampling.estimate(TALLIES, weights={"north": 1, HOSTILE: 2}, by={x: x for x in TALLIES}), 3, 3),
    "moors": (models.moors((50, 20), (30, 10), classic.moors("0.7")), 1, 1),
    "graph": (models.graph(TIES, Design("0.9", "0.9")), 6, 4),
    "repeated": (models.kuk([5, 3, 2], classic.kuk("0.8", "0.2", draws=2)), 1, 1),
    "regression": (FIT, 2, 2),
    "effects": (FIT.marginal_effects(), 1, 1),
    "prediction": (FIT.predict([[0.5], [1.0]]), 2, 2),
    "predictor": (models.fit_predictor(OUTCOME, SURVEY.answers, E2), 2, 2),
    "cheating": (models.cheating([Tally(TWO[0], 999, 230), Tally(TWO[1], 999, 530)]), 3, 3),
    "sensitivity": (models.cheating(TALLIES["north"], cheaters=[0, "0.1", "0.9"]), 3, 2),
    "association": (models.correlate(SURVEY.answers, E2, SURVEY.covariates[:, 0]), 1, 1),
    "complex sample": (SAMPLE, 3, 3),
    "its totals": (SAMPLE.total, 3, 3),
    "means of a sample": (sampling.estimate(SURVEY.answers, E2, clusters=UNITS, unit="hours", bounds=(5, 9)), 1, 1),
    "its difference": (SAMPLE.difference("north", HOSTILE), 1, 1),
    "list experiment": (sampling.list_experiment(np.tile([1, 2, 2, 3], 150), np.tile([0, 1], 300), 3), 1, 1),
    "random intercept": (models.fit_mixed(SURVEY.answers, SURVEY.covariates, E2, UNITS), 2, 2),
    "linear probability": (models.fit(SURVEY.answers, SURVEY.covariates, E2, link="identity"), 2, 2),
    "side by side": (models.side_by_side({"one": FIT, HOSTILE: FIT.without("age")}), 3, 3),
    "cheating regression": (models.fit_cheating(CHEATED, None, [TWO[0]] * 300 + [TWO[1]] * 300), 2, 2),
}


@pytest.mark.needs("pandas", "polars")
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_tidy_frame(name):
    result, rows, _ = RESULTS[name]
    frame, again = result.to_frame(), result.to_frame("polars")
    assert list(frame.columns) == again.columns
    assert len(frame) == again.height == len(result.rows) == rows
    assert {"name", "n", "value", "standard_error", "p_value", "low", "high", "level", "method"} <= set(frame)
    for row in result.rows:
        if row.bar is not None:
            bar, shown = row.interval(), row.scale.clipped(row.value)
            assert bar.low - 1e-9 <= shown <= bar.high + 1e-9
            assert row.interval(0.99).width >= bar.width
    with pytest.raises(ParameterError, match="pandas, polars"):
        result.to_frame("excel")


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_told_in_every_form_with_all_its_notes(name):
    result, rows, _ = RESULTS[name]
    page = ElementTree.fromstring(f"<div>{result._repr_html_()}</div>")  # noqa: S314 - ours, and well formed: escaped
    assert {each.tag for each in page.iter()} <= {"div", "table", "tr", "th", "td", "p"}
    tables = [each for each in result.to_markdown().split("\n\n") if each.startswith("|")]
    assert len(tables) == len(page.findall("table"))
    latex = result.to_latex()
    assert latex.count(r"\begin{tabular}") == len(tables)
    for line in latex.splitlines():
        assert "%" not in line.replace(r"\%", "")
        assert "_" not in line.replace(r"\_", "")
    said = json.loads(result.to_json())
    assert len(said["rows"]) == rows
    assert said["notes"] == list(result.notes)
    told = {each.text for each in page.findall("p")}
    assert set(result.notes) <= told
    assert result.sentence()
    assert result.target


@pytest.mark.needs("matplotlib")
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_picture(name):
    result, _, points = RESULTS[name]
    assert len(result.points()) == points
    assert result.plot()._repr_png_()


def test_a_fit_tells_t_where_t_is_used():
    drawn = models.fit(SURVEY.answers, SURVEY.covariates, E2, names=["age"], clusters=UNITS)
    assert "P>|t|" in str(drawn)
    assert "P>|z|" not in str(drawn)
    assert "P>|z|" in str(FIT)
    assert {"std err", "t"} <= set(drawn.columns())
    assert drawn.as_dict()["df"] == 18


def test_few_clusters_are_told():
    few = sampling.estimate(SURVEY.answers, E2, clusters=np.arange(600) % 6)
    assert "few clusters" in str(few)
    assert "few clusters" not in str(SAMPLE)


def test_power_and_cost_are_told_in_a_sentence():
    power = models.power(E2, 100, prevalences=(0.2, 0.6), replications=20, seed=1)
    assert "20 replications, 0 without a fit; target: the power of a test at 5 %" in power.sentence()
    assert json.loads(json.dumps(power.as_dict()))["replications"] == 20
    assert "by formula" in models.power(E2, 100, coefficients=[0, 1], covariates=[0, 1, 2]).sentence()
    cost = sampling.list_experiment(np.tile([1, 2, 2, 3], 150), np.tile([0, 1], 300), 3).beside(E2)
    assert "people for each one" in cost.sentence()


@pytest.mark.needs("statsmodels")
def test_the_criteria_are_those_of_statsmodels():
    from statsmodels import api

    x = api.add_constant(SURVEY.covariates)
    theirs = api.Logit(SURVEY.truths.astype(float), x).fit(disp=0)
    ours = models.fit(SURVEY.truths, SURVEY.covariates, Design(1, 1), names=["age"])
    assert (ours.aic, ours.bic) == (pytest.approx(theirs.aic), pytest.approx(theirs.bic))
    row = ours.to_frame().iloc[1]
    bar = np.exp(theirs.conf_int()[1])
    assert row[["odds_ratio", "odds_ratio_low", "odds_ratio_high"]].tolist() == pytest.approx(
        [np.exp(theirs.params[1]), *bar], rel=1e-5
    )
    assert "odds ratio" in ours.to_markdown()
    whole = models.fit([1, 0] * 2, [0, 0, 1, 1], D, repeats=[90, 110, 120, 80])
    long = models.fit([1] * 90 + [0] * 110 + [1] * 120 + [0] * 80, [0] * 200 + [1] * 200, D)
    assert whole.bic == pytest.approx(long.bic)  # a repeat is a person
    weighted = models.fit(SURVEY.answers, SURVEY.covariates, E2, weights=np.ones(600))
    assert weighted.aic is weighted.bic is None  # not a likelihood
