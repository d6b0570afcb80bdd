"""Publishing: check, compose, sign.  The last chance to stop a survey that would expose people.

Rules
1. What a device would refuse is refused here first, with advice: the signed envelope is read back as a device does.
2. A question in which an answer is a proof, or as good as one, needs its `disclosure` field.  Without it publishing
   refuses and names the best design in which no answer is a proof, with its cost in variance.
3. The publisher is shown what the survey costs a respondent in total.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rrcollect.design.chosen import ChosenDesign
from rrcollect.design.optimal import optimal_design
from rrcollect.design.optimal_choice import optimal_choice
from rrcollect.design.yes_no import Design
from rrcollect.errors import CertainDisclosure, Expired, ParameterError, UninformativeDesign
from rrcollect.publish.composition import Composition, compose
from rrcollect.publish.envelope import seal, verify
from rrcollect.publish.keys import SigningKey
from rrcollect.publish.question import Question
from rrcollect.publish.survey import Survey


@dataclass(frozen=True)
class Publication:
    """A signed survey: the envelope to hand out, its identity, and what it costs a respondent."""

    survey: Survey
    envelope: bytes
    digest: str
    composition: Composition


def publish_survey(survey: Survey, keys: Sequence[SigningKey]) -> Publication:
    """Check and sign a survey with one or several keys.

    >>> from datetime import datetime, timezone
    >>> from rrcollect import optimal_design
    >>> survey = Survey(
    ...     name="clean-sport", version=1, title="Clean sport", publisher="Example Institute",
    ...     collector="https://collect.example.org/reports",
    ...     expires=datetime(2100, 1, 1, tzinfo=timezone.utc),
    ...     questions=[Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))],
    ... )
    >>> publication = publish_survey(survey, [SigningKey.generate()])
    >>> print(publication.composition.explain())  # doctest: +ELLIPSIS
    q1: ε = 1.099, δ = 0
    Whoever answers everything spends ε = 1.099, δ = 0: all answers ... by a factor of at most 3.
    """
    if not isinstance(keys, Sequence) or not all(isinstance(key, SigningKey) for key in keys):
        raise ParameterError("keys", type(keys).__name__, "a list of SigningKey")
    survey.check()
    for question in survey.questions:
        if question.discloses and question.disclosure is None:
            raise CertainDisclosure(_advice(question))
    if survey.expires <= datetime.now(UTC):
        raise Expired(f"the survey expired at {survey.expires:%Y-%m-%d %H:%M} UTC; no device would take it")
    envelope = seal(survey.payload(), keys)
    read_back = Survey.from_payload(verify(envelope, [key.public for key in keys]).payload)
    return Publication(read_back, envelope, read_back.digest, compose(read_back))


def _advice(question: Question) -> str:
    design = question.design
    proofs = design.proofs if isinstance(design, Design) else ()
    which = " and ".join(f'a "{word}"' for word in proofs if question.kind.kind == "yes_no") or "an answer"
    certain = design.worst_likelihood_ratio == math.inf
    words = (
        f"question {question.id!r}: {which} would be {'a proof' if certain else 'as good as a proof'} "
        f"(likelihood ratio {float(design.worst_likelihood_ratio):.3g}). If that is meant, publish it with "
        "disclosure=Disclosure(exposed=…, respondents=…), the number of people you expect to expose; only clients that "
        "opt in will answer"
    )
    epsilon, delta = question.promise.epsilon, question.promise.delta
    try:
        if not isinstance(design, Design):
            return f"{words}. Otherwise use {optimal_choice(epsilon, design.cells)}, in which no answer is a proof"
        other = optimal_design(epsilon, delta)
    except UninformativeDesign:
        return words
    words = f"{words}. Otherwise use {other}, in which no answer is a proof"
    pi = design.low if isinstance(design, ChosenDesign) and design.low == design.high else None
    if pi is None or design.variance(pi) == 0:
        return words
    ratio = other.variance(pi) / design.variance(pi)
    return f"{words}; at prevalence {float(pi):.4g} its variance is {float(ratio):.3g} times as large"
