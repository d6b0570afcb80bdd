"""Regression by formula: `fit_logistic_formula("answer ~ age + C(region)", frame, design)` (extra `analysis`).

Formulas are read by formulaic, in R's notation.  Missing values are refused, not dropped: who did not answer is a
question for the researcher, not for a default.  `design` may be one Design, one for each row, or the name of a column
that holds them.

A fit by formula predicts from a data frame, and its average marginal effects are those of *variables*, not of columns:
the formula is evaluated again with the variable moved, so that interactions, splines and powers are counted right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from rrcollect.lazy import extra
from server_agg.models.effects import Effects, Prediction, contrast, predictions
from server_agg.models.regression import LogisticFit, fit_logistic
from server_agg.results.interval import exact_level

if TYPE_CHECKING:
    from server_agg.models.outcome import Floats


@dataclass(frozen=True, eq=False)
class FormulaFit(LogisticFit):
    """A fit that remembers its formula and its data."""

    formula: str = ""
    spec: Any = None
    data: Any = None

    def _rows(self, frame: Any) -> Floats:
        try:
            found = self.spec.get_model_matrix(frame, na_action="raise")
        except Exception as error:
            raise ParameterError(
                "data", type(frame).__name__, f"a frame the formula can be read from ({error})"
            ) from error
        return np.ascontiguousarray(found.to_numpy(), dtype=np.float64)

    def predict(self, covariates: Any, level: NumberLike = 0.95, *, covariance: str | None = None) -> list[Prediction]:
        """The prevalence, with its bar, for each row of a data frame."""
        return predictions(self, self._rows(covariates), level, covariance)

    def marginal_effects(
        self, names: Sequence[str] | None = None, level: NumberLike = 0.95, *, covariance: str | None = None
    ) -> Effects:
        """Average marginal effects of variables: slopes of numbers, and each category against the first."""
        used = sorted(str(v) for v in self.spec.required_variables)
        found = []
        for name in used if names is None else names:
            if name not in used:
                raise ParameterError("name", name, f"one of {used}")
            column = self.data[name]
            values = sorted(column.unique())
            if column.dtype.kind in "if" and len(values) > 2:
                half = 1e-4 * float(column.std())
                high, low = (self._rows(self.data.assign(**{name: column + d})) for d in (half, -half))
                found.append(
                    contrast(self, name, "slope", high, low, over=2 * half, level=level, covariance=covariance)
                )
                continue
            low = self._rows(self.data.assign(**{name: values[0]}))
            for value in values[1:]:
                high = self._rows(self.data.assign(**{name: value}))
                words = f"{values[0]} to {value}"
                label = name if len(values) == 2 else f"{name}[{value}]"
                found.append(contrast(self, label, words, high, low, over=1.0, level=level, covariance=covariance))
        return Effects(tuple(found), float(exact_level(level)))


def fit_logistic_formula(
    formula: str,
    data: Any,
    design: Any,
    *,
    repeats: Any = None,
    sampling_weights: Any = None,
    clusters: Any = None,
    strata: Any = None,
    covariance: str | None = None,
    link: str = "logit",
) -> FormulaFit:
    """Logistic (or by `link` probit) regression of a randomised answer, by formula, on a pandas data frame.

    Weights, clusters and strata are columns of the frame, by their names, or arrays.

    >>> import pandas as pd
    >>> from rrcollect import optimal_design
    >>> frame = pd.DataFrame({"answer": [1, 0] * 3, "x": [-1, -1, 0, 0, 1, 1], "people": [60, 140, 80, 120, 110, 90]})
    >>> fit = fit_logistic_formula("answer ~ x", frame, optimal_design(2), repeats="people")
    >>> {name: round(fit[name], 4) for name in fit.names}
    {'Intercept': -0.4841, 'x': 0.7231}
    """
    library = extra("formulaic", "analysis")
    if not isinstance(formula, str) or "~" not in formula:
        raise ParameterError("formula", formula, "a text such as 'answer ~ age + C(region)'")
    outcome = formula.split("~", 1)[0].strip()
    columns = list(getattr(data, "columns", []))
    if outcome not in columns:
        raise ParameterError("outcome", outcome, f"a column of the data: {columns}")
    try:
        matrix = library.Formula(formula.split("~", 1)[1]).get_model_matrix(data, na_action="raise")
    except Exception as error:  # formulaic raises its own errors, and Python's, for names and values it cannot use
        raise ParameterError("formula", formula, f"a formula for columns without missing values ({error})") from error
    matrices = data[design] if isinstance(design, str) and design in columns else design
    counted, stands, units, layers = (
        data[x] if isinstance(x, str) and x in columns else x for x in (repeats, sampling_weights, clusters, strata)
    )
    names = [str(name) for name in matrix.columns]
    fit = fit_logistic(
        data[outcome],
        np.asarray(matrix, dtype=np.float64),
        matrices,
        names=names,
        intercept=False,
        repeats=counted,
        sampling_weights=stands,
        clusters=units,
        strata=layers,
        link=link,
        covariance=covariance,
    )
    kept = {field.name: getattr(fit, field.name) for field in fields(fit)}
    return FormulaFit(**{**kept, "outcome": outcome}, formula=formula, spec=matrix.model_spec, data=data)
