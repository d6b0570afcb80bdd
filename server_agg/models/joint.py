"""The joint likelihood of an open outcome and a randomised answer, and its maximum.

With q0, q1 = P(the answer given | truth 0, 1),
s = P(t = 1 | x), and f0, f1 the densities of y for the two truths:
    L = q0(1−s)f0 + q1 s f1,      τ = q1 s f1/L        the chance, given all that is seen, that the truth is 1
The score of one record is the mean of its complete-data scores under τ (Fisher), exact; the observed information is
the derivative of that score.  Newton's steps within a trust region climb from "the truth explains nothing"; the tests
climb by EM and find the same.  Standard errors come from the observed information, or from the sandwich.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from server_agg.errors import NotConverged
from server_agg.models.columns import probabilities
from server_agg.models.fitting import differences, uphill
from server_agg.models.links import sigmoid

if TYPE_CHECKING:
    from server_agg.models.columns import Floats

LARGEST_LOG_ODDS = 25.0
LEAST_RECORDS = 1e-6  # with less information than a millionth of one record has, the likelihood counts as flat


class JointLikelihood:
    """The joint likelihood; parameters are (a0, a_t, a, [log σ], d0, d)."""

    def __init__(self, y: Floats, answers: Any, design: Any, x: Floats, kind: str) -> None:
        table, places = probabilities(design, y.size)
        said = answers.astype(bool)
        with np.errstate(divide="ignore"):  # log 0 = −∞ is meant: an answer that one truth cannot give
            self.log_q0 = np.log(np.where(said, table[places, 0], table[places, 2]))
            self.log_q1 = np.log(np.where(said, table[places, 1], table[places, 3]))
        self.y, self.kind = y, kind
        one = np.ones(y.size)
        self.with1, self.with0 = np.column_stack([one, one, x]), np.column_stack([one, 0 * one, x])
        self.z = np.column_stack([one, x])
        self.outcome_size = self.with1.shape[1] + (kind == "normal")
        self.size = self.outcome_size + self.z.shape[1]

    def _parts(self, theta: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """log f0, log f1 and their derivatives by the linear predictor; s."""
        a = theta[: self.with1.shape[1]]
        s, _ = sigmoid(self.z @ theta[self.outcome_size :])
        means = self.with0 @ a, self.with1 @ a
        if self.kind == "normal":
            variance = math.exp(2 * float(theta[self.outcome_size - 1]))
            logs = [-((self.y - m) ** 2) / (2 * variance) - 0.5 * math.log(2 * math.pi * variance) for m in means]
            slopes = [(self.y - m) / variance for m in means]
        else:
            logs = [-np.logaddexp(0.0, np.where(self.y == 1, -m, m)) for m in means]
            slopes = [self.y - sigmoid(m)[0] for m in means]
        return logs[0], logs[1], slopes[0], slopes[1], s

    def posterior(self, theta: Floats) -> tuple[float, Floats]:
        """ℓ and τ."""
        log0, log1, _, _, _ = self._parts(theta)
        eta = np.clip(self.z @ theta[self.outcome_size :], -700, 700)
        first = self.log_q0 - np.logaddexp(0, eta) + log0
        second = self.log_q1 - np.logaddexp(0, -eta) + log1
        total = np.logaddexp(first, second)
        return float(total.sum()), np.exp(second - total)

    def scores(self, theta: Floats) -> Floats:
        """The gradient of every record's log L, one row each."""
        _, tau = self.posterior(theta)
        _, _, slope0, slope1, s = self._parts(theta)
        up, down = tau * slope1, (1 - tau) * slope0
        parts = [up[:, None] * self.with1 + down[:, None] * self.with0]
        if self.kind == "normal":
            variance = math.exp(2 * float(theta[self.outcome_size - 1]))
            parts.append(((tau * slope1**2 + (1 - tau) * slope0**2) * variance - 1)[:, None])
        parts.append((tau - s)[:, None] * self.z)
        return np.hstack(parts)

    def one_record(self, theta: Floats) -> Floats:
        """The most that one record, its truth known, could tell of each parameter: the unit of information."""
        normal = self.kind == "normal"
        unit = math.exp(-2 * float(theta[self.outcome_size - 1])) if normal else 0.25
        inside = [2.0] if normal else []
        return np.concatenate([unit * (self.with1**2).max(axis=0), inside, 0.25 * (self.z**2).max(axis=0)])

    def information(self, theta: Floats) -> Floats:
        """Minus the Hessian."""
        return differences(lambda at: self.scores(at).sum(axis=0), theta, 1e-5)


def joint_maximum(joint: JointLikelihood) -> tuple[Floats, float, int]:
    """The maximum, its log-likelihood and the steps taken; an error if there is none."""
    start = np.zeros(joint.size)
    if joint.kind == "normal":
        start[0], start[joint.outcome_size - 1] = joint.y.mean(), math.log(joint.y.std())
    theta, steps = uphill(
        lambda at: joint.posterior(at)[0], lambda at: joint.scores(at).sum(axis=0), joint.information, start
    )
    information, gradient = joint.information(theta), joint.scores(theta).sum(axis=0)
    own = np.diag(information)
    scale = np.sqrt(np.maximum(own, 1e-300))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    there = values[0] > 1e-9 and (own >= LEAST_RECORDS * joint.one_record(theta)).all()
    if there and float(((vectors.T @ (gradient / scale)) ** 2 / values).sum()) < 1e-9:
        return theta, joint.posterior(theta)[0], steps
    runaway = bool(np.abs(theta[joint.outcome_size :]).max() > LARGEST_LOG_ODDS / 2)
    why = "the truth's estimated prevalence tends to 0 or 1" if runaway else "the likelihood has no isolated maximum"
    raise NotConverged(f"no maximum after {steps} steps: {why}. Use more answers, or fewer covariates")
