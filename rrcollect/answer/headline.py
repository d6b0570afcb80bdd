"""The first thing a person reads: what happens to the answer, and what it proves, in one or two plain sentences.

Rules
1. How often an answer is switched is said from the exact chance: 1/n (and up to `EXACT` above it, since a device's
   probabilities are multiples of 2^-64) is "one in n"; any other is "about k of 100", rounded down, or below 1/50 the
   next 1/n that is not above it.  So protection is never overstated.
2. "Proves nothing" is said if all that is sent for the question changes the odds between any two things about a person
   by a factor of at most `PROVES_NOTHING`.  Above it the factor is said, rounded up; a proof is said to be one.
3. A survey has one such text if it is the same for all its questions; else each question has its own.
4. What an answer takes of the budget for life is a share of its ε, or of its δ if that is more.  It is "about one part
   in n", or rounded up to hundredths where that would be off by more than a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from rrcollect.answer.bound import bound, telling
from rrcollect.answer.explanation import WORDS, limit_sentences, proof_sentences
from rrcollect.answer.policy import Policy
from rrcollect.answer.words import Words
from rrcollect.design.choice import SetDesign
from rrcollect.design.promise import Promise
from rrcollect.design.rounding import at_most
from rrcollect.design.yes_no import Design
from rrcollect.publish.kinds import Number
from rrcollect.publish.question import Question
from rrcollect.publish.survey import Survey

PROVES_NOTHING = 4  # who thought two things equally likely before is then wrong in one case of five or more
EXACT = Fraction(1, 2**60)
FINE = 50  # below 1/50 the next 1/n is closer than the next hundredth
MOST_COUNTED = 1000  # "one in 1000", and not rarer
TINY = 1e-9  # of a share that is worked out in floats, and called "about"


def survey_headline(survey: Survey, words: Words, *, page: bool = False) -> list[str]:
    """What stands on top: of all questions if it is the same for all, else where to look for it."""
    ledgers = max(1, len(survey.origins)) if page else 1
    told = [question_headline(question, words, ledgers) for question in survey.questions]
    return told[0] if all(each == told[0] for each in told) else [words.say("at_each")]


def question_headline(question: Question, words: Words, ledgers: int = 1) -> list[str]:
    """What happens to the answer to this question, and what it proves."""
    return [_happens(question, words), *_proves(question, words, question.answered_rounds * ledgers)]


def share_of_life(cost: Promise, policy: Policy, words: Words, what: str = "life") -> str:
    """What so much is of all that a device gives away for life; "" of nothing.  `what`: "life" for an answer to come,
    "spent" for all that was drawn so far."""
    share = float(cost.epsilon) / max(float(policy.lifetime_epsilon), TINY)
    if cost.delta:
        share = max(share, float(cost.delta / policy.lifetime_delta) if policy.lifetime_delta else 2.0)
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


def _happens(question: Question, words: Words) -> str:
    design = question.design
    if isinstance(design, SetDesign):
        sizes = {"size": str(design.size), "options": str(design.options)}
        if design.p == 1:
            return words.say("unchanged") if design.size == 1 else words.say("choice_set_always", **sizes)
        share = _share("case", 1 - design.p, words)
        return words.say("replaced", share=share) if design.size == 1 else words.say("set_drawn", share=share, **sizes)
    if isinstance(question.kind, Number):
        return words.say("number_drawn")
    if design.p00 != design.p11:
        no, yes = (_share("case", 1 - chance, words) for chance in (design.p00, design.p11))
        return words.say("switched_unequally", no=no, yes=yes)
    return words.say("unchanged") if design.p00 == 1 else _share("switched", 1 - design.p00, words)


def _share(key: str, chance: Fraction, words: Words) -> str:
    """A chance in words, never above what it is."""
    if not chance:
        return words.say("never")
    whole = math.ceil(1 / chance)
    if whole > MOST_COUNTED:
        return words.say(f"{key}_few")
    if whole > FINE or (whole > 1 and chance - Fraction(1, whole) <= EXACT):
        return words.say(f"{key}_one", count=str(whole), number=words.counted(whole))
    return words.say(f"{key}_about", number=str(math.floor(100 * chance)))


def _proves(question: Question, words: Words, draws: int) -> Iterator[str]:
    design, limits = question.design, bound([(question.design, draws)])
    yield from proof_sentences(question, words)
    if draws > 1:
        nothing = not limits.telling and limits.ratio is not None and limits.ratio <= PROVES_NOTHING
        yield from [words.say("all_proves_nothing")] if nothing else limit_sentences(limits, "", words)
    elif isinstance(design, Design) and not isinstance(question.kind, Number):
        yield from _yes_and_no(design, words)
    elif not limits.telling and limits.ratio is not None:
        number = isinstance(question.kind, Number)
        if limits.ratio > PROVES_NOTHING:
            yield words.say("still_number" if number else "still_option", ratio=at_most(limits.ratio))
        else:
            alone = isinstance(design, SetDesign) and design.size == 1
            yield words.say(f"{'number' if number else 'option' if alone else 'set'}_proves_nothing")


def _yes_and_no(design: Design, words: Words) -> Iterator[str]:
    """What a single "yes" or "no" proves that is not a proof by itself."""
    others = [answer for answer in (1, 0) if answer not in telling(design)]
    strong = [answer for answer in others if design.likelihood_ratio(answer) > PROVES_NOTHING]
    if len(others) == 2 and not strong:
        yield words.say("proves_nothing" if design.p00 == design.p11 else "neither_proves")
    elif strong and design.p00 == design.p11:
        yield words.say("still_sent", ratio=at_most(Fraction(design.likelihood_ratio(1))))
    else:
        for answer in strong:
            ratio = at_most(Fraction(design.likelihood_ratio(answer)))
            yield words.say("still", word=words.say(WORDS[answer]), ratio=ratio)
