"""Bars for the people who answered and for a finite population: exact laws, all true counts."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from rrcollect import Design, ParameterError, optimal_design
from server_agg import Tally, estimate
from server_agg.estimates.finite import answers_at_least, sample_lower
from tests.inside.estimates import finite_lower
from tests.support.aims import aimed

DESIGNS = [optimal_design(1), Design(1, "0.05"), Design("0.05", 1), Design("0.9", "0.6"), Design("0.2", "0.3")]
METHODS = ("exact", "chebyshev", "hoeffding")


def sample_law(design: Design, n: int, t: int):
    """P(N = 0 … n) given t true yes among the n who answered."""
    yes = binom.pmf(np.arange(t + 1), t, float(design.p11))
    no = binom.pmf(np.arange(n - t + 1), n - t, float(1 - design.p00))
    return np.convolve(yes, no)


def finite_law(design: Design, n: int, yes: int, size: int):
    """P(N = 0 … n) if n of `size` people are drawn, `yes` of whom have the attribute."""
    law = np.zeros(n + 1)
    for t in range(n + 1):
        law += hypergeom.pmf(t, size, yes, n) * sample_law(design, n, t)
    return law


def covered(bars, share, law):
    return sum(p for p, (low, high) in zip(law, bars, strict=True) if low <= share <= high)


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_the_sample_is_covered_for_every_number_of_true_yes(design):
    for n in (2, 15, 40):
        for method in METHODS:
            bars = [estimate(Tally(design, n, k), target="sample").interval(0.95, method) for k in range(n + 1)]
            for t in range(n + 1):
                assert covered(bars, t / n, sample_law(design, n, t)) >= 0.95 - 1e-12


@pytest.mark.long
@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_a_finite_population_is_covered_for_every_number_of_true_yes(design):
    n, size = 20, 50
    for method in METHODS:
        bars = [estimate(Tally(design, n, k), population=size).interval(0.95, method) for k in range(n + 1)]
        for yes in range(size + 1):
            assert covered(bars, yes / size, finite_law(design, n, yes, size)) >= 0.95 - 1e-12


def test_the_planted_bug_uses_one_target_for_another():
    """The sample's bar taken for the population's would not cover; the harness sees it."""
    design, n = Design("0.95", "0.95"), 40
    bars = [estimate(Tally(design, n, k), target="sample").interval(0.95) for k in range(n + 1)]
    yes = float(design.says_yes("1/2"))
    assert covered(bars, 0.5, binom.pmf(np.arange(n + 1), n, yes)) < 0.8


def test_the_sample_bar_is_no_wider_than_the_population_bar_by_more_than_a_person():
    for ones in (30, 45, 60):
        narrow = estimate(Tally(optimal_design(1), 100, ones), target="sample").interval()
        wide = estimate(Tally(optimal_design(1), 100, ones)).interval()
        assert narrow.width <= wide.width + 0.02


def test_the_bound_on_the_tail_is_exact_for_small_n_and_safe_for_large():
    design = optimal_design(1)
    for t in (0, 7, 60):
        tally = Tally(design, 60, 25)
        assert answers_at_least(tally, t) == pytest.approx(sample_law(design, 60, t)[25:].sum(), abs=1e-11)
    big = Tally(design, 20_000, 9_000)
    for t in (7_000, 8_000):
        exact = sample_law(design, 20_000, t)[9_000:].sum()
        assert exact <= answers_at_least(big, t) <= exact + 0.02


def test_a_census_is_the_sample_and_an_endless_population_the_population():
    tally = Tally(optimal_design(1), 200, 90)
    assert tuple(estimate(tally, population=200).interval()) == tuple(estimate(tally, target="sample").interval())
    assert estimate(tally, population=200).variance == estimate(tally, target="sample").variance
    endless, population = estimate(tally, population=10**9).interval(), estimate(tally).interval()
    assert np.allclose(endless, population, atol=0.01)
    assert math.isclose(estimate(tally, population=10**12).standard_error, estimate(tally).standard_error, rel_tol=1e-6)


@pytest.mark.parametrize("design", DESIGNS[:4], ids=repr)
@pytest.mark.parametrize("n", [2, 5, 12])
def test_the_lower_end_is_the_least_share_that_is_possible(design, n):
    """For every count, against the first true number of yes whose tail exceeds the error probability."""
    tail, laws = Fraction(1, 40), [sample_law(design, n, t) for t in range(n + 1)]
    drawn = [finite_law(design, n, yes, n + 3) for yes in range(n + 4)]
    for ones in range(n + 1):
        tally = Tally(design, n, ones)
        first = next((t for t in range(n + 1) if laws[t][ones:].sum() > tail), n)
        assert sample_lower(tally, tail) == pytest.approx(first / n, abs=1e-9)
        first = next((yes for yes in range(n + 4) if drawn[yes][ones:].sum() > tail), n + 3)
        assert finite_lower(tally, n + 3, tail) == pytest.approx(first / (n + 3), abs=1e-9)


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_the_variance_for_a_finite_population_is_unbiased(design):
    """Its expectation, summed over every count, is the variance of the estimate: V_real + s·π(1−π)/n."""
    n, yes, size = 6, 3, 10
    law = finite_law(design, n, yes, size)
    found = [estimate(Tally(design, n, ones), population=size) for ones in range(n + 1)]
    mean = sum(p * float(e.exact_value) for p, e in zip(law, found, strict=True))
    spread = sum(p * (float(e.exact_value) - mean) ** 2 for p, e in zip(law, found, strict=True))
    expected = sum(p * float(e.variance) for p, e in zip(law, found, strict=True))
    assert mean == pytest.approx(yes / size)
    assert expected == pytest.approx(spread)
    noise = sum(p * float(e.share.noise_variance) for p, e in zip(law, found, strict=True))
    assert found[0].share.sampling == Fraction(size - n, size - 1)
    assert spread == pytest.approx(noise + float(found[0].share.sampling) * (yes / size) * (1 - yes / size) / n)


def test_a_target_is_a_plain_number_or_a_word():
    tally = Tally(optimal_design(1), 200, 90)
    assert estimate(tally).target == "population"
    assert type(estimate(tally, population=np.int64(300)).population) is int
    assert [estimate(tally, **aimed(target)).share.sampling for target in ("population", "sample", 200)] == [1, 0, 0]
    with pytest.raises(ParameterError, match="target is 'people': use 'population' or 'sample'"):
        estimate(tally, target="people")
    with pytest.raises(ParameterError, match="^population is 199: use a whole number, 200 or more$"):
        estimate(tally, population=199)


def test_targets_that_do_not_exist():
    tally = Tally(optimal_design(1), 200, 90)
    for target in ("people", "200", 300, None):
        with pytest.raises(ParameterError, match="target"):
            estimate(tally, target=target)
    for size in (199, -1, True, 1.5, "many"):
        with pytest.raises(ParameterError, match="population"):
            estimate(tally, population=size)
    with pytest.raises(ParameterError, match="population"):
        estimate(tally, target="sample", population=300)
    for method in ("likelihood", "credible"):
        with pytest.raises(ParameterError, match="for the target 'sample'"):
            estimate(tally, target="sample").interval(method=method)


def test_counts_too_large_for_exact_tails_say_so():
    n = 10**13
    bar = estimate(Tally(optimal_design(1), n, n // 2)).interval()
    assert bar.guaranteed
    assert "Hoeffding" in bar.warning
    assert bar.low < 0.5 < bar.high < bar.low + 1e-5
    largest = 2**63 - 1
    assert estimate(Tally(optimal_design(1), largest, largest // 2)).interval().width < 1e-8


def test_what_a_bar_with_dishonest_reporters_says_of_itself():
    found = estimate(Tally(Design("3/4", "3/4"), 200, 90), population=300)
    bar = found.interval_with_dishonest("0.02", level="0.9", method="chebyshev")
    plain = found.interval("0.9", "chebyshev")
    assert (bar.method, bar.level, bar.guaranteed) == ("chebyshev", Fraction(9, 10), True)
    assert bar.target == "population of 300, honest people"
    assert bar.warning == "holds whatever any 4 of the 200 reporters sent; they are given up"
    assert bar.low < plain.low < plain.high < bar.high
    assert found.manipulation("0.02") == 0.04


def test_totals_name_the_people():
    tally = Tally(Design("3/4", "3/4"), 200, 90)
    with pytest.raises(ParameterError, match="^people is None: use the size of the population"):
        estimate(tally).total()
    with pytest.raises(ParameterError, match="^people is 299: use 300, the size of the target, or nothing"):
        estimate(tally, population=300).total(299)
    with pytest.raises(ParameterError, match="^people is 'many'"):
        estimate(tally, population=300).total("many")
    with pytest.raises(ParameterError, match="^people is -1"):
        estimate(tally).total(-1)
    with pytest.raises(ParameterError, match="^share is 2"):
        estimate(tally).interval_with_dishonest(2)
    assert estimate(tally, population=300).total(300).row == estimate(tally, population=300).total().row
    assert estimate(tally).total(1000).value == 400.0


def test_the_margins_say_what_they_assume_and_a_tie_of_misfits_is_below():
    normal, any_law = estimate(Tally(Design("3/4", "3/4"), 200, 90)).margins()
    assert (normal.multiplier, any_law.multiplier) == (1.96, 4.5)
    assert normal.assumes.endswith("σ is nearly its estimate")
    assert any_law.assumes.endswith("be near 0; interval(method='chebyshev') inverts the inequality instead")
    misfit = estimate(Tally(Design("3/4", "3/4"), 10, 5)).misfit
    assert misfit.side == "below"
