"""What a whole survey costs a respondent who answers all of it, exactly.

Basic composition: losses add.  A question with a finite worst likelihood ratio R costs (ln R, 0) a round; one with an
unbounded ratio costs (0, |c|), the total variation distance between its two rows, which is its least δ at ε = 0.
ln R is the logarithm of a rational, so the sum is the logarithm of their product: no rounding anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.chosen import Promise
from rrcollect.design.parameters import Epsilon
from rrcollect.publish.survey import Survey, tightest

__all__ = ["Composition", "compose", "total"]


def total(costs: list[Promise]) -> Promise:
    """The sum of losses; δ never exceeds 1.

    >>> print(total([Promise.of("ln 3", 0), Promise.of("ln 2", "1/100")]))
    (ε, δ) = (ln(6), 1/100)
    """
    delta = sum((cost.delta for cost in costs), Fraction(0))
    return Promise(Epsilon.total(cost.epsilon for cost in costs), min(delta, Fraction(1)))


@dataclass(frozen=True)
class Composition:
    """The cost of each question (over all its rounds) and of the whole survey."""

    questions: tuple[tuple[str, int, Promise], ...]
    whole: Promise

    def explain(self) -> str:
        """The composition in words, for the publisher to read before publishing."""
        lines = [
            f"{name}: ε = {float(cost.epsilon):.4g}, δ = {float(cost.delta):.4g}"
            + (f" ({rounds} rounds)" if rounds > 1 else "")
            for name, rounds, cost in self.questions
        ]
        odds = float(self.whole.epsilon.exp)
        lines.append(
            f"Whoever answers everything spends ε = {float(self.whole.epsilon):.4g}, "
            f"δ = {float(self.whole.delta):.4g}: all answers together can change the odds "
            f"of anything about them by a factor of at most {odds:.4g}"
            + (f", except with probability {float(self.whole.delta):.4g}" if self.whole.delta else "")
            + "."
        )
        return "\n".join(lines)


def compose(survey: Survey) -> Composition:
    """The exact composition over a survey's questions and rounds."""
    parts = [(q.id, q.rounds, total([tightest(q.design)] * q.rounds)) for q in survey.questions]
    return Composition(tuple(parts), total([cost for _, _, cost in parts]))
