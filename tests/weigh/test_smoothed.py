"""The smoothed curve: exactly unbiased for the mean it names, by enumeration; its bar keeps its level."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import pytest

from rrcollect import Design, ParameterError, SetDesign
from server_agg import Tally, smoothed
from server_agg.estimates.scale import Scale

D = Design("3/4", "2/3")
SHARES = (Fraction(1, 5), Fraction(1, 2), Fraction(4, 5))
SIZES = (4, 3, 5)


def outcomes():
    """Every count of three rounds with its exact chance."""
    for ones in product(*(range(n + 1) for n in SIZES)):
        chance = Fraction(1)
        for n, one, share in zip(SIZES, ones, SHARES, strict=True):
            yes = (1 - D.p00) + D.c * share
            chance *= comb(n, one) * yes**one * (1 - yes) ** (n - one)
        yield ones, chance


def test_every_point_is_unbiased_for_the_mean_of_its_neighbourhood_and_the_bars_hold_at_once():
    mean, covered, total = [Fraction(0)] * 3, Fraction(0), Fraction(0)
    weights = None
    for ones, chance in outcomes():
        curve = smoothed({r: Tally(D, n, one) for r, (n, one) in enumerate(zip(SIZES, ones, strict=True))}, width=1)
        weights = [dict(zip(range(max(0, r - 1), min(3, r + 2)), point.weights, strict=True))
                   for r, point in enumerate(curve.points_by_round)]  # fmt: skip
        truths = [sum(w * SHARES[s] for s, w in one.items()) for one in weights]
        inside = [point.interval.low <= truth <= point.interval.high
                  for point, truth in zip(curve.points_by_round, truths, strict=True)]  # fmt: skip
        covered += chance * all(inside)
        total += chance
        mean = [m + chance * Fraction(point.value) for m, point in zip(mean, curve.points_by_round, strict=True)]
    assert total == 1
    assert [float(m) for m in mean] == pytest.approx([float(t) for t in truths], abs=1e-12)
    assert covered >= Fraction(95, 100)
    assert weights[0] == {0: Fraction(8, 11), 1: Fraction(3, 11)}  # 2·4 and 1·3 of 11


def test_the_check_of_unbiasedness_catches_weights_that_look_at_the_answers():
    """The planted bug: weights by what was answered."""
    mean = Fraction(0)
    for ones, chance in outcomes():
        values = [(Fraction(one, n) - (1 - D.p00)) / D.c for n, one in zip(SIZES, ones, strict=True)]
        weights = [1 + one for one in ones[:2]]
        mean += chance * sum(w * v for w, v in zip(weights, values, strict=False)) / sum(weights)
    truth = Fraction(8, 11) * SHARES[0] + Fraction(3, 11) * SHARES[1]
    assert abs(mean - truth) > Fraction(1, 100)


def test_a_number_and_an_option_of_a_choice_have_curves():
    rounds = {r: Tally(D, 500, 200 + 10 * r) for r in range(6)}
    hours = smoothed(rounds, scale=Scale.of_number(0, 40, "hours"))
    share = smoothed(rounds)
    for one, other in zip(hours.points_by_round, share.points_by_round, strict=True):
        assert one.value == pytest.approx(40 * other.value)
        assert tuple(one.interval) == pytest.approx([40 * end for end in other.interval])
    sets = SetDesign(3, 1, "1/2")
    assert len(smoothed({r: Tally(sets, 90, [40, 30, 20])[0] for r in range(3)}).points_by_round) == 3
    assert "smoothed over 2 rounds" in str(share)
    assert share.plot().axes.get_title()


@pytest.mark.parametrize("rounds", [{}, {0: Tally(D, 10, 3)}, {0: Tally(D, 10, 3), 1: Tally(D, 1, 0)}, {0: [], 1: []}])
def test_a_curve_needs_two_rounds_of_two_answers(rounds):
    with pytest.raises(ParameterError):
        smoothed(rounds)
