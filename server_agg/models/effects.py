"""From coefficients to shares of people: predicted prevalence with bars, and average marginal effects.

    predicted prevalence    s = s(zᵀβ̂) by the link; its bar is the image of zᵀβ̂ ∓ z·SE, so it stays in (0, 1)
    average marginal effect of a covariate: the mean over the records (weighted as they were fitted) of
        ∂s/∂z_j = s'β_j                a covariate with more than two values
        s(z_j = 1) − s(z_j = 0)        a covariate that is 0 or 1
    with the delta method's standard error, the covariates taken as fixed.
Effects are on the truth's prevalence, not on the randomised answer's rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from server_agg.estimates.methods import wald_interval
from server_agg.estimates.numerics import t_quantile, t_tail
from server_agg.models.columns import matrix_of, names_of
from server_agg.models.summary import Coefficient, coefficient_dicts, coefficient_table
from server_agg.report.result import Result
from server_agg.results.interval import Interval, exact_level

if TYPE_CHECKING:
    from server_agg.models.columns import Floats
    from server_agg.models.regression import LogisticFit


@dataclass(frozen=True)
class Prediction(Result):
    """The prevalence among people with these covariates."""

    prevalence: float
    standard_error: float
    bar: Interval

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {"prevalence": self.prevalence, "standard_error": self.standard_error, "bar": self.bar.as_dict()}


@dataclass(frozen=True)
class Effect:
    """By how much the prevalence changes, on average over the records."""

    name: str
    kind: str
    value: float
    standard_error: float
    bar: Interval
    freedom: float = math.inf

    @property
    def p(self) -> float:
        """The two-sided p-value of no effect."""
        if not self.standard_error:
            return 1.0
        return min(1.0, 2 * t_tail(abs(self.value) / self.standard_error, self.freedom))


@dataclass(frozen=True)
class Effects(Result):
    """Average marginal effects, one per covariate; `effects["age"]` is one of them."""

    numeric = frozenset(range(1, 7))
    tidy, axis, in_percent = "effects", "change of the prevalence (1 = 100 points)", False
    rows: tuple[Effect, ...]
    level: float

    def __getitem__(self, name: str) -> Effect:
        for row in self.rows:
            if row.name == name:
                return row
        raise ParameterError("name", name, f"one of {[row.name for row in self.rows]}")

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        shown = zip(coefficient_dicts(self._rows()), self.rows, strict=True)
        return {"level": self.level, "effects": [row | {"kind": effect.kind} for row, effect in shown]}

    def _rows(self) -> list[Coefficient]:
        return [(e.name, e.value, e.standard_error, e.p, e.bar) for e in self.rows]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The table of text."""
        head, lines = coefficient_table(self._rows(), self.level, what="dy/dx", digits=4)
        return [*head, "kind"], [[*line, e.kind] for line, e in zip(lines, self.rows, strict=True)]


def predict(fit: LogisticFit, covariates: Any, level: NumberLike = 0.95, kind: str | None = None) -> list[Prediction]:
    """The prevalence for each row of covariates, which are those of the fit without the intercept it added: the columns
    of a frame by their names, those of an array by position."""
    wanted = list(fit.names[1:] if fit.intercept else fit.names)
    if names_of(covariates) is not None:
        covariates = _by_name(covariates, wanted)
    given = np.atleast_2d(np.asarray(covariates.to_numpy() if hasattr(covariates, "to_numpy") else covariates))
    rows = matrix_of(given, len(given))
    if rows.shape[1] != len(wanted):
        raise ParameterError("covariates", f"an array of shape {given.shape}", f"a column for each of {wanted}")
    if fit.intercept:
        rows = np.column_stack([np.ones(len(rows)), rows])
    return predictions(fit, rows, level, kind)


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


def predictions(fit: LogisticFit, rows: Floats, level: NumberLike, kind: str | None) -> list[Prediction]:
    """The same for rows of the full model matrix."""
    exact = exact_level(level)
    z = t_quantile((1 - exact) / 2, fit.freedom(kind))
    eta, curve = rows @ fit.coefficients, fit.model.link.curve
    error = fit.deviations(rows, kind)
    at, low, high = curve(eta), curve(eta - z * error).share, curve(eta + z * error).share
    method = f"wald on the {fit.model.link.scale.replace(' ', '-')}"
    covered = "prevalence among people with these covariates"
    return [
        Prediction(float(a), float(b), Interval((float(c), float(d)), method=method, level=level, target=covered))
        for a, b, c, d in zip(at.share, at.steep * error, low, high, strict=True)
    ]


def contrast(
    fit: LogisticFit,
    name: str,
    kind: str,
    high: Floats,
    low: Floats,
    *,
    over: float,
    level: NumberLike,
    covariance: str | None,
) -> Effect:
    """The mean of (s(high) − s(low))/over, where `high` and `low` are two versions of the model matrix."""
    weights = np.ones(fit.model.n) if fit.model.weights is None else fit.model.weights
    share = weights / weights.sum() / over
    up, down = (fit.model.link.curve(x @ fit.coefficients) for x in (high, low))
    value = float(share @ (up.share - down.share))
    slope = (share * up.steep) @ high - (share * down.steep) @ low
    return _effect(fit, name, kind, value, slope, level=level, covariance=covariance)


def _effect(
    fit: LogisticFit, name: str, kind: str, value: float, slope: Floats, *, level: NumberLike, covariance: str | None
) -> Effect:
    error = float(fit.deviations(slope[None, :], covariance)[0])
    freedom = fit.freedom(covariance)
    bar = wald_interval(value, error, level, f"average effect of {name}", freedom=freedom)
    return Effect(name, kind, value, error, bar, freedom)


def marginal_effects(
    fit: LogisticFit, names: Sequence[str] | None, level: NumberLike = 0.95, kind: str | None = None
) -> Effects:
    """The average marginal effect of every covariate (or of those named), column by column."""
    x = fit.model.covariates
    weights = np.ones(fit.model.n) if fit.model.weights is None else fit.model.weights
    share = weights / weights.sum()
    at = fit.model.link.curve(x @ fit.coefficients)
    steep = share * at.steep
    found = []
    for name in [n for n in fit.names if n not in ("intercept", "Intercept")] if names is None else names:
        j = fit.place(name)
        if np.isin(x[:, j], (0.0, 1.0)).all():
            high, low = x.copy(), x.copy()
            high[:, j], low[:, j] = 1.0, 0.0
            found.append(contrast(fit, name, "0 to 1", high, low, over=1.0, level=level, covariance=kind))
        else:
            beta = float(fit.coefficients[j])
            slope = (steep * at.bend * beta) @ x
            slope[j] += float(steep.sum())
            value = float(steep.sum()) * beta
            found.append(_effect(fit, name, "slope", value, slope, level=level, covariance=kind))
    return Effects(tuple(found), float(exact_level(level)))
