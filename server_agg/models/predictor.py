"""A randomised answer as the *explanation* of another, openly known variable.

    linear     E(y | truth t, x) = a0 + a_t t + xᵀa                nothing more is supposed of y (see `moments`)
    normal     y | t, x  ~  N(a0 + a_t t + xᵀa, σ²)                the same line, and a normal law of the same spread
    logistic   y | t, x  ~  Bernoulli(σ(a0 + a_t t + xᵀa))         y is 0 or 1
    answer | t ~  the design matrix                                the noise depends on the truth alone
Normal and logistic fit the truth's own model t | x ~ Bernoulli(σ(d0 + xᵀd)) with the outcome's (see `joint`).

The normal model has narrower bars, and takes them from the shape of y: a skewed y is explained as two groups of people,
whatever the answers say, and an effect is found where there is none.  Its `check` compares its a_t with the one from
moments, which does not depend on the shape (Hausman's test): a small p says that the assumption, not the answers, made
the difference.  A large one does not prove the assumption.
Regressing y on the answers themselves shrinks a_t towards 0 (a planted bug in the tests).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from server_agg.count.tally import answer_array
from server_agg.errors import Collinear, NoInformation
from server_agg.estimates.methods import wald_interval
from server_agg.estimates.numerics import t_tail
from server_agg.models.columns import matrix_of, names_of, vector_of
from server_agg.models.inference import Test, chi_squared
from server_agg.models.joint import JointLikelihood, joint_maximum
from server_agg.models.moments import MomentRegression, moment_regression
from server_agg.models.summary import Coefficient, coefficient_dicts, coefficient_table
from server_agg.report.result import Result
from server_agg.results.interval import Interval
from server_agg.sampling.sample import Sample
from server_agg.sampling.values import unbiased_values

if TYPE_CHECKING:
    from server_agg.models.columns import Floats

KINDS = ("linear", "normal", "logistic")
ASSUMPTIONS = {
    "linear probability": "the prevalence is linear in the covariates; a prediction may leave [0, 1]",
    "several predictors": "the mean of the outcome is linear in the truths and the covariates, without products of "
    "truths; the answers of one person to different questions were drawn apart",
    "linear": "the mean of the outcome is linear in the truth and the covariates",
    "normal": "the outcome is normal around its line, with one spread for both truths; skewness is taken for an effect",
    "logistic": "the log-odds of the outcome are linear in the truth and the covariates, those of the truth too",
}


@dataclass(frozen=True, eq=False)
class PredictorFit(Result):
    """A fitted model; `names` end with those of the truth's own model, marked "truth ~ ", where there is one."""

    numeric = frozenset(range(1, 7))
    tidy, axis, in_percent = "coefficients", "coefficient", False
    kind: str
    n: int
    names: tuple[str, ...]
    coefficients: Floats
    covariances: dict[str, Floats]
    log_likelihood: float | None
    iterations: int
    check: Test | None
    freedom: float = math.inf  # of the survey's errors

    @property
    def assumption(self) -> str:
        """What the bars rest on, in words."""
        return ASSUMPTIONS[self.kind]

    def __getitem__(self, name: str) -> float:
        return float(self.coefficients[self._place(name)])

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise ParameterError("name", name, f"one of {list(self.names)}")
        return self.names.index(name)

    def covariance(self, kind: str | None = None) -> Floats:
        """The covariance matrix: the "sandwich", for a likelihood also from the "observed" information, its default."""
        kind = next(iter(self.covariances)) if kind is None else kind
        if kind not in self.covariances:
            raise ParameterError("covariance", kind, f"one of {', '.join(self.covariances)}")
        return self.covariances[kind]

    def standard_error(self, name: str, covariance: str | None = None) -> float:
        """Of one coefficient."""
        j = self._place(name)
        return math.sqrt(float(self.covariance(covariance)[j, j]))

    def interval(self, name: str, level: NumberLike = 0.95, covariance: str | None = None) -> Interval:
        """Wald's bar for one coefficient."""
        error, told = self.standard_error(name, covariance), f"coefficient of {name}"
        return wald_interval(self[name], error, level, told, freedom=self.freedom)

    def p_value(self, name: str, covariance: str | None = None) -> float:
        """Two-sided, by Wald's z, or by Student's t with the survey's degrees of freedom."""
        return min(1.0, 2 * t_tail(abs(self[name]) / self.standard_error(name, covariance), self.freedom))

    def _rows(self, level: NumberLike = 0.95, covariance: str | None = None) -> list[Coefficient]:
        return [
            (name, self[name], self.standard_error(name, covariance), self.p_value(name, covariance),
             self.interval(name, level, covariance))
            for name in self.names
        ]  # fmt: skip

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The table of text, at 95 %."""
        return coefficient_table(self._rows(), 0.95, digits=4)

    def __str__(self) -> str:
        which = "of" if self.kind == "linear probability" else "on"
        title = f"{self.kind.capitalize()} regression {which} a randomised answer, n = {self.n}, "
        if self.log_likelihood is not None:
            title += f"log-likelihood {self.log_likelihood:.3f}, "
        title += f"covariance: {next(iter(self.covariances))}"
        below = [f"supposes: {self.assumption}"]
        if self.kind == "normal":
            below.append("no check: moments find no slope" if self.check is None else self.check.describe())
        return "\n".join([title, super().__str__(), *below])

    def as_dict(self, level: NumberLike = 0.95, covariance: str | None = None) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "kind": self.kind,
            "n": self.n,
            "log_likelihood": self.log_likelihood,
            "iterations": self.iterations,
            "covariance": next(iter(self.covariances)) if covariance is None else covariance,
            "degrees_of_freedom": None if math.isinf(self.freedom) else self.freedom,
            "assumption": self.assumption,
            "check": None if self.check is None else self.check.as_dict(),
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
    sampling_weights: Any = None,
    clusters: Any = None,
    strata: Any = None,
) -> PredictorFit:
    """Linear or logistic regression of `outcome` on the truth behind randomised answers, and on covariates.

    The coefficient named "truth" is the difference the attribute makes.  `kind` "linear" supposes nothing of the
    outcome's shape; "normal" is narrower, and wrong where the outcome is not normal around its line.  Weights, clusters
    and strata are for "linear".

    >>> from rrcollect import optimal_design
    >>> from server_agg.models.simulation import simulate_survey
    >>> survey = simulate_survey(2000, [-0.5], optimal_design(2), seed=3)
    >>> noise = np.random.default_rng(4).standard_normal(2000)
    >>> fit = fit_with_randomised_predictor(1 + 2 * survey.truths + noise, survey.answers, optimal_design(2))
    >>> round(fit["truth"], 2), round(fit.standard_error("truth"), 2)
    (1.96, 0.07)
    """
    if kind not in KINDS:
        raise ParameterError("kind", kind, f"one of {', '.join(KINDS)}")
    array = answer_array(answers)
    y = vector_of("outcome", outcome, array.size)
    if kind == "logistic" and not np.isin(y, (0.0, 1.0)).all():
        raise ParameterError("outcome", float(y[~np.isin(y, (0.0, 1.0))][0]), "0 or 1, for a logistic regression")
    drawn = {"weights": sampling_weights, "clusters": clusters, "strata": strata}
    if kind != "linear" and any(given is not None for given in drawn.values()):
        raise ParameterError("kind", kind, "'linear' for weights, clusters and strata")
    x, columns = named_covariates(covariates, array.size, names, ("intercept", "truth", "log sigma"))
    size = len(columns) + 2 if kind == "linear" else 2 * len(columns) + 3 + (kind == "normal")
    if y.size <= size:
        raise ParameterError("answers", f"{y.size} records", f"more than {size}, one for each parameter")
    checked_rank(np.column_stack([np.ones(y.size), x]), columns)
    if y.min() == y.max():
        raise NoInformation(f"the outcome is {float(y[0]):g} in every record: nothing can explain it")
    labels = ["intercept", "truth", *columns]
    r = unbiased_values(design, array)[:, None]
    if kind == "linear":
        return by_moments(kind, labels, drawn, lambda w: moment_regression(y, r, x, w), int(y.size))
    joint = JointLikelihood(y, array, design, x, kind)
    theta, level, steps = joint_maximum(joint)
    labels += [*(["log sigma"] if kind == "normal" else []), *(f"truth ~ {name}" for name in ["intercept", *columns])]
    bread = np.asarray(np.linalg.inv(joint.information(theta)), np.float64)
    influence = joint.scores(theta) @ bread
    spread = {"observed": bread, "sandwich": influence.T @ influence}
    check = None
    if kind == "normal":
        with suppress(NoInformation):  # moments find no slope
            check = _check(moment_regression(y, r, x), float(theta[1]), influence[:, 1])
    return PredictorFit(kind, int(y.size), tuple(labels), theta, spread, level, steps, check)


def named_covariates(
    covariates: Any, n: int, names: Sequence[str] | None, taken: Sequence[str]
) -> tuple[Floats, list[str]]:
    """Covariates as a matrix with a name per column, none of the taken ones."""
    names = names_of(covariates) if names is None else names
    x = matrix_of(covariates, n)
    columns = [f"x{j + 1}" for j in range(x.shape[1])] if names is None else [str(name) for name in names]
    if len(columns) != x.shape[1] or len({*columns, *taken}) != x.shape[1] + len(taken):
        others = ", ".join(map(repr, taken[:-1])) + f" or {taken[-1]!r}" if len(taken) > 1 else repr(taken[0])
        raise ParameterError("names", names, f"{x.shape[1]} different names, none {others}")
    return x, columns


def checked_rank(z: Floats, columns: Sequence[str]) -> None:
    """Refuses covariates that are combinations of others."""
    if np.linalg.matrix_rank(z / np.maximum(np.abs(z).max(axis=0), 1e-300)) < z.shape[1]:
        raise Collinear(f"the covariates {', '.join(columns)} and the intercept are linearly dependent; leave one out")


def by_moments(
    kind: str, labels: Sequence[str], drawn: dict[str, Any], fit: Callable[[Floats | None], MomentRegression], n: int
) -> PredictorFit:
    """A fit from moments, with the errors of the survey where it is one."""
    if all(given is None for given in drawn.values()):
        plain = fit(None)
        return PredictorFit(
            kind, n, tuple(labels), plain.coefficients, {"sandwich": plain.covariance}, None, 0, None
        )  # fmt: skip
    sample = Sample.of(n, **drawn)
    found = fit(sample.weights)
    spread = {"survey": sample.covariance(found.influence), "sandwich": found.covariance}
    return PredictorFit(
        kind, n, tuple(labels), found.coefficients, spread, None, 0, None, float(sample.freedom)
    )  # fmt: skip


def _check(free: MomentRegression, effect: float, influence: Floats) -> Test:
    """Hausman's test of the effect by the normal model against the one by moments."""
    apart = influence - free.influence[:, 1]
    variance = float(apart @ apart)
    alike = variance < 1e-8 * float(influence @ influence)  # answers without noise: one and the same regression
    statistic = 0.0 if alike else (effect - float(free.coefficients[1])) ** 2 / variance
    return chi_squared("the normal law does not shape the effect", "Hausman", statistic, 1)
