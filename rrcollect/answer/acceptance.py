"""From bytes to a survey this device is willing to answer, without I/O and without a single random byte.

The checks, in order; each failure has its own error:
    size, syntax, canonical form            Oversize, MalformedDocument, DuplicateKey, FloatInDocument, NotCanonical
    signatures by trusted keys              MissingSignature, BadSignature, KeyCountedTwice, UntrustedKey
    the document's own rules                MalformedDocument, NotOriented, OffGridMatrix, ClaimTooSmall
    enough of the publisher's own keys      UntrustedKey
    expiry and rollback                     Expired, RolledBack
    this device's policy                    OverPolicy, CertainDisclosure
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction

from rrcollect.answer.policy import Policy
from rrcollect.design.chosen import Promise
from rrcollect.errors import Expired, ParameterError, RolledBack, UntrustedKey, shown
from rrcollect.publish.envelope import verify
from rrcollect.publish.survey import Survey

__all__ = ["AcceptedSurvey", "Seen", "accept_survey"]


@dataclass(frozen=True)
class Seen:
    """The newest version of a survey this device has accepted before."""

    version: int
    digest: str


@dataclass(frozen=True)
class AcceptedSurvey:
    """A verified survey and what each of its questions would cost; made by `accept_survey` only."""

    survey: Survey
    digest: str
    costs: dict[str, Promise]

    def explain(self) -> str:
        """What would be sent, for the person to read before deciding."""
        lines = [f"{self.survey.title} (by {self.survey.publisher})"]
        for question in self.survey.questions:
            design = question.design
            kept = min(design.p00, design.p11)
            lines.append(f"- {question.text}")
            lines.append(
                f"  Your answer is changed at random with a chance of up to {float(1 - kept):.0%}; "
                f"whatever is sent, {_odds(design.worst_likelihood_ratio)}."
            )
        return "\n".join(lines)


def _odds(ratio: Fraction | float) -> str:
    if ratio == float("inf"):
        return "one of the two answers would prove what is true about you"
    return f"it can change the odds about you by a factor of at most {float(ratio):.3g}"


def accept_survey(
    envelope: bytes, policy: Policy, *, now: datetime | None = None, seen: dict[tuple[str, str], Seen] | None = None
) -> AcceptedSurvey:
    """The survey of a signed envelope, or the error that says why not.

    `seen` maps (publisher, name) to the newest version accepted before; `now` is the time to judge expiry by.
    """
    if not isinstance(envelope, bytes):
        raise ParameterError("envelope", type(envelope).__name__, "the envelope's bytes")
    verified = verify(envelope, policy.keys)
    survey = Survey.from_payload(verified.payload)
    survey.check()
    digest = hashlib.sha256(verified.payload).hexdigest()
    publisher = policy.publisher(survey.publisher)
    if publisher is None:
        raise UntrustedKey(f"the publisher {shown(survey.publisher)} is not one this policy trusts")
    signed = len(publisher.keys & verified.signers)
    if signed < publisher.threshold:
        raise UntrustedKey(f"{signed} of {publisher.threshold} needed keys of {shown(survey.publisher)} have signed")
    moment = datetime.now(UTC) if now is None else now
    if moment >= survey.expires:
        raise Expired(
            f"the survey expired at {survey.expires:%Y-%m-%d %H:%M} UTC (this device's clock: {moment:%F %T})"
        )
    _check_version(survey, digest, (seen or {}).get((survey.publisher, survey.name)))
    costs = {question.id: policy.cost(question) for question in survey.questions}
    return AcceptedSurvey(survey, digest, costs)


def _check_version(survey: Survey, digest: str, known: Seen | None) -> None:
    if known is None or survey.version > known.version or digest == known.digest:
        return
    if survey.version == known.version:
        raise RolledBack(f"version {survey.version} of {survey.name!r} was accepted before with other content")
    raise RolledBack(f"version {survey.version} of {survey.name!r} is older than version {known.version}, seen before")
