"""Many answers to a choice at once: the law of a single draw, exactly, without a loop over people.

Everywhere a 16-bit symbol decides at once, and a few *undecided* symbols draw 48 bits more: together 64 bits, so that
chances are multiples of 1/2^64 as in the single draw.  Which symbols are undecided does not depend on the truth.

Theorem (ω = 1).  Write R = b·2^48 + l.  A symbol below (k−1)b is the step `symbol div b`; the last ⌈(k−1)l/2^48⌉ are
undecided, and a uniform V below so many 2^48 is the step min(V div l, k−1); every other symbol is the step k−1, the
truth.  Each other option then has the chance b/2^16 + l/2^64 = R/2^64.

Theorem (ω >= 2, few sets).  With truth 0 there are I sets that hold it and O that do not.  Give each of the first a
symbols and each of the second b, a = (P div 2^48) div I and b = ((2^64 − P) div 2^48) div O.  The other symbols are
undecided: a uniform V below (their number)·2^48 says "in" if V < P − I·a·2^48, and the set is then selected as below.

Theorem (ω >= 2, any k: selection by fair bits).  Every candidate gets a fair bit; let Z be those with a 1.  If no more
are in Z than are wanted, all of Z are chosen and leave the candidates; otherwise Z are the candidates.  Candidates are
exchangeable at every step, so the chosen ones are a uniform subset.  No bounded integer and no table is needed.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from rrcollect.design.bulk_bits import few, refuse_masked
from rrcollect.design.sampling import HIDDEN
from rrcollect.errors import BadTruth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rrcollect.design.mechanism import Mechanism
    from rrcollect.design.terms import Fill

CHUNK = 1 << 17  # answers whose symbols are drawn at once
SYMBOLS = 1 << 16
GRID = 1 << 64
AT_ONCE = 1 << 16  # answers spread out at once
LOW = (1 << 48) - 1
MOST_SETS, WIDEST_TABLE = 2048, 16
U8, U16, U64 = np.uint8, np.uint16, np.uint64


def drawn_sets(truths: Any, design: Mechanism, limit: int, size: int, fill: Fill) -> ChosenSets:
    """The sets to send instead of many truths (numbers of options)."""
    k, w = design.truths, size
    asked = as_options(truths, k)
    if w == 1:
        return ChosenSets(design, _single(asked, k, limit, fill))
    table = _Table(k, w, limit) if k <= WIDEST_TABLE and math.comb(k, w) <= MOST_SETS else None
    if table is not None and min(table.inside, table.outside) > 0:
        return ChosenSets(design, table.answer(asked, fill))
    return ChosenSets(design, _selected(asked, flags(asked.size, limit, fill), k, w, fill))


def as_options(truths: Any, options: int) -> NDArray[np.uint8]:
    """The truths as a flat array of bytes; the error for anything else shows no value."""
    refuse_masked(truths)
    array = np.asarray(truths)
    if array.size == 0:
        return np.empty(0, U8)
    if array.dtype.kind not in "ui" or array.min() < 0 or array.max() >= options:
        raise BadTruth(f"the truths must be an array of whole numbers from 0 to {options - 1}; {HIDDEN}")
    return np.ascontiguousarray(array, U8).reshape(-1)


def fresh(n: int, kind: Any, fill: Fill) -> NDArray[Any]:
    """n random values of a type."""
    made = np.zeros(n, kind)
    fill(made.view(U8))
    return made


def _settled(found: list[tuple[Any, Any]], first: int, fill: Fill) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """The undecided positions and for each a uniform whole number below (2^16 − `first`)·2^48."""
    where, symbols = (np.concatenate(parts) for parts in zip(*found, strict=True))
    more = fresh(where.size, U64, fill) >> U64(16)
    return where, (symbols.astype(U64) - U64(first) << U64(48)) | more


# ---- one option -----------------------------------------------------------------------------------------------------


def _single(asked: NDArray[np.uint8], k: int, each: int, fill: Fill) -> NDArray[np.uint8]:
    """The option of each answer, by the first theorem."""
    share, left = each >> 48, each & LOW
    undecided = SYMBOLS - -(-(k - 1) * left >> 48)
    out, size, found = np.empty(asked.size, U8), min(CHUNK, asked.size), []
    own = U8 if k <= 128 else U16  # y + k must not wrap for y < k
    last = np.full(size, k - 1, U16)
    for start in range(0, asked.size, max(size, 1)):
        here = asked[start : start + size]
        symbols = fresh(here.size, U16, fill)
        where = few(symbols >= undecided) if undecided < SYMBOLS else np.empty(0, np.int64)
        found.append((where + start, symbols[where]))
        if share:
            np.minimum(np.floor_divide(symbols, U16(share), out=symbols), last[: here.size], out=symbols)
        else:
            symbols[:] = k - 1
        at = here.astype(own, copy=False) - symbols.astype(own) - own(1)
        np.minimum(at, at + own(k), out=at)  # wrapping: the smaller of y and y + k is y modulo k
        out[start : start + size] = at
    if found:
        where, drawn = _settled(found, undecided, fill)
        steps = np.minimum(drawn // U64(left or 1), U64(k - 1)).astype(np.int64)
        out[where] = (asked[where].astype(np.int64) - 1 - steps) % k
    return out


# ---- several options, few sets --------------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _sets(k: int, w: int) -> NDArray[np.uint16]:
    """All sets for each truth, as bits: first those that hold it; a row is padded to a power of two."""
    held = [1 | sum(1 << c for c in others) for others in combinations(range(1, k), w - 1)]
    held += [sum(1 << c for c in others) for others in combinations(range(1, k), w)]
    sets = np.array(held, np.uint32)
    by = np.zeros((k, 1 << (sets.size - 1).bit_length()), U16)
    for truth in range(k):
        by[truth, : sets.size] = (sets << truth | sets >> (k - truth)) & ((1 << k) - 1)
    return by


class _Table:
    """The second theorem for one design."""

    def __init__(self, k: int, w: int, limit: int) -> None:
        self.k, self.w, self.limit = k, w, limit
        self.holding, self.others = math.comb(k - 1, w - 1), math.comb(k - 1, w)
        self.inside, self.outside = (limit >> 48) // self.holding, (GRID - limit >> 48) // self.others

    def answer(self, asked: NDArray[np.uint8], fill: Fill) -> NDArray[Any]:
        """The sets as bits."""
        by, size, found = _sets(self.k, self.w), min(CHUNK, asked.size), []
        edge, top = self.holding * self.inside, self.others - 1
        undecided = edge + self.others * self.outside
        edges, tops = np.full(size, edge, U16), np.full(size, top, U16)
        out = np.empty(asked.size, U16)
        for start in range(0, asked.size, max(size, 1)):
            here = asked[start : start + size]
            symbols, e = fresh(here.size, U16, fill), edges[: here.size]
            where = few(symbols >= undecided) if undecided < SYMBOLS else np.empty(0, np.int64)
            found.append((where + start, symbols[where]))
            beyond = np.minimum((np.maximum(symbols, e) - e) // U16(self.outside), tops[: here.size])
            number = np.minimum(symbols, e) // U16(self.inside) + beyond
            np.add(number, np.multiply(here, U16(by.shape[1]), dtype=U16), out=number)
            np.take(by.ravel(), number, out=out[start : start + size], mode="clip")
        if found:
            where, drawn = _settled(found, undecided, fill)
            inside = drawn < U64(self.limit - (edge << 48))
            out[where] = _selected(asked[where], inside, self.k, self.w, fill)[:, 0]
        return out[:, None]


# ---- several options, any number ------------------------------------------------------------------------------------


def flags(n: int, limit: int, fill: Fill) -> NDArray[np.bool_]:
    """n booleans, True with chance limit/2^64 exactly: one byte each, the byte 0 undecided ."""
    byte = fresh(n, U8, fill)
    out = byte > U8(255 - (limit >> 56)) if limit < GRID else np.ones(n, np.bool_)
    where = np.flatnonzero(byte == 0)
    out[where] = fresh(where.size, U64, fill) >> U64(8) < U64(limit & (1 << 56) - 1) if limit < GRID else True
    return out


def _selected(asked: NDArray[np.uint8], inside: NDArray[np.bool_], k: int, w: int, fill: Fill) -> NDArray[Any]:
    """Bit maps of shape (n, lanes), by the third theorem: the truth where `inside`, and a choice of the others."""
    per = next((bits for bits in (8, 16, 32) if k <= bits), 64)
    lane, lanes = np.dtype(f"u{per // 8}"), -(-k // per)
    full = np.array([[(1 << min(per, k - per * j)) - 1] for j in range(lanes)], lane)
    out, open_, size = np.empty((asked.size, lanes), lane), [], max(1024, CHUNK // 2 // lanes)
    for start in range(0, asked.size, size):
        truth, here = asked[start : start + size], inside[start : start + size]
        one = np.left_shift(lane.type(1), (truth % per).astype(lane))
        own = np.stack([one * (truth // per == j) for j in range(lanes)]) if lanes > 1 else one[None]
        candidates, chosen = full ^ own, own * here
        wanted = np.subtract(w, here.view(U8), dtype=U8)
        for _ in range((k - 1).bit_length() + 1):
            _plane(candidates, chosen, wanted, fill)
        rows = _closed(candidates, chosen, wanted)
        out[start : start + truth.size] = chosen.T
        open_.append((candidates[:, rows], wanted[rows], rows + start))
    if not open_:
        return out
    candidates, wanted, where = (np.concatenate(parts, axis=-1) for parts in zip(*open_, strict=True))
    while where.size:
        chosen = np.zeros_like(candidates)
        _plane(candidates, chosen, wanted, fill)
        rows = _closed(candidates, chosen, wanted)
        out[where] |= chosen.T
        candidates, wanted, where = np.ascontiguousarray(candidates[:, rows]), wanted[rows], where[rows]
    return out


def _plane(candidates: NDArray[Any], chosen: NDArray[Any], wanted: NDArray[np.uint8], fill: Fill) -> None:
    """One fair bit per candidate; lanes are rows here, people are columns; all in place."""
    ones = fresh(candidates.size, candidates.dtype, fill).reshape(candidates.shape)
    np.bitwise_and(ones, candidates, out=ones)
    count = np.bitwise_count(ones).sum(axis=0, dtype=U8) if len(ones) > 1 else np.bitwise_count(ones[0])
    fits = count <= wanted
    np.subtract(wanted, count * fits, out=wanted)
    mask = np.negative(fits.astype(candidates.dtype))
    np.bitwise_xor(np.bitwise_and(candidates, mask, out=candidates), ones, out=candidates)
    np.bitwise_or(chosen, np.bitwise_and(ones, mask, out=ones), out=chosen)


def _closed(candidates: NDArray[Any], chosen: NDArray[Any], wanted: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Take what can only be taken whole; returns the people still open."""
    left = np.bitwise_count(candidates).sum(axis=0, dtype=U8)
    chosen |= candidates & np.negative((left == wanted).astype(candidates.dtype))
    return np.flatnonzero((left != wanted) & (wanted != 0))


# ---- the answers ----------------------------------------------------------------------------------------------------


class ChosenSets:
    """Many sets of options: what a bulk randomisation of a choice returns.

    An answer is one character per option, as in a single draw (`answers[i]`, `texts()`); `counts()` is how many answers
    hold each option, which is all that an estimate needs; `numpy.asarray(answers)` is a table of 0 and 1.  Kept small:
    by the number of the one option (flat, one byte each), or as bits (a row each, bit j for option j).
    """

    def __init__(self, design: Mechanism, kept: NDArray[Any]) -> None:
        self.design, self._kept = design, kept

    def __repr__(self) -> str:
        return f"ChosenSets({len(self)} answers by {self.design})"

    def __len__(self) -> int:
        return len(self._kept)

    def _spread(self, part: NDArray[Any]) -> NDArray[np.uint8]:
        """Some answers as rows of 0 and 1."""
        k = self.design.truths
        if part.ndim == 1:
            return np.asarray(part[:, None] == np.arange(k, dtype=np.uint8)).view(np.uint8)
        little = np.ascontiguousarray(part.astype(part.dtype.newbyteorder("<"), copy=False))
        return np.unpackbits(little.view(np.uint8).reshape(len(part), -1), axis=1, count=k, bitorder="little")

    def _parts(self) -> Iterator[NDArray[np.uint8]]:
        return (self._spread(self._kept[start : start + AT_ONCE]) for start in range(0, len(self), AT_ONCE))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        table = np.concatenate([np.empty((0, self.design.truths), np.uint8), *self._parts()])
        return table if dtype is None else table.astype(dtype)

    def counts(self) -> NDArray[np.int64]:
        """How many answers hold each option."""
        if self._kept.ndim == 1:
            return np.bincount(self._kept, minlength=self.design.truths)
        total = np.zeros(self.design.truths, np.int64)
        for part in self._parts():
            total += part.sum(axis=0, dtype=np.int64)
        return total

    def texts(self) -> Iterator[str]:
        """The answers as they are sent, one after the other."""
        for part in self._parts():
            width = part.shape[1]
            written = (part + np.uint8(48)).tobytes().decode("ascii")
            yield from (written[place : place + width] for place in range(0, len(written), width))

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: NDArray[np.intp]) -> ChosenSets: ...
    def __getitem__(self, place: int | NDArray[np.intp]) -> str | ChosenSets:
        if isinstance(place, np.ndarray):
            return ChosenSets(self.design, self._kept[place])
        if not -len(self) <= place < len(self):
            raise IndexError(f"there are {len(self)} answers")
        place %= len(self)
        return "".join(map(str, self._spread(self._kept[place : place + 1])[0].tolist()))
