"""The optimal mechanism: the least variance that a promise allows, for what is known of the prevalence.

Theorem 2 [HLM17].  δ = 0, ε > 0: the optimum is (q, q), q = E/(E+1), at every prevalence.
Theorem 3 [HLM17].  δ > 0, π <= 1/2: the optimum is
    (1, δ)  if g(ε, δ) > π,      a "yes" then proves the attribute
    (q, q)  if g(ε, δ) < π,      q = (E + δ)/(E + 1)
and both if equal; g is computed by `switch_point`.  Corollary 2: for π >= 1/2 compare g with 1 − π and swap the two
coordinates.  At π = 1/2 with g >= 1/2 the theorem names (1, δ) and the corollary (δ, 1): their variances are equal.
Theorem 4 [HLM17].  Among the designs with p00 = p11 (Warner's) the optimum is (q, q); see `classic.warner`.
The corners' variances are compared exactly, which decides every case, ties included (`corners`).

Theorem ([PNL23], minimax; here also at every prevalence).  Among all mechanisms for k options a set design has the
least total variance, with the smallest size ω >= 1 that has

    e^(2ε) ω(ω + 1)  >=  (k − ω)(k − ω − 1),        about k/(e^ε + 1),

and p = ω e^ε / (ω e^ε + k − ω).  The size is decided exactly; a tie takes the smaller set.  p is lowered to the grid.
δ > 0 buys accuracy only by disclosing people: the optimum for k > 2 is "with chance δ send the truth, marked as such".
So only strict ε is served there; two options are a yes/no design, for which (ε, δ) has its own theorem.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Literal, overload

from rrcollect.design.bins import BinDesign, worst_variance
from rrcollect.design.corners import Chosen, corners, exact_minimum, symmetric_probability
from rrcollect.design.exponential import ExpNumber, sign_at_exp
from rrcollect.design.mechanism import GRID, Mechanism
from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike, probability, whole_number
from rrcollect.design.promise import Capped, Promise, TwoSided
from rrcollect.design.sets import MOST_OPTIONS, SetDesign
from rrcollect.design.several import SeveralDesign
from rrcollect.design.special import Prior, capped, minimax, minimax_regret, prior_mean, two_sided
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError, UninformativeDesign

INTERVALS = "no theorem is known for an interval under two promises or a cap"
Prevalence = NumberLike | tuple[NumberLike, NumberLike] | Prior


@overload
def optimal_design(  # type: ignore[overload-overlap] # two options are yes and no
    epsilon: EpsilonLike | Promise,
    delta: NumberLike = 0,
    *,
    prevalence: Prevalence | None = None,
    options: Literal[2] = 2,
    criterion: Literal["variance", "regret"] = "variance",
) -> Design: ...
@overload
def optimal_design(
    epsilon: EpsilonLike | Promise,
    delta: NumberLike = 0,
    *,
    prevalence: Prevalence | None = None,
    options: int,
    criterion: Literal["variance", "regret"] = "variance",
) -> SetDesign: ...
@overload
def optimal_design(epsilon: EpsilonLike, *, bins: int) -> BinDesign | SetDesign: ...
@overload
def optimal_design(epsilon: EpsilonLike, *, several: int) -> SeveralDesign: ...
def optimal_design(
    epsilon: EpsilonLike | Promise,
    delta: NumberLike = 0,
    *,
    prevalence: Prevalence | None = None,
    options: int = 2,
    criterion: Literal["variance", "regret"] = "variance",
    bins: int | None = None,
    several: int | None = None,
) -> Mechanism:
    """The design of least variance that keeps a promise; rule, reason, ties and what was compared are in its `choice`.

    The promise is (ε, δ), or a `Promise`: `Promise.two_sided(yes, no)` where only a "yes" may harm,
    `Promise.capped(epsilon, delta, max_ratio)` where no answer may change the odds by more than a factor.

    What is known of the prevalence: nothing, a number, an interval (low, high), or a prior: a table {prevalence:
    weight} or anything with a `.mean()`.  Without it the symmetric design is returned.  With δ = 0 that is optimal at
    every prevalence.  With δ > 0 the optimum depends on the prevalence, and may be a design in which one answer proves
    the truth; the symmetric corner is the only one in which no answer is a proof.  On an interval the worst variance is
    the least, or by `criterion="regret"` the most that is lost against knowing the prevalence.

    `options`: 2 is yes or no; more are one of so many options, for a strict promise ε.  `several` are options of which
    all may apply; `bins` are the parts of a number's range, for its whole distribution.

    >>> optimal_design(1).numerators[0]
    13485650502877570762
    >>> print(optimal_design(1, "2/5", prevalence=0.1).choice.explain_exposure(n=1000))  # doctest: +ELLIPSIS
    A "yes" proves that the person has the attribute; ε plays no part in it. Of 1000 respondents about 40 would ...
    >>> [tied.choice.rule for tied in optimal_design("ln 2", "1/4", prevalence="1/4").choice.ties]
    ['[HLM17] Theorem 3, a tie', '[HLM17] Theorem 3, a tie']
    >>> optimal_design(1, options=10).size, optimal_design("ln 2", options=3)
    (3, SetDesign(3, 1, '1/2'))
    >>> design = optimal_design(Promise.two_sided("ln 2", "ln 6"))
    >>> float(design.p00), float(design.p11)          # 6/11, 10/11
    (0.5454545454545454, 0.9090909090909091)
    >>> optimal_design("0.13", "0.05", prevalence=(0, 1)).proofs
    ('yes',)
    """
    if bins is not None or several is not None:
        alone = (delta, prevalence, options, criterion, bins and several) == (0, None, 2, "variance", None)
        if isinstance(epsilon, Promise) or not alone:
            raise ParameterError("bins and several", (bins, several), "one of them, with nothing but ε beside it")
        return bin_design(epsilon, bins) if bins is not None else several_design(epsilon, several or 0)
    if isinstance(epsilon, Promise) and delta != 0:
        raise ParameterError("delta", delta, "none beside a Promise, which has its own")
    promise = epsilon if isinstance(epsilon, Promise) else Promise.of(epsilon, delta)
    interval = isinstance(prevalence, tuple | list)
    if criterion not in ("variance", "regret"):
        raise ParameterError("criterion", criterion, "'variance' or 'regret'")
    if criterion == "regret" and not interval:
        expected = "'variance': regret is judged on an interval, prevalence=(low, high)"
        raise ParameterError("criterion", criterion, expected)
    if whole_number("options", options, 2) != 2:
        return _sets(promise, options, prevalence)
    if interval:
        if type(promise) is not Promise:
            raise ParameterError("prevalence", prevalence, f"a number, a prior or none: {INTERVALS}")
        low, high = _interval(prevalence)
        choose = minimax if criterion == "variance" else minimax_regret
        return choose(promise, low, high).attached()
    prior = isinstance(prevalence, Mapping) or callable(getattr(prevalence, "mean", None))
    pi: Fraction | None = None
    if prevalence is not None:
        pi = prior_mean(prevalence) if prior else probability("prevalence", prevalence)  # type: ignore[arg-type]
    if isinstance(promise, TwoSided):
        return two_sided(promise, pi).attached()
    if isinstance(promise, Capped):
        return capped(promise, pi).attached()
    return _without_prevalence(promise) if pi is None else _at(promise, pi, prior=prior)


def instead_of(design: Mechanism, promise: Promise) -> Mechanism:
    """The best design for the same truths under a promise in which no answer is a proof."""
    if design.cells > 1:
        return best_sets(promise.epsilon, design.cells)
    return optimal_design(promise.epsilon, promise.delta)


def _interval(prevalence: object) -> tuple[Fraction, Fraction]:
    listed = list(prevalence) if isinstance(prevalence, tuple | list) else []
    if len(listed) != 2:
        raise ParameterError("prevalence", prevalence, "a number, (low, high), or a prior")
    low, high = probability("low", listed[0]), probability("high", listed[1])
    if low > high:
        raise ParameterError("prevalence", prevalence, "an interval of prevalences, low <= high")
    return low, high


def _at(promise: Promise, pi: Fraction, *, prior: bool) -> Design:
    """[HLM17]'s optimum at this prevalence, or for any prior at its mean; of a tie the first.

    A tie lists the symmetric design first, then (1, δ), then (δ, 1)."""
    winners, compared, figures = exact_minimum([(corner, corner.n_variance(pi)) for corner in corners(promise)])
    rule, reason = _words(promise, pi, len(winners), len(compared), figures)
    if prior:
        rule = f"{rule}, at the prior's mean"
        reason = f"for any prior the optimum at its mean has the least expected variance; {reason}"
    made = [
        Chosen(w.to_design(), promise, rule, reason, compared, pi, pi, switch_point=_g(promise)).attached()
        for w in winners
    ]
    first: Chosen = made[0].choice
    return replace(first, ties=tuple(made)).attached()


def _without_prevalence(promise: Promise) -> Design:
    q = symmetric_probability(promise, full_support=True)
    if promise.delta == 0:
        rule = "[HLM17] Theorem 2 (strict ε)"
        reason = "with δ = 0 the symmetric design has the least variance at every prevalence"
    else:
        rule = "best full-support corner (no prevalence was given)"
        reason = (
            "with δ > 0 the optimum depends on the prevalence; of its candidates only the symmetric design lets no "
            f"answer be a proof. As a pure promise it costs ε = {Design(q, q).epsilon():.6g}. Give prevalence=, a "
            "number, an interval or a prior, to choose by variance"
        )
    g = _g(promise)
    return Chosen(Design(q, q), promise, rule, reason, ties=(Design(q, q),), switch_point=g).attached()


def switch_point(promise: Promise) -> ExpNumber:
    """g(ε, δ) = δ(e^ε + δ)/(e^ε + 2δ − 1)²: below this prevalence (1, δ) beats the symmetric design.

    >>> float(switch_point(Promise.of("ln 2", "1/4")))
    0.25
    """
    big_e, d = promise.epsilon.exp, promise.delta
    root = big_e + (2 * d - 1)
    if root == 0:
        raise ParameterError("(epsilon, delta)", (0, 0), "not both 0: g is 0/0 there and nothing can be learned")
    return d * (big_e + d) / (root * root)


def _g(promise: Promise) -> float | None:
    return None if promise.epsilon == Epsilon(0) and promise.delta == 0 else float(switch_point(promise))


def _words(promise: Promise, pi: Fraction, winners: int, corners: int, figures: str) -> tuple[str, str]:
    """(rule, reason): the theorem that applies, and the numbers that were compared."""
    at = f"n·variance at prevalence {float(pi):.6g}: {figures}"
    if promise.delta == 0:
        return "[HLM17] Theorem 2 (strict ε)", f"with δ = 0 the symmetric design is optimal at every prevalence; {at}"
    if promise.delta == 1:
        return "[HLM17] Theorem 3, δ = 1", f"δ = 1 promises nothing: the truth itself is sent; {at}"
    low_half = pi * 2 <= 1
    rule = "[HLM17] Theorem 3" if low_half else "[HLM17] Corollary 2"
    side = pi if low_half else 1 - pi
    g = switch_point(promise)
    relation = {1: ">", 0: "=", -1: "<"}[(g - side).sign()]
    reason = f"g(ε, δ) = {float(g):.6g} {relation} {'π' if low_half else '1 − π'} = {float(side):.6g}; {at}"
    if winners > 1:
        rule += ", a tie"
    elif corners == 1:
        reason += "; the corners (1, δ) and (δ, 1) fall off the grid because δ < 2^-64"
    return rule, reason


# ---- one of several options -----------------------------------------------------------------------------------------


def _sets(promise: Promise, options: int, prevalence: object) -> SetDesign:
    if prevalence is not None:
        expected = "none for several options: the design is the best for all their shares"
        raise ParameterError("prevalence", prevalence, expected)
    if type(promise) is not Promise:
        raise ParameterError("promise", promise, "a plain one, ε alone, for several options")
    return best_sets(promise.epsilon, options, promise.delta)


def best_sets(epsilon: EpsilonLike, options: int, delta: NumberLike = 0) -> SetDesign:
    """The set design of least variance under ε for this many options, on the grid; also for a choice of two.

    >>> best_sets(1, 10).limit
    9926221139934917497
    """
    k = whole_number("options", options, 2)
    if k > MOST_OPTIONS:
        raise ParameterError("options", options, f"2 to {MOST_OPTIONS}")
    if probability("delta", delta) > 0:
        raise ParameterError(
            "delta",
            delta,
            "0: for a choice δ > 0 gains accuracy only by sending the truth of some people, marked as such"
            + ("; for two options ask yes or no, by optimal_design" if k == 2 else ""),
        )
    return made_for(epsilon, k, best_size(epsilon, k))


def best_size(epsilon: EpsilonLike, options: int) -> int:
    """The size of the best set, decided exactly.

    >>> [best_size(1, k) for k in (2, 3, 4, 10, 20, 100)]
    [1, 1, 1, 3, 5, 27]
    """
    exact, k = Epsilon(epsilon), whole_number("options", options, 2)

    def enough(w: int) -> bool:
        ways = (Fraction(-(k - w) * (k - w - 1)), Fraction(0), w * (w + 1) * exact.factor**2)
        return sign_at_exp(ways, exact.rational) >= 0

    low, high = 1, k - 1  # `enough` turns true once and stays: its left side grows with ω, its right side falls
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def made_for(epsilon: EpsilonLike, options: int, size: int) -> SetDesign:
    """The set design of this size that ε allows, on the grid."""
    exact, k, w = Epsilon(epsilon), options, size
    big_e = exact.exp
    if w == 1:
        each = -math.floor(-GRID / (big_e + (k - 1)))  # R, rounded up: every other option's chance on 2^64
        p = 1 - Fraction((k - 1) * each, GRID)
    else:
        p = Fraction(math.floor(GRID * (w * big_e) / (w * big_e + (k - w))), GRID)
    if k * p <= w:
        raise UninformativeDesign(
            f"ε = {exact} forces all {k} options to be answered alike (on the grid of 1/2^64): allow a larger ε"
        )
    return SetDesign(k, w, p)


# ---- drawn questions ------------------------------------------------------------------------------------------------


def several_design(epsilon: EpsilonLike, several: int) -> SeveralDesign:
    """One of so many options asked as a yes/no, at full ε.

    >>> several_design("ln 3", 12)
    SeveralDesign(12, '3/4')
    """
    return SeveralDesign(several, best_sets(epsilon, 2).p)


def bin_design(epsilon: EpsilonLike, bins: int) -> BinDesign | SetDesign:
    """Of sets of bins and Haar–Walsh the one of which the worst share below an edge has the smaller variance; of a tie
    sets.  Beyond `MOST_OPTIONS` bins there are no sets.

    >>> [type(bin_design(*promise)).__name__ for promise in ((1, 4), (1, 16), (2, 16), (2, 64))]
    ['SetDesign', 'BinDesign', 'SetDesign', 'BinDesign']
    """
    drawn = BinDesign(bins, best_sets(epsilon, 2).p)
    sets = best_sets(epsilon, bins) if bins <= MOST_OPTIONS else None
    return drawn if sets is None or worst_variance(sets) > worst_variance(drawn) else sets
