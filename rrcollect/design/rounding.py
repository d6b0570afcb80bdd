"""Numbers for people: few digits, rounded to the safe side and never to the nearest.

Rules
1. What is called "at most" is rounded up and what is called "at least" is rounded down, decided exactly.
2. A number that has so few digits stays as it is: 81 is at most 81.
"""

from __future__ import annotations

import math
from fractions import Fraction

from rrcollect.design.exponential import ExpNumber


def rounded_up(value: Fraction | ExpNumber, digits: int = 3) -> Fraction:
    """The least number with so many digits that is not below the value, which is 0 or more.

    >>> rounded_up(Fraction(81)), rounded_up(Fraction(3001, 1000)), rounded_up(Fraction(9991, 10))
    (Fraction(81, 1), Fraction(301, 100), Fraction(1000, 1))
    """
    most, unit = 10**digits, Fraction(1)
    if value <= 0:
        return Fraction(0)
    while value > most * unit:
        unit *= 10
    while value <= most * unit / 10:
        unit /= 10
    low, high = most // 10, int(most)  # low·unit < value <= high·unit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if value <= middle * unit else (middle, high)
    return high * unit


def rounded_down(value: Fraction, digits: int = 3) -> Fraction:
    """The largest number with so many digits that is not above the value, which is 0 or more.

    >>> rounded_down(Fraction(1, 4)), rounded_down(Fraction(2, 3))
    (Fraction(1, 4), Fraction(333, 500))
    """
    unit = Fraction(1)
    if value <= 0:
        return Fraction(0)
    while value >= unit * 10**digits:
        unit *= 10
    while value < unit * 10 ** (digits - 1):
        unit /= 10
    return math.floor(value / unit) * unit


def decimal(value: Fraction) -> str:
    """A number of finitely many decimal digits, written with all of them and no more.

    >>> decimal(Fraction(301, 100)), decimal(Fraction(59100)), decimal(Fraction(1, 8))
    ('3.01', '59100', '0.125')
    """
    places = 0
    while value.denominator != 1:
        value, places = value * 10, places + 1
    digits = str(value.numerator).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def at_most(value: Fraction | ExpNumber, digits: int = 3) -> str:
    """The value rounded up, as text.

    >>> at_most(Fraction(2187, 1000)), at_most(Fraction(59049))
    ('2.19', '59100')
    """
    return decimal(rounded_up(value, digits))


def at_least(value: Fraction, digits: int = 3) -> str:
    """The value rounded down, as text.

    >>> at_least(Fraction(2187, 1000))
    '2.18'
    """
    return decimal(rounded_down(value, digits))
