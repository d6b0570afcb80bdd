"""The few special functions the error bars need, from SciPy, and rounding to the safe side.

SciPy comes with the extra `estimate`; it is imported when the first bar is asked for.  Nothing numerical is written
by hand that SciPy has.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from rrcollect.design.parameters import fraction
from rrcollect.errors import MissingExtra, ParameterError

__all__ = [
    "beta_quantile",
    "binomial_at_least",
    "chi_squared_quantile",
    "chi_squared_tail",
    "exact_level",
    "float_below",
    "normal_quantile",
    "normal_tail",
    "special",
    "sqrt_above",
]


def special() -> Any:
    """`scipy.special`."""
    try:
        from scipy import special as module
    except ImportError as error:
        raise MissingExtra("scipy", "estimate") from error
    return module


def exact_level(level: object, name: str = "level") -> Fraction:
    """A confidence level as the exact number it is written as, strictly between 0 and 1.

    >>> exact_level(0.95)
    Fraction(19, 20)
    """
    allowed = "a number strictly between 0 and 1, such as 0.95"
    exact = fraction(name, level, allowed)
    if not 0 < exact < 1 or float(exact) in (0.0, 1.0):
        raise ParameterError(name, level, allowed)
    return exact


def normal_quantile(tail: Fraction) -> float:
    """z with P(Z > z) = tail."""
    return -float(special().ndtri(float(tail)))


def normal_tail(z: float) -> float:
    """P(Z > z)."""
    return float(special().ndtr(-z))


def chi_squared_quantile(tail: Fraction, freedom: int = 1) -> float:
    """x with P(χ² > x) = tail."""
    return float(special().chdtri(freedom, float(tail)))


def chi_squared_tail(x: float, freedom: int) -> float:
    """P(χ² > x)."""
    return float(special().chdtrc(freedom, x))


def beta_quantile(a: int, b: int, tail: Fraction) -> float:
    """x with P(Beta(a, b) < x) = tail."""
    return float(special().betaincinv(a, b, float(tail)))


def binomial_at_least(k: int, n: int, p: float) -> float:
    """P(N >= k) for N ~ Bin(n, p)."""
    if k <= 0:
        return 1.0
    return 0.0 if k > n else float(special().betainc(k, n - k + 1, p))


def float_below(x: Fraction) -> float:
    """The largest double that is not above x.

    >>> Fraction(float_below(Fraction(1, 3))) <= Fraction(1, 3)
    True
    """
    guess = float(x)
    return math.nextafter(guess, -math.inf) if Fraction(guess) > x else guess


def sqrt_above(x: Fraction) -> Fraction:
    """A number not below √x and above it by less than 2^-70 of it (or of 1, for large x).

    >>> sqrt_above(Fraction(4)) >= 2
    True
    """
    bits = 80 + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    scaled = -((-x.numerator << 2 * bits) // x.denominator)
    return Fraction(math.isqrt(scaled) + 1, 1 << bits) if x else Fraction(0)
