"""What a survey would make this device send: the sentences of `words` with their numbers.

Rules
1. A limit is an upper bound over everything: all questions, all their rounds, and on a page all origins and frames: a
   browser keeps one ledger for each (see `bound`).  It is rounded up; how often an answer is changed is rounded down.
   A panel is one round.  Of a survey that asks one of its questions the limit is that of the question that tells most.
2. How many bits a report carries is said of each question, rounded up (`bits_of`), and added up where reports travel
   together (`carried`): many small answers mark a person as one large one does.
3. An answer that tells the truth by itself is said plainly, with its chance.
4. The smallest crowd of a release is said as what it is: signed by whoever asks, and nothing that a device can check.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from rrcollect.answer.explain.bound import Bound, bound, greatest, ledgers_of
from rrcollect.answer.explain.words import Line, Words
from rrcollect.design.sentences import MOST_REPEATED, at_most, bits_of
from rrcollect.publish.document import CARRIED
from rrcollect.publish.question import Question
from rrcollect.publish.survey import Survey

UNLIKELY = Fraction(1, 10**6)


def survey_lines(
    survey: Survey, language: str | None = None, *, page: bool = False, words: Words | None = None
) -> Iterator[Line]:
    """What would be sent, for the person to read before deciding; the survey's texts in this language, if it has it,
    and ours likewise, or in the `words` that somebody else supplies.

    `page`: the survey is answered on its page, so that every origin keeps a ledger of its own."""

    def theirs(text: str, question: str | None = None) -> Iterator[Line]:
        if text:
            yield Line(text, True, question)

    words = words or Words.of(language or survey.language)
    say, ledgers = words.say, ledgers_of(survey, page=page)
    if words.supplied:
        yield Line(Words.of("en").say("supplied"))
    yield Line(say("mark"))
    yield from theirs(survey.say(survey.title, language))
    yield Line(say("publisher"))
    yield from theirs(survey.publisher)
    if survey.pilot:
        yield Line(say("pilot"))
    opens, expires = survey.opens, words.moment(survey.expires)
    yield Line(
        say("from_until", opens=words.moment(opens), expires=expires) if opens else say("until", expires=expires)
    )
    count = str(len(survey.questions))
    alone = survey.ask == "one" and len(survey.questions) > 1
    if alone:
        yield Line(say("ask_one", count=count))
    for number, question in enumerate(survey.questions, 1):
        yield Line(say("question", number=str(number), count=count), question=question.id)
        yield from theirs(survey.say(question.text, language), question.id)
        yield from theirs(survey.say(question.help, language), question.id)
        for told in _question_sentences(question, ledgers, words):
            yield Line(told, question=question.id)
        values = survey.report_values(question)
        told = say("bits" if values <= MOST_REPEATED else "bits_once", count=str(bits_of(values)))
        yield Line(told, question=question.id)
    if len(survey.questions) > 1:
        draws = [(question.design, question.answered_rounds * ledgers) for question in survey.questions]
        whole = greatest(bound([drawn]) for drawn in draws) if alone else bound(draws)
        yield from map(Line, limit_sentences(whole, "survey_", words))
    for key, listed, least in (("origins", survey.origins, 2), ("frames", survey.frames, 1)):
        if page and len(listed) >= least:
            yield Line(say(key, count=str(len(listed))))
            yield from theirs("\n".join(listed))
    if survey.collector == CARRIED:
        yield Line(say("carried"))
        bits = [bits_of(survey.report_values(q)) * q.answered_rounds * ledgers for q in survey.questions]
        yield Line(say("carried_bits", count=str(max(bits) if alone else sum(bits))))
    else:
        yield from _way(survey, words)
        yield Line(say("smallest_crowd", count=str(survey.minimum)))
    if survey.segments:
        yield Line(say("segments"))
        yield from theirs("\n".join(_segments(survey, language)))
    if survey.invite_only and survey.issuer is None:
        yield Line(say("invite"))
    yield Line(say("decline"))
    yield Line(say("device"))


def _way(survey: Survey, words: Words) -> Iterator[Line]:
    """Where the answers go, and who sees what on the way."""
    there = [("relay", survey.relay.operator), ("relay_to", survey.collector)] if survey.relay else []
    for key, named in there or [("collector", survey.collector)]:
        yield Line(words.say(key))
        yield Line(named, foreign=True)


def _segments(survey: Survey, language: str | None) -> Iterator[str]:
    """Each segment with its values, as they are read and as they are sent."""

    def both(label: str, sent: str) -> str:
        return f"{label} ({sent})" if label else sent

    for name, segment in sorted(survey.segments.items()):
        values = ", ".join(both(survey.say(value.label, language), value.value) for value in segment.values)
        yield f"{both(survey.say(segment.label, language), name)}: {values}"


def _question_sentences(question: Question, ledgers: int, words: Words) -> Iterator[str]:
    """How the answer is changed, in how many rounds, which answers are proofs or as good as proofs, and what all of
    them can tell."""
    yield words.spoken(question.sentences.drawn)
    yield from map(words.spoken, question.kind.sentences)
    if question.panel:
        yield words.say("panel", count=str(question.rounds))
    elif question.rounds > 1:
        yield words.say("rounds", count=str(question.rounds))
    yield from map(words.spoken, question.sentences.proofs)
    yield from limit_sentences(bound([(question.design, question.answered_rounds * ledgers)]), "", words)


def limit_sentences(limits: Bound, prefix: str, words: Words) -> Iterator[str]:
    """The chance of an answer that tells by itself, and what all others can tell."""
    if limits.telling:
        chance = chance_in_words(limits.telling, words)
        yield words.say(f"{prefix}proof" if prefix else "proof_chance", chance=chance)
    if limits.ratio is None:
        yield words.say(f"{prefix}no_limit")
    elif limits.ratio > 1 and limits.telling < 1:
        key = f"{prefix}limit_besides" if limits.telling else f"{prefix}limit"
        yield words.say(key, ratio=at_most(limits.ratio))


def chance_in_words(chance: Fraction, words: Words) -> str:
    """How often something happens at most, rounded up."""
    if chance == 1:
        return words.say("certain")
    return words.say("chance", number=at_most(100 * chance)) if chance >= UNLIKELY else words.say("never_likely")
