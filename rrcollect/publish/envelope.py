"""The signed envelope: DSSE around the survey's canonical bytes, Ed25519, one or several keys.

Rules
1. What is signed is PAE(payload type, payload): the label `SURVEY_TYPE` and the exact bytes.  A signature made for
   another purpose, or over another spelling of the same document, is worthless here.
2. The envelope itself is canonical JSON with canonical base64: no bit of the payload, or of the signatures that are
   counted, can be changed unnoticed.
3. A threshold counts distinct trusted keys.  A trusted key whose signature does not fit refuses the whole envelope; a
   key that appears twice does too; a key nobody here knows is passed over (it may be next year's).
4. Verification comes before parsing: unsigned content is never interpreted.

The withdrawal: the signed word of a publisher that a survey is over before it expires
1. It names one survey by its digest, with the publisher, name and version for people to read, and since when.  It is
   canonical JSON of exactly these fields in a DSSE envelope, signed as surveys are, under a label of its own: a
   signature on a survey never withdraws it.
2. Whoever may publish may withdraw: a device asks for as many of the publisher's keys as for a survey.
3. It is for life.  There is no way back but another survey, with another version.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from rrcollect.errors import (
    BadSignature,
    KeyCountedTwice,
    MalformedDocument,
    MissingSignature,
    NotCanonical,
    ParameterError,
    UntrustedKey,
    shown,
)
from rrcollect.publish.canonical import canonical, read_canonical
from rrcollect.publish.document import Document, Moment, Name, Words
from rrcollect.publish.keys import PublicKey, SigningKey

SURVEY_TYPE = "application/vnd.rrcollect.survey.v1+json"
LARGEST_ENVELOPE = 256 * 1024  # bytes; enough for 200 questions of ordinary length
MOST_SIGNATURES = 16


def pae(payload_type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: what is signed.

    >>> pae("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def seal(payload: bytes, keys: Sequence[SigningKey], payload_type: str = SURVEY_TYPE) -> bytes:
    """The envelope of a payload, signed by every key given."""
    if not keys:
        raise ParameterError("keys", list(keys), "one signing key or more")
    if len({key.public for key in keys}) != len(keys):
        raise ParameterError("keys", list(keys), "distinct keys: a threshold counts each key once")
    message = pae(payload_type, payload)
    return _envelope(payload, payload_type, [(key.public.key_id, key.sign(message)) for key in keys])


def add_signature(envelope: bytes, key: SigningKey) -> bytes:
    """The same envelope with one more signature: for a second signer, or a key rotation.

    >>> first, second = SigningKey.generate(), SigningKey.generate()
    >>> envelope = add_signature(seal(b"{}", [first]), second)
    >>> verify(envelope, [first.public, second.public]).signers == {first.public, second.public}
    True
    """
    payload, payload_type, signatures = _opened(envelope)
    if key.public.key_id in {key_id for key_id, _ in signatures}:
        raise KeyCountedTwice(f"the key {key.public.key_id[:16]}… has signed this envelope already")
    return _envelope(payload, payload_type, [*signatures, (key.public.key_id, key.sign(pae(payload_type, payload)))])


def _envelope(payload: bytes, payload_type: str, signatures: Iterable[tuple[str, bytes]]) -> bytes:
    return canonical(
        {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": payload_type,
            "signatures": [{"keyid": key_id, "sig": base64.b64encode(sig).decode()} for key_id, sig in signatures],
        }
    )


@dataclass(frozen=True)
class VerifiedPayload:
    """A payload, and the trusted keys that signed exactly these bytes."""

    payload: bytes
    signers: frozenset[PublicKey]


def verify(envelope: bytes, trusted: Iterable[PublicKey], payload_type: str = SURVEY_TYPE) -> VerifiedPayload:
    """The payload of an envelope signed by at least one trusted key; how many are needed is the policy's to say."""
    known = {key.key_id: key for key in trusted}
    payload, kind, signatures = _opened(envelope)
    if kind != payload_type:
        raise MalformedDocument(f"the envelope holds {shown(kind)}, not {payload_type!r}")
    if not signatures:
        raise MissingSignature("the envelope carries no signature")
    if len({key_id for key_id, _ in signatures}) != len(signatures):
        raise KeyCountedTwice("one key signed this envelope twice")
    message = pae(kind, payload)
    signers = set()
    for key_id, signature in signatures:
        if key_id in known:
            if not known[key_id].verifies(signature, message):
                raise BadSignature(f"the signature under the trusted key {key_id[:16]}… does not fit the document")
            signers.add(known[key_id])
    if not signers:
        raise UntrustedKey("no signature of this envelope is by a key this policy trusts")
    return VerifiedPayload(payload, frozenset(signers))


def _opened(envelope: bytes) -> tuple[bytes, str, list[tuple[str, bytes]]]:
    """The parts of an envelope; nothing is verified yet."""
    value = read_canonical(envelope, LARGEST_ENVELOPE)
    fields = _fields(value, "envelope", {"payload", "payloadType", "signatures"})
    listed = fields["signatures"]
    if not isinstance(listed, list) or len(listed) > MOST_SIGNATURES:
        raise MalformedDocument(f"signatures must be a list of at most {MOST_SIGNATURES}")
    signatures = []
    for item in listed:
        part = _fields(item, "signature", {"keyid", "sig"})
        signatures.append((_string(part["keyid"], "keyid"), _base64(part["sig"], "sig")))
    return _base64(fields["payload"], "payload"), _string(fields["payloadType"], "payloadType"), signatures


def _fields(value: object, what: str, names: set[str]) -> dict[str, object]:
    if not isinstance(value, dict) or set(value) != names:
        seen = sorted(value) if isinstance(value, dict) else type(value).__name__
        raise MalformedDocument(f"the {what} has {shown(seen)}; it must have exactly {sorted(names)}")
    return value


def _string(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise MalformedDocument(f"{what} is {shown(value)}; it must be a string")
    return value


def _base64(value: object, what: str) -> bytes:
    text = _string(value, what)
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedDocument(f"{what} is not base64") from None
    if base64.b64encode(data).decode() != text:
        raise NotCanonical(f"{what} is base64 with stray bits at its end")
    return data


# ---- the withdrawal -------------------------------------------------------------------------------------------------

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


@dataclass(frozen=True)
class VerifiedWithdrawal:
    """A withdrawal, and the trusted keys that signed exactly these bytes."""

    withdrawal: Withdrawal
    signers: frozenset[PublicKey]


def sign_withdrawal(withdrawal: Withdrawal, keys: Sequence[SigningKey]) -> bytes:
    """The envelope of a withdrawal, signed by every key given."""
    if not isinstance(keys, Sequence) or not all(isinstance(key, SigningKey) for key in keys):
        raise ParameterError("keys", type(keys).__name__, "a list of SigningKey")
    envelope = seal(withdrawal.payload(), keys, WITHDRAWAL_TYPE)
    read_withdrawal(envelope, [key.public for key in keys])  # as a device will
    return envelope


def read_withdrawal(envelope: bytes, trusted: Iterable[PublicKey]) -> VerifiedWithdrawal:
    """The withdrawal of an envelope signed by at least one trusted key; how many are needed is the policy's to say."""
    if not isinstance(envelope, bytes):
        raise ParameterError("envelope", type(envelope).__name__, "the envelope's bytes")
    verified = verify(envelope, trusted, WITHDRAWAL_TYPE)
    return VerifiedWithdrawal(Withdrawal.from_payload(verified.payload), verified.signers)
