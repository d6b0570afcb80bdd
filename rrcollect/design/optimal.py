"""The optimal mechanism: the least variance a promise (ε, δ) allows.

A design (p00, p11) sends a true "no" unchanged with probability p00 and a true "yes" with probability p11.  With the
prevalence π, n answers, E = e^ε and c = p00 + p11 − 1, the variance Var of the estimate is
    n·Var = A + Bπ − π²,      A = p00(1−p00)/c²,      B = (2p00−1)/c.

Theorem 2 [HLM17].  δ = 0, ε > 0: the optimum is (q, q), q = E/(E+1), at every prevalence.
Theorem 3 [HLM17].  δ > 0, π <= 1/2: the optimum is
    (1, δ)  if g(ε, δ) > π,      a "yes" then proves the attribute
    (q, q)  if g(ε, δ) < π,      q = (E + δ)/(E + 1)
and both if equal; g is computed by `switch_point`.  Corollary 2: for π >= 1/2 compare g with 1 − π and swap the two
coordinates.  At π = 1/2 with g >= 1/2 the theorem names (1, δ) and the corollary (δ, 1): their variances are equal.
Theorem 4 [HLM17].  Among the designs with p00 = p11 (Warner's) the optimum is (q, q).

By Lemmas 2-4 the optimum is one of three corners: (q, q), (1, δ) or (δ, 1).  We compare their variances exactly (they
are fractions of polynomials in e^ε).  This decides every case, ties included.  Then the probabilities of the winner
are rounded down to the grid, the multiples of 1/2^64.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from rrcollect.design.chosen import ChosenDesign, floored_to_grid, symmetric_probability
from rrcollect.design.exponential import ExpNumber
from rrcollect.design.parameters import EpsilonLike, NumberLike, probability
from rrcollect.design.promise import Promise
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError, UninformativeDesign


@dataclass(frozen=True)
class Region:
    """Where a design lies for a promise (ε, δ): the sets R ⊇ R′ ⊇ R″ of [HLM17] Section III.

    `feasible`: in R, the promise is kept.  `oriented`: in R′, also p00 + p11 > 1.  `boundary`: in R″, also one privacy
    inequality is tight.  `tight` names the answers ("yes", "no") whose inequality holds with equality.
    """

    feasible: bool
    oriented: bool
    boundary: bool
    tight: tuple[str, ...]


def region(design: Design, epsilon: EpsilonLike, delta: NumberLike = 0) -> Region:
    """Membership in R, R′ and R″ of [HLM17], and which inequality is tight.

    >>> region(Design(1, "1/4"), "ln 2", "1/4")
    Region(feasible=True, oriented=True, boundary=True, tight=('yes',))
    """
    no, yes = design.slack(epsilon, delta)
    tight = tuple(answer for answer, slack in (("yes", yes), ("no", no)) if slack == 0)
    feasible = min(no, yes) >= 0
    oriented = feasible and design.c > 0
    return Region(feasible, oriented, oriented and bool(tight), tight)


class Corner(NamedTuple):
    """A candidate for the optimum, before it is rounded down to the grid."""

    name: str
    p00: ExpNumber
    p11: ExpNumber

    def line(self) -> tuple[ExpNumber, ExpNumber]:
        """(A, B) of n·Var = A + Bπ − π²."""
        c = self.p00 + self.p11 - 1
        return self.p00 * (1 - self.p00) / (c * c), (2 * self.p00 - 1) / c

    def n_variance(self, prevalence: Fraction) -> ExpNumber:
        """n·Var at this prevalence."""
        a, b = self.line()
        return a + b * prevalence - prevalence * prevalence

    def usable(self) -> bool:
        """Whether its answers still depend on the truth (c > 0) once it is rounded down to the grid."""
        return sum(floored_to_grid(self.p00, self.p11)) > 1

    def to_design(self) -> Design:
        """The design on the grid that a device applies."""
        return Design(*floored_to_grid(self.p00, self.p11))


def corners(promise: Promise) -> list[Corner]:
    """The corners (at least one) that are still usable on the grid, the symmetric one first; otherwise an error."""
    big_e, d = promise.epsilon.exp, promise.delta
    q = (big_e + d) / (big_e + 1)
    one, exact_d = q * 0 + 1, q * 0 + d
    found = [Corner("symmetric", q, q)]
    if 0 < d < 1:
        found += [Corner("(1, δ)", one, exact_d), Corner("(δ, 1)", exact_d, one)]
    usable = [corner for corner in found if corner.usable()]
    if not usable:
        raise UninformativeDesign(
            f"{promise} forces both truths to be answered alike (on the grid of 1/2^64): "
            "nothing can be learned; allow a larger ε or δ"
        )
    return usable


def switch_point(epsilon: EpsilonLike, delta: NumberLike) -> float:
    """g(ε, δ) = δ(e^ε + δ)/(e^ε + 2δ − 1)²: below this prevalence (1, δ) beats the symmetric design.

    >>> switch_point("ln 2", "1/4")
    0.25
    """
    promise = Promise.of(epsilon, delta)
    return float(_switch_point(promise))


def _switch_point(promise: Promise) -> ExpNumber:
    big_e, d = promise.epsilon.exp, promise.delta
    root = big_e + (2 * d - 1)
    if root == 0:
        raise ParameterError("(epsilon, delta)", (0, 0), "not both 0: g is 0/0 there and nothing can be learned")
    return d * (big_e + d) / (root * root)


def optimal_designs(
    epsilon: EpsilonLike, delta: NumberLike = 0, *, prevalence: NumberLike | None = None
) -> list[ChosenDesign]:
    """Every design of least variance under (ε, δ) at this prevalence; several if they tie exactly.

    A tie lists the symmetric design first, then (1, δ), then (δ, 1).  Without a prevalence: see `optimal_design`.

    >>> [design.rule for design in optimal_designs("ln 2", "1/4", prevalence="1/4")]
    ['[HLM17] Theorem 3, a tie', '[HLM17] Theorem 3, a tie']
    """
    promise = Promise.of(epsilon, delta)
    if prevalence is None:
        return [_without_prevalence(promise)]
    pi = probability("prevalence", prevalence)
    winners, compared = exact_minimum([(corner, corner.n_variance(pi)) for corner in corners(promise)])
    rule, reason = _words(promise, pi, [w.name for w in winners], compared)
    return [
        ChosenDesign(w.to_design(), promise=promise, rule=rule, reason=reason, compared=compared, low=pi, high=pi)
        for w in winners
    ]


def optimal_design(
    epsilon: EpsilonLike, delta: NumberLike = 0, *, prevalence: NumberLike | None = None
) -> ChosenDesign:
    """The design of least variance under (ε, δ) at this prevalence; of a tie, the first of `optimal_designs`.

    Without a prevalence the symmetric design is returned.  With δ = 0 it is optimal at every prevalence.  With δ > 0
    the optimum depends on the prevalence, and may be a design in which one answer proves the truth; the symmetric
    corner is the only one in which no answer is a proof.

    >>> design = optimal_design(1)
    >>> design.numerators[0]
    13485650502877570762
    >>> print(optimal_design(1, "2/5", prevalence=0.1).explain_exposure(n=1000))  # doctest: +ELLIPSIS
    A "yes" proves that the person has the attribute; ε plays no part in it. Of 1000 respondents about 40 would ...
    """
    return optimal_designs(epsilon, delta, prevalence=prevalence)[0]


def optimal_warner_design(epsilon: EpsilonLike, delta: NumberLike = 0) -> ChosenDesign:
    """The best design with p00 = p11, at every prevalence: q = (e^ε + δ)/(e^ε + 1) ([HLM17] Theorem 4).

    >>> optimal_warner_design("ln 3").p00
    Fraction(3, 4)
    """
    promise = Promise.of(epsilon, delta)
    q = symmetric_probability(promise)
    reason = "the variance falls as p00 = p11 grows, so both stand at the promise's limit (e^ε + δ)/(e^ε + 1)"
    return ChosenDesign(Design(q, q), promise=promise, rule="[HLM17] Theorem 4 (Warner)", reason=reason)


def exact_minimum(
    candidates: list[tuple[Corner, ExpNumber]],
) -> tuple[list[Corner], tuple[tuple[str, float], ...]]:
    """(the corners with the least figure, every (name, figure) as a float); corners that tie are in the order given."""
    least = candidates[0][1]
    for _, figure in candidates[1:]:
        least = figure if figure < least else least
    winners = [corner for corner, figure in candidates if figure == least]
    return winners, tuple((corner.name, float(figure)) for corner, figure in candidates)


def _without_prevalence(promise: Promise) -> ChosenDesign:
    q = symmetric_probability(promise, full_support=True)
    if promise.delta == 0:
        rule = "[HLM17] Theorem 2 (strict ε)"
        reason = "with δ = 0 the symmetric design has the least variance at every prevalence"
    else:
        rule = "best full-support corner (no prevalence was given)"
        reason = (
            "with δ > 0 the optimum depends on the prevalence; of its candidates only the symmetric design lets no "
            f"answer be a proof. As a pure promise it costs ε = {Design(q, q).epsilon():.6g}. Give prevalence=, or use "
            "minimax_design or minimax_regret_design, to choose by variance"
        )
    return ChosenDesign(Design(q, q), promise=promise, rule=rule, reason=reason)


def _words(
    promise: Promise, pi: Fraction, winners: list[str], compared: tuple[tuple[str, float], ...]
) -> tuple[str, str]:
    """(rule, reason): the theorem that applies, and the numbers that were compared."""
    figures = "; ".join(f"{name} {value:.6g}" for name, value in compared)
    at = f"n·variance at prevalence {float(pi):.6g}: {figures}"
    if promise.delta == 0:
        return "[HLM17] Theorem 2 (strict ε)", f"with δ = 0 the symmetric design is optimal at every prevalence; {at}"
    if promise.delta == 1:
        return "[HLM17] Theorem 3, δ = 1", f"δ = 1 promises nothing: the truth itself is sent; {at}"
    low_half = pi * 2 <= 1
    rule = "[HLM17] Theorem 3" if low_half else "[HLM17] Corollary 2"
    side = pi if low_half else 1 - pi
    g = _switch_point(promise)
    order = (g - side).sign()
    relation = {1: ">", 0: "=", -1: "<"}[order]
    reason = f"g(ε, δ) = {float(g):.6g} {relation} {'π' if low_half else '1 − π'} = {float(side):.6g}; {at}"
    if len(winners) > 1:
        rule += ", a tie"
    elif len(compared) == 1:
        reason += "; the corners (1, δ) and (δ, 1) fall off the grid because δ < 2^-64"
    return rule, reason
