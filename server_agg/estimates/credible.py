"""Bayesian equal-tailed credible intervals for the prevalence, under a stated prior.

Priors: "uniform" on [0, 1]; "jeffreys", which is Beta(½, ½) for λ cut to its range, since √information ∝ 1/√(λ(1−λ));
or (a, b), a Beta(a, b) for π.  Prior and likelihood are multiplied on cells of the variable the prior is for (π or λ).
A cell near 0 or 1, where the prior's density may be infinite, gets its exact probability; elsewhere the density times
the width does.  The grid zooms until it spans all that has more than e^-45 of the peak; the ends are good to about
1e-6 of the bar's width.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.estimates.interval import StatedPrior
from server_agg.estimates.likelihood import maximum_likelihood
from server_agg.estimates.numerics import scipy_special

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CELLS = 4096
REACH = 45.0
NEAR = 0.02  # a cell wider than this share of its distance to 0 or 1 is near it


def credible_lower(tally: Tally, tail: Fraction, prior: StatedPrior) -> float:
    """The π below which the posterior puts `tail`; the tally must be oriented (c > 0)."""
    import numpy as np

    c, yes0 = float(tally.column.c), float(1 - tally.column.p00)
    ends = (yes0, float(tally.column.p11)) if prior.of_rate else (0.0, 1.0)
    while True:
        edges = ends[0] + (ends[1] - ends[0]) * np.sin(np.linspace(0, math.pi / 2, CELLS + 1)) ** 2  # dense at the ends
        edges[-1] = ends[1]
        if not (np.diff(edges) > 0).all():  # the posterior is narrower than doubles are dense
            found = ends[0]
            break
        logs = _prior_of_cells(prior, edges) + _likelihood_of_cells(tally, edges, prior.of_rate)
        if not np.isfinite(logs.max()):
            raise ParameterError("prior", (prior.a, prior.b), "a prior that does not rule out what was observed")
        kept = np.flatnonzero(logs > logs.max() - REACH)
        first, last = max(kept[0] - 1, 0), min(kept[-1] + 2, CELLS)
        if last - first > CELLS // 2:
            mass = np.concatenate([[0.0], np.cumsum(np.exp(logs - logs.max()))])
            found = float(np.interp(float(tail) * mass[-1], mass, edges))
            break
        ends = float(edges[first]), float(edges[last])
    return (found - yes0) / c if prior.of_rate else found


def _likelihood_of_cells(tally: Tally, edges: NDArray[np.float64], of_rate: bool) -> NDArray[np.float64]:
    """ℓ at each cell's middle minus ℓ at its maximum; by log1p of the distance, so that large n keep their digits."""
    import numpy as np

    middle, peak = (edges[1:] + edges[:-1]) / 2, maximum_likelihood([tally])
    (no0, yes0), (no1, yes1) = ((float(p) for p in row) for row in tally.column.matrix)
    top, bottom = yes0 * (1 - peak) + yes1 * peak, no0 * (1 - peak) + no1 * peak
    moved = middle - top if of_rate else (yes1 - yes0) * (middle - peak)
    logs = np.zeros(middle.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        for times, rate, change in ((tally.ones, top, moved), (tally.n - tally.ones, bottom, -moved)):
            if times:  # at the maximum a rate is 0 only by rounding
                logs += times * np.log1p(change / (rate or times / tally.n))
    return np.nan_to_num(logs, nan=-np.inf, neginf=-np.inf)


def _prior_of_cells(prior: StatedPrior, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of the prior probability of each cell, up to a constant."""
    import numpy as np

    beta = scipy_special()
    low, high = edges[:-1], edges[1:]
    middle, width = (low + high) / 2, high - low
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = beta.xlogy(prior.a - 1, middle) + beta.xlog1py(prior.b - 1, -middle) + np.log(width)
        logs -= beta.betaln(prior.a, prior.b)
        from_below = beta.betainc(prior.a, prior.b, high) - beta.betainc(prior.a, prior.b, low)
        from_above = beta.betaincc(prior.a, prior.b, low) - beta.betaincc(prior.a, prior.b, high)
        exact = np.log(np.where(beta.betainc(prior.a, prior.b, high) < 0.5, from_below, from_above))
    near = (width > NEAR * low) | (width > NEAR * (1 - high))
    found: NDArray[np.float64] = np.where(near, exact, logs)
    return np.nan_to_num(found, nan=-np.inf, neginf=-np.inf, posinf=-np.inf)
