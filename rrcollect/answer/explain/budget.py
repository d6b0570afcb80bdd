"""What a device has given away so far, and what is left, exactly and in words.

Rule.  What was drawn is shown only after a report around it has left, or may have left: who declines on seeing the draw
would bias the estimate.  Until then nothing is shown that depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from rrcollect.answer.explain.bound import MOST_SHOWN, bound
from rrcollect.answer.explain.explanation import chance_in_words
from rrcollect.answer.explain.headline import share_of_life
from rrcollect.answer.explain.words import Line, Words, shown_lines
from rrcollect.answer.ledger.ledger import Draw
from rrcollect.answer.policy import Policy
from rrcollect.deliver.outbox import OutboxReport
from rrcollect.design.parameters import Epsilon
from rrcollect.design.promise import Promise, total
from rrcollect.design.sentences import at_most
from rrcollect.publish.document import CARRIED
from rrcollect.publish.report import Report

LEFT = ("delivered", "refused", CARRIED)  # the states of reports that left, however often they were attempted


@dataclass(frozen=True)
class Budget:
    """The ledger's draws and reports against a policy's lifetime caps."""

    draws: tuple[Draw, ...]
    reports: tuple[OutboxReport, ...]
    policy: Policy
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def spent(self) -> Promise:
        """The exact sum of all debits."""
        return total([draw.cost for draw in self.draws])

    def spent_on(self, attribute: str) -> Promise:
        """The exact sum of the debits of one attribute, its aliases included."""
        names = (attribute, *self.aliases.get(attribute, ()))
        return total([draw.cost for draw in self.draws if draw.attribute in names])

    def explain(self, language: str | None = None, *, words: Words | None = None) -> str:
        """For the person whose device this is; in this language if it is one of ours, else in English, or in the
        `words` that somebody else supplies."""
        return shown_lines(self._lines(words or Words.of(language)))

    def _lines(self, words: Words) -> Iterator[Line]:
        if words.supplied:
            yield Line(Words.of("en").say("supplied"))
        limits = bound((draw.design, 1) for draw in self.draws)
        if not self.draws:
            yield Line(words.say("nothing_drawn"))
        elif limits.ratio is None:
            yield Line(words.say("drawn_no_limit"))
        else:
            yield Line(words.say("drawn_besides" if limits.telling else "drawn", ratio=at_most(limits.ratio)))
        yield Line(_cap(self.policy, words))
        if share := share_of_life(self.spent, self.policy.life, words, "spent"):
            yield Line(share)
        for draw in self.draws:
            times = self._reports(draw)
            yield Line(draw.attribute, foreign=True)
            yield Line(_sent(draw, times, words))
            if times:
                yield Line(words.spoken(draw.told[1]))

    def _reports(self, draw: Draw) -> int:
        """How many reports around this draw, under its name or one that it is an alias of, have left or may have."""
        names = {draw.attribute, *(name for name, earlier in self.aliases.items() if draw.attribute in earlier)}
        left = [r for r in self.reports if r.state in LEFT or r.attempts > 0]
        return sum(r.attribute in names and r.round == draw.round for r in left)

    def export(self, language: str | None = None) -> dict[str, Any]:
        """Everything the ledger knows about the person, as plain JSON values; numbers that matter are exact strings."""
        words = Words.of(language)
        return {
            "spent": self.spent.to_wire(),
            "lifetime": self.policy.life.to_wire(),
            "answers": [
                {
                    "attribute": draw.attribute,
                    "round": draw.round,
                    "kind": draw.kind,
                    "sent": draw.answer if self._reports(draw) else None,
                    "design": draw.design.to_wire(),
                    "cost": draw.cost.to_wire(),
                    "meaning": words.spoken(draw.told[1]) if self._reports(draw) else words.say("not_sent"),
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
                    "segments": sent.segments,
                    "ticket": sent.ticket,
                    "state": report.state,
                    "reason": report.reason,
                }
                for report, sent in ((report, Report.from_bytes(report.body)) for report in self.reports)
            ],
        }


def _cap(policy: Policy, words: Words) -> str:
    if policy.lifetime_epsilon > Epsilon.of_ratio(Fraction(MOST_SHOWN)):
        return words.say("cap_no_limit")
    ratio = at_most(policy.lifetime_epsilon.exp)
    if policy.allow_disclosure:
        return words.say("cap_besides", ratio=ratio, chance=chance_in_words(policy.lifetime_delta, words))
    return words.say("cap", ratio=ratio)


def _sent(draw: Draw, times: int, words: Words) -> str:
    number = str(draw.round + 1)  # people count from 1
    if not times:
        return words.say("not_sent_in_round", round=number) if draw.round else words.say("not_sent")
    said, _ = draw.told
    if draw.round:
        said = said._replace(key=f"{said.key}_in_round")
    return words.spoken(said, round=number, reports=words.say("reports", count=str(times)))
