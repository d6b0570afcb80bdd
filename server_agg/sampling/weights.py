"""Respondents who stand for more than themselves: weighted shares and totals with the right variance.

With r the unbiased values of `unbiased_values` and weights w (inverse inclusion probabilities, or any fixed weights):
    Hájek              π̂ = Σwr/Σw,      v = n/(n−1) · Σ w²(r − π̂)²/(Σw)²          the weights need only be proportional
    Horvitz-Thompson   T̂ = Σwr,  π̂ = T̂/M,  v(T̂) = n/(n−1) · Σ (wr − T̂/n)²          unbiased; M must be known
Since r carries both the noise and the sampling, these residuals count both; residuals of clipped or recoded answers
would not.  Target "sample" (the weights are fixed and the people given): v = Σ w²e/(Σw)², with e of `unbiased_values`.
The variances are those of sampling with replacement, a little too large for large sampling fractions.

Design effect: v over the variance the same answers would have with equal weights.  Kish's n·Σw²/(Σw)² beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally, answer_array
from server_agg.errors import TooFewAnswers
from server_agg.estimates.effective import EffectiveSample
from server_agg.estimates.estimate import estimate
from server_agg.estimates.interval import Problem, checked_target
from server_agg.estimates.methods import interval_of
from server_agg.report.result import Result
from server_agg.results.drawing import Point
from server_agg.results.interval import Interval, Misfit, Side, worst_misfit
from server_agg.results.tables import Table
from server_agg.results.words import bar_note, share_point, share_table
from server_agg.sampling.values import distinct_designs, noise_variances, unbiased_values, value_ends

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KINDS = ("hajek", "horvitz-thompson")
ROUNDED_UP = 1 + Fraction(2, 10**12)  # more than the rounding of a sum of floats
NOT_FIXED = (
    "not guaranteed for the population: weights may go with the truth.  If they were fixed beforehand it would be, for "
    "the weighted mean of the respondents' own prevalences; for the weighted share of those who answered it is "
    "(target='sample')"
)
ANSWERED = "weighted share of those who answered"


@dataclass(frozen=True, eq=False)
class WeightedEstimate(Result):
    """A weighted share; `values` and `weights` are its inputs, record by record."""

    values: NDArray[np.float64]
    noise: NDArray[np.float64]
    weights: NDArray[np.float64]
    widths: NDArray[np.float64]  # 1/|c|, how far one answer can move its value
    ends: tuple[Fraction, Fraction]  # the least and the greatest value that an answer can have
    kind: str
    population: int | None
    target: str
    misfit: Misfit  # of the answers counted by design, unweighted: their law needs no weights

    @property
    def n(self) -> int:
        """Records."""
        return int(self.values.size)

    @property
    def _scale(self) -> float:
        """What the weighted sum is divided by to become a share."""
        return float(self.weights.sum()) if self.kind == "hajek" else self._size

    @property
    def _shares(self) -> NDArray[np.float64]:
        """The weights over their scale: no square of a tiny or huge weight is ever taken."""
        return self.weights / self._scale

    @property
    def value(self) -> float:
        """The weighted share; it may leave [0, 1]."""
        return float(self._shares @ self.values)

    @property
    def clipped(self) -> float:
        """The value cut to [0, 1]."""
        return min(max(self.value, 0.0), 1.0)

    @property
    def variance(self) -> float:
        """The estimated variance of `value`."""
        if self.target == "sample":
            return float(self._shares**2 @ self.noise)
        parts = self._shares * self.values
        residuals = parts - self._shares * self.value if self.kind == "hajek" else parts - parts.mean()
        return self.n / (self.n - 1) * float(residuals @ residuals)

    @property
    def standard_error(self) -> float:
        """The square root of `variance`."""
        return math.sqrt(self.variance)

    @property
    def _size(self) -> float:
        return float(self.weights.sum()) if self.population is None else float(self.population)

    @property
    def total(self) -> float:
        """How many people: Σwr, or the share times the population if that is known and the kind is Hájek's."""
        return self.value * self._size

    @property
    def total_standard_error(self) -> float:
        """Of `total`."""
        return self.standard_error * self._size

    @property
    def kish_design_effect(self) -> float:
        """n·Σw²/(Σw)²: what unequal weights cost if they have nothing to do with the answers."""
        parts = self.weights / float(self.weights.sum())
        return self.n * float(parts @ parts)

    @property
    def design_effect(self) -> float | None:
        """The variance over that of the plain mean of the same values; None if that is 0."""
        if self.target == "sample":
            plain = float(self.noise.sum()) / self.n**2
        else:
            plain = float(self.values.var(ddof=1)) / self.n
        return self.variance / plain if plain > 0 else None

    @property
    def effective_sample(self) -> EffectiveSample:
        """What the weights leave of the n answers."""
        parts = self.weights / float(self.weights.sum()) * (self.widths / float(self.widths.max()))
        squares = parts * parts
        return EffectiveSample(
            self.n, *self.ends, 1 / float(squares.sum()), float(squares.sum()) ** 2 / float(squares @ squares) - 1
        )

    def interval(self, level: NumberLike = 0.95, method: str = "korn-graubard", *, side: Side = "both") -> Interval:
        """korn-graubard: exact tails with the effective sample size, approximate.  wald: π̂ ∓ z·SE, approximate.
        hoeffding: guaranteed for the weighted share of those who answered, whatever the weights; for the population
        only if the weights were fixed beforehand, so it is not called guaranteed."""
        shares = self._shares * self.widths
        problem = Problem(
            "weighted records",
            Fraction(self.value),
            lambda: self.standard_error,
            self.target,
            n=self.n,
            squares=Fraction(float(shares @ shares)) * ROUNDED_UP,
            unless=NOT_FIXED if self.target == "population" else "",
            covers="" if self.target == "population" else ANSWERED,
            sample=self.effective_sample,
        )
        return interval_of(problem, level, method, side)

    numeric = frozenset(range(1, 5))

    def cells(self) -> Table:
        """The share with its bar."""
        return share_table([("weighted", self, self.interval())])

    def notes(self) -> list[str]:
        """What the bar is for, and what the weights cost."""
        total = f"total {self.total:.6g} (SE {self.total_standard_error:.3g})"
        cost = [] if self.design_effect is None else [f"design effect {self.design_effect:.3g}"]
        return [f"{self.kind}: {bar_note(self.interval())}", "; ".join([total, *cost])]

    def points(self) -> list[Point]:
        """The share."""
        return [share_point("weighted", self, self.interval())]

    def as_dict(self, level: NumberLike = 0.95, method: str = "korn-graubard") -> dict[str, object]:
        """Results as plain values, ready for JSON."""
        return {
            "kind": self.kind,
            "n": self.n,
            "value": self.value,
            "standard_error": self.standard_error,
            "total": self.total,
            "total_standard_error": self.total_standard_error,
            "interval": self.interval(level, method).as_dict(),
            "misfit": self.misfit.as_dict(),
            "design_effect": self.design_effect,
            "kish_design_effect": self.kish_design_effect,
        }


def weighted_estimate(
    design: Design | Sequence[Design],
    answers: Any,
    weights: Any,
    *,
    kind: str = "hajek",
    population: int | None = None,
    target: str = "population",
) -> WeightedEstimate:
    """A weighted share (and total) from records.

    >>> found = weighted_estimate(Design("3/4", "3/4"), [1, 0, 1, 1], [2.0, 1.0, 1.0, 2.0])
    >>> round(found.value, 6), round(found.design_effect, 6), round(found.kish_design_effect, 6)
    (1.166667, 0.559671, 1.111111)
    """
    import numpy as np

    if kind not in KINDS:
        raise ParameterError("kind", kind, f"one of {', '.join(KINDS)}")
    checked_target(target)
    if kind == "horvitz-thompson" and population is None:
        raise ParameterError("population", population, "the size M of the population, for a Horvitz-Thompson share")
    values = unbiased_values(design, answers)
    if values.size < 2:
        raise TooFewAnswers(int(values.size), "the records")
    size = None if population is None else whole_number("population", population, minimum=int(values.size))
    designs = [design] if isinstance(design, Design) else list(design)
    widths = np.broadcast_to(np.array([float(1 / abs(Fraction(d.c))) for d in designs]), values.shape)
    noise = noise_variances(design, answers)
    ends = value_ends(designs)
    checked = checked_weights(weights, int(values.size))
    return WeightedEstimate(values, noise, checked, widths, ends, kind, size, target, _misfit(design, answers))


def _misfit(design: Design | Sequence[Design], answers: Any) -> Misfit:
    """The answers counted by design.  Whoever answered, a count is not below that of "nobody has it" in law."""
    import numpy as np

    bits = answer_array(answers)
    found, places = distinct_designs(design, bits.size)
    n, ones = np.bincount(places, minlength=len(found)), np.bincount(places, bits, len(found))
    tallies = [Tally(d, int(m), int(k)) for d, m, k in zip(found, n, ones, strict=True) if m >= 2]
    return worst_misfit(estimate(tally).misfit for tally in tallies)


def checked_weights(weights: Any, n: int) -> NDArray[np.float64]:
    """Weights as numbers of 0 and above, one for each of n records, two of them at least above 0."""
    import numpy as np

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
