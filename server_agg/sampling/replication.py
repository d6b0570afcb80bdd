"""Replicate weights: the variance from how an estimate moves when the sample is cut or drawn again.

    V = Σ_r s_r (θ_r − θ)(θ_r − θ)ᵀ                      θ_r the same estimate with the weights of replicate r
    JK1        leave out unit i of m:          the others × m/(m−1),      s = (1 − f)(m − 1)/m
    JKn        the same in each stratum:       the others of the stratum × m_h/(m_h − 1),   s = (1 − f_h)(m_h − 1)/m_h
    bootstrap  m_h − 1 units of m_h drawn with replacement [RW88]:   a unit drawn t times × t·m_h/(m_h − 1),  s = 1/R

Rules
1. Whole units are left out or drawn: what was done inside them needs no model.
2. The centre θ is the estimate itself (`centre="estimate"`), or the mean of the replicates, as R's `survey` and Stata
   have it unless told otherwise (`centre="mean"`).
3. Calibrated weights are calibrated again in every replicate.
4. Degrees of freedom of made replicates are those of the sample; of given ones, the rank of their matrix − 1 as R has
   it, unless the caller knows better.
5. A bootstrap is made by a seed, so that the same sample has the same bar; it does not know finite populations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import whole_number
from rrcollect.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from server_agg.sampling.sample import Sample

    Floats = NDArray[np.float64]

KINDS = ("jackknife", "bootstrap")
CENTRES = ("estimate", "mean")
MOST_UNITS = 5000
DRAWS, SEED = 500, 19


@dataclass(frozen=True, eq=False)
class Replicates:
    """`factors[u, r]`: what the weights of unit u are multiplied by in replicate r.

    With `own` the factors are whole weights, one row per record.
    """

    kind: str
    factors: Floats
    scales: Floats
    df: int | None = None
    centre: str = "estimate"
    own: bool = False

    def __post_init__(self) -> None:
        if self.centre not in CENTRES:
            raise ParameterError("centre", self.centre, "'estimate' or 'mean'")

    @property
    def count(self) -> int:
        """Replicates."""
        return int(self.factors.shape[1])

    def weights(self, sample: Sample, r: int) -> Floats:
        """Every record's weight in replicate r."""
        if self.own:
            return np.asarray(self.factors[:, r], np.float64)
        factor = self.factors[sample.unit, r]
        if sample.calibrated is not None:
            return sample.calibrated.again(factor)
        return np.asarray(sample.weights * factor, np.float64)

    def covariance(self, sample: Sample, tops: Floats, bottoms: Floats | None = None) -> Floats:
        """V of Σw·top, or of Σw·top/Σw·bottom, column by column; where no replicate changes the weights within a unit,
        from sums over the units: no replicate walks over the records."""
        w = sample.weights[:, None]

        def sums(part: Floats) -> Floats:
            if self.own or sample.calibrated is not None:
                return np.array([self.weights(sample, r) @ part for r in range(self.count)])
            return np.asarray(self.factors.T @ sample.sums(w * part), np.float64)

        found, value = sums(tops), sample.weights @ tops
        if bottoms is not None:
            with np.errstate(invalid="ignore", divide="ignore"):  # `spread` refuses an empty group
                found, value = found / sums(bottoms), value / (sample.weights @ bottoms)
        return self.spread(found, value)

    def spread(self, found: Floats, value: Floats) -> Floats:
        """V from the estimates of all replicates."""
        if not np.isfinite(found).all():
            raise ParameterError("replicates", self.kind, "replicates that leave somebody in every group")
        apart = found - (value if self.centre == "estimate" else found.mean(axis=0))
        return np.asarray((apart * self.scales[:, None]).T @ apart, np.float64)


def jackknife_replicates(sample: Sample, *, centre: str = "estimate") -> Replicates:
    """JK1 without strata, JKn with them: one replicate per unit."""
    m = sample.units
    if m > MOST_UNITS:
        raise ParameterError("units", m, f"at most {MOST_UNITS} for a jackknife; give clusters, or use a bootstrap")
    drawn = np.bincount(sample.stratum, minlength=len(sample.strata)).astype(np.float64)
    left = np.flatnonzero(drawn[sample.stratum] > 1)  # a stratum taken whole with one unit has no replicate
    same = sample.stratum[:, None] == sample.stratum[left]
    grown = np.where(same, (drawn / np.maximum(drawn - 1, 1))[sample.stratum][:, None], 1.0)
    grown[left, np.arange(left.size)] = 0.0
    scales = ((1 - sample.fraction) * (drawn - 1) / drawn)[sample.stratum[left]]
    kind = "JK1" if len(sample.strata) == 1 else "JKn"
    return Replicates(kind, grown, np.asarray(scales, np.float64), sample.df, centre)


def bootstrap_replicates(
    sample: Sample, *, count: int = DRAWS, seed: int = SEED, centre: str = "estimate"
) -> Replicates:
    """Rao and Wu's bootstrap of the units, `count` times."""
    count = whole_number("count", count, minimum=2)
    if sample.fraction.any():
        raise ParameterError("replicates", "bootstrap", "'jackknife', or no population: this bootstrap knows none")
    generator = np.random.default_rng(seed)
    factors = np.empty((sample.units, count))
    for place in range(len(sample.strata)):
        inside = np.flatnonzero(sample.stratum == place)
        m = inside.size
        times = generator.multinomial(m - 1, np.full(m, 1 / m), size=count).T
        factors[inside] = times * (m / (m - 1))
    return Replicates("bootstrap", factors, np.full(count, 1 / count), sample.df, centre)


def replicates(
    weights: Any, *, scale: float = 1.0, scales: Any = None, df: int | None = None, centre: str = "estimate"
) -> Replicates:
    """Replicate weights that came with the data: a matrix, one column per replicate, of whole weights.

    `scale` and `scales` are R's `scale` and `rscales`: JK1 (R − 1)/R and 1, a bootstrap 1/R (R's: 1/(R − 1)) and 1,
    balanced repeated replication 1/R and 1.

    >>> replicates([[0.0, 1.5, 1.5], [1.5, 0.0, 1.5], [1.5, 1.5, 0.0]], scale=2 / 3).count
    3
    """
    try:
        matrix = np.asarray(weights.to_numpy() if hasattr(weights, "to_numpy") else weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("replicates", type(weights).__name__, "a matrix of numbers") from None
    if matrix.ndim != 2 or matrix.shape[1] < 2 or not np.isfinite(matrix).all():
        allowed = "finite numbers, a row per record and a column per replicate, two or more"
        raise ParameterError("replicates", f"an array of shape {matrix.shape}", allowed)
    each = np.ones(matrix.shape[1]) if scales is None else np.asarray(scales, dtype=np.float64)
    if each.shape != (matrix.shape[1],) or not (each >= 0).all() or not scale > 0:
        raise ParameterError("scales", scales, f"a number of 0 or more for each of {matrix.shape[1]} replicates")
    free = int(np.linalg.matrix_rank(matrix)) - 1 if df is None else whole_number("df", df)
    return Replicates("given", matrix, float(scale) * each, max(free, 1), centre, own=True)


def replicates_of(asked: Any, sample: Sample, weights: Any) -> Replicates | None:
    """What the caller asked for: nothing, a kind that is made here, or replicates (of the weights given)."""
    if asked is None:
        return None
    if isinstance(asked, Replicates):
        if asked.own and weights is None:
            raise ParameterError("weights", None, "those that the replicates were made from: the value needs them too")
        rows = sample.n if asked.own else sample.units
        if asked.factors.shape[0] != rows:
            what = "record" if asked.own else "unit of the sample"
            raise ParameterError("replicates", f"{asked.factors.shape[0]} rows", f"one for each {what}: {rows}")
        return asked
    if not isinstance(asked, str):
        raise ParameterError("replicates", type(asked).__name__, "a Replicates: sampling.replicates(matrix)")
    if asked == "jackknife":
        return jackknife_replicates(sample)
    if asked == "bootstrap":
        return bootstrap_replicates(sample)
    raise ParameterError("replicates", asked, f"{', '.join(map(repr, KINDS))}, or a Replicates")
