"""The same survey over and over with a known truth: is the estimate unbiased, and do the bars hold?

This rehearses the mechanism itself.  For the power of a test, `models.power` repeats whole experiments on
the seeded, artificial answers of `models.simulation`, which are never part of the privacy path.

In each survey n people are drawn from a population with the given prevalence (NumPy), and each answers by the real
mechanism (`rrcollect.randomise_many`: exact, with the operating system's generator).  The estimate and all its bars
follow from the count of ones alone, so each distinct count is worked out once.

Of a choice the first option is rehearsed, which has the prevalence; the other people have the other options in turn.
Everybody answers with a set , and the option is estimated from its column of them.

A coverage is itself estimated, from the surveys simulated: it is given with an exact 95 % interval of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rrcollect import randomise_many
from rrcollect.design.mechanism import Mechanism
from rrcollect.design.parameters import NumberLike, probability, whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.estimates.interval import checked_target
from server_agg.estimates.methods import METHODS, checked_method, methods_for
from server_agg.estimates.share import DIRECT
from server_agg.results.interval import Interval, exact_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

AT_ONCE = 1 << 22  # bits drawn at once
MOST_ANSWERS = 10**11


@dataclass(frozen=True)
class Coverage:
    """How often one method's bar held, of so many surveys, and how wide it was on average."""

    method: str
    surveys: int
    held: int
    width: float

    @property
    def share(self) -> float:
        """The coverage seen."""
        return self.held / self.surveys

    @property
    def guaranteed(self) -> bool:
        """Whether the method promises its level for every prevalence and n."""
        return METHODS[self.method].guaranteed

    def interval(self) -> Interval:
        """Between what the true coverage lies: exact, 95 %."""
        return estimate(Tally(DIRECT, self.surveys, self.held)).interval(0.95, "exact")


@dataclass(frozen=True)
class Rehearsal:
    """The surveys simulated: their estimates, and the coverage of each method."""

    design: Mechanism
    prevalence: float
    n: int
    level: float
    target: str
    values: NDArray[np.float64] = field(repr=False)
    coverages: tuple[Coverage, ...]

    @property
    def mean(self) -> float:
        """The mean estimate."""
        return float(self.values.mean())

    @property
    def spread(self) -> float:
        """The standard deviation of the estimates."""
        return float(self.values.std(ddof=1))

    @property
    def predicted_spread(self) -> float:
        """The standard deviation the theory gives."""
        return math.sqrt(self.design.column.variance(self.prevalence, self.n))

    @property
    def bias_in_errors(self) -> float:
        """How many standard errors the mean lies from the truth; beyond ±4 something is wrong."""
        return (self.mean - self.prevalence) / (self.predicted_spread / math.sqrt(self.values.size))

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        points = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
        return {
            "design": self.design.to_wire(),
            "prevalence": self.prevalence,
            "n": self.n,
            "surveys": int(self.values.size),
            "level": self.level,
            "target": self.target,
            "mean": self.mean,
            "mean_standard_error": self.predicted_spread / math.sqrt(self.values.size),
            "bias_in_errors": self.bias_in_errors,
            "spread": self.spread,
            "predicted_spread": self.predicted_spread,
            "quantiles": {str(p): float(np.quantile(self.values, p)) for p in points},
            "coverage": [
                {
                    "method": c.method,
                    "coverage": c.share,
                    "interval": list(c.interval()),
                    "guaranteed": c.guaranteed,
                    "mean_width": c.width,
                }
                for c in self.coverages
            ],
        }


def rehearse(
    design: Mechanism,
    prevalence: NumberLike,
    n: int,
    surveys: int,
    *,
    level: NumberLike = 0.95,
    target: str = "population",
    methods: Sequence[str] | None = None,
    estimated_with: Design | None = None,
    tell: Callable[[float], None] = lambda share: None,
) -> Rehearsal:
    """Simulate `surveys` surveys of n people; `estimated_with` another matrix shows what a wrong one does.

    >>> from rrcollect import Design
    >>> found = rehearse(Design("3/4", "3/4"), "0.3", n=200, surveys=50, methods=["exact"])
    >>> [each.method for each in found.coverages]
    ['exact']
    """
    people, many = whole_number("n", n, minimum=2), whole_number("surveys", surveys, minimum=2)
    share = float(probability("prevalence", prevalence))
    if people * many > MOST_ANSWERS:
        raise ParameterError("n times surveys", people * many, f"at most {MOST_ANSWERS:.0e} answers")
    checked_target(target)
    wanted = [checked_method("one design", each, target).name for each in methods or methods_for("one design", target)]
    holders, ones = _answered(design, share, people, many, lambda part: tell(0.5 * part))
    truths = np.full(many, share) if target == "population" else holders / people
    used = estimated_with or design.column
    found = {int(k): estimate(Tally(used, people, int(k)), target=target) for k in np.unique(ones)}
    values = np.array([found[int(k)].value for k in ones])
    coverages = []
    for place, method in enumerate(wanted):
        coverages.append(_coverage(method, found, ones, truths, level))
        tell(0.5 + 0.5 * (place + 1) / len(wanted))
    return Rehearsal(design, share, people, float(exact_level(level)), target, values, tuple(coverages))


def _answered(
    design: Mechanism, share: float, n: int, surveys: int, tell: Callable[[float], None]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every survey how many of the people drawn have the attribute, and how many answers are ones."""
    holders = np.random.default_rng().binomial(n, share, surveys)
    ones = np.empty(surveys, np.int64)
    rows = max(1, AT_ONCE // (n * design.width))
    for start in range(0, surveys, rows):
        part = holders[start : start + rows]
        truths = np.arange(n) < part[:, None]
        ones[start : start + rows] = np.count_nonzero(_said(design, truths), axis=1)
        tell(min(1.0, (start + rows) / surveys))
    return holders, ones


def _said(design: Mechanism, truths: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each answer says yes, or holds the first option."""
    others = 1 + np.arange(truths.shape[1]) % max(1, design.cells - 1)
    told = np.where(truths, 0, others).ravel() if design.cells > 1 else truths.ravel()
    said = np.asarray(randomise_many(told, design), np.bool_).reshape(truths.size, -1)
    return said[:, 0].reshape(truths.shape)


def _coverage(
    method: str, found: dict[int, Estimate], ones: NDArray[np.int64], truths: NDArray[np.float64], level: NumberLike
) -> Coverage:
    bars = {k: one.interval(level, method) for k, one in found.items()}
    low = np.array([bars[int(k)].low for k in ones])
    high = np.array([bars[int(k)].high for k in ones])
    held = int(np.count_nonzero((low <= truths) & (truths <= high)))
    return Coverage(method, int(ones.size), held, float((high - low).mean()))
