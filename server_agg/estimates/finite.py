"""Guaranteed bars for people who can be counted: those who answered, or a finite population they were drawn from.

Given t true "yes" among the n who answered, N is Bin(t, p11) + Bin(n−t, 1−p00): not binomial, and less variable than
the binomial of the population target.  With T among M and n drawn without replacement, t is hypergeometric too.
Both laws of N rise with t (and T) while c > 0, so, as Clopper and Pearson did, we keep
    { T : P(N >= observed | T) > tail  and  P(N <= observed | T) > tail },
whose coverage is at least 1 − 2·tail for every T.

The tail probability is bounded from above by cutting the inner sum into at most `BLOCKS` blocks and taking each
block at its worst end; up to that many terms the blocks are single terms and the bound is exact.  Outside
mean ± (8σ + 60) there is less than 2e-14 (Bernstein's inequality; for the hypergeometric by Hoeffding's comparison),
which `SLACK` covers together with rounding.  The end returned is one at which the bound was checked, so coverage
does not depend on the blocks; only the width does, by a fraction of a standard error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from server_agg.count.tally import Tally
from server_agg.estimates.numerics import ROUNDING_MARGIN, binomials_at_least, float_below, least

BLOCKS = 1024
OUTER_BLOCKS = 256
SLACK = 1e-12


def _edges(low: int, high: int, blocks: int) -> Any:
    """At most `blocks` + 1 integers from `low` to `high`, both included."""
    import numpy as np

    if high - low <= blocks:
        return np.arange(low, high + 1)
    return np.unique(np.linspace(low, high, blocks + 1).round().astype(np.int64))


def _reach(mean: float, variance: float, high: int) -> tuple[int, int]:
    far = 8 * math.sqrt(max(variance, 0.0)) + 60
    return max(0, math.floor(mean - far)), min(high, math.ceil(mean + far))


def answers_at_least(tally: Tally, t: int) -> float:
    """An upper bound of P(N >= ones) given t true "yes" among the n who answered; exact for n <= `BLOCKS`."""
    p11, q00 = float(tally.column.p11), float(1 - tally.column.p00)
    low, high = _reach(t * p11, t * p11 * (1 - p11), t)
    edges = _edges(low, high, BLOCKS)  # block j is edges[j] < i <= edges[j+1]; the first holds edges[0] alone
    above = binomials_at_least(edges + 1, t, p11)  # P(i > edge)
    from_left = binomials_at_least(edges[:1], t, p11)
    weights = -above.copy()
    weights[0] += from_left[0]
    weights[1:] += above[:-1]
    return float(weights @ binomials_at_least(tally.ones - edges, tally.n - t, q00)) + SLACK


def _smallest(top: int, possible: Callable[[int], bool]) -> int:
    """The least of 0..top that is possible; `top` if none is.  Its predecessor was checked and is not."""
    return 0 if possible(0) else least(possible, 0, top)


def sample_lower(tally: Tally, tail: Fraction) -> float:
    """The lower end for the share among those who answered; the tally must be oriented (c > 0)."""
    yes = _smallest(tally.n, lambda t: answers_at_least(tally, t) > tail)
    return float_below(Fraction(yes, tally.n) - ROUNDING_MARGIN)


def finite_lower(tally: Tally, size: int, tail: Fraction) -> float:
    """The lower end for the share in a population of `size`, of which the n were drawn without replacement."""
    import numpy as np

    n = tally.n
    if size == n:
        return sample_lower(tally, tail)
    never = _smallest(n, lambda t: answers_at_least(tally, t) > 10 * SLACK)
    surely = _smallest(n, lambda t: answers_at_least(tally, t) > 1 - 10 * SLACK)
    edges = np.unique(np.concatenate([[0], _edges(max(never - 1, 0), surely, OUTER_BLOCKS), [n]]))
    given = np.minimum(np.array([answers_at_least(tally, int(t)) for t in edges]), 1.0)

    def possible(yes: int) -> bool:
        share = yes / size
        spread = n * share * (1 - share) * (size - n) / (size - 1)
        low, high = _reach(n * share, spread, min(n, yes))
        low = max(low, n - (size - yes))
        ts = np.arange(low, high + 1)
        blocks = np.searchsorted(edges, ts)  # the first edge not below t: the block's worst end
        return float(_hypergeometric(ts, n, yes, size) @ given[blocks]) + SLACK > tail

    return float_below(Fraction(_smallest(size, possible), size) - ROUNDING_MARGIN)


def _hypergeometric(ts: Any, n: int, yes: int, size: int) -> Any:
    """P(t) over consecutive ts, by ratios of neighbours; what lies outside is below 2e-14 and left to `SLACK`."""
    import numpy as np

    t = ts[:-1].astype(float)
    ratio = (yes - t) / (t + 1) * (n - t) / (size - yes - n + t + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(ratio))])
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()
