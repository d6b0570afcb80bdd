"""The table of methods: every bar of the project comes from a row, one name means one thing, a new row is enough."""

import json
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from scipy.stats import norm, t

from rrcollect import Design, ParameterError, SetDesign, classic, optimal_design
from rrcollect.classic import RepeatedDesign
from server_agg import Interval, Tally, compare, estimate, models, plan, sampling
from server_agg.estimates.methods import Method, wald_interval
from server_agg.estimates.numerics import root_level
from tests.inside.estimates import METHODS, Kind, exact_lower, methods_for
from tests.inside.survey_page import headline_of
from tests.support.comparing import both

D = Design("3/4", "3/4")
TALLY, OTHER = Tally(D, 200, 90), Tally(optimal_design(1), 150, 60)
ANSWERS = np.array([1, 0, 1, 1, 0, 0, 1, 0] * 20)
FIT = models.fit(ANSWERS, np.tile([0.0, 1.0, 0.5, 2.0, 1.0, 0.0, 1.5, 1.0], 20), optimal_design(2), names=["x"])
MOORS = models.moors((80, 30), (40, 20), classic.moors("7/10"))
SETS = [Tally(SetDesign(3, 1, share), 600, [280, 180, 140]) for share in ("1/2", "2/3")]
SURVEY = sampling.estimate(ANSWERS, D, clusters=np.arange(160) // 4, by=np.arange(160) // 4 % 2)
KINDS = {
    "one design": estimate(TALLY).interval,
    "several designs": estimate([TALLY, OTHER]).interval,
    "several designs of a choice": lambda *given, **named: estimate(SETS).intervals(*given, **named)[0],
    "mean": estimate(TALLY, bounds=(0, 1)).interval,
    "repeated draws": models.kuk([50, 30, 20], RepeatedDesign(D, 2)).interval,
    "two samples": MOORS.interval,
    "strata": sampling.estimate({"a": TALLY, "b": OTHER}, weights={"a": 1, "b": 2}).interval,
    "complex sample": SURVEY["0"].interval,
    "complex difference": SURVEY.difference("0", "1").interval,
    "list experiment": sampling.list_experiment(np.tile([1, 2, 1, 3], 40), np.arange(160) % 2, items=3).interval,
    "options": estimate(SETS[0]).compare(0, 1).interval,
    "difference": both(TALLY, OTHER).difference.interval,
    "ratio": both(TALLY, OTHER).ratio.interval,
    "coefficient": FIT["x"].interval,
    "plan": lambda level=0.95, method="exact": plan.margin(D, 400, level=level, method=method),
}


def test_every_kind_of_the_table_is_tested():
    assert set(KINDS) == set(get_args(Kind))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_estimate_has_the_bars_of_the_table_and_no_others(kind):
    for name, row in METHODS.items():
        if kind not in row.serves:
            with pytest.raises(ParameterError, match=f"^method is '{name}': use "):
                KINDS[kind](method=name)
            continue
        bar = KINDS[kind]("0.9", name)
        if kind == "plan":  # it has no data yet, and so half the width alone
            assert 0 < bar < KINDS[kind]("0.99", name)
            continue
        assert type(bar) is Interval
        promised = row.guaranteed and kind != "complex sample"  # clusters take the guarantee away
        assert (bar.method, bar.level, bar.guaranteed) == (name, Fraction(9, 10), promised)
        assert bar.low <= bar.high
        assert bool(bar.warning) is (
            (kind, name) == ("complex sample", "hoeffding") or (name in ("wald", "credible") and kind != "coefficient")
        )
        assert set(json.loads(json.dumps(bar.as_dict()))) == {
            "low", "high", "level", "method", "target", "side", "guaranteed", "warning",
        }  # fmt: skip


def test_one_method_has_one_name():
    assert "normal" not in METHODS
    for make in KINDS.values():
        with pytest.raises(ParameterError, match="^method is 'normal'"):
            make(method="normal")
    for ask in (lambda m: plan.sample_size(D, margin="0.05", method=m), lambda m: plan.margin(D, 100, method=m)):
        with pytest.raises(ParameterError, match="one of exact, chebyshev, hoeffding, wald, anytime$"):
            ask("normal")
        assert ask("wald") > 0


def test_bars_are_intervals_wherever_they_are_returned():
    honest = models.cheating([Tally(Design("0.9", "0.7"), 1000, 230), Tally(Design("0.4", "0.7"), 1000, 530)])
    bars = [
        honest["cheaters"].interval(),
        models.correlate(ANSWERS, D, ANSWERS[::-1], optimal_design(2)).interval(),
        models.power(D, 50, prevalences=(0.1, 0.4), replications=20).interval(),
        plan.rehearse(optimal_design(1), "0.2", 50, 20, methods=["hoeffding"]).interval(),
        FIT.predict([[1.0]])[0].interval(),
        FIT.marginal_effects()["x"].interval(),
        models.cheating(TALLY, cheaters=[0]).rows[0].interval(),
        compare({"a": TALLY, "b": OTHER})["a"].interval(),
    ]
    for bar in bars:
        assert type(bar) is Interval
        assert bar.method
        assert bar.target
        assert " for the " in bar.describe()


def test_an_end_that_nothing_bounds_is_none_and_so_is_the_width():
    ratio = both(TALLY, Tally(D, 100, 25)).ratio.interval()
    assert (ratio.high, ratio.width) == (None, None)
    assert estimate(TALLY).interval().width > 0


def test_a_bar_that_is_made_of_another_keeps_its_warning():
    """No bar has width 0 without a reason beside it, on whatever scale and of however many rounds it is."""
    proof = Tally(Design(1, "1/2"), 100, 0)
    alone = estimate(proof).interval(method="wald")
    assert (tuple(alone), "width 0" in alone.warning) == ((0.0, 0.0), True)
    rounds = {number: estimate(proof) for number in range(2)}
    made = [
        headline_of(rounds, 0.95, "wald").bar,
        estimate(proof).interval_with_dishonest(0, method="wald"),
        estimate(proof, bounds=(0, 10)).interval(method="wald"),
    ]
    for bar in made:
        assert (tuple(bar), "width 0" in bar.warning) == ((0.0, 0.0), True)
        assert bar.warning.count("width 0") == 1  # two rounds say it once


def test_a_new_method_is_one_row(monkeypatch):
    """A row that is planted in the table is offered, checked, drawn, listed and rehearsed everywhere."""
    row = Method("one in a million", lambda problem, request: exact_lower(problem.tallies[0], Fraction(1, 10**6)), True,
                 ("one design",), ("population",))  # fmt: skip
    monkeypatch.setitem(METHODS, row.name, row)
    bar = estimate(TALLY).interval(method=row.name)
    exact = estimate(TALLY).interval()
    assert bar.low < exact.low < exact.high < bar.high
    assert bar.guaranteed
    assert row.name in str(estimate(TALLY))
    assert row.name not in str(estimate(TALLY, target="sample"))
    assert row.name in methods_for("one design")
    assert compare({"a": TALLY, "b": OTHER}, method=row.name)["b"].interval().method == row.name
    assert plan.rehearse(optimal_design(1), "0.2", 50, 20, methods=[row.name]).rows[0].extras["guaranteed"]
    with pytest.raises(ParameterError, match="for the target 'sample'$"):
        estimate(TALLY, target="sample").interval(method=row.name)


def test_the_bar_of_a_number_says_what_it_covers_and_has_its_degrees_of_freedom():
    bar = wald_interval(2.0, 0.5, "0.95", "the slope", freedom=5)
    assert bar.target == "the slope"
    assert tuple(bar) == pytest.approx((2 - t.isf(0.025, 5) / 2, 2 + t.isf(0.025, 5) / 2))
    assert wald_interval(0.9, 0.5, "0.95", "r", (-1.0, 1.0)) == (pytest.approx(0.9 - norm.isf(0.025) / 2), 1)


@pytest.mark.parametrize("method", ["guaranteed", "anytime"])
def test_bars_made_of_two_are_rounded_outward(method):
    """Of exact sums: the parts' own ends, which have each a part of the error."""
    a, b = Tally(optimal_design(1), 700, 330), Tally(optimal_design(1), 650, 210)
    level = root_level("0.95", 2) if method == "guaranteed" else Fraction("0.975")
    first, second = (estimate(one).interval(level, "exact" if method == "guaranteed" else method) for one in (a, b))
    low, high = both(a, b).difference.interval("0.95", method)
    assert 0 < Fraction(first.low) - Fraction(second.high) - Fraction(low) < 1e-9
    assert 0 < Fraction(high) - Fraction(first.high) + Fraction(second.low) < 1e-9
