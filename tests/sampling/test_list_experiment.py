"""List experiments: exact values, an enumeration, the guaranteed bar, the test of design effects, the cost."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from rrcollect import Design, ParameterError, optimal_design
from server_agg import sampling
from server_agg.errors import TooFewAnswers


def test_it_is_welch_s_comparison_of_two_means() -> None:
    rng = np.random.default_rng(1)
    long = rng.integers(0, 2, 500)
    y = rng.binomial(4, 0.4, 500) + long * (rng.random(500) < 0.3)
    found = sampling.list_experiment(y, long, 4)
    judge = stats.ttest_ind(y[long == 1], y[long == 0], equal_var=False)
    assert found.value == pytest.approx(y[long == 1].mean() - y[long == 0].mean())
    assert found.value / found.standard_error == pytest.approx(judge.statistic)
    assert found.df == pytest.approx(judge.df)
    low, high = judge.confidence_interval()
    assert tuple(found.interval()) == pytest.approx((max(low, 0), high))


def test_unbiased_with_an_unbiased_variance_by_enumeration() -> None:
    """Four people drawn at random from a law of (harmless count, attribute); two of them get the longer list."""
    law = {(0, 0): 0.3, (1, 0): 0.3, (0, 1): 0.1, (1, 1): 0.3}
    mean = square = told = 0.0
    for people in itertools.product(law, repeat=4):
        chance = math.prod(law[one] for one in people)
        counts = [y + (t if k < 2 else 0) for k, (y, t) in enumerate(people)]
        found = sampling.list_experiment(counts, [1, 1, 0, 0], 1)
        mean, square = mean + chance * found.value, square + chance * found.value**2
        told += chance * found.standard_error**2
    assert mean == pytest.approx(0.4)
    assert told == pytest.approx(square - mean**2)


def test_the_guaranteed_bar_covers_and_wald_does_not_where_answers_are_alike() -> None:
    """Everything with its chance: J = 1, 3 and 3 people, harmless item of share h, attribute of share π."""
    least = {"hoeffding": 1.0, "wald": 1.0}
    bars = {}
    for a, b, c in ((i, j, k) for i in range(4) for j in range(4 - i) for k in range(4)):
        counts = [2] * a + [1] * b + [0] * (3 - a - b) + [1] * c + [0] * (3 - c)
        found = sampling.list_experiment(counts, [1] * 3 + [0] * 3, 1)
        bars[a, b, c] = {m: tuple(found.interval(method=m)) for m in least}
    for h, pi in itertools.product((0.05, 0.5, 0.95), (0.02, 0.3, 0.6)):
        two, none = h * pi, (1 - h) * (1 - pi)
        for method, before in least.items():
            held = sum(
                stats.multinomial.pmf([a, b, 3 - a - b], 3, [two, 1 - two - none, none]) * stats.binom.pmf(c, 3, h)
                for (a, b, c), ends in bars.items()
                if ends[method][0] <= pi <= ends[method][1]
            )
            least[method] = min(before, held)
    assert least["hoeffding"] >= 0.95
    assert least["wald"] < 0.5


def test_a_design_effect_is_found_and_none_is_not() -> None:
    """Joint shares that are negative: planted, people with the longer list understate everything."""
    law = np.repeat([0, 1, 2, 3], [100, 300, 400, 200])
    truth = (np.arange(1000) % 5 == 0).astype(int)
    honest = sampling.list_experiment(np.concatenate([law + truth, law]), [1] * 1000 + [0] * 1000, 3)
    bent = sampling.list_experiment(np.concatenate([np.maximum(law + truth - 1, 0), law]), [1] * 1000 + [0] * 1000, 3)
    assert honest.design_effect_p > 0.5
    assert bent.design_effect_p < 1e-6
    assert sum(map(sum, honest.joint)) == pytest.approx(1)
    assert sum(pair[1] for pair in honest.joint) == pytest.approx(honest.value)


@pytest.mark.needs("pandas")
def test_the_cost_beside_randomised_response_at_equal_n() -> None:
    rng = np.random.default_rng(2)
    long = np.arange(4000) % 2
    y = rng.binomial(4, 0.5, 4000) + long * (rng.random(4000) < 0.2)
    found = sampling.list_experiment(y, long, 4)
    beside = found.beside(optimal_design(2))
    assert beside.n == 4000
    assert beside.ratio > 2  # a list of four even items costs more than ε = 2
    design = optimal_design(2)
    assert beside.randomised_error == pytest.approx(math.sqrt(float(design.variance(found.value, 4000))), rel=1e-9)
    direct = found.beside(Design(1, 1), "0.2")
    assert direct.randomised_error == pytest.approx(math.sqrt(0.2 * 0.8 / 4000))
    assert "people for each one" in beside.sentence()
    assert "no ε" in found.sentence()
    assert found.to_frame()["value"][0] == found.value


def test_clusters_count() -> None:
    units = np.repeat(np.arange(20), 50)
    long = np.tile([0, 1], 500)
    y = np.where(units % 2 == 0, 0, 2) + long * (units % 4 == 0)
    right, naive = sampling.list_experiment(y, long, 3, clusters=units), sampling.list_experiment(y, long, 3)
    assert right.value == naive.value
    assert right.df == 19
    assert right.interval(method="hoeffding").guaranteed is False
    assert naive.interval(method="hoeffding").guaranteed is True


def test_bad_lists_are_refused() -> None:
    with pytest.raises(ParameterError, match="count of record 1 is 4"):
        sampling.list_experiment([0, 4, 1, 1], [1, 0, 1, 0], 3)
    with pytest.raises(ParameterError, match="whole numbers"):
        sampling.list_experiment([0.5, 1, 1, 1], [1, 0, 1, 0], 3)
    with pytest.raises(TooFewAnswers, match="with the item"):
        sampling.list_experiment([0, 1, 1, 1], [1, 0, 0, 0], 3)
    with pytest.raises(ParameterError, match="wald"):
        sampling.list_experiment([0, 1, 1, 1], [1, 0, 1, 0], 3).interval(method="exact")
