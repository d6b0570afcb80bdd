"""Calibration: weights that meet known totals of the population, and the smaller variance that follows.

    post-stratification   g = N_c/Σ_c d in every cell c                       d the weights before, w = g·d after
    raking                cells of each margin in turn, until all totals are met           [DS40]
The estimate then has the variance of its residuals [DSS93]: scores w·u become w·(u − xᵀB), B the regression of u on
the cells' indicators x with weights d.  What the cells explain is known and does not vary.

Rules
1. Every cell must be in the sample with a weight above 0, and every record in a cell with a total.
2. The totals of all margins add up to the same number of people, or nothing meets them: `NotCalibrated`.
3. It is R's `calibrate(calfun = "raking")`, residuals and all; `rake()` of R makes the same weights, but takes the
   residuals of one margin after the other, and its variance differs.
4. Weights may be calibrated that were adjusted before (see `response`): both count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.errors import ParameterError, shown
from server_agg.errors import NotCalibrated
from server_agg.sampling.sample import checked_weights, coded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from server_agg.sampling.sample import Floats, Places, WeightAdjustment

TOLERANCE, LONGEST = 1e-12, 1000


@dataclass(frozen=True, eq=False)
class CalibrationMargin:
    """The cells of one margin with their totals."""

    name: str
    cell: Places  # of every record
    labels: tuple[object, ...]
    totals: Floats

    def scaled(self, weights: Floats) -> tuple[Floats, float]:
        """Weights that meet these totals, and how far the given ones were off."""
        found = np.bincount(self.cell, weights, len(self.labels))
        for place in np.flatnonzero(found <= 0):
            raise NotCalibrated(
                f"cell {shown(self.labels[place])} of {self.name} has a total of {self.totals[place]:g} people and no "
                "record of positive weight: use cells that are in the sample, or merge it with another"
            )
        ratio = self.totals / found
        return weights * ratio[self.cell], float(np.abs(ratio - 1).max())


@dataclass(frozen=True, eq=False)
class CalibratedWeights:
    """Weights after calibration, and what is needed to calibrate again."""

    before: Floats | WeightAdjustment
    margins: tuple[CalibrationMargin, ...]
    weights: Floats

    @property
    def base(self) -> Floats:
        """The weights before."""
        return self.before if isinstance(self.before, np.ndarray) else self.before.weights

    @property
    def responded(self) -> NDArray[np.bool_] | None:
        """Who answered, where the weights before knew it."""
        return getattr(self.before, "responded", None)

    def residuals(self, scores: Floats) -> Floats:
        """w·(u − xᵀB) from w·u."""
        x = np.concatenate([m.cell[:, None] == np.arange(len(m.labels)) for m in self.margins], axis=1)
        x = x.astype(np.float64)
        u = scores / np.where(self.weights > 0, self.weights, 1.0)[:, None]
        heavy = x * self.base[:, None]
        slope = np.linalg.pinv(heavy.T @ x, hermitian=True) @ (heavy.T @ u)
        found = np.asarray(self.weights[:, None] * (u - x @ slope), np.float64)
        return found if isinstance(self.before, np.ndarray) else self.before.residuals(found)

    def again(self, factor: Floats) -> Floats:
        """The weights of a replicate, whose weights before are multiplied by `factor`."""
        base = self.before * factor if isinstance(self.before, np.ndarray) else self.before.again(factor)
        return _raked(base, self.margins)


def post_stratify(weights: Any, cells: Any, totals: Mapping[Any, float]) -> CalibratedWeights:
    """Weights whose sums over the cells are the known totals.  `weights` None: all alike.

    >>> made = post_stratify(None, ["a", "a", "b"], {"a": 30, "b": 10})
    >>> made.weights.tolist()
    [15.0, 15.0, 10.0]
    """
    return rake(weights, {"cells": (cells, totals)})


def rake(weights: Any, margins: Mapping[str, tuple[Any, Mapping[Any, float]]]) -> CalibratedWeights:
    """Weights that meet the totals of several margins at once: {name: (column, {value: people})}.

    >>> made = rake(None, {"sex": (["f", "f", "m", "m"], {"f": 6, "m": 4}), "age": ([0, 1, 0, 1], {0: 5, 1: 5})})
    >>> made.weights.round(6).tolist()
    [3.0, 3.0, 2.0, 2.0]
    """
    if not margins:
        raise ParameterError("margins", {}, "one or more: {name: (column, {value: people})}")
    n = len(next(iter(margins.values()))[0])
    before = weights if hasattr(weights, "again") else np.ones(n) if weights is None else checked_weights(weights, n)
    made = tuple(_margin(name, column, totals, n) for name, (column, totals) in margins.items())
    people = [float(margin.totals.sum()) for margin in made]
    if max(people) > min(people) * (1 + 1e-9):
        told = ", ".join(f"{margin.name} {total:g}" for margin, total in zip(made, people, strict=True))
        raise NotCalibrated(f"the margins add up to different numbers of people ({told}): give all the same total")
    base = before if isinstance(before, np.ndarray) else before.weights
    return CalibratedWeights(before, made, _raked(base, made))


def _margin(name: str, column: Any, totals: Mapping[Any, float], n: int) -> CalibrationMargin:
    cell, labels = coded(name, column, n)
    if set(labels) != set(totals):
        both = [sorted(map(str, each)) for each in (totals, labels)]
        raise ParameterError(f"totals of {name}", both[0], f"one for each cell of the sample: {both[1]}")
    given = np.array([float(totals[label]) for label in labels])
    for place in np.flatnonzero(~((given > 0) & np.isfinite(given))):
        raise ParameterError(f"total of {shown(labels[place])}", float(given[place]), "a number of people above 0")
    return CalibrationMargin(name, cell, labels, given)


def _raked(weights: Floats, margins: tuple[CalibrationMargin, ...]) -> Floats:
    for _ in range(LONGEST):
        worst, name = 0.0, ""
        for margin in margins:
            weights, off = margin.scaled(weights)
            worst, name = max((worst, name), (off, margin.name))
        if worst < TOLERANCE or len(margins) == 1:
            return weights
    raise NotCalibrated(
        f"after {LONGEST} rounds the totals of {name} are still off by {100 * worst:.3g} %: use margins that the "
        "sample can meet (look for cells that are empty in combination), or fewer of them"
    )
