"""Many numbers at once: the law of `draw_number.randomise_number`, exactly, for arrays of floats.

The upper 16 of 64 random bits decide nearly always: they are compared with the upper 16 bits of τ, computed in floating
point, which is off by less than one.  Where they differ by no more than two, 48 bits more are drawn and the exact τ
decides, in whole numbers.  So the answer is [D < τ] for one 64-bit draw D, as if it had been made singly.

Where floating point could be off by more (a range that is tiny beside its ends), the exact τ decides every answer.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.answer.bulk_choice import few
from rrcollect.answer.draw import thresholds
from rrcollect.answer.draw_number import HIDDEN, threshold
from rrcollect.answer.keystream import fresh_keystream
from rrcollect.design.parameters import NumberLike
from rrcollect.design.yes_no import Design
from rrcollect.errors import BadTruth
from rrcollect.publish.number_range import bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rrcollect.answer.keystream import Fill

CHUNK = 1 << 15  # numbers whose symbols are drawn at once: what is computed on the way stays in the cache


def randomise_numbers(
    truths: Any, design: Design, low: NumberLike, high: NumberLike, *, clip: bool = False, fill: Fill | None = None
) -> NDArray[np.bool_]:
    """The bits to send instead of many numbers in [low, high], each independently and exactly by the design's law.

    >>> bool(randomise_numbers(np.full(1000, 7.5), Design(1, "1/2"), 7.5, 10).any())
    False
    """
    limits, (least, most), stream = thresholds(design), bounds(low, high), fill or fresh_keystream()
    asked, out = _as_floats(truths), np.empty(np.size(truths), np.bool_)
    rule = _Rule(limits, least, most, clip=clip, fill=stream)
    for start in range(0, asked.size, CHUNK):
        rule.answer(asked[start : start + CHUNK], out[start : start + CHUNK])
    return out.reshape(np.shape(truths))


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
        self.near, self.upper = np.empty(CHUNK, np.float64), np.empty(CHUNK, np.uint16)

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
    if isinstance(truths, np.ma.MaskedArray):
        raise BadTruth("the truths must not be a masked array: drop the masked ones first")
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
    near = near_double(end)
    return near if near >= end else float(np.nextafter(near, np.inf))


def double_below(end: Fraction) -> float:
    """The greatest double that is not above an exact number."""
    near = near_double(end)
    return near if near <= end else float(np.nextafter(near, -np.inf))
