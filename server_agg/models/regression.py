"""Regression with a randomised outcome: who has the attribute, seen through the randomisation.

    P(truth = 1 | z) = s(zᵀβ),        P(answer = 1 | z) = 1 − p00 + c·s(zᵀβ)          s by the link (see `outcome`)
    link "identity"                    E(truth | z) = zᵀβ, so E(r | z) = zᵀβ: least squares of the unbiased values
The answers are randomised; β is about the truth.  Naive logistic regression on the answers shrinks every coefficient
towards 0 and gives it a standard error that promises too much.

Rules
1. Every record may have its own design.
2. `repeats` say that a record stands for a whole number of equal ones (counts of a table), `weights` that it stands for
   people who were not asked; with the second the covariance is the sandwich.  With `clusters` or `strata` it is that of
   the survey (see `inference`), and bars and tests have its degrees of freedom, clusters − strata − (k − 1) for k
   coefficients, as R's svyglm has them.
3. There is no fit without a maximum: `Separation`, `NotIdentified` and `NoInformation` say why there is none.
4. A fit keeps its records, so every question can be asked later.
5. AIC = 2k − 2ℓ and BIC = k·ln n − 2ℓ are those of the randomised answers, n counting repeats; with weights there is
   none: ℓ is not a likelihood then.  LL-Null is the maximum of the likelihood with an intercept alone.
6. Of the identity nothing is supposed of spreads: the errors are robust, and with weights, clusters or strata those of
   the survey.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.errors import ParameterError, RRCollectError
from server_agg.models import effects
from server_agg.models.columns import (
    checked_rank,
    column_names,
    named_covariates,
    nearly_dependent,
    shown_by_one,
    vector_of,
)
from server_agg.models.fits import INTERCEPT, Fit, chi_squared, few_clusters
from server_agg.models.fitting import maximise
from server_agg.models.inference import COVARIANCES, Maximum, not_nested
from server_agg.models.moments import by_moments, moment_regression
from server_agg.models.outcome import Outcome, checked_link
from server_agg.results.findings import Findings
from server_agg.results.row import Test
from server_agg.sampling.sample import Sample
from server_agg.sampling.values import unbiased_values

if TYPE_CHECKING:
    from server_agg.models.columns import Floats

LINEAR = "the prevalence is linear in the covariates; a prediction may leave [0, 1]"


@dataclass(frozen=True, eq=False, kw_only=True)
class LikelihoodFit(Fit):
    """A fit by logit or probit: coefficients, tests, predictions and effects on the prevalence."""

    maximum: Maximum
    weights_kind: str  # "none", "repeats" or "sampling"
    intercept: bool
    formula: effects.Formula | None = None

    @property
    def model(self) -> Outcome:
        """The records."""
        return self.maximum.model

    @property
    def sample(self) -> Sample | None:
        """How the people were drawn, with weights, clusters or strata."""
        return self.maximum.sample

    def likelihood_ratio(self, smaller: LikelihoodFit) -> Test:
        """This model against one nested in it, for the same answers."""
        if self.maximum.pseudo or smaller.maximum.pseudo:
            allowed = "repeat counts or none: a pseudo-likelihood has no ratio test"
            raise ParameterError("weights", "weights or clusters", allowed)
        df = len(self.names) - len(smaller.names)
        fault = not_nested(self.model, smaller.model, df)
        if fault:
            allowed = f"a model of the same answers, weights and designs nested in {self.names}"
            raise ParameterError("smaller", f"{smaller.names}, {fault}", allowed)
        words = (" = ".join(name for name in self.names if name not in smaller.names) or "no difference") + " = 0"
        statistic = 2 * (self.maximum.log_likelihood - smaller.maximum.log_likelihood)
        return chi_squared(words, "likelihood ratio", statistic, df)

    def without(self, *names: str) -> LikelihoodFit:
        """The fit with these covariates left out."""
        dropped = {self.place(name) for name in names}
        kept = [j for j in range(len(self.names)) if j not in dropped]
        if not kept:
            raise ParameterError("names", names, "not all of them: nothing would be left to fit")
        return self._of(self.model.only(kept), tuple(self.names[j] for j in kept))

    def _of(self, model: Outcome, names: tuple[str, ...]) -> LikelihoodFit:
        """The fit of another model of the same answers, with the same settings."""
        found = Maximum.of(model, names, None, self.maximum.weighted, self.sample)
        return _made(found, self.kind, self.weights_kind, self.intercept and INTERCEPT in names, self.outcome)

    @cached_property
    def null_log_likelihood(self) -> float | None:
        """The maximum with an intercept alone; None if there is none."""
        try:
            alone = replace(self.model, covariates=np.ones((self.model.n, 1)))
            return maximise(alone, (INTERCEPT,))[0].log_likelihood
        except RRCollectError:
            return None

    @property
    def aic(self) -> float | None:
        """Akaike's criterion, 2k − 2ℓ; None where ℓ is not a likelihood: with weights, in clusters."""
        return None if self.maximum.pseudo else 2 * len(self.names) - 2 * self.maximum.log_likelihood

    @property
    def bic(self) -> float | None:
        """Schwarz's criterion, k·ln n − 2ℓ, n counting repeats; None where ℓ is not a likelihood."""
        k, top = len(self.names), self.maximum
        return None if top.pseudo else k * math.log(self.model.people) - 2 * top.log_likelihood

    def against_null(self) -> Test | None:
        """All covariates against an intercept alone; None where that cannot be tested."""
        constant = any(np.ptp(self.model.covariates[:, j]) == 0 for j in range(len(self.names)))
        null = self.null_log_likelihood
        if null is None or self.maximum.pseudo or not constant or len(self.names) < 2:
            return None
        statistic = 2 * (self.maximum.log_likelihood - null)
        return chi_squared("all slopes = 0", "likelihood ratio", statistic, len(self.names) - 1)

    # ---- shares of people -------------------------------------------------------------------------------------

    def predict(self, covariates: Any) -> Findings:
        """The prevalence, with its bar, for each row of covariates (of a fit by formula: of a data frame)."""
        if self.formula is not None:
            return effects.predictions(self, self.model, self.formula.rows(covariates))
        return effects.predictions(self, self.model, effects.wanted_rows(covariates, self.names, self.intercept))

    def marginal_effects(self, names: Sequence[str] | None = None) -> Findings:
        """Average marginal effects on the prevalence: of covariates, or of the variables of a formula."""
        if self.formula is not None:
            return self.formula.effects(self, self.model, names)
        return effects.marginal_effects(self, self.model, names)

    # ---- shown ------------------------------------------------------------------------------------------------

    def heading(self) -> list[tuple[str, str]]:
        """What stands above the coefficients."""
        test, k = self.against_null(), len(self.names)
        numbers = (self.null_log_likelihood, self.aic, self.bic)
        null, aic, bic = ("none" if value is None else f"{value:.3f}" for value in numbers)
        found = {
            "Dep. Variable:": self.outcome, "No. Observations:": str(self.records),
            "Model:": f"Randomised {self.model.link.name.capitalize()}", "Df Residuals:": str(self.records - k),
            "Method:": "MLE, Fisher scoring", "Df Model:": str(k - 1), "Designs:": str(len(self.model.table)),
            "Log-Likelihood:": f"{self.log_likelihood:.3f}", "Iterations:": str(self.iterations),
            "LL-Null:": null, "Covariance Type:": self.kind,
            "LLR p-value:": "none" if test is None else f"{test.p_value:.4g}", "AIC:": aic, "BIC:": bic,
        }  # fmt: skip
        if self.sample is not None and self.kind == "survey":
            found |= {
                "Clusters:": str(self.sample.units) if self.sample.clustered else "none",
                "Df (t):": f"{self.df:.0f}",
                "Strata:": "none" if self.sample.strata == (None,) else str(len(self.sample.strata)),
                "Weights:": "sampling" if self.sample.weighted else "none",
            }
        return list(found.items())

    def extras(self) -> dict[str, object]:
        """The model in plain values."""
        return super().extras() | {
            "designs": len(self.model.table),
            "clusters": self.sample.units if self.sample is not None and self.sample.clustered else None,
            "weights": self.weights_kind,
            "null_log_likelihood": self.null_log_likelihood,
            "aic": self.aic,
            "bic": self.bic,
        }


def _made(found: Maximum, kind: str, weights: str, intercept: bool, outcome: str) -> LikelihoodFit:
    link, sample, alone = found.model.link, found.sample, None
    people = int(found.model.people) if weights == "repeats" else found.model.n
    df, told = math.inf, nearly_dependent(np.asarray(np.linalg.inv(found.inverse), np.float64), found.names)
    if sample is not None:
        df, _ = sample.df_of_coefficients(len(found.names))
        told += few_clusters(sample, df)
    if sample is not None and sample.clustered:
        rows = found.scaled.covariates
        rows = rows if found.model.weights is None else rows * np.sqrt(found.model.weights)[:, None]
        alone = shown_by_one(rows, sample.unit, found.inverse)
    return LikelihoodFit(
        f"Randomised {link.title}", people, found.names, found.coefficients,
        {one: partial(found.covariance, one) for one in COVARIANCES}, kind, df, told=tuple(told), alone=alone,
        log_likelihood=found.log_likelihood, iterations=found.iterations, outcome=outcome,
        scale_words=f" ({link.scale})", basis=found.inverse, profile=found.profile, odds=link.name == "logit",
        maximum=found, weights_kind=weights, intercept=intercept,
    )  # fmt: skip


def fit(
    answers: Any,
    data: Any,
    design: Any,
    *,
    link: str = "logit",
    outcome: str = "answer",
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    repeats: Any = None,
    names: Sequence[str] | None = None,
    intercept: bool = True,
    covariance: str | None = None,
    start: Any = None,
) -> Fit:
    """Regression of a randomised answer on covariates, by "logit", "probit" or the "identity" (linear probability).

    `answers` are one per record and `data` their covariates (a matrix, a frame of numbers, a mapping); an intercept is
    put first unless `intercept` is False.  Or `answers` is a formula such as "answer ~ age + C(region)" and `data` a
    pandas frame; design, weights, repeats, clusters and strata may then be names of its columns.  `design` is one
    Design, or one for each record.  `weights` are how many people who were not asked a record stands for; their scale
    does not matter, and they may be calibrated (`rake`, `post_stratify`).  `repeats` are whole numbers: how many equal
    records one stands for.  `clusters` and `strata` name those of every record.  `outcome` names the answer.

    >>> from rrcollect import Design, optimal_design
    >>> people = [60, 140, 80, 120, 110, 90]
    >>> found = fit([1, 0] * 3, [-1, -1, 0, 0, 1, 1], optimal_design(2), names=["x"], repeats=people)
    >>> found.coefficients.round(6).tolist(), found.standard_errors.round(6).tolist(), round(found.log_likelihood, 6)
    ([-0.484096, 0.723125], [0.119465, 0.150211], -394.464413)
    >>> probit = fit([1, 0] * 2, [0, 0, 1, 1], optimal_design(2), repeats=[60, 140, 110, 90], link="probit")
    >>> probit.coefficients.round(4).tolist()
    [-0.7147, 0.88]
    >>> linear = fit([1, 0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1], Design(1, 1), names=["x"], link="identity")
    >>> linear.coefficients.round(6).tolist()                           # shares 1/4 and 3/4
    [0.25, 0.5]
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"answer": [1, 0] * 3, "x": [-1, -1, 0, 0, 1, 1], "people": people})
    >>> fit("answer ~ x", frame, optimal_design(2), repeats="people").names
    ('Intercept', 'x')
    """
    formula = None
    if isinstance(answers, str):
        formula = effects.Formula.of(answers, data)
        answers, data, outcome = data[formula.outcome], formula.matrix, formula.outcome
        names, intercept = formula.names, False
        design, repeats, weights, clusters, strata = map(formula.column, (design, repeats, weights, clusters, strata))
    drawn = clusters is not None or strata is not None
    if repeats is not None and (weights is not None or drawn):
        raise ParameterError("repeats", "given with weights, clusters or strata", "repeats alone")
    how = {"weights": weights, "strata": strata, "clusters": clusters}
    if link == "identity":
        if repeats is not None or start is not None:
            raise ParameterError("link", link, "'logit' or 'probit' for repeats and for a start")
        r = unbiased_values(answers, design)
        taken = (INTERCEPT,) if intercept else ()
        x, columns = named_covariates(data, r.size, names, taken)
        z = np.column_stack([np.ones(r.size), x]) if intercept else x
        made = replace(_linear(r, z, [*taken, *columns], how), outcome=outcome)
        return made if covariance is None else made.using(covariance)
    adjusted = hasattr(weights, "again")
    kind = "survey" if drawn or adjusted else "sandwich" if weights is not None else "expected"
    model = Outcome.of(answers, data, design, repeats, weights.weights if adjusted else weights)
    model = replace(model, link=checked_link(link))
    if model.n == 0:
        raise ParameterError("answers", "0 records", "one or more")
    columns = column_names(data, model.size, names, () if formula is not None else (INTERCEPT,))
    if intercept:
        wide = np.column_stack([np.ones(model.n), model.covariates])
        model, columns = replace(model, covariates=wide), [INTERCEPT, *columns]
    if not columns:
        raise ParameterError("covariates", "no columns", "one or more, or intercept=True")
    first = None if start is None else vector_of("start", start, len(columns))
    sample = Sample.of(model.n, **how) if drawn or weights is not None else None
    found = Maximum.of(model, tuple(columns), first, weights is not None, sample)
    counted = "none" if repeats is None else "repeats"
    made = _made(found, kind, counted if weights is None else "sampling", intercept, outcome)
    made = replace(made, formula=formula)
    return made if covariance is None else made.using(covariance)


def _linear(r: Floats, z: Floats, labels: Sequence[str], drawn: dict[str, Any]) -> Fit:
    """The linear probability model."""
    if r.size <= z.shape[1]:
        raise ParameterError("answers", f"{r.size} records", f"more than {z.shape[1]}, one for each coefficient")
    checked_rank(z, [name for name in labels if name != INTERCEPT])
    fitted = partial(moment_regression, r, np.empty((r.size, 0)), z)
    return by_moments("Linear Probability", labels, drawn, fitted, columns=z, assumption=LINEAR)
