"""Non-response: respondents stand for those like them who did not answer.

    P(answers | x) = σ(xᵀγ),   γ̂ solves Σ d(δ − p)x = 0 over everybody asked;   w = δ·d/p
The propensities are estimated, and that lowers the variance: the scores w·u of a sum become
    w·u − d(δ − p)xᵀB,     B = (Σ d p(1−p) xxᵀ)⁻¹ Σ w(1−p) x u                     [KK07]
so people who did not answer have scores too.

Rules
1. Everybody who was asked is a record: strata, clusters, groups and covariates are theirs too, answers are not.
2. It mends non-response that goes with x.  If people stay away because of the attribute itself, nothing here helps.
3. A propensity below `SMALLEST` is refused: one respondent would stand for more than a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.errors import ParameterError
from server_agg.count.tally import answer_array
from server_agg.errors import NotCalibrated
from server_agg.sampling.sample import checked_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from server_agg.sampling.sample import Floats

SMALLEST = 0.01
LONGEST = 50


@dataclass(frozen=True, eq=False)
class ResponseWeights:
    """Weights of everybody asked: δ·d/p, so 0 for those who did not answer."""

    base: Floats
    responded: NDArray[np.bool_]
    covariates: Floats  # with an intercept
    coefficients: Floats
    propensities: Floats

    @property
    def weights(self) -> Floats:
        """δ·d/p."""
        return np.asarray(np.where(self.responded, self.base / self.propensities, 0.0), np.float64)

    def residuals(self, scores: Floats) -> Floats:
        """The scores with what the estimated propensities take off."""
        x, p, d = self.covariates, self.propensities, self.base
        information = (x * (d * p * (1 - p))[:, None]).T @ x
        slope = np.linalg.solve(information, (x * (1 - p)[:, None]).T @ scores)
        return np.asarray(scores - (d * (self.responded - p))[:, None] * (x @ slope), np.float64)

    def again(self, factor: Floats) -> Floats:
        """The weights of a replicate, whose weights before are multiplied by `factor`."""
        base = self.base * factor
        _, p = _fitted(self.responded.astype(np.float64), self.covariates, base)
        return np.asarray(np.where(self.responded, base / p, 0.0), np.float64)


def response_weights(weights: Any, responded: Any, covariates: Any) -> ResponseWeights:
    """Weights that make up for people who did not answer, by what is known of everybody asked.

    `covariates` are numbers, one row for each person asked; an intercept is added.

    >>> made = response_weights(None, [1, 1, 0, 1, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1, 1, 1])
    >>> made.weights.round(6).tolist()          # 3 of 4, and 2 of 4, answered
    [1.333333, 1.333333, 0.0, 1.333333, 0.0, 0.0, 2.0, 2.0]
    """
    there = answer_array(responded).astype(bool)
    n = there.size
    if there.all() or not there.any():
        allowed = "people of both kinds; if everybody answered, take the weights as they are"
        raise ParameterError("responded", "everybody" if there.all() else "nobody", allowed)
    base = np.ones(n) if weights is None else checked_weights(weights, n)
    given = np.asarray(covariates.to_numpy() if hasattr(covariates, "to_numpy") else covariates, dtype=np.float64)
    given = given[:, None] if given.ndim == 1 else given
    if given.ndim != 2 or given.shape[0] != n or not np.isfinite(given).all():
        allowed = f"finite numbers, a row for each of {n} people asked"
        raise ParameterError("covariates", f"an array of shape {given.shape}", allowed)
    x = np.column_stack([np.ones(n), given])
    if np.linalg.matrix_rank(x / np.maximum(np.abs(x).max(axis=0), 1e-300)) < x.shape[1]:
        raise ParameterError("covariates", "linearly dependent columns", "columns that can be told apart")
    gamma, p = _fitted(there.astype(np.float64), x, base)
    least = float(p[there & (base > 0)].min()) if there.any() else 0.0
    if least < SMALLEST:
        raise NotCalibrated(
            f"somebody who answered has a propensity of {least:.3g}, so would stand for {1 / max(least, 1e-300):.3g} "
            f"people like them: {SMALLEST} or more are needed; leave out or coarsen covariates that tell who answers"
        )
    return ResponseWeights(base, there, x, gamma, p)


def _fitted(responded: Floats, x: Floats, base: Floats) -> tuple[Floats, Floats]:
    """γ̂ by Newton's steps, and the propensities."""
    gamma = np.zeros(x.shape[1])
    for _ in range(LONGEST):
        p = 1 / (1 + np.exp(-np.clip(x @ gamma, -30, 30)))
        gradient = x.T @ (base * (responded - p))
        information = (x * (base * p * (1 - p))[:, None]).T @ x
        step = np.linalg.lstsq(information, gradient, rcond=None)[0]
        gamma = gamma + step * min(1.0, 5.0 / max(float(np.abs(x @ step).max()), 1e-300))
        if float(step @ gradient) < 1e-22 * max(float(base.sum()), 1.0):
            return gamma, np.asarray(1 / (1 + np.exp(-np.clip(x @ gamma, -30, 30))), np.float64)
    raise NotCalibrated(
        "who answers can be told from the covariates almost surely, so propensities run to 0 or 1: use fewer or "
        "coarser covariates"
    )
