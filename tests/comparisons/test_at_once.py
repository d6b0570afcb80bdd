"""Comparisons hold at once unless somebody asks for one alone, and p is that of the bar beside it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import multinomial

from rrcollect import ParameterError, SetDesign, optimal_design
from server_agg import Tally, compare, estimate, sampling, trend

E1, E3 = optimal_design(1), optimal_design(3)
SIX = SetDesign(6, 1, "9/10")


def test_pairs_of_six_equal_options_are_at_once() -> None:
    """Some p below .05 among the 15 pairs: an exact sum over 300 drawn tables would need all; 300 tables by a fixed
    seed.  At 5 % more than .135 of them has probability < 1e-9; each pair alone: about a third."""
    rng = np.random.default_rng(1)
    some = alone = 0
    for counts in rng.multinomial(300, np.full(6, 1 / 6), 300):
        found = estimate(Tally(SIX, 300, counts.tolist()))
        pairs = list(itertools.combinations(range(6), 2))
        some += min(found.compare(i, j).p_value for i, j in pairs) < 0.05
        alone += min(found.compare(i, j, family=1).p_value for i, j in pairs) < 0.05
    assert some / 300 < 0.135
    assert alone / 300 > 0.2  # the planted bug: what was printed


@pytest.mark.parametrize("level", ["0.95", "0.8"])
def test_p_of_two_options_is_that_of_the_bar(level: str) -> None:
    for counts in ([60, 40, 50], [80, 30, 40], [52, 48, 50], [150, 0, 0]):
        found = estimate(Tally(SetDesign(3, 1, "4/5"), 150, counts))
        for family in (None, 1, 7):
            pair = found.compare(0, 1, family=family)
            low, high = pair.interval(level)
            assert (low <= 0 <= high) is (pair.p_value >= 1 - float(level))
    assert found.compare(0, 1).rows[0].extras["p_alone"] <= found.compare(0, 1).p_value
    assert "one of 3 at once" in found.compare(0, 1).interval().target
    with pytest.raises(ParameterError, match="family"):
        found.compare(0, 1, family=0)


def test_two_options_are_one_question() -> None:
    found = estimate(Tally(SetDesign(2, 1, "3/4"), 100, [60, 40])).compare(0, 1)
    assert found.p_value == found.rows[0].extras["p_alone"]
    assert "at once" not in found.interval().target


def test_a_sum_of_options_is_printed_with_its_p_and_in_english() -> None:
    found = estimate(Tally(SetDesign(4, 1, "1/2"), 1000, [420, 260, 180, 140]), labels=["a", "b", "c", "d"])
    pair = found.compare(0, 1)
    assert f"p  {pair.p_value:.3g}".split() in [line.split() for line in str(pair).splitlines()]
    assert pair.interval().describe() == (
        "95 % adjusted interval for the difference a − b, one of 6 at once, coverage approximate"
    )
    assert "interval for the share of a among a, b" in found.among(0, [0, 1]).interval().describe()
    assert "interval for the mean of the scores" in found.mean([0, 1, 2, 3]).interval().describe()


def test_p_and_bar_of_a_complex_difference_never_contradict_each_other() -> None:
    """400 samples of 10 clusters of 6: with Student's t beside a mover bar 12 % of them did."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        by = np.tile([0, 1], 30)
        answers = (rng.random(60) < np.where(by, 0.7, 0.4)).astype(int)
        groups = sampling.estimate(answers, E3, clusters=np.repeat(np.arange(10), 6), by=by)
        found = groups.difference("0", "1")
        low, high = found.interval()
        assert (low <= 0 <= high) is (found.p_value >= 0.05), seed
    sure = sampling.estimate([0] * 200 + [1] * 200, E3, by=[0] * 200 + [1] * 200).difference("0", "1")
    assert sure.p_value < 1e-6


def test_pairs_of_groups_in_a_complex_sample_are_at_once() -> None:
    rng = np.random.default_rng(4)
    answers, groups = rng.integers(0, 2, 400), np.repeat(list("abcd"), 100)
    found = sampling.estimate(answers, E3, weights=np.ones(400), by=groups)
    pair, alone = found.difference("a", "b"), found.difference("a", "b", family=1)
    assert pair.rows[0].extras["family"] == 6
    assert pair.p_value == pytest.approx(min(1.0, 6 * alone.p_value), rel=1e-6)
    assert tuple(pair.interval()) == pytest.approx(tuple(alone.interval(1 - 0.05 / 6)))
    assert "one of 6 at once" in pair.interval().target
    held = np.eye(3, dtype=int)[rng.integers(0, 3, 400)]
    whole = sampling.estimate(held, SetDesign(3, 1, "3/4"), labels=["x", "y", "z"], by=groups)
    assert whole.difference("x", "y").rows[0].extras["family"] == 3  # options of all
    assert whole.difference("a: x", "b: x").rows[0].extras["family"] == 18  # four groups, three options
    assert whole.difference("a: x", "a: y").rows[0].extras["family"] == 12


def test_family_is_one_word_for_every_comparison() -> None:
    cells = {x: Tally(E1, 300, k) for x, k in (("a", 150), ("b", 120), ("c", 110), ("d", 115))}
    table, alone = compare(cells), compare(cells, family=1)
    for row, one in zip(table.pairs, alone.pairs, strict=True):
        assert row.p_value == pytest.approx(min(1.0, 6 * one.p_value))
        assert row.extras["p_alone"] == one.p_value
        assert tuple(row.interval()) == tuple(one.interval(1 - 0.05 / 6))
        low, high = row.interval()
        assert (low <= 0 <= high) is (row.p_value >= 0.05)
    rounds = {1: cells["a"], 2: cells["b"], 3: cells["c"]}
    assert trend(rounds).changes[0].extras["family"] == 2
    assert trend(rounds, family=1).changes[0].extras["family"] == 1
    for wrong in (0, 1.5, "all", True):
        with pytest.raises(ParameterError):
            compare(cells, family=wrong)


def test_a_difference_is_that_of_the_values_that_are_shown() -> None:
    found = compare({"a": Tally(E1, 50, 25), "b": Tally(E1, 50, 3)})
    lines = {line.split("  ")[0]: line for line in str(found).splitlines()}
    assert lines["b"].split()[2] == "0.0"
    assert "50.0 %" in lines["a − b"]  # and not 95.2
    assert found.difference.value == pytest.approx(0.952, abs=1e-3)  # unbiased, for sums onward
    assert any(note.startswith("a − b: unclipped 95.2 %") for note in found.notes)
    apart = estimate(Tally(SetDesign(3, 1, "3/4"), 40, [35, 5, 0])).compare(0, 1)
    assert apart.value > 1
    assert "100.0 %" in apart.sentence()
    parts = sampling.estimate([1] * 25 + [0] * 25 + [1] * 3 + [0] * 47, E1, by=[0] * 50 + [1] * 50)
    assert "50.0 %" in parts.difference("0", "1").sentence()


def test_a_share_of_nobody_is_said_to_be_nobody() -> None:
    found = estimate(Tally(E1, 999, 400))
    none = found.interval_with_dishonest("0.0005")
    assert "0.0005 of 999 reporters is less than one: nobody is given up" in none.warning
    assert tuple(none) == tuple(found.interval(method="exact"))
    assert "any 1 of the 999" in found.interval_with_dishonest("0.0011").warning


def test_the_default_bars_of_a_pooled_choice_hold_at_once() -> None:
    """Two near-direct designs of 6 and 6 answers, by an exact sum over all pairs of tables; Wald's: the planted bug."""
    designs = SetDesign(3, 1, "99/100"), SetDesign(3, 1, "24/25")
    tables = [t for t in itertools.product(range(7), repeat=3) if sum(t) == 6]
    bars = {}
    for method in (None, "wald"):
        for pair in itertools.product(tables, repeat=2):
            found = estimate([Tally(d, 6, list(t)) for d, t in zip(designs, pair, strict=True)])
            bars[method, pair] = found.intervals(method=method)
    least = {None: 1.0, "wald": 1.0}
    for shares in ([0.9, 0.1, 0.0], [0.5, 0.3, 0.2], [1.0, 0.0, 0.0], [0.97, 0.02, 0.01]):
        laws = []
        for design in designs:
            by_truth = np.array(
                [[float(design.p) if i == j else float(1 - design.p) / 2 for i in range(3)] for j in range(3)]
            )
            laws.append(dict(zip(tables, multinomial.pmf(tables, 6, np.array(shares) @ by_truth), strict=True)))
        for method in tuple(least):
            covered = math.fsum(
                laws[0][a] * laws[1][b]
                for a, b in itertools.product(tables, repeat=2)
                if all(bar.low <= s <= bar.high for bar, s in zip(bars[method, (a, b)], shares, strict=True))
            )
            least[method] = min(least[method], covered)
    assert least[None] >= 0.95
    assert least["wald"] < 0.75
    assert all(bar.guaranteed for bar in bars[None, (tables[0], tables[0])])


def test_a_list_experiment_below_zero_says_so() -> None:
    """A difference of means of −0.70: its bar begins at 0 and is not empty, and the test is said."""
    counts, long = [3, 3, 2, 3, 2, 3, 1, 2] * 10, [0, 0, 0, 0, 1, 1, 1, 1] * 10
    found = sampling.list_experiment(counts, long, 3)
    assert found.value == pytest.approx(-0.75)
    low, high = found.interval()
    assert low == 0 < high
    said = found.sentence()
    assert "difference of means −0.750, which no share explains" in said
    assert f"design effect: p = {found.design_effect_p:.3g}" in said
    assert "width 0" not in said
    assert (
        "no share explains" not in sampling.list_experiment([1, 2, 2, 3, 1, 2, 1, 2], [1] * 4 + [0] * 4, 3).sentence()
    )
