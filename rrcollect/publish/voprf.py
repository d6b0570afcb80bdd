"""The oblivious function of RFC 9497 in its verifiable mode, over ristretto255 with SHA-512.

Rules
1. output(key, input) = H(input, key·P(input)), P a hash into the group.  A device asks for it blindly: it sends
   blind·P(input), gets key·blind·P(input) with a proof that the key is the public one, and takes the blind off.  What
   it sent is a uniform element of the group, whatever the input: with key, element and input, but without the blind,
   nobody can tell which belong together.
2. A proof is about one element under one key, with a fresh random scalar each time [RFC 9497, 2.2].
3. An element is the one spelling of a point that is not the identity; a scalar is below the group's order.  What is
   anything else is refused before it is computed with.
4. No curve is written here: libsodium has it (PyPI `rbcl`, extra `anonymous`), in constant time.  It is loaded when it
   is first needed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from rrcollect.errors import ParameterError
from rrcollect.lazy import extra

SUITE = b"OPRFV1-\x01-ristretto255-SHA512"
ELEMENT, SCALAR, PROOF, OUTPUT = 32, 32, 64, 64  # bytes
IDENTITY = bytes(ELEMENT)

Source = Callable[[int], bytes]


@cache
def _sodium() -> Any:
    """The group's functions.  The package leaves a copy of its library in the folder for temporary files."""
    loaded = extra("rbcl", "anonymous")
    with suppress(OSError, AttributeError):
        os.unlink(extra("rbcl._sodium", "anonymous").lib_path)
    return loaded


class KeyPair(NamedTuple):
    """A secret scalar and its public element."""

    secret: bytes
    public: bytes

    def __repr__(self) -> str:
        return f"KeyPair({self.public.hex()[:16]}…)"


def framed(*parts: bytes) -> bytes:
    """Texts with their lengths before them: no two lists of texts give the same bytes.

    >>> framed(b"a", b"bc") == framed(b"ab", b"c")
    False
    """
    return b"".join(len(part).to_bytes(2) + part for part in parts)


def derived_keys(seed: bytes, info: bytes) -> KeyPair:
    """The keys that 32 secret bytes have for an `info` (`DeriveKeyPair`)."""
    if len(seed) != SCALAR:
        raise ParameterError("seed", f"{len(seed)} bytes", "32 bytes")
    for counter in range(256):
        secret = _scalar_from(seed + framed(info) + bytes([counter]), b"DeriveKeyPair" + SUITE)
        if any(secret):
            return KeyPair(secret, _sodium().crypto_scalarmult_ristretto255_base(secret))
    raise ParameterError("seed", "not shown", "one that gives a key")  # with chance 2^-64000


def is_element(element: bytes) -> bool:
    """Whether these bytes are a point's one spelling, and not the identity's."""
    return (
        len(element) == ELEMENT
        and element != IDENTITY
        and bool(_sodium().crypto_core_ristretto255_is_valid_point(element))
    )


def new_scalar(source: Source = os.urandom) -> bytes:
    """A uniform scalar that is not zero."""
    while not any(scalar := _reduced(source(64))):
        pass
    return scalar


# ---- the device -----------------------------------------------------------------------------------------------------


def blinded(given: bytes, blind: bytes) -> bytes:
    """The element that is sent for an input."""
    return _times(blind, _point(given))


def finalised(given: bytes, blind: bytes, evaluated: bytes) -> bytes:
    """The output for an input, from what came back for its element; the proof is checked before (`proves`)."""
    return _output(given, _times(_sodium().crypto_core_ristretto255_scalar_invert(blind), evaluated))


def proves(proof: bytes, public: bytes, element: bytes, evaluated: bytes) -> bool:
    """Whether `evaluated` is the element under the very key that is public."""
    sodium = _sodium()
    if len(proof) != PROOF or not all(map(is_element, (public, element, evaluated))):
        return False
    challenge, response = proof[:SCALAR], proof[SCALAR:]
    if not _is_scalar(challenge) or not _is_scalar(response):
        return False
    weight = _weight(public, element, evaluated)
    left, right = _times(weight, element), _times(weight, evaluated)
    at_base = _sum(sodium.crypto_scalarmult_ristretto255_base(response), _times(challenge, public))
    at_left = _sum(_times(response, left), _times(challenge, right))
    return hmac.compare_digest(challenge, _challenge(public, left, right, at_base, at_left))


# ---- the issuer -----------------------------------------------------------------------------------------------------


def evaluated(keys: KeyPair, element: bytes, source: Source = os.urandom) -> tuple[bytes, bytes]:
    """What an issuer returns for an element: it under the key, and the proof."""
    sodium = _sodium()
    made = _times(keys.secret, element)
    left = _times(_weight(keys.public, element, made), element)
    right, fresh = _times(keys.secret, left), new_scalar(source)
    at_base, at_left = sodium.crypto_scalarmult_ristretto255_base(fresh), _times(fresh, left)
    challenge = _challenge(keys.public, left, right, at_base, at_left)
    taken = sodium.crypto_core_ristretto255_scalar_mul(challenge, keys.secret)
    return made, challenge + sodium.crypto_core_ristretto255_scalar_sub(fresh, taken)


def output_of(keys: KeyPair, given: bytes) -> bytes:
    """The output for an input, by the secret key alone."""
    return _output(given, _times(keys.secret, _point(given)))


# ---- parts ----------------------------------------------------------------------------------------------------------


def _expanded(message: bytes, label: bytes) -> bytes:
    """64 uniform bytes (RFC 9380, `expand_message_xmd` with SHA-512; one block is enough)."""
    label += bytes([len(label)])
    first = hashlib.sha512(bytes(128) + message + (64).to_bytes(2) + b"\0" + label).digest()
    return hashlib.sha512(first + b"\1" + label).digest()


def _reduced(wide: bytes) -> bytes:
    return bytes(_sodium().crypto_core_ristretto255_scalar_reduce(wide))


def _scalar_from(message: bytes, label: bytes) -> bytes:
    return _reduced(_expanded(message, label))


def _is_scalar(scalar: bytes) -> bool:
    return any(scalar) and _reduced(scalar + bytes(32)) == scalar


def _point(given: bytes) -> bytes:
    return bytes(_sodium().crypto_core_ristretto255_from_hash(_expanded(given, b"HashToGroup-" + SUITE)))


def _times(scalar: bytes, element: bytes) -> bytes:
    try:
        return bytes(_sodium().crypto_scalarmult_ristretto255(scalar, element))
    except RuntimeError:  # not an element, or its multiple is the identity
        raise ParameterError("element", "not shown", "a point of the group other than the identity") from None


def _sum(one: bytes, other: bytes) -> bytes:
    return bytes(_sodium().crypto_core_ristretto255_add(one, other))


def _weight(public: bytes, element: bytes, made: bytes) -> bytes:
    """The weight of the one element in a proof (`ComputeComposites`)."""
    seed = hashlib.sha512(framed(public, b"Seed-" + SUITE)).digest()
    return _scalar_from(framed(seed) + (0).to_bytes(2) + framed(element, made) + b"Composite", b"HashToScalar-" + SUITE)


def _challenge(*elements: bytes) -> bytes:
    return _scalar_from(framed(*elements) + b"Challenge", b"HashToScalar-" + SUITE)


def _output(given: bytes, element: bytes) -> bytes:
    return hashlib.sha512(framed(given, element) + b"Finalize").digest()
