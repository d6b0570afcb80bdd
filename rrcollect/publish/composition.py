"""What a whole survey costs a respondent who answers all of it, exactly.

Losses add (see `design.promise`): each question costs the loss of its mechanism once per round that one device answers
in, which for a panel is one.  If a device asks one question, which it draws, the whole costs what the dearest costs:
the greatest ε and the greatest δ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rrcollect.design.promise import Promise, total
from rrcollect.design.sentences import at_most
from rrcollect.publish.survey import Survey


class QuestionCost(NamedTuple):
    """What one question costs over all rounds in which one device answers; `panel`: of how many it draws one, or 0."""

    question: str
    rounds: int
    cost: Promise
    panel: int = 0


@dataclass(frozen=True)
class Composition:
    """The cost of each question and of the whole survey; `one`: a device asks one of the questions."""

    questions: tuple[QuestionCost, ...]
    whole: Promise
    one: bool = False

    def explain(self) -> str:
        """The composition in words, for the publisher to read before publishing."""
        lines = [
            f"{part.question}: ε = {float(part.cost.epsilon):.4g}, δ = {float(part.cost.delta):.4g}"
            + (f" ({part.rounds} rounds)" if part.rounds > 1 else "")
            + (f" (one of {part.panel} rounds, drawn by the device)" if part.panel else "")
            for part in self.questions
        ]
        who = (
            f"A device asks one of these {len(self.questions)} questions, drawn by chance: whoever answers spends up to"
            if self.one
            else "Whoever answers everything spends"
        )
        lines.append(
            f"{who} ε = {float(self.whole.epsilon):.4g}, "
            f"δ = {float(self.whole.delta):.4g}: all answers together can change the odds "
            f"of anything about them by a factor of at most {at_most(self.whole.epsilon.factor, 4)}"
            + (f", except with probability {at_most(self.whole.delta, 4)}" if self.whole.delta else "")
            + "."
        )
        return "\n".join(lines)


def compose(survey: Survey) -> Composition:
    """The exact composition over a survey's questions and rounds."""
    parts = tuple(
        QuestionCost(q.id, q.answered_rounds, total([q.design.loss] * q.answered_rounds), q.rounds if q.panel else 0)
        for q in survey.questions
    )
    costs = [part.cost for part in parts]
    if survey.ask == "one" and len(parts) > 1:
        whole = Promise(max(cost.epsilon for cost in costs), max(cost.delta for cost in costs))
        return Composition(parts, whole, one=True)
    return Composition(parts, total(costs))
