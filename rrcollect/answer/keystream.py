"""Secure random bytes in bulk: AES-256 in counter mode, keyed afresh by the operating system for every call.

Rules
1. A keystream lives inside one call of a bulk function and is used by nobody else.  It is never stored, so a fork
   cannot duplicate it and no two calls share one.
2. `fill(buffer)` encrypts the buffer in place.  Whatever it held before is independent of the keystream, so the result
   is as random as the keystream itself.
3. Tests inject their own `fill`; there is no seed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from rrcollect.errors import NoRandomness

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rrcollect.design.mechanism import Fill


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
