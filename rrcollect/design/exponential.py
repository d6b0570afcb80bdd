"""e^ε without floats: certified bounds, and exact arithmetic with numbers that contain it.

Theorem (Lindemann).  For a rational r ≠ 0 the number t = e^r is transcendental.  Hence a polynomial in t with
rational coefficients is 0 only if all its coefficients are, and the sign of every other one is found by bounding
t closely enough: each loop below that refines "until decided" ends.

`ExpNumber` is a number of the ordered field Q(e^r): a quotient of two such polynomials.  The formulas of the paper
(q, K, g, every variance and every comparison of variances) are numbers of this field, so they can be written as in
the paper and are decided exactly.

Callers: `parameters` (comparing ε), `promise` (does a design keep one), `optimal` and its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

Polynomial = tuple[Fraction, ...]  # coefficients, lowest power first, no zero at the end; () is the number 0
REDUCE_FROM = 6  # coefficients; shorter quotients are not worth a search for common factors
HUGE = 1 << 10  # beyond this exponent a quotient is told from its limit by comparison, not by writing e^r out


@lru_cache(maxsize=4096)
def _scaled_exp(numerator: int, denominator: int, bits: int) -> tuple[int, int, int]:
    """(low, high, w) with low/2^w <= e^(numerator/denominator) <= high/2^w, for a positive exponent.

    Taylor's series at y = x/2^k <= 2^-8, in integers scaled by 2^w, then k squarings.  Every term is floored and
    loses less than 2 units, the tail after the last non-zero term is below 2 more; squarings are rounded outward.
    """
    k = (numerator // denominator + 1).bit_length() + 8
    w = bits + k + 16
    divisor = denominator << k
    low = term = 1 << w
    terms = 0
    while term:
        terms += 1
        term = term * numerator // (divisor * terms)
        low += term
    high = low + 2 * terms + 2
    for _ in range(k):
        low = low * low >> w
        high = (high * high >> w) + 1
    return low, high, w


def _evaluate(coefficients: Sequence[int], low: int, high: int, w: int) -> tuple[int, int]:
    """Bounds of 2^(w·degree) · Σ a_i t^i for low/2^w <= t <= high/2^w, t > 0: each term is monotone in t."""
    degree = len(coefficients) - 1
    least = most = 0
    power_low = power_high = 1
    for i, a in enumerate(coefficients):
        shift = w * (degree - i)
        least += (a * (power_low if a > 0 else power_high)) << shift
        most += (a * (power_high if a > 0 else power_low)) << shift
        power_low *= low
        power_high *= high
    return least, most


def _integers(coefficients: Iterable[Fraction]) -> list[int]:
    """The coefficients times their common denominator."""
    kept = list(coefficients)
    scale = math.lcm(*(a.denominator for a in kept))
    return [a.numerator * (scale // a.denominator) for a in kept]


def _sign(number: int | Fraction) -> int:
    return (number > 0) - (number < 0)


def sign_at_exp(coefficients: Sequence[Fraction], r: Fraction) -> int:
    """The sign (-1, 0, 1) of Σ a_i t^i at t = e^r, exactly.

    >>> sign_at_exp([Fraction(-271828, 100000), Fraction(1)], Fraction(1))  # e > 2.71828
    1
    """
    trimmed = _trim(coefficients)
    if len(trimmed) <= 1 or r == 0:
        return _sign(sum(trimmed, Fraction(0)))
    if r < 0:  # multiply by t^-degree > 0: the polynomial read backwards, at e^-r
        return sign_at_exp(trimmed[::-1], -r)
    whole = _integers(trimmed)
    cauchy = 1 + max(abs(a) for a in whole[:-1]) // abs(whole[-1]) + 1  # no root of the polynomial is larger
    if r >= cauchy.bit_length():  # e^r > 2^r >= that bound: the leading term decides, however huge r is
        return _sign(whole[-1])
    bits = 64
    while True:
        least, most = _evaluate(whole, *_scaled_exp(r.numerator, r.denominator, bits))
        if least > 0 or most < 0:
            return 1 if least > 0 else -1
        bits *= 2


def _trim(coefficients: Sequence[Fraction]) -> Polynomial:
    end = len(coefficients)
    while end and coefficients[end - 1] == 0:
        end -= 1
    return tuple(coefficients[:end])


def _add(a: Polynomial, b: Polynomial) -> Polynomial:
    if len(a) < len(b):
        a, b = b, a
    return _trim([x + b[i] if i < len(b) else x for i, x in enumerate(a)])


def _multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    if not a or not b:
        return ()
    product = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            product[i + j] += x * y
    return tuple(product)


def _divide(a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Quotient and remainder."""
    rest, quotient = list(a), [Fraction(0)] * max(0, len(a) - len(b) + 1)
    for i in reversed(range(len(quotient))):
        factor = rest[i + len(b) - 1] / b[-1]
        quotient[i] = factor
        for j, y in enumerate(b):
            rest[i + j] -= factor * y
    return tuple(quotient), _trim(rest)


def _reduced(over: Polynomial, under: Polynomial) -> tuple[Polynomial, Polynomial]:
    """The same quotient without common factors (Euclid), so that long formulas stay small."""
    a, b = under, over
    while b:
        a, b = b, _divide(a, b)[1]
        b = tuple(x / b[-1] for x in b)
    if len(a) <= 1:
        return over, under
    return _divide(over, a)[0], _divide(under, a)[0]


class ExpNumber:
    """An exact number of Q(e^r): over(t)/under(t) with t = e^r.  Arithmetic and comparison are exact.

    >>> e = ExpNumber.exp(Fraction(1))
    >>> (e * e - 1) / (e - 1) == e + 1
    True
    >>> e > Fraction("2.718281828459045"), float(e)
    (True, 2.718281828459045)
    """

    __slots__ = ("over", "r", "under")

    def __init__(self, r: Fraction, over: Polynomial, under: Polynomial = (Fraction(1),)) -> None:
        if r == 0 or (len(over) <= 1 and len(under) <= 1):  # a rational number: keep it one
            value = sum(over, Fraction(0)) / sum(under, Fraction(0))
            r, over, under = Fraction(0), _trim([value]), (Fraction(1),)
        elif len(over) + len(under) > REDUCE_FROM:
            over, under = _reduced(over, under)
        self.r, self.over, self.under = r, over, under

    @classmethod
    def exp(cls, r: Fraction, factor: Fraction = Fraction(1)) -> ExpNumber:
        """factor · e^r."""
        return cls(r, (Fraction(0), factor))

    def _lift(self, other: ExpNumber | Fraction | int) -> ExpNumber:
        if isinstance(other, ExpNumber):
            return other
        return ExpNumber(Fraction(0), _trim([Fraction(other)]))

    def _exponent(self, other: ExpNumber) -> Fraction:
        if self.r and other.r and self.r != other.r:
            raise AssertionError("numbers of two different fields Q(e^r) were mixed")
        return self.r or other.r

    def __add__(self, other: ExpNumber | Fraction | int) -> ExpNumber:
        y = self._lift(other)
        if self.under == y.under:
            return ExpNumber(self._exponent(y), _add(self.over, y.over), self.under)
        over = _add(_multiply(self.over, y.under), _multiply(y.over, self.under))
        return ExpNumber(self._exponent(y), over, _multiply(self.under, y.under))

    def __neg__(self) -> ExpNumber:
        return ExpNumber(self.r, tuple(-a for a in self.over), self.under)

    def __sub__(self, other: ExpNumber | Fraction | int) -> ExpNumber:
        return self + -self._lift(other)

    def __rsub__(self, other: ExpNumber | Fraction | int) -> ExpNumber:
        return -self + other

    def __mul__(self, other: ExpNumber | Fraction | int) -> ExpNumber:
        y = self._lift(other)
        return ExpNumber(self._exponent(y), _multiply(self.over, y.over), _multiply(self.under, y.under))

    def __truediv__(self, other: ExpNumber | Fraction | int) -> ExpNumber:
        y = self._lift(other)
        if not y.over:
            raise ZeroDivisionError("division by an exact zero")
        return ExpNumber(self._exponent(y), _multiply(self.over, y.under), _multiply(self.under, y.over))

    def __rtruediv__(self, other: ExpNumber | Fraction | int) -> ExpNumber:
        return self._lift(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def sign(self) -> int:
        """-1, 0 or 1."""
        return sign_at_exp(self.over, self.r) * sign_at_exp(self.under, self.r)

    def __lt__(self, other: ExpNumber | Fraction | int) -> bool:
        return (self - other).sign() < 0

    def __le__(self, other: ExpNumber | Fraction | int) -> bool:
        return (self - other).sign() <= 0

    def __gt__(self, other: ExpNumber | Fraction | int) -> bool:
        return (self - other).sign() > 0

    def __ge__(self, other: ExpNumber | Fraction | int) -> bool:
        return (self - other).sign() >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (ExpNumber, Fraction, int)):
            return NotImplemented
        return (self - other).sign() == 0

    __hash__ = None  # type: ignore[assignment]  # equal numbers have many forms

    def bounds(self, bits: int) -> tuple[Fraction, Fraction]:
        """Rationals around the value, closer with more bits; equal if the value is rational."""
        if not self.r:
            value = self.over[0] if self.over else Fraction(0)
            return value, value
        if not self.over:
            return Fraction(0), Fraction(0)
        size = max(len(self.over), len(self.under))
        low, high, w = _scaled_exp(abs(self.r.numerator), self.r.denominator, bits)
        scaled = _integers([*self.over, *self.under])  # one common denominator: it cancels in the quotient
        pad = [0] * size
        over = (scaled[: len(self.over)] + pad)[:size]
        under = (scaled[len(self.over) :] + pad)[:size]
        if self.r < 0:  # both times t^-degree: the polynomials read backwards, at e^-r
            over, under = over[::-1], under[::-1]
        a, b = _evaluate(over, low, high, w)
        c, d = _evaluate(under, low, high, w)
        if c <= 0 <= d:  # too coarse to tell the divisor from 0; it is not 0
            return self.bounds(bits * 2)
        quotients = [Fraction(x, y) for x in (a, b) for y in (c, d)]
        return min(quotients), max(quotients)

    def _limit(self) -> Fraction | None:
        """The quotient's limit for t -> infinity; None if it has none."""
        if len(self.over) < len(self.under):
            return Fraction(0)
        return self.over[-1] / self.under[-1] if len(self.over) == len(self.under) else None

    def _float_of_limit(self) -> float | None:
        """The limit as a double, if the value is certainly as near to it as doubles can tell."""
        limit, size = self._limit(), self if self.sign() >= 0 else -self
        if limit is None:
            return math.inf * self.sign() if size > 1 << 1024 else None
        if limit == 0:
            return 0.0 if size < Fraction(1, 1 << 1100) else None
        off = (self - limit) / limit
        return float(limit) if Fraction(-1, 1 << 64) < off < Fraction(1, 1 << 64) else None

    def __floor__(self) -> int:
        """The largest integer not above the value, exactly."""
        limit = self._limit() if self.r > HUGE else None
        if limit is not None:
            near = math.floor(limit) if self >= math.floor(limit) else math.floor(limit) - 1
            if near <= self < near + 1:
                return near
        bits = 96
        while True:
            low, high = self.bounds(bits)
            least, most = math.floor(low), math.floor(high)
            if most in (least, self):  # the second if the value is the integer `most` itself
                return most
            bits *= 2

    def __float__(self) -> float:
        """The nearest double, or one of its two neighbours at a tie; overflows to infinity."""
        near = self._float_of_limit() if self.r > HUGE else None
        if near is not None:
            return near
        bits = 96
        while True:
            low, high = self.bounds(bits)
            if high == low or ((low > 0 or high < 0) and abs(high - low) < abs(low) / (1 << 64)):
                try:
                    return float((low + high) / 2)
                except OverflowError:
                    return math.inf if low > 0 else -math.inf
            bits *= 2

    def float_above(self) -> float:
        """A double whose printed decimal is not below the value, at most a unit or two in the last place above it."""
        guess = float(self)
        while self > Fraction(repr(guess)):
            guess = math.nextafter(guess, math.inf)
        return guess

    def __repr__(self) -> str:
        return f"ExpNumber({float(self)!r})"
