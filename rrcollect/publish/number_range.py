"""The range of a number, exactly: known to devices, plans and estimates alike, and without the documents around it."""

from __future__ import annotations

from fractions import Fraction

from rrcollect.design.parameters import NumberLike, fraction
from rrcollect.errors import ParameterError


def bounds(low: NumberLike, high: NumberLike) -> tuple[Fraction, Fraction]:
    """(low, high), exactly; low is below high.

    >>> bounds(0, "37.5")
    (Fraction(0, 1), Fraction(75, 2))
    """
    ends = fraction("low", low), fraction("high", high)
    if ends[0] >= ends[1]:
        raise ParameterError("low and high", (low, high), "low below high")
    return ends
