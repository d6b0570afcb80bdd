"""ε, δ and probabilities: every accepted way to write them, and typed errors for the rest."""

import math
import pickle
from decimal import Decimal
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrcollect import Epsilon, ParameterError, RRCollectError
from rrcollect.design.parameters import fraction, probability, whole_number
from rrcollect.errors import Blame, MissingExtra, shown
from tests.support.strategies import epsilons


@pytest.mark.parametrize(
    ("written", "rational", "factor"),
    [
        (1, 1, 1),
        (Fraction(1, 3), Fraction(1, 3), 1),
        (Decimal("0.1"), Fraction(1, 10), 1),
        ("0.5", Fraction(1, 2), 1),
        (" 1/3 ", Fraction(1, 3), 1),
        ("1e-3", Fraction(1, 1000), 1),
        (".5", Fraction(1, 2), 1),
        ("5.", 5, 1),
        (0.1, Fraction(1, 10), 1),
        (1e-7, Fraction(1, 10**7), 1),
        (np.float64(0.1), Fraction(1, 10), 1),
        (np.int64(2), 2, 1),
        ("ln 3", 0, 3),
        ("ln(3)", 0, 3),
        ("ln (3/2)", 0, Fraction(3, 2)),
        ("ln 2.5", 0, Fraction(5, 2)),
        ("1/2 + ln(3)", Fraction(1, 2), 3),
        ("ln(3) + ln(2) + 1", 1, 6),
        ("ln 1", 0, 1),
        (0, 0, 1),
        ("-1 + ln(3)", -1, 3),
    ],
)
def test_epsilon_is_taken_as_written(written, rational, factor):
    epsilon = Epsilon(written)
    assert (epsilon.rational, epsilon.factor) == (rational, factor)


JUNK = [
    math.nan, math.inf, -math.inf, -1, -0.5, "-0.1", "nan", "inf", "-inf", "Infinity", "", " ", "abc", "ln", "ln 0",
    "ln(0)", "ln -3", "ln(1/2)", "ln 3/2", "1/0", "1//2", "1/2/3", "0x10", "1_000", "ln(ln 3)", "1 +", "+ 1", "--1",
    "1e", "١", "½", "1e999999999", "1e-999999999", Decimal("1e999999999"), Decimal("NaN"), Decimal("Infinity"),
    "9" * 10_000, "1" * 30_000, "1/" + "7" * 5000, "-2 + ln(3)", "1\x00", None, True, False, [], {}, 1 + 0j, b"1",
    object, np.float32(0.5), np.array([1.0]),
]  # fmt: skip


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: ascii(junk)[:30])
def test_junk_epsilon_is_refused_by_name(junk):
    with pytest.raises(ParameterError, match=r"^epsilon is .*: use a finite number, 0 or more") as caught:
        Epsilon(junk)
    assert caught.value.name == "epsilon"
    assert caught.value.blame is Blame.CALLER
    assert isinstance(caught.value, (ValueError, RRCollectError))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "junk", [*JUNK, 2, "1.0000001", "3/2", Decimal("1.5"), 1.0000000000000002], ids=lambda j: ascii(j)[:30]
)
def test_junk_probability_is_refused_by_name(junk):
    with pytest.raises(ParameterError, match=r"^delta is .*: use a number between 0 and 1"):
        probability("delta", junk)


@pytest.mark.parametrize("junk", [0, -1, 1.0, True, "3", None, math.nan])
def test_junk_count_is_refused_by_name(junk):
    with pytest.raises(ParameterError, match="^n is .*: use a whole number, 1 or more"):
        whole_number("n", junk)
    assert whole_number("n", np.int32(7)) == 7


@given(st.floats(min_value=0, max_value=1e6))
def test_a_float_means_the_decimal_it_prints(x):
    assert fraction("x", x) == Fraction(repr(x))


@given(epsilons, epsilons)
def test_written_form_round_trips_and_sums_are_exact(a, b):
    total = a + b
    assert Epsilon(str(total)) == total == pickle.loads(pickle.dumps(total))  # noqa: S301
    assert total.rational == a.rational + b.rational
    assert total.factor == a.factor * b.factor
    assert hash(Epsilon(str(total))) == hash(total)


def ball(epsilon: Epsilon) -> flint.arb:
    r, m = epsilon.rational, epsilon.factor
    return flint.arb(flint.fmpq(r.numerator, r.denominator)) + flint.arb(flint.fmpq(m.numerator, m.denominator)).log()


@given(epsilons, epsilons, epsilons)
def test_order_agrees_with_flint(a, b, c):
    a = a + c  # both parts present
    with flint.ctx.workprec(500):
        assert (a < b) == bool(ball(a) < ball(b))
        assert (a > b) == bool(ball(a) > ball(b))


@given(epsilons, epsilons)
def test_as_a_float_it_never_promises_less_loss_than_there_is(a, b):
    total = a + b
    assert Epsilon(float(total)) >= total
    with flint.ctx.workprec(200):
        assert float(total) <= float(ball(total).upper()) * (1 + 1e-15)


def test_equal_only_if_both_parts_are():
    assert Epsilon("ln 3") != Epsilon(float(Epsilon("ln 3")))
    assert Epsilon(1) != 1
    assert Epsilon("ln 4") == Epsilon("ln 2") + Epsilon("ln 2")
    with pytest.raises(TypeError):
        Epsilon(1) < 1  # noqa: B015
    with pytest.raises(TypeError):
        Epsilon(1) + 1


def test_epsilon_cannot_be_changed():
    with pytest.raises(AttributeError, match="cannot be changed"):
        Epsilon(1).rational = Fraction(2)


@pytest.mark.parametrize("huge", [10**400, "1e3000", Fraction(10**4000, 3)])
def test_huge_epsilon_is_a_number_too(huge):
    assert float(Epsilon(huge)) == math.inf
    assert Epsilon(huge) > Epsilon(10**300)
    assert Epsilon("ln 3") < Epsilon(huge)


def test_logarithms_of_extreme_ratios():
    assert math.isclose(float(Epsilon(f"ln(1{'0' * 400})")), 400 * math.log(10), rel_tol=1e-14)
    tiny = Epsilon.of_ratio(1 + Fraction(1, 10**30))
    assert math.isclose(float(tiny), 1e-30, rel_tol=1e-14)
    assert math.isclose(float(Epsilon(f"{10**400}") + Epsilon("ln 2")), math.inf)


def test_sums_of_any_length_are_exact_written_and_pickled():
    fine = Epsilon.of_ratio(Fraction(2**63 + 1, 2**63 - 1))
    total = Epsilon.total([fine] * 1000)
    assert total.factor == fine.factor**1000
    assert len(str(total)) > 30_000
    assert pickle.loads(pickle.dumps(total)) == total  # noqa: S301
    assert math.isclose(float(total), 1000 * float(fine), rel_tol=1e-12)


def test_the_float_of_a_number_that_cancels():
    """rational and logarithm cancel to 19 digits: the search starts at 0 and still ends."""
    tiny = Epsilon("-1 + ln(2.71828182845904524)")
    assert Epsilon(float(tiny)) >= tiny
    assert float(tiny) == pytest.approx(1.7e-18, rel=0.05)
    assert Epsilon(math.nextafter(float(tiny), 0)) < tiny
    assert float(Epsilon(0)) == 0.0


@pytest.mark.parametrize(
    "value", ["1e4001", 10**5000, Fraction(1, 10**5000), Decimal("1" * 5000), Decimal("1e-4500")], ids=range(5)
)
def test_numbers_too_long_to_be_written_are_refused(value):
    with pytest.raises(ParameterError):
        fraction("x", value)


def test_errors_are_short_picklable_and_show_nothing_unprintable():
    error = pickle.loads(pickle.dumps(ParameterError("x", "a\x1b[31m\n" * 1000, "b")))  # noqa: S301
    assert len(str(error)) < 120
    assert "\x1b" not in str(error)
    missing = pickle.loads(pickle.dumps(MissingExtra("matplotlib", "plot")))  # noqa: S301
    assert str(missing) == "matplotlib is not installed; pip install 'rrcollect[plot]'"
    assert shown(10**5000).startswith("<int: ValueError")


def test_the_longest_numbers_are_taken_and_one_more_is_not():
    assert fraction("x", Decimal("1e-4000")) == fraction("x", "1e-4000") == Fraction(1, 10**4000)
    assert fraction("x", 2**13_500 - 1) == 2**13_500 - 1
    for bad in (Decimal("1e-4001"), "1e-4001", 2**13_500, Fraction(1, 2**13_500)):
        with pytest.raises(ParameterError):
            fraction("x", bad)
