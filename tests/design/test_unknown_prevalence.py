"""Priors, minimax, minimax regret and ratio caps: figures, ties, limits, words, refusals."""

from fractions import Fraction

import pytest
import scipy.stats

from rrcollect import (
    Design,
    ParameterError,
    Promise,
    optimal_design,
)
from rrcollect.errors import UninformativeDesign
from tests.inside.design import prior_mean


def test_minimax_regret_figures():
    design = optimal_design(1, "0.4", prevalence=(0, "0.5"), criterion="regret")
    assert float(design.p00) == pytest.approx(0.9230835205, abs=5e-11)
    assert float(design.p11) == pytest.approx(0.6090806685, abs=5e-11)
    figures = dict(design.choice.compared)
    assert figures["balanced"] == pytest.approx(0.2507085260, abs=5e-11)
    assert min(v for name, v in figures.items() if name != "balanced") == pytest.approx(0.2950244103, abs=5e-11)
    mirrored = optimal_design(1, "0.4", prevalence=("0.5", 1), criterion="regret")
    assert (mirrored.p00, mirrored.p11) == (design.p11, design.p00)
    assert dict(mirrored.choice.compared)["balanced"] == pytest.approx(figures["balanced"], abs=5e-11)


def test_minimax_switches_its_corner_where_it_should():
    switch = Fraction("0.1364383498")
    step = Fraction(1, 10**9)
    assert optimal_design(switch - step, "0.05", prevalence=(0, 1)).proofs == ("yes",)
    assert optimal_design(switch + step, "0.05", prevalence=(0, 1)).proofs == ()


def test_minimax_says_when_it_discloses_and_how_many():
    design = optimal_design("0.1", "0.05", prevalence=(0, 1))
    assert 'A "yes" proves' in design.choice.explain_exposure()
    assert (
        "Of 1000 respondents up to 50 would be exposed" in design.choice.explain_exposure()
    )  # at the worst end, π = 1


def test_minimax_tie_break_is_stated():
    """(1, δ) and (δ, 1) tie on an interval that is symmetric about 1/2; the first named wins and it is said."""
    design = optimal_design("0.1", "0.05", prevalence=("0.2", "0.8"))
    assert design == Design(1, "0.05").to_grid()
    assert "A tie; the first named wins" in design.choice.reason


@pytest.mark.parametrize("choose", ["variance", "regret"])
def test_an_interval_of_one_point_is_a_known_prevalence(choose):
    for pi in ("0.05", "0.5", "0.95"):
        assert optimal_design(1, "0.4", prevalence=(pi, pi), criterion=choose) == optimal_design(
            1, "0.4", prevalence=pi
        )


@pytest.mark.parametrize("choose", ["variance", "regret"])
def test_strict_epsilon_needs_no_choice(choose):
    assert (
        optimal_design(1, prevalence=(0, 1), criterion=choose)
        == optimal_design(1)
        == optimal_design(1, 0, prevalence=("0.1", "0.2"), criterion=choose)
    )


@pytest.mark.parametrize("choose", ["variance", "regret"])
def test_bad_intervals(choose):
    with pytest.raises(ParameterError, match=r"^prevalence is .*low <= high"):
        optimal_design(1, "0.1", prevalence=("0.5", "0.4"), criterion=choose)
    with pytest.raises(ParameterError, match="^low is"):
        optimal_design(1, "0.1", prevalence=(-1, "0.4"), criterion=choose)
    with pytest.raises(ParameterError, match="^high is"):
        optimal_design(1, "0.1", prevalence=(0, "nan"), criterion=choose)
    with pytest.raises(UninformativeDesign):
        optimal_design(0, 0, prevalence=(0, 1), criterion=choose)


def test_priors_in_every_form():
    assert prior_mean("0.2") == Fraction(1, 5)
    assert prior_mean({"0.1": 3, "0.3": 1}) == Fraction(3, 20)
    assert float(prior_mean(scipy.stats.beta(2, 8))) == pytest.approx(0.2)
    design = optimal_design(1, "0.4", prevalence=scipy.stats.beta(1, 9))
    assert design.proofs == ("yes",)
    assert "prior's mean" in design.choice.rule
    assert design == optimal_design(1, "0.4", prevalence="0.1")


@pytest.mark.parametrize("bad", [{}, {"0.1": 0}, {"0.1": -1, "0.2": 2}, {"2": 1}, "x", 1.5, scipy.stats.norm(3, 1)])
def test_bad_priors(bad):
    with pytest.raises(ParameterError):
        prior_mean(bad)


def test_ratio_cap_meets_both_limits():
    design = optimal_design(Promise.capped(1, "2/5", 20), prevalence="0.1")
    assert design.satisfies(1, "2/5")
    assert 20 * (1 - Fraction(1, 10**15)) < design.likelihood_ratio(1) <= 20
    assert "at most 20" in design.choice.reason
    assert optimal_design(1, "2/5").variance("0.1") > design.variance("0.1")


def test_ratio_cap_below_the_promise_is_the_promise():
    assert optimal_design(Promise.capped(5, "0.1", 3)) == Design("3/4", "3/4")
    assert optimal_design(Promise.capped(1, 1, 3), prevalence="0.2") == Design("3/4", "3/4")


def test_without_a_cap_the_symmetric_corner():
    assert optimal_design(Promise.capped(1, "0.4", 50)) == optimal_design(1, "0.4")


@pytest.mark.parametrize("bad", [1, 0, -3, "nan", "x", True])
def test_bad_ratio_caps(bad):
    with pytest.raises(ParameterError, match="^max_ratio is"):
        optimal_design(Promise.capped(1, "0.4", bad))


def test_a_cap_that_leaves_nothing():
    with pytest.raises(UninformativeDesign):
        optimal_design(Promise.capped(1, 0, 1 + Fraction(1, 2**70)))


def test_a_capped_design_says_what_it_compared_and_where():
    at = optimal_design(Promise.capped(1, "2/5", 20), prevalence="1/10")
    assert (at.choice.low, at.choice.high) == (Fraction(1, 10), Fraction(1, 10))
    assert [name for name, _ in at.choice.compared] == ["symmetric", '"yes" at the cap', '"no" at the cap']
    anywhere = optimal_design(Promise.capped(1, "2/5", 20))
    assert (anywhere.choice.low, anywhere.choice.high) == (None, None)
    ((name, figure),) = anywhere.choice.compared
    assert (name, figure) == ("symmetric", pytest.approx(float(anywhere.variance("1/2"))))
