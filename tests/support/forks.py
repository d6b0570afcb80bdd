"""What children of this process draw, each for itself."""

import os

import numpy as np

from rrcollect import optimal_design, randomise
from tests.inside.answer import fresh_keystream
from tests.support.stopping import in_child


def one_draw() -> bytes:
    seen = []
    randomise(True, optimal_design(1), source=lambda n: seen.append(os.urandom(n)) or seen[0])
    return seen[0]


def one_keystream() -> bytes:
    buffer = np.zeros(16, np.uint8)
    fresh_keystream()(buffer)
    return buffer.tobytes()


def repeated_draws(children: int) -> int:
    """How often a draw (8 bytes for an answer) or a keystream (16 bytes of it) of one child is that of another.

    By chance with a probability below children²/2^64: 6e-14 for a thousand."""
    one_draw(), one_keystream()  # whatever might be cached in the parent is cached now
    found = [in_child(lambda: one_draw() + one_keystream()).said for _ in range(children)]
    return 2 * children - len({said[:8] for said in found}) - len({said[8:] for said in found})
