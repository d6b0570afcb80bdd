"""The p-value of a score test: by its limiting law where expected counts are large, else exactly or by simulation.

Rules
1. Where every expected count of ones and of zeros at π0 is `ENOUGH` or more: χ² ("score").
2. Otherwise, two tallies: "exact", the sum over all tables whose statistic is not below the observed one,
       p = max over π in C of P(X² >= observed | π) + γ,
   with C a bar that holds the common prevalence with probability 1 − γ (Berger and Boos): P(p <= α) <= α whatever π.
   Where C is empty, since no prevalence explains the counts, it is all of [0, 1].
   The maximum is looked for on two grids, as SciPy does for Barnard's test, which this is for one design.
3. Otherwise "simulated": the same with P from `DRAWS` tables, drawn by a generator of fixed seed, so that the same
   counts have the same p.

The score bar of a difference: the differences that the score test does not reject.

    { δ : p(a − b = δ) >= 1 − level },     exact where expected counts are small
As p(0) is the p-value of the comparison, the bar holds 0 if and only if p >= 1 − level.  So it is made from the counts
as they were observed, and the edge rule does not apply: a difference that the counts do not explain is told as misfit.
The set may have gaps where p saws; the bar is its hull, as far as p stays above half of 1 − level, and 0 is looked at
first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from server_agg.estimates.interval import Problem, Request
from server_agg.estimates.numerics import (
    chi_squared_quantile,
    chi_squared_tail,
    exact_lower,
    scipy_special,
    turning_point,
)
from server_agg.estimates.score import Groups, GroupScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ENOUGH = {False: 10.0, True: 5.0}  # expected counts, of two tallies and of more
GAMMA = Fraction(1, 10**6)
FAR = 1e-12  # what is left out of a binomial law at each end
LARGEST_TABLE = 400_000
GRID, FINER, DRAWS = 33, 15, 4999
SEED = 20171010
STEP = 1e-4  # how finely an exact end is looked for, to the safe side
LOOK = 1e-2  # how finely gaps are looked for
AROUND = 81  # differences among which the best is looked for, where the estimate itself is rejected
POINTS, PASSES = 33, 8  # an end by the limiting law is found to 2/32^8
Statistic = Callable[[GroupScores], "Floats"]


class PValue(NamedTuple):
    """A p-value and how it was found: "score", "exact" or "simulated"."""

    p: float
    method: str
    statistic: float


@lru_cache(maxsize=4096)
def small_counts(groups: Groups) -> bool:
    """Whether an expected count is too small for χ²; people who can be counted have no binomial counts to sum."""
    if groups.sampling and min(groups.sampling) < 1:
        return False
    _, yes, no = groups.rates(groups.common(groups.counts))
    n = np.array([t.n for t in groups.flat], float)
    return bool(min((n * yes).min(), (n * no).min()) < ENOUGH[len(groups.flat) > 2])


@lru_cache(maxsize=4096)
def p_value(groups: Groups, kind: str = "equality", xs: tuple[float, ...] = (), difference: float = 0.0) -> PValue:
    """Of equal prevalences, of no "trend" over `xs`, or of two groups that differ by `difference`."""
    shift = np.array([difference] * len(groups.tallies[0]) + [0.0] * (len(groups.flat) - len(groups.tallies[0])))

    def statistic(counts: Floats) -> Floats:
        found = groups.scores(counts, shift)
        return found.trend_statistic(np.array(xs)) if kind == "trend" else found.equality()

    observed = float(statistic(groups.counts)[0])
    freedom = 1 if kind == "trend" else len(groups.tallies) - 1
    limit = PValue(chi_squared_tail(observed, freedom), "score", observed)
    if not small_counts(groups):
        return limit
    low, high = _likely(groups, shift)
    if low > high:  # no prevalence explains the counts, which is misfit and not a difference: every π is looked at
        (low,), (high,) = (end.tolist() for end in groups.ends(shift))
    if len(groups.flat) == 2:
        tail = _exact(groups, shift, (low, high), lambda counts: statistic(counts) >= observed * (1 - 1e-9) - 1e-12)
        if tail is not None:
            return PValue(min(1.0, _largest(tail, low, high) + float(GAMMA) + 8 * FAR), "exact", observed)
    generator = np.random.default_rng(SEED)

    def simulated(pi: float) -> float:
        _, yes, _ = groups.rates(np.array([pi]), shift)
        drawn = generator.binomial([t.n for t in groups.flat], yes[0], (DRAWS, len(groups.flat)))
        return (1 + int((statistic(drawn.astype(float)) >= observed * (1 - 1e-9) - 1e-12).sum())) / (DRAWS + 1)

    best = max(simulated(float(pi)) for pi in np.linspace(low, high, 5))
    return PValue(min(1.0, best + float(GAMMA)), "simulated", observed)


def _likely(groups: Groups, shift: Floats) -> tuple[float, float]:
    """C: where the exact bars of all tallies, at 1 − γ/k each, agree."""
    (low,), (high,) = (end.tolist() for end in groups.ends(shift))
    tail = GAMMA / (2 * len(groups.flat))
    for tally, moved in zip(groups.flat, shift, strict=True):
        low = max(low, exact_lower(tally, tail) - float(moved))
        high = min(high, 1 - exact_lower(tally.mirrored(), tail) - float(moved))
    return low, high


def _exact(
    groups: Groups, shift: Floats, ends: tuple[float, float], extreme: Callable[[Floats], NDArray[np.bool_]]
) -> Callable[[Floats], Floats] | None:
    """P(extreme | π) as a function of many π, or None where the table is too large."""
    _, yes, _ = groups.rates(np.array(ends), shift)
    spans = [_span(tally.n, float(low), float(high)) for tally, low, high in zip(groups.flat, *yes, strict=True)]
    if spans[0].size * spans[1].size > LARGEST_TABLE:
        return None
    table = np.stack([part.ravel() for part in np.meshgrid(*spans, indexing="ij")], axis=1)
    inside = extreme(table).reshape(spans[0].size, spans[1].size).astype(float)

    def tail(points: Floats) -> Floats:
        _, yes, no = groups.rates(points, shift)
        first, second = (_law(spans[j], groups.flat[j].n, yes[:, [j]], no[:, [j]]) for j in (0, 1))
        return np.asarray(((first @ inside) * second).sum(axis=1))

    return tail


def _span(n: int, low: float, high: float) -> Floats:
    """Counts outside of which Bin(n, λ) has less than `FAR`, for every λ between (Bernstein's inequality)."""
    reach = [8 * math.sqrt(n * rate * (1 - rate)) + 22 for rate in (low, high)]
    first, last = n * low - reach[0], n * high + reach[1]
    return np.arange(max(0, math.floor(first)), min(n, math.ceil(last)) + 1, dtype=float)


def _law(counts: Floats, n: int, yes: Floats, no: Floats) -> Floats:
    """Bin(n, λ) at the counts (columns) for every λ (rows)."""
    special = scipy_special()
    choices = special.gammaln(n + 1) - special.gammaln(counts + 1) - special.gammaln(n - counts + 1)
    return np.asarray(np.exp(choices + special.xlogy(counts, yes) + special.xlogy(n - counts, no)))


def _largest(tail: Callable[[Floats], Floats], low: float, high: float) -> float:
    points = np.linspace(low, high, GRID)
    found = tail(points)
    best, step = points[int(np.argmax(found))], (high - low) / (GRID - 1)
    finer = tail(np.linspace(max(low, best - step), min(high, best + step), FINER))
    return float(max(found.max(), finer.max()))


def two_groups(problem: Problem) -> Groups:
    """The two parts of a difference as groups."""
    parts = [part for _, part in problem.parts]
    sampling = tuple(float(part.line.s * part.n) for part in parts)
    return Groups(tuple(part.tallies for part in parts), sampling)


def score_difference_lower(problem: Problem, request: Request) -> float:
    """The lower end."""
    groups, alpha = two_groups(problem), float(2 * request.tail)
    value = min(max(float(problem.value), -1.0), 1.0)

    def p(difference: float) -> float:
        return p_value(groups, difference=difference).p

    def rejected(difference: float) -> bool:
        return p(difference) < alpha

    if rejected(value):  # counts beyond what a prevalence explains: the estimate is not what they say most
        best = max((float(one) for one in np.linspace(-1, 1, AROUND)), key=p)
        if rejected(best):
            return value
        value = best
    low, high = -1.0, value
    if value > 0:  # 0 is looked at first, so that the bar agrees with the test
        low, high = (0.0, value) if rejected(0.0) else (-1.0, 0.0)
    if small_counts(groups):
        return _hull(p, alpha, low, high)
    threshold = chi_squared_quantile(2 * request.tail)
    for _ in range(PASSES):
        points = np.linspace(low, high, POINTS)
        shift = np.stack([points, np.zeros(POINTS)], axis=1)
        kept = groups.scores(np.repeat(groups.counts, POINTS, axis=0), shift).equality() <= threshold
        first = int(np.argmax(kept)) if kept.any() else POINTS - 1
        if first == 0:
            return low
        low, high = float(points[first - 1]), float(points[first])
    return low


def _hull(p: Callable[[float], float], alpha: float, low: float, high: float) -> float:
    """The lower end between `low` and `high`, beyond the gaps in which p saws: looked for until p is half of α."""

    def rejected(difference: float) -> bool:
        return p(difference) < alpha

    end = turning_point(rejected, low, high, STEP)
    at = end - LOOK
    while at > low and p(at) >= alpha / 2:
        if not rejected(at):
            end = turning_point(rejected, max(low, at - LOOK), at, STEP)
            at = end
        at -= LOOK
    return end
