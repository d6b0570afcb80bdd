"""Differences between people who can be counted: sizes and coverage by exact sums over the laws of the sample and of a
finite population, written here anew."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from rrcollect import Design, ParameterError, optimal_design
from server_agg import Tally, compare
from tests.support.comparing import both

E3, NEAR, DIRECT = optimal_design(3), Design("0.97", "0.97"), Design(1, 1)


def law(design: Design, n: int, size: int | None) -> np.ndarray:
    """P(ones) for every number of true "yes", among n or in a population."""
    no, yes = float(1 - design.p00), float(design.p11)
    given = np.zeros((n + 1, n + 1))
    for t in range(n + 1):
        for k in range(t + 1):
            for m in range(n - t + 1):
                given[t, k + m] += binom.pmf(k, t, yes) * binom.pmf(m, n - t, no)
    if size is None:
        return given
    drawn = np.array([[hypergeom.pmf(t, size, total, n) for t in range(n + 1)] for total in range(size + 1)])
    return drawn @ given


CASES = [
    pytest.param((NEAR, 8, None), (NEAR, 6, None), id="sample"),
    pytest.param((E3, 7, None), (Design(1, "0.6"), 5, None), id="sample, two designs"),
    pytest.param((DIRECT, 8, 14), (DIRECT, 6, 12), id="finite, direct"),
    pytest.param((E3, 6, 9), (NEAR, 5, 8), id="finite"),
]


def compared(a: tuple[Any, ...], b: tuple[Any, ...], j: int, k: int) -> Any:
    (da, na, ma), (db, nb, mb) = a, b
    how = {"target": "sample"} if ma is None else {"population": {"a": ma, "b": mb}}
    return both(Tally(da, na, j), Tally(db, nb, k), **how)


@pytest.mark.parametrize(("a", "b"), CASES)
def test_the_size_and_the_coverage_are_those_promised(a: tuple[Any, ...], b: tuple[Any, ...]) -> None:
    laws = [law(*one) for one in (a, b)]
    rejected = np.zeros((a[1] + 1, b[1] + 1))
    low, high, wald = rejected.copy(), rejected.copy(), np.zeros((*rejected.shape, 2))
    for j, k in itertools.product(range(a[1] + 1), range(b[1] + 1)):
        found = compared(a, b, j, k)
        low[j, k], high[j, k] = found.difference.interval()
        rejected[j, k] = found.test.p_value < 0.05
        wald[j, k] = found.difference.interval(method="wald")  # the planted bug
        assert bool(low[j, k] <= 0 <= high[j, k]) is (found.test.p_value >= 0.05)
    size, least, planted = 0.0, 1.0, 1.0
    for s, t in itertools.product(range(len(laws[0])), range(len(laws[1]))):
        weight, apart = np.outer(laws[0][s], laws[1][t]), s / (len(laws[0]) - 1) - t / (len(laws[1]) - 1)
        least = min(least, float((weight * ((low <= apart) & (apart <= high))).sum()))
        planted = min(planted, float((weight * ((wald[..., 0] <= apart) & (apart <= wald[..., 1]))).sum()))
        if abs(apart) < 1e-12:
            size = max(size, float((weight * rejected).sum()))
    assert size <= 0.05 + 1e-9
    assert least >= 0.95 - 1e-9
    assert planted < 0.9


def test_three_groups_hold_the_size_and_say_how_p_was_found() -> None:
    cells = {x: Tally(NEAR, 30, k) for x, k in (("a", 3), ("b", 14), ("c", 5))}
    found = compare(cells, target="sample")
    alone = [both(cells[x], cells[y], target="sample").test.p_value for x, y in ("ab", "ac", "bc")]
    assert found.test.method == "exact"
    assert found.test.p_value == pytest.approx(3 * min(alone))
    assert "score, exact p, χ²" in found.test.sentence()


def test_mover_is_for_populations_and_large_noise_has_the_normal_law() -> None:
    few = both(Tally(NEAR, 40, 10), Tally(NEAR, 40, 20), target="sample")
    for row in (few.difference, few.ratio):
        with pytest.raises(ParameterError, match="'sample'"):
            row.interval(method="mover")
    assert few.ratio.interval().method == "guaranteed"
    assert few.difference.interval().width < few.difference.interval(method="guaranteed").width
    assert few.test.method == "exact"
    e1 = optimal_design(1)
    assert both(Tally(e1, 400, 180), Tally(e1, 400, 200), target="sample").test.method == "score"
    rare = Design("0.999", "0.999")
    large = both(Tally(rare, 2000, 900), Tally(rare, 2000, 1000), target="sample")
    assert large.test.p_value < 1e-6  # too long a sum: by the guaranteed bars
    assert tuple(large.difference.interval()) == tuple(large.difference.interval(method="guaranteed"))
    everybody = both(Tally(DIRECT, 20, 3), Tally(DIRECT, 20, 9), target="sample")
    assert (everybody.test.p_value, everybody.test.method) == (0.0, "none")
