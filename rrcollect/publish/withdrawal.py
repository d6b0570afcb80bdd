"""The withdrawal: the signed word of a publisher that a survey is over before it expires.

Rules
1. It names one survey by its digest, with the publisher, name and version for people to read, and since when.  It is
   canonical JSON of exactly these fields in a DSSE envelope, signed as surveys are, under a label of its own: a
   signature on a survey never withdraws it.
2. Whoever may publish may withdraw: a device asks for as many of the publisher's keys as for a survey.
3. It is for life.  There is no way back but another survey, with another version.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from rrcollect.errors import MalformedDocument, ParameterError
from rrcollect.publish.canonical import canonical, read_canonical
from rrcollect.publish.document import Document, Moment, Name, Words
from rrcollect.publish.envelope import seal, verify
from rrcollect.publish.keys import PublicKey, SigningKey
from rrcollect.publish.survey import Survey

WITHDRAWAL_TYPE = "application/vnd.rrcollect.withdrawal.v1+json"
LARGEST_WITHDRAWAL = 8192  # bytes of the payload


class Withdrawal(Document):
    """What is withdrawn (`survey` is its digest), and since when."""

    survey: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    publisher: Words
    name: Name
    version: int = Field(ge=1, le=2**31)
    moment: Moment

    if TYPE_CHECKING:

        def __init__(self, *, survey: str, publisher: str, name: str, version: int, moment: datetime | str) -> None: ...

    def payload(self) -> bytes:
        """The canonical bytes that are signed."""
        return canonical(self.to_wire())

    @classmethod
    def from_payload(cls, payload: bytes) -> Withdrawal:
        """The withdrawal of canonical bytes; every other spelling is refused."""
        value = read_canonical(payload, LARGEST_WITHDRAWAL)
        if not isinstance(value, dict):
            raise MalformedDocument("a withdrawal is a JSON object")
        return cls.from_wire(value)

    def withdraws(self, survey: Survey) -> bool:
        """Whether this is about exactly that survey."""
        named = (self.survey, self.publisher, self.name, self.version)
        return named == (survey.digest, survey.publisher, survey.name, survey.version)


@dataclass(frozen=True)
class VerifiedWithdrawal:
    """A withdrawal, and the trusted keys that signed exactly these bytes."""

    withdrawal: Withdrawal
    signers: frozenset[PublicKey]


def withdraw_survey(survey: Survey, keys: Sequence[SigningKey], *, moment: datetime | None = None) -> bytes:
    """The signed envelope that ends a survey, to be handed out wherever the survey was; `moment` is now by default.

    >>> from rrcollect import Question, optimal_design
    >>> question = Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))
    >>> survey = Survey(name="clean-sport", version=1, title="Clean sport", publisher="Example Institute",
    ...                 collector="https://collect.example.org/reports", expires="2100-01-01T00:00:00Z",
    ...                 questions=[question])
    >>> key = SigningKey.generate()
    >>> envelope = withdraw_survey(survey, [key])
    >>> read_withdrawal(envelope, [key.public]).withdrawal.withdraws(survey)
    True
    """
    if not isinstance(survey, Survey):
        raise ParameterError("survey", type(survey).__name__, "a Survey")
    if not isinstance(keys, Sequence) or not all(isinstance(key, SigningKey) for key in keys):
        raise ParameterError("keys", type(keys).__name__, "a list of SigningKey")
    when = datetime.now(UTC).replace(microsecond=0) if moment is None else moment
    withdrawal = Withdrawal(
        survey=survey.digest, publisher=survey.publisher, name=survey.name, version=survey.version, moment=when
    )
    envelope = seal(withdrawal.payload(), keys, WITHDRAWAL_TYPE)
    read_withdrawal(envelope, [key.public for key in keys])  # as a device will
    return envelope


def read_withdrawal(envelope: bytes, trusted: Iterable[PublicKey]) -> VerifiedWithdrawal:
    """The withdrawal of an envelope signed by at least one trusted key; how many are needed is the policy's to say."""
    if not isinstance(envelope, bytes):
        raise ParameterError("envelope", type(envelope).__name__, "the envelope's bytes")
    verified = verify(envelope, trusted, WITHDRAWAL_TYPE)
    return VerifiedWithdrawal(Withdrawal.from_payload(verified.payload), verified.signers)
