"""Many blocks at once: the law of a single draw, exactly, without a loop over people.

A byte each says whether the truth is in the block, 56 bits more where it is undecided (`bulk_sets`).  The free
coordinates are one whole number below m = q^(t−1): of 32 random bits r the number is r·s div 2^32, s = m − 1 if the
truth is in and m if not, drawn again while r·s mod 2^32 is below 2^32 mod s, so that each comes equally often [Lem19].
Vectors are read as numbers to the base q; inner products and multiples of them are looked up some digits at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.bulk_bits import few, refuse_masked
from rrcollect.design.bulk_sets import flags, fresh
from rrcollect.design.sampling import HIDDEN
from rrcollect.errors import BadTruth, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rrcollect.design.terms import Fill

    Numbers = NDArray[np.uint32]

CHUNK = 1 << 15
LARGEST_TABLE = 1 << 10  # vectors of the digits that are looked up at once
AT_ONCE = 1 << 16
U32, U64 = np.uint32, np.uint64


def drawn_blocks(truths: Any, design: Any, limit: int, fill: Fill) -> ChosenBlocks:
    """The blocks to send instead of many truths (numbers of options)."""
    asked, tables = as_options(truths, design.truths), _tables(design.field, design.dimension)
    inside, out = flags(asked.size, limit, fill), np.empty(asked.size, U32)
    for start in range(0, asked.size, CHUNK):
        here = slice(start, min(start + CHUNK, asked.size))
        held = inside[here].view(np.uint8)
        out[here] = tables.blocks(asked[here], held, _free(held, tables.m, fill))
    return ChosenBlocks(design, out)


def as_options(truths: Any, options: int) -> Numbers:
    """The truths as a flat array; the error for anything else shows no value."""
    refuse_masked(truths)
    array = np.asarray(truths)
    if array.size and (array.dtype.kind not in "ui" or array.min() < 0 or array.max() >= options):
        raise BadTruth(f"the truths must be an array of whole numbers from 0 to {options - 1}; {HIDDEN}")
    return np.ascontiguousarray(array, U32).reshape(-1)


def _free(held: NDArray[np.uint8], m: int, fill: Fill) -> Numbers:
    """1 to m − 1 where the truth is in, 0 to m − 1 where not, uniform."""
    ways = U32(m) - held
    least = np.array([(1 << 32) % m, (1 << 32) % (m - 1)], U32)
    product = np.multiply(fresh(held.size, U32, fill), ways, dtype=U64)
    again = few(product.astype(U32) < least[held])
    while again.size:
        drawn = np.multiply(fresh(again.size, U32, fill), ways[again], dtype=U64)
        product[again] = drawn
        again = again[drawn.astype(U32) < least[held[again]]]
    return np.asarray((product >> U64(32)).astype(U32) + held)


class _Tables:
    """What is looked up in PG(t−1, q)."""

    def __init__(self, q: int, t: int) -> None:
        self.q, self.t, self.m = q, t, q ** (t - 1)
        most = max(each for each in range(1, t + 1) if each == 1 or q**each <= LARGEST_TABLE)
        pieces = -(-t // most)
        self.base = q ** -(-t // pieces)
        self.pieces = range(pieces)
        digits = np.arange(self.base)[:, None] // q ** np.arange(-(-t // pieces)) % q
        self.product = (digits @ digits.T % q).astype(np.uint16).ravel()
        factors = np.arange(q)[:, None, None] * digits % q
        self.multiple = (factors @ q ** np.arange(digits.shape[1])).astype(U32).ravel()
        firsts = digits.shape[1] - 1 - np.argmax(digits[:, ::-1] != 0, axis=1)
        self.first = digits[np.arange(self.base), firsts].astype(np.uint16)  # 0 of the vector 0
        self.inverse = np.array([0] + [pow(a, -1, q) for a in range(1, q)], U32)
        self.weights = (q ** np.arange(t - 1, -1, -1)).astype(U32)
        self.starts = np.concatenate([[0], np.cumsum(self.weights[:-1], dtype=U64)]).astype(U32)
        rest = np.arange(q * (pieces + 1))
        self.solved = np.stack([(1 - rest) % q, -rest % q]).astype(U32).ravel()
        self.by_vector = self._numbers(np.arange(q**t, dtype=U32)) if q**t <= 1 << 22 else None

    def blocks(self, asked: Numbers, held: NDArray[np.uint8], free: Numbers) -> Numbers:
        """Rule 3 of `blocks` for many."""
        lead = np.searchsorted(self.starts, asked, "right") - 1
        weight = self.weights[lead]
        tail = asked - self.starts[lead]
        high = free // weight
        low = free - high * weight
        total = np.zeros(asked.size, np.uint16)
        for one, other in zip(self._pieces(low), self._pieces(tail), strict=True):
            total += self.product[one * U32(self.base) + other]
        solved = self.solved[held * np.uint32(self.q * (len(self.pieces) + 1)) + total]
        vector = (high * U32(self.q) + solved) * weight + low
        return self.by_vector[vector] if self.by_vector is not None else self._numbers(vector)

    def _pieces(self, vectors: Numbers) -> Iterator[Numbers]:
        """The digits of vectors, some at a time, the last ones first."""
        for _ in self.pieces[1:]:
            rest = vectors // U32(self.base)
            yield vectors - rest * U32(self.base)
            vectors = rest
        yield vectors

    def _numbers(self, vectors: Numbers) -> Numbers:
        """The points that vectors span; of the vector 0 nothing is meant."""
        pieces = list(self._pieces(vectors))
        first = np.zeros(vectors.size, np.uint16)
        for piece in pieces:  # the last non-zero one in this order is the first of the vector
            here = self.first[piece]
            first = np.where(here, here, first)
        inverse, scaled = self.inverse[first] * U32(self.base), np.zeros(vectors.size, U32)
        for power, piece in enumerate(pieces):
            scaled += self.multiple[inverse + piece] * U32(self.base**power)
        weight = self.weights[::-1]
        place = np.searchsorted(weight, scaled, "right") - 1
        return np.asarray(scaled - weight[place] + self.starts[::-1][place])


@lru_cache(maxsize=4)
def _tables(q: int, t: int) -> _Tables:
    return _Tables(q, t)


# ---- the answers ----------------------------------------------------------------------------------------------------


class ChosenBlocks:
    """Many blocks: what a bulk randomisation of very many options returns.

    An answer is the number of a block (`answers[i]`, `texts()` as they are sent, `numpy.asarray(answers)` as numbers);
    `counts()` is how often each was drawn.
    """

    def __init__(self, design: Any, blocks: Numbers) -> None:
        self.design, self.blocks = design, blocks

    def __repr__(self) -> str:
        return f"ChosenBlocks({len(self)} answers by {self.design})"

    def __len__(self) -> int:
        return len(self.blocks)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.blocks.copy() if dtype is None else self.blocks.astype(dtype)

    def counts(self) -> NDArray[np.int64]:
        """How many answers are each block."""
        return np.bincount(self.blocks, minlength=self.design.truths)

    def texts(self) -> Iterator[str]:
        """The answers as they are sent, one after the other."""
        texts: Iterator[str] = self.design.texts(self)
        return texts

    def __getitem__(self, place: int | NDArray[np.intp]) -> str | ChosenBlocks:
        if isinstance(place, np.ndarray):
            return ChosenBlocks(self.design, self.blocks[place])
        if not -len(self) <= place < len(self):
            raise IndexError(f"there are {len(self)} answers")
        return f"{self.blocks[place]:0{self.design.width}d}"


def block_numbers(answers: Any, design: Any) -> NDArray[np.int64]:
    """The numbers of blocks, in whatever form they come; everything else is refused with its position."""
    if isinstance(answers, ChosenBlocks):
        if answers.design != design:
            raise ParameterError("answers", answers, f"blocks drawn by {design!r}")
        return answers.blocks.astype(np.int64)
    values = answers.to_numpy() if hasattr(answers, "to_numpy") else answers
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | np.ma.MaskedArray):
        raise ParameterError("answers", answers, f"{design.form} for every record, in a list, an array or a column")
    array = np.asarray(values if isinstance(values, np.ndarray) else list(values))
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.ndim == 1 and array.dtype.kind in "iu":
        wrong = np.flatnonzero((array < 0) | (array >= design.truths))
        if not wrong.size:
            return array.astype(np.int64)
        raise ParameterError(f"answer {wrong[0]}", array[wrong[0]].item(), design.form)
    if array.ndim != 1 or array.dtype.kind not in "UO":
        raise ParameterError("answers", f"an array of {array.dtype}, shape {array.shape}", design.form)
    for position, value in enumerate(array.tolist()):
        if not isinstance(value, str) or not design.allows(value):
            raise ParameterError(f"answer {position}", value, design.form)
    return array.astype(np.int64)
