"""Which question this device asks, and in which round of a panel it answers, drawn when a survey is accepted; and
whether survey and round are open.

Rules
1. Both are drawn uniformly, from the client's source of random bytes, before any truth is known; they depend on nothing
   but the survey, the clock and what was drawn before.  `uniform` is the mapping from bytes, part of the wire format.
2. `ask = "one"`: one question of all the survey has, kept under its publisher and name.  A higher version keeps it if
   it still asks about the same attribute; otherwise one is drawn anew.
3. A panel: one of the question's rounds that are not yet closed, kept under the attribute by the app's own name.  So a
   republished question, or another survey's panel about the attribute, has the same round.  If every round is closed
   nothing is drawn, and if the app does not answer about the attribute neither.
4. First the question, then the panels in the order of questions; of a survey that asks one question, only its panel.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from rrcollect.answer.attributes import Attribute, Attributes
from rrcollect.answer.ledger.content import Change
from rrcollect.answer.ledger.names import all_names, remember_names
from rrcollect.design.sampling import Source, random_bytes
from rrcollect.errors import Expired, NotDrawn, NotOpen, ParameterError, RoundClosed, UnknownAttribute
from rrcollect.publish.question import Question
from rrcollect.publish.survey import Survey

WORD = 1 << 64


def uniform(count: int, source: Source) -> int:
    """A whole number below `count`, each with the same chance; for 1 no byte is drawn.

    Eight bytes, big-endian, are drawn until they are below the greatest multiple of `count` up to 2^64; the remainder
    is the number.

    >>> uniform(5, lambda n: bytes(n - 1) + b"\\x07")
    2
    """
    drawn, most = 0, WORD // count * count
    while count > 1 and (drawn := int.from_bytes(random_bytes(8, source), "big")) >= most:
        pass
    return drawn % count


@dataclass(frozen=True)
class QuestionDraw:
    """What is drawn when this survey is accepted; `draw` does it inside the transaction that remembers the survey."""

    survey: Survey
    attributes: Attributes
    now: datetime
    source: Source

    def draw(self, change: Change) -> None:
        """Draw what was not drawn before, and keep it (rule 4)."""
        survey, place = self.survey, (self.survey.publisher, self.survey.name)
        asked = survey.questions
        if survey.ask == "one":
            question = asked_question(change.connection, survey)
            if question is None:
                question = asked[uniform(len(asked), self.source)]
                drawn = (question.attribute,)
                if not change.update("asked", "attribute = ?", drawn, "publisher = ? AND name = ?", place):
                    change.insert("asked", dict(zip(("publisher", "name", "attribute"), (*place, *drawn), strict=True)))
            asked = (question,)
        for question in asked:
            attribute = self.attributes.registered(survey, question) if question.panel else None
            rounds = _not_closed(survey, question, self.now)
            if attribute is None or not rounds:
                continue
            remember_names(change, (attribute.name, *attribute.aliases))
            if panel_round(change.connection, attribute) is None:
                number = rounds[uniform(len(rounds), self.source)]
                change.insert("panels", {"attribute": attribute.name, "round": number})


def asked_question(connection: sqlite3.Connection, survey: Survey) -> Question | None:
    """The question this device drew for a survey that asks one, if it still has it."""
    row = connection.execute(
        "SELECT attribute FROM asked WHERE publisher = ? AND name = ?", (survey.publisher, survey.name)
    ).fetchone()
    return next((q for q in survey.questions if row is not None and q.attribute == row[0]), None)


def panel_round(connection: sqlite3.Connection, attribute: Attribute) -> int | None:
    """The round drawn for a panel about the attribute, under its name or else the first of its aliases."""
    kept = dict(connection.execute("SELECT attribute, round FROM panels").fetchall())
    names = all_names(connection, (attribute.name, *attribute.aliases))
    return next((kept[name] for name in names if name in kept), None)


def check_asked(question: Question, drawn: Question | None) -> None:
    """The question is the one that this device drew for a survey that asks one."""
    if drawn is None:
        raise NotDrawn("this device has not drawn the question it answers: accept the survey by this client first")
    if question.id != drawn.id:
        raise NotDrawn(f"this device answers question {drawn.id!r} of this survey only")


def answered_round(
    survey: Survey, question: Question, attribute: Attribute, given: int | None, drawn: int | None, *, now: datetime
) -> int:
    """The round to answer in: the one given, or the panel's, or the first; an error if it is not this device's, or if
    the app does not collect the attribute in it.  A panel collects it once, in whichever round was drawn."""
    if given is not None and (type(given) is not int or not 0 <= given < question.rounds):
        raise ParameterError("round", given, f"a whole number below the question's {question.rounds} rounds")
    if not question.panel:
        if (given or 0) >= attribute.rounds:
            raise UnknownAttribute(
                f"this app answers about {question.attribute!r} in {attribute.rounds} rounds; this is {given}"
            )
        return given or 0
    if drawn is None:
        if not _not_closed(survey, question, now):
            raise RoundClosed(f"every round of question {question.id!r} has closed (this device's clock: {now:%F %T})")
        raise NotDrawn("this device has not drawn the round it answers in: accept the survey by this client first")
    if given not in (None, drawn) or drawn >= question.rounds:
        raise NotDrawn(f"this device answers question {question.id!r} in round {drawn} only")
    return drawn


def _not_closed(survey: Survey, question: Question, now: datetime) -> list[int]:
    """The question's rounds that are not yet closed by this clock; all, if the survey does not say when they are."""
    return [n for n in range(question.rounds) if not survey.rounds or now < survey.rounds[n].closes]


def check_expiry(survey: Survey, now: datetime) -> None:
    """The survey is not past its expiry by this clock."""
    if not isinstance(now, datetime) or now.tzinfo is None:
        raise ParameterError("now", now, "a datetime with a time zone")
    if now >= survey.expires:
        raise Expired(f"the survey expired at {survey.expires:%Y-%m-%d %H:%M} UTC (this device's clock: {now:%F %T})")


def check_open(survey: Survey, now: datetime) -> None:
    """The survey is open by this clock; accepting it earlier is fine."""
    check_expiry(survey, now)
    if survey.opens is not None and now < survey.opens:
        raise NotOpen(f"the survey opens at {survey.opens:%Y-%m-%d %H:%M} UTC (this device's clock: {now:%F %T})")


def check_round(survey: Survey, round_: int, now: datetime) -> None:
    """The round is open by this clock, if the survey says when its rounds are."""
    if survey.rounds and not survey.rounds[round_].opens <= now < survey.rounds[round_].closes:
        times = survey.rounds[round_]
        raise RoundClosed(
            f"round {round_} is open from {times.opens:%Y-%m-%d %H:%M} to {times.closes:%Y-%m-%d %H:%M} UTC "
            f"(this device's clock: {now:%F %T})"
        )
