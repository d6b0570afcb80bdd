"""A randomised answer as the *explanation* of another, openly known variable.

    linear     E(y | truth t, x) = a0 + a_t t + xᵀa                nothing more is supposed of y (see `moments`)
    normal     y | t, x  ~  N(a0 + a_t t + xᵀa, σ²)                the same line, and a normal law of the same spread
    logistic   y | t, x  ~  Bernoulli(σ(a0 + a_t t + xᵀa))         y is 0 or 1
    answer | t ~  the design matrix                                the noise depends on the truth alone
    several    y = a0 + Σ a_j t_j + xᵀa + e                        the truths t_j behind answers to different questions
Normal and logistic fit the truth's own model t | x ~ Bernoulli(σ(d0 + xᵀd)) with the outcome's (see `joint`).

The normal model has narrower bars, and takes them from the shape of y: a skewed y is explained as two groups of people,
whatever the answers say, and an effect is found where there is none.  Its check compares its a_t with the one from
moments, which does not depend on the shape (Hausman's test): a small p says that the assumption, not the answers, made
the difference.  A large one does not prove the assumption.
Regressing y on the answers themselves shrinks a_t towards 0 (a planted bug in the tests).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.errors import ParameterError
from server_agg.count.tally import answer_array
from server_agg.errors import NoInformation
from server_agg.models.columns import checked_rank, named_covariates, vector_of
from server_agg.models.fits import INTERCEPT, Fit, chi_squared
from server_agg.models.joint import JointLikelihood, joint_maximum
from server_agg.models.moments import MomentRegression, by_moments, moment_regression
from server_agg.models.sampled import Sampled
from server_agg.results.row import Test
from server_agg.sampling.values import unbiased_values

if TYPE_CHECKING:
    from server_agg.models.columns import Floats

KINDS = ("linear", "normal", "logistic")
SEVERAL = (
    "the mean of the outcome is linear in the truths and the covariates, without products of truths; the answers of "
    "one person to different questions were drawn apart"
)
ASSUMPTIONS = {
    "linear": "the mean of the outcome is linear in the truth and the covariates",
    "normal": "the outcome is normal around its line, with one spread for both truths; skewness is taken for an effect",
    "logistic": "the log-odds of the outcome are linear in the truth and the covariates, those of the truth too",
}
TRUTH = "truth"
NO_CHECK = "; no check: moments find no slope"


def fit_predictor(
    outcome: Any,
    answers: Any,
    design: Any = None,
    covariates: Any = None,
    *,
    kind: str = "linear",
    names: Sequence[str] | None = None,
    weights: Any = None,
    clusters: Any = None,
    strata: Any = None,
) -> Fit:
    """Linear or logistic regression of an open `outcome` on the truth behind randomised answers, and on covariates.

    The coefficient named "truth" is the difference the attribute makes.  Several answers of each person are given as
    {name: (answers, design)}; their coefficients have these names, and `kind` is "linear".  "linear" supposes nothing
    of the outcome's shape; "normal" is narrower, and wrong where the outcome is not normal around its line.  Weights,
    clusters and strata are for "linear".  The coefficients of the truth's own model, where there is one, are marked
    "truth ~ ".

    >>> from rrcollect import Design, optimal_design
    >>> from server_agg.models.simulation import simulate_survey
    >>> survey = simulate_survey(2000, [-0.5], optimal_design(2), seed=3)
    >>> noise = np.random.default_rng(4).standard_normal(2000)
    >>> fit = fit_predictor(1 + 2 * survey.truths + noise, survey.answers, optimal_design(2))
    >>> round(fit["truth"].value, 2), round(fit["truth"].standard_error, 2)
    (1.96, 0.07)
    >>> direct = Design(1, 1)
    >>> fit = fit_predictor([1, 3, 4, 6, 2, 5], {"a": ([0, 0, 1, 1, 0, 1], direct), "b": ([0, 1, 0, 1, 0, 1], direct)})
    >>> fit.coefficients.round(6).tolist()
    [1.5, 2.5, 1.5]
    """
    if kind not in KINDS:
        raise ParameterError("kind", kind, f"one of {', '.join(KINDS)}")
    several = isinstance(answers, Mapping)
    if several and (design is not None or kind != "linear"):
        raise ParameterError("answers", "several", "kind 'linear', and a design with each: {name: (answers, design)}")
    if several and not answers:
        raise ParameterError("answers", {}, "one or more: {name: (answers, design)}")
    predictors = answers if several else {TRUTH: (answers, design)}
    y = vector_of("outcome", outcome, None if several else answer_array(answers).size)
    drawn = {"weights": weights, "clusters": clusters, "strata": strata}
    if kind != "linear" and any(given is not None for given in drawn.values()):
        raise ParameterError("kind", kind, "'linear' for weights, clusters and strata")
    r = np.column_stack([_values(name, given, y.size) for name, given in predictors.items()])
    if kind == "logistic" and not np.isin(y, (0.0, 1.0)).all():
        raise ParameterError("outcome", float(y[~np.isin(y, (0.0, 1.0))][0]), "0 or 1, for a logistic regression")
    slopes = [str(name) for name in predictors]
    taken = (INTERCEPT, *slopes) if several else (INTERCEPT, TRUTH, "log sigma")
    x, columns = named_covariates(covariates, y.size, names, taken)
    labels = [INTERCEPT, *slopes, *columns]
    size = len(labels) if kind == "linear" else 2 * len(columns) + 3 + (kind == "normal")
    if y.size <= size:
        raise ParameterError("outcome", f"{y.size} records", f"more than {size}, one for each parameter")
    z = np.column_stack([np.ones(y.size), x])
    checked_rank(z, columns)
    if y.min() == y.max():
        raise NoInformation(f"the outcome is {float(y[0]):g} in every record: nothing can explain it")
    if kind == "linear":
        assumption = SEVERAL if several else ASSUMPTIONS[kind]
        regressed = partial(moment_regression, y, r, z)
        columns_of = np.hstack([z[:, :1], r, z[:, 1:]])
        found = by_moments("Linear", labels, Sampled(drawn), regressed, columns=columns_of, assumption=assumption)
        return replace(found, outcome="outcome")
    joint = JointLikelihood(y, answer_array(answers), design, x, kind)
    theta, level, steps = joint_maximum(joint)
    labels += [*(["log sigma"] if kind == "normal" else []), *(f"truth ~ {name}" for name in [INTERCEPT, *columns])]
    bread = np.asarray(np.linalg.inv(joint.information(theta)), np.float64)
    influence = joint.scores(theta) @ bread
    checks: tuple[Test, ...] = ()
    if kind == "normal":
        with suppress(NoInformation):  # moments find no slope
            checks = (_check(moment_regression(y, r, z), float(theta[1]), influence[:, 1]),)
    return Fit(
        kind.capitalize(), int(y.size), tuple(labels), theta,
        {"observed": lambda: bread, "sandwich": lambda: influence.T @ influence}, "observed",
        log_likelihood=level, iterations=steps, checks=checks, outcome="outcome",
        assumption=ASSUMPTIONS[kind] + NO_CHECK * (kind == "normal" and not checks),
    )  # fmt: skip


def _values(name: str, given: tuple[Any, Any], n: int) -> Floats:
    found = unbiased_values(*given)
    if found.size != n:
        raise ParameterError(f"answers of {name}", f"{found.size} answers", f"one for each of {n} records")
    return found


def _check(free: MomentRegression, effect: float, influence: Floats) -> Test:
    """Hausman's test of the effect by the normal model against the one by moments."""
    apart = influence - free.influence[:, 1]
    variance = float(apart @ apart)
    alike = variance < 1e-8 * float(influence @ influence)  # answers without noise: one and the same regression
    statistic = 0.0 if alike else (effect - float(free.coefficients[1])) ** 2 / variance
    return chi_squared("the normal law does not shape the effect", "Hausman", statistic, 1)
