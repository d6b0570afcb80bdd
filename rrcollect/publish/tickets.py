"""Invites and the one-time tickets that are derived from them.

Rules
1. An invite is 28 characters, 0-9 and a-z without i, l, o and u: 26 of them are 130 random bits, 2 are a checksum.  A
   person may type it in capitals, with hyphens, and with o for 0, i or l for 1; what is mistyped is found before
   anything is drawn, and is never shown.
2. The invite stays on the device.  A report carries a ticket, derived from the invite for one survey, question and
   round: no two reports of a person have a common value.  Whoever issued the invites can still link their tickets.
3. Where the survey has an issuer, the invite is proved to the issuer alone, once; reports carry tokens (`tokens`).
4. A collector knows tickets by hashes that are bound to question and round: a ticket speaks for no other question.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable

from rrcollect.errors import ParameterError
from rrcollect.publish.survey import Survey

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32
MOST_TICKETS = 1_000_000  # of one list: all invites, questions and rounds
_RANDOM, _CHECK = 26, 2  # characters of 5 bits
_INVITE = re.compile(f"[{ALPHABET}]{{{_RANDOM + _CHECK}}}")


def new_invite() -> str:
    """A fresh invite.

    >>> check_invite(new_invite().upper()) == check_invite(new_invite())
    False
    """
    drawn = "".join(ALPHABET[secrets.randbelow(32)] for _ in range(_RANDOM))
    return drawn + _checksum(drawn)


def check_invite(text: str) -> str:
    """The invite as it was issued, however it was typed; an error that does not show it if it is mistyped.

    >>> check_invite(" ABCD-EFGH-JKMN-PQRS-TVWX-YZOI-23RK ")
    'abcdefghjkmnpqrstvwxyz0123rk'
    >>> check_invite("abcdefghjkmnpqrstvwxyz0123rs")
    Traceback (most recent call last):
    ...
    rrcollect.errors.ParameterError: invite is 'mistyped, not shown': use the 28 letters and digits as issued
    """
    if not isinstance(text, str):
        raise ParameterError("invite", type(text).__name__, "a text")
    plain = text.strip(" \t\r\n").replace("-", "") if text.isascii() else ""
    plain = plain.lower().translate(str.maketrans("ilo", "110"))
    if not _INVITE.fullmatch(plain) or plain[_RANDOM:] != _checksum(plain[:_RANDOM]):
        raise ParameterError("invite", "mistyped, not shown", "the 28 letters and digits as issued")
    return plain


def ticket(invite: str, survey: str, question: str, round_: int) -> str:
    """The ticket of an invite for a survey (by its digest), question and round: 32 hexadecimal digits.

    >>> ticket("abcdefghjkmnpqrstvwxyz0123rk", "0" * 64, "q1", 0)
    '25b127ccfda771ee4d5da1077a1dac4c'
    """
    return _derived(check_invite(invite), survey, question, round_)


def known_as(spent: str, question: str, round_: int) -> str:
    """What a collector keeps of a ticket: a hash that fits this question and round alone."""
    return hashlib.sha256(f"{question}\n{round_}\n{spent}".encode("utf-8", "surrogatepass")).hexdigest()


def invite_proof(invite: str, survey: str) -> str:
    """What an invite is to the issuer of a survey (by its digest): 32 hexadecimal digits, good for that alone."""
    return derived(check_invite(invite), f"rrcollect token request\n{survey}")


def proof_known_as(proof: str) -> str:
    """What an issuer keeps of it: a hash that no ticket has."""
    return hashlib.sha256(f"token request\n{proof}".encode("utf-8", "surrogatepass")).hexdigest()


def ticket_hashes(invites: Iterable[str], survey: Survey) -> list[str]:
    """The hashes of all tickets of these invites, for all questions and rounds, sorted: their order tells nothing.

    Where a survey has an issuer, an invite is good for one request of tokens: one hash for each."""
    given, digest = list(invites), survey.digest
    check_number(len(given), survey)
    listed = [check_invite(invite) for invite in given]
    if survey.issuer is not None:
        return sorted(proof_known_as(invite_proof(invite, digest)) for invite in listed)
    asked = [(question.id, number) for question in survey.questions for number in range(question.rounds)]
    return sorted(known_as(_derived(one, digest, *place), *place) for one in listed for place in asked)


def check_number(invites: int, survey: Survey) -> None:
    """An error if so many invites of this survey have more tickets than a list may hold."""
    each = 1 if survey.issuer is not None else sum(question.rounds for question in survey.questions)
    if invites * each > MOST_TICKETS:
        allowed = f"at most {MOST_TICKETS // each}: each has {each} tickets, and a list {MOST_TICKETS}"
        raise ParameterError("invites", invites, allowed)


def _derived(invite: str, survey: str, question: str, round_: int) -> str:
    return derived(invite, f"rrcollect ticket\n{survey}\n{question}\n{round_}")


def derived(invite: str, message: str) -> str:
    """What stands for an invite where a message says what for: 32 hexadecimal digits."""
    return hmac.digest(invite.encode(), message.encode(), "sha256").hex()[:32]


def _checksum(drawn: str) -> str:
    bits = int.from_bytes(hashlib.sha256(drawn.encode()).digest()[:2], "big") >> 6
    return ALPHABET[bits >> 5] + ALPHABET[bits & 31]
