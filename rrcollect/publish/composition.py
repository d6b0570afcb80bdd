"""What a survey costs, and what to look at before it is signed: the last chance to stop one that would expose people.

Rules
1. What a device would refuse is refused here first, with advice: the signed envelope is read back as a device does.
2. A question in which an answer is a proof, or as good as one, needs its `disclosure` field.  Without it publishing
   refuses and names the best design in which no answer is a proof, with its cost in variance.
3. The publisher is shown what the survey costs a respondent in total.  Losses add (see `design.promise`): each question
   costs the loss of its mechanism once per round that one device answers in, which for a panel is one.  If a device
   asks one question, which it draws, the whole costs what the dearest costs: the greatest ε and the greatest δ.
4. A repeated report carries few bits.  Its values are counted with everything else the device drew that it shows: which
   question, and which round of a panel.  Above `MOST_REPEATED` a device sends it once, and repeats it for nothing else.
5. What is allowed and yet not what the publisher wants is a warning: a survey that devices with the default policy
   (`DEFAULTS`) would not answer, a new version that devices refuse which answered the one before (a report of many
   values, other options or their order), two questions in the same words, or groups too small to be shown.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

from rrcollect.design.optimal import instead_of
from rrcollect.design.parameters import Epsilon, whole_number
from rrcollect.design.promise import Promise, total
from rrcollect.design.sentences import MOST_REPEATED, at_most, bits_of
from rrcollect.errors import CertainDisclosure, ParameterError, SurveyRefused, UninformativeDesign
from rrcollect.publish.document import Segment
from rrcollect.publish.question import Question

MOST_CELLS = 100_000  # of a question


class SurveyLike(Protocol):
    """What is read of a survey here."""

    @property
    def questions(self) -> tuple[Question, ...]: ...
    @property
    def segments(self) -> Mapping[str, Segment]: ...
    @property
    def version(self) -> int: ...
    @property
    def minimum(self) -> int: ...
    @property
    def composition(self) -> Composition: ...


class Caps(NamedTuple):
    """What a device gives away at most: per question, per attribute, for life."""

    max_epsilon: Epsilon = Epsilon("ln 9")
    max_ratio: Fraction = Fraction(20)
    attribute_epsilon: Epsilon = Epsilon("ln 81")
    attribute_delta: Fraction = Fraction(1, 100)
    lifetime_epsilon: Epsilon = Epsilon("ln 59049")
    lifetime_delta: Fraction = Fraction(1, 100)


DEFAULTS = Caps()  # of a policy; `answer.policy` has the reasons


def cautions(survey: SurveyLike, expected: int | None = None, before: SurveyLike | None = None) -> Iterator[str]:
    """What is allowed and yet hardly meant (rule 5); `before` is the version before."""
    composed = survey.composition
    yield from _refusals(survey.questions, composed)
    yield from _sent_once(composed, survey.version)
    yield from _other_truths(survey.questions, () if before is None else before.questions)
    yield from _same_words(survey.questions)
    yield from _too_small(survey.segments.values(), survey.minimum, expected)


def _refusals(questions: Iterable[Question], composition: Composition) -> Iterator[str]:
    """Why devices with the default policy would not answer the survey, or some of it."""
    for question in questions:
        try:
            question.charged(DEFAULTS.max_epsilon, DEFAULTS.max_ratio)
        except SurveyRefused as error:
            yield f"a device with the default policy refuses the whole survey: {error}"
    for name, rounds, cost, *_ in composition.questions:
        if rounds > 1 and (cost.epsilon > DEFAULTS.attribute_epsilon or cost.delta > DEFAULTS.attribute_delta):
            yield (
                f"question {name!r}: all {rounds} rounds cost ε = {float(cost.epsilon):.4g}; a device with the default "
                f"policy stops at {float(DEFAULTS.attribute_epsilon):.4g} for one attribute"
            )
    whole = composition.whole
    if whole.epsilon > DEFAULTS.lifetime_epsilon or whole.delta > DEFAULTS.lifetime_delta:
        most = f"{float(DEFAULTS.lifetime_epsilon):.4g} and {float(DEFAULTS.lifetime_delta):.4g} for life"
        costs = f"the whole survey costs ε = {float(whole.epsilon):.4g}, δ = {float(whole.delta):.4g}"
        yield f"{costs}; a device with the default policy stops at {most}"


def _sent_once(composition: Composition, version: int) -> Iterator[str]:
    """Why devices that answered an earlier version refuse this one (rule 4)."""
    for part in composition.questions if version > 1 else ():
        if part.values > MOST_REPEATED:
            yield (
                f"question {part.question!r}: a report carries {bits_of(part.values)} bits, so devices that answered "
                "an earlier version refuse this one. Do not replace the earlier version: count both together, each "
                "device answers in one of them"
            )


def _other_truths(questions: Iterable[Question], before: Iterable[Question]) -> Iterator[str]:
    """Why devices that answered the version before refuse a question: what may be true is not the same."""
    earlier = {question.attribute: question for question in before}
    for question in questions:
        old = earlier.get(question.attribute, question)
        if old.kind.truths != question.kind.truths:
            what = "options, or their order," if question.kind.labels and old.kind.labels else "possible answers"
            yield (
                f"question {question.id!r}: its {what} are not those of the version before, so devices that answered "
                f"that one refuse it. Keep them, or ask about another attribute than {question.attribute!r}"
            )


def _same_words(questions: Iterable[Question]) -> Iterator[str]:
    """Why devices take two questions for one, and answer the first of them alone."""
    known: dict[str, Question] = {}
    for question in questions:
        others = [known.setdefault(print_, question) for print_ in sorted(question.fingerprints)]
        if other := next((one for one in others if one is not question), None):
            yield (
                f"questions {other.id!r} and {question.id!r} have the same text or help, so devices take them for one "
                "and answer the first alone. Word each by itself, and say what is true of all in the introduction"
            )


def _too_small(segments: Collection[Segment], minimum: int, expected: int | None) -> Iterator[str]:
    """Why these segments would not be shown with so many answers."""
    if expected is None:
        return
    cells = math.prod(len(segment.values) + 1 for segment in segments)
    crowds = whole_number("expected", expected) // minimum
    if segments and cells > crowds:
        yield (
            f"{expected} answers are at most {crowds} crowds of {minimum}, and the declared segments make "
            f"{cells} cells, those who declare nothing counted: most of them will not be shown. Declare fewer segments "
            "or values, or ask more people"
        )


def check_meant(survey: SurveyLike) -> None:
    """What a publisher must mend before the survey is signed."""
    for question in survey.questions:
        question.check()
        check_disclosure(question)
    check_cells(survey)


def check_cells(survey: SurveyLike) -> None:
    """Refuse segments and rounds of which the answers to one question make too many cells: counting costs in proportion
    to them, and whoever comes first would choose what everybody waits for."""
    cells = math.prod(len(segment.values) + 1 for segment in survey.segments.values())  # or not declared
    cells *= max(question.rounds for question in survey.questions)
    if cells > MOST_CELLS:
        words = f"at most {MOST_CELLS:,} by round and segments, not declaring one counted"
        raise ParameterError("segments", f"{cells:,} cells", f"{words}: declare fewer segments or values")


def check_disclosure(question: Question) -> None:
    """A question that discloses says so (rule 2)."""
    if question.discloses and question.disclosure is None:
        raise CertainDisclosure(_advice(question))


def _advice(question: Question) -> str:
    design = question.design
    which = design.proof_words.partition(" is a proof")[0] if question.kind.kind == "yes_no" else ""
    which = which or "an answer"
    certain = design.worst_likelihood_ratio == math.inf
    words = (
        f"question {question.id!r}: {which} would be {'a proof' if certain else 'as good as a proof'} "
        f"(likelihood ratio {float(design.worst_likelihood_ratio):.3g}). If that is meant, publish it with "
        "disclosure=Disclosure(exposed=…, respondents=…), the number of people you expect to expose; only clients that "
        "opt in will answer"
    )
    try:
        other = instead_of(design, question.promise)
    except UninformativeDesign:
        return words
    words = f"{words}. Otherwise use {other}, in which no answer is a proof"
    pi = design.choice.low if design.choice is not None and design.choice.low == design.choice.high else None
    if pi is None or (mine := design.column.variance(pi)) == 0:
        return words
    ratio = other.column.variance(pi) / mine
    return f"{words}; at prevalence {float(pi):.4g} its variance is {float(ratio):.3g} times as large"


# ---- what it costs --------------------------------------------------------------------------------------------------


class QuestionCost(NamedTuple):
    """What one question costs over all rounds in which one device answers; `panel`: of how many it draws one, or 0;
    how many `values` a report has (rule 4)."""

    question: str
    rounds: int
    cost: Promise
    panel: int = 0
    values: int = 2


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


def compose(questions: Iterable[Question], *, one: bool) -> Composition:
    """The exact composition over a survey's questions and rounds; `one`: a device asks one of them."""
    listed = tuple(questions)
    parts = tuple(
        QuestionCost(
            q.id,
            q.answered_rounds,
            total([q.design.loss] * q.answered_rounds),
            q.rounds if q.panel else 0,
            q.values(len(listed) if one else 1),
        )
        for q in listed
    )
    costs = [part.cost for part in parts]
    if one and len(parts) > 1:
        whole = Promise(max(cost.epsilon for cost in costs), max(cost.delta for cost in costs))
        return Composition(parts, whole, one=True)
    return Composition(parts, total(costs))
