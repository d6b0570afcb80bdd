"""One answer about a number in [low, high]: one bit, whose chance to be 1 grows evenly with the number.

Postcondition.  With x = (number − low)/(high − low), exactly, and (T0, T1) the design's thresholds on 2^64, the
answer is 1 with chance exactly τ/2^64,

    τ = T0 + ⌊(T1 − T0)·⌊x·2^64⌋/2^64⌋,        T0 <= τ <= T1,

so the promise is the design's, whatever the rounding, and the mean that is estimated is off by less than
2^-64 (1 + 1/c) of the range.

Rules
1. As in `draw`: one source, no seed, eight bytes and the same statements for every number of one type (the arithmetic
   is that of whole numbers), nothing of it in an error.
2. A number is taken exactly: whole numbers, Fraction and Decimal as they are, a float as the binary fraction it is
   (0.1 is 3602879701896397/2^55).  NaN and infinities are refused.
3. What lies outside is refused; with `clip`, which the survey says and nobody else, it is brought to the nearer end.
"""

from __future__ import annotations

import os
from decimal import Decimal
from fractions import Fraction

from rrcollect.answer.draw import Source, random_bytes, thresholds
from rrcollect.design.mechanism import GRID
from rrcollect.design.parameters import NumberLike
from rrcollect.design.yes_no import Design
from rrcollect.errors import BadTruth
from rrcollect.publish.number_range import bounds

HIDDEN = "what was given is not shown"


def threshold(number: object, limits: tuple[int, int], low: Fraction, high: Fraction, *, clip: bool = False) -> int:
    """τ: 64 random bits below it say 1.

    >>> threshold(Fraction(1, 2), (0, GRID), Fraction(0), Fraction(1)) * 2 == GRID
    True
    """
    upper, lower = _ratio(number)
    (a, b), (c, d) = low.as_integer_ratio(), high.as_integer_ratio()
    above, width = (upper * b - a * lower) * d, (c * b - a * d) * lower  # x = above/width, both over the same
    inside = min(max(above, 0), width)
    if inside != above and not clip:
        raise BadTruth(f"the truth must lie from {low} to {high} (the survey does not say `clip`); {HIDDEN}")
    return limits[0] + ((limits[1] - limits[0]) * (inside * GRID // width) >> 64)


def _ratio(number: object) -> tuple[int, int]:
    """The number as whole numbers, one over the other, exactly (rule 2)."""
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


def randomise_number(
    truth: NumberLike,
    design: Design,
    low: NumberLike,
    high: NumberLike,
    *,
    clip: bool = False,
    source: Source = os.urandom,
) -> int:
    """The bit to send instead of a number in [low, high].

    >>> randomise_number(40, Design("3/4", "3/4"), 0, 40, source=lambda n: b"\\x80" + bytes(n - 1))
    1
    >>> randomise_number(0, Design("3/4", "3/4"), 0, 40, source=lambda n: b"\\x80" + bytes(n - 1))
    0
    """
    limit = threshold(truth, thresholds(design), *bounds(low, high), clip=clip)
    return int(int.from_bytes(random_bytes(8, source), "big") < limit)
