"""One test of several things at once, with the covariance of a survey: Wald's, and Rao and Scott's of a table.

    Wald          W = dᵀV⁻¹d of k differences d; with f degrees of freedom F = W(f − k + 1)/(fk), k and f − k + 1 [KG90]
    Rao–Scott     X² as of a simple sample, with the covariance V₀ that it would have then; Δ = V₀⁻¹V.  F = X²/tr Δ with
                  d = (tr Δ)²/tr Δ² and d·f degrees of freedom [RS84]
Directions in which nothing varies are left out: k is a rank.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rrcollect.errors import ParameterError
from server_agg.estimates.numerics import chi_squared_tail, scipy_special
from server_agg.results.row import Test

if TYPE_CHECKING:
    from server_agg.sampling.sample import Floats

FLAT = 1e-10  # of the largest eigenvalue


def inverse_and_rank(spread: Floats) -> tuple[Floats, int]:
    """V⁺ and the rank of V, by its correlations."""
    scale = np.sqrt(np.maximum(np.diag(spread), 0))
    there = scale > 0
    found = np.zeros_like(spread)
    if not there.any():
        return found, 0
    outer = np.outer(scale[there], scale[there])
    values, vectors = np.linalg.eigh(spread[np.ix_(there, there)] / outer)
    kept = values > FLAT * values[-1]
    found[np.ix_(there, there)] = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T / outer
    return found, int(kept.sum())


def wald_test(hypothesis: str, kind: str, value: Floats, spread: Floats, freedom: float = math.inf) -> Test:
    """That all of `value` is 0, of which `spread` is the covariance."""
    inverse, k = inverse_and_rank(spread)
    statistic = max(float(value @ inverse @ value), 0.0)
    if math.isinf(freedom) or not k:
        return Test(hypothesis, f"Wald ({kind})", statistic, k, chi_squared_tail(statistic, k) if k else 1.0)
    left = freedom - k + 1
    if left < 1:
        raise ParameterError("names", hypothesis, f"at most {freedom:.0f} at once, the degrees of freedom")
    p = float(scipy_special().fdtrc(k, left, statistic * left / (freedom * k)))
    return Test(hypothesis, f"Wald ({kind}, F with {left:.0f} df)", statistic, k, p)


def rao_scott_test(hypothesis: str, statistic: float, simple: Floats, spread: Floats, freedom: float) -> Test:
    """By X² of a simple sample, with its covariance then (V₀⁺) and now."""
    delta = simple @ spread
    trace, square = float(np.trace(delta)), float(np.trace(delta @ delta))
    if not trace > 0:
        return Test(hypothesis, "Rao–Scott", max(statistic, 0.0), 0, 1.0)
    d = trace**2 / square
    p = float(scipy_special().fdtrc(d, d * freedom, max(statistic, 0.0) / trace))
    told = f"Rao–Scott (F = {max(statistic, 0.0) / trace:.4g} with {d:.4g} and {d * freedom:.4g} df)"
    return Test(hypothesis, told, max(statistic, 0.0), round(d), p)
