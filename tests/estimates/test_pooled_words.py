"""A pool's own words and figures: what it promises and warns of, what it tells in JSON, when it is too small."""

from __future__ import annotations

import pytest

from rrcollect import Design, ParameterError, optimal_design
from server_agg import Tally, estimate
from server_agg.errors import EmptySelection, TooFewAnswers
from tests.inside.estimates import WALD_WARNING

STRICT, LOOSE = optimal_design(1), optimal_design(2)
POOLED = estimate([Tally(STRICT, 600, 230), Tally(LOOSE, 400, 100)], planning="1/4")


@pytest.mark.parametrize(
    ("method", "guaranteed", "warning"),
    [("likelihood", False, ""), ("chebyshev", True, ""), ("hoeffding", True, ""), ("wald", False, WALD_WARNING)],
)
def test_what_a_bar_promises_and_warns_of(method, guaranteed, warning):
    bar = POOLED.interval("0.9", method)
    assert (bar.method, bar.guaranteed, bar.warning, bar.target) == (method, guaranteed, warning, "population")
    assert float(bar.level) == 0.9
    assert 0 <= bar.low < bar.high <= 1
    below, above = POOLED.interval("0.9", method, side="lower"), POOLED.interval("0.9", method, side="upper")
    assert (below.side, above.side, bar.side) == ("lower", "upper", "both")
    assert (below.high, above.low) == (1.0, 0.0)
    assert bar.low < below.low < above.high < bar.high


def test_everything_is_told_by_its_name():
    told = POOLED.as_dict("0.9", "hoeffding")
    test = POOLED.pooled.homogeneity
    assert told == {
        "tallies": [tally.as_dict() for tally in POOLED.tallies],
        "target": "population",
        "population": None,
        "planning": "1/4",
        "notes": [
            "n = 1000 by 2 designs; 90 % hoeffding interval for the population, coverage guaranteed",
            test.describe(),
        ],
        "rows": [
            {
                "name": "yes",
                "n": 1000,
                "value": POOLED.value,
                "standard_error": POOLED.standard_error,
                "interval": POOLED.interval("0.9", "hoeffding").as_dict(),
                "p_value": None,
                "misfit": {"flag": False, "tail_probability": 1.0, "side": "below"},
                "unbiased": POOLED.pooled.unbiased,
                "unbiased_standard_error": POOLED.pooled.unbiased_standard_error,
            }
        ],
        "homogeneity": {"statistic": test.statistic, "df": 1, "p_value": test.p_value, "method": "score"},
    }


def test_two_answers_are_enough_and_one_is_not():
    assert estimate([Tally(STRICT, 1, 0), Tally(LOOSE, 1, 1)]).n == 2
    with pytest.raises(TooFewAnswers):
        estimate([Tally(STRICT, 1, 0)])
    with pytest.raises(EmptySelection):
        estimate([])
    found = estimate([Tally(STRICT, 2, 0), Tally(LOOSE, 1, 1), Tally(Design("3/4", "3/4"), 3, 1)])
    assert len(found.details()) == 2 + 2  # its value and error, and each design of two answers or more


def test_the_sentence_is_about_the_bar_that_was_asked_for():
    rest = ", n = 1000 by 2 designs; target: the population; coverage approximate; one prevalence behind all designs: "
    assert POOLED.sentence().startswith(f"19.6 % (95 % likelihood interval 15.0–24.4 %){rest}")
    wald = POOLED.sentence(0.5, "wald")
    assert wald.startswith("19.6 % (50 % wald interval 18.1–21.3 %), n = 1000 by 2 designs; target: the population; ")
    assert f"coverage approximate; {WALD_WARNING}; one prevalence behind all designs: X² = " in wald


def test_without_a_planning_prevalence_it_is_one_half():
    tallies = list(POOLED.tallies)
    half = estimate(tallies, planning="1/2").pooled.weights
    assert estimate(tallies).pooled.weights == half != POOLED.pooled.weights


PAIR = [Tally(Design("3/4", "3/4"), 600, 230), Tally(Design("9/10", "9/10"), 400, 100)]


def test_the_sentence_of_a_pool_word_by_word():
    assert estimate(PAIR).sentence() == (
        "21.4 % (95 % likelihood interval 17.0–26.0 %), n = 1000 by 2 designs; target: the population; coverage "
        "approximate; one prevalence behind all designs: X² = 2.72 with 1 degree of freedom, p = 0.099"
    )
    three = estimate([*PAIR, Tally(Design("4/5", "4/5"), 40, 12)])
    assert "with 2 degrees of freedom, " in three.sentence()
    assert estimate(PAIR[:1]).pooled.homogeneity.describe() == "one design only: nothing to compare"
    below = estimate([Tally(Design("3/4", "3/4"), 600, 130), Tally(Design("9/10", "9/10"), 400, 35)])
    assert below.misfit.told
    assert f"; {below.misfit.describe()}; " in below.sentence()


def test_the_rows_and_points_of_a_pool():
    found = estimate(PAIR)
    each = {str(tally.design): estimate(tally).sentence() for tally in PAIR}
    assert dict(found.details()).items() >= each.items()
    assert [(point.label, point.low, point.high) for point in found.points()] == [
        (method, *found.interval(method=method)) for method in found.methods
    ]
    assert found.caption().endswith("by 2 designs; 95 % likelihood interval for the population, coverage approximate")


@pytest.mark.parametrize("planning", [2, "x", 0])
def test_a_planning_that_is_not_a_share_is_named(planning):
    with pytest.raises(ParameterError, match="^planning "):
        estimate(PAIR, planning=planning)
    assert estimate(PAIR, planning="1/5").exact_value != estimate(PAIR).exact_value
