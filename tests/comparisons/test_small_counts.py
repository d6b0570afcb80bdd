"""Groups with small expected counts: the size of the tests by exact sums, and p-values that agree with their bars."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import barnard_exact, binom, norm

from rrcollect import Design, ParameterError, SetDesign, optimal_design
from server_agg import (
    Tally,
    compare,
    estimate,
    trend,
)
from tests.inside.estimates import Groups
from tests.support.comparing import both
from tests.support.covering import covered, of_pairs, pairs

E1, P3, DIRECT = optimal_design(1), Design(1, "0.3"), Design(1, 1)


def law(design, n, pi):
    return binom.pmf(np.arange(n + 1), n, float(1 - design.p00) * (1 - pi) + float(design.p11) * pi)


def by_the_normal_law(a, b):
    """What the p-value was for every count: the planted bug."""
    groups = Groups.of([[a], [b]])
    return 2 * norm.sf(np.sqrt(groups.scores(groups.counts).equality()[0]))


def size(p_value, a, b, pi, level=0.05, least=1e-5):
    """P(p < level) when both groups have prevalence π; tables rarer than `least` count as rejected."""
    (da, na), (db, nb) = a, b
    total, seen = 0.0, 0.0
    for j, first in enumerate(law(da, na, pi)):
        for k, second in enumerate(law(db, nb, pi)):
            if first * second > least:
                seen += first * second
                total += first * second * (p_value(Tally(da, na, j), Tally(db, nb, k)) < level)
    return total + 1 - seen


def test_400_against_15_holds_its_size_and_the_normal_law_does_not():
    assert size(lambda a, b: both(a, b).test.p_value, (P3, 400), (P3, 15), 0.031) <= 0.05
    assert size(by_the_normal_law, (P3, 400), (P3, 15), 0.031) > 0.09


@pytest.mark.parametrize("pi", [0.02, 0.3])
def test_two_designs_hold_their_size(pi):
    assert size(lambda a, b: both(a, b).test.p_value, (P3, 25), (E1, 12), pi, least=3e-4) <= 0.05


def test_for_one_design_it_is_barnard_s_test_of_the_randomised_shares():
    for (na, j), (nb, k) in (((14, 3), (21, 12)), ((400, 3), (15, 2))):
        theirs = barnard_exact([[j, k], [na - j, nb - k]], pooled=True).pvalue
        found = both(Tally(DIRECT, na, j), Tally(DIRECT, nb, k))
        assert found.test.method == "exact"
        assert found.test.p_value == pytest.approx(theirs, rel=0.01, abs=2e-6)
    through_noise = both(Tally(P3, 400, 3), Tally(P3, 15, 2)).test.p_value
    assert through_noise == pytest.approx(barnard_exact([[3, 2], [397, 13]]).pvalue, rel=0.01)


def test_the_result_says_which_test_was_used():
    few, many = Tally(P3, 40, 3), Tally(P3, 400, 30)
    assert both(few, many).as_dict()["test"]["method"] == "exact"
    assert both(many, many).as_dict()["test"]["method"] == "score"
    assert "score, exact p, χ²" in compare({"a": few, "b": many}).test.sentence()
    assert "score, simulated p, χ²" in compare({"a": few, "b": many, "c": few}).test.sentence()
    assert compare({"a": many, "b": many, "c": many}).test.method == "score"
    assert trend({1: few, 2: many, 3: few}).test.method == "simulated"
    assert trend({1: few, 2: many}).test.p_value == pytest.approx(both(few, many).test.p_value)
    census = both(*(Tally(DIRECT, 10, k) for k in (9, 1)), target="sample")
    assert (census.test.p_value, census.test.method) == (0.0, "none")


def test_a_simulated_p_is_the_same_each_time():
    groups = {"a": Tally(P3, 40, 3), "b": Tally(E1, 30, 12), "c": Tally(P3, 20, 0)}
    from tests.inside.estimates import p_value

    first = compare(groups).test.p_value
    p_value.cache_clear()
    assert compare(groups).test.p_value == first


def test_many_groups_hold_their_size():
    """Three groups of 400, 15 and 15 at prevalence .031, 0.087 by χ².  200 surveys: with a size of at most 0.05 more
    than 0.05 + 6.2·√(.05·.95/200) = 0.146 of them are rejected with probability < 1e-9."""
    generator, surveys, alarms = np.random.default_rng(3), 200, 0
    for counts in generator.binomial([400, 15, 15], 0.3 * 0.031, (surveys, 3)):
        groups = {str(i): Tally(P3, n, int(k)) for i, (n, k) in enumerate(zip((400, 15, 15), counts, strict=True))}
        alarms += compare(groups).test.p_value < 0.05
    assert alarms / surveys < 0.146
    law3 = [binom.pmf(np.arange(n + 1), n, 0.3 * 0.031) for n in (400, 15, 15)]
    table = np.stack(np.meshgrid(np.arange(25), np.arange(4), np.arange(4), indexing="ij"), -1).reshape(-1, 3)
    weight = law3[0][table[:, 0]] * law3[1][table[:, 1]] * law3[2][table[:, 2]]
    groups = Groups.of([[Tally(P3, n, 0)] for n in (400, 15, 15)])
    planted = weight[groups.scores(table.astype(float)).equality() > 5.991].sum()  # exact, by χ² with 2 degrees
    assert planted > 0.08


@pytest.mark.parametrize(
    ("a", "b"),
    [((P3, 30), (P3, 12)), ((E1, 40), (E1, 30)), ((E1, 25), (P3, 12)), ((Design("3/4", "3/4"), 60), (E1, 50))],
    ids=["same", "optimal", "mixed", "larger"],
)
def test_p_and_bar_do_not_contradict_each_other(a, b):
    for j in range(0, a[1] + 1, a[1] // 4):
        for k in range(0, b[1] + 1, b[1] // 4):
            found = both(Tally(*a, j), Tally(*b, k))
            for level in (0.95,):
                low, high = found.difference.interval(level)
                assert (low <= 0 <= high) is (found.test.p_value >= 1 - level), (j, k, level)


def test_the_score_bar_is_the_inverted_test():
    """At both ends the statistic, with the restricted maximum found by SciPy, is the quantile of χ²."""
    for end in both(Tally(DIRECT, 700, 330), Tally(DIRECT, 650, 210)).difference.interval():
        best = minimize_scalar(
            lambda p, d=end: -(binom.logpmf(330, 700, p + d) + binom.logpmf(210, 650, p)),
            bounds=(0.1, 0.6), method="bounded", options={"xatol": 1e-12},
        ).x  # fmt: skip
        variance = (best + end) * (1 - best - end) / 700 + best * (1 - best) / 650
        assert (330 / 700 - 210 / 650 - end) ** 2 / variance == pytest.approx(3.8414588207, rel=1e-6)


@pytest.mark.parametrize("design", [P3, DIRECT], ids=str)
@pytest.mark.parametrize(
    ("a", "b"), [((40, 0), (15, 0)), ((300, 0), (300, 0)), ((40, 1), (15, 0)), ((200, 2), (200, 0))]
)
def test_zero_counts_bound_a_difference_as_well_as_the_parts_do(design, a, b):
    """A group that is at its edge for certain fixes itself; taken for no information it left the bar at −1 to 1."""
    found = both(Tally(design, *a), Tally(design, *b))
    score, sure = found.difference.interval(), found.difference.interval(method="guaranteed")
    assert sure.low <= score.low
    assert score.high <= sure.high
    assert score.width < 0.95 * sure.width


def test_the_score_bar_of_zero_counts_is_miettinen_and_nurminens():
    """With group a at 0 for certain, b's prevalence is −δ: (δ/√(−δ(1+δ)/n))² is the statistic."""
    groups = Groups(((Tally(DIRECT, 40, 0),), (Tally(DIRECT, 15, 0),)))
    for difference in (-0.1, -0.3):
        found = groups.scores(groups.counts, np.array([difference, 0.0])).equality()[0]
        assert found == pytest.approx(difference**2 * 15 / (-difference * (1 + difference)))
    assert groups.scores(groups.counts).equality()[0] == 0  # equal groups: nothing is told


def test_a_choice_is_compared_option_by_option():
    design = SetDesign(3, 1, "1/2")
    groups = {"n": Tally(design, 300, [120, 100, 80]), "s": Tally(design, 200, [60, 70, 70])}
    found = compare(groups, labels=["a", "b", "c"])
    assert [row.name for row in found.rows] == ["a: n", "a: s", "b: n", "b: s", "c: n", "c: s"]
    assert [row.name for row in found.pairs] == ["a: n − s", "b: n − s", "c: n − s"]
    for j, (part, row) in enumerate(zip(found.options, found.pairs, strict=True)):
        alone = both(groups["n"][j], groups["s"][j])
        assert row.extras["p_alone"] == alone.test.p_value == part.test.p_value
        assert row.p_value == pytest.approx(min(1.0, 3 * alone.test.p_value))
        assert tuple(row.interval("0.95")) == tuple(alone.difference.interval(1 - Fraction(1, 20) / 3))
        each = 1 - Fraction(1, 20) / 6  # two groups, three options
        assert tuple(found.rows[2 * j].interval()) == tuple(estimate(groups["n"][j]).interval(each))
    assert found.test.p_value == pytest.approx(min(1.0, 3 * min(part.test.p_value for part in found.options)))
    with pytest.raises(ParameterError, match="two groups"):
        _ = found.difference
    with pytest.raises(ParameterError, match="of the same options"):
        compare({"n": groups["n"], "s": Tally(P3, 30, 10)})


def test_coverage_of_the_score_bar_by_exact_double_sums():
    na, nb, grid = 8, 5, (0.0, 0.05, 0.3, 0.7, 1.0)
    bars = of_pairs((na, nb), lambda j, k: tuple(both(Tally(P3, na, j), Tally(P3, nb, k)).difference.interval()))
    assert min(covered(bars, pairs((P3, P3), (na, nb), lambda a, b: a - b, grid), rounding=1e-9)) >= 0.95


def test_comparisons_in_a_table_hold_at_once_as_its_bars_do():
    cells = {x: Tally(E1, 300, k) for x, k in (("a", 150), ("b", 120), ("c", 110), ("d", 115))}
    table, alone = compare(cells), both(cells["a"], cells["b"])
    one = table["a − b"]
    assert len(table.pairs) == 6
    assert one.extras["p_alone"] == alone.test.p_value
    assert one.p_value == pytest.approx(min(1.0, 6 * alone.test.p_value))  # Bonferroni, as its bar
    assert one.interval().width > 1.2 * alone.difference.interval().width
    assert "one of 6 at once" in one.interval().target
    alone_too = compare(cells, simultaneous="none")["a − b"]
    assert tuple(alone_too.interval()) == tuple(alone.difference.interval())
    rounds = trend({1: cells["a"], 2: cells["b"], 3: cells["c"]})
    assert [change.name for change in rounds.changes] == ["2 − 1", "3 − 2"]
    assert all("one of 2 at once" in change.interval().target for change in rounds.changes)
