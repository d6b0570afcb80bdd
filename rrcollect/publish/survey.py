"""The survey document: what is asked, with which matrix, under which promise.

Rules
1. A document has one spelling: canonical JSON of exactly these fields, fractions in lowest terms ("3/4"), no floats.
   Its identity is the SHA-256 of those bytes.
2. Every question carries the matrix that devices apply and the promise (ε, δ) made for it.  The promise must be kept by
   the matrix, decided exactly; a claim smaller than that is refused here and again on the device.
3. An attribute is asked at most once per survey; repeated collection is said openly (`rounds`).
4. A matrix in which an answer is a proof, or as good as one, needs the signed field `disclosure`: how many of how many
   respondents the publisher expects to expose.
5. Text is shown to people and is hostile until proven otherwise: no control or direction-changing characters.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    model_validator,
)

from rrcollect.design.chosen import PRACTICAL_PROOF, ChosenDesign
from rrcollect.design.mechanism import from_wire
from rrcollect.design.promise import Promise
from rrcollect.design.yes_no import Design
from rrcollect.errors import (
    ClaimTooSmall,
    MalformedDocument,
    NotCanonical,
    NotOriented,
    OffGridMatrix,
    ParameterError,
    SurveyRefused,
    UninformativeDesign,
)
from rrcollect.publish.canonical import canonical, read_canonical
from rrcollect.publish.envelope import LARGEST_ENVELOPE

__all__ = ["MOST_ROUNDS", "Disclosure", "Question", "Survey"]

NAME = r"^[a-z0-9][a-z0-9._-]{0,63}$"
MOST_QUESTIONS = 200
MOST_ROUNDS = 1000


def _readable(text: str) -> str:
    """Refuse characters that hide, reorder or fake what a person reads."""
    for char in text:
        kind = unicodedata.category(char)
        if kind in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
            raise ValueError(f"the character U+{ord(char):04X} cannot be shown to a person")
    if text != text.strip():
        raise ValueError("it begins or ends with white space")
    return text


def _readable_lines(text: str) -> str:
    """As `_readable`, over several lines and with the joiner that emoji are made with."""
    _readable(text.replace("\n", " ").replace("\u200d", ""))
    return text


def _expiry(value: object) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        except ValueError:
            raise ValueError("expires must look like 2027-01-31T00:00:00Z") from None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ValueError("expires must be a datetime with a time zone, or a string such as 2027-01-31T00:00:00Z")
    if not 2000 <= value.year <= 9000:
        raise ValueError("expires must lie between the years 2000 and 9000")
    return value.astimezone(UTC).replace(microsecond=0)


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Name = Annotated[str, Field(pattern=NAME)]
Words = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_readable)]
LongWords = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_readable_lines)]
WireDesign = Annotated[
    Design,
    PlainValidator(lambda given: given if isinstance(given, Design) else from_wire(given)),
    PlainSerializer(lambda design: design.to_wire()),
]
WirePromise = Annotated[
    Promise,
    PlainValidator(lambda given: given if isinstance(given, Promise) else Promise.from_wire(given)),
    PlainSerializer(lambda promise: promise.to_wire()),
]
Moment = Annotated[datetime, PlainValidator(_expiry), PlainSerializer(lambda t: t.strftime("%Y-%m-%dT%H:%M:%SZ"))]


class _Document(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, arbitrary_types_allowed=True)

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise _refusal(error) from None


def _refusal(error: ValidationError) -> SurveyRefused:
    """Our error for the first fault pydantic saw, with its place; values are not repeated."""
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"]) or "document"
    words = f"{place}: {fault['msg'].removeprefix('Value error, ')}"
    cause = fault.get("ctx", {}).get("error")
    return NotOriented(words) if isinstance(cause, UninformativeDesign) else MalformedDocument(words)


class Disclosure(_Document):
    """The publisher's signed opt-in to exposing people: about `exposed` of every `respondents`.

    >>> Disclosure(exposed=40, respondents=1000).exposed
    40
    """

    exposed: int = Field(ge=0, le=10**9)
    respondents: int = Field(ge=1, le=10**9)


class Question(_Document):
    """One yes/no question.

    Without a `promise` the one the design was chosen for is taken, or else the tightest that its matrix keeps.

    >>> from rrcollect import optimal_design
    >>> question = Question(id="q1", attribute="doped", text="Have you ever doped?", design=optimal_design("ln 3"))
    >>> print(question.promise, question.rounds)
    (ε, δ) = (ln(3), 0) 1
    """

    id: Name
    attribute: Name
    text: LongWords
    design: WireDesign
    promise: WirePromise
    rounds: int = Field(default=1, ge=1, le=MOST_ROUNDS)
    disclosure: Disclosure | None = None

    if TYPE_CHECKING:  # what a caller may give, where it is more than what is kept

        def __init__(
            self,
            *,
            id: str,
            attribute: str,
            text: str,
            design: Design,
            promise: Promise = ...,
            rounds: int = ...,
            disclosure: Disclosure | None = ...,
        ) -> None: ...

    @model_validator(mode="before")
    @classmethod
    def _default_promise(cls, fields: Any) -> Any:
        if isinstance(fields, dict) and "promise" not in fields and isinstance(fields.get("design"), Design):
            design: Design = fields["design"]
            return {**fields, "promise": design.promise if isinstance(design, ChosenDesign) else design.loss}
        return fields

    def check(self) -> None:
        """Refuse a matrix a device cannot or should not apply, and a promise it does not keep."""
        where = f"question {self.id!r}"
        if self.design.c <= 0:
            raise NotOriented(f"{where}: p00 + p11 = {float(self.design.c) + 1:.6g}; it must be above 1")
        if not self.design.on_grid:
            raise OffGridMatrix(f"{where}: {self.design} is off the grid of 1/2^64; publish design.to_grid()")
        if not self.design.satisfies(self.promise.epsilon, self.promise.delta):
            raise ClaimTooSmall(
                f"{where} promises (ε, δ) = ({float(self.promise.epsilon):.6g}, {float(self.promise.delta):.6g}), but "
                f"its matrix only keeps ε = {self.design.epsilon():.6g} with δ = 0, or "
                f"δ = {self.design.delta(self.promise.epsilon):.6g} at the promised ε"
            )
        if self.disclosure is not None:
            self._check_disclosure(self.disclosure, where)

    def _check_disclosure(self, said: Disclosure, where: str) -> None:
        """The number expected to be exposed is possible, and is not 0 where an answer is (nearly) a proof."""
        chances = [max(row[a] for row in self.design.matrix) for a in (0, 1)]  # of each answer, at its likeliest
        proving = [chances[a] for a in (0, 1) if self.design.likelihood_ratio(a) >= PRACTICAL_PROOF]
        most = min(Fraction(1), sum(proving or [max(chances)], Fraction(0)))
        if said.exposed > most * said.respondents:
            raise MalformedDocument(f"{where}: no more than {float(most * said.respondents):.4g} people can be exposed")
        if self.discloses and said.exposed == 0:
            raise MalformedDocument(
                f"{where}: somebody will be exposed; name so many respondents that it is one or more"
            )

    @property
    def discloses(self) -> bool:
        """Whether an answer is a proof, or as good as one."""
        return self.design.worst_likelihood_ratio >= PRACTICAL_PROOF


class Survey(_Document):
    """A survey as published.

    `name` and `version` identify it among the publisher's documents: a device refuses a lower version than it has seen.
    `segments` are the groups a respondent may declare, with the values allowed for each.

    >>> from rrcollect import optimal_design
    >>> survey = Survey(
    ...     name="clean-sport", version=1, title="Clean sport", publisher="Example Institute",
    ...     expires="2100-01-01T00:00:00Z", segments={"sport": ["run", "ski"]},
    ...     questions=[Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))],
    ... )
    >>> Survey.from_payload(survey.payload()) == survey
    True
    """

    name: Name
    version: int = Field(ge=1, le=2**31)
    title: Words
    publisher: Words
    expires: Moment
    questions: Annotated[
        tuple[Question, ...], BeforeValidator(_as_tuple), Field(min_length=1, max_length=MOST_QUESTIONS)
    ]
    segments: Annotated[
        dict[Name, Annotated[list[Words], Field(min_length=1, max_length=200)]], Field(max_length=16)
    ] = Field(default_factory=dict)
    invite_only: bool = False

    if TYPE_CHECKING:  # as above

        def __init__(
            self,
            *,
            name: str,
            version: int,
            title: str,
            publisher: str,
            expires: datetime | str,
            questions: list[Question] | tuple[Question, ...],
            segments: dict[str, list[str]] = ...,
            invite_only: bool = ...,
        ) -> None: ...

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for what in ("id", "attribute"):
            seen = [getattr(question, what) for question in self.questions]
            if len(set(seen)) != len(seen):
                raise ValueError(f"two questions have the same {what}")
        for name, values in self.segments.items():
            if len(set(values)) != len(values):
                raise ValueError(f"segment {name!r} lists a value twice")
        return self

    def question(self, question_id: str) -> Question:
        """The question with this id."""
        for question in self.questions:
            if question.id == question_id:
                return question
        raise ParameterError(
            "question", question_id, f"one of this survey's: {', '.join(q.id for q in self.questions)}"
        )

    def declares(self, segments: Mapping[str, str]) -> bool:
        """Whether a report may carry these segments: each is declared here, with this value among its own."""
        return all(value in self.segments.get(name, ()) for name, value in segments.items())

    def check(self) -> None:
        """Every question's own check."""
        for question in self.questions:
            question.check()

    def payload(self) -> bytes:
        """The canonical bytes that are signed."""
        return canonical(self.model_dump())

    @property
    def digest(self) -> str:
        """SHA-256 of the payload, in hexadecimal: the survey's identity."""
        return hashlib.sha256(self.payload()).hexdigest()

    @classmethod
    def from_payload(cls, payload: bytes) -> Survey:
        """The survey of canonical bytes; every other spelling is refused.  Signatures are the envelope's business."""
        value = read_canonical(payload, LARGEST_ENVELOPE)
        if not isinstance(value, dict):
            raise MalformedDocument("a survey is a JSON object")
        try:
            survey = cls.model_validate(value)
        except ValidationError as error:
            raise _refusal(error) from None
        if survey.payload() != payload:
            raise NotCanonical("a number or a default is not written in its one canonical form")
        return survey
