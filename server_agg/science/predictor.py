"""A randomised answer as the *explanation* of another, openly known variable.

    y | truth t, x  ~  N(a0 + a_t t + xᵀa, σ²)   (linear)      or   Bernoulli(σ(a0 + a_t t + xᵀa))   (logistic)
    t | x           ~  Bernoulli(σ(d0 + xᵀd))                      the truth may itself depend on the covariates
    answer | t      ~  the design matrix                           the lie knows nothing but the truth
The truth is never seen, so both parts are fitted together.  With q0, q1 = P(the answer given | truth 0, 1),
s = P(t = 1 | x), and f0, f1 the densities of y for the two truths:
    L = q0(1−s)f0 + q1 s f1,      τ = q1 s f1/L        the chance, given all that is seen, that the truth is 1
EM: with τ as weights, refit both parts; ℓ never falls.  Newton's method then finishes what EM does slowly.  The score
of one record is the mean of its complete-data scores under τ (Fisher), exact; standard errors come from the observed
information, the derivative of that score, or from the sandwich.

Regressing y on the answers themselves shrinks a_t towards 0 (the twin in the tests).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from server_agg.builders import answer_array
from server_agg.quantiles import exact_level, normal_tail
from server_agg.reporting import html_table, text_table
from server_agg.results import Result
from server_agg.science.errors import Collinear, NoInformation, NotConverged
from server_agg.science.inference import Bar, wald_interval
from server_agg.science.outcome import matrix_of, probabilities, sigmoid, vector_of

if TYPE_CHECKING:
    from server_agg.science.outcome import Floats

__all__ = ["PredictorFit", "fit_with_randomised_predictor"]

KINDS = ("linear", "logistic")
LONGEST = 500  # steps of EM before Newton's method is tried, and again after it fails
LARGEST_LOG_ODDS = 25.0


class _Joint:
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
        self.outcome_size = self.with1.shape[1] + (kind == "linear")
        self.size = self.outcome_size + self.z.shape[1]

    def _parts(self, theta: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """log f0, log f1 and their derivatives by the linear predictor; s."""
        a = theta[: self.with1.shape[1]]
        s, _ = sigmoid(self.z @ theta[self.outcome_size :])
        means = self.with0 @ a, self.with1 @ a
        if self.kind == "linear":
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
        if self.kind == "linear":
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
        if self.kind == "linear":
            gram = (stacked * weights[:, None]).T @ stacked
            found[:k] = np.linalg.solve(gram, stacked.T @ (weights * twice))
            residual = twice - stacked @ found[:k]
            found[k] = 0.5 * math.log(max(float(weights @ residual**2) / self.y.size, 1e-300))
        else:
            found[:k] = _newton_step(stacked, twice, weights, theta[:k])
        found[self.outcome_size :] = _newton_step(self.z, tau, np.ones(tau.size), theta[self.outcome_size :])
        return found

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


@dataclass(frozen=True, eq=False)
class PredictorFit(Result):
    """A fitted joint model; `names` end with those of the truth's own model, marked "truth ~ "."""

    kind: str
    n: int
    names: tuple[str, ...]
    coefficients: Floats
    covariances: dict[str, Floats]
    log_likelihood: float
    iterations: int

    def __getitem__(self, name: str) -> float:
        return float(self.coefficients[self._place(name)])

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise ParameterError("name", name, f"one of {list(self.names)}")
        return self.names.index(name)

    def covariance(self, kind: str = "observed") -> Floats:
        """The covariance matrix, from the "observed" information or the "sandwich"."""
        if kind not in self.covariances:
            raise ParameterError("covariance", kind, f"one of {', '.join(self.covariances)}")
        return self.covariances[kind]

    def standard_error(self, name: str, covariance: str = "observed") -> float:
        """Of one coefficient."""
        j = self._place(name)
        return math.sqrt(float(self.covariance(covariance)[j, j]))

    def interval(self, name: str, level: NumberLike = 0.95, covariance: str = "observed") -> Bar:
        """Wald's bar for one coefficient."""
        return wald_interval(self[name], self.standard_error(name, covariance), level)

    def p_value(self, name: str, covariance: str = "observed") -> float:
        """Two-sided, by Wald's z."""
        return min(1.0, 2 * normal_tail(abs(self[name]) / self.standard_error(name, covariance)))

    def _cells(self, level: NumberLike = 0.95) -> tuple[list[str], list[list[str]]]:
        tail = float(1 - exact_level(level)) / 2
        head = ["", "coef", "std err", "z", "P>|z|", f"[{tail:.4g}", f"{1 - tail:.4g}]"]
        lines = []
        for name in self.names:
            bar, error = self.interval(name, level), self.standard_error(name)
            numbers = [self[name] / error, self.p_value(name), bar.low or 0.0, bar.high or 0.0]
            lines.append([name, f"{self[name]:.4f}", f"{error:.4f}", *(f"{x:.3f}" for x in numbers)])
        return head, lines

    def __str__(self) -> str:
        title = f"{self.kind.capitalize()} regression on a randomised answer, n = {self.n}, "
        title += f"log-likelihood {self.log_likelihood:.3f}, covariance: observed information"
        return title + "\n" + text_table(*self._cells(), {1, 2, 3, 4, 5, 6})

    def _repr_html_(self) -> str:
        return html_table(*self._cells())

    def as_dict(self, level: NumberLike = 0.95, covariance: str = "observed") -> dict[str, object]:
        """Plain values, ready for JSON."""
        rows: list[dict[str, object]] = [
            {"name": name, "value": self[name], "standard_error": self.standard_error(name, covariance),
             "p": self.p_value(name, covariance), "bar": self.interval(name, level, covariance).as_dict()}
            for name in self.names
        ]  # fmt: skip
        return {
            "kind": self.kind,
            "n": self.n,
            "log_likelihood": self.log_likelihood,
            "iterations": self.iterations,
            "covariance": covariance,
            "coefficients": rows,
        }


def fit_with_randomised_predictor(
    outcome: Any,
    answers: Any,
    design: Any,
    covariates: Any = None,
    *,
    kind: str = "linear",
    names: Sequence[str] | None = None,
) -> PredictorFit:
    """Linear or logistic regression of `outcome` on the truth behind randomised answers, and on covariates.

    The coefficient named "truth" is the difference the attribute makes.

    >>> from rrcollect import optimal_design
    >>> from server_agg.science.simulation import simulate_survey
    >>> survey = simulate_survey(2000, [-0.5], optimal_design(2), seed=3)
    >>> noise = np.random.default_rng(4).standard_normal(2000)
    >>> fit = fit_with_randomised_predictor(1 + 2 * survey.truths + noise, survey.answers, optimal_design(2))
    >>> round(fit["truth"], 2), round(fit.standard_error("truth"), 2)
    (1.97, 0.06)
    """
    if kind not in KINDS:
        raise ParameterError("kind", kind, f"one of {', '.join(KINDS)}")
    array = answer_array(answers)
    y = vector_of("outcome", outcome, array.size)
    if kind == "logistic" and not np.isin(y, (0.0, 1.0)).all():
        raise ParameterError("outcome", float(y[~np.isin(y, (0.0, 1.0))][0]), "0 or 1, for a logistic regression")
    if names is None and hasattr(covariates, "columns"):
        names = [str(name) for name in covariates.columns]
    x = np.empty((array.size, 0)) if covariates is None else matrix_of(covariates, array.size)
    columns = [f"x{j + 1}" for j in range(x.shape[1])] if names is None else [str(name) for name in names]
    if len(columns) != x.shape[1] or len({*columns, "intercept", "truth", "log sigma"}) != x.shape[1] + 3:
        raise ParameterError("names", names, f"{x.shape[1]} different names, none 'intercept', 'truth' or 'log sigma'")
    joint = _Joint(y, array, design, x, kind)
    if y.size <= joint.size:
        raise ParameterError("answers", f"{y.size} records", f"more than {joint.size}, one for each parameter")
    if np.linalg.matrix_rank(joint.z / np.maximum(np.abs(joint.z).max(axis=0), 1e-300)) < joint.z.shape[1]:
        raise Collinear(f"the covariates {', '.join(columns)} and the intercept are linearly dependent; leave one out")
    if y.min() == y.max():
        raise NoInformation(f"the outcome is {float(y[0]):g} in every record: nothing can explain it")
    theta, level, steps = _maximum(joint)
    inside = ["log sigma"] if kind == "linear" else []
    labels = ["intercept", "truth", *columns, *inside, "truth ~ intercept", *(f"truth ~ {name}" for name in columns)]
    bread = _inverse(joint.information(theta))
    scores = joint.scores(theta)
    spread = {"observed": bread, "sandwich": bread @ scores.T @ scores @ bread}
    return PredictorFit(kind, int(y.size), tuple(labels), theta, spread, level, steps)


def _start(joint: _Joint) -> Floats:
    """Half the records on each side, as far as the answers tell."""
    theta = np.zeros(joint.size)
    tau = np.exp(joint.log_q1 - np.logaddexp(joint.log_q0, joint.log_q1))
    return joint.maximised(tau, theta)


def _maximum(joint: _Joint) -> tuple[Floats, float, int]:
    theta, steps = _start(joint), 0
    for _ in range(4):
        theta, moved = _em(joint, theta)
        found, level, more = _newton(joint, theta)
        steps += moved + more
        if found is not None:
            return found, level, steps
    runaway = bool(np.abs(theta[joint.outcome_size :]).max() > LARGEST_LOG_ODDS / 2)
    why = "the truth's estimated prevalence tends to 0 or 1" if runaway else "the likelihood has no isolated maximum"
    raise NotConverged(f"no maximum after {steps} steps: {why}; allowed: more answers, or fewer covariates")


def _em(joint: _Joint, theta: Floats) -> tuple[Floats, int]:
    level, tau = joint.posterior(theta)
    for step in range(1, LONGEST + 1):
        theta = joint.maximised(tau, theta)
        before, (level, tau) = level, joint.posterior(theta)
        if level - before < 1e-7:
            return theta, step
    return theta, LONGEST


def _newton(joint: _Joint, theta: Floats) -> tuple[Floats | None, float, int]:
    """Newton's method from where EM ended; None if the information is not that of a maximum."""
    level, _ = joint.posterior(theta)
    for steps in range(1, 41):
        information = joint.information(theta)
        gradient = joint.scores(theta).sum(axis=0)
        scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
        values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
        if not values[0] > 1e-9:
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


def _inverse(information: Floats) -> Floats:
    return np.asarray(np.linalg.inv(information), np.float64)
