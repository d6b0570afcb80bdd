"""Sums and quotients of options: bars and p-values by exact sums, the plain normal bar as the planted bug."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import multinomial

from rrcollect import ParameterError, SetDesign, optimal_design
from server_agg import Tally, estimate
from tests.inside.estimates import Combination
from tests.support.covering import covered

THREE = SetDesign(3, 1, "24/25")
GRID = (0.0, 0.02, 0.1, 0.3, 0.6, 0.9, 1.0)
KINDS = {
    "difference": (lambda e: e.compare(0, 1), lambda p: p[0] - p[1]),
    "scores": (lambda e: e.mean([0, 1, 2]), lambda p: p[1] + 2 * p[2]),
    "among": (lambda e: e.among(0, [0, 1]), lambda p: p[0] / (p[0] + p[1]) if p[0] + p[1] > 1e-9 else None),
}


def least_coverage(kind, method, n, design=THREE):
    make, truth = KINDS[kind]
    outcomes = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
    bars, laws = [tuple(make(estimate(Tally(design, n, c))).interval(method=method)) for c in outcomes], []
    for a, b in itertools.product(GRID, repeat=2):
        shares = np.array([a, b, 1 - a - b])
        if shares.min() >= -1e-9 and truth(shares) is not None:
            chances = float(design.q) + float(design.c) * np.maximum(shares, 0)
            laws.append((truth(shares), multinomial.pmf(outcomes, n, chances)))
    return min(covered(bars, laws, rounding=1e-9))


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_bar_holds_near_its_level_and_the_plain_one_does_not(kind):
    """Exact sums over all counts of 12 answers with little noise."""
    assert least_coverage(kind, "adjusted", 12) >= 0.93
    assert least_coverage(kind, "hoeffding", 12) >= 0.95
    assert least_coverage(kind, "wald", 12) < 0.7


def test_answers_that_agree_are_not_proofs():
    """Five direct answers, all for the first option: the estimated error is 0, and p was 0 with it."""
    few = estimate(Tally(SetDesign(3, 1, 1), 5, [5, 0, 0])).compare(0, 1, family=1)
    assert few.standard_error == 0
    assert 0.001 < few.p_value < 0.05
    assert few.interval().width > 0.2
    assert "width 0: all answers are alike" in few.interval(method="wald").warning
    assert few.p_value > estimate(Tally(SetDesign(3, 1, 1), 50, [50, 0, 0])).compare(0, 1, family=1).p_value


def test_p_and_bar_agree():
    for counts in ((40, 30, 30), (44, 30, 26), (50, 28, 22), (46, 29, 25), (0, 1, 99), (10, 10, 80)):
        for design in (THREE, optimal_design(1, options=3)):
            found = estimate(Tally(design, 100, counts)).compare(0, 1)
            low, high = found.interval()
            assert (low <= 0 <= high) is (found.p_value >= 0.05), counts


def test_scores_that_are_all_equal_say_why_their_bar_has_no_width():
    mean = estimate(Tally(optimal_design(1, options=3), 100, [40, 30, 30])).mean([2, 2, 2])
    for method in ("adjusted", "wald"):
        bar = mean.interval(method=method)
        assert tuple(bar) == pytest.approx((2, 2))
        assert "all scores are equal" in bar.warning


def test_an_option_among_several_is_their_quotient_with_fiellers_bar():
    e = estimate(Tally(optimal_design(2, options=4), 5000, [1500, 1400, 1200, 900]))
    found = e.among(0, [0, 1, 2])
    values = [row.value for row in e.rows]
    assert found.value == pytest.approx(values[0] / sum(values[:3]))
    low, high = found.interval(method="wald")
    for end in (low, high):  # the sum π0 − Rπ is just as far from 0 as its error allows
        weights = np.array([1 - end, -end, -end, 0])
        error = np.sqrt(weights @ np.array(e.covariance) @ weights)
        assert abs(weights @ values) == pytest.approx(1.959963985 * error, rel=1e-5)
    assert low < found.value < high
    assert found.interval(method="hoeffding").width > found.interval().width
    assert found.interval(0.5).width < found.interval().width


def test_where_nobody_is_seen_in_the_group_every_share_is_possible():
    e = estimate(Tally(SetDesign(3, 1, 1), 5, [5, 0, 0]))
    found = e.among(1, [1, 2])
    assert (found.value, tuple(found.interval())) == (None, (0.0, 1.0))
    assert "every share is possible" in found.interval().warning
    assert "none" in str(found)
    wide = estimate(Tally(SetDesign(4, 1, "1/3"), 60, [10, 10, 10, 30])).among(0, [0, 1])
    assert tuple(wide.interval()) == (0.0, 1.0)


@pytest.mark.parametrize("options", [[], [0], [1, 2], [0, 4], [0, "1"]])
def test_an_option_is_asked_for_among_several_that_hold_it(options):
    with pytest.raises(ParameterError):
        estimate(Tally(optimal_design(1, options=3), 100, [40, 30, 30])).among(0, options)


@pytest.mark.needs("pandas")
def test_a_sum_of_options_shows_itself_as_every_result_does():
    e = estimate(Tally(optimal_design(1, options=3), 900, [450, 270, 180]))
    for found in (e.compare(0, 1), e.mean([0, 1, 2]), e.among(0, [0, 1])):
        assert found.to_frame().loc[0, "low"] == found.interval().low
        for text in (str(found), found.to_markdown(), found.to_latex(), found._repr_html_()):
            assert "adjusted" in text
        assert [point.label for point in found.points()] == ["hoeffding", "wald", "adjusted"]
    assert isinstance(e.mean([0, 1, 2]), Combination)
    assert not e.mean([0, 1, 2]).scale.is_share
