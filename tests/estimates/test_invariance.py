"""Merging in any order and grouping gives identical results; swapping labels and mirroring is exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrcollect import Design, optimal_design
from server_agg import Estimate, Tallies, Tally, TallyKey, estimate
from tests.support.aims import aimed
from tests.support.comparing import both

METHODS = ("exact", "wilson", "chebyshev", "hoeffding", "likelihood", "wald", "credible")
DESIGNS = [optimal_design(1), Design(1, "1/20"), Design("1/20", 1), Design("9/10", "3/5"), Design("1/5", "3/10")]


@st.composite
def tallies(draw, most=300):
    n = draw(st.integers(2, most))
    return Tally(draw(st.sampled_from(DESIGNS)), n, draw(st.integers(0, n)))


def results(e: Estimate, method: str):
    return (e.exact_value, e.value, e.clipped, e.variance, tuple(e.interval(0.95, method)), e.misfit)


@given(tallies(), st.sampled_from(METHODS), st.sampled_from(["population", "sample", 400]))
@settings(max_examples=150, deadline=None)
def test_swapping_labels_changes_nothing(tally, method, target):
    if target != "population" and method in ("likelihood", "credible"):
        method = "exact"
    assert results(estimate(tally, **aimed(target)), method) == results(
        estimate(tally.swapped(), **aimed(target)), method
    )


@given(tallies(), st.sampled_from(METHODS), st.sampled_from(["population", "sample", 400]))
@settings(max_examples=150, deadline=None)
def test_mirroring_the_attribute_mirrors_every_result_exactly(tally, method, target):
    if target != "population" and method in ("likelihood", "credible"):
        method = "exact"
    here, there = estimate(tally, **aimed(target)), estimate(tally.mirrored(), **aimed(target))
    assert there.exact_value == 1 - here.exact_value
    assert there.variance == here.variance
    (low, high), (other_low, other_high) = here.interval(0.95, method), there.interval(0.95, method)
    assert (high, other_high) == (1.0 - other_low, 1.0 - low)
    assert there.misfit.tail_probability == here.misfit.tail_probability


@given(tallies(), st.sampled_from(METHODS), st.sampled_from(["both", "lower", "upper"]))
@settings(max_examples=200, deadline=None)
def test_every_bar_is_a_bar(tally, method, side):
    low, high = estimate(tally).interval(0.95, method, side=side)
    assert 0.0 <= low <= high <= 1.0


def test_the_planted_asymmetry_is_seen():
    tally = Tally(optimal_design(1), 100, 40)
    nudged = estimate(tally).interval()
    assert tuple(nudged) != (nudged.low + 2e-16, nudged.high)
    assert results(estimate(tally), "exact") != results(estimate(tally.mirrored()), "exact")


def test_any_order_and_grouping_of_the_same_answers_is_the_same_tally():
    generator = np.random.default_rng(4)
    parts = [Tally(optimal_design(1), n, int(generator.integers(0, n + 1))) for n in range(1, 40)]
    whole = sum(parts)
    for _ in range(20):
        generator.shuffle(parts)
        cut = int(generator.integers(1, 39))
        assert sum(parts[:cut]) + sum(parts[cut:]) == whole


def test_any_order_and_grouping_of_collections_and_pools():
    generator = np.random.default_rng(5)
    keys = [TallyKey("s", q, d, (("region", r),), k) for q in "ab" for d in DESIGNS for r in "xyz" for k in (0, 1)]
    parts = []
    for _ in range(300):
        key = keys[generator.integers(len(keys))]
        parts.append(Tallies({key: Tally(key.design, 3, int(generator.integers(4)))}))
    whole = sum(parts[1:], parts[0])
    generator.shuffle(parts)
    again = sum(parts[1:], parts[0])
    assert again == whole
    assert again.to_json() == whole.to_json()
    mine, same = (collected.where(question="a", round=1) for collected in (whole, again))
    one, other = estimate(mine.each_design()), estimate(reversed(same.each_design()))
    assert one.as_dict() == other.as_dict()
    merged_by_hand = estimate([t for k, t in whole.items() if (k.question, k.round) == ("a", 1)])
    assert merged_by_hand.as_dict() == one.as_dict()
    for groups in (mine.by("region"), mine.by()):
        assert sum(t.n for group in groups.values() for t in group) == mine.n
    for groups in (whole.by("round", "question"), whole.by("question", "round", "region")):
        assert sum(t.n for group in groups.values() for t in group) == whole.n


@given(tallies(120), tallies(120))
@settings(max_examples=60, deadline=None)
def test_pools_and_comparisons_mirror_and_swap(a, b):
    pooled, swapped = estimate([a, b]), estimate([a.swapped(), b.swapped()])
    for method in ("likelihood", "chebyshev", "hoeffding", "wald"):
        assert tuple(pooled.interval(method=method)) == tuple(swapped.interval(method=method))
    assert pooled.value == swapped.value
    assert pooled.exact_value == swapped.exact_value
    mirrored = estimate([a.mirrored(), b.mirrored()])
    assert mirrored.value == pytest.approx(1 - pooled.value, abs=1e-12)
    assert mirrored.exact_value == 1 - pooled.exact_value
    assert both(a, b).pair(0, 1).value == -both(b, a).pair(0, 1).value
    for method in ("mover", "guaranteed", "wald"):
        low, high = both(a, b).difference.interval(method=method)
        assert tuple(both(b, a).difference.interval(method=method)) == pytest.approx((-high, -low), abs=1e-15)


def test_fractions_survive():
    assert estimate(Tally(Design("2/3", "3/4"), 7, 3)).exact_value == (Fraction(3, 7) - Fraction(1, 3)) / Fraction(
        5, 12
    )
