"""List experiments (item counts): another indirect method, and what it costs beside randomised response.

Everybody is told a list and answers how many items hold.  The list of a half chosen at random has the sensitive item in
addition to the J harmless ones.
    π̂ = mean count with the item − mean count without it,       v = s₁²/n₁ + s₀²/n₀
Unbiased if the item changes nothing else (no design effect) and nobody lies; both are assumptions.

Rules
1. Counts are whole numbers, 0 to J without the item and 0 to J + 1 with it.
2. There is no ε: a count of 0 proves "no" and one of J + 1 proves "yes".  The share of such counts is told.
3. The test of no design effect [BI12]: the joint shares of (harmless count y, attribute) follow from the two laws of
   counts and cannot be negative.  p is that of the most negative one, times 2(J + 1), at most 1.
4. Bars: "wald" with Student's t; "hoeffding", guaranteed for people who answer independently of each other.
5. Weights, strata and clusters count as in `estimate`.  The edge rule: a difference of means beyond what a share
   explains is cut to 0 or 1 before its bar is made, and told.
6. `beside` compares with a design of randomised response at equal n, at the same prevalence.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.count.tally import answer_array
from server_agg.errors import TooFewAnswers
from server_agg.estimates.interval import Problem
from server_agg.estimates.methods import interval_of
from server_agg.estimates.numerics import normal_tail
from server_agg.results.findings import Findings
from server_agg.results.interval import Interval, percent, privacy_words, written
from server_agg.results.row import SHARES, Row
from server_agg.sampling.sample import Sample, vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEPENDENT = "not guaranteed: people of one cluster do not answer independently, or weights go with the truth"


class MethodCost(NamedTuple):
    """A list experiment beside randomised response at equal n."""

    n: int
    list_error: float
    randomised_error: float
    privacy: str

    @property
    def ratio(self) -> float:
        """How many people a list experiment needs for each one of randomised response, for the same bar."""
        return (self.list_error / self.randomised_error) ** 2

    def sentence(self) -> str:
        """One sentence."""
        return (
            f"n = {self.n}: standard error {percent(self.list_error, 2)} points by the list, "
            f"{percent(self.randomised_error, 2)} by randomised response ({self.privacy}); the list needs "
            f"{self.ratio:.2f} people for each one"
        )


def list_experiment(
    counts: Any, with_item: Any, items: int, *, weights: Any = None, strata: Any = None, clusters: Any = None
) -> Findings:
    """The prevalence from a list experiment: every person's count, and whether their list had the sensitive item.

    `items` is the number J of harmless items.  `joint` are the joint shares of rule 3 by harmless count, without and
    with the attribute, and `design_effect_p` their test; `revealed` is the share of counts that prove the truth.
    `found.beside(design)` is what a design of randomised response would have told by as many people, at the estimated
    prevalence (cut to [0, 1]) unless one is given.

    >>> found = list_experiment([1, 2, 2, 3, 1, 2, 1, 2], [1, 1, 1, 1, 0, 0, 0, 0], 3)
    >>> found.value, round(found.standard_error, 4), found.revealed
    (0.5, 0.5, 0.0)
    """
    j = whole_number("items", items, minimum=1)
    long = answer_array(with_item).astype(bool)
    given = vector("counts", counts, long.size)
    if given.dtype.kind not in "iub" and not (given.dtype.kind == "f" and (given == np.floor(given)).all()):
        raise ParameterError("counts", given.dtype, "whole numbers")
    y = given.astype(np.int64)
    for place in np.flatnonzero((y < 0) | (y > j + long)):
        raise ParameterError(f"count of record {place}", int(y[place]), f"0 to {j + int(long[place])}")
    for arm, word in ((long, "with the item"), (~long, "without the item")):
        if arm.sum() < 2:
            raise TooFewAnswers(int(arm.sum()), f"the list {word}")
    drawn = {"weights": weights, "clusters": clusters, "strata": strata}
    plain = all(one is None for one in drawn.values())
    sample = Sample.of(long.size, strata=long.astype(int)) if plain else Sample.of(long.size, **drawn)
    weight = np.where(long, sample.weights, 0.0), np.where(long, 0.0, sample.weights)
    share = weight[0] / weight[0].sum(), weight[1] / weight[1].sum()
    means = [float(one @ y) / float(one.sum()) for one in weight]  # whole weights add up exactly, in any order
    scores = share[0] * (y - means[0]) - share[1] * (y - means[1])
    variance = float(sample.covariance(scores[:, None])[0, 0])
    squares = (j + 1) ** 2 * float(share[0] @ share[0]) + j**2 * float(share[1] @ share[1])
    joint, p = _joint(y, share, j)
    df = _welch(y, long) if plain else float(sample.df)
    ends = share[0] @ ((y == 0) | (y == j + 1))
    value, error, sizes = means[0] - means[1], math.sqrt(variance), (int(long.sum()), int((~long).sum()))
    problem = Problem(
        "list experiment", Fraction(value), lambda: error, n=long.size, freedom=df,
        squares=Fraction(squares) * (1 + Fraction(2, 10**12)), unless="" if plain else DEPENDENT,
    )  # fmt: skip

    def bar(level: NumberLike, method: str | None) -> Interval[Any]:
        return interval_of(replace(problem, value=Fraction(SHARES.clipped(value))), level, method or "wald")

    def beside(design: Design, prevalence: NumberLike | None = None) -> MethodCost:
        at = Fraction(min(max(value, 0.0), 1.0)) if prevalence is None else prevalence
        return MethodCost(long.size, error, math.sqrt(design.variance(at, long.size)), privacy_words(design))

    facts = {
        "with_item": sizes[0], "without_item": sizes[1], "items": j, "df": df, "revealed": float(ends),
        "design_effect_p": p, "joint": joint, "beside": beside,
    }  # fmt: skip
    told = f"no design effect: p = {p:.3g}; no ε: {percent(float(ends))} % of the longer lists' counts prove the truth"
    cut = f"the bar is that of {SHARES.clipped(value):.0f}"
    beyond = f"difference of means {written(value, 3)}, which no share explains: {cut}"
    said = f"list experiment of {j} harmless items, n = {sizes[0]} and {sizes[1]}"
    row = Row(f"list of {j} items", long.size, value, error, bar)
    return Findings((row,), "population", facts, [*([beyond] if not 0 <= value <= 1 else []), told], said)


def _welch(y: NDArray[np.int64], long: NDArray[np.bool_]) -> float:
    """Welch and Satterthwaite's degrees of freedom."""
    parts = [(float(y[arm].var(ddof=1)) / int(arm.sum()), int(arm.sum()) - 1) for arm in (long, ~long)]
    total = sum(v for v, _ in parts)
    return total**2 / sum(v**2 / free for v, free in parts) if total > 0 else float(min(free for _, free in parts))


def _joint(y: NDArray[np.int64], share: Any, j: int) -> tuple[tuple[tuple[float, float], ...], float]:
    """The joint shares of rule 3, and the p-value of the most negative one."""
    least, found = 1.0, []
    for count in range(j + 1):
        pair = []
        for first, second, sign in (((y <= count), (y <= count - 1), 1.0), ((y <= count), (y <= count), -1.0)):
            above, below = float(share[0] @ first), float(share[1] @ second)
            value = sign * (above - below)
            square = above * (1 - above) * float(share[0] @ share[0]) + below * (1 - below) * float(share[1] @ share[1])
            pair.append(value)
            if value < 0:
                least = min(least, normal_tail(-value / math.sqrt(square)) if square > 0 else 0.0)
        found.append((pair[0], pair[1]))
    return tuple(found), min(1.0, 2 * (j + 1) * least)
