"""A pool's own words and figures: what it promises and warns of, what it tells in JSON, when it is too small."""

from __future__ import annotations

import pytest

from rrcollect import Design, ParameterError, optimal_design
from server_agg import Tally, pool
from server_agg.errors import EmptySelection, TooFewAnswers
from server_agg.estimates.methods import WALD_WARNING
from server_agg.estimates.pooled import PooledEstimate

STRICT, LOOSE = optimal_design(1), optimal_design(2)
POOLED = pool([Tally(STRICT, 600, 230), Tally(LOOSE, 400, 100)], planning="1/4")


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
    assert told == {
        "tallies": [tally.as_dict() for tally in POOLED.tallies],
        "planning": "1/4",
        "n": 1000,
        "value": POOLED.value,
        "standard_error": POOLED.standard_error,
        "interval": POOLED.interval("0.9", "hoeffding").as_dict(),
        "unbiased": POOLED.unbiased,
        "unbiased_standard_error": POOLED.unbiased_standard_error,
        "misfit": {"flag": False, "tail_probability": 1.0, "side": "below"},
        "homogeneity": {
            "statistic": POOLED.homogeneity.statistic,
            "freedom": 1,
            "p": POOLED.homogeneity.p,
            "method": "score",
        },
    }
    assert "_oriented" not in repr(POOLED)


def test_two_answers_are_enough_and_one_is_not():
    assert pool([Tally(STRICT, 1, 0), Tally(LOOSE, 1, 1)]).n == 2
    with pytest.raises(TooFewAnswers):
        pool([Tally(STRICT, 1, 0)])
    with pytest.raises(EmptySelection):
        pool([])
    found = pool([Tally(STRICT, 2, 0), Tally(LOOSE, 1, 1), Tally(Design("3/4", "3/4"), 3, 1)]).estimates
    assert sorted(each.tally.n for each in found) == [2, 3]


def test_what_a_pool_works_with_is_made_from_its_tallies():
    with pytest.raises(TypeError):
        PooledEstimate(POOLED.tallies, POOLED.planning, POOLED.tallies)


def test_the_sentence_is_about_the_bar_that_was_asked_for():
    rest = ", n = 1000 by 2 designs; target: the population; one prevalence behind all designs: X² = "
    assert POOLED.sentence().startswith(f"19.6 % (95 % likelihood interval 15.0–24.4 %){rest}")
    assert POOLED.sentence(0.5, "wald").startswith(f"19.6 % (50 % wald interval 18.1–21.3 %){rest}")


def test_without_a_planning_prevalence_it_is_one_half():
    tallies = list(POOLED.tallies)
    assert PooledEstimate(tuple(tallies)).weights == pool(tallies, planning="1/2").weights != POOLED.weights


PAIR = [Tally(Design("3/4", "3/4"), 600, 230), Tally(Design("9/10", "9/10"), 400, 100)]


def test_the_sentence_of_a_pool_word_by_word():
    assert pool(PAIR).sentence() == (
        "21.4 % (95 % likelihood interval 17.0–26.0 %), n = 1000 by 2 designs; target: the population; one prevalence "
        "behind all designs: X² = 2.72 with 1 degree of freedom, p = 0.099"
    )
    three = pool([*PAIR, Tally(Design("4/5", "4/5"), 40, 12)])
    assert "with 2 degrees of freedom, " in three.sentence()
    assert pool(PAIR[:1]).sentence().endswith("; target: the population; one design only: nothing to compare")
    below = pool([Tally(Design("3/4", "3/4"), 600, 130), Tally(Design("9/10", "9/10"), 400, 35)])
    assert below.misfit.told
    assert below.sentence().endswith(f"; {below.misfit.describe()}")


def test_the_rows_and_points_of_a_pool():
    names = ["p00 = 0.75, p11 = 0.75", "p00 = 0.9, p11 = 0.9", "pooled"]
    found = pool(PAIR)
    head, rows = found.cells()
    assert head[0] == "design"
    assert [row[0] for row in rows] == names
    assert [point.label.partition(" (n")[0] for point in found.points()] == names
    assert [(point.low, point.high) for point in found.points()] == [
        *(tuple(one.interval()) for one in found.estimates),
        tuple(found.interval()),
    ]
    assert found.caption() == "95 % exact bars; pooled: 95 % likelihood bar"


@pytest.mark.parametrize("planning", [2, "x", 0])
def test_a_planning_that_is_not_a_share_is_named(planning):
    with pytest.raises(ParameterError, match="^planning "):
        pool(PAIR, planning=planning)
    assert pool(PAIR, planning="1/5").unbiased != pool(PAIR).unbiased
