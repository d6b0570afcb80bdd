"""The judges of the check `sampler` that go draw by draw.

Exhaustion.  On a grid of D = 2^b all draws that differ in their first b bits are fed to the shipped code, with the
other bits all 0 and all 1: `randomise` must say yes for exactly the draws below the numerator.  The bulk paths see
keystreams that hold every draw once (every pattern of planes, spread over the answers of a call), in whatever order the
path takes them: the number of yeses must be the numerator.

Equality.  Bulk and single path on one keystream, rebuilt draw by draw by the theorem of `bulk_bits`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect import Design, randomise, randomise_many
from tests.inside.design import GRID
from tests.inside.design import bulk_bits as packed
from tests.support.tape import Tape, packed_draws, randomise_packed, single

if TYPE_CHECKING:
    from numpy.typing import NDArray


def small_designs(bits: int, piece: int, pieces: int) -> Iterator[Design]:
    """Every design a device runs on the grid of 2^bits; smaller grids are part of it."""
    size = 1 << bits
    for k00 in range(piece, size + 1, pieces):
        for k11 in range(size - k00 + 1, size + 1):
            yield Design(Fraction(k00, size), Fraction(k11, size))


def random_design(random: Random, bits: int) -> Design:
    """A design on the grid of 2^bits: symmetric, with a certain answer, or any."""
    size, form = 1 << bits, random.randrange(4)
    k00 = random.randrange(size // 2 + 1, size + 1)
    k11 = k00 if form == 0 else size if form == 1 else random.randrange(size - k00 + 1, size + 1)
    pair = Fraction(k00, size), Fraction(k11, size)
    return Design(*(pair[::-1] if random.random() < 0.5 else pair))


# ---- exhaustion -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def all_draws(bits: int) -> list[bytes]:
    """Each draw of `bits` bits twice: followed by 0s, followed by 1s."""
    rest = 64 - bits
    ends = [(top << rest, (top + 1 << rest) - 1) for top in range(1 << bits)]
    return [draw.to_bytes(8, "big") for pair in ends for draw in pair]


def single_faults(design: Design, bits: int, answer: Callable[..., int | str] = randomise) -> int:
    """How many draws the single path answers otherwise than "yes iff below"."""
    draws, faults = all_draws(bits), 0
    for truth in (False, True):
        feed = iter(draws).__next__
        said = bytes([int(answer(truth, design, source=lambda n, feed=feed: feed())) for _ in range(len(draws))])
        below = 2 * int(design.matrix[truth][1] * (1 << bits))
        expected = bytes([1]) * below + bytes(len(draws) - below)
        faults += said != expected and sum(a != b for a, b in zip(said, expected, strict=True))
    return faults


def booleans_faults(design: Design, many: Callable[..., Any] = randomise_many) -> int:
    """For how many truths the boolean path's law is off, all draws of up to 16 bits taken."""
    return packed_faults(design, _in_bytes(many))


def _in_bytes(many: Callable[..., Any]) -> Callable[..., Any]:
    """A path for booleans as one for packed truths."""

    def eight(truths: NDArray[np.uint8], n: int, design: Design, *, fill: Any) -> NDArray[np.uint8]:
        asked = np.unpackbits(truths, count=n, bitorder="little").view(np.bool_)
        return np.packbits(many(asked, design, fill=fill), bitorder="little")

    return eight


def packed_faults(design: Design, eight: Callable[..., Any] = randomise_packed) -> int:
    """For how many truths the packed path's law is off, all draws of up to 16 bits taken.

    Word w has the pattern w in the first planes, bit b of every word the pattern b in the next six; where there are
    more, there are as many words of each pattern as those have patterns."""
    planes = max(row[1].denominator for row in design.matrix).bit_length() - 1
    first = min(planes, packed.PLANES)
    words = 1 << max(first, planes - 6)
    faults = 0
    for truth in (False, True):
        said = eight(
            np.full(8 * words, 255 * truth, np.uint8), 64 * words, design, fill=_patterns(first, planes, words)
        )
        ones = int(np.bitwise_count(said).sum(dtype=np.int64))
        faults += Fraction(ones, 64 * words) != design.matrix[truth][1]
    return faults


def _patterns(first: int, planes: int, words: int) -> Callable[[NDArray[np.uint8]], None]:
    """A keystream that holds every pattern of the first planes, and behind each every pattern of the rest."""
    one, full = np.uint64(1), np.uint64(2**64 - 1)
    rows = iter([first, planes - first])

    def fill(buffer: NDArray[np.uint8]) -> None:
        row = next(rows)
        target = buffer.view(np.uint64).reshape(row, -1)
        places = np.arange(target.shape[1], dtype=np.uint64)
        for j in range(row):
            if row == first and places.size == words:
                target[j] = (places >> np.uint64(j) & one) * full
            elif j < 6:
                target[j] = np.packbits(np.arange(64) >> j & 1, bitorder="little").view(np.uint64)[0]
            else:
                target[j] = (places >> np.uint64(j - 6) & one) * full

    return fill


def all_paths(design: Design, bits: int) -> int:
    """Faults of the three shipped paths."""
    return single_faults(design, bits) + booleans_faults(design) + packed_faults(design)


# ---- equality of the paths ------------------------------------------------------------------------------------------


def booleans_differ(design: Design, words: int, ties: bool, many: Callable[..., Any] = randomise_many) -> int:
    """How many boolean answers are not the single path's on the draws rebuilt from the keystream."""
    return packed_differ(design, words, ties, _in_bytes(many))


def undecided(design: Design, tape: Tape) -> NDArray[np.bool_]:
    """Which answers the first planes left undecided: a plane does with 0s, or with 1s where both thresholds have 0."""
    stage = packed._Planes(design.applied, Tape()).stages[0]
    planes = np.frombuffer(tape.given[0], np.uint64).reshape(len(stage), -1)
    words = np.full(planes.shape[1], 2**64 - 1, np.uint64)
    for bits, plane in zip(reversed(stage), planes, strict=True):
        words &= plane if bits == (0, 0) else ~plane
    return np.unpackbits(words.view(np.uint8), bitorder="little").view(np.bool_)


def packed_differ(design: Design, words: int, ties: bool, eight: Callable[..., Any] = randomise_packed) -> int:
    """The same for packed answers."""
    truths = np.frombuffer(os.urandom(words * 8), np.uint64)
    limits = (GRID - design.numerators[0], design.numerators[1])
    start = b""
    if ties:  # a plane leaves everything open with 0s, or with 1s where both thresholds have the bit 0
        stages = packed._Planes(limits, Tape()).stages
        start = b"".join((b"\xff" if bits == (0, 0) else b"\0") * 8 * words for bits in reversed(stages[0]))
    tape = Tape(start, rest=os.urandom)
    answers = eight(truths.view(np.uint8), words * 64, design, fill=tape).view(np.uint64).tolist()
    draws, wrong = packed_draws(design, words, tape, truths), 0
    for word, asked in enumerate(truths.tolist()):
        for bit in range(64):
            truth, drawn = bool(asked >> bit & 1), draws[word][bit]
            if truth and limits[1] == GRID:
                drawn = 0
            elif truth and sum(limits) == GRID:
                drawn = GRID - 1 - drawn
            wrong += (answers[word] >> bit & 1) != single(truth, design, drawn)
    return wrong
