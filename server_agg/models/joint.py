"""The joint likelihood of an open outcome and a randomised answer, and its maximum by EM and Newton's method.

With q0, q1 = P(the answer given | truth 0, 1),
s = P(t = 1 | x), and f0, f1 the densities of y for the two truths:
    L = q0(1−s)f0 + q1 s f1,      τ = q1 s f1/L        the chance, given all that is seen, that the truth is 1
EM: with τ as weights, refit both parts; ℓ never falls.  Newton's method then finishes what EM does slowly.  The score
of one record is the mean of its complete-data scores under τ (Fisher), exact; standard errors come from the observed
information, the derivative of that score, or from the sandwich.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from server_agg.errors import NotConverged
from server_agg.models.columns import probabilities
from server_agg.models.outcome import sigmoid

if TYPE_CHECKING:
    from server_agg.models.columns import Floats

LONGEST = 500  # steps of EM before Newton's method is tried, and again after it fails
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

    def maximised(self, tau: Floats, theta: Floats) -> Floats:
        """One M-step: both parts refitted with τ as weights (for logistic parts, one damped Newton step each)."""
        found = theta.copy()
        k = self.with1.shape[1]
        stacked, weights = np.vstack([self.with1, self.with0]), np.concatenate([tau, 1 - tau])
        twice = np.concatenate([self.y, self.y])
        if self.kind == "normal":
            gram = (stacked * weights[:, None]).T @ stacked
            found[:k] = np.linalg.solve(gram, stacked.T @ (weights * twice))
            residual = twice - stacked @ found[:k]
            found[k] = 0.5 * math.log(max(float(weights @ residual**2) / self.y.size, 1e-300))
        else:
            found[:k] = _newton_step(stacked, twice, weights, theta[:k])
        found[self.outcome_size :] = _newton_step(self.z, tau, np.ones(tau.size), theta[self.outcome_size :])
        return found

    def one_record(self, theta: Floats) -> Floats:
        """The most that one record, its truth known, could tell of each parameter: the unit of information."""
        normal = self.kind == "normal"
        unit = math.exp(-2 * float(theta[self.outcome_size - 1])) if normal else 0.25
        inside = [2.0] if normal else []
        return np.concatenate([unit * (self.with1**2).max(axis=0), inside, 0.25 * (self.z**2).max(axis=0)])

    def information(self, theta: Floats) -> Floats:
        """Minus the Hessian, by central differences of the exact score."""
        rows = []
        for j in range(self.size):
            step = np.zeros(self.size)
            step[j] = 1e-5 * max(1.0, abs(float(theta[j])))
            up, down = self.scores(theta + step).sum(axis=0), self.scores(theta - step).sum(axis=0)
            rows.append((down - up) / (2 * step[j]))
        found: Floats = np.array(rows)
        return np.asarray((found + found.T) / 2, np.float64)


def _newton_step(z: Floats, y: Floats, weights: Floats, beta: Floats) -> Floats:
    """One step of weighted logistic regression towards fractional outcomes y; ℓ rises (it is concave)."""

    def level(b: Floats) -> float:
        eta = z @ b
        return float(weights @ (y * eta - np.logaddexp(0, eta)))

    s, t = sigmoid(z @ beta)
    gram = (z * (weights * s * t)[:, None]).T @ z + 1e-10 * np.eye(beta.size)
    step = np.asarray(np.linalg.solve(gram, z.T @ (weights * (y - s))), np.float64)
    here = level(beta)
    for _ in range(40):
        if level(beta + step) >= here:
            return beta + step
        step = step / 2
    return beta


def joint_start(joint: JointLikelihood) -> Floats:
    """Half the records on each side, as far as the answers tell."""
    theta = np.zeros(joint.size)
    tau = np.exp(joint.log_q1 - np.logaddexp(joint.log_q0, joint.log_q1))
    return joint.maximised(tau, theta)


def joint_maximum(joint: JointLikelihood) -> tuple[Floats, float, int]:
    """The maximum (by EM, then Newton's method), its log-likelihood and the steps taken; an error if there is none."""
    theta, steps = joint_start(joint), 0
    for _ in range(4):
        theta, moved = em(joint, theta)
        found, level, more = _newton(joint, theta)
        steps += moved + more
        if found is not None:
            return found, level, steps
    runaway = bool(np.abs(theta[joint.outcome_size :]).max() > LARGEST_LOG_ODDS / 2)
    why = "the truth's estimated prevalence tends to 0 or 1" if runaway else "the likelihood has no isolated maximum"
    raise NotConverged(f"no maximum after {steps} steps: {why}; expected more answers, or fewer covariates")


def em(joint: JointLikelihood, theta: Floats) -> tuple[Floats, int]:
    """The parameters after EM has stopped rising (or after `LONGEST` steps), and the number of steps."""
    level, tau = joint.posterior(theta)
    for step in range(1, LONGEST + 1):
        theta = joint.maximised(tau, theta)
        before, (level, tau) = level, joint.posterior(theta)
        if level - before < 1e-7:
            return theta, step
    return theta, LONGEST


def _newton(joint: JointLikelihood, theta: Floats) -> tuple[Floats | None, float, int]:
    """Newton's method from where EM ended; None if the information is not that of a maximum."""
    level, _ = joint.posterior(theta)
    for steps in range(1, 41):
        information = joint.information(theta)
        gradient = joint.scores(theta).sum(axis=0)
        scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
        values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
        if not values[0] > 1e-9 or (np.diag(information) < LEAST_RECORDS * joint.one_record(theta)).any():
            return None, level, steps
        step = vectors @ ((vectors.T @ (gradient / scale)) / values) / scale
        if float(gradient @ step) < 1e-16:
            return theta, level, steps
        for _ in range(30):
            there, _ = joint.posterior(theta + step)
            if there >= level - 1e-10 * (1 + abs(level)):
                break
            step = step / 2
        theta, level = theta + step, there
        if np.abs(theta[joint.outcome_size :]).max() > 40 * LARGEST_LOG_ODDS:
            return None, level, steps
    return None, level, steps
