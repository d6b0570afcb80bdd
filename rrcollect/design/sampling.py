"""One answer: random bits from the operating system, compared with the design's thresholds.

Yes/no: 64 bits D.  The answer is 1 if D is below T0 for the truth "no", below T1 for the truth "yes": with chance
exactly T/2^64.

A number in [low, high]: one bit, whose chance to be 1 grows evenly with the number.  With x = (number − low)/(high −
low), exactly, the answer is 1 with chance exactly τ/2^64,

    τ = T0 + ⌊(T1 − T0)·⌊x·2^64⌋/2^64⌋,        T0 <= τ <= T1,

so the promise is the design's, whatever the rounding, and the mean that is estimated is off by less than
2^-64 (1 + 1/c) of the range.

A set of ω of k options, each with exactly the chance of `sets`.  ω = 1: one 64-bit draw D.  R/2^64 is the chance of
each other option; the step min(D div R, k − 1) goes back from the option before the truth, so that k − 1 steps end at
the truth itself.  ω >= 2: 64 bits say whether the truth is in (D < P), then one whole number V, uniform below
(k−1)(k−2)…(k−ω), gives the others by Floyd's sampling among the k − 1 other options.  Its *first* element gives way to
the truth if that is in: the others are then uniform of one fewer (with the last one giving way half of the sets would
not occur).  V comes from 64 bits more than it needs, and is drawn again while it is not below the greatest multiple of
its bound: never a remainder that favours somebody.  The chance of that is below 2^-64.

Rules
1. The source of random bytes is the operating system's generator; there is no seed.  A test may pass another source.
2. The same statements run for all truths of one type, on the same number of random bytes.  A draw of yes or no is
   compared with both thresholds.  The truth enters once, in an "and" with whether the two results differ; where they do
   not differ, it chooses nothing.  Two other ways would take a time that depends on the truth:
   - The truth as an index.  The processor predicts the index, and takes longer over the rarer truth.
   - A comparison that checks the type of the truth.  In CPython 3.11 its result is the object True, and a truth of True
     then waits for the reference count of that object (7 ns of 600).  So the type is looked up in a table.
   A set is drawn for the first option and turned by the truth at the end.  What is looked up in a table is looked up by
   the answer, which is sent.
3. Neither the truth nor the draw appears in an error.  If random bytes are missing, an error is raised instead of an
   answer.
4. A number is taken exactly: whole numbers, Fraction and Decimal as they are, a float as the binary fraction it is
   (0.1 is 3602879701896397/2^55).  NaN and infinities are refused.  What lies outside is refused; with `clip`, which
   the survey says and nobody else, it is brought to the nearer end.
5. The mapping from draws to answers is part of the format: `tests/vectors/draws.json`, `sets.json`, `numbers.json`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from rrcollect.errors import BadTruth, NoRandomness

Source = Callable[[int], bytes]
Range = tuple[Fraction, Fraction]
HIDDEN = "what was given is not shown"
_BOOLEANS: dict[type, None] = {bool: None}
_SAID = ("0", "1")


def random_bytes(n: int, source: Source) -> bytes:
    """Exactly `n` bytes from the source, or an error (`NoRandomness`)."""
    try:
        drawn = source(n)
    except Exception as error:
        raise NoRandomness(f"the secure generator failed ({type(error).__name__}); no answer was made") from None
    if not isinstance(drawn, bytes) or len(drawn) != n:
        raise NoRandomness(f"the secure generator did not return {n} bytes; no answer was made")
    return drawn


# ---- yes and no -----------------------------------------------------------------------------------------------------


def plain_truth(truth: object) -> bool:
    """The truth as a bool, if it is True, False, 1 or 0; otherwise an error that does not show it."""
    try:
        _BOOLEANS[type(truth)]  # rule 2: not by a comparison
    except KeyError:
        return _other_truth(truth)
    return truth  # type: ignore[return-value]


def _other_truth(truth: object) -> bool:
    if type(truth).__name__ in ("int", "bool_", "bool") and truth in (0, 1):  # NumPy's booleans without importing NumPy
        return bool(truth)
    raise BadTruth(f"the truth must be True or False (or 1 or 0); {HIDDEN}")


def drawn_bit(truth: object, limits: tuple[int, int], source: Source) -> str:
    """The answer to yes or no by thresholds (T0, T1)."""
    row = plain_truth(truth)
    drawn = int.from_bytes(random_bytes(8, source), "big")
    no, yes = drawn < limits[0], drawn < limits[1]
    return _SAID[no ^ ((no ^ yes) & row)]


# ---- a number -------------------------------------------------------------------------------------------------------


def drawn_number(number: object, limits: tuple[int, int], bounds: Range, source: Source, *, clip: bool) -> str:
    """The answer about a number within these bounds by thresholds (T0, T1)."""
    limit = threshold(number, limits, *bounds, clip=clip)
    return _SAID[int.from_bytes(random_bytes(8, source), "big") < limit]


def threshold(number: object, limits: tuple[int, int], low: Fraction, high: Fraction, *, clip: bool = False) -> int:
    """τ: 64 random bits below it say 1.

    >>> threshold(Fraction(1, 2), (0, 1 << 64), Fraction(0), Fraction(1)) * 2 == 1 << 64
    True
    """
    inside, width = _inside(number, low, high, clip=clip)
    return limits[0] + ((limits[1] - limits[0]) * ((inside << 64) // width) >> 64)


def bin_of(number: object, low: Fraction, high: Fraction, bins: int, *, clip: bool = False) -> int:
    """In which of so many equal parts of its range a number lies, from 0 on; on an edge it is the part above, at the
    upper end the last.

    >>> [bin_of(number, Fraction(0), Fraction(8), 4) for number in (0, 2, 7.9, 8)]
    [0, 1, 3, 3]
    """
    inside, width = _inside(number, low, high, clip=clip)
    return min(inside * bins // width, bins - 1)


def _inside(number: object, low: Fraction, high: Fraction, *, clip: bool) -> tuple[int, int]:
    """How far a number lies above the lower end, and the width of the range, both as whole numbers over the same."""
    upper, lower = _ratio(number)
    (a, b), (c, d) = low.as_integer_ratio(), high.as_integer_ratio()
    above, width = (upper * b - a * lower) * d, (c * b - a * d) * lower
    inside = min(max(above, 0), width)
    if inside != above and not clip:
        raise BadTruth(f"the truth must lie from {low} to {high} (the survey does not say `clip`); {HIDDEN}")
    return inside, width


def _ratio(number: object) -> tuple[int, int]:
    """The number as whole numbers, one over the other, exactly (rule 4)."""
    kind = type(number).__name__
    if isinstance(number, bool) or not (
        isinstance(number, (int, float, Fraction, Decimal)) or kind.startswith("float")
    ):
        raise BadTruth(f"the truth must be a number, not a {'bool' if isinstance(number, bool) else kind}; {HIDDEN}")
    plain = number if isinstance(number, (int, float, Fraction, Decimal)) else float(number)  # type: ignore[arg-type]
    try:
        return plain.as_integer_ratio()
    except (ValueError, OverflowError):
        raise BadTruth(f"the truth must be a finite number; {HIDDEN}") from None


# ---- sets of options ------------------------------------------------------------------------------------------------


def option_index(truth: object, options: int) -> int:
    """The truth as the number of an option; an error that does not show it otherwise."""
    kind = type(truth)
    if kind is int or (kind is not bool and kind.__name__.startswith(("int", "uint"))):  # NumPy's without importing it
        index = int(truth)  # type: ignore[call-overload]
        if 0 <= index < options:
            return int(index)
    raise BadTruth(f"the truth must be the number of an option, 0 to {options - 1}; {HIDDEN}")


def drawn_set(truth: object, limit: int, k: int, size: int, source: Source) -> str:
    """The set to send instead of an option's number, one character per option."""
    index = option_index(truth, k)
    if size == 1:
        drawn = int.from_bytes(random_bytes(8, source), "big")
        step = min(drawn // limit, k - 1) if limit else k - 1
        return _singles(k)[(index - 1 - step) % k]
    said = _set(limit, k, size, source)
    turned = (said << index | said >> (k - index)) & ((1 << k) - 1)
    return f"{turned:0{k}b}"[::-1]


@lru_cache(maxsize=256)
def _singles(k: int) -> tuple[str, ...]:
    """The sets of one option; taken by what is sent."""
    return tuple("0" * option + "1" + "0" * (k - 1 - option) for option in range(k))


def _set(limit: int, k: int, size: int, source: Source) -> int:
    """The set of several options for the truth 0, as bits."""
    inside, number = drawn_below(limit, math.perm(k - 1, size), source)
    return chosen_set(inside, number, k, size)


def chosen_set(inside: int, number: int, k: int, size: int) -> int:
    """The set that this number stands for; the truth, option 0, is in it if `inside` is 1."""
    number, first = divmod(number, k - size)
    said = 1 << (1 - inside) * (1 + first)
    for place in range(k - size, k - 1):
        number, other = divmod(number, place + 1)
        taken = said >> (1 + other) & 1
        said |= 1 << (1 + other + taken * (place - other))
    return said


def drawn_below(limit: int, bound: int, source: Source) -> tuple[int, int]:
    """(1 if the first 64 bits are below the limit, a whole number below the bound, uniform)."""
    length, accepted = _accepted(bound)
    drawn = random_bytes(8 + length, source)
    inside, number = int(int.from_bytes(drawn[:8], "big") < limit), int.from_bytes(drawn[8:], "big")
    while number >= accepted:
        number = int.from_bytes(random_bytes(length, source), "big")
    return inside, number % bound


@lru_cache(maxsize=256)
def _accepted(bound: int) -> tuple[int, int]:
    """(bytes to draw, the greatest multiple of the bound that fits into them)."""
    length = -(-bound.bit_length() // 8) + 8
    return length, (1 << 8 * length) // bound * bound
