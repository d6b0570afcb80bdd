"""Counts of blocks: in how many reported blocks each option lies, exactly.

Let c be the counts of the blocks of PG(t−1, q) and N(v) = Σ c(u) over the blocks u that hold the option v (u·v = 0).
Blocks (1, w) and (0, u′), options (1, s·v′) and (0, v′), v′ a point of PG(t−2, q), fall apart:

    N(0, v′) = h_v′(0) + N′(v′),    N(1, s·v′) = h_v′(−1/s) + N′(v′),    N(1, 0) = Σ c(0, u′)

where N′ belongs to the blocks (0, u′), which are those of PG(t−2, q), and h_v′(b) = Σ of c(1, w) with w·v′ = b.  With
the transform F of c(1, ·) over (Z_q)^(t−1), F(s·v′) is that of h_v′ over Z_q: so one transform of q^(t−1) real numbers,
and one of q numbers for each v′, give N, and the same again in one dimension less gives N′.

Rules
1. Counts are split into limbs of 16 bits (almost always one) and every limb is transformed by itself, so that for n up
   to 2^40 answers the error stays far below the 1/2 that rounding forgives: an FFT of N numbers x is off by at most a
   few ε log2 N ‖x‖₂, and ‖x‖₂ <= √(2^16 · 2^40) = 2^28.
2. The result is checked: Σ N(v) = nω exactly, and N of 8 options drawn at random is what inner products give.
3. A few options are had without a transform, by inner products of all blocks with each.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rrcollect.design.space import Space
from rrcollect.lazy import extra

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
LIMB = 16
CHECKED = 8


def ones_of_all(counts: Sequence[int], space: Space) -> Ints:
    """In how many of the counted blocks each option lies.

    >>> ones_of_all([5, 0, 0, 2, 0, 1, 0], Space(2, 3)).tolist()
    [1, 2, 2, 1, 5, 8, 5]
    """
    given = np.array(counts, np.int64)
    found, shift = np.zeros(given.size, np.int64), 0
    while not shift or (given >> shift).any():
        limb = ((given >> shift) & ((1 << LIMB) - 1)).astype(np.float64)
        found += np.rint(_ones(limb, *space)).astype(np.int64) << shift
        shift += LIMB
    drawn = [secrets.randbelow(given.size) for _ in range(CHECKED)]
    sound = int(found.sum()) == int(given.sum()) * space.sizes[1]
    if not sound or any(int(found[option]) != ones_of(given, space, option) for option in drawn):
        raise ArithmeticError("the transform of the counts does not agree with their sums: nothing is told from it")
    return found


def _ones(counts: Floats, q: int, t: int) -> Floats:
    """The recursion above, in floats."""
    if t == 1:
        return np.zeros(1)
    fft, m, half = extra("scipy.fft", "estimate"), q ** (t - 1), q // 2 + 1
    below = _ones(counts[m:], q, t - 1)
    transform = fft.rfftn(counts[:m].reshape((q,) * (t - 1))).ravel()
    places = _multiples(q, t - 1)
    lines = np.empty((half, below.size), np.complex128)
    lines[0] = transform[0]
    for s in range(1, half):  # of a real function F(−v) is the conjugate of F(v): half of them are there
        near = places[s] % q < half
        vectors = np.where(near, places[s], places[q - s])
        value = transform[vectors // q * half + vectors % q]
        lines[s] = np.where(near, value, value.conj())
    sums = fft.irfft(lines, n=q, axis=0)
    found = np.empty(counts.size)
    found[0] = counts[m:].sum()
    found[m:] = sums[0] + below
    for s in range(1, q):
        found[places[s]] = sums[-pow(s, -1, q) % q] + below
    return found


def _multiples(q: int, t: int) -> list[NDArray[np.int32]]:
    """By s the vectors s·v of all points v of PG(t−1, q)."""
    found = []
    for s in range(q):
        every, points = np.zeros(1, np.int32), []
        for a in range(t):
            points.append(np.int32(s * q**a) + every)
            digits = (np.arange(q) * s % q * q**a).astype(np.int32) if a < t - 1 else np.zeros(0, np.int32)
            every = (digits[:, None] + every).ravel()
        found.append(np.concatenate(points[::-1]))
    return found


def held_by(space: Space, option: int) -> NDArray[np.bool_]:
    """Of every block, by its number, whether it holds this option."""
    q, vector = space.q, space.vector(option)
    product, held = np.zeros(1, np.uint16), []
    for a in range(space.t):  # of all vectors of so many coordinates, the last ones first
        digit = vector // q**a % q
        held.append(product == -digit % q)
        if a < space.t - 1:
            wrapped = (np.arange(q) * digit % q).astype(np.uint16)[:, None] + product
            product = np.where(wrapped < q, wrapped, wrapped - np.uint16(q)).ravel()
    return np.concatenate(held[::-1])


def ones_of(counts: Sequence[int] | Ints, space: Space, option: int) -> int:
    """In how many of the counted blocks one option lies."""
    return int(np.asarray(counts)[held_by(space, option)].sum())


def together(counts: Sequence[int] | Ints, space: Space, i: int, j: int) -> int:
    """In how many of the counted blocks both options lie."""
    return int(np.asarray(counts)[held_by(space, i) & held_by(space, j)].sum())
