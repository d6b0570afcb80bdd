"""From bytes to a survey this device is willing to answer, without I/O and without a single random byte.

The checks, in order; each failure has its own error:
    size, syntax, canonical form            Oversize, MalformedDocument, DuplicateKey, FloatInDocument, NotCanonical
    signatures by trusted keys              MissingSignature, BadSignature, KeyCountedTwice, UntrustedKey
    the document's own rules                MalformedDocument, NotOriented, OffGridDesign, ClaimTooSmall
    enough of the publisher's own keys      UntrustedKey
    expiry and rollback                     Expired, RolledBack
    this device's policy                    OverPolicy, CertainDisclosure
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

from rrcollect.answer.explain.explanation import survey_lines
from rrcollect.answer.explain.headline import survey_headline
from rrcollect.answer.explain.words import Words, shown_lines
from rrcollect.answer.policy import Policy
from rrcollect.errors import (
    BadSignature,
    Expired,
    NotOpen,
    ParameterError,
    RolledBack,
    RoundClosed,
    UntrustedKey,
    shown,
)
from rrcollect.publish.envelope import Withdrawal, read_withdrawal, verify
from rrcollect.publish.keys import PublicKey
from rrcollect.publish.survey import Survey


@dataclass(frozen=True)
class SeenVersion:
    """The newest version of a survey this device has accepted before."""

    version: int
    digest: str


@dataclass(frozen=True)
class AcceptedSurvey:
    """A verified survey and the trusted keys that signed it; made by `accept_survey` only."""

    survey: Survey
    digest: str
    signers: frozenset[PublicKey]

    def explain(self, language: str | None = None, *, page: bool = False, words: Words | None = None) -> str:
        """What would be sent, for the person to read before deciding; the survey's texts in this language, if it has
        it, and ours likewise (without one in the survey's), or in the `words` that somebody else supplies.
        `page`: it is answered on its page, where every origin keeps a ledger of its own."""
        return shown_lines(survey_lines(self.survey, language, page=page, words=words))

    def headline(self, language: str | None = None, *, page: bool = False, words: Words | None = None) -> str:
        """The one or two sentences to read first: what happens to an answer, and what it proves; as in `explain`."""
        return " ".join(survey_headline(self.survey, words or Words.of(language or self.survey.language), page=page))


def accept_survey(
    envelope: bytes,
    policy: Policy,
    *,
    now: datetime | None = None,
    seen: dict[tuple[str, str], SeenVersion] | None = None,
) -> AcceptedSurvey:
    """The survey of a signed envelope, or the error that says why not.

    `seen` maps (publisher, name) to the newest version accepted before; `now` is the time to judge expiry by.

    >>> from datetime import datetime, timezone
    >>> from rrcollect import Question, Survey, SigningKey, optimal_design, publish_survey
    >>> key = SigningKey.generate()
    >>> question = Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))
    >>> survey = Survey(name="clean-sport", version=1, title="Clean sport", publisher="Example Institute",
    ...                 collector="https://collect.example.org/reports",
    ...                 expires=datetime(2100, 1, 1, tzinfo=timezone.utc), questions=[question])
    >>> from rrcollect import TrustedPublisher
    >>> policy = Policy([TrustedPublisher("Example Institute", [key.public])])
    >>> accept_survey(publish_survey(survey, [key]).envelope, policy).survey == survey
    True
    >>> accept_survey(publish_survey(survey, [SigningKey.generate()]).envelope, policy)
    Traceback (most recent call last):
    ...
    rrcollect.errors.UntrustedKey: no signature of this envelope is by a key this policy trusts
    """
    if not isinstance(envelope, bytes):
        raise ParameterError("envelope", type(envelope).__name__, "the envelope's bytes")
    verified = verify(envelope, policy.keys)
    survey = Survey.from_payload(verified.payload)
    survey.check()
    accepted = AcceptedSurvey(survey, hashlib.sha256(verified.payload).hexdigest(), verified.signers)
    check_trust(accepted, policy)
    check_expiry(survey, datetime.now(UTC) if now is None else now)
    known = (seen or {}).get((survey.publisher, survey.name))
    check_version(survey.name, SeenVersion(survey.version, accepted.digest), known)
    for question in survey.questions:
        policy.cost(question)
    return accepted


def check_trust(accepted: AcceptedSurvey, policy: Policy) -> None:
    """Enough of the publisher's own keys have signed exactly this survey."""
    check_signers(accepted.survey.publisher, accepted.signers, policy)
    if accepted.survey.digest != accepted.digest:
        raise BadSignature("the survey was changed after it was accepted")


def check_signers(name: str, signers: frozenset[PublicKey], policy: Policy) -> None:
    """Enough of the keys of the publisher of this name are among the signers."""
    publisher = policy.publisher(name)
    if publisher is None:
        raise UntrustedKey(f"the publisher {shown(name)} is not one this policy trusts")
    signed = len(publisher.keys & signers)
    if signed < publisher.threshold:
        raise UntrustedKey(f"{signed} of {publisher.threshold} needed keys of {shown(name)} have signed")


def accept_withdrawal(envelope: bytes, policy: Policy) -> Withdrawal:
    """The withdrawal of a signed envelope, by as many of the publisher's keys as a survey needs."""
    verified = read_withdrawal(envelope, policy.keys)
    check_signers(verified.withdrawal.publisher, verified.signers, policy)
    return verified.withdrawal


def check_expiry(survey: Survey, now: datetime) -> None:
    """The survey is not past its expiry by this clock."""
    if not isinstance(now, datetime) or now.tzinfo is None:
        raise ParameterError("now", now, "a datetime with a time zone")
    if now >= survey.expires:
        raise Expired(f"the survey expired at {survey.expires:%Y-%m-%d %H:%M} UTC (this device's clock: {now:%F %T})")


def check_open(survey: Survey, now: datetime) -> None:
    """The survey is open by this clock; accepting it earlier is fine."""
    check_expiry(survey, now)
    if survey.opens is not None and now < survey.opens:
        raise NotOpen(f"the survey opens at {survey.opens:%Y-%m-%d %H:%M} UTC (this device's clock: {now:%F %T})")


def check_round(survey: Survey, round_: int, now: datetime) -> None:
    """The round is open by this clock, if the survey says when its rounds are."""
    if survey.rounds and not survey.rounds[round_].opens <= now < survey.rounds[round_].closes:
        times = survey.rounds[round_]
        raise RoundClosed(
            f"round {round_} is open from {times.opens:%Y-%m-%d %H:%M} to {times.closes:%Y-%m-%d %H:%M} UTC "
            f"(this device's clock: {now:%F %T})"
        )


def check_version(name: str, offered: SeenVersion, known: SeenVersion | None) -> None:
    """Not older than, and not different from, what was seen before."""
    if known is None or offered.version > known.version or offered == known:
        return
    if offered.version == known.version:
        raise RolledBack(f"version {offered.version} of {name!r} was accepted before with other content")
    raise RolledBack(f"version {offered.version} of {name!r} is older than version {known.version}, seen before")
