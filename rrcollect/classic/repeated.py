"""Procedures that are more than one matrix.

Kuk's procedure with several draws: the answer is how many of k independent draws said "yes".

Given the truth j the number of ones is Bin(k, P(1 | j)), so
    worst likelihood ratio = (that of one draw)^k, reached by k ones or k zeros: tight ε is k times that of one draw;
    δ(ε) = max over the two truths of Σ_r max(0, P(r | a) − e^ε P(r | b)).
The estimate π̂ = (mean/k − (1−p00))/c has, from n people,
    Var = [π p11(1−p11) + (1−π) p00(1−p00)]/(k c² n) + π(1−π)/n.

Moors' two samples: the harmless question's share of yes is estimated, not known.

Sample 1 (n1 people) answers the unrelated-question procedure with probability p of the sensitive question; sample 2
(n2 people) answers the harmless question.  With their shares of yes λ1, λ2:
    π̂ = (λ̂1 − (1−p) λ̂2)/p        Var = [λ1(1−λ1)/n1 + (1−p)² λ2(1−λ2)/n2]/p²
The best split has n1 : n2 = √(λ1(1−λ1)) : (1−p)√(λ2(1−λ2)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.exponential import ExpNumber
from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike, probability, whole_number
from rrcollect.design.promise import Private
from rrcollect.design.yes_no import Design, Target


@dataclass(frozen=True)
class RepeatedDesign(Private):
    """`draws` independent answers by one `design` to the same question, reported as their sum.

    >>> RepeatedDesign(Design("4/5", "4/5"), 2).epsilon()   # 2 ln 4
    2.7725887222397816
    """

    design: Design
    draws: int

    def __post_init__(self) -> None:
        whole_number("draws", self.draws)

    def needed(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Of every sum its chances under both truths."""
        return tuple((max(chances), min(chances)) for chances in zip(self.law(0), self.law(1), strict=True))

    @property
    def proof_words(self) -> str:
        """Which answer is a proof; see `Mechanism.proof_words`."""
        return self.design.proof_words

    def law(self, truth: int) -> list[Fraction]:
        """P(0 ones), …, P(k ones) given the truth."""
        p = self.design.matrix[truth][1]
        k = self.draws
        return [math.comb(k, r) * p**r * (1 - p) ** (k - r) for r in range(k + 1)]

    def _exact_delta(self, epsilon: Epsilon) -> ExpNumber:
        """The exact δ(ε)."""
        big_e = epsilon.exp
        laws = self.law(0), self.law(1)
        nothing = big_e * 0
        excess = [[a - big_e * b for a, b in zip(one, other, strict=True)] for one, other in (laws, laws[::-1])]
        return max(sum((each for each in of if each > 0), nothing) for of in excess)

    def delta(self, epsilon: EpsilonLike) -> float:
        """The least δ at this ε, rounded up."""
        return self._exact_delta(Epsilon(epsilon)).float_above()

    def satisfies(self, epsilon: EpsilonLike, delta: NumberLike = 0) -> bool:
        """Whether (ε, δ)-differential privacy holds, decided exactly."""
        return self._exact_delta(Epsilon(epsilon)) <= probability("delta", delta)

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


@dataclass(frozen=True)
class MoorsDesign:
    """Moors' procedure with probability `p` of the sensitive question in sample 1."""

    p: Fraction

    def design(self, prevalence: NumberLike) -> Design:
        """Sample 1's matrix if the harmless question's share of yes is `prevalence`; its ε is nominal."""
        u = probability("prevalence", prevalence)
        return Design(1 - (1 - self.p) * u, self.p + (1 - self.p) * u)

    def variance(self, prevalence: NumberLike, innocuous: NumberLike, n1: int, n2: int) -> Fraction:
        """The exact variance of π̂ at prevalence π and harmless share `innocuous`.

        >>> MoorsDesign(Fraction(7, 10)).variance("0.1", "0.5", n1=800, n2=200)
        Fraction(327, 490000)
        """
        people1, people2 = whole_number("n1", n1), whole_number("n2", n2)
        first, second = self._spreads(prevalence, innocuous)
        return (first / people1 + (1 - self.p) ** 2 * second / people2) / self.p**2

    def best_split(self, prevalence: NumberLike, innocuous: NumberLike) -> float:
        """The share of all respondents to put into sample 1 for the least variance.

        >>> round(MoorsDesign(Fraction(7, 10)).best_split("0.1", "0.5"), 3)
        0.734
        """
        first, second = (math.sqrt(x) for x in self._spreads(prevalence, innocuous))
        total = first + (1 - self.p) * second
        return float(first / total) if total else 1.0

    def _spreads(self, prevalence: NumberLike, innocuous: NumberLike) -> tuple[Fraction, Fraction]:
        pi, u = probability("prevalence", prevalence), probability("innocuous", innocuous)
        yes = self.p * pi + (1 - self.p) * u
        return yes * (1 - yes), u * (1 - u)
