"""Kuk's procedure with several draws: the answer is how many of k independent draws said "yes".

Given the truth j the number of ones is Bin(k, P(1 | j)), so
    worst likelihood ratio = (that of one draw)^k, reached by k ones or k zeros: tight ε is k times that of one draw;
    δ(ε) = max over the two truths of Σ_r max(0, P(r | a) − e^ε P(r | b)).
The estimate π̂ = (mean/k − (1−p00))/c has, from n people,
    Var = [π p11(1−p11) + (1−π) p00(1−p00)]/(k c² n) + π(1−π)/n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.exponential import ExpNumber
from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike, probability, whole_number
from rrcollect.design.utility import Target
from rrcollect.design.yes_no import Design


@dataclass(frozen=True)
class RepeatedDesign:
    """`draws` independent answers by one `design` to the same question, reported as their sum.

    >>> RepeatedDesign(Design("4/5", "4/5"), 2).epsilon()   # 2 ln 4
    2.7725887222397816
    """

    design: Design
    draws: int

    def __post_init__(self) -> None:
        whole_number("draws", self.draws)

    @property
    def worst_likelihood_ratio(self) -> Fraction | float:
        """The most one reported sum can change the odds of the truth."""
        ratio = self.design.worst_likelihood_ratio
        return ratio**self.draws if isinstance(ratio, Fraction) else math.inf

    @property
    def tight_epsilon(self) -> Epsilon | None:
        """The least ε with δ = 0, exactly; None if there is none."""
        ratio = self.worst_likelihood_ratio
        return Epsilon.of_ratio(ratio) if isinstance(ratio, Fraction) else None

    def epsilon(self) -> float:
        """`tight_epsilon` rounded up to a double; `math.inf` if there is none."""
        tight = self.tight_epsilon
        return math.inf if tight is None else float(tight)

    def law(self, truth: int) -> list[Fraction]:
        """P(0 ones), …, P(k ones) given the truth."""
        p = self.design.matrix[truth][1]
        k = self.draws
        return [math.comb(k, r) * p**r * (1 - p) ** (k - r) for r in range(k + 1)]

    def _needed(self, epsilon: Epsilon) -> ExpNumber:
        """The exact δ(ε)."""
        big_e = epsilon.exp
        needed = big_e * 0
        for a, b in ((0, 1), (1, 0)):
            total = big_e * 0
            for given_a, given_b in zip(self.law(a), self.law(b), strict=True):
                excess = given_a - big_e * given_b
                total = total + excess if excess > 0 else total
            needed = total if total > needed else needed
        return needed

    def delta(self, epsilon: EpsilonLike) -> float:
        """The least δ at this ε, rounded up."""
        return self._needed(Epsilon(epsilon)).float_above()

    def satisfies(self, epsilon: EpsilonLike, delta: NumberLike = 0) -> bool:
        """Whether (ε, δ)-differential privacy holds, decided exactly."""
        return self._needed(Epsilon(epsilon)) <= probability("delta", delta)

    def variance(self, prevalence: NumberLike, n: int = 1, target: Target = "population") -> Fraction:
        """The variance of the unbiased estimate from n people."""
        pi, people = probability("prevalence", prevalence), whole_number("n", n)
        noise = self.design.variance(pi, people * self.draws, target="sample")
        if target == "sample":
            return noise
        sampling = self.design.variance(pi, people) - self.design.variance(pi, people, target="sample")
        return noise + sampling

    def effective_sample_ratio(self, prevalence: NumberLike) -> Fraction:
        """Direct questioning's variance over this one's; where both vanish, the limit kc/(1 − c + kc)."""
        pi = probability("prevalence", prevalence)
        variance = self.variance(pi)
        if variance:
            return pi * (1 - pi) / variance
        through = self.draws * abs(self.design.c)
        return through / (1 - abs(self.design.c) + through)
