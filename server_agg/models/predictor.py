"""A randomised answer as the *explanation* of another, openly known variable.

    y | truth t, x  ~  N(a0 + a_t t + xᵀa, σ²)   (linear)      or   Bernoulli(σ(a0 + a_t t + xᵀa))   (logistic)
    t | x           ~  Bernoulli(σ(d0 + xᵀd))                      the truth may itself depend on the covariates
    answer | t      ~  the design matrix                           the noise depends on the truth alone
The truth is never seen, so both parts are fitted together (see `joint`).

Regressing y on the answers themselves shrinks a_t towards 0 (a planted bug in the tests).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from server_agg.count.from_answers import answer_array
from server_agg.estimates.interval import Interval
from server_agg.estimates.methods import wald_interval
from server_agg.estimates.numerics import normal_tail
from server_agg.models.columns import matrix_of, vector_of
from server_agg.models.errors import Collinear, NoInformation
from server_agg.models.joint import JointLikelihood, joint_maximum
from server_agg.models.summary import Coefficient, coefficient_dicts, coefficient_table
from server_agg.report.result import Result

if TYPE_CHECKING:
    from server_agg.models.columns import Floats

__all__ = ["PredictorFit", "fit_with_randomised_predictor"]

KINDS = ("linear", "logistic")


@dataclass(frozen=True, eq=False)
class PredictorFit(Result):
    """A fitted joint model; `names` end with those of the truth's own model, marked "truth ~ "."""

    numeric = frozenset(range(1, 7))
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

    def interval(self, name: str, level: NumberLike = 0.95, covariance: str = "observed") -> Interval:
        """Wald's bar for one coefficient."""
        return wald_interval(self[name], self.standard_error(name, covariance), level, f"coefficient of {name}")

    def p_value(self, name: str, covariance: str = "observed") -> float:
        """Two-sided, by Wald's z."""
        return min(1.0, 2 * normal_tail(abs(self[name]) / self.standard_error(name, covariance)))

    def _rows(self, level: NumberLike = 0.95, covariance: str = "observed") -> list[Coefficient]:
        return [
            (name, self[name], self.standard_error(name, covariance), self.p_value(name, covariance),
             self.interval(name, level, covariance))
            for name in self.names
        ]  # fmt: skip

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The table of text, at 95 %."""
        return coefficient_table(self._rows(), 0.95, digits=4)

    def __str__(self) -> str:
        title = f"{self.kind.capitalize()} regression on a randomised answer, n = {self.n}, "
        title += f"log-likelihood {self.log_likelihood:.3f}, covariance: observed information"
        return f"{title}\n{super().__str__()}"

    def as_dict(self, level: NumberLike = 0.95, covariance: str = "observed") -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "kind": self.kind,
            "n": self.n,
            "log_likelihood": self.log_likelihood,
            "iterations": self.iterations,
            "covariance": covariance,
            "coefficients": coefficient_dicts(self._rows(level, covariance)),
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
    >>> from server_agg.models.simulation import simulate_survey
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
    joint = JointLikelihood(y, array, design, x, kind)
    if y.size <= joint.size:
        raise ParameterError("answers", f"{y.size} records", f"more than {joint.size}, one for each parameter")
    if np.linalg.matrix_rank(joint.z / np.maximum(np.abs(joint.z).max(axis=0), 1e-300)) < joint.z.shape[1]:
        raise Collinear(f"the covariates {', '.join(columns)} and the intercept are linearly dependent; leave one out")
    if y.min() == y.max():
        raise NoInformation(f"the outcome is {float(y[0]):g} in every record: nothing can explain it")
    theta, level, steps = joint_maximum(joint)
    inside = ["log sigma"] if kind == "linear" else []
    labels = ["intercept", "truth", *columns, *inside, "truth ~ intercept", *(f"truth ~ {name}" for name in columns)]
    bread = np.asarray(np.linalg.inv(joint.information(theta)), np.float64)
    scores = joint.scores(theta)
    spread = {"observed": bread, "sandwich": bread @ scores.T @ scores @ bread}
    return PredictorFit(kind, int(y.size), tuple(labels), theta, spread, level, steps)
