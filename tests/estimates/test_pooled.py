"""Several designs, one question: unbiasedness and coverage by exact double sums; biased weights as a planted bug."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, chi2

from rrcollect import Design, ParameterError, optimal_design
from server_agg import Tally, estimate
from server_agg.errors import EmptySelection
from tests.inside.estimates import Groups
from tests.support.covering import covered, of_pairs, pairs

PAIRS = [
    ((optimal_design(1), 20), (optimal_design(2), 15)),
    ((Design(1, "1/5"), 20), (Design("3/4", "3/4"), 20)),
    ((Design("1/5", "3/10"), 18), (Design("9/10", "3/5"), 12)),
]


def laws(pair, pi):
    first, second = ([math.comb(n, k) * y**k * (1 - y) ** (n - k) for k in range(n + 1)] for n, y in
                     ((n, d.says_yes(pi)) for d, n in pair))  # fmt: skip
    return first, second


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_the_fixed_weight_value_is_exactly_unbiased_and_so_is_its_variance(pair):
    (d1, n1), (d2, n2) = ((d, 4) for d, _ in pair)
    for pi in (Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(1)):
        first, second = laws(((d1, n1), (d2, n2)), pi)
        mean = spread = Fraction(0)
        for (j, p), (k, q) in itertools.product(enumerate(first), enumerate(second)):
            if p * q:
                value = estimate([Tally(d1, n1, j), Tally(d2, n2, k)], planning="1/4").exact_value
                mean += p * q * value
                spread += p * q * (value - pi) ** 2
        assert mean == pi
        assert spread == estimate([Tally(d1, n1, 1), Tally(d2, n2, 1)], planning="1/4").pooled._line().at(pi)


def test_the_planted_bug_weighs_by_estimated_variances_and_is_biased():
    design, n, pi = Design("3/4", "3/4"), 8, Fraction(3, 10)
    other = Design("7/8", "7/8")
    first, second = laws(((design, n), (other, n)), pi)
    mean = Fraction(0)
    for (j, p), (k, q) in itertools.product(enumerate(first), enumerate(second)):
        a, b = estimate(Tally(design, n, j)), estimate(Tally(other, n, k))
        wa, wb = (1 / (e.variance or Fraction(1, 10**6)) for e in (a, b))
        mean += p * q * (wa * a.exact_value + wb * b.exact_value) / (wa + wb)
    assert abs(mean - pi) > Fraction(1, 100)


@pytest.mark.long
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_coverage_by_exact_double_sums(pair):
    (d1, n1), (d2, n2) = pair
    pools = of_pairs((n1, n2), lambda j, k: estimate([Tally(d1, n1, j), Tally(d2, n2, k)]))
    laws = list(pairs((d1, d2), (n1, n2), lambda a, b: a if a == b else None, np.arange(0, 1.001, 0.02)))
    least = {}
    for method in ("likelihood", "chebyshev", "hoeffding", "wald"):
        least[method] = min(covered([tuple(pool.interval(method=method)) for pool in pools], laws))
    assert least["chebyshev"] >= 0.95 - 1e-12
    assert least["hoeffding"] >= 0.95 - 1e-12
    assert least["likelihood"] > 0.88
    assert least["wald"] < 0.95


def test_the_maximum_is_a_maximum():
    tallies = [
        Tally(optimal_design(1), 600, 230),
        Tally(Design(1, "1/3"), 200, 11),
        Tally(Design("0.2", "0.3"), 90, 60),
    ]

    def minus_log_likelihood(pi):
        yes = [float(1 - t.design.p00) * (1 - pi) + float(t.design.p11) * pi for t in tallies]
        return -sum(t.ones * math.log(y) + (t.n - t.ones) * math.log(1 - y) for t, y in zip(tallies, yes, strict=True))

    best = minimize_scalar(minus_log_likelihood, bounds=(1e-9, 1 - 1e-9), options={"xatol": 1e-12})
    pooled = estimate(tallies)
    assert pooled.value == pytest.approx(best.x, abs=1e-7)
    for end in pooled.interval():
        assert 2 * (minus_log_likelihood(end) - best.fun) == pytest.approx(chi2.ppf(0.95, 1), rel=1e-6)
    slope = (minus_log_likelihood(best.x + 1e-4) - 2 * best.fun + minus_log_likelihood(best.x - 1e-4)) / 1e-8
    assert pooled.standard_error == pytest.approx(1 / math.sqrt(slope), rel=0.05)


def test_boundaries():
    proof = Design(1, "1/3")
    nothing = estimate([Tally(proof, 50, 0), Tally(optimal_design(1), 50, 10)])
    assert nothing.value == 0.0
    assert nothing.standard_error is None
    assert nothing.interval().low == 0.0
    assert nothing.interval().high > 0
    assert '"standard_error": null' in nothing.to_json()
    something = estimate([Tally(proof, 50, 1), Tally(optimal_design(1), 50, 10)])
    assert something.value > 0
    assert something.interval().low > 0
    everything = estimate([Tally(Design("1/3", 1), 50, 50), Tally(optimal_design(1), 50, 50)])
    assert everything.value == 1.0
    alone = estimate([Tally(optimal_design(1), 100, 20)]).pooled
    assert tuple(alone.interval(0.95, "likelihood")) == tuple(
        estimate(Tally(optimal_design(1), 100, 20)).interval(method="likelihood")
    )


def test_homogeneity_gives_its_p_and_no_verdict():
    agree = estimate([Tally(optimal_design(1), 1000, 400), Tally(optimal_design(2), 1000, 336)]).pooled.homogeneity
    clash = estimate([Tally(optimal_design(1), 1000, 400), Tally(optimal_design(2), 1000, 600)]).pooled.homogeneity
    assert agree.p_value > 0.9
    assert agree.describe().endswith("p = 0.978")
    assert clash.p_value < 1e-6
    assert "X² = " in clash.describe()
    assert clash.df == 1
    alone = estimate([Tally(optimal_design(1), 100, 40), Tally(optimal_design(1), 50, 10)]).pooled.homogeneity
    assert (alone.df, alone.p_value) == (0, 1.0)
    assert "nothing to compare" in alone.describe()


def pearson(tallies, at):
    """The planted bug: Pearson's X² at the estimate on [0, 1], which at an edge is not where the score is 0."""
    yes = [float(1 - d.p00) * (1 - at) + float(d.p11) * at for d, _, _ in tallies]
    return sum((k - n * y) ** 2 / (n * y * (1 - y)) for (_, n, k), y in zip(tallies, yes, strict=True))


def test_homogeneity_holds_its_size_at_the_edge_too():
    """Exact, over all counts of 60 and 40 answers at prevalence 0."""
    (d1, n1), (d2, n2) = (optimal_design(1), 60), (optimal_design(2), 40)
    groups = Groups.of([[Tally(d1, n1, 0)], [Tally(d2, n2, 0)]])
    j, k = (x.ravel().astype(float) for x in np.meshgrid(np.arange(n1 + 1), np.arange(n2 + 1), indexing="ij"))
    counts = np.stack([j, k], axis=1)
    law = np.outer(*(binom.pmf(np.arange(n + 1), n, float(1 - d.p00)) for d, n in ((d1, n1), (d2, n2)))).ravel()
    limit = chi2.isf(0.05, 1)
    assert law[groups.scores(counts).equality() > limit].sum() < 0.055
    assert law[pearson([(d1, n1, j), (d2, n2, k)], groups.common(counts)) > limit].sum() > 0.075


def test_homogeneity_is_pearson_s_test_away_from_the_edges():
    pooled = estimate([Tally(optimal_design(1), 600, 230), Tally(optimal_design(2), 400, 100)])
    old = pearson([(t.design, t.n, t.ones) for t in pooled.tallies], pooled.value)
    assert pooled.pooled.homogeneity.statistic == pytest.approx(old, rel=1e-6)
    assert pooled.pooled.homogeneity.method == "score"
    few = estimate([Tally(optimal_design(1), 20, 9), Tally(optimal_design(2), 20, 4)]).pooled.homogeneity
    assert few.method == "exact"
    assert "exact p = " in few.describe()


def test_each_design_on_its_own():
    pooled = estimate([Tally(optimal_design(1), 600, 230), Tally(optimal_design(2), 1, 1)])
    assert [line[0] for line in pooled.details()[2:]] == [str(optimal_design(1))]
    assert sum(pooled.pooled.weights) == 1


def test_invalid_pools_are_refused():
    with pytest.raises(EmptySelection):
        estimate([])
    with pytest.raises(ParameterError, match="tally"):
        estimate([3])
    for planning in (0, 1, -1, "x"):
        with pytest.raises(ParameterError, match="planning"):
            estimate([Tally(optimal_design(1), 10, 3)], planning=planning)
    with pytest.raises(ParameterError, match="likelihood"):
        estimate([Tally(optimal_design(1), 10, 3), Tally(optimal_design(2), 10, 3)]).interval(method="exact")
