"""What a caller gives record by record (designs, numbers, covariates) as arrays, checked; refused with its position.

Rules
1. Nothing missing is skipped: NaN, infinity, None and text are refused, and the error says where the first one is.
2. Designs are kept once each, and records point to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.errors import NotIdentified
from server_agg.sampling.values import distinct_designs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

INFLATED = 1e8
ALONE = 1e-9


def probabilities(design: Any, n: int) -> tuple[Floats, NDArray[np.intp]]:
    """The distinct designs' probabilities and every record's place among them.

    `design` is one `Design`, or one for each of n records.  Row d of the table holds (1−p00, p11, p00, 1−p11).
    """
    found, places = distinct_designs(design, n)
    return np.array([_row(one) for one in found]).reshape(-1, 4), places


def each_its_own(design: Any) -> bool:
    """Whether it is a design for each record, and not one."""
    return isinstance(design, Iterable) and not isinstance(design, str)


def _row(design: Design) -> tuple[float, float, float, float]:
    return float(1 - design.p00), float(design.p11), float(design.p00), float(1 - design.p11)


def vector_of(name: str, given: Any, n: int | None = None, *, least: float = -1e100) -> Floats:
    """`given` as finite numbers, one for each record; refused otherwise, with the first wrong one and its place."""
    try:
        array = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
        if array.dtype.kind == "O" and any(isinstance(x, str) for x in array.flat):
            raise ValueError
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ParameterError(name, given, "numbers") from None
    if array.ndim != 1 or (n is not None and array.size != n):
        raise ParameterError(name, f"an array of shape {array.shape}", f"one number for each of {n} records")
    wrong = np.flatnonzero(~((array >= least) & (array <= 1e100)))
    if wrong.size:
        allowed = f"a finite number{', 0 or more' if least == 0 else ''}; leave out records with missing values"
        raise ParameterError(f"{name} of record {wrong[0]}", float(array[wrong[0]]), allowed)
    return array


def names_of(given: Any) -> list[str] | None:
    """The names of covariates that have some: the columns of a frame, the keys of a mapping."""
    named = given if isinstance(given, Mapping) else getattr(given, "columns", None)
    return None if named is None else [str(name) for name in named]


def matrix_of(given: Any, n: int) -> Floats:
    """Covariates as a matrix of n rows of finite numbers: a matrix, a frame, a mapping of names to columns; one
    covariate may be given as a plain vector, none as None."""
    if given is None:
        return np.empty((n, 0))
    if isinstance(given, Mapping):
        columns = [vector_of(f"covariate {name}", column, n) for name, column in given.items()]
        return np.column_stack(columns) if columns else np.empty((n, 0))
    array = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[0] != n:
        raise ParameterError("covariates", f"an array of shape {array.shape}", f"{n} rows, one for each answer")
    if array.dtype.kind not in "biuf":
        columns = [vector_of(f"covariate {j}", array[:, j], n) for j in range(array.shape[1])]
        array = np.column_stack(columns) if columns else np.empty((n, 0))
    matrix = np.ascontiguousarray(array, dtype=np.float64)
    # a sum is finite only if its terms are: the full search is made when it is needed
    if not np.isfinite(matrix.sum()) or (matrix.size and np.abs(matrix).max() > 1e100):
        for j in range(matrix.shape[1]):
            vector_of(f"covariate {j}", matrix[:, j], n)
    return matrix


def column_names(covariates: Any, size: int, names: Sequence[str] | None, taken: Sequence[str]) -> list[str]:
    """The names of `size` covariates: those given, their own, or x1, x2, …; none of the taken ones."""
    names = names_of(covariates) if names is None else names
    columns = [f"x{j + 1}" for j in range(size)] if names is None else [str(name) for name in names]
    if len(columns) != size or len({*columns, *taken}) != size + len(taken):
        others = " or ".join(filter(None, [", ".join(map(repr, taken[:-1])), *map(repr, taken[-1:])]))
        raise ParameterError(
            "names", names, f"{size} different names, one per covariate" + f", none {others}" * bool(taken)
        )
    return columns


def named_covariates(
    covariates: Any, n: int, names: Sequence[str] | None, taken: Sequence[str]
) -> tuple[Floats, list[str]]:
    """Covariates as a matrix with a name per column."""
    x = matrix_of(covariates, n)
    return x, column_names(covariates, x.shape[1], names, taken)


def shown_by_one(orthonormal: Floats, unit: NDArray[np.intp], basis: Floats) -> Callable[[Floats], NDArray[np.bool_]]:
    """Of combinations rowᵀβ, β = basis·γ, those that one cluster alone shows: without it they could not be told, and
    the spread of clusters shows no standard error.  Of each cluster the squares of its rows add up to a matrix with the
    eigenvalue 1 in these directions of γ, so its trace is 1 or more."""
    found = [np.empty((orthonormal.shape[1], 0))]
    for one in np.flatnonzero(np.bincount(unit, (orthonormal**2).sum(axis=1)) > 1 - ALONE):
        rows = orthonormal[unit == one]
        values, vectors = np.linalg.eigh(rows.T @ rows)
        found.append(vectors[:, values > 1 - ALONE])
    directions = np.hstack(found)

    def alone(rows: Floats) -> NDArray[np.bool_]:
        ways = rows @ basis
        far = np.abs(ways @ directions) > 1e-6 * np.linalg.norm(ways, axis=1)[:, None]
        return np.asarray(far.any(axis=1), np.bool_)

    return alone


def nearly_dependent(triangle: Floats, names: Sequence[str]) -> list[str]:
    """A sentence on covariates that are nearly combinations of others, from R of their QR decomposition, the intercept
    first: their variance inflation is beyond `INFLATED`."""
    apart = triangle[1:, 1:]
    norms = np.sqrt((apart**2).sum(axis=0))
    if not norms.size or not norms.all():
        return []
    inflation = (np.linalg.inv(apart / norms) ** 2).sum(axis=1)
    near = [name for name, factor in zip(names[1:], inflation, strict=True) if factor > INFLATED]
    worse = f"with standard errors up to {math.sqrt(float(inflation.max())):.0e} times what one alone would have"
    return [f"{', '.join(near)}: nearly combinations of one another, {worse}"] if near else []


def checked_rank(z: Floats, columns: Sequence[str]) -> None:
    """Refuses covariates that are combinations of others."""
    if np.linalg.matrix_rank(z / np.maximum(np.abs(z).max(axis=0), 1e-300)) < z.shape[1]:
        raise NotIdentified(
            f"the covariates {', '.join(columns)} and the intercept are linearly dependent; leave one out"
        )
