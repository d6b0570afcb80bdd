"""What a caller gives record by record (designs, numbers, covariates) as arrays, checked; refused with its position.

Rules
1. Nothing missing is skipped: NaN, infinity, None and text are refused, and the error says where the first one is.
2. Designs are kept once each, and records point to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.sampling.values import distinct_designs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def probabilities(design: Any, n: int) -> tuple[Floats, NDArray[np.intp]]:
    """The distinct designs' probabilities and every record's place among them.

    `design` is one `Design`, or one for each of n records.  Row d of the table holds (1−p00, p11, p00, 1−p11).
    """
    found, places = distinct_designs(design, n)
    return np.array([_row(one) for one in found]).reshape(-1, 4), places


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
