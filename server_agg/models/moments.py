"""Linear regression on the truth behind a randomised answer, from moments alone, in closed form [HK06].

    y = a0 + a_t t + xᵀa + e,   E(e | t, x) = 0;      the answer depends on the truth t alone
With r = (answer − (1 − p00))/c every record has E(r | t, x, y) = t, and t² = t.  So the normal equations of the unseen
truth hold in the mean with r for t and r (not r²) for t²; solved,
    a_t = Σ r ỹ / V,   V = Σ r − |Qᵀr|²,   ỹ the residuals of y on the covariates and Q an orthonormal basis of those
Nothing is supposed of the law of e: it may be skewed, and wider for one truth.  The covariance is the sandwich of the
same equations, times n/(n − k).  V estimates n times the variance of the truth that covariates leave; where it is not
above 0 the answers show no variation of the truth, and there is no slope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from server_agg.models.columns import probabilities
from server_agg.models.errors import NoInformation

if TYPE_CHECKING:
    from server_agg.models.columns import Floats

__all__ = ["MomentRegression", "moment_regression"]


class MomentRegression(NamedTuple):
    """(a0, a_t, a), and what each record adds to each of them: the squares of these make the sandwich."""

    coefficients: Floats
    influence: Floats

    @property
    def covariance(self) -> Floats:
        """The sandwich, times n/(n − k)."""
        n, k = self.influence.shape
        return np.asarray(n / (n - k) * (self.influence.T @ self.influence), np.float64)


def moment_regression(y: Floats, answers: Any, design: Any, x: Floats) -> MomentRegression:
    """The regression of y on the truth and x.

    >>> from rrcollect import Design
    >>> said = np.array([0, 0, 1, 1])
    >>> direct = moment_regression(np.array([1.0, 3.0, 4.0, 6.0]), said, Design(1, 1), np.empty((4, 0)))
    >>> direct.coefficients.round(6).tolist()                        # the means 2 and 5
    [2.0, 3.0]
    """
    table, places = probabilities(design, y.size)
    floor, slope = table[places, 0], table[places, 1] - table[places, 0]
    r = (answers - floor) / slope
    q, triangle = np.linalg.qr(np.column_stack([np.ones(y.size), x]))
    along = q.T @ r
    left = float(r.sum() - along @ along)
    if not left > 1e-9 * y.size:
        raise NoInformation(
            f"the estimated variance of the truth, beside the covariates, is {left / y.size:.3g}: the answers do not "
            "show that the truth differs from person to person; allowed: more answers, or fewer covariates"
        )
    effect = float(r @ (y - q @ (q.T @ y))) / left
    others = np.linalg.solve(triangle, q.T @ (y - effect * r))
    residual = y - effect * r - np.column_stack([np.ones(y.size), x]) @ others
    of_effect = ((r - q @ along) * residual + (r * r - r) * effect) / left
    of_others = np.linalg.solve(triangle, (q * residual[:, None] - of_effect[:, None] * along).T).T
    place = [0, *range(2, 2 + x.shape[1])]
    theta, influence = np.empty(2 + x.shape[1]), np.empty((y.size, 2 + x.shape[1]))
    theta[1], theta[place] = effect, others
    influence[:, 1], influence[:, place] = of_effect, of_others
    return MomentRegression(theta, influence)
