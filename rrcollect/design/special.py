"""Choosing where [HLM17]'s theorems need help: other promises, and a prevalence that is not known.

Two promises for one question ("yes" may tell less than "no", where only a "yes" can harm).  With E1 = e^ε_yes and
E2 = e^ε_no, both above 1, the design
    p00 = E2(E1 − 1)/(E1 E2 − 1)        p11 = E1(E2 − 1)/(E1 E2 − 1)
has the least variance at every prevalence: both inequalities are tight there, and the variance falls with p00 and with
p11 (E1 = E2 is Warner's).  Lowering both to the grid keeps both promises (rounding lemma of `yes_no`).

A cap R on the likelihood ratio.  Under (ε, δ) alone there is no best design without a proof: where (1, δ) wins,
(1−η, …) gets as close to it as one likes, and exposes people as surely.  Theorem (ours; [HLM17] Lemmas 2-4 carry over).
Let E = e^ε, q = (E+δ)/(E+1), s = (E+δ)/(1−δ) the ratio of (q, q).
  R <= s:  the promise (ε, δ) is implied by the pure one (ln R, 0); by Theorem 2 the optimum is R/(R+1) twice.
  R >  s:  the feasible region has the corners (q, q), V = (1 − u, R·u) with u = δ/(R − E), and V mirrored.  On the part
           of the edge where the ratio binds the variance falls towards V (proof of Theorem 2); on the part where (ε, δ)
           binds its minimum is at an end (Lemma 3).  The optimum is the best of the three corners.

Prevalence not known.  n·Var = A + Bπ − π², and the −π² is the same for every design.  Therefore:
Prior.  For any prior on π the least expected variance is the optimum at the prior's mean.
Minimax on [low, high].  The worst variance of a design is A + Bp − p² at p = B/2 clipped to the interval; the best
    worst case is one of the three corners.  Tie-break: symmetric, then (1, δ), then (δ, 1).
Minimax regret on [low, high].  L(π) = min over the corners of A + Bπ is concave, so a design's regret A + Bπ − L(π) is
    convex and worst at an end.  With B* = (L(high) − L(low))/(high − low) the two ends are balanced on the edge point
        (1 − u, δ + E·u),  u = (1 − B*δ)/(2 + B*(E − 1)) clipped to [0, (1 − δ)/(E + 1)],      if B* >= 1,
    and on its mirror image with 2 − B* otherwise.  The answer is the best of that point and the corners.
These may choose a design in which an answer is a proof; it then says so.  A capped promise never does.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol

from rrcollect.design.corners import Chosen, Corner, corners, exact_minimum, floored_to_grid
from rrcollect.design.exponential import ExpNumber
from rrcollect.design.parameters import Epsilon, NumberLike, fraction, probability
from rrcollect.design.promise import Capped, Promise, TwoSided
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError, UninformativeDesign

# ---- two promises, and a cap ----------------------------------------------------------------------------------------


def two_sided(promise: TwoSided, pi: Fraction | None) -> Chosen:
    """The design of least variance in which a "yes" tells at most ε_yes and a "no" at most ε_no."""
    yes, no = promise.yes, promise.no
    if min(yes, no) <= Epsilon(0):
        raise UninformativeDesign(
            f"with ε_yes = {yes} and ε_no = {no} one answer may tell nothing, so both truths are answered alike; "
            "both must be above 0"
        )
    p00, p11 = _both(yes, no)
    if p00 + p11 <= 1:
        raise UninformativeDesign(f"ε_yes = {yes} and ε_no = {no} are too strict for the grid of 1/2^64")
    reason = (
        f'a "yes" changes the odds by a factor of at most {float(yes.exp):.4g}, a "no" by at most {float(no.exp):.4g}. '
        "It is fair to ask this way where only one of the answers can harm, and nobody can demand to be shown the "
        "other one"
    )
    return Chosen(Design(p00, p11), promise, "two promises, both tight", reason, low=pi, high=pi)


def _both(yes: Epsilon, no: Epsilon) -> tuple[Fraction, Fraction]:
    """(p00, p11) floored to the grid, exactly.

    p00 rises with E1 and falls with E2, p11 the other way round.  So bounds of the two exponentials bound both; they
    are made finer until both ends have the same floor.  That ends: for rational E1 and E2 the bounds are exact, and
    else p00 and p11 are irrational and do not lie on the grid."""
    for doubled in itertools.count(7):
        (low1, high1), (low2, high2) = yes.exp.bounds(1 << doubled), no.exp.bounds(1 << doubled)
        least = floored_to_grid(_p00(low1, high2), _p00(low2, high1))
        most = floored_to_grid(_p00(high1, low2), _p00(high2, low1))
        if least == most:
            return least
    raise AssertionError("unreachable")


def _p00(e1: Fraction, e2: Fraction) -> Fraction:
    """p00 of the theorem; p11 is the same with the promises exchanged."""
    return e2 * (e1 - 1) / (e1 * e2 - 1)


def capped(promise: Capped, pi: Fraction | None) -> Chosen:
    """The least variance under (ε, δ) with no answer changing the odds by more than the cap; without a prevalence the
    best symmetric design under it."""
    big_e, d, cap = promise.epsilon.exp, promise.delta, promise.max_ratio
    if d == 1 or (big_e + d) / (1 - d) >= cap:
        binding = Corner("symmetric at the cap", big_e * 0 + cap / (cap + 1), big_e * 0 + cap / (cap + 1))
        candidates = [binding]
    else:
        q = (big_e + d) / (big_e + 1)
        candidates = [Corner("symmetric", q, q)]
        if d > 0 and pi is not None:
            u = d / (cap - big_e)
            candidates += [Corner('"yes" at the cap', 1 - u, cap * u), Corner('"no" at the cap', cap * u, 1 - u)]
    candidates = [corner for corner in candidates if corner.usable()]
    if not candidates:
        raise UninformativeDesign(f"{promise} with max_ratio = {cap} leaves nothing to learn on the grid of 1/2^64")
    judged_at = Fraction(1, 2) if pi is None else pi
    best, compared, figures = exact_minimum([(corner, corner.n_variance(judged_at)) for corner in candidates])
    reason = f"corners of the region with likelihood ratio at most {float(cap):.6g}, n·variance: {figures}"
    rule = "best full-support design under a ratio cap ([HLM17] Lemmas 2-4)"
    return Chosen(best[0].to_design(), promise, rule, reason, compared, pi, pi)


# ---- a prevalence that is not known ---------------------------------------------------------------------------------


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


def _worst_variance(corner: Corner, low: Fraction, high: Fraction) -> ExpNumber:
    """max of A + Bπ − π² on [low, high]: a parabola with its top at B/2."""
    a, b = corner.line()
    top = b / 2
    p: ExpNumber | Fraction = low if top < low else high if top > high else top
    return a + b * p - p * p


def minimax(promise: Promise, low: Fraction, high: Fraction) -> Chosen:
    """The least worst-case variance over prevalences in [low, high]."""
    judged = [(corner, _worst_variance(corner, low, high)) for corner in corners(promise)]
    return _judged(promise, judged, (low, high), "minimax variance", "worst n·variance for a prevalence")


def minimax_regret(promise: Promise, low: Fraction, high: Fraction) -> Chosen:
    """The least worst-case regret over [low, high]: how much n·variance is lost against knowing the prevalence."""
    found = corners(promise)
    best_low, best_high = _least(found, low), _least(found, high)
    if len(found) > 1 and low < high:
        balanced = _balanced(promise, (best_high - best_low) / (high - low))
        found = [*found, balanced] if balanced.usable() else found
    lines = [(corner, *corner.line()) for corner in found]
    judged = [(corner, max(a + b * low - best_low, a + b * high - best_high)) for corner, a, b in lines]
    told = "most n·variance lost against the best design for the true prevalence"
    return _judged(promise, judged, (low, high), "minimax regret", told)


def _judged(
    promise: Promise, judged: list[tuple[Corner, ExpNumber]], ends: tuple[Fraction, Fraction], rule: str, told: str
) -> Chosen:
    winners, compared, figures = exact_minimum(judged)
    where = f"[{float(ends[0]):.6g}, {float(ends[1]):.6g}]"
    tie = ". A tie; the first named wins" if len(winners) > 1 else ""
    reason = f"{told} in {where}: {figures}{tie}"
    return Chosen(winners[0].to_design(), promise, f"{rule} on {where}", reason, compared, *ends)


def _least(found: list[Corner], prevalence: Fraction) -> ExpNumber:
    """L(π), the least A + Bπ of all corners."""
    return min(a + b * prevalence for a, b in (corner.line() for corner in found))


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
