"""What stands beside an estimate, figure by figure: totals, direct answers, dishonest reporters, its picture."""

from __future__ import annotations

import math

import pytest
from scipy.stats import norm

from rrcollect import Design, ParameterError
from server_agg import Tally, estimate
from server_agg.estimates.counted import DirectAnswers
from server_agg.estimates.share import DIRECT
from tests.inside.estimates import WALD_WARNING, methods_for
from tests.inside.results import Point

MADE = estimate(Tally(Design("3/4", "3/4"), 1000, 400))  # 30 %


def test_a_total_is_the_share_times_the_people_in_every_figure() -> None:
    bar, found = MADE.interval("0.9", "wilson"), MADE.total(5000)
    assert (found.value, found.standard_error) == (1500.0, 5000 * MADE.standard_error)
    assert found.interval("0.9", "wilson") == (5000 * bar.low, 5000 * bar.high)
    assert (found.scale.ends, found.interval().target) == ((0, 5000), "population")


def test_direct_answers_have_the_error_of_a_share() -> None:
    error = math.sqrt(0.3 * 0.7 / 1000)
    found = MADE.direct("0.9")
    assert found == DirectAnswers(pytest.approx(error), pytest.approx(norm.isf(0.05) * error), 0.9)


def test_a_wrong_share_is_named() -> None:
    with pytest.raises(ParameterError, match="^share"):
        MADE.manipulation(2)


def test_two_honest_reporters_are_enough_and_one_is_not() -> None:
    few = estimate(Tally(Design("3/4", "3/4"), 4, 2))
    assert few.interval_with_dishonest("1/2").high == 1
    with pytest.raises(ParameterError, match="^share"):
        few.interval_with_dishonest("3/4")


def test_all_who_said_yes_may_be_dishonest() -> None:
    assert estimate(Tally(DIRECT, 100, 3)).interval_with_dishonest("0.05").low == 0
    assert estimate(Tally(DIRECT, 100, 97)).interval_with_dishonest("0.05").high == 1
    assert estimate(Tally(DIRECT, 100, 7)).interval_with_dishonest("0.05").low > 0


def test_what_dishonest_reporters_cost_is_told_before_what_the_method_warns_of() -> None:
    told = "holds whatever any 20 of the 1000 reporters sent; they are given up"
    assert MADE.interval_with_dishonest("0.02", method="wald").warning == f"{told}; {WALD_WARNING}"


def test_the_prior_is_the_one_that_was_given() -> None:
    bars = [MADE.interval(method="credible", prior=prior) for prior in ("uniform", "jeffreys", (2.0, 3.0))]
    assert len(set(bars)) == 3


def test_the_picture_shows_the_value_with_every_bar() -> None:
    bars = {name: MADE.interval(0.95, name) for name in methods_for("one design")}
    assert MADE.points() == [Point(name, 0.3, bar.low, bar.high) for name, bar in bars.items()]
    assert MADE.caption() == "n = 1000, ε = 1.099; 95 % exact interval for the population, coverage guaranteed"
    asked = estimate(MADE.tally, target="sample")
    assert [point.label for point in asked.points()] == list(methods_for("one design", "sample"))
    assert asked.caption().endswith("for the sample, coverage guaranteed")
