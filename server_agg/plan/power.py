"""Power: the chance that a survey of n answers finds what is there.

Against a null: the exact test rejects π0 if the two-sided Clopper-Pearson bar (or a one-sided one) does not hold it; N
is binomial, so the power is a sum of exact tails.  It saws as n grows, so `sample_size_for_power` returns an n from
which it stays above what was asked for.
Between two groups: the score test of `compare.groups`, by the normal law with the variances of both hypotheses.  Where
an expected count of ones or zeros is below 10 the test is exact and this approximation fails: `simulated_power` repeats
the test itself.
"""

from __future__ import annotations

import math
from fractions import Fraction

from rrcollect.design.parameters import NumberLike, fraction, probability, whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.estimates.interval import Side, tail_probability
from server_agg.estimates.numerics import (
    binomial_at_least,
    exact_level,
    least,
    least_by_doubling,
    normal_quantile,
    normal_tail,
)

LARGEST_N = 10**12
STAYS = 200  # how many further n are looked at


def _least_rejected(n: int, yes: float, tail: Fraction) -> int:
    """The least k with P(N >= k) <= tail; n + 1 if there is none."""
    return least(lambda k: binomial_at_least(k, n, yes) <= tail, 0, n + 1)


def power_against(
    design: Design, n: int, *, null: NumberLike, prevalence: NumberLike, level: NumberLike = 0.95, side: Side = "both"
) -> float:
    """The exact chance to reject π = `null` when the prevalence is `prevalence`.

    `side` "lower" rejects only for high counts (a lower bound above the null), "upper" only for low ones.

    >>> from rrcollect import optimal_design
    >>> round(power_against(optimal_design(1), 1000, null=0.1, prevalence=0.2), 3)
    0.867
    """
    people, tail = whole_number("n", n, minimum=2), tail_probability(level, side)
    oriented = design if design.c > 0 else design.swapped()
    found = 0.0
    if side != "upper":
        k = _least_rejected(people, float(oriented.says_yes(null)), tail)
        if k <= math.floor(people * oriented.p11):  # by the edge rule higher counts have the bar of this one
            found += binomial_at_least(k, people, float(oriented.says_yes(prevalence)))
    if side != "lower":  # low counts of 1 are high counts of 0
        k = _least_rejected(people, float(1 - oriented.says_yes(null)), tail)
        if k <= math.floor(people * oriented.p00):
            found += binomial_at_least(k, people, float(1 - oriented.says_yes(prevalence)))
    return min(found, 1.0)


def sample_size_for_power(
    design: Design,
    *,
    null: NumberLike,
    prevalence: NumberLike,
    power: NumberLike = 0.8,
    level: NumberLike = 0.95,
    side: Side = "both",
) -> int:
    """An n whose exact power against `null` is at least `power` and stays so for the next 200 n.

    >>> from rrcollect import optimal_design
    >>> sample_size_for_power(optimal_design(1), null=0.1, prevalence=0.2)
    857
    """
    wanted = float(exact_level(power, "power"))
    if probability("null", null) == probability("prevalence", prevalence):
        raise ParameterError("prevalence", prevalence, f"another one than the null, {null}")

    def reached(n: int) -> bool:
        return power_against(design, n, null=null, prevalence=prevalence, level=level, side=side) >= wanted

    found = least_by_doubling(reached, 1, LARGEST_N)
    if found is None:
        raise ParameterError("prevalence", prevalence, "a prevalence on the side of the null that is tested")
    last_miss = max((n for n in range(found, found + STAYS) if not reached(n)), default=None)
    while last_miss is not None:
        found = last_miss + 1
        last_miss = max((n for n in range(found, found + STAYS) if not reached(n)), default=None)
    return found


def power_between(
    design: Design, n: int, *, difference: NumberLike, prevalence: NumberLike | None = None, level: NumberLike = 0.95
) -> float:
    """The chance (normal approximation) that two groups of n each are found to differ when one has `prevalence` and
    the other `difference` more.  Without a prevalence: at the worst one.  It fails where an expected count of ones or
    zeros is below 10; there use `simulated_power`.

    >>> from rrcollect import optimal_design
    >>> round(power_between(optimal_design(1), 1000, difference=0.2), 2)
    0.99
    """
    people, gap = whole_number("n", n, minimum=2), fraction("difference", difference)
    if not 0 < abs(gap) < 1:
        raise ParameterError("difference", difference, "a number between −1 and 1, not 0")
    z = normal_quantile((1 - exact_level(level)) / 2)
    if prevalence is not None:
        first = probability("prevalence", prevalence)
        if not 0 <= first + gap <= 1:
            raise ParameterError("prevalence + difference", str(first + gap), "between 0 and 1")
        return _power(design, people, first, gap, z)
    step = (1 - abs(gap)) / 400
    return min(_power(design, people, i * step, abs(gap), z) for i in range(401))


def _power(design: Design, n: int, first: Fraction, gap: Fraction, z: float) -> float:
    middle = first + gap / 2
    null = math.sqrt(2 * design.variance(middle, n))
    there = math.sqrt(design.variance(first, n) + design.variance(first + gap, n))
    d = abs(float(gap))
    return min(1.0, normal_tail((z * null - d) / there) + normal_tail((z * null + d) / there))


def sample_size_between(
    design: Design,
    *,
    difference: NumberLike,
    prevalence: NumberLike | None = None,
    power: NumberLike = 0.8,
    level: NumberLike = 0.95,
) -> int:
    """How many answers in each of two groups to find `difference` with this power.

    >>> from rrcollect import optimal_design
    >>> sample_size_between(optimal_design(1), difference=0.1)
    1837
    """
    wanted = float(exact_level(power, "power"))

    def reached(n: int) -> bool:
        return power_between(design, n, difference=difference, prevalence=prevalence, level=level) >= wanted

    found = least_by_doubling(reached, 1, LARGEST_N)
    if found is None:
        raise ParameterError("difference", difference, f"a difference that {LARGEST_N} answers can show")
    return found
