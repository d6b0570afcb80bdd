"""Many answers at once, eight to a byte: the law of `draw.randomise` by bit-sliced comparison.

Theorem.  A draw D is below T iff at the highest bit where they differ T has the 1.  Give every answer its own random
bit per plane (bit position), plane 63 first, and let s be "D < T as far as seen", a word of 64 answers, folded from
the lowest plane up.  At a plane where T's bit is
    1 for both truths:  s | r,   r = 1 meaning that D's bit is 0 there (it decides "below");
    0 for both truths:  s & r,   r = 0 meaning that D's bit is 1 there (it decides "not below");
    1 for one truth x:  s where r = 0, and "the truth is x" where r = 1 (D's bit differs from T's).
r is a fair bit in each case, so the law is the single path's exactly.  An answer is undecided while every plane agreed
with T: with probability 2^-planes.  Ten planes are drawn for all words; the few words with an undecided answer draw
ten more, and the rest after that.  Planes below the last 1 of both thresholds decide nothing and are not drawn.
Neighbouring planes of the same kind are joined first, by "and" where T's bits are 0 and by "or" otherwise: s | r | r'
is s | (r | r'), and so on.

Two short cuts keep the law.  A symmetric design (T0 + T1 = 2^64) says "truth xor [D < T0]": for a true yes that is
[D >= 2^64 − T1], the single path on the draw 2^64 − 1 − D.  And T1 = 2^64 (p11 = 1) says "truth or [D < T0]".
"""

from __future__ import annotations

from itertools import groupby, islice
from typing import TYPE_CHECKING, Literal

import numpy as np

from rrcollect.answer.draw import thresholds
from rrcollect.answer.keystream import fresh_keystream
from rrcollect.design.mechanism import GRID
from rrcollect.design.yes_no import Design
from rrcollect.errors import BadTruth, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rrcollect.answer.keystream import Fill

    Words = NDArray[np.uint64]

PLANES = 10  # planes per stage
CHUNK = 1 << 14  # words per chunk: its ten planes stay in the cache
BLOCK = 1 << 18  # words whose undecided answers are settled at once


def randomise_packed(
    truths: NDArray[np.uint8],
    n: int,
    design: Design,
    *,
    bitorder: Literal["little", "big"] = "little",
    fill: Fill | None = None,
) -> NDArray[np.uint8]:
    """The packed answers to n packed truths (as `numpy.packbits` makes them); unused bits of the last byte are 0.

    >>> truths = np.packbits(np.ones(10, bool), bitorder="little")
    >>> randomise_packed(truths, 10, Design("1/2", 1))
    array([255,   3], dtype=uint8)
    """
    if not isinstance(truths, np.ndarray) or truths.dtype != np.uint8 or truths.ndim != 1:
        raise BadTruth("packed truths must be a one-dimensional array of uint8; what was given is not shown")
    if isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= truths.size * 8 or truths.size != -(-n // 8):
        raise ParameterError("n", n, f"the number of truths in {truths.size} bytes: 8 to a byte, the last may be short")
    if bitorder not in ("little", "big"):
        raise ParameterError("bitorder", bitorder, "'little' or 'big'")
    folded = _Planes(thresholds(design), fill or fresh_keystream())
    answers = np.empty(truths.size, np.uint8)
    whole = truths.size // 8 * 8
    folded.answer(np.ascontiguousarray(truths[:whole]).view(np.uint64), answers[:whole].view(np.uint64))
    if whole < truths.size:
        last = np.zeros(8, np.uint8)
        last[: truths.size - whole] = truths[whole:]
        said = np.empty(1, np.uint64)
        folded.answer(last.view(np.uint64), said)
        answers[whole:] = said.view(np.uint8)[: truths.size - whole]
    if n % 8:
        answers[-1] &= (1 << n % 8) - 1 if bitorder == "little" else 256 - (256 >> n % 8)
    return answers


class _Planes:
    """The theorem's fold for one pair of thresholds, with its buffers."""

    def __init__(self, limits: tuple[int, int], fill: Fill) -> None:
        self.fill = fill
        self.flips = sum(limits) == GRID
        self.always_yes = limits[1] == GRID and not self.flips
        low = limits[0]
        high = low if self.flips else 0 if self.always_yes else limits[1]
        needed = 64 - trailing_zeros(low | high)
        bits = [(low >> (63 - j) & 1, high >> (63 - j) & 1) for j in range(needed)]
        self.stages = [bits[i:j] for i, j in ((0, PLANES), (PLANES, 2 * PLANES), (2 * PLANES, 64)) if bits[i:j]]
        self.random = np.zeros(0, np.uint64)  # both grow to what the largest chunk needs
        self.scratch = np.empty(0, np.uint64)

    def answer(self, asked: Words, answers: Words) -> None:
        """Write the answers to words of truths."""
        undecided = np.empty(min(BLOCK, asked.size), np.uint64)
        for start in range(0, asked.size, BLOCK):
            part, said = asked[start : start + BLOCK], answers[start : start + BLOCK]
            self._first(part, said, undecided[: part.size])
            self._settle(part, said, undecided[: part.size])

    def _first(self, asked: Words, said: Words, undecided: Words) -> None:
        """The first stage, for every word, in chunks that stay in the cache."""
        for start in range(0, asked.size, CHUNK):
            here = slice(start, start + CHUNK)
            undecided[here] = self._fold(self.stages[0], asked[here], said[here]) if self.stages else 0
            if not self.stages:
                said[here] = 0
            if self.flips:
                np.bitwise_xor(said[here], asked[here], out=said[here])
            elif self.always_yes:
                np.bitwise_or(said[here], asked[here], out=said[here])

    def _settle(self, asked: Words, said: Words, undecided: Words) -> None:
        """The later stages, for the few words that still hold an undecided answer."""
        where = np.flatnonzero(undecided != 0)
        open_ = undecided[where]
        for stage in self.stages[1:]:
            if not where.size:
                return
            truth = asked[where]
            later = np.empty_like(open_)
            still = open_ & self._fold(stage, truth, later)
            if self.flips:
                later ^= truth
            elif self.always_yes:
                later |= truth
            said[where] ^= (said[where] ^ later) & open_
            kept = np.flatnonzero(still != 0)
            where, open_ = where[kept], still[kept]

    def _fold(self, bits: list[tuple[int, int]], asked: Words, said: Words) -> Words:
        """Fold the planes of one stage into `said`; returns the mask of answers that every plane left undecided."""
        size = asked.size
        wanted = len(bits) * size
        if wanted > self.random.size:
            self.random = np.zeros(wanted, np.uint64)
        if size > self.scratch.size:
            self.scratch = np.empty(size, np.uint64)
        buffer, scratch = self.random[:wanted], self.scratch[:size]
        self.fill(buffer.view(np.uint8))
        planes = iter(buffer.reshape(len(bits), size))
        differs = agrees = None  # where some plane decided; where no plane of zeros did
        said[:] = 0
        for pair, run in groupby(reversed(bits)):
            plane = next(planes)
            fold = np.bitwise_and if pair == (0, 0) else np.bitwise_or
            for _ in islice(run, 1, None):
                fold(plane, next(planes), out=plane)
            if pair == (0, 0):
                np.bitwise_and(said, plane, out=said)
                agrees = plane if agrees is None else np.bitwise_and(agrees, plane, out=agrees)
                continue
            if pair == (1, 1):
                np.bitwise_or(said, plane, out=said)
            elif pair == (0, 1):  # where the plane decides, the answer is the truth
                np.bitwise_xor(said, asked, out=scratch)
                np.bitwise_and(scratch, plane, out=scratch)
                np.bitwise_xor(said, scratch, out=said)
            else:  # where it decides, the answer is the truth's opposite
                np.bitwise_or(said, plane, out=said)
                np.bitwise_and(plane, asked, out=scratch)
                np.bitwise_xor(said, scratch, out=said)
            differs = plane if differs is None else np.bitwise_or(differs, plane, out=differs)
        if differs is None:
            return agrees if agrees is not None else said
        np.invert(differs, out=differs)
        return differs if agrees is None else np.bitwise_and(differs, agrees, out=differs)


def trailing_zeros(number: int) -> int:
    """How many low bits of a 64-bit number are 0; 64 for the number 0."""
    return (number & -number).bit_length() - 1 if number else 64
