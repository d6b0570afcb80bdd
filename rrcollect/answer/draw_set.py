"""One answer to a choice: a set of options, drawn from the operating system's generator.

Postcondition.  `randomise_choice(truth, design)` returns each set of ω options with exactly the chance of
`design.sets`, as text of k characters.

Rules
1. As in `draw`: one source, no seed, the same statements and as many bytes for every truth, nothing of either in an
   error.  The truth enters by a rotation at the end: the set is drawn for the first option and turned by the truth.
   What is looked up in a table is looked up by the answer, which is sent.
2. ω = 1: one 64-bit draw D.  R/2^64 is the chance of each other option; the step min(D div R, k − 1) goes back from the
   option before the truth, so that k − 1 steps end at the truth itself.
3. ω >= 2: 64 bits say whether the truth is in (D < P), then one whole number V, uniform below (k−1)(k−2)…(k−ω), gives
   the others by Floyd's sampling among the k − 1 other options.  Its *first* element gives way to the truth if that is
   in: the others are then uniform of one fewer (with the last one giving way half of the sets would not occur).
   V comes from 64 bits more than it needs, and is drawn again while it is not below the greatest multiple of its bound:
   never a remainder that favours somebody.  The chance of that is below 2^-64.
4. The mapping from draws to answers is part of the format: `tests/vectors/sets.json`.
"""

from __future__ import annotations

import math
import os
from functools import lru_cache

from rrcollect.answer.draw import Source, random_bytes, wrong_design
from rrcollect.design.sets import SetDesign
from rrcollect.errors import BadTruth


def option_index(truth: object, options: int) -> int:
    """The truth as the number of an option; an error that does not show it otherwise."""
    kind = type(truth)
    if kind is int or (kind is not bool and kind.__name__.startswith(("int", "uint"))):  # NumPy's without importing it
        index = int(truth)  # type: ignore[call-overload]
        if 0 <= index < options:
            return int(index)
    raise BadTruth(f"the truth must be the number of an option, 0 to {options - 1}; what was given is not shown")


def randomise_choice(truth: int, design: SetDesign, *, source: Source = os.urandom) -> str:
    """The set to send instead of the truth (an option's number), one character per option.

    >>> design = SetDesign(4, 1, "1/2").to_grid()
    >>> [randomise_choice(2, design, source=lambda n, byte=byte: byte * n) for byte in (b"\\x00", b"\\xff")]
    ['0100', '0010']
    """
    try:
        limit, k = design.limit, design.options
    except AttributeError:
        wrong_design(design, SetDesign)
    if limit is None:
        limit = design.applied_limit
    index = option_index(truth, k)
    if design.size == 1:
        drawn = int.from_bytes(random_bytes(8, source), "big")
        step = min(drawn // limit, k - 1) if limit else k - 1
        return _singles(k)[(index - 1 - step) % k]
    said = _set(limit, k, design.size, source)
    turned = (said << index | said >> (k - index)) & ((1 << k) - 1)
    return f"{turned:0{k}b}"[::-1]


@lru_cache(maxsize=256)
def _singles(k: int) -> tuple[str, ...]:
    """The sets of one option; taken by what is sent."""
    return tuple("0" * option + "1" + "0" * (k - 1 - option) for option in range(k))


def _set(limit: int, k: int, size: int, source: Source) -> int:
    """The set of several options for the truth 0, as bits."""
    bound, length, accepted = _ways(k, size)
    drawn = random_bytes(8 + length, source)
    inside, number = int(int.from_bytes(drawn[:8], "big") < limit), int.from_bytes(drawn[8:], "big")
    while number >= accepted:
        number = int.from_bytes(random_bytes(length, source), "big")
    return chosen_set(inside, number % bound, k, size)


def chosen_set(inside: int, number: int, k: int, size: int) -> int:
    """The set that this number stands for (rule 3); the truth, option 0, is in it if `inside` is 1."""
    number, first = divmod(number, k - size)
    said = 1 << (1 - inside) * (1 + first)
    for place in range(k - size, k - 1):
        number, other = divmod(number, place + 1)
        taken = said >> (1 + other) & 1
        said |= 1 << (1 + other + taken * (place - other))
    return said


@lru_cache(maxsize=256)
def _ways(k: int, size: int) -> tuple[int, int, int]:
    """(how many numbers there are, bytes to draw, the greatest multiple that fits into them)."""
    bound = math.perm(k - 1, size)
    length = -(-bound.bit_length() // 8) + 8
    return bound, length, (1 << 8 * length) // bound * bound
