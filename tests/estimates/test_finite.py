"""The ends for a finite population against laws computed apart, and what the blocks cost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from rrcollect import Design
from server_agg import Tally
from server_agg.estimates.finite import _edges
from tests.inside.estimates import finite_lower

TAIL = Fraction(1, 40)


def at_least(design: Design, n: int, ones: int, yes: int, size: int) -> float:
    """P(N >= ones) if n of `size` people are drawn, `yes` of whom have the attribute."""
    total = 0.0
    for t in range(max(0, n - (size - yes)), min(n, yes) + 1):
        weight = hypergeom.pmf(t, size, yes, n)
        if weight > 1e-15:
            said = np.arange(t + 1)
            more = binom.sf(ones - said - 1, n - t, float(1 - design.p00))
            total += weight * float(binom.pmf(said, t, float(design.p11)) @ more)
    return total


@pytest.mark.parametrize(
    ("p", "n", "ones", "size", "people"),
    [("99/100", 4000, 150, 9000, 0), ("99/100", 700, 200, 1000, 0), ("3/4", 3000, 800, 6000, 2)],
)
def test_the_end_is_the_first_number_of_people_that_is_possible(p, n, ones, size, people):
    """Up to the few `people` the blocks cost where the law given t is wide; the fine cut is where it matters."""
    design = Design(p, p)
    end = round(finite_lower(Tally(design, n, ones), size, TAIL) * size)
    assert at_least(design, n, ones, end - 1, size) <= TAIL  # safe, always
    assert at_least(design, n, ones, end + people, size) > TAIL  # and tight


def test_a_cut_has_the_number_of_blocks_asked_for():
    assert _edges(3, 8, 5).tolist() == [3, 4, 5, 6, 7, 8]
    assert _edges(3, 9, 5).size == 6
    for blocks in (1, 5, 100):
        edges = _edges(7, 10_000, blocks)
        assert (edges[0], edges[-1], edges.size) == (7, 10_000, blocks + 1)
