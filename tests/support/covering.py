"""How often bars hold what they are of: sums over every outcome, no simulation.  One enumerator, whatever the bars.

A bar is given for each outcome (a count, or a table of counts); a law is a truth with the probability of every outcome.
The coverage is the sum over the outcomes whose bar holds the truth.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from rrcollect import Design

GRID = np.array([0, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 0.99, 1])
ROUNDING = 1e-12
Ends = tuple[Any, Any]  # two ends, None where nothing bounds; or two lists of them, of bars that must hold at once
Law = tuple[Any, Any]  # a truth, or a list of them, and the probability of every outcome


def covered(ends: Sequence[Ends | None], laws: Iterable[Law], rounding: float = ROUNDING) -> Iterator[float]:
    """The coverage for each truth; outcomes without a bar (None) are left out.

    >>> list(covered([(0, 0.5), (0.25, 1), None], [(0.1, [0.4, 0.4, 0.2]), (0.5, [0, 0.5, 0.5])]))
    [0.5, 1.0]
    """
    there = np.array([found is not None for found in ends])
    low = np.array([-math.inf if e is None or e[0] is None else e[0] for e in ends])
    high = np.array([math.inf if e is None or e[1] is None else e[1] for e in ends])
    for truth, law in laws:
        each = (low <= truth + rounding) & (truth - rounding <= high)
        holds = (each.all(axis=1) if each.ndim == 2 else each) & there
        yield float(np.dot(law, holds)) / float(np.dot(law, there))


def says(design: Design, pi: Any) -> Any:
    """P(answer 1)."""
    return float(1 - design.p00) * (1 - pi) + float(design.p11) * pi


def counts(design: Design, n: int, prevalences: Any) -> Iterator[Law]:
    """The law of the number of ones among n answers, 0 … n, for each prevalence."""
    rows = binom.pmf(np.arange(n + 1)[None, :], n, says(design, np.asarray(prevalences))[:, None])
    return zip(prevalences, rows, strict=True)


def pairs(
    designs: tuple[Design, Design],
    sizes: tuple[int, int],
    truth: Callable[[float, float], float | None],
    grid: Any = GRID,
) -> Iterator[Law]:
    """The product law of two counts, for every pair of prevalences that has a truth."""
    laws = [list(counts(design, n, grid)) for design, n in zip(designs, sizes, strict=True)]
    for (a, one), (b, other) in itertools.product(*laws):
        value = truth(float(a), float(b))
        if value is not None:
            yield value, np.outer(one, other).ravel()


def of_pairs(sizes: tuple[int, int], bar: Callable[[int, int], Any]) -> list[Any]:
    """The bar of every pair of counts, in the order of `pairs`."""
    return [bar(j, k) for j in range(sizes[0] + 1) for k in range(sizes[1] + 1)]
