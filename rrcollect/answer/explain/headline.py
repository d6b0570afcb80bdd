"""The first thing a person reads: what happens to the answer, and what it proves, in one or two plain sentences.

Rules
1. How often an answer is switched is said from the exact chance, never overstated (`design.sentences`).
2. "Proves nothing" is said if all that is sent for the question changes the odds between any two things about a person
   by a factor of at most `PROVES_NOTHING`.  Above it the factor is said, rounded up; a proof is said to be one.
3. A survey has one such text if it is the same for all its questions; else each question has its own.
4. What an answer takes of the budget for life is a share of its ε, or of its δ if that is more.  It is "about one part
   in n", or rounded up to hundredths where that would be off by more than a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from rrcollect.answer.explain.bound import bound, ledgers_of
from rrcollect.answer.explain.explanation import limit_sentences
from rrcollect.answer.explain.words import Words
from rrcollect.design.promise import Promise
from rrcollect.design.sentences import MOST_COUNTED, PROVES_NOTHING
from rrcollect.publish.question import Question
from rrcollect.publish.survey import Survey

TINY = 1e-9  # of a share that is worked out in floats, and called "about"


def survey_headline(survey: Survey, words: Words, *, page: bool = False) -> list[str]:
    """What stands on top: of all questions if it is the same for all, else where to look for it."""
    ledgers = ledgers_of(survey, page=page)
    told = [question_headline(question, words, ledgers) for question in survey.questions]
    return told[0] if all(each == told[0] for each in told) else [words.say("at_each")]


def question_headline(question: Question, words: Words, ledgers: int = 1) -> list[str]:
    """What happens to the answer to this question, and what it proves."""
    return [words.spoken(question.sentences.happens), *_proves(question, words, question.answered_rounds * ledgers)]


def share_of_life(cost: Promise, life: Promise, words: Words, what: str = "life") -> str:
    """What so much is of all that a device gives away for life; "" of nothing.  `what`: "life" for an answer to come,
    "spent" for all that was drawn so far."""
    share = float(cost.epsilon) / max(float(life.epsilon), TINY)
    if cost.delta:
        share = max(share, float(cost.delta / life.delta) if life.delta else 2.0)
    if share < TINY:
        return ""
    if share > 1 + TINY and what == "life":
        return words.say("life_over")
    if share < 1 / MOST_COUNTED - TINY:
        return words.say(f"{what}_little")
    parts = math.floor(1 / share + TINY)
    if parts < 2 or (share > 0.1 and abs(parts * share - 1) > TINY):
        return words.say(f"{what}_percent", number=str(min(100, math.ceil(100 * share - TINY))))
    return words.say(f"{what}_part", count=str(parts), number=words.counted(parts))


def _proves(question: Question, words: Words, draws: int) -> Iterator[str]:
    limits, said = bound([(question.design, draws)]), question.sentences
    yield from map(words.spoken, said.proofs)
    if draws == 1:
        yield from map(words.spoken, said.proves)
    else:
        nothing = not limits.telling and limits.ratio is not None and limits.ratio <= PROVES_NOTHING
        yield from [words.say("all_proves_nothing")] if nothing else limit_sentences(limits, "", words)
