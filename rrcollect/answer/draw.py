"""What a device sends instead of a truth: one answer, or many at once.  The law is the design's own (`Mechanism.draw`).

Postcondition.  `randomise(True, design)` returns "1" with probability exactly T/2^64, where T = k11 if the truth is yes
and T = 2^64 − k00 if it is no, (k00, k11) being the design's numerators.  A choice is answered by a set of its options,
one character each, a number within `bounds` by one bit.  `randomise_many` has the same law, a thousand times faster.

Rules
1. The secure generator is the operating system's.  Many answers come from a keystream that is keyed afresh for every
   call.  There is no seed; a test may pass another source.
2. Neither a truth nor a draw appears in an error.

Secure random bytes in bulk: AES-256 in counter mode, keyed afresh by the operating system for every call
1. A keystream lives inside one call of a bulk function and is used by nobody else.  It is never stored, so a fork
   cannot duplicate it and no two calls share one.
2. `fill(buffer)` encrypts the buffer in place.  Whatever it held before is independent of the keystream, so the result
   is as random as the keystream itself.
3. Tests inject their own `fill`; there is no seed.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from rrcollect.design.mechanism import Mechanism, checked_design
from rrcollect.design.parameters import NumberLike, checked_bounds
from rrcollect.errors import NoRandomness

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rrcollect.design.sampling import Source
    from rrcollect.design.terms import Fill

Truth = bool | NumberLike | Collection[int]
"""A bool (yes or no), the number of an option (choice), those of all that apply, or a number (with bounds)."""

Bounds = tuple[NumberLike, NumberLike]


def randomise(
    truth: Truth,
    design: Mechanism,
    *,
    bounds: Bounds | None = None,
    clip: bool = False,
    source: Source = os.urandom,
) -> str:
    """The answer to send instead of the truth, as text: yes or no, the number of an option, or with `bounds` a number
    between these (`clip` brings what lies outside to the nearer end; otherwise it is refused).

    >>> from rrcollect import Design, SetDesign
    >>> randomise(True, Design("3/4", "3/4"), source=lambda n: bytes(n)), randomise(False, Design(1, "1/2"))
    ('1', '0')
    >>> choice = SetDesign(4, 1, "1/2").to_grid()
    >>> [randomise(2, choice, source=lambda n, byte=byte: byte * n) for byte in (b"\\x00", b"\\xff")]
    ['0100', '0010']
    >>> randomise(40, Design("3/4", "3/4"), bounds=(0, 40), source=lambda n: b"\\x80" + bytes(n - 1))
    '1'
    """
    try:
        design.draw  # noqa: B018 (as quick as a check can be)
    except AttributeError:
        checked_design(design)
    if bounds is None:
        return design.draw(truth, source)
    return design.draw_number(truth, checked_bounds(bounds), source, clip=clip)


def randomise_many(
    truths: Any,
    design: Mechanism,
    *,
    bounds: Bounds | None = None,
    clip: bool = False,
    packed: int | bool = False,
    bitorder: Literal["little", "big"] = "little",
    fill: Fill | None = None,
) -> Any:
    """The answers to send instead of many truths, each independently and exactly by the design's law.

    Truths of yes or no are an array of booleans, or of integers 0 and 1, and so are the answers, in the same shape;
    options are given by their numbers, and the answers are sets (`counts()`, `texts()`, `numpy.asarray`); numbers
    within `bounds` are an array of floats, answered by booleans.

    `packed`: so many truths of yes or no are packed eight to a byte (as `numpy.packbits` does), True meaning that every
    byte is full, and the answers likewise; unused bits of the last byte are 0.

    >>> import numpy as np
    >>> from rrcollect import Design, SetDesign
    >>> bool(randomise_many(np.zeros(1000, bool), Design(1, "1/2")).any())
    False
    >>> randomise_many([0, 1, 2, 2], SetDesign(3, 1, 1)).counts().tolist()
    [1, 1, 2]
    >>> bool(randomise_many(np.full(1000, 7.5), Design(1, "1/2"), bounds=(7.5, 10)).any())
    False
    >>> randomise_many(np.packbits(np.ones(10, bool), bitorder="little"), Design("1/2", 1), packed=10)
    array([255,   3], dtype=uint8)
    """
    checked_design(design)
    stream = fill or fresh_keystream()
    if bounds is not None:
        return design.draw_numbers(truths, checked_bounds(bounds), stream, clip=clip)
    if packed is not False:
        return design.draw_packed(truths, stream, None if packed is True else packed, bitorder)
    return design.draw_many(truths, stream)


def fresh_keystream() -> Fill:
    """A function that fills a contiguous byte array with fresh secure bytes."""
    try:
        key, nonce = os.urandom(32), os.urandom(16)
    except OSError as error:
        raise NoRandomness(f"the secure generator failed ({type(error).__name__}); no answers were made") from None
    encryptor = Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()

    def fill(buffer: NDArray[np.uint8]) -> None:
        encryptor.update_into(buffer.data, buffer.data)

    return fill
