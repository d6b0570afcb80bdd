"""What a device has given away so far, and what is left, exactly and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rrcollect.answer.ledger import Draw
from rrcollect.answer.policy import Policy
from rrcollect.deliver.outbox import Outgoing
from rrcollect.design.promise import Promise, total
from rrcollect.publish.report import Report

__all__ = ["Budget"]


@dataclass(frozen=True)
class Budget:
    """The ledger's draws and reports against a policy's lifetime caps."""

    draws: tuple[Draw, ...]
    reports: tuple[Outgoing, ...]
    policy: Policy

    @property
    def spent(self) -> Promise:
        """The exact sum of all debits."""
        return total([draw.cost for draw in self.draws])

    def spent_on(self, attribute: str) -> Promise:
        """The exact sum of the debits of one attribute."""
        return total([draw.cost for draw in self.draws if draw.attribute == attribute])

    def explain(self) -> str:
        """For the person whose device this is."""
        spent, policy = self.spent, self.policy
        lines = [
            f"Spent for life: ε = {float(spent.epsilon):.4g} of {float(policy.lifetime_epsilon):.4g}, "
            f"δ = {float(spent.delta):.4g} of {float(policy.lifetime_delta):.4g}."
        ]
        for draw in self.draws:
            asked = [r for r in self.reports if (r.attribute, r.round) == (draw.attribute, draw.round)]
            times = f"reported {len(asked)} time{'s' if len(asked) != 1 else ''}"
            rounds = f", round {draw.round}" if draw.round else ""
            lines.append(
                f"- {draw.attribute}{rounds}: sent {'yes' if draw.answer == '1' else 'no'}, {times}; {_meaning(draw)}."
            )
        return "\n".join(lines)

    def export(self) -> dict[str, Any]:
        """Everything the ledger knows about the person, as plain JSON values; numbers that matter are exact strings."""
        return {
            "spent": self.spent.to_wire(),
            "lifetime": Promise(self.policy.lifetime_epsilon, self.policy.lifetime_delta).to_wire(),
            "answers": [
                {
                    "attribute": draw.attribute,
                    "round": draw.round,
                    "sent": draw.answer,
                    "design": draw.design.to_wire(),
                    "cost": draw.cost.to_wire(),
                    "meaning": _meaning(draw),
                }
                for draw in self.draws
            ],
            "reports": [
                {
                    "id": report.id,
                    "survey": report.survey,
                    "question": report.question,
                    "text": report.words,
                    "attribute": report.attribute,
                    "round": report.round,
                    "segments": Report.from_bytes(report.body).segments,
                    "ticket": Report.from_bytes(report.body).ticket,
                    "state": report.state,
                    "reason": report.reason,
                }
                for report in self.reports
            ],
        }


def _meaning(draw: Draw) -> str:
    """What the answer sent can be held against the person, by the matrix it was drawn with."""
    ratio = float(draw.design.likelihood_ratio(int(draw.answer)))
    if ratio == float("inf"):
        return "this answer proves the truth behind it"
    cost = f"ε = {float(draw.cost.epsilon):.4g}" if not draw.cost.delta else f"δ = {float(draw.cost.delta):.4g}"
    return f"it can change the odds about you by a factor of at most {ratio:.3g} (cost {cost})"
