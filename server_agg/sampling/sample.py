"""`Sample`: how the people were drawn, and the variance of any weighted sum over them.

A *unit* is what was drawn first: a cluster, or a person where there are no clusters.  With z_hi the sum of the scores
of unit i of stratum h, m_h units drawn of M_h,
    V = Σ_h (1 − f_h) · m_h/(m_h − 1) · Σ_i (z_hi − z̄_h)(z_hi − z̄_h)ᵀ,        f_h = m_h/M_h, or 0 if M_h is not known
whatever was done inside the units ("ultimate clusters" [HHM53]).  Degrees of freedom: units − strata.

Rules
1. Everything is one value per record.  Cluster names are names within their stratum.
2. `population` counts units, not people, where there are clusters.  It is one number without strata and one for each
   stratum with them; a stratum with M_h = m_h was taken whole.
3. Without weights every record stands for M_h/m_h people, or for 1 if no population is known; then totals are refused.
4. A stratum with one unit has no variance: `SingleCluster`, unless it was taken whole.
5. The factor 1 − f is for what differs from person to person.  The noise of randomised answers is not sampled, and
   does not shrink: with unbiased values r the matrix Σ f w²(rrᵀ − diag r) is added, since E(rrᵀ − diag r | truth) is
   the covariance of r (truths are 0 or 1, and exclude one another).  Software that knows only (1 − f)·V reports too
   little: nothing at all for a census of randomised answers.
6. Calibrated weights (see `calibration`) turn scores into residuals before the units are added up.
7. A row may stand for several equal people drawn one by one (`repeats`): counted answers need no row each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rrcollect.design.parameters import whole_number
from rrcollect.errors import ParameterError
from server_agg.answer_words import own_order, plain_text
from server_agg.errors import NotIdentified, SingleCluster, TooFewAnswers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.intp]


class WeightAdjustment(Protocol):
    """Weights that were made to meet something known (see `calibration`)."""

    @property
    def weights(self) -> Floats: ...

    def residuals(self, scores: Floats) -> Floats: ...

    def again(self, factor: Floats) -> Floats: ...


@dataclass(frozen=True, eq=False)
class Sample:
    """n records, each with its weight, its unit and, by its unit, its stratum."""

    weights: Floats
    unit: Places  # of every record
    stratum: Places  # of every unit
    strata: tuple[object, ...]  # their names; (None,) without strata
    fraction: Floats  # f of every stratum
    clustered: bool
    weighted: bool  # whether the sum of the weights is a number of people
    repeats: Floats  # people of every record
    calibrated: WeightAdjustment | None = None

    @classmethod
    def of(
        cls,
        n: int,
        *,
        weights: Any = None,
        strata: Any = None,
        clusters: Any = None,
        population: Any = None,
        repeats: Floats | None = None,
    ) -> Sample:
        """The sample of n records, checked."""
        if n < 2:
            raise TooFewAnswers(n, "the sample")
        times = np.ones(n) if repeats is None else repeats
        layer, names = (np.zeros(n, np.intp), (None,)) if strata is None else coded("strata", strata, n)
        unit, stratum = _units(layer, clusters, n)
        drawn = np.bincount(stratum, None if repeats is None else times, len(names)).astype(np.intp)
        sizes = _sizes(population, names, layer, drawn)
        word = "person" if clusters is None else "cluster"
        for place in np.flatnonzero((drawn < 2) & (sizes != drawn)):
            raise SingleCluster(names[place], word)
        calibrated = weights if hasattr(weights, "again") else None
        given = calibrated.weights if calibrated is not None else weights
        known = bool(np.isfinite(sizes).all())
        alike = (sizes / drawn)[layer] if known else np.ones(n)
        array = alike if given is None else checked_weights(given, n)
        fraction = np.where(np.isfinite(sizes), drawn / sizes, 0.0)
        stands = known or given is not None
        return cls(array, unit, stratum, names, fraction, clusters is not None, stands, times, calibrated)

    @property
    def n(self) -> int:
        """People."""
        return int(self.repeats.sum())

    @property
    def totals(self) -> Floats:
        """What all people of a record stand for."""
        return np.asarray(self.weights * self.repeats, np.float64)

    @property
    def units(self) -> int:
        """Clusters, or people where there are none."""
        return int(self.stratum.size)

    @property
    def df(self) -> int:
        """Units − strata, of those with a record of positive weight; at least 1."""
        return self.df_of(self.weights > 0)

    def df_of(self, records: NDArray[np.bool_]) -> int:
        """Units − strata of these records."""
        used = np.unique(self.unit[records])
        units = int(used.size) if self.clustered else int(self.repeats[records].sum())
        return max(1, units - int(np.unique(self.stratum[used]).size))

    def df_of_coefficients(self, many: int) -> tuple[int, float]:
        """Degrees of freedom that a fit of so many coefficients leaves, units − strata − (many − 1) as R has them; and,
        in clusters, by how much its variance V must be larger, since residuals are smaller than errors: it then is that
        of two groups of clusters in Student's test."""
        left = self.df - many + 1
        if left < 1:
            word = "clusters" if self.clustered else "people"
            allowed = "expected more of these, or fewer covariates"
            raise NotIdentified(f"{many} coefficients in {self.units} {word}: no standard error is left; {allowed}")
        return left, self.df / left if self.clustered else 1.0

    @property
    def record_fraction(self) -> Floats:
        """f of every record's stratum."""
        return np.asarray(self.fraction[self.stratum[self.unit]], np.float64)

    def sums(self, scores: Floats) -> Floats:
        """The sums over each unit, one column per column of the scores."""
        if not self.clustered:
            return scores
        columns = [np.bincount(self.unit, scores[:, j], self.units) for j in range(scores.shape[1])]
        return np.column_stack(columns) if columns else np.zeros((self.units, 0))

    def covariance(self, scores: Floats) -> Floats:
        """V of the sums of the columns of `scores`, which have the weights in them."""
        apart = self.deviations(scores)
        return np.asarray(apart.T @ apart, np.float64)

    def deviations(self, scores: Floats) -> Floats:
        """√((1 − f)m/(m − 1))·(z − z̄) of every unit: their products add up to V."""
        if self.calibrated is not None:
            scores = self.calibrated.residuals(scores)
        sums, strata = self.sums(scores), len(self.strata)
        times = np.ones(self.units) if self.clustered else self.repeats
        drawn = np.bincount(self.stratum, times, strata)
        scale = (1 - self.fraction) * drawn / np.maximum(drawn - 1, 1)
        heavy = sums * times[:, None]
        means = [np.bincount(self.stratum, heavy[:, j], strata) / drawn for j in range(sums.shape[1])]
        apart = sums - np.column_stack(means)[self.stratum]
        return np.asarray(apart * np.sqrt(scale[self.stratum] * times)[:, None], np.float64)

    def noise(self, parts: Floats, scales: Floats) -> Floats:
        """Σ f (w²)(rrᵀ − diag r) of rule 5; `parts` are w·r/scale, column by column."""
        f = self.record_fraction * self.repeats
        if not f.any():
            return np.zeros((parts.shape[1],) * 2)
        found = (parts * f[:, None]).T @ parts
        own = (f * self.weights) @ parts / scales
        return np.asarray(found - np.diag(own), np.float64)


def vector(name: str, given: Any, n: int) -> NDArray[Any]:
    """A column as an array of n values without missing ones."""
    array = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
    if array.shape != (n,):
        raise ParameterError(name, f"an array of shape {array.shape}", f"one value for each of {n} answers")
    if array.dtype.kind == "f":
        missing = np.flatnonzero(np.isnan(array))
    elif array.dtype.kind == "O":
        missing = np.array([i for i, value in enumerate(array) if value is None or value != value])  # noqa: PLR0124
    else:
        missing = np.array([])
    for place in missing[:1]:
        raise ParameterError(f"{name} of record {int(place)}", "missing", "a name; leave the record out, or name it")
    return array


def coded(name: str, given: Any, n: int) -> tuple[Places, tuple[object, ...]]:
    """Each record's place among the different values, and these in their order (numbers as numbers).

    >>> places, names = coded("strata", ["10", "9", "10"], 3)
    >>> places.tolist(), names
    ([1, 0, 1], ('9', '10'))
    """
    array = vector(name, given, n)
    if array.dtype.kind not in "OU":
        values, places = np.unique(array, return_inverse=True)
        return places.astype(np.intp), tuple(value.item() for value in values)
    named: dict[str, Any] = {}
    texts = [plain_text(value) for value in array.tolist()]
    for text, value in zip(texts, array.tolist(), strict=True):
        if named.setdefault(text, value) != value:
            both = f"{named[text]!r} and {value!r}"
            raise ParameterError(name, both, "different names, or one of them: these are written alike")
    order = sorted(named, key=own_order)
    place = {text: number for number, text in enumerate(order)}
    return np.array([place[text] for text in texts], np.intp), tuple(named[text] for text in order)


def _units(layer: Places, clusters: Any, n: int) -> tuple[Places, Places]:
    """Every record's unit, and every unit's stratum."""
    if clusters is None:
        return np.arange(n, dtype=np.intp), layer
    inside, names = coded("clusters", clusters, n)
    pairs = layer * np.intp(len(names)) + inside
    used, unit = np.unique(pairs, return_inverse=True)
    return unit.astype(np.intp), (used // len(names)).astype(np.intp)


def _sizes(population: Any, names: tuple[object, ...], layer: Places, drawn: NDArray[np.intp]) -> Floats:
    """M of every stratum; infinite where no population is known."""
    found = np.full(len(names), np.inf)
    if population is None:
        return found
    if isinstance(population, Mapping):
        if set(population) != set(names):
            allowed = f"one size for each stratum: {sorted(map(str, names))}"
            raise ParameterError("population", sorted(map(str, population)), allowed)
        given = [population[name] for name in names]
    elif names == (None,) or hasattr(population, "__index__"):
        if len(names) > 1:
            raise ParameterError("population", population, f"with strata a size for each: {{{names[0]!r}: …, …}}")
        given = [population]
    else:
        column = vector("population", population, layer.size)
        given = []
        for place, name in enumerate(names):
            sizes = np.unique(column[layer == place])
            if sizes.size != 1:
                raise ParameterError("population", f"{sizes.size} sizes in stratum {name!r}", "one size per stratum")
            given.append(sizes[0].item())
    for place, (name, size) in enumerate(zip(names, given, strict=True)):
        what = "population" if name is None else f"population of stratum {name!r}"
        whole = int(size) if isinstance(size, float) and size.is_integer() else size
        found[place] = whole_number(what, whole, minimum=int(drawn[place]))
    return found


def checked_weights(weights: Any, n: int) -> Floats:
    """Weights as numbers of 0 and above, one for each of n records, two of them at least above 0."""
    try:
        given = weights.to_numpy() if hasattr(weights, "to_numpy") else weights
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("weights", weights, "numbers") from None
    if array.shape != (n,):
        raise ParameterError("weights", f"an array of shape {array.shape}", f"one weight for each of {n} answers")
    wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0) & (array <= 1e100)))
    if wrong.size:
        raise ParameterError(f"weight {wrong[0]}", float(array[wrong[0]]), "a finite number, 0 or more (at most 1e100)")
    if np.count_nonzero(array) < 2:
        raise ParameterError("weights", f"{np.count_nonzero(array)} above 0", "two weights above 0 or more")
    return array
