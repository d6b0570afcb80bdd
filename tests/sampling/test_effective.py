"""The default bar of weighted answers: coverage by exact sums, no collapse at an edge, a guarantee only where one is.

Wald's bar, which was the default, is the planted bug of every check.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multinomial
from statsmodels.stats.proportion import proportion_confint

from rrcollect import Design, optimal_design
from server_agg import Tally, estimate, sampling
from tests.support.covering import covered, of_pairs, pairs

E1, P3, DIRECT = optimal_design(1), Design(1, "0.3"), Design(1, 1)
GRID = (0.0, 0.01, 0.05, 0.2, 0.5, 0.8, 0.97, 1.0)
SETTINGS = [  # designs, answers, shares of two strata
    ((E1, E1), (12, 12), (1, 1)),
    ((P3, P3), (20, 8), (1, 1)),
    ((P3, P3), (6, 18), (1, 9)),
    ((E1, P3), (12, 12), (2, 1)),
    ((DIRECT, DIRECT), (3, 20), (1, 1)),
]


def strata_coverage(make, designs, sizes, shares, method):
    """The least over a grid of both prevalences."""
    bars = of_pairs(sizes, lambda i, j: tuple(make(designs, sizes, shares, (i, j)).interval(method=method)))
    weights = np.array(shares) / sum(shares)
    return min(covered(bars, pairs(designs, sizes, lambda a, b: float(weights @ (a, b)), GRID)))


def poststratified(designs, sizes, shares, ones):
    tallies = {x: Tally(d, n, k) for x, d, n, k in zip("ab", designs, sizes, ones, strict=True)}
    return sampling.estimate(tallies, weights=dict(zip("ab", shares, strict=True)))


def weighted(designs, sizes, shares, ones):
    """The same as records with fixed weights."""
    answers, weights, each = [], [], []
    for design, n, share, k in zip(designs, sizes, shares, ones, strict=True):
        answers += [1] * k + [0] * (n - k)
        weights += [share / n] * n
        each += [design] * n
    return sampling.estimate(answers, each, weights=weights)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("make", [poststratified, weighted])
def test_the_default_bar_holds_and_the_old_one_does_not(make, setting):
    assert strata_coverage(make, *setting, "korn-graubard") >= 0.95
    assert strata_coverage(make, *setting, "wald") < 0.93


def test_the_guaranteed_bar_of_strata_is_guaranteed():
    for setting in (SETTINGS[0], SETTINGS[2]):
        assert strata_coverage(poststratified, *setting, "guaranteed") >= 0.95 - 1e-12


def test_with_equal_weights_and_one_design_it_is_clopper_and_pearson_s():
    found = sampling.estimate([1] * 9 + [0] * 51, P3, weights=[2.0] * 60)
    low, high = (end / 0.3 for end in proportion_confint(9, 60, method="beta"))
    assert tuple(found.interval()) == pytest.approx((low, high), abs=1e-9)
    one = sampling.estimate({"a": Tally(P3, 60, 9)}, weights={"a": 1})
    assert tuple(one.interval()) == pytest.approx((low, high), abs=1e-9)


def test_no_default_bar_collapses():
    tallies = {"a": Tally(P3, 40, 0), "b": Tally(P3, 60, 0)}
    for found in (
        sampling.estimate([0] * 50, P3, weights=np.arange(1, 51)),
        sampling.estimate([0] * 50, E1, weights=np.arange(1, 51)),
        sampling.estimate([1] * 50, E1, weights=np.arange(1, 51), target="sample"),
        sampling.estimate(tallies, weights={"a": 1, "b": 2}),
        sampling.estimate(tallies, population={"a": 100, "b": 900}),
    ):
        assert found.interval().width > 0.05
        assert found.as_dict()["rows"][0]["interval"]["method"] == "korn-graubard"
        wald = found.interval(method="wald")
        assert wald.width > 0 or "width 0" in wald.warning
    zero = sampling.estimate(tallies, weights={"a": 2, "b": 3}).interval()
    assert zero.high == pytest.approx(estimate(Tally(P3, 100, 0)).interval().high, rel=0.02)


def truth_weights_coverage(design, n, by_truth, pi, target, method):
    """Exact, over the four kinds of records (truth, answer); carriers have weight `by_truth`, others 1."""
    cells = [(a, b, c, n - a - b - c) for a in range(n + 1) for b in range(n + 1 - a) for c in range(n + 1 - a - b)]
    carriers = pi / by_truth / (pi / by_truth + 1 - pi)
    yes = float(design.p11), float(1 - design.p00)
    law = multinomial.pmf(cells, n, [carriers * yes[0], carriers * (1 - yes[0]), (1 - carriers) * yes[1],
                                     (1 - carriers) * (1 - yes[1])])  # fmt: skip
    total = 0.0
    for (a, b, c, e), weight in zip(cells, law, strict=True):
        if weight > 1e-7:
            weights = np.array([by_truth] * (a + b) + [1.0] * (c + e))
            found = sampling.estimate([1] * a + [0] * b + [1] * c + [0] * e, design, weights=weights, target=target)
            low, high = found.interval(method=method)
            truth = pi if target == "population" else float(weights[: a + b].sum() / weights.sum())
            total += weight * (low - 1e-12 <= truth <= high + 1e-12)
    return total


def test_hoeffding_is_called_guaranteed_only_for_what_it_covers():
    """Weights that go with the truth: the population is not covered at 95 %, those who answered are."""
    assert truth_weights_coverage(DIRECT, 10, 10.0, 0.5, "population", "hoeffding") < 0.8
    for design in (DIRECT, E1):
        assert truth_weights_coverage(design, 10, 10.0, 0.5, "sample", "hoeffding") >= 0.95
    answers, weights = [1, 0, 1, 0], [10.0, 1.0, 10.0, 1.0]
    population = sampling.estimate(answers, E1, weights=weights).interval(method="hoeffding")
    assert not population.guaranteed
    assert population.warning.startswith("not guaranteed for the population: weights may go with the truth")
    assert "coverage approximate" in population.describe()
    sample = sampling.estimate(answers, E1, weights=weights, target="sample").interval(method="hoeffding")
    assert sample.guaranteed
    assert sample.target == "weighted share of those who answered"


def test_the_default_holds_for_randomised_answers_whose_weights_go_with_the_truth():
    for pi in (0.05, 0.5):
        assert truth_weights_coverage(E1, 10, 10.0, pi, "population", "korn-graubard") >= 0.95


@pytest.mark.parametrize("design", [DIRECT, optimal_design(2)], ids=["direct", "ε = 2"])
def test_weights_that_go_with_the_truth_are_warned_of(design):
    """With little noise the bar does not hold, and says so; strata and those who answered are as they were."""
    assert truth_weights_coverage(design, 14, 10.0, 0.5, "population", "korn-graubard") < 0.9
    found = sampling.estimate([1, 0, 1, 0], design, weights=[10.0, 1.0, 10.0, 1.0])
    assert found.interval().warning.startswith("if weights go with the truth")
    assert (
        not sampling.estimate([1, 0, 1, 0], design, weights=[10.0, 1.0, 10.0, 1.0], target="sample").interval().warning
    )
    assert not poststratified((E1, E1), (9, 9), (1, 2), (3, 4)).interval().warning


def test_the_effective_size_does_not_hang_on_rounding():
    """All answers alike: the design effect is 0/0, and once it was what the last digits made of it."""
    for design in (E1, optimal_design(2), P3):
        for n in range(2, 15):
            weights = [4.0] * (n // 2) + [1.0] * (n - n // 2)
            ones = sampling.estimate([1] * n, design, weights=weights).interval()
            zeros = sampling.estimate([0] * n, design.mirrored(), weights=weights).interval()
            assert tuple(ones) == pytest.approx((1 - zeros.high, 1 - zeros.low), abs=1e-9)
