"""Certified bounds of e^x and exact arithmetic in Q(e^r), against FLINT's ball arithmetic (not written by us)."""

import math
from fractions import Fraction
from random import Random

import flint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrcollect.design.exponential import ExpNumber, _evaluate, sign_at_exp


def ball(x: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def encloses(x: Fraction, low: Fraction, high: Fraction) -> bool:
    """FLINT's e^x (at 600 bits) lies between the two, certainly."""
    with flint.ctx.workprec(600):
        value = ball(x).exp()
        return bool(ball(low) <= value) and bool(value <= ball(high))


def some_rationals(how_many: int) -> list[Fraction]:
    random = Random(1965)
    return [
        Fraction(random.randrange(1, 10**k), random.randrange(1, 10 ** random.randrange(1, 12)))
        for k in (random.randrange(1, 12) for _ in range(how_many * 2))
    ][: how_many * 2]


def exp_bounds(x: Fraction | int, bits: int = 96) -> tuple[Fraction, Fraction]:
    return ExpNumber.exp(Fraction(x)).bounds(bits)


def test_bounds_enclose_flint_on_thousands_of_rationals():
    checked = 0
    for x in some_rationals(3000):
        if x > 300:
            continue
        for signed in (x, -x):
            low, high = exp_bounds(signed, bits=96)
            assert encloses(signed, low, high)
            assert high <= low * (1 + Fraction(1, 2**96))
            checked += 1
    assert checked > 5000


def test_the_check_catches_a_bound_that_is_only_a_double():
    def naive(x: Fraction) -> tuple[Fraction, Fraction]:
        return Fraction(math.exp(float(x))), Fraction(math.nextafter(math.exp(float(x)), math.inf))

    caught = sum(not encloses(x, *naive(x)) for x in some_rationals(200) if x < 300)
    assert caught > 50


@pytest.mark.parametrize("bits", [8, 64, 500])
def test_bounds_are_as_tight_as_asked(bits):
    for x in (Fraction(1, 10**30), Fraction(1, 3), Fraction(700), Fraction(12345, 7)):
        for signed in (x, -x):
            low, high = exp_bounds(signed, bits)
            assert low < high <= low * (1 + Fraction(1, 2**bits))


def test_e_to_the_0_is_exact():
    assert exp_bounds(0) == (1, 1)


rationals = st.fractions(max_denominator=1000)
exponents = st.fractions(min_value=Fraction(-20), max_value=20, max_denominator=50)


@given(st.lists(rationals, max_size=6), exponents)
def test_sign_agrees_with_flint(coefficients, r):
    with flint.ctx.workprec(2000):
        t = ball(r).exp()
        value = sum((ball(a) * t**i for i, a in enumerate(coefficients)), flint.arb(0))
        expected = 1 if value > 0 else -1 if value < 0 else 0
    assert sign_at_exp(coefficients, r) == expected


@given(exponents, st.integers(50, 10**6))
def test_sign_near_a_root_is_decided(r, digits):
    """A rational that agrees with e^r to hundreds of digits is still told apart."""
    low, high = exp_bounds(r, bits=digits % 400 + 50)
    if r:
        assert sign_at_exp([-low, Fraction(1)], r) == 1
        assert sign_at_exp([-high, Fraction(1)], r) == -1


def test_no_root_lies_beyond_the_bound_that_spares_the_search():
    """t² − 0.99t − 0.99 has its root at 1.606, beyond the largest quotient of its coefficients."""
    parabola = [Fraction(-99, 100), Fraction(-99, 100), Fraction(1)]
    assert sign_at_exp(parabola, Fraction(1, 10)) == -1
    assert sign_at_exp(parabola, Fraction(1, 2)) == 1


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=5), st.integers(1, 200), st.integers(0, 20), st.integers(1, 8)
)
def test_a_polynomial_is_bounded_by_its_terms_at_the_ends(coefficients, low, width, w):
    """In fractions: each term is least or most at one end, and the sums are scaled by 2^(w·degree)."""
    ends = Fraction(low, 2**w), Fraction(low + width, 2**w)
    terms = [[a * t**i for t in ends] for i, a in enumerate(coefficients)]
    scale = 2 ** (w * (len(coefficients) - 1))
    expected = scale * sum(map(min, terms)), scale * sum(map(max, terms))
    assert _evaluate(coefficients, low, low + width, w) == expected


def test_sign_of_huge_exponents_needs_no_huge_numbers():
    assert sign_at_exp([Fraction(-(10**300)), Fraction(1)], Fraction(10**400)) == 1
    assert sign_at_exp([Fraction(10**300), Fraction(0), Fraction(-1, 10**300)], Fraction(10**400)) == -1
    assert sign_at_exp([Fraction(1), Fraction(-1)], Fraction(-(10**400))) == 1


@given(exponents, rationals, rationals, rationals, rationals)
def test_field_axioms(r, a, b, c, d):
    e = ExpNumber.exp(r)
    x, y, z = a + b * e, c - d * e * e, e / (1 + e)
    assert x + y == y + x
    assert x * (y + z) == x * y + x * z
    assert x - x == 0
    assert a - x == -(x - a)
    if y != 0:
        assert x / y * y == x
        assert a / y == ExpNumber(Fraction(0), (a,) if a else ()) / y


@given(exponents, rationals, rationals, rationals)
def test_order_and_float_agree_with_flint(r, a, b, c):
    x = (a + b * ExpNumber.exp(r)) / (1 + ExpNumber.exp(r) * ExpNumber.exp(r))
    with flint.ctx.workprec(1000):
        t = ball(r).exp()
        value = (ball(a) + ball(b) * t) / (1 + t * t)
        assert (x < c) == bool(value < ball(c))
        assert (x > c) == bool(value > ball(c))
        assert (x <= c) == (not value > ball(c))
        assert (x >= c) == (not value < ball(c))
        assert math.isclose(float(x), float(value), rel_tol=1e-15, abs_tol=1e-300)


@pytest.mark.parametrize("digits", [40, 60, 200])
def test_what_is_left_of_a_difference_is_exact(digits):
    """e less its first digits, and one over that: what 96 bits cannot tell from 0 is looked at more closely."""
    with flint.ctx.workprec(2000):
        e = flint.arb(1).exp()
        cut = Fraction(int((e * flint.arb(10) ** digits).floor().unique_fmpz()), 10**digits)
        left = e - ball(cut)
        x = ExpNumber.exp(Fraction(1)) - cut
        assert float(x) == pytest.approx(float(left), rel=1e-15)
        assert float(-x) == pytest.approx(-float(left), rel=1e-15)
        assert float(1 / x) == pytest.approx(float(1 / left), rel=1e-15)
        assert math.floor(1 / x) == int((1 / left).floor().unique_fmpz())


@given(exponents, st.fractions(max_denominator=10**9), st.integers(0, 80))
def test_floor_is_the_floor(r, a, shift):
    x = a * ExpNumber.exp(r) / (1 + ExpNumber.exp(r)) * 2**shift
    assert math.floor(x) <= x < math.floor(x) + 1


@given(exponents, st.integers())
def test_floor_of_a_hidden_integer(r, n):
    e = ExpNumber.exp(r)
    assert math.floor(n * (e + 1) / (1 + e)) == n


@given(exponents, st.fractions(min_value=0, max_value=1, max_denominator=10**6))
def test_float_above_prints_a_decimal_not_below(r, a):
    x = a * ExpNumber.exp(r)
    above = x.float_above()
    assert x <= Fraction(repr(above))
    assert above <= float(x) * (1 + 1e-15)


def test_huge_exponents_have_floors_and_floats():
    e = ExpNumber.exp(Fraction(10**50))
    assert math.floor(e / (e + 1) * 2**64) == 2**64 - 1
    assert math.floor(1 / e) == 0
    assert math.floor(-1 / e) == -1
    assert (float(e), float(-e), float(1 / e), float(2 * e / (e + 1))) == (math.inf, -math.inf, 0.0, 2.0)
    quadratic = (3 * e * e + 1) / (2 * e * e + 5 * e + 7)
    assert (float(quadratic), math.floor(quadratic * 1024)) == (1.5, 1535)
    assert float(ExpNumber.exp(Fraction(1000))) == math.inf
    assert float(-1 * ExpNumber.exp(Fraction(1000))) == -math.inf


def test_huge_exponents_with_tiny_factors_are_not_their_limits():
    """e^1100 / 10^477 is about 5.3: the limit for an infinite exponent must not be taken for it."""
    e = ExpNumber.exp(Fraction(1100), Fraction(1, 10**477))
    with flint.ctx.workprec(3000):
        value = flint.arb(1100).exp() / flint.arb(10) ** 477
        assert float(e) == pytest.approx(float(value), rel=1e-15)
        assert float(e / (e + 1)) == pytest.approx(float(value / (value + 1)), rel=1e-15)
        assert float(1 / e) == pytest.approx(float(1 / value), rel=1e-15)
        assert math.floor(e * 1000) == int(float(value * 1000))
    nearly = ExpNumber.exp(Fraction(1100), Fraction(3, 2) * 2**1023 / exp_bounds(1100)[0])
    assert float(nearly) == 1.5 * 2.0**1023  # the largest doubles are below 2^1024


def test_numbers_of_two_fields_do_not_mix_and_zero_does_not_divide():
    with pytest.raises(AssertionError, match="different fields"):
        ExpNumber.exp(Fraction(1)) + ExpNumber.exp(Fraction(2))
    with pytest.raises(ZeroDivisionError):
        ExpNumber.exp(Fraction(1)) / (ExpNumber.exp(Fraction(1)) - ExpNumber.exp(Fraction(1)))
    e = ExpNumber.exp(Fraction(1))
    nothing = (e - e) / (1 + e)
    assert (float(nothing), math.floor(nothing), nothing.sign()) == (0.0, 0, 0)
    assert ExpNumber.exp(Fraction(1)) != "e"
    assert repr(ExpNumber.exp(Fraction(1))) == "ExpNumber(2.718281828459045)"


def test_long_formulas_stay_small():
    """Common factors cancel: a telescoping product of 40 quotients is one quotient again."""
    e = ExpNumber.exp(Fraction(1, 3))
    product = e * 0 + 1
    for i in range(40):
        product = product * (e + i) / (e + i + 1)
    assert len(product.over) + len(product.under) <= 6
    assert product == e / (e + 40)
