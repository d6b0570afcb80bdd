"""The paper's formulas re-derived by computer algebra (SymPy), errata included."""

from random import Random

import pytest
import sympy as sp

E, d, pi, t, n = sp.symbols("E d pi t n", positive=True)
x, y = sp.symbols("x y", real=True)


def variance(p00, p11):
    yes = 1 - p00 + pi * (p00 + p11 - 1)
    return yes * (1 - yes) / ((p00 + p11 - 1) ** 2 * n)


def same(a, b) -> bool:
    return sp.cancel(a - b) == 0


def r(u):
    return (1 + d / E) * (1 - u) + (E + d) / (E + 1) * u


def s(u):
    return (E + d) / (E + 1) * u


q = (E + d) / (E + 1)
t0 = d * (E + 1) / (E + d)


def test_lemma_2_both_derivatives():
    f = 2 * x * y - x - y + 1
    c = x + y - 1
    assert same(sp.diff(variance(x, y), y), -(2 * x * (1 - x) * (1 - pi) + pi * f) / (c**3 * n))
    assert same(sp.diff(variance(x, y), x), -(f * (1 - pi) + 2 * y * pi * (1 - y)) / (c**3 * n))


def test_theorem_2_derivative_along_the_edge():
    edge = variance(r(t).subs(d, 0), s(t).subs(d, 0))
    assert same(sp.diff(edge, t), -(1 + E) * (1 + pi * (E - 1)) / ((E - 1) ** 2 * t**2 * n))


def random_points(symbols, how_many=12):
    """Two rational functions of degree below 60 that agree at 12 random points of {1, …, 10^6}^k are equal but with
    probability below (60/10^6)^12 (Schwartz and Zippel); equal ones always agree."""
    random = Random(1965)
    for _ in range(how_many):
        yield {symbol: sp.Integer(random.randrange(1, 10**6)) for symbol in symbols} | {n: sp.Integer(1)}


def test_lemma_3_the_one_stationary_point_is_a_maximum():
    edge = variance(r(t), s(t))
    first, second = sp.diff(edge, t), sp.diff(edge, t, 2)
    root = d * (1 + E) * (2 * E + 2 * d - 1 - pi * (E + 2 * d - 1)) / ((E + d) * (E + 2 * d - 1) * (1 + (E - 1) * pi))
    over = -((E + d) ** 2) * (E + 2 * d - 1) ** 4 * (1 + (E - 1) * pi) ** 4
    printed = over / (8 * E**2 * d**3 * (E + d - 1) ** 3 * (1 + E) ** 2 * n)
    for point in random_points((E, d, pi)):
        at_root = {**point, t: root.subs(point)}
        assert first.subs(at_root) == 0
        assert second.subs(at_root) == printed.subs(point)
        assert second.subs(at_root) != printed.subs(point) * 2  # the check can fail


def test_lemma_4_and_erratum_2():
    """The edge of the first inequality is *no greater* for π <= 1/2; the sentence before the lemma says "greater"."""
    difference = variance(r(t), s(t)) - variance(s(t), r(t))
    printed = -(E + 1) * (E + d) * (1 - 2 * pi) * (1 - t) / ((E * (E - 1) * t + d * (1 - t + E * (1 + t))) * n)
    for point in random_points((E, d, pi, t)):
        assert difference.subs(point) == printed.subs(point)
        assert difference.subs(point) != -printed.subs(point)  # the check can fail
    assert printed.subs({E: 2, d: sp.Rational(1, 4), pi: sp.Rational(1, 4), t: sp.Rational(1, 2), n: 1}) < 0


def test_lemma_5_the_end_of_the_edge():
    assert same(r(t0), 1)
    assert same(s(t0), d)
    assert same(r(1), q)


def test_erratum_1_the_square_that_is_missing_twice():
    difference = variance(sp.Integer(1), d) - variance(q, q)
    right = (1 - d) * (pi * (E + 2 * d - 1) ** 2 - d * (E + d)) / (d * (E + 2 * d - 1) ** 2 * n)
    printed = (1 - d) * (pi * (E + 2 * d - 1) - d * (E + d)) / (d * (E + 2 * d - 1) ** 2 * n)
    assert same(difference, right)
    assert not same(difference, printed)
    g = d * (E + d) / (E + 2 * d - 1) ** 2
    assert sp.simplify(right.subs(pi, g)) == 0  # the threshold is right all the same


def test_erratum_5_the_mle_formula_leaves_the_unit_interval():
    """(p00 − 1)/c + N/(cn) at N = 20 of 100, ε = 1, is −0.149: unbiased, not a maximum on [0, 1]."""
    p = sp.exp(1) / (1 + sp.exp(1))
    value = (p - 1) / (2 * p - 1) + sp.Rational(20, 100) / (2 * p - 1)
    assert float(value) == pytest.approx(-0.1491860241, abs=5e-11)


def test_theorem_4_derivative():
    w = sp.symbols("w")
    assert same(sp.diff(variance(w, w), w), 1 / ((1 - 2 * w) ** 3 * n))


def test_variance_as_a_line_minus_a_square():
    """n·Var = A + Bπ − π², and (q, q) has A = K = (E+d)(1−d)/(E+2d−1)², B = 1."""
    c = x + y - 1
    assert same(variance(x, y) * n, x * (1 - x) / c**2 + (2 * x - 1) / c * pi - pi**2)
    assert same(variance(q, q) * n, (E + d) * (1 - d) / (E + 2 * d - 1) ** 2 + pi - pi**2)


def test_the_cap_on_the_ratio_has_its_corner_where_we_say():
    ratio = sp.symbols("R", positive=True)
    u = d / (ratio - E)
    assert same(ratio * u, E * u + d)  # both constraints meet
    edge = variance(1 - t, ratio * t)  # along p11 = R(1 − p00) the variance falls as t grows
    assert same(sp.diff(edge, t), -(1 + pi * (ratio - 1)) / ((ratio - 1) ** 2 * t**2 * n))
