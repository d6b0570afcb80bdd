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

from rrcollect.design.mechanism import checked_design
from rrcollect.errors import ParameterError, RRCollectError
from server_agg.models import effects
from server_agg.models.columns import (
    column_names,
    each_its_own,
    named_covariates,
    nearly_dependent,
    shown_by_one,
    vector_of,
)
from server_agg.models.fits import INTERCEPT, Fit, chi_squared, few_clusters
from server_agg.models.fitting import maximise
from server_agg.models.inference import Maximum, not_nested
from server_agg.models.links import OUTCOMES, checked_law, checked_link
from server_agg.models.moments import linear_probability
from server_agg.models.options import Options
from server_agg.models.outcome import Outcome
from server_agg.models.sampled import Sampled
from server_agg.results.findings import Findings
from server_agg.results.row import Test
from server_agg.sampling.replication import Replicates
from server_agg.sampling.sample import Sample
from server_agg.sampling.values import unbiased_values

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, eq=False, kw_only=True)
class LikelihoodFit(Fit):
    """A fit by logit or probit: coefficients, tests, predictions and effects on the prevalence."""

    maximum: Maximum
    weights_kind: str  # "none", "repeats" or "sampling"
    intercept: bool
    formula: effects.Formula | None = None

    @property
    def model(self) -> Outcome | Options:
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
        columns = self.maximum.columns
        for name in names:
            if name not in columns:
                raise ParameterError("name", name, f"one of {list(columns)}")
        kept = [j for j, name in enumerate(columns) if name not in names]
        if not kept:
            raise ParameterError("names", names, "not all of them: nothing would be left to fit")
        return self._of(self.model.only(kept), tuple(columns[j] for j in kept))

    def _of(self, model: Outcome | Options, columns: tuple[str, ...]) -> LikelihoodFit:
        """The fit of another model of the same answers, with the same settings."""
        top = self.maximum
        found = Maximum.of(model, columns, weighted=top.weighted, sample=top.sample, replicates=top.replicates)
        return _made(found, self.kind, self.weights_kind, self.intercept and INTERCEPT in columns, self.outcome)

    @property
    def _alone(self) -> Outcome | Options:
        """The model with an intercept alone."""
        return replace(self.model, covariates=np.ones((self.model.n, 1)))

    @cached_property
    def null_log_likelihood(self) -> float | None:
        """The maximum with an intercept alone; None if there is none."""
        try:
            return maximise(self._alone, (INTERCEPT,))[0].log_likelihood
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
        constant = any(np.ptp(self.model.covariates[:, j]) == 0 for j in range(self.model.width))
        null, df = self.null_log_likelihood, len(self.names) - self._alone.size
        if null is None or self.maximum.pseudo or not constant or df < 1:
            return None
        statistic = 2 * (self.maximum.log_likelihood - null)
        return chi_squared("all slopes = 0", "likelihood ratio", statistic, df)

    # ---- shares of people -------------------------------------------------------------------------------------

    def predict(self, covariates: Any) -> Findings:
        """The prevalence, with its bar, for each row of covariates (of a fit by formula: of a data frame)."""
        if self.formula is not None:
            return effects.predictions(self, self.model, self.formula.rows(covariates))
        rows = effects.wanted_rows(covariates, self.maximum.columns, self.intercept)
        return effects.predictions(self, self.model, rows)

    def marginal_effects(self, names: Sequence[str] | None = None) -> Findings:
        """Average marginal effects on the prevalence: of covariates, or of the variables of a formula."""
        if self.formula is not None:
            return self.formula.effects(self, self.model, names)
        return effects.marginal_effects(self, self.model, self.maximum.columns, names)

    # ---- shown ------------------------------------------------------------------------------------------------

    def heading(self) -> list[tuple[str, str]]:
        """What stands above the coefficients."""
        test, k = self.against_null(), len(self.names)
        numbers = (self.null_log_likelihood, self.aic, self.bic)
        null, aic, bic = ("none" if value is None else f"{value:.3f}" for value in numbers)
        found = {
            "Dep. Variable:": self.outcome, "No. Observations:": str(self.records),
            "Model:": f"Randomised {self.model.link.name.capitalize()}", "Df Residuals:": str(self.records - k),
            "Method:": f"MLE, {self.model.climbs}", "Df Model:": str(k - self._alone.size),
            "Designs:": str(self.model.designs),
            "Log-Likelihood:": f"{self.log_likelihood:.3f}", "Iterations:": str(self.iterations),
            "LL-Null:": null, "Covariance Type:": self.kind,
            "LLR p-value:": "none" if test is None else f"{test.p_value:.4g}", "AIC:": aic, "BIC:": bic,
        }  # fmt: skip
        if self.sample is not None and self.kind in ("survey", "replicates"):
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
            "designs": self.model.designs,
            "clusters": self.sample.units if self.sample is not None and self.sample.clustered else None,
            "weights": self.weights_kind,
            "null_log_likelihood": self.null_log_likelihood,
            "aic": self.aic,
            "bic": self.bic,
        }


def _made(found: Maximum, kind: str, weights: str, intercept: bool, outcome: str) -> LikelihoodFit:
    link, sample, alone, df = found.model.link, found.sample, None, found.df
    people = int(found.model.people) if weights == "repeats" else found.model.n
    told = nearly_dependent(found.triangle, found.columns)
    if sample is not None:
        people = int(np.count_nonzero(sample.weights))
        told += few_clusters(sample, int(df))
    if sample is not None and sample.clustered:
        rows, basis = found.scaled.stacked(found.inverse)
        alone = shown_by_one(rows, np.tile(sample.unit, len(rows) // found.model.n), basis)
    return LikelihoodFit(
        f"Randomised {link.title}", people, found.names, found.coefficients,
        {one: partial(found.covariance, one) for one in found.model.covariances}, kind, df, told=tuple(told),
        alone=alone,
        log_likelihood=found.log_likelihood, iterations=found.iterations, outcome=outcome,
        scale_words=f" ({link.scale})", basis=found.inverse, profile=found.profile, odds=link.odds,
        maximum=found, weights_kind=weights, intercept=intercept,
    )  # fmt: skip


def fit(
    answers: Any,
    data: Any,
    design: Any,
    *,
    link: str = "logit",
    outcome: str | None = None,
    labels: Sequence[str] = (),
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    population: Any = None,
    replicates: Replicates | str | None = None,
    among: Any = None,
    repeats: Any = None,
    names: Sequence[str] | None = None,
    intercept: bool = True,
    covariance: str | None = None,
    start: Any = None,
) -> Fit:
    """Regression of a randomised answer on covariates, by "logit", "probit" or the "identity" (linear probability); of
    a choice "multinomial" (against the first option) or "ordinal" (options in their order).

    `answers` are one per record and `data` their covariates (a matrix, a frame of numbers, a mapping); an intercept is
    put first unless `intercept` is False.  Or `answers` is a formula such as "answer ~ age + C(region)" and `data` a
    pandas frame; design, weights, repeats, clusters, strata, population and among may then be names of its columns.
    `design` is one Design, or one for each record; of a choice one SetDesign, whose options `labels` name.  `outcome`
    is "yes/no", "multinomial" or "ordinal"; None: yes/no, of more options multinomial.  `weights` are how many people
    who were not asked a record stands for; their scale does not matter, and they may be calibrated (`rake`,
    `post_stratify`).  `repeats` are whole numbers: how many equal records one stands for.  `clusters` and `strata` name
    those of every record; `population` and `replicates` are as in `sampling.estimate`.  `among` is True for the records
    of a part of the people: the fit is theirs, and the others stay in the sample.

    >>> from rrcollect import Design, SetDesign, optimal_design
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
    >>> sets = SetDesign(3, 1, "3/4")
    >>> how = {"repeats": [200, 130, 170, 120, 150, 230], "labels": ["never", "once", "often"]}
    >>> drawn = fit(["100", "010", "001"] * 2, [0, 0, 0, 1, 1, 1], sets, names=["x"], outcome="ordinal", **how)
    >>> drawn.names, drawn.coefficients.round(4).tolist()
    (('x', 'never | once', 'once | often'), [0.9619, -0.3234, 0.7589])
    """
    formula = None
    called = "answer"
    if isinstance(answers, str):
        formula = effects.Formula.of(answers, data)
        answers, data, called = data[formula.outcome], formula.matrix, formula.outcome
        names, intercept = formula.names, False
        given = (design, repeats, weights, clusters, strata, population, among)
        design, repeats, weights, clusters, strata, population, among = map(formula.column, given)
    how = {"weights": weights, "strata": strata, "clusters": clusters, "population": population}
    sampled = Sampled(how, replicates, among)
    if repeats is not None and sampled.kind:
        raise ParameterError("repeats", "given with weights, or with how the people were drawn", "repeats alone")
    if link == "identity":
        if repeats is not None or start is not None or outcome not in (None, OUTCOMES[0]):
            allowed = "'logit' or 'probit' for repeats and for a start, 'logit' for a choice"
            raise ParameterError("link", link, allowed)
        r = unbiased_values(answers, design)
        x = named_covariates(data, r.size, names, (INTERCEPT,) if intercept else ())
        made = replace(linear_probability(r, x, intercept, sampled), outcome=called)
        return made if covariance is None else made.using(covariance)
    model = _model(answers, data, design, (outcome, link, labels), repeats)
    columns = column_names(data, model.width, names, () if formula is not None else (INTERCEPT,))
    if intercept:
        wide = np.column_stack([np.ones(model.n), model.covariates])
        model, columns = replace(model, covariates=wide), [INTERCEPT, *columns]
    if not columns:
        raise ParameterError("covariates", "no columns", "one or more, or intercept=True")
    model.check(columns, sampled.how)
    first = None if start is None else vector_of("start", start, model.size)
    sample = sampled.sample(model.n)
    if sample is not None and sampled.weighted:
        model = replace(model, weights=sample.weights)
    found = Maximum.of(
        model, tuple(columns), first,
        weighted=sampled.weighted, sample=sample, replicates=sampled.replicates(sample),
    )  # fmt: skip
    told = "sampling" if sampled.weighted else "none" if repeats is None else "repeats"
    made = replace(_made(found, sampled.kind or model.covariances[0], told, intercept, called), formula=formula)
    return made if covariance is None else made.using(covariance)


def _model(
    answers: Any, data: Any, design: Any, asked: tuple[str | None, str, Sequence[str]], repeats: Any
) -> Outcome | Options:
    """The records of an outcome with its link and its labels."""
    outcome, link, labels = asked
    if outcome is None:
        yes_no = each_its_own(design) or checked_design(design).truths == 2
        outcome = OUTCOMES[0] if yes_no else OUTCOMES[1]
    model: Outcome | Options
    if outcome == OUTCOMES[0]:
        if labels:
            raise ParameterError("labels", list(labels), "nothing for yes and no")
        model = replace(Outcome.of(answers, data, design, repeats), link=checked_link(link))
    else:
        model = Options.of(answers, data, design, checked_law(outcome, link), labels=labels, repeats=repeats)
    if model.n == 0:
        raise ParameterError("answers", "0 records", "one or more")
    return model
