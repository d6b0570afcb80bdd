"""From bytes to a survey this device is willing to answer, without I/O and without a single random byte.

The checks, in order; each failure has its own error:
    size, syntax, canonical form            Oversize, MalformedDocument, DuplicateKey, FloatInDocument, NotCanonical
    signatures by trusted keys              MissingSignature, BadSignature, KeyCountedTwice, UntrustedKey
    the document's own rules                MalformedDocument, NotOriented, OffGridDesign, ClaimTooSmall
    enough of the publisher's own keys      UntrustedKey
    the log that the policy names           NotLogged, SplitLog
    expiry and rollback                     Expired, RolledBack
    this device's policy                    OverPolicy, CertainDisclosure
"""

from __future__ import annotations

from dataclasses import dataclass

from rrcollect.answer.explain.explanation import survey_lines
from rrcollect.answer.explain.headline import survey_headline
from rrcollect.answer.explain.issued import issuer_lines
from rrcollect.answer.explain.words import Line, Words, shown_lines
from rrcollect.errors import RolledBack
from rrcollect.publish.keys import PublicKey
from rrcollect.publish.log import Checkpoint
from rrcollect.publish.survey import Survey


@dataclass(frozen=True)
class SeenVersion:
    """The newest version of a survey this device has accepted before."""

    version: int
    digest: str


@dataclass(frozen=True)
class AcceptedSurvey:
    """A verified survey and the trusted keys that signed it; made by `Policy.accept` only.  `state` is the signed state
    of the log in which it is, if the policy names one, and `witnesses` how many signed that state too; `pinned`: the
    policy names the digest, or witnesses."""

    survey: Survey
    digest: str
    signers: frozenset[PublicKey]
    state: Checkpoint | None = None
    witnesses: int = 0
    pinned: bool = False

    def explain(self, language: str | None = None, *, page: bool = False, words: Words | None = None) -> str:
        """What would be sent, for the person to read before deciding; the survey's texts in this language, if it has
        it, and ours likewise (without one in the survey's), or in the `words` that somebody else supplies.
        `page`: it is answered on its page, where every origin keeps a ledger of its own."""
        ours = words or Words.of(language or self.survey.language)
        tokens = issuer_lines(self.survey, ours, pinned=self.pinned)
        told = [Line(ours.say("digest", digest=short_digest(self.digest)))]
        told += [Line(ours.say("logged"))] if self.state is not None else []
        told += [Line(ours.say("witnessed", count=str(self.witnesses)))] if self.witnesses else []
        return shown_lines([*survey_lines(self.survey, language, page=page, words=words), *tokens, *told])

    def headline(self, language: str | None = None, *, page: bool = False, words: Words | None = None) -> str:
        """The one or two sentences to read first: what happens to an answer, and what it proves; as in `explain`."""
        return " ".join(survey_headline(self.survey, words or Words.of(language or self.survey.language), page=page))


def short_digest(digest: str) -> str:
    """The beginning of a digest, for people to compare: a survey made for one person alone has one of its own.

    >>> short_digest("0123456789abcdef" * 4)
    '0123 4567 89ab cdef 0123 4567'
    """
    return " ".join(digest[i : i + 4] for i in range(0, 24, 4))


def check_version(name: str, offered: SeenVersion, known: SeenVersion | None) -> None:
    """Not older than, and not different from, what was seen before."""
    if known is None or offered.version > known.version or offered == known:
        return
    if offered.version == known.version:
        raise RolledBack(f"version {offered.version} of {name!r} was accepted before with other content")
    raise RolledBack(f"version {offered.version} of {name!r} is older than version {known.version}, seen before")
