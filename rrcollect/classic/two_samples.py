"""Moors' two samples: the harmless question's share of yes is estimated, not known.

Sample 1 (n1 people) answers the unrelated-question procedure with probability p of the sensitive question; sample 2
(n2 people) answers the harmless question.  With their shares of yes λ1, λ2:
    π̂ = (λ̂1 − (1−p) λ̂2)/p        Var = [λ1(1−λ1)/n1 + (1−p)² λ2(1−λ2)/n2]/p²
The best split has n1 : n2 = √(λ1(1−λ1)) : (1−p)√(λ2(1−λ2)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.parameters import NumberLike, probability, whole_number
from rrcollect.design.yes_no import Design


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
