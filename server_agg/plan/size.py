"""Planning: n for a margin or a power, the margin for n, and ε for both.

    wald        n = ⌈z²·nV/w²⌉                 k² = z²: the usual, approximate
    chebyshev   n = ⌈nV/((1−level)w²)⌉         the paper's 4.5σ, rigorous for the true σ
    hoeffding   n = ⌈ln(2/α)/(2c²w²)⌉          rigorous, whatever the prevalence
    exact       the least n at which the Clopper-Pearson bar, the one that is printed, is expected to reach ±w; with an
                assurance, at which it does so with that probability.  The default
    anytime     the same for the bar that may be looked at every day
with nV = λ(1−λ)/c² at the given prevalence, or at the worst one in [0, 1] (λ as near to ½ as it gets) if none is given.
A choice needs ± w of the option that needs most, and a number's mean ± w/(high − low): see `detection`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from rrcollect import optimal_design
from rrcollect.design.many_options import best_for_options
from rrcollect.design.mechanism import Mechanism
from rrcollect.design.parameters import EpsilonLike, NumberLike, fraction, probability, whole_number
from rrcollect.design.terms import Curve
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.estimates.distribution import bernstein, bernstein_size
from server_agg.estimates.methods import checked_method
from server_agg.estimates.numerics import anytime_shares, least_by_doubling, scipy_special
from server_agg.estimates.score import chebyshev_k2, wilson_k2
from server_agg.plan.detection import Asked, Bounds, size_for_power
from server_agg.results.interval import Side, exact_level

Shares = NumberLike | Sequence[NumberLike]

TABULATED = ("exact", "anytime")  # methods whose width is summed over the counts
LARGEST_N = 10**10  # answers looked at by the exact method
LARGEST_EPSILON = 44.0  # e^44 is about 2^63.5: beyond, a device's 64 bits cannot tell it from a direct question


def sample_size(
    design: Mechanism,
    *,
    margin: NumberLike | None = None,
    difference: NumberLike | None = None,
    null: NumberLike | None = None,
    power: NumberLike = 0.8,
    prevalence: Shares | None = None,
    bounds: Bounds | None = None,
    level: NumberLike = 0.95,
    method: str = "exact",
    assurance: NumberLike | None = None,
    side: Side = "both",
) -> int:
    """How many answers: for ± `margin`, or to find a `difference` or reject a `null` with this `power`.

    With a `margin`: by the bar that will be printed, at `level`; on average, or, with an `assurance` of 0.9, with
    probability 90 %.  With a `difference`: in each of two groups.  With a `null`: see `power`, also for `side`.
    `prevalence` is a share, or the shares of all options of a choice, or a mean within `bounds`; the worst if none.
    Of a number in bins the margin is that of the shares below all edges at once, by the band that will be printed.

    >>> from rrcollect import optimal_design
    >>> [sample_size(optimal_design(1), margin=0.05, method=m) for m in ("wald", "chebyshev", "hoeffding")]
    [1799, 9366, 3455]
    >>> ten = optimal_design(1, options=10)
    >>> sample_size(ten, margin=0.05), sample_size(optimal_design(1), margin=2, bounds=(0, 40))
    (11328, 1839)
    >>> sample_size(optimal_design(1, several=10), margin=0.05)
    37280
    >>> sample_size(optimal_design(1, bins=64), margin=0.05, bounds=(0, 24))
    137497
    >>> sample_size(optimal_design(1), difference=0.1), sample_size(optimal_design(1), null=0.1, prevalence=0.2)
    (1837, 857)
    """
    if (margin, difference, null).count(None) != 2:
        raise ParameterError("margin, difference and null", (margin, difference, null), "one of the three")
    curve = _curve_of(design, bounds)
    if curve is not None and margin is not None:
        return bernstein_size(curve, float(_share(margin)), level)
    asked = Asked.of(design, level, bounds)
    if margin is None:
        if assurance is not None:
            raise ParameterError("assurance", assurance, "nothing, or a margin")
        if isinstance(prevalence, Sequence) and not isinstance(prevalence, str):
            raise ParameterError("prevalence", list(prevalence), "the share of one option")
        found = size_for_power(asked, power, difference=difference, null=null, prevalence=prevalence, side=side)
        return asked.apart * found
    checked_method("plan", method)
    return asked.apart * size_for_margin(asked, margin, prevalence, method, _assurance(assurance, method))


def _curve_of(design: Mechanism, bounds: Bounds | None) -> Curve | None:
    """What the band of a number in bins is made from; None for other questions."""
    return design.below(1, [0] * design.cells) if bounds is not None and design.truths > 2 else None


def _share(margin: NumberLike) -> Fraction:
    found = fraction("margin", margin)
    if not 0 < found < 1:
        raise ParameterError("margin", margin, "a share strictly between 0 and 1: half the width of the band")
    return found


def margin(
    design: Mechanism,
    n: int,
    *,
    prevalence: Shares | None = None,
    bounds: Bounds | None = None,
    level: NumberLike = 0.95,
    method: str = "exact",
    assurance: NumberLike | None = None,
) -> float:
    """The margin ± that n answers give at `level`: on average, or at most, with probability `assurance`.

    >>> from rrcollect import optimal_design
    >>> round(margin(optimal_design(1), 1799, method="wald"), 5), round(margin(optimal_design(1, options=10), 11328), 3)
    (0.05, 0.05)
    >>> round(margin(optimal_design(1), 1839, bounds=(0, 40)), 2)
    2.0
    """
    people, curve = whole_number("n", n, minimum=2), _curve_of(design, bounds)
    if curve is not None:
        return float(max(bernstein(curve, people, level)))
    asked = Asked.of(design, level, bounds)
    people = max(2, people // asked.apart)
    checked_method("plan", method)
    sure = _assurance(assurance, method)
    return float(asked.span) * max(_half(asked, people, at, method, sure) for at in shares_of(asked, prevalence))


def epsilon(
    n: int,
    *,
    margin: NumberLike,
    options: int = 2,
    prevalence: Shares | None = None,
    bounds: Bounds | None = None,
    level: NumberLike = 0.95,
    method: str = "exact",
) -> float:
    """The least ε (δ = 0, optimal design) with which n answers reach ± `margin`; rounded up in the 9th digit or so.

    >>> round(epsilon(1799, margin=0.05, method="wald"), 3)
    1.0
    """
    people = whole_number("n", n, minimum=2)

    def half(asked: Asked) -> float:
        return max(_half(asked, people, at, method, None) for at in shares_of(asked, prevalence))

    def at_best(epsilon: float) -> Asked:
        return Asked.of(best_design(epsilon, options), level, bounds)

    checked_method("plan", method)
    almost_direct = at_best(LARGEST_EPSILON)
    w = _margin(almost_direct, margin)
    if half(almost_direct) > w:
        least = float(almost_direct.span) * half(almost_direct.direct())
        raise ParameterError("margin", margin, f"{least:.4g} or more: n = {n} direct answers give no less")
    low, high = 0.0, LARGEST_EPSILON
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if half(at_best(middle)) <= w else (middle, high)
    return high


def best_design(epsilon: EpsilonLike, options: int = 2) -> Mechanism:
    """The design for ε (δ = 0) and so many options."""
    return optimal_design(epsilon) if options == 2 else best_for_options(epsilon, options)


def worst_prevalence(design: Design) -> Fraction:
    """The prevalence in [0, 1] at which the estimate varies most: where λ is nearest to 1/2.

    >>> worst_prevalence(Design("3/4", "3/4")), worst_prevalence(Design(1, "1/20"))
    (Fraction(1, 2), Fraction(1, 1))
    """
    return min(max((design.p00 - Fraction(1, 2)) / design.c, Fraction(0)), Fraction(1))


def shares_of(asked: Asked, prevalence: Shares | None) -> set[Fraction]:
    """The shares at which a design must do; the worst one if none are given."""
    if prevalence is None:
        return {worst_prevalence(asked.design)}
    if isinstance(prevalence, str) or not isinstance(prevalence, Sequence):
        return {asked.share("prevalence", prevalence)}
    found = [probability("prevalence", share) for share in prevalence]
    if len(found) != asked.options or sum(found) != 1:
        raise ParameterError("prevalence", list(prevalence), f"{asked.options} shares that add up to 1")
    return set(found)


def _margin(asked: Asked, margin: NumberLike) -> Fraction:
    allowed = f"a number strictly between 0 and {asked.span}: half the width of the bar"
    found = asked.part("margin", margin, allowed)
    if not 0 < found < 1:
        raise ParameterError("margin", margin, allowed)
    return found


def _assurance(assurance: NumberLike | None, method: str) -> float | None:
    if assurance is not None and method not in TABULATED:
        raise ParameterError("assurance", assurance, f"nothing, or a method of {', '.join(TABULATED)}")
    return None if assurance is None else float(exact_level(assurance, "assurance"))


def _by_formula(asked: Asked, at: Fraction, method: str) -> Fraction:
    """n times the square of half the width of the bar of a share."""
    if method == "hoeffding":
        return Fraction(math.log(2 / (1 - asked.level))) / (2 * asked.design.c**2)
    k2 = chebyshev_k2(asked.level, "both") if method == "chebyshev" else wilson_k2((1 - asked.level) / 2)
    return k2 * asked.design.variance(at)


def size_for_margin(
    asked: Asked, margin: NumberLike, prevalence: Shares | None, method: str, sure: float | None
) -> int:
    """The least n, at the share that needs most."""
    w = _margin(asked, margin)

    def size(at: Fraction) -> int | None:
        if method not in TABULATED:
            return max(2, math.ceil(_by_formula(asked, at, method) / w**2))
        return least_by_doubling(lambda n: _half(asked, n, at, method, sure) <= w, 1, LARGEST_N)

    found = [size(at) for at in shares_of(asked, prevalence)]
    if None in found:
        raise ParameterError("margin", margin, f"a margin that {LARGEST_N} answers can reach")
    return max(n for n in found if n is not None)


def _half(asked: Asked, n: int, prevalence: Fraction, method: str, sure: float | None) -> float:
    """Half the width of the bar of a share."""
    if method in TABULATED:
        return _tabulated(asked.design, n, asked.level, prevalence, method=method, sure=sure)
    return math.sqrt(_by_formula(asked, prevalence, method) / n)


def _tabulated(
    design: Design, n: int, level: Fraction, prevalence: Fraction, *, method: str, sure: float | None
) -> float:
    """Half the width of the bar before it is cut to [0, 1]: expected, or kept with probability `sure`."""
    import numpy as np

    beta, tail = scipy_special(), float((1 - level) / 2)
    yes = float(design.says_yes(prevalence))
    far = 9 * math.sqrt(n * yes * (1 - yes)) + 60
    ones = np.arange(max(0, math.floor(n * yes - far)), min(n, math.ceil(n * yes + far)) + 1)
    logs = beta.gammaln(n + 1) - beta.gammaln(ones + 1) - beta.gammaln(n - ones + 1)
    weights = np.exp(logs + beta.xlogy(ones, yes) + beta.xlogy(n - ones, 1 - yes))
    if method == "anytime":
        low, high = anytime_shares(ones, n, 2 * tail), 1 - anytime_shares(n - ones, n, 2 * tail)
    else:
        low = np.where(ones > 0, beta.betaincinv(np.maximum(ones, 1), n - ones + 1, tail), 0.0)
        high = np.where(ones < n, beta.betaincinv(ones + 1, np.maximum(n - ones, 1), 1 - tail), 1.0)
    widths = (high - low) / 2 / abs(float(design.c))
    if sure is None:
        return float(weights @ widths / weights.sum())
    order = np.argsort(widths)
    reached = np.searchsorted(np.cumsum(weights[order]) / weights.sum(), sure - 1e-12)
    return float(widths[order][min(int(reached), widths.size - 1)])
