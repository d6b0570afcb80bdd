"""Logistic and probit regression with a randomised outcome: who has the attribute, seen through the randomisation.

    P(truth = 1 | z) = s(zᵀβ),        P(answer = 1 | z) = 1 − p00 + c·s(zᵀβ)          s by the link (see `outcome`)
The answers are randomised; β is about the truth.  Naive logistic regression on the answers shrinks every coefficient
towards 0 and gives it a standard error that promises too much.

Rules
1. Every record may have its own design.
2. Weights are either `repeats` (a record stands for a whole number of equal ones: counts of a table) or
   `sampling_weights` (it stands for people who were not asked); with the second the covariance is the sandwich.
   With `clusters` or `strata` it is that of the survey (see `inference`), and bars and tests have its degrees of
   freedom, clusters − strata.
3. There is no fit without a maximum: `Separation`, `Collinear` and `NoInformation` say why there is none.
4. A fit keeps its records, so every question can be asked later.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError, RRCollectError
from server_agg.estimates.methods import checked_method, wald_interval
from server_agg.estimates.numerics import t_tail
from server_agg.models import effects, inference, summary
from server_agg.models.columns import names_of, vector_of
from server_agg.models.fitting import maximise
from server_agg.models.inference import Test
from server_agg.models.outcome import Outcome, checked_link
from server_agg.report.result import Result
from server_agg.results.interval import Interval
from server_agg.results.tables import Table
from server_agg.sampling.sample import Sample

if TYPE_CHECKING:
    from server_agg.models.columns import Floats


@dataclass(frozen=True, eq=False)
class LogisticFit(Result):
    """A fitted model; `coefficients[j]` belongs to `names[j]`."""

    numeric = frozenset(range(1, 10))
    tidy, axis, in_percent = "coefficients", "coefficient (log odds)", False

    model: Outcome
    names: tuple[str, ...]
    coefficients: Floats
    log_likelihood: float
    iterations: int
    scaled: Outcome  # the same model with orthonormal covariates, see `fitting`
    gamma: Floats  # and its coefficients: β = R⁻¹γ
    inverse: Floats  # R⁻¹
    covariance_kind: str
    weights_kind: str
    intercept: bool
    outcome: str = "answer"
    sample: Sample | None = None  # how the people were drawn, with clusters, strata or sampling weights

    @property
    def sampling(self) -> bool:
        """Whether the weights are sampling weights."""
        return self.weights_kind == "sampling"

    @property
    def pseudo(self) -> bool:
        """Whether what is maximised is not a likelihood: records are weighted, or not independent."""
        return self.sampling or (self.sample is not None and self.sample.clustered)

    def freedom(self, kind: str | None = None) -> float:
        """Degrees of freedom of the standard errors: the survey's, or infinitely many."""
        which = self.covariance_kind if kind is None else kind
        return float(self.sample.freedom) if which == "survey" and self.sample is not None else math.inf

    def place(self, name: str) -> int:
        """The position of a coefficient."""
        if name not in self.names:
            raise ParameterError("name", name, f"one of {list(self.names)}")
        return self.names.index(name)

    def __getitem__(self, name: str) -> float:
        return float(self.coefficients[self.place(name)])

    # ---- errors, tests, intervals -----------------------------------------------------------------------------

    @cached_property
    def _covariances(self) -> dict[str, Floats]:
        return {}

    def covariance(self, kind: str | None = None) -> Floats:
        """The covariance matrix by one of `inference.COVARIANCES` (default: as the fit was made)."""
        return self.inverse @ self._scaled_covariance(kind) @ self.inverse.T

    def _scaled_covariance(self, kind: str | None) -> Floats:
        which = self.covariance_kind if kind is None else kind
        if which not in self._covariances:
            self._covariances[which] = inference.covariance(self, which)
        return self._covariances[which]

    def deviations(self, rows: Floats, kind: str | None = None) -> Floats:
        """The standard errors of the linear combinations rowᵀβ, computed without cancellation."""
        scaled = rows @ self.inverse
        found: Floats = np.sqrt(np.einsum("ij,jk,ik->i", scaled, self._scaled_covariance(kind), scaled))
        return found

    def standard_errors(self, kind: str | None = None) -> Floats:
        """The square roots of the covariance's diagonal."""
        return self.deviations(np.eye(len(self.names)), kind)

    def p_value(self, name: str, kind: str | None = None) -> float:
        """Two-sided, by Wald's z, or by Student's t with the survey's degrees of freedom."""
        j = self.place(name)
        z = abs(float(self.coefficients[j] / self.standard_errors(kind)[j]))
        return min(1.0, 2 * t_tail(z, self.freedom(kind)))

    def interval(
        self, name: str, level: NumberLike = 0.95, method: str = "wald", *, covariance: str | None = None
    ) -> Interval[float | None]:
        """A bar for one coefficient, by "wald" or "profile"; a profile may lack an end."""
        j = self.place(name)
        if checked_method("coefficient", method).name == "profile":
            return inference.profile_interval(self, j, level)
        error = float(self.standard_errors(covariance)[j])
        told, freedom = f"coefficient of {name}", self.freedom(covariance)
        return wald_interval(float(self.coefficients[j]), error, level, told, freedom=freedom)

    def wald_test(self, *names: str, covariance: str | None = None) -> Test:
        """That all the named coefficients are 0."""
        if not names:
            raise ParameterError("names", names, f"one or more of {list(self.names)}")
        return inference.wald_test(self, [self.place(name) for name in names], covariance or self.covariance_kind)

    def likelihood_ratio(self, smaller: LogisticFit) -> Test:
        """This model against one nested in it."""
        return inference.likelihood_ratio(self, smaller)

    def without(self, *names: str) -> LogisticFit:
        """The fit with these covariates left out."""
        dropped = {self.place(name) for name in names}
        kept = [j for j in range(len(self.names)) if j not in dropped]
        if not kept:
            raise ParameterError("names", names, "not all of them: nothing would be left to fit")
        model = self.model.with_offset(np.zeros(self.model.n), kept)
        return fit_model(model, [self.names[j] for j in kept], self)

    @cached_property
    def _null(self) -> LogisticFit | None:
        model = self.model.with_offset(np.zeros(self.model.n), [])
        ones = replace(model, covariates=np.ones((model.n, 1)))
        try:
            return fit_model(ones, ["intercept"], self)
        except RRCollectError:
            return None

    @property
    def null_log_likelihood(self) -> float | None:
        """The maximum with an intercept alone; None if there is none."""
        return None if self._null is None else self._null.log_likelihood

    @property
    def aic(self) -> float | None:
        """Akaike's criterion, 2k − 2ℓ; None where ℓ is not a likelihood: with sampling weights, in clusters."""
        return None if self.pseudo else 2 * len(self.names) - 2 * self.log_likelihood

    @property
    def bic(self) -> float | None:
        """Schwarz's criterion, k·ln n − 2ℓ, n counting repeats; None where ℓ is not a likelihood."""
        return None if self.pseudo else len(self.names) * math.log(self.model.people) - 2 * self.log_likelihood

    def against_null(self) -> Test | None:
        """All covariates against an intercept alone; None where that cannot be tested."""
        constant = any(np.ptp(self.model.covariates[:, j]) == 0 for j in range(len(self.names)))
        if self._null is None or self.pseudo or not constant or len(self.names) < 2:
            return None
        statistic = 2 * (self.log_likelihood - self._null.log_likelihood)
        return inference.chi_squared("all slopes = 0", "likelihood ratio", statistic, len(self.names) - 1)

    # ---- shares of people -------------------------------------------------------------------------------------

    def predict(
        self, covariates: Any, level: NumberLike = 0.95, *, covariance: str | None = None
    ) -> list[effects.Prediction]:
        """The prevalence, with its bar, for each row of covariates."""
        return effects.predict(self, covariates, level, covariance)

    def marginal_effects(
        self, names: Sequence[str] | None = None, level: NumberLike = 0.95, *, covariance: str | None = None
    ) -> effects.Effects:
        """Average marginal effects on the prevalence."""
        return effects.marginal_effects(self, names, level, covariance)

    # ---- shown ------------------------------------------------------------------------------------------------

    def summary(self, level: NumberLike = 0.95, covariance: str | None = None) -> str:
        """The table a statsmodels user knows."""
        return summary.summary_text(self, level, covariance or self.covariance_kind)

    def as_dict(self, level: NumberLike = 0.95, covariance: str | None = None) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return summary.summary_dict(self, level, covariance or self.covariance_kind)

    def __str__(self) -> str:
        return self.summary()

    def cells(self) -> Table:
        """The coefficients at 95 %, with odds ratios."""
        return self.tables()[-1]

    def tables(self) -> list[Table]:
        """What is known of the fit, and its coefficients at 95 % with odds ratios."""
        return summary.summary_tables(self, 0.95, self.covariance_kind)


def fit_logistic(
    answers: Any,
    covariates: Any,
    design: Any,
    *,
    names: Sequence[str] | None = None,
    intercept: bool = True,
    repeats: Any = None,
    sampling_weights: Any = None,
    clusters: Any = None,
    strata: Any = None,
    covariance: str | None = None,
    start: Any = None,
    link: str = "logit",
) -> LogisticFit:
    """Logistic (or by `link` probit) regression of a randomised answer on covariates (a matrix, or a frame of numbers).

    `design` is one Design, or one for each record.  An intercept is put first unless `intercept` is False.  `repeats`
    are whole numbers: how many equal records one stands for.  `sampling_weights` are how many people who were not asked
    it stands for; their scale does not matter, and they may be calibrated (`rake`, `post_stratify`).  `clusters` and
    `strata` name those of every record.

    >>> from rrcollect import optimal_design
    >>> fit = fit_logistic([1, 0] * 3, [-1, -1, 0, 0, 1, 1], optimal_design(2), names=["x"],
    ...                    repeats=[60, 140, 80, 120, 110, 90])
    >>> fit.coefficients.round(6).tolist(), fit.standard_errors().round(6).tolist(), round(fit.log_likelihood, 6)
    ([-0.484096, 0.723125], [0.119465, 0.150211], -394.464413)
    """
    drawn = clusters is not None or strata is not None
    if repeats is not None and (sampling_weights is not None or drawn):
        raise ParameterError("repeats", "given with sampling_weights, clusters or strata", "repeats alone")
    weights_kind = "none" if repeats is None else "repeats"
    weights_kind = weights_kind if sampling_weights is None else "sampling"
    adjusted = hasattr(sampling_weights, "again")
    kind = covariance or ("survey" if drawn or adjusted else "sandwich" if weights_kind == "sampling" else "expected")
    if kind not in inference.COVARIANCES:
        raise ParameterError("covariance", covariance, f"one of {', '.join(inference.COVARIANCES)}")
    names = names_of(covariates) if names is None else names
    weights = sampling_weights.weights if adjusted else sampling_weights
    model = replace(Outcome.of(answers, covariates, design, repeats, weights), link=checked_link(link))
    if model.n == 0:
        raise ParameterError("answers", "0 records", "one or more")
    columns = [f"x{j + 1}" for j in range(model.size)] if names is None else [str(name) for name in names]
    if len(columns) != model.size or len({*columns, "intercept"}) != model.size + 1:
        raise ParameterError("names", names, f"{model.size} different names, one per covariate, none 'intercept'")
    if intercept:
        wide = np.column_stack([np.ones(model.n), model.covariates])
        model, columns = replace(model, covariates=wide), ["intercept", *columns]
    if not columns:
        raise ParameterError("covariates", "no columns", "one or more, or intercept=True")
    first = None if start is None else vector_of("start", start, len(columns))
    sample = None
    if drawn or weights_kind == "sampling":
        sample = Sample.of(model.n, weights=sampling_weights, strata=strata, clusters=clusters)
    settings = {"covariance_kind": kind, "weights_kind": weights_kind, "intercept": intercept, "sample": sample}
    return _fitted(model, columns, first, settings)


def fit_probit(answers: Any, covariates: Any, design: Any, **how: Any) -> LogisticFit:
    """Probit regression of a randomised answer: `fit_logistic` with another link.

    >>> from rrcollect import optimal_design
    >>> fit = fit_probit([1, 0] * 2, [0, 0, 1, 1], optimal_design(2), repeats=[60, 140, 110, 90])
    >>> fit.coefficients.round(4).tolist()
    [-0.7147, 0.88]
    """
    return fit_logistic(answers, covariates, design, link="probit", **how)


def fit_model(model: Outcome, names: Sequence[str], like: LogisticFit) -> LogisticFit:
    """The fit of another model of the same answers, with the settings of `like`."""
    kept = {name: getattr(like, name) for name in ("covariance_kind", "weights_kind", "outcome", "sample")}
    return _fitted(model, list(names), None, kept | {"intercept": like.intercept and "intercept" in names})


def _fitted(model: Outcome, names: list[str], start: Floats | None, settings: dict[str, Any]) -> LogisticFit:
    found, scaled, inverse = maximise(model, names, start)
    return LogisticFit(
        model,
        tuple(names),
        inverse @ found.gamma,
        found.log_likelihood,
        found.iterations,
        scaled,
        found.gamma,
        inverse,
        **settings,
    )
