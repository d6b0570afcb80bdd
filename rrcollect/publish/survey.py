"""The survey document: what is asked of whom, with which randomisation, and where the answers go.

Rules
1. A document has one spelling: canonical JSON of exactly these fields, all of them written, fractions in lowest terms
   ("3/4"), no floats.  Its identity is the SHA-256 of those bytes: computed once, for a document never changes.
2. An attribute is asked at most once per survey; repeated collection is said openly (`rounds`).
3. The survey names where its reports go (`collector`: an address, or "carried" by the tool that embeds the client,
   which can then join a person's answers) and at which `origins` its page may be answered, by itself or inside
   `frames`.  A `pilot` is a trial: its reports are never counted with real ones.
4. A survey by invitation may name an `issuer`: then nobody can tell whose answer it is (`issuer`, `tokens`).
5. A `look` is a colour and an image that stands in the document: a page loads nothing from elsewhere for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from rrcollect.errors import Expired, ParameterError
from rrcollect.publish.composition import Composition, cautions, check_meant, compose
from rrcollect.publish.document import Look, RoundTimes, Segment, in_language
from rrcollect.publish.envelope import WITHDRAWAL_TYPE, Withdrawal, add_signature, seal, verify
from rrcollect.publish.issuer import Issuer, TokenSecret, places_of
from rrcollect.publish.keys import PublicKey, SigningKey
from rrcollect.publish.question import Question, at
from rrcollect.publish.relay import Relay
from rrcollect.publish.survey_fields import SurveyFields
from rrcollect.publish.survey_file import fields_of, read_survey


class Survey(SurveyFields):
    """A survey as published; a plain `title` (or other text) is in the survey's `language`.

    `name` and `version` identify it among the publisher's documents: a device refuses a lower version than it has seen.
    `segments` are the groups a respondent may declare, with the values allowed for each.

    >>> from rrcollect import optimal_design
    >>> survey = Survey(
    ...     name="clean-sport", version=1, title="Clean sport", publisher="Example Institute",
    ...     collector="https://collect.example.org/reports", expires="2100-01-01T00:00:00Z",
    ...     segments={"sport": ["run", "ski"]},
    ...     questions=[Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))],
    ... )
    >>> Survey.from_payload(survey.payload()) == survey
    True
    """

    if TYPE_CHECKING:  # as above

        def __init__(
            self,
            *,
            name: str,
            version: int,
            title: str | Mapping[str, str],
            publisher: str,
            collector: str,
            expires: datetime | str,
            questions: list[Question] | tuple[Question, ...],
            pilot: bool = ...,
            language: str = ...,
            introduction: str | Mapping[str, str] = ...,
            consent: str | Mapping[str, str] = ...,
            contact: str | Mapping[str, str] = ...,
            privacy: str | Mapping[str, str] = ...,
            thanks: str | Mapping[str, str] = ...,
            look: Look = ...,
            relay: Relay | dict[str, Any] | None = ...,
            origins: list[str] | tuple[str, ...] = ...,
            frames: list[str] | tuple[str, ...] = ...,
            opens: datetime | str | None = ...,
            rounds: list[RoundTimes] | tuple[RoundTimes, ...] = ...,
            ask: Literal["all", "one"] = ...,
            minimum: int = ...,
            invite_only: bool = ...,
            issuer: Issuer | None = ...,
            segments: Mapping[str, list[str] | Segment] = ...,
        ) -> None: ...

    def say(self, texts: Mapping[str, str], language: str | None = None) -> str:
        """A text of this survey in a language, or in the survey's own; "" if there is none.

        >>> from rrcollect import optimal_design
        >>> question = Question(id="q1", attribute="a", text={"en": "Ever?", "de": "Jemals?"}, design=optimal_design(1))
        >>> survey = Survey(name="s", version=1, title="S", publisher="P", collector="carried",
        ...                 expires="2100-01-01T00:00:00Z", questions=[question])
        >>> survey.say(question.text, "de-AT"), survey.say(question.text, "fr")
        ('Jemals?', 'Ever?')
        """
        return in_language(texts, language, self.language)

    def question(self, question_id: str) -> Question:
        """The question with this id."""
        for question in self.questions:
            if question.id == question_id:
                return question
        listed = ", ".join(question.id for question in self.questions)
        raise ParameterError("question", question_id, f"one of this survey's: {listed}")

    def report_values(self, question: Question) -> int:
        """How many different reports a device can send for a question (`composition`, rule 4)."""
        return question.values(len(self.questions) if self.ask == "one" else 1)

    @property
    def segment_values(self) -> dict[str, tuple[str, ...]]:
        """The values that may be declared for each segment."""
        return {name: segment.names for name, segment in self.segments.items()}

    def declares(self, segments: Mapping[str, str]) -> bool:
        """Whether a report may carry these segments: each is declared here, with this value among its own."""
        return all(name in self.segments and value in self.segments[name].names for name, value in segments.items())

    def pages(self, prefix: str | None = None) -> list[str]:
        """The addresses of its page, one for each origin: below the path of a collector that says its `prefix`, or else
        beside the survey's collector if that is at the origin.

        >>> from rrcollect import optimal_design
        >>> question = Question(id="q1", attribute="a", text="Ever?", design=optimal_design(1))
        >>> survey = Survey(name="s", version=1, title="S", publisher="P", origins=["https://a.example"],
        ...                 collector="https://a.example/polls/reports", expires="2100-01-01T00:00:00Z",
        ...                 questions=[question])
        >>> [page.replace(survey.digest, "…") for page in survey.pages()]
        ['https://a.example/polls/s/…']
        """
        beside = self.collector.removesuffix("/reports") if self.collector.endswith("/reports") else ""
        below = "" if prefix is None else prefix
        return [
            f"{beside if prefix is None and f'{beside}/'.startswith(f'{origin}/') else origin + below}/s/{self.digest}"
            for origin in self.origins
        ]

    def check(self) -> None:
        """Every question's own check, and the issuer's."""
        for question in self.questions:
            question.check()
        if self.issuer is not None:
            self.issuer.check()

    def with_issuer(self, secret: TokenSecret, address: str, *, window: int = 86_400) -> Survey:
        """The same survey, answered with tokens from the issuer at this address: to be signed by the key that the
        secret was made for, and issued for with the secret.

        >>> from rrcollect import optimal_design
        >>> question = Question(id="q1", attribute="a", text="Ever?", design=optimal_design(1), rounds=2)
        >>> survey = Survey(name="s", version=1, title="S", publisher="P", collector="https://c.example.org/reports",
        ...                 expires="2100-01-01T00:00:00Z", invite_only=True, questions=[question])
        >>> secret = TokenSecret.new(SigningKey.generate().public)
        >>> sorted(survey.with_issuer(secret, "https://c.example.org/tokens").issuer.keys)
        ['q1/0', 'q1/1']
        """
        issuer = secret.issuer(places_of(self), address, window=window)
        return Survey.from_wire({**self.to_wire(), "issuer": issuer.to_wire()})

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Survey:
        """The survey of a TOML file, or of JSON with the same names; its designs are chosen from the promises."""
        written = read_survey(path)
        with at(str(path)):
            return cls.from_entries(written)

    @classmethod
    def from_entries(cls, written: dict[str, Any]) -> Survey:
        """The survey of names and values as in such a file."""
        return cls(**fields_of(written, tuple(cls.model_fields)))

    def publish(
        self, keys: Sequence[SigningKey], *, expected: int | None = None, before: Survey | None = None
    ) -> Publication:
        """Check and sign the survey; `expected`: how many answers are hoped for, `before`: the version before this one.

        The publication has the `envelope` to hand out, what the survey costs a respondent (`composition`), and
        `warnings`: what is allowed and yet hardly meant.

        >>> from rrcollect import SigningKey, optimal_design
        >>> question = Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))
        >>> survey = Survey(name="clean-sport", version=1, title="Clean sport", publisher="Example Institute",
        ...                 collector="https://collect.example.org/reports", expires="2100-01-01T00:00:00Z",
        ...                 questions=[question])
        >>> publication = survey.publish([SigningKey.generate()])
        >>> print(publication.composition.explain())  # doctest: +ELLIPSIS
        q1: ε = 1.099, δ = 0
        Whoever answers everything spends ε = 1.099, δ = 0: all answers ... by a factor of at most 3.
        >>> publication.warnings
        ()
        """
        check_meant(self)
        if self.expires <= datetime.now(UTC):
            raise Expired(f"the survey expired at {self.expires:%Y-%m-%d %H:%M} UTC; no device would take it")
        made = self.signed(seal(self.payload(), keys), [key.public for key in keys])
        return replace(made, warnings=tuple(cautions(self, expected, before)))

    @classmethod
    def signed(cls, envelope: bytes, trusted: Iterable[PublicKey]) -> Publication:
        """The publication in a signed file, verified under the keys of those who signed it.  A second signer reads it,
        and signs it too: `Survey.signed(envelope, [theirs]).sign(mine).envelope`."""
        survey = cls.from_payload(verify(envelope, trusted).payload)
        survey.check()
        return Publication(survey, envelope, survey.digest, survey.composition, tuple(cautions(survey)))

    @property
    def composition(self) -> Composition:
        """What it costs a respondent, exactly, over all its questions and rounds."""
        return compose(self.questions, one=self.ask == "one")

    def withdraw(self, keys: Sequence[SigningKey], *, moment: datetime | None = None) -> bytes:
        """The signed envelope that ends the survey, to be handed out wherever the survey was; `moment` is now by
        default.

        >>> from rrcollect import SigningKey, optimal_design
        >>> question = Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))
        >>> survey = Survey(name="clean-sport", version=1, title="Clean sport", publisher="Example Institute",
        ...                 collector="https://collect.example.org/reports", expires="2100-01-01T00:00:00Z",
        ...                 questions=[question])
        >>> key = SigningKey.generate()
        >>> notice = survey.withdraw([key])
        >>> from rrcollect.publish.envelope import read_withdrawal
        >>> survey.withdrawn_by(read_withdrawal(notice, [key.public])[0])
        True
        """
        when = datetime.now(UTC) if moment is None else moment
        named = Withdrawal(
            survey=self.digest, publisher=self.publisher, name=self.name, version=self.version, moment=when
        )
        return seal(named.payload(), keys, WITHDRAWAL_TYPE)

    def withdrawn_by(self, withdrawal: Withdrawal) -> bool:
        """Whether a withdrawal is about exactly this survey."""
        named = (withdrawal.survey, withdrawal.publisher, withdrawal.name, withdrawal.version)
        return named == (self.digest, self.publisher, self.name, self.version)


@dataclass(frozen=True)
class Publication:
    """A signed survey: the envelope to hand out, its identity, what it costs a respondent, and what to look at before
    it is handed out."""

    survey: Survey
    envelope: bytes
    digest: str
    composition: Composition
    warnings: tuple[str, ...] = ()

    def sign(self, key: SigningKey) -> Publication:
        """The same publication with one more signature: for a second signer, or a key rotation.

        >>> from rrcollect import Question, Survey, optimal_design
        >>> question = Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))
        >>> survey = Survey(name="clean-sport", version=1, title="Clean sport", publisher="Example Institute",
        ...                 collector="https://collect.example.org/reports", expires="2100-01-01T00:00:00Z",
        ...                 questions=[question])
        >>> first, second = SigningKey.generate(), SigningKey.generate()
        >>> both = Survey.signed(survey.publish([first]).envelope, [first.public]).sign(second)
        >>> verify(both.envelope, [first.public, second.public]).signers == {first.public, second.public}
        True
        """
        return replace(self, envelope=add_signature(self.envelope, key))
