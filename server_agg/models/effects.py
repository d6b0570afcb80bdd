"""From coefficients to shares of people: predicted prevalence with bars, and average marginal effects.

    predicted prevalence    s = s(zᵀβ̂) by the link; its bar is the image of zᵀβ̂ ∓ z·SE, so it stays in (0, 1)
    average marginal effect of a covariate: the mean over the records (weighted as they were fitted) of
        ∂s/∂z_j = s'β_j                a covariate with more than two values
        s(z_j = 1) − s(z_j = 0)        a covariate that is 0 or 1
    with the delta method's standard error, the covariates taken as fixed.
Effects are on the truth's prevalence, not on the randomised answer's rate; of a choice on the share of each option.

By formula ("answer ~ age + C(region)" on a data frame, extra `analysis`).  Formulas are read by formulaic, in R's
notation.  Missing values are refused, not dropped: who did not answer is a question for the researcher, not for a
default.  A fit by formula predicts from a data frame, and its average marginal effects are those of *variables*, not of
columns: the formula is evaluated again with the variable moved, so that interactions, splines and powers are counted
right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from rrcollect.lazy import extra
from server_agg.estimates.methods import checked_method
from server_agg.estimates.numerics import t_quantile
from server_agg.models.columns import matrix_of, names_of
from server_agg.models.covariates import Averaged
from server_agg.models.fits import INTERCEPT, Fit, tested, wald_bar
from server_agg.results.findings import Findings
from server_agg.results.interval import Interval, exact_level
from server_agg.results.row import SHARES, Row, Scale

if TYPE_CHECKING:
    from server_agg.models.columns import Floats
    from server_agg.models.covariates import Predicted
    from server_agg.models.options import Options
    from server_agg.models.outcome import Outcome

    AnyOutcome = Outcome | Options

COVERED = "prevalence among people with these covariates"
CHANGE = Scale(axis="change of the prevalence (1 = 100 points)")


def _found(rows: Sequence[Row], target: str, fit: Fit) -> Findings:
    """Rows with their standard errors, and what kind of effect each is."""
    heads = {"std err": ["none" if row.standard_error is None else f"{row.standard_error:.4f}" for row in rows]}
    heads |= {name: [str(row.extras[name]) for row in rows] for name in (rows[0].extras if rows else ())}
    return Findings(tuple(rows), target, {"covariance": fit.kind}, heads=heads)


def wanted_rows(covariates: Any, names: Sequence[str], intercept: bool) -> Floats:
    """Rows of the model matrix from covariates without the intercept that the fit added: the columns of a frame by
    their names, those of an array by position."""
    wanted = list(names[1:] if intercept else names)
    if names_of(covariates) is not None:
        covariates = _by_name(covariates, wanted)
    given = np.atleast_2d(np.asarray(covariates.to_numpy() if hasattr(covariates, "to_numpy") else covariates))
    rows = matrix_of(given, len(given))
    if rows.shape[1] != len(wanted):
        raise ParameterError("covariates", f"an array of shape {given.shape}", f"a column for each of {wanted}")
    return np.column_stack([np.ones(len(rows)), rows]) if intercept else rows


def _by_name(frame: Any, wanted: list[str]) -> Any:
    """The frame's columns in the order of the fit; foreign and missing ones are refused."""
    columns = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
    there = {str(name): name for name in columns}
    if set(there) != set(wanted) or len(there) != len(columns):
        missing, foreign = [x for x in wanted if x not in there], [x for x in there if x not in wanted]
        fault = "; ".join(f"{words} {names}" for words, names in (("without", missing), ("with", foreign)) if names)
        raise ParameterError("covariates", f"a frame {fault or 'with a name twice'}", f"exactly the columns {wanted}")
    if isinstance(frame, Mapping):
        return np.column_stack([np.asarray(frame[there[name]], np.float64) for name in wanted])
    return frame[[there[name] for name in wanted]]


def predictions(fit: Fit, model: AnyOutcome, rows: Floats) -> Findings:
    """The prevalence, or the share of each option, for rows of the model matrix."""
    columns = [_predicted(fit, each) for each in model.predicted(fit.coefficients, rows)]
    return _found([row for person in zip(*columns, strict=True) for row in person], COVERED, fit)


def _predicted(fit: Fit, found: Predicted) -> list[Row]:
    """The rows of one option, one for each person; `curve` makes shares of η."""
    link, df, errors = found.link, fit.df, fit.deviations(found.ways)
    at, method = link.curve(found.eta), f"wald on the {link.scale.replace(' ', '-')}"

    def row(place: int) -> Row:
        eta, error = float(found.eta[place]), float(errors[place])

        def bar(level: NumberLike, asked: str | None) -> Interval[Any]:
            checked_method("coefficient", asked or "wald")
            z = t_quantile((1 - exact_level(level)) / 2, df)
            ends = link.curve(np.array([eta - z * error, eta + z * error])).share
            return Interval((float(ends[0]), float(ends[1])), method=method, level=level, target=COVERED)

        of_share = float(at.steep[place] * error) if math.isfinite(error) else None
        name = ": ".join(filter(None, [str(place), found.label]))
        return Row(name, fit.records, float(at.share[place]), of_share, bar, scale=SHARES)

    return [row(place) for place in range(len(found.eta))]


def contrast(
    fit: Fit, model: AnyOutcome, name: str, kind: str, matrices: tuple[Floats, Floats], *, over: float = 1.0
) -> list[Row]:
    """The mean of (s(high) − s(low))/over, where `matrices` are high and low, two versions of the model matrix."""
    ends = (model.averaged(fit.coefficients, x, _shares(model) / over) for x in matrices)
    found = [Averaged(up.label, up.value - down.value, up.slope - down.slope) for up, down in zip(*ends, strict=True)]
    return _effects(fit, name, kind, found)


def _shares(model: AnyOutcome) -> Floats:
    weights = np.ones(model.n) if model.weights is None else model.weights
    return np.asarray(weights / weights.sum(), np.float64)


def _effects(fit: Fit, name: str, kind: str, found: Sequence[Averaged]) -> list[Row]:
    """A row for each share."""
    rows, df = [], fit.df
    for label, value, slope in found:
        error, called = float(fit.deviations(slope[None, :])[0]), ": ".join(filter(None, [name, label]))
        bar = wald_bar(value, error, f"average effect of {called}", df=df)
        known, p = error if math.isfinite(error) else None, tested(value, error, df)
        rows.append(Row(called, fit.records, value, known, bar, p, None, CHANGE, {"kind": kind}))
    return rows


def marginal_effects(fit: Fit, model: AnyOutcome, columns: Sequence[str], names: Sequence[str] | None) -> Findings:
    """The average marginal effect of every covariate (or of those named), column by column."""
    x, found = model.covariates, []
    for name in [n for n in columns if n != INTERCEPT] if names is None else names:
        if name not in columns:
            raise ParameterError("name", name, f"one of {list(columns)}")
        j = columns.index(name)
        if np.isin(x[:, j], (0.0, 1.0)).all():
            high, low = x.copy(), x.copy()
            high[:, j], low[:, j] = 1.0, 0.0
            found += contrast(fit, model, name, "0 to 1", (high, low))
        else:
            found += _effects(fit, name, "slope", model.slopes(fit.coefficients, j, _shares(model)))
    return _found(found, "prevalence", fit)


def _pandas(frame: Any) -> Any:
    """A frame of another library (Polars) as one of pandas, column by column."""
    if hasattr(frame, "assign") or not hasattr(frame, "columns"):
        return frame
    return extra("pandas", "analysis").DataFrame({name: frame[name].to_list() for name in frame.columns})


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
        data = _pandas(data)
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
            found = self.spec.get_model_matrix(_pandas(frame), na_action="raise")
        except Exception as error:
            allowed = f"a frame the formula can be read from ({error})"
            raise ParameterError("data", type(frame).__name__, allowed) from error
        return np.ascontiguousarray(found.to_numpy(), dtype=np.float64)

    def effects(self, fit: Fit, model: AnyOutcome, names: Sequence[str] | None) -> Findings:
        """Average marginal effects of variables: slopes of numbers, and each category against the first."""
        used = sorted(str(v) for v in self.spec.required_variables)
        found: list[Row] = []
        for name in used if names is None else names:
            if name not in used:
                raise ParameterError("name", name, f"one of {used}")
            column = self.data[name]
            values = sorted(column.unique())
            if column.dtype.kind in "if" and len(values) > 2:
                half = 1e-4 * float(column.std())
                high, low = (self.rows(self.data.assign(**{name: column + d})) for d in (half, -half))
                found += contrast(fit, model, name, "slope", (high, low), over=2 * half)
                continue
            low = self.rows(self.data.assign(**{name: values[0]}))
            for value in values[1:]:
                high = self.rows(self.data.assign(**{name: value}))
                label = name if len(values) == 2 else f"{name}[{value}]"
                found += contrast(fit, model, label, f"{values[0]} to {value}", (high, low))
        return _found(found, "prevalence", fit)
