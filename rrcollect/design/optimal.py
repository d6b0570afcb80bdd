"""The optimal mechanism: the least variance that a promise allows, for what is known of the prevalence.

Theorem 2 [HLM17].  δ = 0, ε > 0: the optimum is (q, q), q = E/(E+1), at every prevalence.
Theorem 3 [HLM17].  δ > 0, π <= 1/2: the optimum is
    (1, δ)  if g(ε, δ) > π,      a "yes" then proves the attribute
    (q, q)  if g(ε, δ) < π,      q = (E + δ)/(E + 1)
and both if equal; g is computed by `switch_point`.  Corollary 2: for π >= 1/2 compare g with 1 − π and swap the two
coordinates.  At π = 1/2 with g >= 1/2 the theorem names (1, δ) and the corollary (δ, 1): their variances are equal.
Theorem 4 [HLM17].  Among the designs with p00 = p11 (Warner's) the optimum is (q, q); see `classic.warner`.
The corners' variances are compared exactly, which decides every case, ties included (`corners`).
One of several options is chosen in `many_options`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, overload

from rrcollect.design.bins import BinDesign, worst_variance
from rrcollect.design.blocks import BlockDesign
from rrcollect.design.corners import Chosen, corners, exact_minimum, symmetric_probability
from rrcollect.design.exponential import ExpNumber
from rrcollect.design.many_options import best_for_options, best_sets
from rrcollect.design.mechanism import Mechanism
from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike, probability, whole_number
from rrcollect.design.promise import Capped, Promise, TwoSided
from rrcollect.design.sets import MOST_OPTIONS, SetDesign
from rrcollect.design.several import SeveralDesign
from rrcollect.design.special import Prior, capped, minimax, minimax_regret, prior_mean, two_sided
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError

INTERVALS = "no theorem is known for an interval under two promises or a cap"
Prevalence = NumberLike | tuple[NumberLike, NumberLike] | Prior


@overload
def optimal_design(
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
) -> Any: ...  # a SetDesign or a BlockDesign
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

    `options`: 2 is yes or no; more, up to 10^6, are one of so many options, for a strict promise ε: k-ary response,
    sets or blocks, whichever has the least variance (`many_options`).  `several` are options of which all may apply;
    `bins` are the parts of a number's range, for its whole distribution.

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
        return _one_of(promise, options, prevalence)
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
        return best_for_options(promise.epsilon, design.truths if design.choice is None else design.choice.options)
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


def _one_of(promise: Promise, options: int, prevalence: object) -> SetDesign | BlockDesign:
    if prevalence is not None:
        expected = "none for several options: the design is the best for all their shares"
        raise ParameterError("prevalence", prevalence, expected)
    if type(promise) is not Promise:
        raise ParameterError("promise", promise, "a plain one, ε alone, for several options")
    return best_for_options(promise.epsilon, options, promise.delta)


def choice_design(epsilon: EpsilonLike, options: int, delta: NumberLike = 0) -> SetDesign | BlockDesign:
    """The design of a choice, also of one of two options."""
    return best_for_options(epsilon, options, delta)


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
