"""The score bar of a difference: the differences that the score test does not reject.

    { δ : p(a − b = δ) >= 1 − level },     p of `small_counts`, exact where expected counts are small
As p(0) is the p-value of the comparison, the bar holds 0 if and only if p >= 1 − level.  The set may have gaps where p
saws; the bar is its hull as bisection finds it, and 0 is looked at first.
"""

from __future__ import annotations

import numpy as np

from server_agg.estimates.numerics import chi_squared_quantile, turning_point
from server_agg.estimates.problem import Problem, Request
from server_agg.estimates.score_tests import Groups
from server_agg.estimates.small_counts import PValue, p_value, small_counts

STEP = 1e-4  # how finely an exact end is looked for, to the safe side
POINTS, PASSES = 33, 8  # an end by the limiting law is found to 2/32^8


def two_groups(problem: Problem) -> Groups:
    """The two parts of a difference as groups."""
    parts = [part for _, part in problem.parts]
    sampling = tuple(float(part.line.s * part.n) for part in parts)
    return Groups(tuple(part.tallies for part in parts), sampling)


def score_difference_lower(problem: Problem, request: Request) -> float:
    """The lower end."""
    groups, alpha = two_groups(problem), float(2 * request.tail)
    value = min(max(float(problem.value), -1.0), 1.0)

    def rejected(difference: float) -> bool:
        return p_value(groups, difference=difference).p < alpha

    low, high = -1.0, value
    if value > 0:  # 0 is looked at first, so that the bar agrees with the test
        low, high = (0.0, value) if rejected(0.0) else (-1.0, 0.0)
    if small_counts(groups):
        return turning_point(rejected, low, high, STEP)
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


def score_test(problem: Problem) -> PValue:
    """That the two parts are equal; by the edge rule, so that a count which nothing explains is not evidence."""
    ahead = problem if problem.value > 0 else problem.mirrored()
    within = ahead.within()
    found = p_value(two_groups(within))
    return found if within.value > 0 else found._replace(p=1.0)
