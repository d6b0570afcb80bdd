"""k groups and trends: identities with other tests, level and power; power by simulation; the power plot."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest
from scipy.stats import binom, chi2, chi2_contingency

from rrcollect import Design, ParameterError, optimal_design
from server_agg import Tally, compare, estimate, models, plan, trend
from server_agg.errors import TooFewAnswers
from tests.support.comparing import both
from tests.support.regression_data import DIRECT

D = Design("3/4", "3/4")
GROUPS = {"a": Tally(D, 500, 150), "b": Tally(D, 400, 160), "c": Tally(D, 300, 150)}


def test_two_groups_are_the_comparison_there_is():
    two = {"a": GROUPS["a"], "b": GROUPS["b"]}
    found = compare(two)
    assert found.test.p_value == pytest.approx(both(two["a"], two["b"]).test.p_value, rel=1e-9)
    assert found.pairs[0].extras["p_alone"] == found.pairs[0].p_value
    assert trend(two).test.p_value == pytest.approx(found.test.p_value, rel=1e-9)


def test_one_design_is_pearsons_test_of_the_answers():
    found = compare(GROUPS)
    table = [[t.ones, t.n - t.ones] for t in GROUPS.values()]
    theirs = chi2_contingency(table, correction=False)
    assert found.test.statistic == pytest.approx(theirs.statistic)
    assert found.test.p_value == pytest.approx(theirs.pvalue)
    assert found.common == pytest.approx(float((460 / 1200 - 0.25) / 0.5))


def test_designs_may_differ_within_and_between_groups():
    other = Design("0.9", "0.6")
    mixed = {"a": [Tally(D, 300, 100), Tally(other, 200, 50)], "b": Tally(other, 400, 140), "c": Tally(D, 300, 120)}
    found = compare(mixed)
    assert found.common == pytest.approx(
        estimate([t for g in mixed.values() for t in (g if isinstance(g, list) else [g])]).value
    )
    assert found.test.df == 2
    assert [row.name for row in found.pairs] == ["b − c"]
    assert found["a"].value == pytest.approx(estimate(mixed["a"]).value)
    assert found["b"].value == pytest.approx(estimate(mixed["b"]).value)


def test_the_trend_is_that_of_rounds_and_scores_matter_only_up_to_units():
    rounds = trend(dict(enumerate(GROUPS.values(), start=1)))
    found = trend(GROUPS)
    assert found.test.p_value == pytest.approx(rounds.test.p_value, rel=1e-6)
    assert trend(GROUPS, scores=[10, 30, 50]).test.p_value == pytest.approx(found.test.p_value, rel=1e-9)
    assert trend(GROUPS, scores=[0, 1, 0]).test.p_value != pytest.approx(found.test.p_value, rel=0.1)
    assert found.test.statistic <= compare(GROUPS).test.statistic * (1 + 1e-12)  # equal here, but for rounding


def test_labels_swapped_and_mirrored_give_the_same_p():
    found, rising = compare(GROUPS), trend(GROUPS)
    for change in (Tally.swapped, Tally.mirrored):
        changed = {label: change(t) for label, t in GROUPS.items()}
        assert compare(changed).test.p_value == pytest.approx(found.test.p_value, rel=1e-9)
        assert trend(changed).test.p_value == pytest.approx(rising.test.p_value, rel=1e-9)


@pytest.mark.long
def test_the_level_is_kept_and_a_test_without_the_design_breaks_it():
    """100 surveys of three groups with equal prevalence but different designs.  False alarms: below 1e-9."""
    rng, designs = np.random.default_rng(5), [optimal_design(1), optimal_design(3), Design("0.95", "0.6")]
    rejected = without_design = 0
    for _ in range(100):
        ones = [int(rng.binomial(400, float(d.says_yes("0.3")))) for d in designs]
        rejected += (
            compare({str(k): Tally(d, 400, x) for k, (d, x) in enumerate(zip(designs, ones, strict=True))}).test.p_value
            < 0.05
        )
        without_design += compare({str(k): Tally(DIRECT, 400, x) for k, x in enumerate(ones)}).test.p_value < 0.05
    high = binom.ppf(1 - 1e-9, 100, 0.06)
    assert rejected <= high
    assert without_design > high


def test_extreme_counts_and_wrong_input():
    proof = Design(1, "0.2")
    assert compare({"a": Tally(proof, 50, 0), "b": Tally(proof, 50, 0)}).test.p_value == 1.0
    assert trend({"a": Tally(proof, 50, 0), "b": Tally(proof, 50, 0)}).test.p_value == 1.0
    assert 0 <= compare({"a": Tally(D, 50, 0), "b": Tally(D, 50, 5)}).test.p_value <= 1
    with pytest.raises(ParameterError, match="two groups or more"):
        compare({"a": GROUPS["a"]})
    with pytest.raises(TooFewAnswers, match="group 'b'"):
        compare({"a": GROUPS["a"], "b": Tally(D, 1, 0)})
    with pytest.raises(ParameterError, match="not all equal"):
        trend(GROUPS, scores=[1, 1, 1])
    with pytest.raises(ParameterError, match="3 numbers"):
        trend(GROUPS, scores=[1, 2])
    said = json.loads(compare(GROUPS).to_json())
    assert said["test"]["df"] == 2
    assert chi2.sf(said["test"]["statistic"], 2) == pytest.approx(said["test"]["p_value"])


# ---- power --------------------------------------------------------------------------------------------------------


def test_power_by_simulation_meets_the_formula():
    """The exact bar at level 1 − 1e-9 holds the formula's value, up to 2 points for its normal approximation."""
    design = optimal_design(2)
    found = models.power(design, 500, prevalences=(0.2, 0.3), replications=1500, seed=3)
    formula = plan.power(design, 500, difference=0.1, prevalence=0.2)
    low, high = found.interval(1 - 1e-9)
    assert low - 0.02 <= formula <= high + 0.02
    assert not low - 0.02 <= plan.power(DIRECT, 500, difference=0.1, prevalence=0.2) <= high + 0.02


def test_power_of_a_coefficient_by_simulation_meets_the_formula():
    design = optimal_design(2)
    rows = np.random.default_rng(1).standard_normal(20_000)
    formula = models.power(design, 400, coefficients=[-0.5, 0.35], place=1, covariates=rows).value
    found = models.power(design, 400, coefficients=(-0.5, 0.35), replications=500, seed=4)
    low, high = found.interval(1 - 1e-9)
    assert low - 0.02 <= formula <= high + 0.02
    assert models.power(DIRECT, 400, coefficients=[-0.5, 0.35], place=1, covariates=rows).value > high
    assert models.power(design, 400, coefficients=[-0.5, 0.0], place=1, covariates=rows).value == pytest.approx(0.05)
    with pytest.raises(ParameterError, match="0 to 1"):
        models.power(design, len(rows), coefficients=[-0.5, 0.35], place=2, covariates=rows)


@pytest.mark.process
def test_processes_change_nothing_and_failures_are_counted():
    groups = {"prevalences": (0.1, 0.2, 0.3), "replications": 60}
    alone = models.power(D, 200, **groups, test="trend", seed=1)
    together = models.power(D, 200, **groups, test="trend", seed=1, processes=2)
    assert (alone.found, alone.failures) == (together.found, together.failures)
    assert models.power(D, 200, **groups, test="trend", seed=2).found != alone.found
    weak = models.power(optimal_design(1), 20, coefficients=(-3.0, 0.0), replications=40, seed=1)
    assert weak.failures > 0
    assert weak.value <= 1 - weak.failures / 40
    assert alone.as_dict()["replications"] == 60
    assert 0 < models.power(D, 200, **groups, seed=1).value <= 1


def test_the_progress_bar_is_for_terminals(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        models.power(D, 50, prevalences=(0.1, 0.2), replications=50)
        assert ("50/50 replications\n" in stream.getvalue()) is shown


def test_wrong_settings_of_a_simulation():
    for change in ({"replications": 1}, {"processes": 0}, {"seed": -1}, {"level": 2}, {"test": "any"}):
        with pytest.raises(ParameterError):
            models.power(D, 50, prevalences=(0.1, 0.2), **change)
    with pytest.raises(ParameterError):
        models.power(D, 50, prevalences=(0.1, 1.2), replications=5)


@pytest.mark.needs("matplotlib")
def test_the_power_plot():
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    point = models.power(D, 500, prevalences=(0.45, 0.55), replications=50)
    found = plan.power_curve({"ε = ln 3": D, "direct": DIRECT}, [100, 500, 1000], difference="0.1")
    found.plot(axes, simulated={500: point})
    assert "ε = ln 3, n = 500" in str(found)
    line = axes.lines[0].get_ydata()
    assert list(line) == [plan.power(D, n, difference="0.1") for n in (100, 500, 1000)]
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["ε = ln 3", "direct", "simulated"]
    with pytest.raises(ParameterError, match="one or more of each"):
        plan.power_curve({}, [100], difference="0.1")
