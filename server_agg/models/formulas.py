"""Regression by formula: "answer ~ age + C(region)" on a data frame (extra `analysis`).

Formulas are read by formulaic, in R's notation.  Missing values are refused, not dropped: who did not answer is a
question for the researcher, not for a default.

A fit by formula predicts from a data frame, and its average marginal effects are those of *variables*, not of columns:
the formula is evaluated again with the variable moved, so that interactions, splines and powers are counted right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.errors import ParameterError
from rrcollect.lazy import extra
from server_agg.models.effects import Effects, contrast

if TYPE_CHECKING:
    from server_agg.models.columns import Floats
    from server_agg.models.fits import Fit
    from server_agg.models.outcome import Outcome


@dataclass(frozen=True, eq=False)
class Formula:
    """A formula with the data that it was first read from."""

    outcome: str
    names: list[str]
    matrix: Floats
    spec: Any
    data: Any

    @classmethod
    def of(cls, formula: str, data: Any) -> Formula:
        """The formula for this frame."""
        library = extra("formulaic", "analysis")
        if "~" not in formula:
            raise ParameterError("formula", formula, "a text such as 'answer ~ age + C(region)'")
        outcome, right = (part.strip() for part in formula.split("~", 1))
        columns = list(getattr(data, "columns", []))
        if outcome not in columns:
            raise ParameterError("outcome", outcome, f"a column of the data: {columns}")
        try:
            matrix = library.Formula(right).get_model_matrix(data, na_action="raise")
        except Exception as error:  # formulaic raises its own errors, and Python's, for names and values it cannot use
            allowed = f"a formula for columns without missing values ({error})"
            raise ParameterError("formula", formula, allowed) from error
        names = [str(name) for name in matrix.columns]
        return cls(outcome, names, np.asarray(matrix, dtype=np.float64), matrix.model_spec, data)

    def column(self, given: Any) -> Any:
        """A column of the frame by its name, or what was given itself."""
        return self.data[given] if isinstance(given, str) and given in self.data.columns else given

    def rows(self, frame: Any) -> Floats:
        """The model matrix of another frame."""
        try:
            found = self.spec.get_model_matrix(frame, na_action="raise")
        except Exception as error:
            allowed = f"a frame the formula can be read from ({error})"
            raise ParameterError("data", type(frame).__name__, allowed) from error
        return np.ascontiguousarray(found.to_numpy(), dtype=np.float64)

    def effects(self, fit: Fit, model: Outcome, names: Sequence[str] | None) -> Effects:
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
                high, low = (self.rows(self.data.assign(**{name: column + d})) for d in (half, -half))
                found.append(contrast(fit, model, name, "slope", (high, low), over=2 * half))
                continue
            low = self.rows(self.data.assign(**{name: values[0]}))
            for value in values[1:]:
                high = self.rows(self.data.assign(**{name: value}))
                label = name if len(values) == 2 else f"{name}[{value}]"
                found.append(contrast(fit, model, label, f"{values[0]} to {value}", (high, low)))
        return Effects(tuple(found), "prevalence", fit.kind)
