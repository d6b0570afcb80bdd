"""The encapsulation of oblivious HTTP (RFC 9458): a request that only the gateway reads, and a reply only its sender.

One suite: X25519, HKDF-SHA256, AES-128-GCM.  What is done with curve and cipher is PyPI's `pyhpke`; here are the forms.

    request  = header ‖ enc ‖ seal(message),  header = key id ‖ 0x0020 ‖ 0x0001 ‖ 0x0001
    info     = "message/bhttp request" ‖ 0x00 ‖ header
    reply    = nonce ‖ AES-128-GCM(key, iv, message), both expanded from HKDF-Extract(enc ‖ nonce, secret), the secret
               exported as "message/bhttp response"

Rules
1. Every message is padded to a whole number of `UNIT` bytes, whatever it says: a report and a token request of whatever
   survey look alike, and so do their replies.
2. A reply that does not open says nothing: whoever carries it can change or withhold it, and no more.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from rrcollect.errors import TransportFailed
from rrcollect.lazy import extra

UNIT = 10_240  # bytes: the largest report, and what is around it
MOST_UNITS = 16
ENC, TAG, NONCE = 32, 16, 16
SUITE = bytes.fromhex("002000010001")
HEADER = 1 + len(SUITE)
REQUEST_TYPE, REPLY_TYPE = "message/ohttp-req", "message/ohttp-res"
_INFO, _EXPORT = b"message/bhttp request\x00", b"message/bhttp response"


def whole_units(size: int) -> int:
    """The padded length of a message of so many bytes.

    >>> whole_units(1), whole_units(10_241)
    (10240, 20480)
    """
    return -(-size // UNIT) * UNIT


class Sealed(NamedTuple):
    """An encapsulated request, and what opens its reply (or, at the gateway, makes it)."""

    data: bytes
    export: Callable[[bytes, int], bytes]
    enc: bytes


def _suite() -> Any:
    made = extra("pyhpke", "anonymous")
    return made, made.CipherSuite.new(
        made.KEMId.DHKEM_X25519_HKDF_SHA256, made.KDFId.HKDF_SHA256, made.AEADId.AES128_GCM
    )


def seal_request(key_id: int, public: bytes, message: bytes, ephemeral: Any = None) -> Sealed:
    """The message for the gateway with this key.  `ephemeral` is for tests: by default a fresh key is drawn."""
    made, suite = _suite()
    header = bytes([key_id]) + SUITE
    key = made.KEMKey.from_pyca_cryptography_key(X25519PublicKey.from_public_bytes(public))
    try:
        enc, context = suite.create_sender_context(key, info=_INFO + header, eks=ephemeral)
    except (made.PyHPKEError, ValueError):
        raise TransportFailed("the gateway's key is not one") from None
    return Sealed(header + enc + context.seal(message), context.export, enc)


def open_request(key_id: int, private: X25519PrivateKey, data: bytes) -> tuple[bytes, Sealed]:
    """The message that was sealed for this key, and what makes the reply."""
    made, suite = _suite()
    header, enc, sealed = data[:HEADER], data[HEADER : HEADER + ENC], data[HEADER + ENC :]
    if header != bytes([key_id]) + SUITE or len(sealed) < TAG:
        raise TransportFailed("this is not a request for this gateway's key")
    try:
        key = made.KEMKey.from_pyca_cryptography_key(private)
        context = suite.create_recipient_context(enc, key, info=_INFO + header)
        return context.open(sealed), Sealed(data, context.export, enc)
    except (made.PyHPKEError, ValueError):
        raise TransportFailed("this request does not open") from None


def seal_reply(request: Sealed, message: bytes, nonce: bytes | None = None) -> bytes:
    """The reply to a request.  `nonce` is for tests: by default it is drawn."""
    nonce = os.urandom(NONCE) if nonce is None else nonce
    key, iv = _reply_keys(request, nonce)
    return nonce + AESGCM(key).encrypt(iv, message, b"")


def open_reply(request: Sealed, data: bytes) -> bytes:
    """The message in the reply to a request."""
    key, iv = _reply_keys(request, data[:NONCE])
    try:
        return AESGCM(key).decrypt(iv, data[NONCE:], b"")
    except (InvalidTag, ValueError):
        raise TransportFailed("the gateway's reply does not open: it was changed, or is another's") from None


def _reply_keys(request: Sealed, nonce: bytes) -> tuple[bytes, bytes]:
    """The key and the initialisation vector of a reply (HKDF, RFC 5869; each is shorter than one block)."""
    secret = request.export(_EXPORT, 16)
    extracted = hmac.digest(request.enc + nonce, secret, "sha256")
    return hmac.digest(extracted, b"key\x01", "sha256")[:16], hmac.digest(extracted, b"nonce\x01", "sha256")[:12]
