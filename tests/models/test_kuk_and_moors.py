"""Moors' two samples and Kuk's k draws: exact expectations, exact coverage, RRreg's formulas."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from rrcollect import Design, ParameterError, classic, optimal_design
from rrcollect.classic import RepeatedDesign
from server_agg import Tally, estimate, models
from server_agg.errors import TooFewAnswers
from tests.support.covering import covered, of_pairs

MOORS = classic.moors("0.7")


def binomial(n, p):
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def test_moors_is_exactly_unbiased_with_its_variance():
    pi, u, n1, n2 = Fraction(1, 5), Fraction(2, 5), 5, 4
    yes = MOORS.p * pi + (1 - MOORS.p) * u
    mean = expected = Fraction(0)
    for (j, p), (k, q) in itertools.product(enumerate(binomial(n1, yes)), enumerate(binomial(n2, u))):
        found = models.moors((n1, j), (n2, k), MOORS)
        mean += p * q * found.exact_value
        expected += p * q * found.variance
    assert mean == pi
    assert expected == MOORS.variance(pi, u, n1, n2)


@pytest.mark.long
def test_moors_covers_by_exact_double_sums():
    n1, n2 = 30, 20
    found, laws = of_pairs((n1, n2), lambda j, k: models.moors((n1, j), (n2, k), MOORS)), []
    for pi, u in itertools.product(np.arange(0, 1.01, 0.1), np.arange(0, 1.01, 0.1)):
        yes = min(0.7 * pi + 0.3 * u, 1)
        both = binom.pmf(np.arange(n1 + 1), n1, yes), binom.pmf(np.arange(n2 + 1), n2, min(u, 1))
        laws.append((pi, np.outer(*both).ravel()))
    least = {
        method: min(covered([tuple(one.interval(method=method)) for one in found], laws))
        for method in ("guaranteed", "hoeffding", "wald")
    }
    assert least["guaranteed"] >= 0.95 - 1e-12
    assert least["hoeffding"] >= 0.95 - 1e-12
    assert least["wald"] < 0.95


def test_moors_is_rrregs_unknown_unrelated_question_with_the_second_sample_asked_it_alone():
    """RRuni.UQTunknown of RRreg with p = (0.7, 0): its estimate and its standard error, with n − 1."""
    n1, ones1, n2, ones2, p = 800, 184, 200, 100, (0.7, 0.0)
    l1, l2 = ones1 / n1, ones2 / n2
    value = (l1 * (1 - p[1]) - l2 * (1 - p[0])) / (p[0] - p[1])
    spread = l1 * (1 - l1) * (1 - p[1]) ** 2 / (n1 - 1) + l2 * (1 - l2) * (1 - p[0]) ** 2 / (n2 - 1)
    found = models.moors((n1, ones1), (n2, ones2), MOORS)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.standard_error == pytest.approx(math.sqrt(spread / (p[0] - p[1]) ** 2), rel=1e-12)
    assert found.harmless.value == 0.5


KUK = [RepeatedDesign(Design("4/5", "4/5"), 2), RepeatedDesign(Design("7/10", "1/5"), 3)]


def histograms(design, n, pi):
    """Every histogram of n people's sums with its exact probability."""
    law = [pi * b + (1 - pi) * a for a, b in zip(design.law(0), design.law(1), strict=True)]
    for people in itertools.product(range(n + 1), repeat=len(law)):
        if sum(people) == n:
            ways = math.factorial(n) // math.prod(math.factorial(m) for m in people)
            yield people, ways * math.prod(p**m for p, m in zip(law, people, strict=True))


@pytest.mark.parametrize("design", KUK, ids=str)
def test_kuk_is_exactly_unbiased_with_its_variance(design):
    pi, n = Fraction(1, 3), 4
    found = [(models.kuk(people, design), p) for people, p in histograms(design, n, pi)]
    assert sum(p for _, p in found) == 1
    assert sum(p * e.exact_value for e, p in found) == pi
    assert sum(p * e.variance for e, p in found) == design.variance(pi, n)
    noise = [(models.kuk(e.people, design, "sample"), p) for e, p in found]
    assert sum(p * e.variance for e, p in noise) == design.variance(pi, n, target="sample")


def test_kuk_covers():
    """The mean of n sums depends on the histogram only through its total; exact by convolution."""
    design, n = KUK[0], 25
    k = design.draws
    for pi in np.arange(0, 1.01, 0.1):
        one = np.array([float(a) * (1 - pi) + float(b) * pi for a, b in zip(design.law(0), design.law(1), strict=True)])
        law = np.array([1.0])
        for _ in range(n):
            law = np.convolve(law, one)
        for method in ("hoeffding", "chebyshev", "wilson"):
            found = 0.0
            for total, p in enumerate(law):
                people = [0] * (k + 1)
                people[k], rest = divmod(total, k)
                people[rest] += 1 if rest else 0
                people[0] += n - sum(people)
                low, high = models.kuk(people, design).interval(method=method)
                found += p * (low <= pi <= high)
            assert found >= (0.9 if method == "wilson" else 0.95 - 1e-12)


def test_one_draw_of_kuk_is_the_plain_design():
    one = RepeatedDesign(optimal_design(1), 1)
    kuk, plain = models.kuk([60, 40], one), estimate(Tally(optimal_design(1), 100, 40))
    assert (kuk.exact_value, kuk.variance) == (plain.exact_value, plain.variance)
    for method in ("hoeffding", "chebyshev", "wilson"):
        assert kuk.interval(method=method) == pytest.approx(plain.interval(method=method), abs=1e-12)
    swapped = models.kuk([40, 60], RepeatedDesign(optimal_design(1).swapped(), 1))
    assert swapped.exact_value == kuk.exact_value
    assert tuple(swapped.interval()) == tuple(kuk.interval())


def test_invalid_procedures_are_refused():
    with pytest.raises(ParameterError, match="counts"):
        models.moors((10, 11), (5, 1), MOORS)
    with pytest.raises(TooFewAnswers):
        models.moors((10, 1), (1, 1), MOORS)
    with pytest.raises(ParameterError, match="method"):
        models.moors((10, 1), (5, 1), MOORS).interval(method="normal")
    with pytest.raises(ParameterError, match="3 counts"):
        models.kuk([1, 2], KUK[0])
    with pytest.raises(ParameterError, match="reported 1"):
        models.kuk([1, -2, 5], KUK[0])
    with pytest.raises(TooFewAnswers):
        models.kuk([1, 0, 0], KUK[0])
    with pytest.raises(ParameterError, match="target"):
        models.kuk([1, 2, 3], KUK[0], target="everybody")
    with pytest.raises(ParameterError, match="method"):
        models.kuk([1, 2, 3], KUK[0]).interval(method="exact")
