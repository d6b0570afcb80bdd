"""What a survey would make this device send: the sentences of `words` with their numbers.

Rules
1. A limit is an upper bound over everything: all questions, all their rounds, and on a page all origins, because a
   browser keeps one ledger for each (see `bound`).  It is rounded up; how often an answer is changed is rounded down.
   A panel is one round.  Of a survey that asks one of its questions the limit is that of the question that tells most.
2. An answer that tells the truth by itself is said plainly, with its chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction

from rrcollect.answer.bound import Bound, bound, greatest, telling
from rrcollect.answer.words import Line, sentence
from rrcollect.design.choice import SetDesign
from rrcollect.design.rounding import at_least, at_most
from rrcollect.publish.kinds import Number
from rrcollect.publish.question import Question
from rrcollect.publish.survey import CARRIED, Survey

__all__ = ["NUMBER_WORDS", "WORDS", "chance_in_words", "survey_lines"]

WORDS = ("no", "yes")  # of the answers 0 and 1
NUMBER_WORDS = ("low", "high")  # of the answers 0 and 1 about a number
RARE = Fraction(1, 10**4)
UNLIKELY = Fraction(1, 10**6)


def survey_lines(survey: Survey, language: str | None = None, *, page: bool = False) -> Iterator[Line]:
    """What would be sent, for the person to read before deciding; the survey's texts in this language, if it has it.

    `page`: the survey is answered on its page, so that every origin keeps a ledger of its own."""

    def theirs(text: str, question: str | None = None) -> Iterator[Line]:
        if text:
            yield Line(text, True, question)

    ledgers = max(1, len(survey.origins)) if page else 1
    yield Line(sentence("mark"))
    yield from theirs(survey.say(survey.title, language))
    yield Line(sentence("publisher"))
    yield from theirs(survey.publisher)
    if survey.pilot:
        yield Line(sentence("pilot"))
    opens, expires = survey.opens, _moment(survey.expires)
    yield Line(sentence("from_until", opens=_moment(opens), expires=expires) if opens else _until(expires))
    alone = survey.ask == "one" and len(survey.questions) > 1
    if alone:
        yield Line(sentence("ask_one", count=str(len(survey.questions))))
    for number, question in enumerate(survey.questions, 1):
        yield Line(sentence("question", number=str(number), count=str(len(survey.questions))), question=question.id)
        yield from theirs(survey.say(question.text, language), question.id)
        yield from theirs(survey.say(question.help, language), question.id)
        for told in _question_sentences(question, ledgers):
            yield Line(told, question=question.id)
    if len(survey.questions) > 1:
        draws = [(question.design, question.answered_rounds * ledgers) for question in survey.questions]
        whole = greatest(bound([drawn]) for drawn in draws) if alone else bound(draws)
        yield from map(Line, _limits(whole, "survey_"))
    if ledgers > 1:
        yield Line(sentence("origins", count=str(ledgers)))
        yield from theirs("\n".join(survey.origins))
    if survey.collector == CARRIED:
        yield Line(sentence("carried"))
    else:
        yield Line(sentence("collector"))
        yield from theirs(survey.collector)
    if survey.segments:
        yield Line(sentence("segments"))
        yield from theirs("\n".join(_segments(survey, language)))
    if survey.invite_only:
        yield Line(sentence("invite"))
    yield Line(sentence("decline"))
    yield Line(sentence("device"))


def _until(expires: str) -> str:
    return sentence("until", expires=expires)


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


def _segments(survey: Survey, language: str | None) -> Iterator[str]:
    """Each segment with its values, as they are read and as they are sent."""

    def both(label: str, sent: str) -> str:
        return f"{label} ({sent})" if label else sent

    for name, segment in sorted(survey.segments.items()):
        values = ", ".join(both(survey.say(value.label, language), value.value) for value in segment.values)
        yield f"{both(survey.say(segment.label, language), name)}: {values}"


def _question_sentences(question: Question, ledgers: int) -> Iterator[str]:
    """How the answer is changed, in how many rounds, and what all answers to the question can tell."""
    yield from _draw(question)
    if question.panel:
        yield sentence("panel", rounds=str(question.rounds))
    elif question.rounds > 1:
        yield sentence("rounds", rounds=str(question.rounds))
    yield from _proofs(question)
    yield from _limits(bound([(question.design, question.answered_rounds * ledgers)]), "")


def _draw(question: Question) -> Iterator[str]:
    """What is sent instead of the truth."""
    design, kind = question.design, question.kind
    if isinstance(design, SetDesign):
        out, sizes = _changed(1 - design.p), {"size": str(design.size), "options": str(design.options)}
        if design.p == 1:
            yield sentence("unchanged") if design.size == 1 else sentence("choice_set_always", **sizes)
        else:
            yield sentence("choice_one", share=out) if design.size == 1 else sentence("choice_set", share=out, **sizes)
    elif isinstance(kind, Number):
        yield sentence("number", low=at_least(100 * (1 - design.p00)), high=at_most(100 * design.p11))
        if kind.clip:
            yield sentence("clipped", low=kind.low, high=kind.high)
    else:
        no, yes = _changed(1 - design.p00), _changed(1 - design.p11)
        if no == yes:
            yield sentence("unchanged") if no == sentence("never") else sentence("changed", share=no)
        else:
            yield sentence("changed_unequally", no=no, yes=yes)


def _proofs(question: Question) -> Iterator[str]:
    """Which answers are proofs, or as good as proofs."""
    design = question.design
    if isinstance(design, SetDesign):
        if question.discloses:
            yield sentence("set_proof" if design.p == 1 else "set_nearly_proof")
        return
    number = isinstance(question.kind, Number)
    for answer in telling(design):
        key = "proof" if WORDS[answer] in design.proofs else "nearly_proof"
        word = sentence((NUMBER_WORDS if number else WORDS)[answer])
        yield sentence(f"number_{key}" if number else key, word=word)


def _changed(chance: Fraction) -> str:
    if not chance:
        return sentence("never")
    return sentence("share", number=at_least(100 * chance)) if chance >= RARE else sentence("rarely")


def _limits(limits: Bound, prefix: str) -> Iterator[str]:
    """The chance of an answer that tells by itself, and what all others can tell."""
    if limits.telling:
        yield sentence(f"{prefix}proof" if prefix else "proof_chance", chance=chance_in_words(limits.telling))
    if limits.ratio is None:
        yield sentence(f"{prefix}no_limit")
    elif limits.ratio > 1 and limits.telling < 1:
        yield sentence(f"{prefix}limit_besides" if limits.telling else f"{prefix}limit", ratio=at_most(limits.ratio))


def chance_in_words(chance: Fraction) -> str:
    """How often something happens at most, rounded up."""
    if chance == 1:
        return sentence("certain")
    return sentence("chance", number=at_most(100 * chance)) if chance >= UNLIKELY else sentence("never_likely")
