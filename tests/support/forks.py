"""What children of this process draw, each for itself."""

import os
from collections.abc import Callable

import numpy as np

from rrcollect import optimal_design, randomise
from tests.inside.answer import fresh_keystream


def one_draw() -> bytes:
    seen = []
    randomise(True, optimal_design(1), source=lambda n: seen.append(os.urandom(n)) or seen[0])
    return seen[0]


def one_keystream() -> bytes:
    buffer = np.zeros(16, np.uint8)
    fresh_keystream()(buffer)
    return buffer.tobytes()


def drawn_by_children(children: int, draw: Callable[[], bytes]) -> list[bytes]:
    """What `draw` returns in so many forks, one after the other."""
    found = []
    for _ in range(children):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(write, draw())
            finally:
                os._exit(0)
        os.close(write)
        found.append(os.read(read, 64))
        os.close(read)
        os.waitpid(child, 0)
    return found


def repeated_draws(children: int) -> int:
    """How often a draw (8 bytes for an answer) or a keystream (16 bytes of it) of one child is that of another.

    By chance with a probability below children²/2^64: 6e-14 for a thousand."""
    one_draw(), one_keystream()  # whatever might be cached in the parent is cached now
    found = drawn_by_children(children, lambda: one_draw() + one_keystream())
    return 2 * children - len({said[:8] for said in found}) - len({said[8:] for said in found})
