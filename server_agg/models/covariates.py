"""What every model of an outcome is: rows of covariates with weights, and what `fitting` and `effects` ask of it.

Rows are walked in blocks that fit the processor's cache and are too small for the linear-algebra library to split among
threads: on a busy machine its threads would wait for each other longer than they work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rrcollect.errors import ParameterError
from server_agg.models.columns import vector_of

if TYPE_CHECKING:
    from typing import Self

    from server_agg.models.columns import Floats
    from server_agg.models.links import Link

BLOCK = 8000  # numbers of a block of covariates
COVARIANCES = ("expected", "observed", "outer", "sandwich", "survey", "replicates")  # see `inference`; first: the usual


def checked_repeats(n: int, repeats: Any) -> Floats | None:
    """How many equal records each stands for."""
    if repeats is None:
        return None
    given = vector_of("repeats", repeats, n, least=0)
    for place in np.flatnonzero(given != np.floor(given))[:1]:
        allowed = "a whole number: how many equal records it stands for; those of a survey are weights"
        raise ParameterError(f"repeats of record {place}", float(given[place]), allowed)
    return given


class Derivatives(NamedTuple):
    """ℓ, its gradient, and minus its Hessian (expected or observed)."""

    log_likelihood: float
    gradient: Floats
    information: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Covariates:
    """One row per record, walked in blocks (see above), and the weights of the records.

    A model of an outcome adds `size` coefficients, of `width` columns, and what `fitting` climbs: `derivatives`,
    `log_likelihood`, `reach`, `best_information`, and `lifted`, which makes R⁻¹ one for the coefficients.
    """

    covariates: Floats
    weights: Floats | None = None

    @property
    def n(self) -> int:
        """Records."""
        return len(self.covariates)

    @property
    def width(self) -> int:
        """Columns."""
        return int(self.covariates.shape[1])

    @property
    def people(self) -> float:
        """The sum of the weights; the number of records if there are none."""
        return float(self.n if self.weights is None else self.weights.sum())

    def transformed(self, by: Floats) -> Self:
        """The same model with covariates ZA instead of Z."""
        made = np.empty_like(self.covariates)
        for rows in self.blocks():
            made[rows] = self.covariates[rows] @ by
        return replace(self, covariates=made)

    def only(self, columns: Sequence[int]) -> Self:
        """The same answers with only these columns."""
        return replace(self, covariates=np.ascontiguousarray(self.covariates[:, columns]))

    def blocks(self, numbers: int = BLOCK) -> Iterator[slice]:
        """The rows, a cache-full at a time."""
        height = max(numbers // max(self.width, 1), 4 * self.width)
        for start in range(0, self.n, height):
            yield slice(start, min(start + height, self.n))

    def triangle(self) -> Floats:
        """R with RᵀR = Σ w z zᵀ, by orthogonal steps over the blocks (no squares are formed)."""
        found: Floats = np.zeros((0, self.width))
        for rows in self.blocks():
            z = self.covariates[rows]
            if self.weights is not None:
                z = z * np.sqrt(self.weights[rows])[:, None]
            found = np.asarray(np.linalg.qr(np.vstack([found, z]), mode="r"), np.float64)
        return found


class Averaged(NamedTuple):
    """Σ w·(a share), and its gradient; `label` is the option's, "" of a yes/no."""

    label: str
    value: float
    slope: Floats


class Predicted(NamedTuple):
    """The share of one option for some rows: by its link, η, and the gradient of each η."""

    label: str
    link: Link
    eta: Floats
    ways: Floats
