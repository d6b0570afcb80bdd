"""Choosing a design when the prevalence is not known: by a prior, by the worst case, by the worst regret.

n·Var = A + Bπ − π², and the −π² is the same for every design.  Therefore:
Prior.  For any prior on π the least expected variance is [HLM17]'s optimum at the prior's mean.
Minimax on [low, high].  The worst variance of a design is A + Bp − p² at p = B/2 clipped to the interval; the best
    worst case is one of the three corners.  Tie-break: symmetric, then (1, δ), then (δ, 1).
Minimax regret on [low, high].  L(π) = min over the corners of A + Bπ is concave, so a design's regret A + Bπ − L(π) is
    convex and worst at an end.  With B* = (L(high) − L(low))/(high − low) the two ends are balanced on the edge point
        (1 − u, δ + E·u),  u = (1 − B*δ)/(2 + B*(E − 1)) clipped to [0, (1 − δ)/(E + 1)],      if B* >= 1,
    and on its mirror image with 2 − B* otherwise.  The answer is the best of that point and the corners.
These may choose a design in which an answer is a proof; it then says so.  `full_support_design` never does.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol

from rrcollect.design.chosen import ChosenDesign
from rrcollect.design.exponential import ExpNumber
from rrcollect.design.optimal import Corner, corners, exact_minimum, optimal_design
from rrcollect.design.parameters import EpsilonLike, NumberLike, fraction, probability
from rrcollect.design.promise import Promise
from rrcollect.errors import ParameterError


class _HasMean(Protocol):
    def mean(self) -> float: ...


Prior = Mapping[NumberLike, NumberLike] | _HasMean | NumberLike


def prior_mean(prior: Prior) -> Fraction:
    """The mean of a prior on the prevalence: a number (the mean itself), a table {prevalence: weight}, or anything with
    a `.mean()`, such as `scipy.stats.beta(2, 8)`.

    >>> prior_mean({"0.1": 3, "0.3": 1})
    Fraction(3, 20)
    """
    if isinstance(prior, Mapping):
        weights = [(probability("prevalence", pi), fraction("weight", weight)) for pi, weight in prior.items()]
        total = sum(weight for _, weight in weights)
        if total <= 0 or any(weight < 0 for _, weight in weights):
            raise ParameterError("prior", dict(prior), "weights of 0 or more with a positive sum")
        return sum((pi * weight for pi, weight in weights), Fraction(0)) / total
    mean = getattr(prior, "mean", None)
    return probability("prior mean", float(mean()) if callable(mean) else prior)


def prior_design(epsilon: EpsilonLike, delta: NumberLike, prior: Prior) -> ChosenDesign:
    """The least expected variance over a prior on the prevalence: [HLM17]'s optimum at the prior's mean.

    >>> prior_design(1, "2/5", {"0.05": 1, "0.15": 1}) == optimal_design(1, "2/5", prevalence="0.1")
    True
    """
    mean = prior_mean(prior)
    best = optimal_design(epsilon, delta, prevalence=mean)
    return ChosenDesign(
        best,
        promise=best.promise,
        rule=f"{best.rule}, at the prior's mean",
        reason=f"for any prior the optimum at its mean has the least expected variance; {best.reason}",
        compared=best.compared,
        low=mean,
        high=mean,
    )


def _interval(low: NumberLike, high: NumberLike) -> tuple[Fraction, Fraction]:
    exact_low, exact_high = probability("low", low), probability("high", high)
    if exact_low > exact_high:
        raise ParameterError("(low, high)", (low, high), "an interval of prevalences, low <= high")
    return exact_low, exact_high


def _worst_variance(corner: Corner, low: Fraction, high: Fraction) -> ExpNumber:
    """max of A + Bπ − π² on [low, high]: a parabola with its top at B/2."""
    a, b = corner.line()
    top = b / 2
    p: ExpNumber | Fraction = low if top < low else high if top > high else top
    return a + b * p - p * p


def minimax_design(
    epsilon: EpsilonLike, delta: NumberLike = 0, low: NumberLike = 0, high: NumberLike = 1
) -> ChosenDesign:
    """The least worst-case variance over prevalences in [low, high].

    >>> minimax_design("0.13", "0.05").proofs, minimax_design("0.14", "0.05").proofs
    (('yes',), ())
    """
    promise = Promise.of(epsilon, delta)
    exact_low, exact_high = _interval(low, high)
    judged = [(corner, _worst_variance(corner, exact_low, exact_high)) for corner in corners(promise)]
    winners, compared = exact_minimum(judged)
    figures = "; ".join(f"{name} {value:.6g}" for name, value in compared)
    tie = " A tie; the first named wins." if len(winners) > 1 else ""
    where = f"[{float(exact_low):.6g}, {float(exact_high):.6g}]"
    return ChosenDesign(
        winners[0].to_design(),
        promise=promise,
        rule=f"minimax variance on {where}",
        reason=f"worst n·variance for a prevalence in {where}: {figures}.{tie}",
        compared=compared,
        low=exact_low,
        high=exact_high,
    )


def minimax_regret_design(
    epsilon: EpsilonLike, delta: NumberLike = 0, low: NumberLike = 0, high: NumberLike = 1
) -> ChosenDesign:
    """The least worst-case regret over [low, high]: how much n·variance is lost against knowing the prevalence.

    >>> design = minimax_regret_design(1, "2/5", 0, "1/2")
    >>> [round(float(p), 10) for p in (design.p00, design.p11)], round(dict(design.compared)["balanced"], 10)
    ([0.9230835205, 0.6090806685], 0.250708526)
    """
    promise = Promise.of(epsilon, delta)
    exact_low, exact_high = _interval(low, high)
    found = corners(promise)
    best_low, best_high = _least(found, exact_low), _least(found, exact_high)
    if len(found) > 1 and exact_low < exact_high:
        balanced = _balanced(promise, (best_high - best_low) / (exact_high - exact_low))
        found = [*found, balanced] if balanced.usable() else found

    def regret(corner: Corner) -> ExpNumber:
        a, b = corner.line()
        at_low, at_high = a + b * exact_low - best_low, a + b * exact_high - best_high
        return at_low if at_low > at_high else at_high

    winners, compared = exact_minimum([(corner, regret(corner)) for corner in found])
    figures = "; ".join(f"{name} {value:.6g}" for name, value in compared)
    where = f"[{float(exact_low):.6g}, {float(exact_high):.6g}]"
    return ChosenDesign(
        winners[0].to_design(),
        promise=promise,
        rule=f"minimax regret on {where}",
        reason=f"most n·variance lost against the best design for the true prevalence in {where}: {figures}",
        compared=compared,
        low=exact_low,
        high=exact_high,
    )


def _least(found: list[Corner], prevalence: Fraction) -> ExpNumber:
    """L(π), the least A + Bπ of all corners."""
    least: ExpNumber | None = None
    for corner in found:
        a, b = corner.line()
        value = a + b * prevalence
        least = value if least is None or value < least else least
    assert least is not None  # `corners` never returns an empty list
    return least


def _balanced(promise: Promise, slope: ExpNumber) -> Corner:
    """The edge point whose regrets at both ends of the interval are equal, clipped to the edge."""
    big_e, d = promise.epsilon.exp, promise.delta
    mirrored = slope < 1
    b = 2 - slope if mirrored else slope
    u = (1 - b * d) / (2 + b * (big_e - 1))
    limit = (1 - d) / (big_e + 1)
    u = u * 0 if u < 0 else limit if u > limit else u
    p00, p11 = 1 - u, d + big_e * u
    return Corner("balanced", p11, p00) if mirrored else Corner("balanced", p00, p11)
