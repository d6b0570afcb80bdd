"""A keystream that is given and written down, and the 64-bit draws of the single path that stand behind its bytes.

Rule.  `packed_draws` says by the theorem of `rrcollect.design.bulk_bits` which draw of the single path each bulk answer
was made from; bulk and single path must then agree answer by answer.
"""

import numpy as np

from rrcollect import Design, randomise, randomise_many
from tests.inside.design import GRID
from tests.inside.design import bulk_bits as packed


def limits_of(design: Design) -> tuple[int, int]:
    """A draw below the first says yes where the truth is no, one below the second where it is yes."""
    no, yes = design.numerators
    return GRID - no, yes


class Tape:
    """A fill function that hands out the given bytes, then 0s or fresh ones, and remembers all it gave."""

    def __init__(self, data: bytes = b"", rest=None):
        self.data, self.rest, self.given = data, rest, []

    def __call__(self, buffer):
        taken, self.data = self.data[: buffer.size], self.data[buffer.size :]
        missing = buffer.size - len(taken)
        taken += self.rest(missing) if self.rest else bytes(missing)
        buffer[:] = np.frombuffer(taken, np.uint8)
        self.given.append(taken)


def single(truth: bool, design: Design, drawn: int) -> int:
    return int(randomise(truth, design, source=lambda n: drawn.to_bytes(8, "big")))


def randomise_packed(truths, n, design, *, bitorder="little", fill=None):
    """Packed answers to n packed truths."""
    return randomise_many(truths, design, packed=n, bitorder=bitorder, fill=fill)


def packed_draws(design: Design, words: int, tape: Tape, truths: np.ndarray) -> list[list[int]]:
    """Rebuild each answer's 64-bit draw from the planes that were handed out, by the theorem of `bulk_bits`."""
    limits = limits_of(design)
    flips = sum(limits) == GRID
    always = limits[1] == GRID and not flips
    pair = (limits[0], limits[0] if flips else 0 if always else limits[1])
    stages = packed._Planes(limits, Tape()).stages
    draws = [[0] * 64 for _ in range(words)]
    given = iter(tape.given)
    open_words = list(range(words))
    undecided = [[True] * 64 for _ in range(words)]
    plane_number = 63
    for stage in stages:
        if not open_words:
            break
        planes = np.frombuffer(next(given), np.uint64).reshape(len(stage), len(open_words))[::-1]
        for plane in planes:
            for column, word in enumerate(open_words):
                for bit in range(64):
                    r = int(plane[column]) >> bit & 1
                    x = int(truths[word]) >> bit & 1
                    own = pair[x] >> plane_number & 1
                    same = (pair[0] >> plane_number & 1) == (pair[1] >> plane_number & 1)
                    differs = r if not same or own else 1 - r
                    if undecided[word][bit]:
                        draws[word][bit] |= (own ^ differs) << plane_number
                        undecided[word][bit] = not differs
            plane_number -= 1
        open_words = [w for w in open_words if any(undecided[w])]
    return draws
