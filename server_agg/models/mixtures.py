"""The largest likelihood of shares that are 0 or more and add up to 1, certified.

    ℓ(π) = Σ w log Σ_j A_j π_j,      g = ∂ℓ/∂π.      ℓ is concave, Σ g_j π_j = Σw, and at every π
    ℓ(best) − ℓ(π) ≤ max g − Σw                                                                         [Lin83]
so a climb that ends with this gap below `GAP` is at the maximum, wherever it began.  A step is Newton's, within π ≥ 0:
least squares in K unknowns, none negative, since the π ≥ 0 with the greatest ℓ − Σw·Σπ add up to 1 by themselves.  One
share held at c: the atoms cA_j + (1 − c)A_i of the others are again a mixture.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrcollect.design.parameters import NumberLike
from server_agg.errors import NotConverged
from server_agg.estimates.numerics import chi_squared_quantile
from server_agg.results.interval import Interval, exact_level

if TYPE_CHECKING:
    from server_agg.models.columns import Floats

GAP, LONGEST = 1e-7, 300


def largest_mixture(atoms: Floats, times: Floats) -> tuple[Floats, float]:
    """π and ℓ(π) of answers that came `times` times, with these chances (a row each) given each truth.

    >>> shares, level = largest_mixture(np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([30.0, 10.0]))
    >>> shares.round(6).tolist()
    [0.916667, 0.083333]
    """
    from scipy.optimize import nnls

    top = atoms.max(axis=1)
    atoms, least = atoms / top[:, None], float(times @ np.log(top))
    total, k = float(times.sum()), atoms.shape[1]
    found = np.full(k, 1 / k)
    level = float(times @ np.log(atoms @ found))
    for _ in range(LONGEST):
        said = atoms @ found
        slope = (times / said) @ atoms
        if slope.max() - total < GAP:
            return found, level + least
        heavy = atoms * (np.sqrt(times) / said)[:, None]
        curve = heavy.T @ heavy
        root = np.linalg.cholesky(curve + 1e-12 * float(np.trace(curve)) * np.eye(k)).T
        aim, _ = nnls(root, np.linalg.solve(root.T, 2 * slope - total), maxiter=100 * k)
        step, way = 1.0, aim / aim.sum() - found
        while step > 1e-12:
            there = atoms @ (found + step * way)
            higher = float(times @ np.log(there)) if there.min() > 0 else -np.inf
            if higher > level:
                break
            step /= 2
        else:
            break
        found, level = np.maximum(found + step * way, 0.0), higher
    said = atoms @ found
    if ((times / said) @ atoms).max() - total < 1e3 * GAP:
        return found, level + least
    raise NotConverged("no maximum of the likelihood over shares: use more answers, or fewer options")


def mixture_bar(
    atoms: Floats, times: Floats, place: int, best: tuple[float, float], level: NumberLike
) -> Interval[float]:
    """{c : 2(ℓ(best) − max ℓ given that share `place` is c) ≤ χ²}; `best` is the share and ℓ."""
    from scipy.optimize import brentq

    exact = exact_level(level)
    threshold = chi_squared_quantile(Fraction(1 - exact))
    others = np.delete(atoms, place, axis=1)

    def excess(c: float) -> float:
        held = c * atoms[:, [place]] + (1 - c) * others
        if not (held.max(axis=1) > 0).all():
            return 1e9
        return 2 * (best[1] - largest_mixture(held, times)[1]) - threshold

    share = min(max(best[0], 0.0), 1.0)
    low = 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, share, xtol=1e-9))
    high = 1.0 if excess(1.0) <= 0 else float(brentq(excess, share, 1.0, xtol=1e-9))
    return Interval((low, high), method="profile", level=exact, target="joint share")
