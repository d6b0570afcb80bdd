"""Many answers at once, as booleans: the law of `draw.randomise`, a thousand times faster.

Theorem.  Write T = 256^7·t + l for the threshold of a truth, 0 <= l < 256^7.  A uniform byte u and, if u = 0, a uniform
56-bit v give the answer
    1  if u > 255 − t,      or u = 0 and v < l;      0 otherwise.
P(1) = t/256 + l/2^64 = T/2^64 exactly.  Proof that it is the single path's law, draw by draw: send the top byte b of a
64-bit draw to u by b < t ↦ 255 − b, b = t ↦ 0, b > t ↦ 256 − b, a bijection of bytes for each t, and keep the other
56 bits as v; then "draw < T" is the rule above.  `tests/answer/test_bulk.py` feeds the same keystream to both paths.

The one undecided byte is 0 for both truths, so finding the undecided answers does not depend on the truth.  The
threshold byte comes by wrapping arithmetic, 255 − t[x] = x·step + base, with no branch and no table.  T = 2^64 (p11 =
1) has no byte t: such answers are set afterwards.  A symmetric design (T0 + T1 = 2^64) says "truth xor [draw < T0]":
for a true yes that is the single path on the draw 2^64 − 1 − D.

Speed.  A chunk's random bytes are drawn into the memory of its answers and compared there, so that every pass but the
first finds them in the cache; the undecided of a whole block are then listed and settled at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.answer.draw import thresholds
from rrcollect.answer.keystream import fresh_keystream
from rrcollect.design.mechanism import GRID
from rrcollect.design.yes_no import Design
from rrcollect.errors import BadTruth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rrcollect.answer.keystream import Fill

CHUNK = 1 << 18  # answers whose bytes are drawn at once
BLOCK = 1 << 22  # answers whose undecided ones are settled at once
LOW = (1 << 56) - 1
ALL = np.uint64(GRID - 1)


def randomise_many(truths: Any, design: Design, *, fill: Fill | None = None) -> NDArray[np.bool_]:
    """The answers to send instead of many truths, each independently and exactly by the design's law.

    `truths` is an array of booleans, or of integers 0 and 1; the result has its shape.

    >>> answers = randomise_many(np.zeros(1000, bool), Design(1, "1/2"))
    >>> bool(answers.any())
    False
    """
    limits = thresholds(design)
    asked = as_bytes(truths)
    answers = np.empty(asked.size, np.bool_)
    drawn = _Bytes(limits, fill or fresh_keystream())
    for start in range(0, asked.size, BLOCK):
        drawn.answer(asked[start : start + BLOCK], answers[start : start + BLOCK])
    return answers.reshape(np.shape(truths))


def as_bytes(truths: Any) -> NDArray[np.uint8]:
    """The truths as a flat array of bytes, 0 for no; the error for anything else shows no value."""
    if isinstance(truths, np.ma.MaskedArray):
        raise BadTruth("the truths must not be a masked array: drop the masked ones first")
    array = np.asarray(truths)
    if array.dtype == np.bool_:
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if array.dtype.kind not in "ui" or (array.size and (array.max() > 1 or array.min() < 0)):
        raise BadTruth("the truths must be an array of booleans, or of integers 0 and 1; what was given is not shown")
    return np.ascontiguousarray(array, np.uint8).reshape(-1)


class _Bytes:
    """The theorem's rule for one pair of thresholds, with its buffer."""

    def __init__(self, limits: tuple[int, int], fill: Fill) -> None:
        self.fill = fill
        self.flips = sum(limits) == GRID
        self.always_yes = limits[1] == GRID and not self.flips
        top0, top1 = limits[0] >> 56, min(limits[1], GRID - 1) >> 56
        self.base, self.step = np.uint8(255 - top0), np.uint8((top0 - top1) % 256)
        self.low = limits[0] & LOW, min(limits[1], GRID - 1) & LOW
        self.limit = np.empty(CHUNK, np.uint8)

    def answer(self, asked: NDArray[np.uint8], answers: NDArray[np.bool_]) -> None:
        """Write the answers of one block."""
        decided = np.full(-(-asked.size // 64) * 8, 255, np.uint8)  # one bit each: the byte drawn was not 0
        for start in range(0, asked.size, CHUNK):
            here = slice(start, start + CHUNK)
            if asked[here].max() > 1:  # a boolean whose byte is 2 is True as well
                asked = (asked != 0).view(np.uint8)
            random = answers[here].view(np.uint8)
            self.fill(random)
            bits = np.packbits(random, bitorder="little")
            if random.size % 8:
                bits[-1] |= np.uint8(255 << random.size % 8 & 255)
            decided[start // 8 : start // 8 + bits.size] = bits
            self._compare(asked[here], random, answers[here])
        if any(self.low):
            self._settle(clear_bits(decided.view(np.uint64)), asked, answers)
        if self.always_yes:
            np.logical_or(answers, asked.view(np.bool_), out=answers)

    def _compare(self, asked: NDArray[np.uint8], random: NDArray[np.uint8], answers: NDArray[np.bool_]) -> None:
        """The first byte's verdict, over the byte itself; "not below" for the undecided."""
        if self.flips:
            np.greater(random, self.base, out=answers)
            np.bitwise_xor(answers, asked.view(np.bool_), out=answers)
            return
        limit = self.limit[: asked.size]
        np.multiply(asked, self.step, out=limit)
        np.add(limit, self.base, out=limit)
        np.greater(random, limit, out=answers)

    def _settle(self, where: NDArray[np.int64], asked: NDArray[np.uint8], answers: NDArray[np.bool_]) -> None:
        """56 more bits for each undecided answer, the upper ones of a word; only who is below a limit changes."""
        more = np.zeros(where.size, np.uint64)
        self.fill(more.view(np.uint8))
        less, greater = (np.uint64(low << 8) for low in sorted(self.low))
        if self.flips:
            below = chosen(where, more < np.uint64(self.low[0] << 8))
            answers[below] = ~answers.take(below)
            return
        answers[chosen(where, more < less)] = True
        between = chosen(where, (more >= less) & (more < greater))  # below the limit of one truth alone
        answers[between] = asked.take(between) == (self.low[1] > self.low[0])


def clear_bits(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The positions of the few bits that are 0, peeling off the lowest one of every word in turn."""
    where = np.flatnonzero(words != ALL)
    left, base = ~words.take(where), where << 6
    found = []
    while left.size:
        below = left - np.uint64(1)
        found.append(base + np.bitwise_count(below & ~left))
        left &= below
        kept = np.flatnonzero(left != 0)
        left, base = left.take(kept), base.take(kept)
    return np.concatenate(found) if found else where


def chosen(where: NDArray[np.int64], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """where[mask], by a way that does not stumble over a mask that nobody can predict."""
    return where.take(np.flatnonzero(mask))
