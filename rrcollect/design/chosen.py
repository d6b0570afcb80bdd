"""A design together with why it was chosen and what it means for the people who answer.

Rules
1. Equality, hash and arithmetic are the matrix's: a `ChosenDesign` equals the plain `Design` with its numbers.
2. It lies on the grid, keeps its promise exactly, and says in words which theorem chose it and what was compared.
3. Where an answer is a proof it says so, with the expected number of people exposed, and names the symmetric design,
   in which no answer is a proof, and its cost in variance.  An answer that multiplies the odds by `PRACTICAL_PROOF` or
   more is called by its name too: 1 − 10⁻⁹ is not better than 1 for the person it exposes.
"""

from __future__ import annotations

import math
from fractions import Fraction

from rrcollect.design.exponential import ExpNumber
from rrcollect.design.mechanism import GRID
from rrcollect.design.parameters import whole_number
from rrcollect.design.promise import Promise
from rrcollect.design.sentences import PRACTICAL_PROOF, at_most
from rrcollect.design.yes_no import Design
from rrcollect.errors import UninformativeDesign


class ChosenDesign(Design):
    """A grid design with its `promise`, the `rule` that chose it, the `reason`, and what was `compared`.

    `compared` holds (name of the candidate, its figure) in the order considered; `low` and `high` bound the
    prevalence the choice assumed (equal if it was a number), and are None if nothing was assumed.
    """

    __slots__ = ("compared", "high", "low", "promise", "reason", "rule")
    promise: Promise
    rule: str
    reason: str
    compared: tuple[tuple[str, float], ...]
    low: Fraction | None
    high: Fraction | None

    def __init__(
        self,
        design: Design,
        *,
        promise: Promise,
        rule: str,
        reason: str,
        compared: tuple[tuple[str, float], ...] = (),
        low: Fraction | None = None,
        high: Fraction | None = None,
    ) -> None:
        super().__init__(design.p00, design.p11)
        for name, value in (("promise", promise), ("rule", rule), ("reason", reason), ("compared", compared)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def __reduce__(self) -> tuple[type[Design], tuple[Fraction, Fraction]]:
        return Design, self.numbers

    @property
    def alternative(self) -> Design:
        """The corner under the same promise in which no answer is a proof: the symmetric design."""
        return Design(*[symmetric_probability(self.promise, full_support=True)] * 2)

    def explain_exposure(self, n: int = 1000) -> str:
        """What the answers can prove about a person, among n respondents; plain words, never empty."""
        people = whole_number("n", n)
        words = [self._proof(word, people) for word in self.proofs]
        for word, answer in (("yes", 1), ("no", 0)):
            ratio = self.likelihood_ratio(answer)
            if word not in self.proofs and ratio >= PRACTICAL_PROOF:
                words.append(f'A "{word}" multiplies the odds by {float(ratio):.3g}: it is as good as a proof.')
        if words:
            return " ".join([*words, *self._advice()])
        odds = ", ".join(
            f'a "{word}" by at most {at_most(Fraction(self.likelihood_ratio(answer)), 4)}'
            for word, answer in (("yes", 1), ("no", 0))
        )
        return f"No answer proves anything; it can multiply the odds of the truth: {odds}."

    def _proof(self, word: str, people: int) -> str:
        answer = 1 if word == "yes" else 0
        proven = "has the attribute" if self.p00 == 1 and word == "yes" else "does not have the attribute"
        words = f'A "{word}" proves that the person {proven}; ε plays no part in it.'
        if self.low is None or self.high is None:
            return words
        most = max(self.matrix[1][answer] * pi + self.matrix[0][answer] * (1 - pi) for pi in (self.low, self.high))
        about = f"about {float(people * most):.4g}" if self.low == self.high else f"up to {at_most(people * most, 4)}"
        return f"{words} Of {people} respondents {about} would be exposed for certain."

    def _advice(self) -> list[str]:
        try:
            other = self.alternative
        except UninformativeDesign:
            return ["No design without a proof can be applied under this promise."]
        if other == self or other.worst_likelihood_ratio >= PRACTICAL_PROOF:
            return []
        words = f"The symmetric design {other} lets no answer be a proof"
        if self.low is None or self.high is None:
            return [f"{words}."]
        middle = (self.low + self.high) / 2
        mine, theirs = self.variance(middle), other.variance(middle)
        if mine == 0:
            cost = f"{float(theirs):.4g}/n instead of 0"
        else:
            cost = "the same" if mine == theirs else f"{float(theirs / mine):.3g} times as large"
        return [f"{words}; at prevalence {float(middle):.4g} its variance is {cost}."]

    def explain(self, n: int = 1000) -> str:
        """Everything a publisher should read before signing: the matrix, the promise, why, and what it discloses."""
        tight = self.tight_epsilon
        pure = "none: an answer can be a proof" if tight is None else f"ε = {float(tight):.6g}"
        return "\n".join(
            [
                f"Design    {self}",
                f"Promise   {self.promise}; tight with δ = 0: {pure}",
                f"Rule      {self.rule}",
                f"Why       {self.reason}",
                f"People    {self.explain_exposure(n)}",
            ]
        )


def floored_to_grid(p00: ExpNumber | Fraction, p11: ExpNumber | Fraction) -> tuple[Fraction, Fraction]:
    """Both probabilities floored to the grid, exactly (rounding lemma of `yes_no`)."""

    def one(p: ExpNumber | Fraction) -> Fraction:
        scaled = p * GRID
        return Fraction(scaled.floor() if isinstance(scaled, ExpNumber) else math.floor(scaled), GRID)

    return one(p00), one(p11)


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
