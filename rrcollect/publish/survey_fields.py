"""The fields of a survey, and what they say of each other.  What a survey can do: `survey`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from rrcollect.publish.document import (
    CARRIED,
    Address,
    Frozen,
    Language,
    Links,
    Look,
    Moment,
    Name,
    Origins,
    Passages,
    RoundTimes,
    Segment,
    SignedDocument,
    Texts,
    Words,
    as_tuple,
)
from rrcollect.publish.envelope import LARGEST_ENVELOPE
from rrcollect.publish.issuer import Issuer, places_of
from rrcollect.publish.question import MOST_ROUNDS, Question
from rrcollect.publish.relay import Relay

MOST_QUESTIONS = 200


class SurveyFields(SignedDocument):
    """The document, in the order of its faults."""

    largest: ClassVar = LARGEST_ENVELOPE
    texts_by_language = ("title", "introduction", "consent", "contact", "privacy", "thanks")
    name: Name
    version: int = Field(ge=1, le=2**31)
    publisher: Words
    pilot: bool = False
    language: Language = "en"
    title: Annotated[Texts, Field(min_length=1)]
    introduction: Passages = Field(default_factory=Frozen)
    consent: Passages = Field(default_factory=Frozen)
    contact: Passages = Field(default_factory=Frozen)
    privacy: Links = Field(default_factory=Frozen)
    thanks: Passages = Field(default_factory=Frozen)
    look: Look = Field(default_factory=Look)
    collector: Address
    relay: Relay | None = None
    origins: Origins = ()
    frames: Origins = ()
    opens: Moment | None = None
    expires: Moment
    rounds: Annotated[tuple[RoundTimes, ...], BeforeValidator(as_tuple), Field(max_length=MOST_ROUNDS)] = ()
    ask: Literal["all", "one"] = "all"
    minimum: int = Field(default=30, ge=2, le=10**9)
    invite_only: bool = False
    issuer: Issuer | None = None
    segments: Annotated[dict[Name, Segment], Field(max_length=16), AfterValidator(Frozen)] = Field(
        default_factory=Frozen
    )
    questions: Annotated[
        tuple[Question, ...], BeforeValidator(as_tuple), Field(min_length=1, max_length=MOST_QUESTIONS)
    ]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for what in ("id", "attribute"):
            seen = [getattr(question, what) for question in self.questions]
            if len(set(seen)) != len(seen):
                raise ValueError(f"two questions have the same {what}")
        for name, segment in self.segments.items():
            if len(set(segment.names)) != len(segment.values):
                raise ValueError(f"segment {name!r} lists a value twice")
        for place, texts in self._texts():
            if texts and self.language not in texts:
                raise ValueError(f"{place} has no text in the survey's language {self.language!r}")
        if self.opens is not None and self.opens >= self.expires:
            raise ValueError("the survey opens after it expires")
        if any(times.opens >= times.closes for times in self.rounds) or any(
            later.opens < sooner.closes for sooner, later in itertools.pairwise(self.rounds)
        ):
            raise ValueError("rounds open and close one after the other")
        if self.rounds and self.rounds[-1].closes > self.expires:
            raise ValueError("the last round closes after the survey expires")
        if self.rounds and max(question.rounds for question in self.questions) > len(self.rounds):
            raise ValueError(f"a question has more rounds than the {len(self.rounds)} that open and close")
        if any(len(set(listed)) != len(listed) for listed in (self.origins, self.frames)):
            raise ValueError("an origin is listed twice")
        if self.issuer is not None:
            self._check_issuer(self.issuer)
        return self._with_relay()

    def _with_relay(self) -> Self:
        issuer = None if self.issuer is None else self.issuer.address
        fault = None if self.relay is None else self.relay.fault(self.collector, issuer, self.opens, self.expires)
        if fault is not None:
            raise ValueError(fault)
        return self

    @property
    def destination(self) -> str:
        """Where its reports go; with a relay, an address that only a transport by that relay knows."""
        return self.collector if self.relay is None else self.relay.destination(self.collector)

    @property
    def tokens_at(self) -> str:
        """Where its tokens are asked for, likewise; "" without an issuer."""
        address = "" if self.issuer is None else self.issuer.address
        return address if self.relay is None else self.relay.destination(address)

    def _check_issuer(self, issuer: Issuer) -> None:
        if not self.invite_only or self.collector == CARRIED:
            raise ValueError("a survey with an issuer is by invitation, and its reports go to a collector")
        if self.ask == "one" and any(question.rounds > 1 and not question.panel for question in self.questions):
            raise ValueError("a survey with an issuer that asks one question is answered once: rounds are panels")
        if sorted(issuer.keys) != (places := places_of(self)):
            raise ValueError(f"the issuer has a key for each place: {', '.join(places)[:200]}")

    def _texts(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Every text for people, with its place."""
        for name in self.texts_by_language:
            yield name, getattr(self, name)
        for name, segment in self.segments.items():
            yield f"segments.{name}.label", segment.label
            yield f"segments.{name}.help", segment.help
            for value in segment.values:
                yield f"segments.{name}.values", value.label
        for question in self.questions:
            yield f"question {question.id!r} text", question.text
            yield f"question {question.id!r} help", question.help
            for texts in question.kind.texts:
                yield f"question {question.id!r} kind", texts
