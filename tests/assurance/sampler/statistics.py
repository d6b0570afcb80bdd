"""Are a billion answers distributed and independent as the design says?  Helper of the check `sampler`.

Answers come as words of 64.  With the truths known, and the law exact, under the claim
* the ones among the answers to one truth at one place (a bit of a word; a word of a chunk) are binomial;
* an answer differs from the one `lag` places later with probability 2pq.  The pairs (i, i + lag) with ⌊i/lag⌋ even are
  disjoint, and so are those with it odd: each half's count is binomial.  A sum that is off by d has a half off by d/2,
  so the two halves' binomial tails beyond d/2 bound the chance of it, without approximation.
Every comparison yields such a chance; the search fails if one is below `ALARM / MOST`, MOST bounding the comparisons of
a whole run.  So a sound sampler is accused with probability below ALARM = 1e-9 per run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from rrcollect import Design, optimal_design, randomise_many
from tests.inside.design import bulk_bits as packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]

ALARM, MOST = 1e-9, 2 * 10**6
Sampler = Callable[["Words", Design], "Words"]
"""Words of answers to words of truths."""


@dataclass(frozen=True)
class Run:
    """A design, and what the truths are: "mixed", "no" or "yes"."""

    design: Design
    truths: str

    def words(self, how_many: int) -> Words:
        """That many words of truths."""
        if self.truths == "mixed":
            return np.frombuffer(os.urandom(how_many * 8), np.uint64)
        return np.full(how_many, 2**64 - 1 if self.truths == "yes" else 0, np.uint64)


SKEW = Design("0.7311", "0.8177").to_grid()
ODD = Design(Fraction(0x7A1F << 48 | 0xFFFF12345678, 2**64), Fraction(0xD0FEDCBA98765433, 2**64))
RUNS = (
    Run(optimal_design(1), "mixed"),
    Run(optimal_design(1), "yes"),
    Run(optimal_design("1/1000000"), "mixed"),
    Run(optimal_design("1/2", "1/10"), "mixed"),
    Run(Design("3/4", "3/4"), "mixed"),
    Run(SKEW, "mixed"),
    Run(SKEW, "yes"),
    Run(SKEW, "no"),
    Run(ODD, "mixed"),
    Run(ODD, "yes"),
    Run(ODD, "no"),
    Run(Design("1/20", 1).to_grid(), "mixed"),
    Run(Design("1/20", 1).to_grid(), "no"),
    Run(Design(1, "1/20").to_grid(), "yes"),
    Run(optimal_design(8), "mixed"),
)


def booleans(truths: Words, design: Design, **options: Any) -> Words:
    """Through `randomise_many`."""
    asked = np.unpackbits(truths.view(np.uint8), bitorder="little").view(np.bool_)
    return np.packbits(randomise_many(asked, design, **options), bitorder="little").view(np.uint64)


def eight_per_byte(truths: Words, design: Design, **options: Any) -> Words:
    """Through `randomise_many`, packed."""
    return randomise_many(truths.view(np.uint8), design, packed=True, **options).view(np.uint64)


def chances(run: Run, truths: Words, answers: Words) -> Iterator[tuple[str, int, float]]:
    """(kind of comparison, how many, the least chance, under the claim, of what one of them saw or worse)."""
    said_yes = [float(row[1]) for row in run.design.matrix]
    for truth, name in ((0, "no"), (1, "yes")):
        mask = truths if truth else ~truths
        among = answers & mask
        asked, ones = _by_bit(mask), _by_bit(among)
        yield f"all answers to {name}", 1, _least(ones.sum(), asked.sum(), said_yes[truth])
        yield f"bits of a word, {name}", 64, _least(ones, asked, said_yes[truth])
        for chunk in {packed.CHUNK} if answers.size > packed.CHUNK else set():
            whole = answers.size // chunk * chunk
            places = [np.bitwise_count(w[:whole]).reshape(-1, chunk).sum(axis=0, dtype=np.int64) for w in (among, mask)]
            yield f"words of a chunk, {name}", chunk, _least(places[0], places[1], said_yes[truth])
    p = said_yes[1 if run.truths == "yes" else 0]
    if run.truths != "mixed":
        yield from _pairs(answers, p)
    elif run.design.p00 == run.design.p11:
        yield from _pairs(answers ^ truths, p)


def _by_bit(words: Words) -> NDArray[np.int64]:
    """How many words have each of the 64 bits."""
    one = np.uint64(1)
    return np.array([int(((words >> np.uint64(b)) & one).sum()) for b in range(64)], np.int64)


def _least(ones: Any, asked: Any, p: float) -> float:
    """The least two-sided binomial chance of several counts."""
    found = 2 * np.minimum(binom.cdf(ones, asked, p), binom.sf(np.asarray(ones) - 1, asked, p))
    return float(np.min(found))


def _pairs(same_law: Words, p: float) -> Iterator[tuple[str, int, float]]:
    """Every lag up to 64, and those of the samplers' chunks and blocks."""
    differ = 2 * p * (1 - p)
    for lag in range(1, 64):
        later = (same_law[:-1] >> np.uint64(lag)) | (same_law[1:] << np.uint64(64 - lag))
        yield f"pairs {lag} apart", 1, _pair_chance(same_law[:-1] ^ later, lag, differ)
    for words in sorted({1, packed.CHUNK, packed.BLOCK}):
        if 2 * words <= same_law.size:
            yield f"pairs {64 * words} apart", 1, _pair_chance(same_law[:-words] ^ same_law[words:], 64 * words, differ)


def _pair_chance(differing: Words, lag: int, p: float) -> float:
    pairs = differing.size * 64
    off = abs(int(np.bitwise_count(differing).sum(dtype=np.int64)) - pairs * p) / 2
    even = pairs // (2 * lag) * lag + min(pairs % (2 * lag), lag)
    chance = 0.0
    for half in (even, pairs - even):
        chance += binom.cdf(np.floor(half * p - off), half, p) + binom.sf(np.ceil(half * p + off) - 1, half, p)
    return float(min(1.0, chance))


# ---- planted bugs ---------------------------------------------------------------------------------------------------


def reusing(truths: Words, design: Design) -> Words:
    """The library's sampler on a keystream that starts again with every chunk."""
    stream = np.frombuffer(os.urandom(8 * packed.PLANES * packed.CHUNK), np.uint8)

    def fill(buffer: NDArray[np.uint8]) -> None:
        buffer[:] = np.resize(stream, buffer.size)

    return booleans(truths, design, fill=fill)


def biased(truths: Words, design: Design) -> Words:
    """The library's sampler on a keystream whose every eighth byte lacks its highest bit."""

    def fill(buffer: NDArray[np.uint8]) -> None:
        buffer[:] = np.frombuffer(os.urandom(buffer.size), np.uint8)
        buffer[::8] &= 127

    return booleans(truths, design, fill=fill)


def unresolved(truths: Words, design: Design) -> Words:
    """One byte per answer, and the byte that decides nothing is not looked at again."""
    limits = np.array([int(256 * row[1]) for row in design.matrix], np.uint16)
    asked = np.unpackbits(truths.view(np.uint8), bitorder="little")
    drawn = np.frombuffer(os.urandom(asked.size), np.uint8)
    return np.packbits(drawn < limits[asked], bitorder="little").view(np.uint64)


def off_by_one(truths: Words, design: Design, sampler: Sampler = booleans) -> Words:
    """The library's sampler with thresholds one step of 1/256 too high."""
    step = Fraction(1, 256)
    return sampler(truths, Design(design.p00 - step, design.p11 + step))


def copying(truths: Words, design: Design, sampler: Sampler = booleans) -> Words:
    """The library's sampler, but the second bit of every word says what the first does."""
    said = sampler(truths, design) ^ truths
    return truths ^ ((said & np.uint64(2**64 - 1 - 2)) | ((said & np.uint64(1)) << np.uint64(1)))
