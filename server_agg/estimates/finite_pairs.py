"""Two groups of people who can be counted, against each other: exact where little is random.

The truth is a pair of numbers of "yes": (t1, t2) among those who answered, or (T1, T2) in two populations.  Each pair
has the p-value
    p(t1, t2) = P(|D − d| >= |observed D − d|),        d the difference of the two shares, D its unbiased estimate
under its own law (see `finite`: with n of M drawn it is a mixture of hypergeometric weights), so P(p <= α) <= α for
every truth.  The bar is the hull of the d whose p is not below 1 − level: its coverage is never below the level.  Of no
difference, p is the largest one at which the hull holds 0: the lesser of the greatest p of d <= 0 and of d >= 0.  Sizes
that do not divide each other have no pair with d = 0 but the ends; the hull has no such gaps.

The normal law is enough where every count varies by `ENOUGH` or more (its variance, at equal shares): people can be
counted, so not the ones but the noise must be many.  Where neither it nor the sum is at hand, guaranteed bars are.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from server_agg.count.tally import Tally
from server_agg.estimates.numerics import unbiased
from server_agg.estimates.score import Groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ENOUGH = 10.0
LARGEST = 2 * 10**7  # terms of the sum
TIE = 1e-9


def little_random(groups: Groups) -> bool:
    """Whether a count varies too little for the normal law."""
    common = groups.common(groups.counts)
    p, yes, no = groups.rates(common)
    sizes = np.array([tally.n for tally in groups.flat], float)
    squares = np.array([float(tally.design.c) ** 2 for tally in groups.flat])
    spread = sizes * (yes * no - squares * (1 - np.array(groups.sampling or [1.0] * sizes.size)) * p * (1 - p))
    return bool(spread.min() < ENOUGH)


@lru_cache(maxsize=64)
def _laws(n: int, no: float, yes: float, size: int) -> Floats:
    """P(ones) of every number of "yes" (rows) among n, or in a population of `size`."""
    from scipy.stats import binom, hypergeom

    given = np.array([
        np.convolve(binom.pmf(np.arange(t + 1), t, yes), binom.pmf(np.arange(n - t + 1), n - t, no))
        for t in range(n + 1)
    ])  # fmt: skip
    if size == n:
        return given
    drawn = hypergeom.pmf(np.arange(n + 1)[None, :], size, np.arange(size + 1)[:, None], n)
    return np.asarray(drawn @ given, np.float64)


@lru_cache(maxsize=256)
def finite_pairs(first: Tally, second: Tally, targets: tuple[str | int, str | int]) -> tuple[Floats, Floats] | None:
    """d and p of every pair of truths; None where the sum is too long, or a target is not to be counted."""
    if "population" in targets:
        return None
    a, b = sizes = [tally.n if of == "sample" else int(of) for tally, of in zip((first, second), targets, strict=True)]
    if (a + 1) * (b + 1) * (first.n + 1) > LARGEST or max(sizes) * max(first.n, second.n) > LARGEST:
        return None
    laws = [
        _laws(tally.n, float(1 - tally.column.p00), float(tally.column.p11), size)
        for tally, size in zip((first, second), sizes, strict=True)
    ]
    below = np.hstack([np.zeros((b + 1, 1)), np.cumsum(laws[1], axis=1)])  # P(fewer than k ones)
    (base, step), (other, width) = (
        (float((tally.column.p00 - 1) / tally.column.c), float(1 / tally.column.c / tally.n))
        for tally in (first, second)
    )
    values, observed = base + step * np.arange(first.n + 1), float(unbiased(first) - unbiased(second))
    rows, shares = np.arange(b + 1)[:, None], np.arange(b + 1) / b
    apart, found = np.empty((a + 1, b + 1)), np.empty((a + 1, b + 1))
    for place in range(a + 1):
        d = place / a - shares
        reach = np.abs(observed - d)
        up = (values[None, :] - (d + reach)[:, None] - other) / width  # D >= d + reach
        down = (values[None, :] - (d - reach)[:, None] - other) / width
        few = np.clip(np.floor(up + TIE) + 1, 0, second.n + 1).astype(np.intp)
        many = np.clip(np.ceil(down - TIE), 0, second.n + 1).astype(np.intp)
        found[place] = (below[rows, few] + 1 - below[rows, many]) @ laws[0][place]
        apart[place] = d
    return apart, np.minimum(found, 1.0)
