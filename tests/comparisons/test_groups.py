"""Differences, ratios, segments and trends: coverage by exact double sums, and what a table must say."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, norm

from rrcollect import Design, ParameterError, optimal_design
from server_agg import Tally, compare, estimate, trend
from server_agg.comparisons.groups import simultaneous_level
from server_agg.errors import EmptySelection, TooFewAnswers
from tests.support.comparing import both
from tests.support.covering import covered, of_pairs, pairs

D = Design("3/4", "3/4")
SETTINGS = [((optimal_design(2), 20), (optimal_design(1), 25)), ((Design(1, "0.3"), 25), (Design("0.9", "0.8"), 15))]
SHARES = np.arange(0, 1.001, 0.05)


def law(design, n, pi):
    return binom.pmf(np.arange(n + 1), n, float(1 - design.p00) * (1 - pi) + float(design.p11) * pi)


def comparisons(setting):
    (da, na), (db, nb) = setting
    return of_pairs((na, nb), lambda j, k: both(Tally(da, na, j), Tally(db, nb, k)))


def least_coverage(setting, bars, truth):
    """The least over a grid of both prevalences; `truth(a, b)` is what the bars should cover."""
    designs, sizes = zip(*setting, strict=True)
    return min(covered(bars, pairs(designs, sizes, truth, SHARES)))


def _mover_on_cut_bars(pair):
    (la, ua), (lb, ub) = (estimate(group.tallies[0]).interval() for group in pair.groups)
    a, b = (estimate(group.tallies[0]).clipped for group in pair.groups)
    return a - b - np.hypot(a - la, ub - b), a - b + np.hypot(ua - a, b - lb)


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS, ids=["optimal", "skewed"])
def test_coverage_of_differences_by_exact_double_sums(setting):
    compared = comparisons(setting)
    least = {}
    for method in ("mover", "guaranteed", "wald"):
        bars = [tuple(pair.difference.interval(method=method)) for pair in compared]
        least[method] = least_coverage(setting, bars, lambda a, b: a - b)
    assert least["guaranteed"] >= 0.95 - 1e-12
    assert least["mover"] >= 0.96
    assert least["wald"] < 0.93
    cut = [_mover_on_cut_bars(pair) for pair in compared]  # the planted bug
    assert least_coverage(setting, cut, lambda a, b: a - b) < 0.8


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS, ids=["optimal", "skewed"])
def test_coverage_of_ratios_by_exact_double_sums(setting):
    compared = comparisons(setting)
    least = {}
    for method in ("mover", "guaranteed"):
        bars = [tuple(pair.ratio.interval(method=method)) for pair in compared]
        least[method] = least_coverage(setting, bars, lambda a, b: a / b if b > 0 else None)
    assert least["guaranteed"] >= 0.95 - 1e-12
    assert least["mover"] >= 0.94


def test_the_test_holds_its_size_and_finds_what_is_there():
    n = 40
    small = np.array([[both(Tally(D, n, j), Tally(D, n, k)).test.p_value < 0.05 for k in range(n + 1)]
                      for j in range(n + 1)])  # fmt: skip
    for pi in (0.1, 0.5, 0.9):
        assert (np.outer(law(D, n, pi), law(D, n, pi)) * small).sum() < 0.07
    assert (np.outer(law(D, n, 0.05), law(D, n, 0.95)) * small).sum() > 0.9


def test_the_score_test_is_the_pooled_z_test_for_direct_answers():
    direct = Design(1, 1)
    found = both(Tally(direct, 200, 90), Tally(direct, 300, 100))
    common = 190 / 500
    z = (0.45 - 1 / 3) / np.sqrt(common * (1 - common) * (1 / 200 + 1 / 300))
    assert found.test.p_value == pytest.approx(2 * norm.sf(z), rel=1e-9)


def test_a_difference_of_nothing():
    same = both(Tally(D, 50, 20), Tally(D, 50, 20))
    assert (same.difference.value, same.test.p_value) == (0.0, 1.0)
    certain = both(Tally(Design(1, "1/2"), 20, 0), Tally(Design(1, "1/2"), 20, 0))
    assert certain.test.p_value == 1.0
    assert certain.ratio.value is None
    bar = certain.ratio.interval()
    assert bar.high is None
    assert bar.low == 0.0
    with pytest.raises(ParameterError):
        same.difference.interval(method="exact")
    with pytest.raises(ParameterError):
        same.ratio.interval(method="wald")


@pytest.mark.parametrize("how", ["bonferroni", "sidak"])
def test_segment_bars_hold_all_at_once(how):
    """Exact: segments are independent, so the chance that all cover is the product of the coverages."""
    sizes, truths = (30, 40, 50), (0.1, 0.4, 0.9)
    each = simultaneous_level("0.95", 3, how)
    together = 1.0
    for n, pi in zip(sizes, truths, strict=True):
        bars = [estimate(Tally(D, n, k)).interval(each) for k in range(n + 1)]
        together *= sum(p for p, (low, high) in zip(law(D, n, pi), bars, strict=True) if low <= pi <= high)
    assert together >= 0.95
    assert simultaneous_level("0.95", 3, "none") == Fraction(19, 20)
    assert simultaneous_level("0.95", 3, "sidak") ** 3 >= Fraction(19, 20)


def test_the_table_merges_small_cells_and_says_so():
    cells = {"a": Tally(D, 500, 200), "b": Tally(D, 400, 180), "c": Tally(D, 8, 5), "d": Tally(D, 0, 0)}
    table = compare(cells, minimum=30)
    assert [row.name for row in table.group_rows] == ["a", "(merged)"]
    assert table.groups[1].cells == ("b", "c", "d")
    assert table.groups[1].tallies == (Tally(D, 408, 185),)
    assert table.suppressed == (("b", 400), ("c", 8), ("d", 0))
    assert sum(row.n for row in table.group_rows) == 908
    for words in (str(table), table._repr_html_(), " ".join(table.notes)):
        assert "c (n = 8)" in words
        assert "Bonferroni" in words
    assert all(
        tuple(row.interval()) == tuple(estimate(group.tallies[0]).interval(Fraction(39, 40)))
        for group, row in zip(table.groups, table.group_rows, strict=True)
    )
    assert json.loads(table.to_json())["suppressed"][1] == {"name": "c", "n": 8}
    two_small = compare({"a": Tally(D, 500, 200), "b": Tally(D, 20, 8), "c": Tally(D, 15, 5)}, minimum=30)
    assert [group.cells for group in two_small.groups] == [("a",), ("b", "c")]
    just_enough = compare({"a": Tally(D, 15, 2), "b": Tally(D, 16, 2)}, minimum=30)
    assert [group.cells for group in just_enough.groups] == [("a", "b")]


def test_rows_by_several_designs_are_pooled():
    table = compare({("n", 1): [Tally(D, 50, 20), Tally(optimal_design(2), 60, 20)], "s": [Tally(D, 50, 20)]})
    pooled = estimate([Tally(D, 50, 20), Tally(optimal_design(2), 60, 20)])
    assert table["n / 1"].value == pytest.approx(pooled.value)
    assert table["n / 1"].interval().method == "likelihood"
    assert table.pairs == ()
    with pytest.raises(ParameterError, match="one design"):
        _ = table.difference
    plain = compare({"x": Tally(D, 50, 30), "y": Tally(D, 60, 20)})
    x, y = estimate(Tally(D, 50, 30)), estimate(Tally(D, 60, 20))
    assert plain.pair(0, 1).value == x.exact_value - y.exact_value


def test_invalid_segments_are_refused():
    with pytest.raises(EmptySelection):
        compare({})
    with pytest.raises(EmptySelection):
        compare({"a": []})
    with pytest.raises(TooFewAnswers):
        compare({"a": Tally(D, 0, 0)}, minimum=2)
    with pytest.raises(ParameterError, match="two groups or more"):
        compare({"a": Tally(D, 50, 3)})
    with pytest.raises(ParameterError, match="groups"):
        compare({"1": Tally(D, 50, 3), 1: Tally(D, 50, 3)})
    with pytest.raises(ParameterError, match="minimum"):
        compare({"a": Tally(D, 50, 3)}, minimum=1)
    with pytest.raises(ParameterError, match="simultaneous"):
        compare({"a": Tally(D, 50, 3)}, simultaneous="holm", minimum=30)
    with pytest.raises(ParameterError, match="target"):
        compare({"a": Tally(D, 50, 3)}, target=100)
    with pytest.raises(ParameterError, match="several designs"):
        compare({"a": [Tally(D, 50, 3), Tally(optimal_design(2), 50, 9)]}, target="sample", minimum=30)
    with pytest.raises(ParameterError, match="row is 'x'"):
        compare({"a": Tally(D, 50, 30)}, minimum=30)["x"]


def test_html_escapes_names():
    table = compare({"<script>": Tally(D, 50, 20), "b": Tally(D, 50, 20)})
    assert "<script>" not in table._repr_html_()
    assert "&lt;script&gt;" in table._repr_html_()


def test_trend_slope_holds_its_size():
    """Exact over three rounds of 12: P(p < 0.05) when nothing changes."""
    n, pi = 12, 0.4
    weights, total = law(D, n, pi), 0.0
    for i in range(n + 1):
        for j in range(0, n + 1, 1):
            for k in range(n + 1):
                weight = weights[i] * weights[j] * weights[k]
                if weight > 1e-3:
                    found = trend({0: Tally(D, n, i), 1: Tally(D, n, j), 2: Tally(D, n, k)})
                    total += weight * (found.test.p_value < 0.05)
    assert total < 0.08


def test_a_trend():
    found = trend({2: Tally(D, 500, 190), 1: Tally(D, 500, 150), 4: [Tally(D, 500, 240)]})
    assert found.scores == (1, 2, 4)
    assert [change.value for change in found.changes] == [0.16, 0.2]
    assert found.pair(1, 0).value == Fraction(4, 25)
    assert "slope" in str(found)
    assert "slope" in found._repr_html_()
    flat = trend({0: Tally(Design(1, "1/2"), 30, 0), 1: Tally(Design(1, "1/2"), 30, 0)})
    assert (flat.slope.value, flat.test.p_value) == (0.0, 1.0)
    pooled = trend({0: [Tally(D, 50, 20), Tally(optimal_design(2), 50, 20)], 1: Tally(D, 50, 20)})
    with pytest.raises(ParameterError, match="one design"):
        _ = pooled.changes
    good = Tally(D, 50, 3)
    for bad in ({}, {1: good}, {1: good, -1: good}, {1: good, 2: Tally(D, 1, 0)}):
        with pytest.raises(ParameterError, match="round"):
            trend(bad)
