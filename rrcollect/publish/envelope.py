"""The signed envelope: DSSE around the survey's canonical bytes, Ed25519, one or several keys.

Rules
1. What is signed is PAE(payload type, payload): the label `SURVEY_TYPE` and the exact bytes.  A signature made for
   another purpose, or over another spelling of the same document, is worthless here.
2. The envelope itself is canonical JSON with canonical base64: no bit of the payload, or of the signatures that are
   counted, can be changed unnoticed.
3. An envelope may carry the proof that its survey is in a log (`log`); without one it is plain DSSE.  The proof is
   beside what is signed: it can be added later, and only a policy that names a log reads it.
4. A threshold counts distinct trusted keys.  A trusted key whose signature does not fit refuses the whole envelope; a
   key that appears twice does too; a key nobody here knows is passed over (it may be next year's).
5. Verification comes before parsing: unsigned content is never interpreted.

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
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

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
from rrcollect.publish.document import Document, Moment, Name, SignedDocument, Words, as_tuple, read_by
from rrcollect.publish.keys import PublicKey, SigningKey

SURVEY_TYPE = "application/vnd.rrcollect.survey.v1+json"
LARGEST_ENVELOPE = 256 * 1024  # bytes; enough for 200 questions of ordinary length
MOST_SIGNATURES = 16
LONGEST_PROOF = 8192  # characters


def from_base64(value: object) -> bytes:
    """The bytes of a text that is base64 in its one spelling."""
    if isinstance(value, bytes):
        return value
    try:
        data = base64.b64decode(value if isinstance(value, str) else "?", validate=True)
    except (binascii.Error, ValueError):
        raise MalformedDocument("it is not base64") from None
    if base64.b64encode(data).decode() != value:
        raise NotCanonical("it is base64 with stray bits at its end")
    return data


Base64 = Annotated[bytes, read_by(from_base64)]


class Signature(Document):
    """A signature, and whose it is."""

    keyid: str
    sig: Base64


class Envelope(Document):
    """The parts of an envelope; nothing is verified yet."""

    signatures: Annotated[tuple[Signature, ...], BeforeValidator(as_tuple), Field(max_length=MOST_SIGNATURES)]
    payload: Base64
    payloadType: str  # noqa: N815  (DSSE's own name)
    proof: Annotated[str, Field(max_length=LONGEST_PROOF)] | None = None

    @classmethod
    def read(cls, envelope: bytes) -> Envelope:
        """The envelope of canonical bytes."""
        if not isinstance(envelope, bytes):
            raise ParameterError("envelope", type(envelope).__name__, "the envelope's bytes")
        value = read_canonical(envelope, LARGEST_ENVELOPE)
        if isinstance(value, dict) and value.get("proof", "") is None:
            raise MalformedDocument("proof: an envelope without a proof does not name it")
        return cls.from_wire({"proof": None, **value} if isinstance(value, dict) else value)

    def to_wire(self) -> dict[str, Any]:
        """The envelope as JSON values; without a proof it has no field for one."""
        return {name: value for name, value in super().to_wire().items() if value is not None}

    def signed(self, keys: Iterable[SigningKey]) -> bytes:
        """The bytes of this envelope with the signatures of these keys as well."""
        message = pae(self.payloadType, self.payload)
        more = [Signature(keyid=key.public.key_id, sig=key.sign(message)) for key in keys]
        return canonical({**self.to_wire(), "signatures": [one.to_wire() for one in (*self.signatures, *more)]})


def pae(payload_type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: what is signed.

    >>> pae("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def seal(payload: bytes, keys: Sequence[SigningKey], payload_type: str = SURVEY_TYPE) -> bytes:
    """The envelope of a payload, signed by every key given."""
    if not isinstance(keys, Sequence) or not all(isinstance(key, SigningKey) for key in keys):
        raise ParameterError("keys", type(keys).__name__, "a list of SigningKey")
    if not keys or len({key.public for key in keys}) != len(keys):
        raise ParameterError("keys", list(keys), "one signing key or more, all distinct: a threshold counts keys")
    return Envelope(signatures=(), payload=payload, payloadType=payload_type).signed(keys)


def add_signature(envelope: bytes, key: SigningKey) -> bytes:
    """The same envelope with one more signature: for a second signer, or a key rotation.

    >>> first, second = SigningKey.generate(), SigningKey.generate()
    >>> envelope = add_signature(seal(b"{}", [first]), second)
    >>> verify(envelope, [first.public, second.public]).signers == {first.public, second.public}
    True
    """
    opened = Envelope.read(envelope)
    if key.public.key_id in {one.keyid for one in opened.signatures}:
        raise KeyCountedTwice(f"the key {key.public.key_id[:16]}… has signed this envelope already")
    return opened.signed([key])


def with_proof(envelope: bytes, proof: str) -> bytes:
    """The same envelope with the proof that its survey is in a log, in the place of an older one."""
    return canonical(Envelope.read(envelope).model_copy(update={"proof": proof}).to_wire())


@dataclass(frozen=True)
class VerifiedPayload:
    """A payload, and the trusted keys that signed exactly these bytes; and the proof beside it, unread."""

    payload: bytes
    signers: frozenset[PublicKey]
    proof: str | None = None


def verify(envelope: bytes, trusted: Iterable[PublicKey], payload_type: str = SURVEY_TYPE) -> VerifiedPayload:
    """The payload of an envelope signed by at least one trusted key; how many are needed is the policy's to say."""
    known = {key.key_id: key for key in trusted}
    opened = Envelope.read(envelope)
    if opened.payloadType != payload_type:
        raise MalformedDocument(f"the envelope holds {shown(opened.payloadType)}, not {payload_type!r}")
    if not opened.signatures:
        raise MissingSignature("the envelope carries no signature")
    if len({one.keyid for one in opened.signatures}) != len(opened.signatures):
        raise KeyCountedTwice("one key signed this envelope twice")
    message = pae(opened.payloadType, opened.payload)
    signers = set()
    for one in opened.signatures:
        if one.keyid in known:
            if not known[one.keyid].verifies(one.sig, message):
                raise BadSignature(f"the signature under the trusted key {one.keyid[:16]}… does not fit the document")
            signers.add(known[one.keyid])
    if not signers:
        raise UntrustedKey("no signature of this envelope is by a key this policy trusts")
    return VerifiedPayload(opened.payload, frozenset(signers), opened.proof)


# ---- the withdrawal -------------------------------------------------------------------------------------------------

WITHDRAWAL_TYPE = "application/vnd.rrcollect.withdrawal.v1+json"


class Withdrawal(SignedDocument):
    """What is withdrawn (`survey` is its digest), and since when."""

    largest: ClassVar = 8192
    survey: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    publisher: Words
    name: Name
    version: int = Field(ge=1, le=2**31)
    moment: Moment


def read_withdrawal(envelope: bytes, trusted: Iterable[PublicKey]) -> tuple[Withdrawal, frozenset[PublicKey]]:
    """The withdrawal of an envelope signed by at least one trusted key, and the trusted keys that signed exactly these
    bytes; how many are needed is the policy's to say."""
    verified = verify(envelope, trusted, WITHDRAWAL_TYPE)
    return Withdrawal.from_payload(verified.payload), verified.signers
