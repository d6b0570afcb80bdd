"""The linear probability model, and several randomised predictors at once: both from moments, in closed form.

    linear probability     E(truth | x) = xᵀβ, so E(r | x) = xᵀβ: least squares of the unbiased values
    several predictors     y = a0 + Σ a_j t_j + xᵀa + e, the truths t_j behind answers to different questions
Nothing is supposed of spreads: the errors are robust, and with weights, clusters or strata those of the survey.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rrcollect.errors import ParameterError
from server_agg.count.tally import answer_array
from server_agg.models.columns import vector_of
from server_agg.models.moments import least_squares, moment_regression
from server_agg.models.predictor import PredictorFit, by_moments, checked_rank, named_covariates
from server_agg.sampling.values import unbiased_values


def fit_linear_probability(
    answers: Any,
    covariates: Any,
    design: Any,
    *,
    names: Sequence[str] | None = None,
    sampling_weights: Any = None,
    clusters: Any = None,
    strata: Any = None,
) -> PredictorFit:
    """The prevalence as a linear function of covariates; an intercept is put first.

    >>> from rrcollect import Design
    >>> fit = fit_linear_probability([1, 0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1], Design(1, 1), names=["x"])
    >>> fit.coefficients.round(6).tolist()                           # shares 1/4 and 3/4
    [0.25, 0.5]
    """
    array = answer_array(answers)
    x, columns = named_covariates(covariates, array.size, names, ("intercept",))
    z = np.column_stack([np.ones(array.size), x])
    if array.size <= z.shape[1]:
        raise ParameterError("answers", f"{array.size} records", f"more than {z.shape[1]}, one for each coefficient")
    checked_rank(z, columns)
    r = unbiased_values(design, array)
    drawn = {"weights": sampling_weights, "clusters": clusters, "strata": strata}
    labels = ["intercept", *columns]
    return by_moments("linear probability", labels, drawn, lambda w: least_squares(r, z, w), array.size)


def fit_with_randomised_predictors(
    outcome: Any,
    predictors: Mapping[str, tuple[Any, Any]],
    covariates: Any = None,
    *,
    names: Sequence[str] | None = None,
    sampling_weights: Any = None,
    clusters: Any = None,
    strata: Any = None,
) -> PredictorFit:
    """Linear regression of `outcome` on the truths behind several randomised answers, {name: (answers, design)}.

    >>> from rrcollect import Design
    >>> direct = Design(1, 1)
    >>> fit = fit_with_randomised_predictors([1, 3, 4, 6, 2, 5], {
    ...     "a": ([0, 0, 1, 1, 0, 1], direct), "b": ([0, 1, 0, 1, 0, 1], direct)})
    >>> fit.coefficients.round(6).tolist()
    [1.5, 2.5, 1.5]
    """
    if not predictors:
        raise ParameterError("predictors", {}, "one or more: {name: (answers, design)}")
    y = vector_of("outcome", outcome)
    columns = []
    for name, (answers, design) in predictors.items():
        array = answer_array(answers)
        if array.size != y.size:
            raise ParameterError(f"answers of {name}", f"{array.size} answers", f"one for each of {y.size} records")
        columns.append(unbiased_values(design, array))
    r = np.column_stack(columns)
    taken = ["intercept", *map(str, predictors)]
    x, labels = named_covariates(covariates, y.size, names, taken)
    if y.size <= len(taken) + len(labels):
        raise ParameterError(
            "outcome", f"{y.size} records", f"more than {len(taken) + len(labels)}, one per coefficient"
        )
    checked_rank(np.column_stack([np.ones(y.size), x]), labels)
    drawn = {"weights": sampling_weights, "clusters": clusters, "strata": strata}
    return by_moments("several predictors", [*taken, *labels], drawn, lambda w: moment_regression(y, r, x, w), y.size)
