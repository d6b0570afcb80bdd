"""(ε, δ): what a person is promised, what one answer costs, and how costs add up.

Rules
1. Both numbers are exact.  The costs of several answers add up (basic composition).  An ε is a rational number plus
   the logarithm of one, so every sum of them is exact too.  A sum of δ is cut to 1.
2. R is the worst likelihood ratio: the greatest factor by which one answer can change the odds.  If R is finite, one
   answer costs (ln R, 0).  If R is infinite, it costs (0, d), where d is the total variation distance between the two
   rows of the mechanism that differ most: the least δ that holds with ε = 0.
3. The cost is computed from the whole mechanism that was published, never from the (ε, δ) that a survey claims and
   never from one column of the mechanism.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.exponential import sign_at_exp
from rrcollect.design.parameters import SIGNED, Epsilon, EpsilonLike, NumberLike, fraction, probability
from rrcollect.errors import ParameterError


@dataclass(frozen=True)
class Promise:
    """(ε, δ): what every respondent is promised."""

    epsilon: Epsilon
    delta: Fraction

    @classmethod
    def of(cls, epsilon: EpsilonLike, delta: NumberLike) -> Promise:
        """The promise with the numbers as they are written: 0.05 is 1/20.

        >>> print(Promise.of("ln 3", 0.05))
        (ε, δ) = (ln(3), 1/20)
        """
        return cls(Epsilon(epsilon), probability("delta", delta))

    @staticmethod
    def two_sided(yes: EpsilonLike, no: EpsilonLike) -> TwoSided:
        """A "yes" tells at most ε_yes, a "no" at most ε_no: where only one of the answers can harm.

        It is charged the larger of the two: a device knows one ε.  Both are finite; with ε_no = ∞ a "no" would be a
        proof, which somebody can be asked to show.
        """
        both = Epsilon(yes), Epsilon(no)
        return TwoSided(max(both), Fraction(0), *both)

    @staticmethod
    def capped(epsilon: EpsilonLike, delta: NumberLike, max_ratio: NumberLike) -> Capped:
        """(ε, δ), and no answer changes the odds by more than `max_ratio`."""
        cap = fraction("max_ratio", max_ratio)
        if cap <= 1:
            raise ParameterError("max_ratio", max_ratio, "a number above 1 (at 1 every answer is pure noise)")
        return Capped(Epsilon(epsilon), probability("delta", delta), cap)

    def __str__(self) -> str:
        return f"(ε, δ) = ({self.epsilon}, {self.delta})"

    def times(self, count: int) -> Promise:
        """What so many answers of this cost cost together; a δ above 1 is left as it is.

        >>> print(Promise.of("ln 3", "1/100").times(2))
        (ε, δ) = (ln(9), 1/50)
        """
        epsilon = Epsilon.of_parts(self.epsilon.rational * count, self.epsilon.factor**count)
        return Promise(epsilon, self.delta * count)

    def to_wire(self) -> dict[str, str]:
        """{"delta": "0", "epsilon": "ln(3)"}: exact texts."""
        return {"delta": str(self.delta), "epsilon": str(self.epsilon)}

    @classmethod
    def from_wire(cls, value: object) -> Promise:
        """The promise of such texts; their spelling is checked by whoever reads the whole document."""
        if not isinstance(value, dict) or set(value) != {"delta", "epsilon"}:
            raise ParameterError("promise", value, '{"delta": "…", "epsilon": "…"}')
        if not all(isinstance(part, str) for part in value.values()):
            raise ParameterError("promise", value, "numbers written as text, such as '1/2' or 'ln(3)'")
        return cls(Epsilon(value["epsilon"], SIGNED), probability("delta", value["delta"], SIGNED))


@dataclass(frozen=True)
class TwoSided(Promise):
    """ln P(yes | 1)/P(yes | 0) <= `yes` and ln P(no | 0)/P(no | 1) <= `no`."""

    yes: Epsilon
    no: Epsilon


@dataclass(frozen=True)
class Capped(Promise):
    """(ε, δ) with a cap on the likelihood ratio of every answer."""

    max_ratio: Fraction


def total(costs: Iterable[Promise]) -> Promise:
    """The sum of the costs of several answers; a δ above 1 is cut to 1.

    >>> print(total([Promise.of("ln 3", 0), Promise.of("ln 2", "1/100")]))
    (ε, δ) = (ln(6), 1/100)
    """
    kept = list(costs)
    delta = sum((cost.delta for cost in kept), Fraction(0))
    return Promise(Epsilon.total(cost.epsilon for cost in kept), min(delta, Fraction(1)))


class Private(ABC):
    """What answers can tell about a truth, decided exactly."""

    __slots__ = ()

    @abstractmethod
    def needed(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Of every answer that tells two truths apart its chances (u, v) under both, the larger first, all answers
        together that tell the same two apart.  (ε, δ) is kept if and only if u − e^ε v <= δ for each."""

    @property
    def worst_likelihood_ratio(self) -> Fraction | float:
        """How much one answer can change the odds between two truths; `math.inf` if an answer is a proof."""
        return max(most / least if least else math.inf for most, least in self.needed())

    @property
    def tight_epsilon(self) -> Epsilon | None:
        """The least ε with δ = 0, exactly (ln of a rational); None if there is none because an answer is a proof."""
        ratio = self.worst_likelihood_ratio
        return Epsilon.of_ratio(ratio) if isinstance(ratio, Fraction) else None

    def epsilon(self) -> float:
        """The least ε with δ = 0, rounded up to a double for which `satisfies` still holds; `math.inf` if none."""
        tight = self.tight_epsilon
        return math.inf if tight is None else float(tight)

    def slack(self, epsilon: EpsilonLike, delta: NumberLike = 0) -> tuple[int, ...]:
        """Of every pair of `needed` the sign of δ − (u − e^ε v): 1 if it holds with room, 0 if it is tight."""
        exact, d = Epsilon(epsilon), probability("delta", delta)
        return tuple(sign_at_exp((d - u, v * exact.factor), exact.rational) for u, v in self.needed())

    def satisfies(self, epsilon: EpsilonLike, delta: NumberLike = 0) -> bool:
        """Whether every respondent has (ε, δ)-differential privacy, decided exactly."""
        return min(self.slack(epsilon, delta)) >= 0

    def delta(self, epsilon: EpsilonLike) -> float:
        """The least δ at this ε, rounded up to a double for which `satisfies` still holds.

        >>> from rrcollect import Design, SetDesign
        >>> Design("0.8", "0.8").delta(0.5), SetDesign(4, 1, "1/2").delta("ln 2"), SetDesign(4, 1, "1/2").delta("ln 3")
        (0.4702557458599744, 0.16666666666666669, 0.0)
        """
        big_e = Epsilon(epsilon).exp
        worst = max(u - big_e * v for u, v in self.needed())
        return 0.0 if worst <= 0 else worst.float_above()
