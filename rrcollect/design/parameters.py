"""The numbers a person types (ε, δ, a probability, a prevalence, a sample size), taken exactly or refused.

Rules
1. What is written is what is meant: "0.1" and the float 0.1 both mean 1/10, "1/3" means 1/3, "ln 3" means that e^ε
   is 3.  No binary rounding happens between what was typed and what is promised.
2. ε = r + ln m with rationals r and m > 0, so e^ε = m·e^r.  Sums of such numbers are such numbers: composition over
   questions stays exact.  Two of them are equal only if r and m are (Lindemann), so every comparison is decided.
3. Whatever is not a number in range (NaN, infinite, negative, a bool, "1e999999999") raises `ParameterError` with the
   name, the value and what is allowed.  No input makes parsing slow: exponents, lengths and bits are bounded, and
   more narrowly in a signed document, which strangers may have written (`SIGNED`).  The browser has the same bounds.
"""

from __future__ import annotations

import math
import numbers
import re
import struct
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import total_ordering
from typing import Any, NamedTuple

from rrcollect.design.exponential import ExpNumber, sign_at_exp
from rrcollect.errors import ParameterError


class Limits(NamedTuple):
    """How long a number's text may be, and how many bits its numerator and denominator may have."""

    characters: int
    bits: int


NumberLike = int | float | str | Decimal | Fraction
TYPED = Limits(20_000, 13_500)  # a total over hundreds of questions still fits, and Python still writes it out
SIGNED = Limits(700, 512)  # 154 digits, more than any design has; 200 of them cost a device a fraction of a second
LARGEST_EXPONENT = 4_000  # of ten, in "1e-300" and Decimal
SPACE = " \t\n\r\f\v"
WRITTEN = "an int, Fraction, Decimal, float or a str such as '0.5' or '1/3'"

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,6}))?", re.ASCII)
_QUOTIENT = re.compile(r"[+-]?[0-9]+ ?/ ?[0-9]+", re.ASCII)
_LOGARITHM = re.compile(r"ln(?:\s*\((?P<inner>[^()]*)\)|\s*(?P<bare>[^\s()/]+))", re.ASCII)


def fraction(name: str, value: object, allowed: str = WRITTEN, limits: Limits = TYPED) -> Fraction:
    """`value` as the exact number it is written as; no range is checked.

    >>> fraction("x", 0.1), fraction("x", "1/3"), fraction("x", "2.5e-3")
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 400))
    """
    exact = _exact(name, value, allowed, limits)
    if _bits(exact) > limits.bits:
        raise ParameterError(name, value, f"{allowed}, of at most {limits.bits} bits")
    return exact


def _bits(exact: Fraction) -> int:
    return max(exact.numerator.bit_length(), exact.denominator.bit_length())


def _exact(name: str, value: object, allowed: str, limits: Limits) -> Fraction:
    if isinstance(value, str):
        return _from_text(name, value, allowed, limits)
    if isinstance(value, bool):
        raise ParameterError(name, value, allowed)
    if isinstance(value, numbers.Rational):  # int, Fraction and NumPy's integers
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, float):
        return _from_text(name, float.__repr__(value), allowed, limits)
    if isinstance(value, Decimal) and value.is_finite():
        digits, exponent = value.as_tuple().digits, int(value.as_tuple().exponent)
        if len(digits) <= LARGEST_EXPONENT and abs(exponent) <= LARGEST_EXPONENT:
            return Fraction(value)
    raise ParameterError(name, value, allowed)


def _from_text(name: str, text: str, allowed: str, limits: Limits) -> Fraction:
    stripped = text.strip(SPACE)
    try:
        if len(text) > limits.characters:
            raise ValueError("too long")
        if _QUOTIENT.fullmatch(stripped):
            over, under = stripped.split("/")
            return Fraction(int(over), int(under))
        match = _DECIMAL.fullmatch(stripped)
        if match is None or abs(int(match[1] or 0)) > LARGEST_EXPONENT:
            raise ValueError("not a number")
        return Fraction(stripped)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(name, text, allowed) from None


def probability(name: str, value: object, limits: Limits = TYPED) -> Fraction:
    """`value` as an exact fraction in [0, 1].

    >>> probability("delta", "1e-6")
    Fraction(1, 1000000)
    """
    allowed = f"a number between 0 and 1 ({WRITTEN})"
    exact = fraction(name, value, allowed, limits)
    if not 0 <= exact <= 1:
        raise ParameterError(name, value, allowed)
    return exact


def whole_number(name: str, value: object, minimum: int = 1) -> int:
    """`value` as a whole number of people, answers or draws."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise ParameterError(name, value, f"a whole number, {minimum} or more")
    return int(value)


def checked_bounds(bounds: object) -> tuple[Fraction, Fraction]:
    """The range (low, high) of a number, exactly; low is below high.

    >>> checked_bounds((0, "37.5"))
    (Fraction(0, 1), Fraction(75, 2))
    """
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError("bounds", bounds, "(low, high)")
    ends = fraction("low", bounds[0]), fraction("high", bounds[1])
    if ends[0] >= ends[1]:
        raise ParameterError("bounds", bounds, "(low, high) with low below high")
    return ends


@total_ordering
class Epsilon:
    """A privacy loss ε >= 0, exactly: `rational` + ln `factor`.

    >>> Epsilon("ln 3").exp == 3
    True
    >>> Epsilon("ln(3)") + Epsilon(0.5)
    Epsilon('1/2 + ln(3)')
    >>> Epsilon(1.0986122886681098) > Epsilon("ln 3")  # the double printed is above ln 3
    True
    """

    __slots__ = ("factor", "rational")
    rational: Fraction
    factor: Fraction

    ALLOWED = f"a finite number, 0 or more: {WRITTEN}, also 'ln 3', 'ln(3/2)', '1/2 + ln(3)'"

    def __init__(self, value: EpsilonLike, limits: Limits = TYPED) -> None:
        rational, factor = Fraction(0), Fraction(1)
        if isinstance(value, Epsilon):
            rational, factor = value.rational, value.factor
        elif isinstance(value, str):
            if len(value) > limits.characters:
                raise ParameterError("epsilon", value, self.ALLOWED)
            for term in value.split(" + "):
                logarithm = _LOGARITHM.fullmatch(term.strip(SPACE))
                number = logarithm["inner"] or logarithm["bare"] or "" if logarithm else term
                exact = fraction("epsilon", number, self.ALLOWED, limits)
                rational, factor = (rational, factor * exact) if logarithm else (rational + exact, factor)
                if max(_bits(rational), _bits(factor)) > limits.bits:
                    raise ParameterError("epsilon", value, self.ALLOWED)
        else:
            rational = fraction("epsilon", value, self.ALLOWED, limits)
        self._set(rational, factor, value)

    def _set(self, rational: Fraction, factor: Fraction, given: object) -> None:
        if factor <= 0 or sign_at_exp((Fraction(-1), factor), rational) < 0:
            raise ParameterError("epsilon", given, self.ALLOWED)
        object.__setattr__(self, "rational", rational)
        object.__setattr__(self, "factor", factor)

    @classmethod
    def of_parts(cls, rational: Fraction, factor: Fraction) -> Epsilon:
        """`rational` + ln `factor`, of any length."""
        made = cls.__new__(cls)
        made._set(rational, factor, (rational, factor))
        return made

    @classmethod
    def of_ratio(cls, ratio: Fraction) -> Epsilon:
        """ln `ratio`: the ε of an answer that changes the odds by this factor."""
        return cls.of_parts(Fraction(0), ratio)

    @classmethod
    def total(cls, parts: Iterable[Epsilon]) -> Epsilon:
        """The exact sum of many: one product, reduced once.

        >>> Epsilon.total([Epsilon("ln 3"), Epsilon("ln 2"), Epsilon(1)])
        Epsilon('1 + ln(6)')
        """
        kept = list(parts)
        over, under = (math.prod(getattr(e.factor, name) for e in kept) for name in ("numerator", "denominator"))
        return cls.of_parts(sum((e.rational for e in kept), Fraction(0)), Fraction(over, under))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an Epsilon cannot be changed ({name})")

    @property
    def exp(self) -> ExpNumber:
        """e^ε, an exact number."""
        return ExpNumber.exp(self.rational, self.factor)

    def __add__(self, other: Epsilon) -> Epsilon:
        if not isinstance(other, Epsilon):
            return NotImplemented
        return Epsilon.total([self, other])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Epsilon):
            return NotImplemented
        return (self.rational, self.factor) == (other.rational, other.factor)

    def __lt__(self, other: Epsilon) -> bool:
        if not isinstance(other, Epsilon):
            return NotImplemented
        return sign_at_exp((-other.factor, self.factor), self.rational - other.rational) < 0

    def __hash__(self) -> int:
        return hash((self.rational, self.factor))

    def __float__(self) -> float:
        """The smallest double whose printed decimal is not below ε; infinite beyond the doubles."""
        try:
            guess = max(0.0, float(self.rational) + _log(self.factor))
        except OverflowError:
            return math.inf
        place = _place(guess)
        low, high, step = place, place, 1  # search among neighbouring doubles, in steps that double
        while self._above(low):
            high, low, step = low, max(low - step, -1), step * 2
        while not self._above(high):
            low, high, step = high, high + step, step * 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._above(middle) else (middle, high)
        return _double(high)

    def _above(self, place: int) -> bool:
        """Whether the double at this place prints as a number not below ε."""
        if place < 0:
            return False
        value = _double(place)
        return math.isinf(value) or Epsilon(value) >= self

    def __str__(self) -> str:
        whole, logarithm = _digits(self.rational), f"ln({_digits(self.factor)})"
        if self.factor == 1:
            return whole
        return f"{whole} + {logarithm}" if self.rational else logarithm

    def __repr__(self) -> str:
        return f"Epsilon({str(self)!r})"

    def __reduce__(self) -> tuple[Any, tuple[Fraction, Fraction]]:
        return Epsilon.of_parts, (self.rational, self.factor)


EpsilonLike = NumberLike | Epsilon


def _digits(number: Fraction) -> str:
    """The fraction as text; `Decimal` writes integers that `str` refuses for their length."""
    parts = [number.numerator] if number.denominator == 1 else [number.numerator, number.denominator]
    return "/".join(format(Decimal(part), "f") for part in parts)


def _place(value: float) -> int:
    """The number of doubles between 0 and this one."""
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def _double(place: int) -> float:
    """The double at a place; infinity at and beyond the end."""
    return float(struct.unpack("<d", struct.pack("<q", min(place, _place(math.inf))))[0])


def _log(factor: Fraction) -> float:
    """ln `factor` to a few units in the last place, also next to 1 and beyond the range of doubles."""
    if Fraction(1, 2) < factor < 2:
        return math.log1p(float(factor - 1))
    try:
        return math.log(float(factor))
    except (OverflowError, ValueError):
        return math.log(factor.numerator) - math.log(factor.denominator)
