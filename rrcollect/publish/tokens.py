"""Tokens: how a device asks an issuer for them, and how a report carries one.

Rules
1. A device asks for all places of a survey at once, whatever it will answer, with a fresh nonce and blind for each.
   The request of every device has the same length; it names the survey and proves the invite, once.
2. The reply has an element and a proof for each place.  Each proof is checked under the key that the survey signed for
   the place; one that fails discards them all.
3. A report carries the nonce and HMAC-SHA-256(output, the report without its token), 64 bytes in the place of the
   ticket: whoever carries the report cannot move the token to another answer, and the output never leaves.
4. The collector knows the secret.  It computes the output again and compares in constant time.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from rrcollect.errors import IssuerFailed, ParameterError, SurveyRefused
from rrcollect.publish.canonical import canonical, read_canonical
from rrcollect.publish.issuer import Issuer, TokenSecret, input_of, place_of
from rrcollect.publish.report import NONCE_DIGITS, Report
from rrcollect.publish.survey import Survey
from rrcollect.publish.voprf import (
    ELEMENT,
    PROOF,
    KeyPair,
    blinded,
    evaluated,
    finalised,
    is_element,
    new_scalar,
    output_of,
    proves,
)

NONCE = NONCE_DIGITS // 2  # bytes
REFUSALS = {
    "malformed": (400, "not a request for tokens, or not one for every place of the survey"),
    "unknown_invite": (403, "no invitation of this survey gives this"),
    "unknown_survey": (404, "no survey with this digest has its tokens issued here"),
    "already_issued": (409, "another device, or another ledger, used this invite"),
    "closed": (410, "the survey is over"),
    "withdrawn": (410, "the survey's publisher has withdrawn it"),
}
"""Why an issuer refuses for good: each reason with its status, in which alone a device believes it."""
PLACE_BYTES = 2 * (ELEMENT + PROOF) + 3  # of a reply, at most: digits, quotes, comma
_ELEMENT = re.compile(f"[0-9a-f]{{{2 * ELEMENT}}}")
_INVITE = re.compile("[0-9a-f]{32}")
_REPLY = re.compile(f"[0-9a-f]{{{2 * (ELEMENT + PROOF)}}}")


class Blinded(NamedTuple):
    """The nonce of a place, and the blind that hides it from the issuer."""

    nonce: bytes
    blind: bytes

    @classmethod
    def new(cls) -> Blinded:
        """Fresh ones, from the operating system's generator."""
        return cls(secrets.token_bytes(NONCE), new_scalar())

    def __repr__(self) -> str:
        return "Blinded(…)"


class TokenRequest(NamedTuple):
    """What an issuer reads: the survey's digest, what proves the invite, and an element for each place in order."""

    survey: str
    invite: str
    elements: tuple[bytes, ...]

    def to_bytes(self) -> bytes:
        """The canonical bytes that are sent: of the same length for everybody."""
        elements = [element.hex() for element in self.elements]
        return canonical({"elements": elements, "invite": self.invite, "survey": self.survey})

    @classmethod
    def from_bytes(cls, body: bytes, most: int) -> TokenRequest | None:
        """The request of canonical bytes with at most so many elements; None if it is not one."""
        try:
            value = read_canonical(body, longest_request(most))
        except SurveyRefused:
            return None
        if not isinstance(value, dict) or set(value) != {"elements", "invite", "survey"}:
            return None
        elements, invite, survey = value["elements"], value["invite"], value["survey"]
        if not isinstance(elements, list) or not all(isinstance(e, str) and _ELEMENT.fullmatch(e) for e in elements):
            return None
        if not isinstance(invite, str) or not _INVITE.fullmatch(invite):
            return None
        if not isinstance(survey, str) or not _ELEMENT.fullmatch(survey):
            return None
        return cls(survey, invite, tuple(map(bytes.fromhex, elements)))


def longest_request(places: int) -> int:
    """How many bytes a request for so many places has at most."""
    return 200 + places * (2 * ELEMENT + 3)


def longest_reply(places: int) -> int:
    """How many bytes the reply has at most."""
    return 64 + places * PLACE_BYTES


def request_of(issuer: Issuer, survey: str, proof: str, places: Mapping[str, Blinded]) -> TokenRequest:
    """The request for all places; made again from the same nonces and blinds it is the same."""
    elements = (blinded(input_of(survey, place, places[place].nonce), places[place].blind) for place in _order(issuer))
    return TokenRequest(survey, proof, tuple(elements))


def outputs_of(issuer: Issuer, request: TokenRequest, places: Mapping[str, Blinded], reply: bytes) -> dict[str, bytes]:
    """The outputs of all places, once every proof was checked; `IssuerFailed` if one fails."""
    order = _order(issuer)
    try:
        value = read_canonical(reply, longest_reply(len(order)))
    except SurveyRefused:
        value = None
    listed = value.get("evaluated") if isinstance(value, dict) else None
    if not isinstance(listed, list) or len(listed) != len(order):
        raise IssuerFailed("the reply is not the issuer's: an element and a proof for each place are expected")
    found = {}
    for place, element, text in zip(order, request.elements, listed, strict=True):
        if not isinstance(text, str) or not _REPLY.fullmatch(text):
            raise IssuerFailed("the reply is not the issuer's: an element and a proof for each place are expected")
        made, proof = bytes.fromhex(text)[:ELEMENT], bytes.fromhex(text)[ELEMENT:]
        if not proves(proof, issuer.key(place), element, made):
            raise IssuerFailed(
                f"the issuer used another key than the signed one for {place!r}, which could mark this person; "
                "nothing of its reply is used"
            )
        given, blind = input_of(request.survey, place, places[place].nonce), places[place].blind
        found[place] = finalised(given, blind, made)
    return found


def _order(issuer: Issuer) -> list[str]:
    return sorted(issuer.keys)


# ---- in a report ----------------------------------------------------------------------------------------------------


def with_token(report: Report, nonce: bytes, output: bytes) -> Report:
    """The report with its token; it had none."""
    return replace(report, ticket=nonce.hex() + _mac(output, report))


def _mac(output: bytes, report: Report) -> str:
    return hmac.digest(output, report.to_bytes(), "sha256").hex()


# ---- the issuer and the collector -----------------------------------------------------------------------------------


class TokenKeys:
    """The secret keys of a survey's places: with them tokens are issued, and recognised in reports."""

    def __init__(self, survey: Survey, secret: TokenSecret) -> None:
        if survey.issuer is None:
            raise ParameterError("survey", survey.name, "a survey with an issuer")
        self.survey, self.issuer = survey, survey.issuer
        self._pairs: dict[str, KeyPair] = secret.pairs(survey.issuer)
        self.places = _order(survey.issuer)

    def fits(self, request: TokenRequest) -> bool:
        """Whether a request has a point of the group for every place."""
        return len(request.elements) == len(self.places) and all(map(is_element, request.elements))

    def reply(self, request: TokenRequest) -> bytes:
        """An element and a fresh proof for each place, in the order of the request; of one length for everybody."""
        pairs = (self._pairs[place] for place in self.places)
        made = [evaluated(keys, element) for keys, element in zip(pairs, request.elements, strict=True)]
        return canonical({"evaluated": [(element + proof).hex() for element, proof in made]})

    def spoken(self, report: Report) -> bool:
        """Whether the token of a report was issued for its place, and made for exactly this report."""
        token, place = report.ticket or "", place_of(self.survey, self.survey.question(report.question), report.round)
        given = input_of(report.survey, place, bytes.fromhex(token[:NONCE_DIGITS]))
        wanted = _mac(output_of(self._pairs[place], given), replace(report, ticket=None))
        return hmac.compare_digest(wanted, token[NONCE_DIGITS:])

    def __repr__(self) -> str:
        return f"TokenKeys({self.survey.name!r})"
