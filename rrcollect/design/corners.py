"""Why a design was chosen, and the candidates that were compared.

A design (p00, p11) sends a true "no" unchanged with probability p00 and a true "yes" with probability p11.  With the
prevalence π, n answers, E = e^ε and c = p00 + p11 − 1, the variance Var of the estimate is
    n·Var = A + Bπ − π²,      A = p00(1−p00)/c²,      B = (2p00−1)/c.
By [HLM17] Lemmas 2-4 the optimum is one of three corners: (q, q), (1, δ) or (δ, 1).  Their variances are fractions of
polynomials in e^ε and compared exactly.  Then the probabilities of the winner are rounded down to the grid, the
multiples of 1/2^64.

Rules
1. `design.choice` is outside equality, hash and wire: a chosen design equals the plain one with its numbers.
2. It lies on the grid, keeps its promise exactly, and says in words which theorem chose it and what was compared.
3. Where an answer is a proof it says so, with the expected number of people exposed, and names the symmetric design,
   in which no answer is a proof, and its cost in variance.  An answer that multiplies the odds by `PRACTICAL_PROOF` or
   more is called by its name too: 1 − 10⁻⁹ is not better than 1 for the person it exposes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from rrcollect.design.exponential import ExpNumber
from rrcollect.design.mechanism import GRID
from rrcollect.design.parameters import whole_number
from rrcollect.design.promise import Promise
from rrcollect.design.sentences import PRACTICAL_PROOF, at_most
from rrcollect.design.yes_no import Design
from rrcollect.errors import UninformativeDesign


@dataclass(frozen=True)
class Chosen:
    """The `promise` a grid design was chosen for, the `rule` that chose it, the `reason`, and what was `compared`.

    `compared` holds (name of the candidate, its figure) in the order considered; `low` and `high` bound the prevalence
    the choice assumed (equal if it was a number), and are None if nothing was assumed.  `ties` are all designs that are
    as good, this one among them.  `switch_point` is g(ε, δ): below this prevalence (1, δ) beats the symmetric design.
    """

    design: Design
    promise: Promise
    rule: str = ""
    reason: str = ""
    compared: tuple[tuple[str, float], ...] = ()
    low: Fraction | None = None
    high: Fraction | None = None
    ties: tuple[Design, ...] = ()
    switch_point: float | None = None

    def attached(self) -> Design:
        """The design with this as its `choice`."""
        return self.design.chosen(self if self.ties else replace(self, ties=(self.design,)))

    @property
    def alternative(self) -> Design:
        """The corner under the same promise in which no answer is a proof: the symmetric design."""
        return Design(*[symmetric_probability(self.promise, full_support=True)] * 2)

    def explain_exposure(self, n: int = 1000) -> str:
        """What the answers can prove about a person, among n respondents; plain words, never empty."""
        people = whole_number("n", n)
        words = [self._proof(word, people) for word in self.design.proofs]
        for word, answer in (("yes", 1), ("no", 0)):
            ratio = self.design.likelihood_ratio(answer)
            if word not in self.design.proofs and ratio >= PRACTICAL_PROOF:
                words.append(f'A "{word}" multiplies the odds by {float(ratio):.3g}: it is as good as a proof.')
        if words:
            return " ".join([*words, *self._advice()])
        odds = ", ".join(
            f'a "{word}" by at most {at_most(Fraction(self.design.likelihood_ratio(answer)), 4)}'
            for word, answer in (("yes", 1), ("no", 0))
        )
        return f"No answer proves anything; it can multiply the odds of the truth: {odds}."

    def _proof(self, word: str, people: int) -> str:
        answer = 1 if word == "yes" else 0
        proven = "has the attribute" if self.design.p00 == 1 and word == "yes" else "does not have the attribute"
        words = f'A "{word}" proves that the person {proven}; ε plays no part in it.'
        if self.low is None or self.high is None:
            return words
        given = [row[answer] for row in self.design.matrix]
        most = max(given[1] * pi + given[0] * (1 - pi) for pi in (self.low, self.high))
        about = f"about {float(people * most):.4g}" if self.low == self.high else f"up to {at_most(people * most, 4)}"
        return f"{words} Of {people} respondents {about} would be exposed for certain."

    def _advice(self) -> list[str]:
        try:
            other = self.alternative
        except UninformativeDesign:
            return ["No design without a proof can be applied under this promise."]
        if other == self.design or other.worst_likelihood_ratio >= PRACTICAL_PROOF:
            return []
        words = f"The symmetric design {other} lets no answer be a proof"
        if self.low is None or self.high is None:
            return [f"{words}."]
        middle = (self.low + self.high) / 2
        mine, theirs = self.design.variance(middle), other.variance(middle)
        if mine == 0:
            cost = f"{float(theirs):.4g}/n instead of 0"
        else:
            cost = "the same" if mine == theirs else f"{float(theirs / mine):.3g} times as large"
        return [f"{words}; at prevalence {float(middle):.4g} its variance is {cost}."]

    def explain(self, n: int = 1000) -> str:
        """Everything a publisher should read before signing: the matrix, the promise, why, and what it discloses."""
        tight = self.design.tight_epsilon
        pure = "none: an answer can be a proof" if tight is None else f"ε = {float(tight):.6g}"
        return "\n".join(
            [
                f"Design    {self.design}",
                f"Promise   {self.promise}; tight with δ = 0: {pure}",
                f"Rule      {self.rule}",
                f"Why       {self.reason}",
                f"People    {self.explain_exposure(n)}",
            ]
        )


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


def exact_minimum(
    candidates: list[tuple[Corner, ExpNumber]],
) -> tuple[list[Corner], tuple[tuple[str, float], ...], str]:
    """(the corners with the least figure, every (name, figure) as a float, the same in words); corners that tie are in
    the order given."""
    least = min(figure for _, figure in candidates)
    winners = [corner for corner, figure in candidates if figure == least]
    compared = tuple((corner.name, float(figure)) for corner, figure in candidates)
    return winners, compared, "; ".join(f"{name} {value:.6g}" for name, value in compared)


def floored_to_grid(p00: ExpNumber | Fraction, p11: ExpNumber | Fraction) -> tuple[Fraction, Fraction]:
    """Both probabilities floored to the grid, exactly (rounding lemma of `yes_no`)."""
    return Fraction(math.floor(p00 * GRID), GRID), Fraction(math.floor(p11 * GRID), GRID)


def symmetric_probability(promise: Promise, *, full_support: bool = False) -> Fraction:
    """q = (e^ε + δ)/(e^ε + 1), floored to the grid; with `full_support` at most 1 − 2^-64."""
    big_e = promise.epsilon.exp
    q, _ = floored_to_grid((big_e + promise.delta) / (big_e + 1), Fraction(0))
    q = min(q, 1 - Fraction(1, GRID)) if full_support else q
    if q * 2 <= 1:
        raise UninformativeDesign(
            f"{promise} is too strict for any symmetric design on the grid of 1/2^64: "
            "both truths would be answered alike and nothing could be learned; allow a larger ε or δ"
        )
    return q
