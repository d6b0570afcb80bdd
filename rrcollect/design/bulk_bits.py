"""Many bits at once: the law of a single draw, exactly, without a loop over people.

Yes and no: bit-sliced comparison, eight answers to a byte.

Theorem.  A draw D is below T iff at the highest bit where they differ T has the 1.  Give every answer its own random
bit r per plane (bit position), plane 63 first.  The first plane where D's bit differs from T's decides "D < T"; it is
not below if none does.  At a plane where T's bit is
    1 for both truths:  r = 1 means that D's bit is 0 there: it decides "below";
    0 for both truths:  r = 0 means that D's bit is 1 there: it decides "not below";
    1 for one truth x:  r = 1 means that D's bit differs from T's: it decides "the truth is x".
r is a fair bit in each case, so the law is the single path's exactly.  An answer is undecided while every plane agreed
with T: with probability 2^-planes.  Nine planes are drawn for all words; the one word in nine with an undecided answer
draws seven more, and the rest after that.  Planes below the last 1 of both thresholds decide nothing and are not drawn.
Neighbouring planes of the same kind are joined first, by "and" where T's bits are 0 and by "or" otherwise: either of
them decides the same.

Speed.  A word holds 64 answers, and few passes over the words are made: "undecided so far" is kept in one array, what a
plane decides is "undecided and r", and the planes of each of the three kinds are collected, so that the truths are
looked at once for all of them.  What is decided by different planes does not overlap.

Two short cuts keep the law.  A symmetric design (T0 + T1 = 2^64) says "truth xor [D < T0]": for a true yes that is
[D >= 2^64 − T1], the single path on the draw 2^64 − 1 − D.  And T1 = 2^64 (p11 = 1) says "truth or [D < T0]".

Numbers.  The upper 16 of 64 random bits decide nearly always: they are compared with the upper 16 bits of τ, computed
in floating point, which is off by less than one.  Where they differ by no more than two, 48 bits more are drawn and the
exact τ decides, in whole numbers.  So the answer is [D < τ] for one 64-bit draw D, as if it had been made singly.
Where floating point could be off by more (a range that is tiny beside its ends), the exact τ decides every answer.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.sampling import HIDDEN, bin_of, threshold
from rrcollect.errors import BadTruth, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rrcollect.design.terms import Fill

    Words = NDArray[np.uint64]

PLANES, SECOND = 9, 16  # where the first stage ends, and the second
CHUNK = 1 << 14  # words per chunk: its planes stay in the cache
BLOCK = 1 << 18  # words whose undecided answers are settled at once
NUMBERS = 1 << 15  # numbers whose symbols are drawn at once: what is computed on the way stays in the cache
GRID = 1 << 64
NONE = np.uint64(0)
NEAR_AN_EDGE = 1e-3  # in widths of a bin


def drawn_bits(truths: Any, limits: tuple[int, int], fill: Fill) -> NDArray[np.bool_]:
    """The answers to booleans, or to integers 0 and 1, in their shape."""
    asked = np.packbits(as_bits(truths), bitorder="little")
    count = int(np.size(truths))
    said = drawn_packed(asked, limits, fill, count, "little")
    return np.unpackbits(said, count=count, bitorder="little").view(np.bool_).reshape(np.shape(truths))


def as_bits(truths: Any) -> NDArray[np.uint8]:
    """The truths as a flat array of bytes, 0 for no; the error for anything else shows no value."""
    refuse_masked(truths)
    array = np.asarray(truths)
    if array.dtype == np.bool_:  # a boolean whose byte is 2 is True as well
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if array.dtype.kind not in "ui" or (array.size and (array.max() > 1 or array.min() < 0)):
        raise BadTruth(f"the truths must be an array of booleans, or of integers 0 and 1; {HIDDEN}")
    return np.ascontiguousarray(array, np.uint8).reshape(-1)


def refuse_masked(truths: object) -> None:
    """A masked array says which truths are missing; nobody else may drop them."""
    if isinstance(truths, np.ma.MaskedArray):
        raise BadTruth("the truths must not be a masked array: drop the masked ones first")


def drawn_packed(
    truths: NDArray[np.uint8], limits: tuple[int, int], fill: Fill, n: int | None, bitorder: Any
) -> NDArray[np.uint8]:
    """The packed answers to n packed truths (None: all bits); unused bits of the last byte are 0."""
    if not isinstance(truths, np.ndarray) or truths.dtype != np.uint8 or truths.ndim != 1:
        raise BadTruth("packed truths must be a one-dimensional array of uint8; what was given is not shown")
    n = truths.size * 8 if n is None else n
    if isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= truths.size * 8 or truths.size != -(-n // 8):
        expected = f"the number of truths in {truths.size} bytes: 8 to a byte, the last may be short"
        raise ParameterError("packed", n, expected)
    if bitorder not in ("little", "big"):
        raise ParameterError("bitorder", bitorder, "'little' or 'big'")
    folded = _Planes(limits, fill)
    whole = np.concatenate([truths, np.zeros(-truths.size % 8, np.uint8)]) if truths.size % 8 else truths
    answers = np.empty(whole.size, np.uint8)
    folded.answer(np.ascontiguousarray(whole).view(np.uint64), answers.view(np.uint64))
    answers = answers[: truths.size]
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
        self.stages = [bits[i:j] for i, j in ((0, PLANES), (PLANES, SECOND), (SECOND, 64)) if bits[i:j]]
        self.random = np.zeros(0, np.uint64)  # grows to what the largest chunk needs

    def answer(self, asked: Words, answers: Words) -> None:
        """Write the answers to words of truths."""
        undecided = np.empty(min(BLOCK, asked.size), np.uint64)
        for start in range(0, asked.size, BLOCK):
            part, said = asked[start : start + BLOCK], answers[start : start + BLOCK]
            for first in range(0, part.size, CHUNK):  # the first stage, in chunks that stay in the cache
                here = slice(first, min(first + CHUNK, part.size))
                self._fold(self.stages[0] if self.stages else [], part[here], said[here], undecided[here])
            self._settle(part, said, undecided[: part.size])

    def _settle(self, asked: Words, said: Words, undecided: Words) -> None:
        """The later stages, for the few words that still hold an undecided answer."""
        if len(self.stages) < 2:
            return
        where = np.flatnonzero(undecided != 0)
        open_ = undecided.take(where)
        for stage in self.stages[1:]:
            if not where.size:
                return
            later, still = np.empty_like(open_), np.empty_like(open_)
            self._fold(stage, asked.take(where), later, still)
            before = said.take(where)
            said[where] = before ^ ((before ^ later) & open_)
            still &= open_
            kept = np.flatnonzero(still != 0)
            where, open_ = where.take(kept), still.take(kept)

    def _fold(self, bits: list[tuple[int, int]], asked: Words, said: Words, open_: Words) -> None:
        """Write the answers of one stage to `said`, and to `open_` the mask of those that every plane left undecided.

        An undecided answer is "not below".  Without planes nothing is undecided and `open_` is not written.
        """
        planes = iter(self._drawn(len(bits), asked.size)[::-1])  # the lowest was drawn first
        decided: dict[tuple[int, int], Words] = {}
        for place, (pair, run) in enumerate(groupby(bits)):
            plane = next(planes)
            join = np.bitwise_and if pair == (0, 0) else np.bitwise_or
            for _ in islice(run, 1, None):
                join(plane, next(planes), out=plane)
            if pair == (0, 0):
                np.bitwise_and(plane, open_ if place else plane, out=open_)
                continue
            if place:
                np.bitwise_and(plane, open_, out=plane)
                np.bitwise_xor(open_, plane, out=open_)
            else:
                np.invert(plane, out=open_)
            decided[pair] = np.bitwise_or(decided[pair], plane, out=plane) if pair in decided else plane
        self._say(decided, asked, said)

    def _drawn(self, planes: int, size: int) -> NDArray[np.uint64]:
        """Fresh planes, in memory that the next ones overwrite."""
        wanted = planes * size
        if wanted > self.random.size:
            self.random = np.zeros(wanted, np.uint64)
        if wanted:
            self.fill(self.random[:wanted].view(np.uint8))
        return self.random[:wanted].reshape(planes, size)

    def _say(self, decided: dict[tuple[int, int], Words], asked: Words, said: Words) -> None:
        """The answers by what was decided: yes, the truth, or its opposite; then the short cuts."""
        yes, truth, opposite = (decided.get(pair, NONE) for pair in ((1, 1), (0, 1), (1, 0)))
        if self.flips:
            np.bitwise_xor(asked, yes, out=said)
            return
        np.bitwise_or(truth, opposite, out=said)
        np.bitwise_and(said, asked, out=said)
        np.bitwise_xor(said, opposite, out=said)
        np.bitwise_or(said, asked if self.always_yes else yes, out=said)


def trailing_zeros(number: int) -> int:
    """How many low bits of a 64-bit number are 0; 64 for the number 0."""
    return (number & -number).bit_length() - 1 if number else 64


# ---- numbers --------------------------------------------------------------------------------------------------------


def drawn_numbers(
    truths: Any, limits: tuple[int, int], bounds: tuple[Fraction, Fraction], fill: Fill, *, clip: bool
) -> NDArray[np.bool_]:
    """The bits to send instead of many numbers within these bounds."""
    asked, out = _as_floats(truths), np.empty(np.size(truths), np.bool_)
    rule = _Rule(limits, *bounds, clip=clip, fill=fill)
    for start in range(0, asked.size, NUMBERS):
        rule.answer(asked[start : start + NUMBERS], out[start : start + NUMBERS])
    return out.reshape(np.shape(truths))


def bins_of(truths: Any, low: Fraction, high: Fraction, bins: int, *, clip: bool) -> NDArray[np.int64]:
    """The parts of the range in which numbers lie, as `sampling.bin_of`; those near an edge are looked at exactly."""
    asked = _as_floats(truths)
    if not np.isfinite(asked).all() or (not clip and asked.size and not low <= asked.min() <= asked.max() <= high):
        raise BadTruth(f"the truths must be finite and lie from {low} to {high}; {HIDDEN}")
    near = (np.clip(asked, float(low), float(high)) - float(low)) / float(high - low) * bins
    found = np.minimum(near.astype(np.int64), bins - 1)
    where = np.flatnonzero(np.abs(near - np.round(near)) < NEAR_AN_EDGE)
    found[where] = [bin_of(number, low, high, bins, clip=clip) for number in asked[where].tolist()]
    return found


class _Rule:
    """The comparison for one design and range, with its buffers."""

    def __init__(self, limits: tuple[int, int], low: Fraction, high: Fraction, *, clip: bool, fill: Fill) -> None:
        self.limits, self.low, self.high, self.clip, self.fill = limits, low, high, clip, fill
        self.ends = double_above(low), double_below(high)
        width = near_double(high - low)
        self.exact = not 0.0 < width < np.inf  # no double is near it
        self.slope = (limits[1] - limits[0]) / 2.0**48 / (1.0 if self.exact else width)
        self.base = limits[0] / 2.0**48 - near_double(low) * self.slope
        self.exact |= not 8 * self.slope * max(map(abs, self.ends)) <= 2.0**51  # a product or sum may be off by 1/4
        self.near, self.upper = np.empty(NUMBERS, np.float64), np.empty(NUMBERS, np.uint16)

    def answer(self, part: NDArray[np.float64], out: NDArray[np.bool_]) -> None:
        """Write the answers of one chunk."""
        if not (part.min() >= self.ends[0] and part.max() <= self.ends[1]):  # False for a NaN as well
            part = self._brought_inside(part)
        symbols = np.zeros(part.size, np.uint16)
        self.fill(symbols.view(np.uint8))
        if self.exact:
            self._settle(np.arange(part.size), symbols, part, out)
            return
        near, upper = self.near[: part.size], self.upper[: part.size]
        np.multiply(part, self.slope, out=near)
        np.add(near, self.base, out=near)
        np.copyto(upper, near, casting="unsafe")  # τ/2^48, or one off: 0 to 65536, which wraps to 0 and is looked at
        np.less(symbols, upper, out=out)
        np.subtract(symbols, upper, out=upper)
        np.add(upper, np.uint16(2), out=upper)  # wrapping: 0 to 4 if they are within two of each other
        close = upper <= 4
        if self.limits[1] >> 48 == 1 << 16:  # τ near 2^64: its upper part may have wrapped
            close |= near >= 65534.0
        self._settle(few(close), symbols, part, out)

    def _brought_inside(self, part: NDArray[np.float64]) -> NDArray[np.float64]:
        if not np.isfinite(part).all():
            raise BadTruth(f"the truths must be finite; {HIDDEN}")
        if not self.clip:
            raise BadTruth(
                f"the truths must lie from {self.low} to {self.high} (the survey does not say `clip`); {HIDDEN}"
            )
        return np.clip(part, *self.ends)

    def _settle(
        self, where: NDArray[np.int64], symbols: NDArray[np.uint16], part: NDArray[np.float64], out: NDArray[np.bool_]
    ) -> None:
        """The exact rule, with 48 bits more each."""
        more = np.zeros(where.size, np.uint64)
        self.fill(more.view(np.uint8))
        drawn = symbols[where].astype(np.uint64) << np.uint64(48) | more >> np.uint64(16)
        out[where] = [
            draw < threshold(number, self.limits, self.low, self.high, clip=self.clip)
            for draw, number in zip(drawn.tolist(), part[where].tolist(), strict=True)
        ]


def _as_floats(truths: Any) -> NDArray[np.float64]:
    """The truths as a flat array of finite doubles; the error for anything else shows no value."""
    refuse_masked(truths)
    array = np.asarray(truths)
    if array.dtype.kind not in "fui" or array.dtype.itemsize > 8:
        raise BadTruth(f"the truths must be an array of numbers; {HIDDEN}")
    floats = np.ascontiguousarray(array, np.float64).reshape(-1)
    if array.dtype.kind in "ui" and array.size and max(abs(int(array.max())), abs(int(array.min()))) > 1 << 53:
        raise BadTruth(f"whole numbers beyond 2^53 are not exact as doubles; {HIDDEN}")
    return floats


def near_double(number: Fraction) -> float:
    """The nearest double; beyond all of them an infinity."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def double_above(end: Fraction) -> float:
    """The least double that is not below an exact number."""
    return 0.0 - double_below(-end)


def double_below(end: Fraction) -> float:
    """The greatest double that is not above an exact number."""
    near = near_double(end)
    return near if near <= end else float(np.nextafter(near, -np.inf))


def few(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The positions of the few True: eight flags are looked at together."""
    whole = mask.size & ~7
    words = np.flatnonzero(mask[:whole].view(np.uint64))
    row, column = np.nonzero(mask[:whole].reshape(-1, 8)[words])
    return np.concatenate([(words[row] << 3) + column, whole + np.flatnonzero(mask[whole:])])
