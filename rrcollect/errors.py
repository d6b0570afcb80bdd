"""The errors of the project, and whose fault each is.  (Those about counted answers alone live in server_agg.)

Rules
1. One base class.  ``except RRCollectError`` catches all that this project raises on purpose, and nothing else.
2. An error says who can mend it (`Blame`), what it saw, and what would have been allowed.
3. A truth, and the random draw behind an answer, never enter an error.  Values shown are shortened, so that a
   hostile megabyte does not become a log line.

>>> error = ParameterError("delta", 2, "a number between 0 and 1")
>>> str(error)
'delta is 2: use a number between 0 and 1'
>>> error.blame
<Blame.CALLER: 'caller'>
"""

from __future__ import annotations

import copyreg
from enum import Enum
from typing import Any

SHOWN_CHARACTERS = 80


class Blame(Enum):
    """Who has to act so that the error goes away."""

    CALLER = "caller"  # the program that called this function
    PUBLISHER = "publisher"  # whoever wrote and signed the survey
    REPORTER = "reporter"  # whoever sent the report
    DEVICE = "device"  # this machine: its disk, its generator, its clock


def shown(value: object) -> str:
    """`value` as an error may show it: its repr, printable, cut to 80 characters."""
    try:
        text = repr(value)
    except Exception as error:  # a hostile __repr__, or an int beyond Python's digit limit
        text = f"<{type(value).__name__}: {type(error).__name__} when shown>"
    text = "".join(c if c.isprintable() else "?" for c in text[: SHOWN_CHARACTERS + 1])
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


class RRCollectError(Exception):
    """Base of every error this project raises on purpose."""

    blame: Blame = Blame.CALLER

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and sent to other processes with its words and parts as they are."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class ParameterError(RRCollectError, ValueError):
    """A number or word given to a function is not one it takes."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"{name} is {shown(value)}: use {allowed}")
        self.name = name
        self.value = value
        self.allowed = allowed


class UninformativeDesign(RRCollectError, ValueError):
    """Both truths would be answered by the same law (p00 + p11 = 1): no crowd, however large, tells anything."""


class MissingExtra(RRCollectError, ImportError):
    """A part of the project was used whose optional packages are not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; pip install 'rrcollect[{extra}]'")
        self.package = package
        self.extra = extra


class NewerSchema(RRCollectError):
    """A database was written by a newer version of this project, which knows more schemas; see `rrcollect.schema`."""

    blame = Blame.DEVICE


# ---- a survey document that is not accepted (the publisher's fault, unless said otherwise) -------------------------


class SurveyRefused(RRCollectError):
    """A survey document was not accepted.  Every reason has its own subclass; no random byte was drawn."""

    blame = Blame.PUBLISHER


class Oversize(SurveyRefused):
    """More bytes, or deeper nesting, than a survey may have."""


class MalformedDocument(SurveyRefused):
    """Not the JSON we take: broken syntax or encoding, an unknown or missing field, a value of the wrong kind."""


class DuplicateKey(MalformedDocument):
    """A JSON object names a key twice; readers disagree on which one counts."""


class FloatInDocument(MalformedDocument):
    """A number with a fraction or an exponent, or too large to be exact everywhere."""


class NotCanonical(MalformedDocument):
    """The bytes are not the one canonical form (RFC 8785) of what they say."""


class MissingSignature(SurveyRefused):
    """The envelope carries no signature."""


class BadSignature(SurveyRefused):
    """A signature under a trusted key does not fit the bytes."""


class UntrustedKey(SurveyRefused):
    """Too few of the signatures are by keys this policy trusts for the publisher."""


class KeyCountedTwice(SurveyRefused):
    """One key signed twice; a threshold counts keys, not signatures."""


class Expired(SurveyRefused):
    """The survey is past its expiry."""


class NotOpen(SurveyRefused):
    """The survey opens later."""


class RoundClosed(SurveyRefused):
    """The round of the question is not open: not yet, or not any more."""


class SurveyWithdrawn(SurveyRefused):
    """Its publisher has withdrawn the survey, for good."""


class RolledBack(SurveyRefused):
    """An older version than one already seen, or another document under a version already seen."""


class NotLogged(SurveyRefused):
    """The policy names a log, and nothing shows that the survey is in it, or that enough witnesses saw the same log."""


class SplitLog(SurveyRefused):
    """A log showed two histories, or forgot one: what it signed before is not the beginning of what it shows now."""


class ClaimTooSmall(SurveyRefused):
    """The document promises more privacy than its matrix keeps."""


class NotOriented(SurveyRefused):
    """p00 + p11 <= 1: a device only runs designs whose answers mean what they say."""


class OffGridDesign(SurveyRefused, ValueError):
    """The design has a probability that is not a multiple of 1/2^64, so no device can apply it exactly."""


class CertainDisclosure(SurveyRefused):
    """An answer would be a proof, or as good as one, without the opt-in this needs."""


class OverPolicy(SurveyRefused):
    """The privacy loss is above a cap of this device's policy, or the policy pins other surveys."""


# ---- answering ----------------------------------------------------------------------------------------------------


class AnswerRefused(RRCollectError):
    """This device does not answer the question; nothing was drawn."""


class UnknownAttribute(AnswerRefused):
    """The app has not registered the attribute the question asks about."""


class NotDrawn(AnswerRefused):
    """This device drew another question of the survey, or another round of the panel, to answer."""


class NoTokens(AnswerRefused):
    """The survey has an issuer, and this device has no token for the answer: it fetches them first."""


class TokensRefused(AnswerRefused):
    """The survey's issuer will never give this device tokens, and says why."""


class AlreadyAnswered(AnswerRefused):
    """Answered by another design before; that answer cannot honestly serve here, and no second one is drawn."""

    blame = Blame.PUBLISHER


class BudgetExhausted(AnswerRefused):
    """The answer would cost more than is left of the lifetime budget."""

    blame = Blame.DEVICE


class BadTruth(RRCollectError, ValueError):
    """The truth given is not a plain yes or no.  Its value is not shown, here or anywhere."""


class NoRandomness(RRCollectError):
    """The operating system's generator gave no bytes; without them there is no answer."""

    blame = Blame.DEVICE


# ---- the ledger ---------------------------------------------------------------------------------------------------


class LedgerError(RRCollectError):
    """The ledger cannot be used; nothing left the device, and what was drawn (if anything) is still in it."""

    blame = Blame.DEVICE


class LedgerUnavailable(LedgerError):
    """The ledger's files cannot be opened, locked or written (permissions, disk full, another process)."""


class LedgerCorrupt(LedgerError):
    """The ledger's file is damaged or is not a ledger."""


class LedgerNewer(NewerSchema, LedgerError):
    """The ledger was written by a newer version of this project: update the app, and it can be used again."""


class LedgerRestored(LedgerError):
    """The ledger holds fewer reports than its rollback guard: an old copy was restored, or a file was removed."""


# ---- reports and their delivery -----------------------------------------------------------------------------------


class MalformedReport(RRCollectError, ValueError):
    """Bytes that are not a report."""

    blame = Blame.REPORTER


class ReportRefused(RRCollectError):
    """The collector will never take this report, and says why; it is not sent again."""

    blame = Blame.REPORTER


class TransportFailed(RRCollectError):
    """The report may or may not have arrived; sending it again is safe."""

    blame = Blame.DEVICE


class IssuerFailed(TransportFailed):
    """The issuer of a survey gave no tokens, or not with the keys that the survey signed; asking again is safe."""

    blame = Blame.PUBLISHER


class WrongAddress(TransportFailed):
    """There is no collector at the address that the survey names; the report waits, but waiting does not help."""

    blame = Blame.PUBLISHER


class KeyFileError(RRCollectError):
    """A key file cannot be read, is not ours to read, or would be overwritten."""

    blame = Blame.PUBLISHER
