"""Linear regression with the truth behind randomised answers, from moments alone, in closed form [HK06].

    y = a0 + Σ a_j t_j + xᵀa + e,   E(e | t, x) = 0;      each answer depends on its own truth t_j alone
With r = (answer − (1 − p00))/c every record has E(r | t, x, y) = t, and t² = t.  So the normal equations of the unseen
truths hold in the mean with r for t, r_i r_j for t_i t_j (answers to two questions are drawn apart), and r_j (not r_j²)
for t_j².  Solved, with ỹ the residuals of y on the covariates and Q an orthonormal basis of those,
    a_t = S⁻¹ Σ r ỹ,   S = (Σ rrᵀ with Σ r on its diagonal) − (Qᵀr)ᵀ(Qᵀr);      S = Σ r − |Qᵀr|² for one predictor
Nothing is supposed of the law of e: it may be skewed, and wider for one truth.  The covariance is the sandwich of the
same equations, times n/(n − k), or that of the survey (`sampling.sample`): weights w multiply every sum.
S estimates n times the covariance of the truths that covariates leave; where it is not positive definite the answers
show no variation of the truths, and there are no slopes.

The other way round, E(r | x) = E(t | x): the linear probability model is least squares of r on x.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rrcollect.errors import ParameterError
from server_agg.errors import NoInformation
from server_agg.models.columns import checked_rank, nearly_dependent, shown_by_one
from server_agg.models.fits import INTERCEPT, Fit, few_clusters
from server_agg.models.sampled import Sampled, replicate_weights, replicated_df

if TYPE_CHECKING:
    from server_agg.models.columns import Floats
    from server_agg.sampling.sample import Sample

LINEAR = "the prevalence is linear in the covariates; a prediction may leave [0, 1]"


class MomentRegression(NamedTuple):
    """(a0, a_t, a), and what each record adds to each of them: the squares of these make the sandwich."""

    coefficients: Floats
    influence: Floats

    @property
    def covariance(self) -> Floats:
        """The sandwich, times n/(n − k)."""
        n, k = self.influence.shape
        return np.asarray(n / (n - k) * (self.influence.T @ self.influence), np.float64)


def moment_regression(y: Floats, r: Floats, z: Floats, weights: Floats | None = None) -> MomentRegression:
    """The regression of y on the truths behind the columns of r (unbiased values), put after the first of z, and on z,
    the intercept and the covariates; without columns of r it is weighted least squares.

    >>> said, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([1.0, 3.0, 4.0, 6.0])
    >>> direct = moment_regression(y, said, np.ones((4, 1)))
    >>> direct.coefficients.round(6).tolist()                        # the means 2 and 5
    [2.0, 3.0]
    >>> moment_regression(y, np.empty((4, 0)), np.hstack([np.ones((4, 1)), said])).coefficients.round(6).tolist()
    [2.0, 3.0]
    """
    w = np.ones(y.size) if weights is None else weights / weights.mean()
    root = np.sqrt(w)[:, None]
    q, triangle = np.linalg.qr(root * z)
    heavy, high = root * r, root[:, 0] * y
    along = q.T @ heavy
    moments = heavy.T @ heavy
    np.fill_diagonal(moments, w @ r)
    left = moments - along.T @ along
    if r.shape[1] and not float(np.linalg.eigvalsh(left)[0]) > 1e-9 * y.size:
        raise NoInformation(
            f"the estimated variance of the truth, beside the covariates, is {np.linalg.eigvalsh(left)[0] / y.size:.3g}"
            ": the answers do not show that the truth differs from person to person: use more answers, or fewer "
            "covariates"
        )
    effects = np.linalg.solve(left, heavy.T @ (high - q @ (q.T @ high)))
    others = np.linalg.solve(triangle, q.T @ (high - heavy @ effects))
    residual = (high - heavy @ effects - root[:, 0] * (z @ others))[:, None]
    of_effects = np.linalg.solve(left, ((heavy - q @ along) * residual + w[:, None] * (r * r - r) * effects).T).T
    of_others = np.linalg.solve(triangle, (q * residual - of_effects @ along.T).T).T
    p, size = r.shape[1], r.shape[1] + z.shape[1]
    place, slopes = [0, *range(1 + p, size)], range(1, 1 + p)
    theta, influence = np.empty(size), np.empty((y.size, size))
    theta[slopes], theta[place] = effects, others
    influence[:, slopes], influence[:, place] = of_effects, of_others
    return MomentRegression(theta, influence)


def by_moments(
    title: str,
    labels: Sequence[str],
    sampled: Sampled,
    fit: Callable[[Floats | None], MomentRegression],
    *,
    columns: Floats,
    assumption: str,
    noise: Callable[[Sample], Floats] | None = None,
) -> Fit:
    """A fit from moments, with the errors of the survey where it is one; `columns` are those of the coefficients,
    `noise` is that of the answers of a population taken in part."""
    (n, k), sample = columns.shape, sampled.sample(len(columns))
    replicates = sampled.replicates(sample)
    q, triangle = np.linalg.qr(columns)
    found = fit(None if sample is None else sample.weights)
    spread: dict[str, Callable[[], Floats]] = {"sandwich": lambda: found.covariance}
    kind, df, told, alone = "sandwich", math.inf, nearly_dependent(triangle, labels), None
    if sample is not None:
        noisy = noise(sample) if noise is not None and sample.fraction.any() else np.zeros(1)
        (left, factor), n = sample.df_of_coefficients(k), int(np.count_nonzero(sample.weights))
        kind, df, told = "survey", float(left), [*told, *few_clusters(sample, left)]
        spread["survey"] = lambda: factor * sample.covariance(found.influence) + noisy
    if sample is not None and sample.clustered:
        alone = shown_by_one(q, sample.unit, np.linalg.inv(triangle))
    if sample is not None and replicates is not None:
        kind, df = "replicates", replicated_df(replicates, sample, k)

        def again() -> Floats:
            every = (fit(replicate_weights(replicates, sample, r)).coefficients for r in range(replicates.count))
            return replicates.spread(np.array(list(every)), found.coefficients) + noisy

        spread["replicates"] = again
    return Fit(
        title, n, tuple(labels), found.coefficients, spread, kind, df, assumption=assumption, told=tuple(told),
        alone=alone,
    )  # fmt: skip


def linear_probability(r: Floats, given: tuple[Floats, list[str]], intercept: bool, sampled: Sampled) -> Fit:
    """The linear probability model of unbiased values r, on covariates with their names."""
    x, columns = given
    z = np.column_stack([np.ones(r.size), x]) if intercept else x
    if r.size <= z.shape[1]:
        raise ParameterError("answers", f"{r.size} records", f"more than {z.shape[1]}, one for each coefficient")
    checked_rank(z, columns)
    fitted = partial(moment_regression, r, np.empty((r.size, 0)), z)

    def noise(sample: Sample) -> Floats:
        """(ZᵀWZ)⁻¹(Σ f w² e zzᵀ)(ZᵀWZ)⁻¹; the unbiased variance e of r given the truth is r² − r."""
        w = sample.weights
        bread = np.linalg.inv((z * w[:, None]).T @ z)
        heavy = sample.record_fraction * w**2 * (r * r - r)
        return np.asarray(bread @ ((z * heavy[:, None]).T @ z) @ bread, np.float64)

    labels = [*([INTERCEPT] if intercept else []), *columns]
    return by_moments("Linear Probability", labels, sampled, fitted, columns=z, assumption=LINEAR, noise=noise)
