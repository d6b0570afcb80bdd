"""Planning agrees with what the bars then do; power agrees with exact enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.stats.proportion import samplesize_confint_proportion

from rrcollect import Design, ParameterError, optimal_design
from server_agg import Tally, estimate, plan
from server_agg.plan.size import worst_prevalence
from tests.inside.estimates import unclipped_exact
from tests.support.comparing import both

METHODS = ("wald", "chebyshev", "hoeffding", "exact")
E1 = optimal_design(1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("design", [E1, Design(1, "0.3"), Design("0.2", "0.3"), Design(1, 1)], ids=repr)
@pytest.mark.parametrize("prevalence", [None, "0.2"])
def test_n_is_the_least_that_reaches_the_margin(method, design, prevalence):
    n = plan.sample_size(design, margin="0.1", method=method, prevalence=prevalence)
    assert plan.margin(design, n, method=method, prevalence=prevalence) <= 0.1 + 1e-12
    assert plan.margin(design, n - 1, method=method, prevalence=prevalence) > 0.1


def test_worst_is_worst():
    for design in (E1, Design(1, "0.05"), Design("0.05", 1), Design("0.9", "0.6"), Design("0.2", "0.3")):
        worst = worst_prevalence(design)
        assert all(design.variance(worst) >= design.variance(p / 50) for p in map(float, range(51)))
        assert plan.sample_size(design, margin="0.05") >= plan.sample_size(design, margin="0.05", prevalence="0.37")


def test_direct_questions_agree_with_statsmodels():
    n = plan.sample_size(Design(1, 1), margin=0.05, prevalence="0.3", method="wald")
    assert n == int(np.ceil(samplesize_confint_proportion(0.3, 0.05)))


def test_the_exact_plan_is_what_the_bars_do():
    """The expected width of the package's own bars at the planned n, by exact summation (nothing is cut here)."""
    n = plan.sample_size(E1, margin="0.08", method="exact", prevalence="0.5")
    for size, reached in ((n, True), (n - 1, False)):
        law = binom.pmf(np.arange(size + 1), size, 0.5)
        widths = [estimate(Tally(E1, size, k)).interval().width if p > 1e-12 else 0 for k, p in enumerate(law)]
        assert (law @ widths / 2 <= 0.08) is np.bool_(reached)
    assert (
        plan.sample_size(E1, margin="0.08", method="wald") < n < plan.sample_size(E1, margin="0.08", method="hoeffding")
    )


@pytest.mark.parametrize("method", METHODS)
def test_epsilon_for_is_the_least(method):
    found = plan.epsilon(3000, margin="0.06", method=method)
    assert plan.margin(optimal_design(found), 3000, method=method) <= 0.06
    assert plan.margin(optimal_design(found * (1 - 1e-6)), 3000, method=method) > 0.06
    with pytest.raises(ParameterError, match="direct answers"):
        plan.epsilon(10, margin="0.01", method=method)


def test_the_price_of_privacy():
    found = plan.price([0.5, 1, "ln 3", 4], method="wald")
    prices = found.rows
    assert [p.n for p in prices] == sorted((p.n for p in prices), reverse=True)
    assert prices[1].n == 1799
    assert prices[2].value == pytest.approx(4, rel=0.01)
    assert found.as_dict()["rows"][2]["effective_share"] == pytest.approx(0.25)
    assert "direct n" in str(found)


def test_power_is_the_chance_that_the_bar_misses_the_null():
    for design in (E1, Design(1, "0.3"), Design("0.2", "0.3")):
        n, null, prevalence = 80, "0.2", "0.5"
        law = binom.pmf(np.arange(n + 1), n, float(design.says_yes(prevalence)))
        for side in ("both", "lower", "upper"):
            bars = [estimate(Tally(design, n, k)).interval(side=side) for k in range(n + 1)]
            rejected = sum(p for p, (low, high) in zip(law, bars, strict=True) if not low <= 0.2 <= high)
            assert plan.power(design, n, null=null, prevalence=prevalence, side=side) == pytest.approx(rejected)
        size = plan.power(design, n, null=null, prevalence=null)
        assert size <= 0.05


def test_sample_size_for_power_stays():
    n = plan.sample_size(E1, null="0.1", prevalence="0.3", power=0.9)
    assert all(plan.power(E1, m, null="0.1", prevalence="0.3") >= 0.9 for m in range(n, n + 200))
    assert plan.power(E1, n - 1, null="0.1", prevalence="0.3") < 0.9


@pytest.mark.long
def test_power_between_groups_against_exact_enumeration():
    """Tables rarer than 1e-4 are left out: at most 0.05 in all, and nearly all of them are rejected."""
    n, design, first, gap = 60, optimal_design(2), 0.2, 0.4
    law = np.outer(*(binom.pmf(np.arange(n + 1), n, float(design.says_yes(p))) for p in (first, first + gap)))
    likely = np.argwhere(law > 1e-4)
    assert law[law > 1e-4].sum() > 0.95
    exact = sum(law[j, k] * (both(Tally(design, n, int(j)), Tally(design, n, int(k))).test.p_value < 0.05)
                for j, k in likely)  # fmt: skip
    assert plan.power(design, n, difference=gap, prevalence=first) == pytest.approx(
        exact / law[law > 1e-4].sum(), abs=0.04
    )
    worst = plan.power(design, n, difference="0.3")
    assert worst <= min(plan.power(design, n, difference="0.3", prevalence=p / 100) for p in range(0, 71, 5))
    assert plan.power(design, n, difference="-0.3", prevalence="0.4") == pytest.approx(
        plan.power(design, n, difference="0.3", prevalence="0.1")
    )
    m = plan.sample_size(design, difference="0.3", power=0.9)
    assert plan.power(design, m, difference="0.3") >= 0.9 > plan.power(design, m - 1, difference="0.3")
    assert plan.power(Design(1, 1), 5, difference="0.999", prevalence=0) > 0.9


def test_invalid_plans_are_refused():
    for margin in (0, 1, -0.1, float("nan"), "x"):
        with pytest.raises(ParameterError, match="margin"):
            plan.sample_size(E1, margin=margin)
    with pytest.raises(ParameterError, match="method"):
        plan.sample_size(E1, margin=0.1, method="wilson")
    with pytest.raises(ParameterError, match="prevalence"):
        plan.sample_size(E1, margin=0.1, prevalence=2)
    with pytest.raises(ParameterError, match="n is"):
        plan.margin(E1, 1)
    with pytest.raises(ParameterError, match="level"):
        plan.margin(E1, 10, level=2)
    with pytest.raises(ParameterError, match="another one"):
        plan.sample_size(E1, null="0.1", prevalence="0.1")
    with pytest.raises(ParameterError, match="on the side"):
        plan.sample_size(E1, null="0.5", prevalence="0.3", side="lower")
    with pytest.raises(ParameterError, match="answers can"):
        plan.sample_size(Design(1, "1e-9"), margin="0.0001", method="exact")
    with pytest.raises(ParameterError, match="answers can"):
        plan.sample_size(Design("0.5", "0.500001"), difference="0.00001")
    for difference in (0, 1, "x"):
        with pytest.raises(ParameterError, match="difference"):
            plan.power(E1, 10, difference=difference)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        plan.power(E1, 10, difference="0.5", prevalence="0.8")
    with pytest.raises(ParameterError, match="power"):
        plan.sample_size(E1, difference="0.1", power=1)


def test_it_is_planned_for_the_bar_that_is_printed():
    """99 answers, by the normal law, give a bar of ±0.099 where ±0.08 was asked for."""
    design = Design(1, "0.3")
    assert plan.sample_size(design, margin="0.08", prevalence="0.05", method="wald") == 99
    assert plan.margin(design, 99, prevalence="0.05") == pytest.approx(0.0993, abs=1e-4)
    n = plan.sample_size(design, margin="0.08", prevalence="0.05")
    law = binom.pmf(np.arange(n + 1), n, float(design.says_yes("0.05")))
    ends = [unclipped_exact(estimate(Tally(design, n, k)).problem, 0.95) for k in range(n + 1)]
    halves = np.array([(high - low) / 2 for low, high in ends])
    assert law @ halves <= 0.08
    sure = plan.sample_size(design, margin="0.08", prevalence="0.05", assurance="0.9")
    law = binom.pmf(np.arange(sure + 1), sure, float(design.says_yes("0.05")))
    ends = [unclipped_exact(estimate(Tally(design, sure, k)).problem, 0.95) for k in range(sure + 1)]
    assert law[[(high - low) / 2 <= 0.08 for low, high in ends]].sum() >= 0.9
    assert sure > n
    with pytest.raises(ParameterError, match="assurance"):
        plan.sample_size(design, margin="0.08", method="wald", assurance="0.9")
