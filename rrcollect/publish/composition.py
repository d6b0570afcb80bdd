"""What a whole survey costs a respondent who answers all of it, exactly.

Losses add (see `design.promise`): each question costs the loss of its mechanism once per round.
"""

from __future__ import annotations

from dataclasses import dataclass

from rrcollect.design.promise import Promise, total
from rrcollect.design.rounding import at_most
from rrcollect.publish.survey import Survey

__all__ = ["Composition", "compose"]


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
        lines.append(
            f"Whoever answers everything spends ε = {float(self.whole.epsilon):.4g}, "
            f"δ = {float(self.whole.delta):.4g}: all answers together can change the odds "
            f"of anything about them by a factor of at most {at_most(self.whole.epsilon.factor, 4)}"
            + (f", except with probability {at_most(self.whole.delta, 4)}" if self.whole.delta else "")
            + "."
        )
        return "\n".join(lines)


def compose(survey: Survey) -> Composition:
    """The exact composition over a survey's questions and rounds."""
    parts = [(q.id, q.rounds, total([q.design.loss] * q.rounds)) for q in survey.questions]
    return Composition(tuple(parts), total([cost for _, _, cost in parts]))
