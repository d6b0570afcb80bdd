"""Choices and means: values and covariances by enumeration, the published figures, bars that hold at once."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from rrcollect import ParameterError, SetDesign, optimal_design
from server_agg import Estimate, Tally, estimate
from server_agg.errors import TooFewAnswers
from tests.inside.design import best_for_options, made_for
from tests.inside.estimates import Combination
from tests.support.aims import aimed

FOUR = Tally(made_for(1, 4, 1), 1000, [420, 260, 180, 140])
TEN = Tally(optimal_design(1, options=10), 1000, [450, 380, 330, 310, 300, 280, 260, 250, 230, 210])


def near(found: Any, expected: Any) -> bool:
    return bool(found == pytest.approx(expected, abs=2e-12))


def test_the_figures_of_four_options() -> None:
    e = estimate(FOUR)
    assert near([row.value for row in e.rows], [0.815744160671, 0.283279068275, 0.0170465220766, -0.116069751023])
    assert near(
        [row.standard_error for row in e.rows], [0.0519669294474, 0.0461839366143, 0.0404512171087, 0.0365343729689]
    )
    assert near(e.simplex(), [0.754582754557, 0.245417245443, 0, 0])
    assert near(e.misfit.tail_probability, 0.00669737639071)
    assert (e.misfit.side, bool(e.misfit)) == ("below", True)
    assert sum(e.exact_values) == 1


def test_bars_at_once_are_bars_at_a_stricter_level_before_they_are_tightened() -> None:
    """The exact bar of each option at 1 − α/k, before clipping, the edge rule and tightening."""
    from tests.inside.estimates import unclipped_exact

    level = 1 - Fraction(1, 20) / 4
    first, last = (unclipped_exact(estimate(FOUR[j]).problem, level) for j in (0, 3))
    assert near(first, (0.685800216377, 0.948116905857))
    assert near(last, (-0.203354301923, -0.017778744335))
    bars = estimate(FOUR).intervals()
    assert near(bars[0].low, 0.685800216377)
    assert bars[0].high < 0.948  # no more than 1 minus the lower ends of the others
    assert all(bar.guaranteed and bar.level == Fraction(19, 20) for bar in bars)
    assert estimate(FOUR).option(0).interval().low > bars[0].low


def test_the_figures_of_ten_options_and_of_five() -> None:
    e = estimate(TEN)
    assert near((e[0].value, e[9].value), (0.666985025845, -0.240191015507))
    assert (near(e.intervals()[0].low, 0.499620397492), sum(e.exact_values)) == (True, 1)
    assert near(e.option(0).interval("0.995").high, 0.836488733861)  # before it is tightened
    assert near(sum(e.simplex()), 1)
    five = Tally(SetDesign(5, 1, "3/7"), 100, [30, 25, 20, 15, 10])
    assert near(estimate(five).simplex(), [1 / 2, 1 / 3, 1 / 6, 0, 0])


DESIGNS = [(2, 1), (3, 1), (3, 2), (4, 2), (4, 3)]


@pytest.mark.parametrize(("k", "size"), DESIGNS)
@pytest.mark.parametrize("target", ["population", "sample"])
def test_values_and_covariances_are_unbiased(k: int, size: int, target: str) -> None:
    """Every way in which three people can answer: for the population also every way in which they can be."""
    design = SetDesign(k, size, Fraction(size, k) + Fraction(k - size, 2 * k))
    sets = list(itertools.combinations(range(k), size))
    shares = [Fraction(2 * (j + 1), k * (k + 1)) for j in range(k)]

    def chance(held: tuple[int, ...], truth: int) -> Fraction:
        ways = math.comb(k - 1, size - 1) if truth in held else math.comb(k - 1, size)
        return (design.p if truth in held else 1 - design.p) / ways

    people = [0, 1, 1]
    laws: list[dict[tuple[int, ...], Fraction]] = []
    for person in people:
        by_share = {held: sum(shares[x] * chance(held, x) for x in range(k)) for held in sets}
        laws.append({held: chance(held, person) for held in sets} if target == "sample" else by_share)  # type: ignore[arg-type]
    mean, product = [Fraction(0)] * k, [[Fraction(0)] * k for _ in range(k)]
    stated = [[Fraction(0)] * k for _ in range(k)]

    @cache
    def estimated(counts: tuple[int, ...]) -> Any:  # many ways of answering have the same counts
        e = estimate(Tally(design, 3, list(counts)), **aimed(target))
        return e.exact_values, e.exact_covariance

    for said in itertools.product(sets, repeat=3):
        weight = math.prod((law[held] for law, held in zip(laws, said, strict=True)), start=Fraction(1))
        values, covariance = estimated(tuple(sum(j in held for held in said) for j in range(k)))
        for i in range(k):
            mean[i] += weight * values[i]
            for j in range(k):
                product[i][j] += weight * values[i] * values[j]
                stated[i][j] += weight * covariance[i][j]
    assert mean == (shares if target == "population" else [Fraction(people.count(j), 3) for j in range(k)])
    for i, j in itertools.product(range(k), repeat=2):
        assert stated[i][j] == product[i][j] - mean[i] * mean[j], (i, j)
    assert all(sum(row) == 0 for row in stated)


def test_the_planted_bug_of_independent_options_is_seen() -> None:
    """Two options as two samples: the error of their difference would be wrong, and the covariance says by how much."""
    e = estimate(FOUR)
    wrong = math.hypot(*(row.standard_error for row in e.rows[:2]))
    right = e.compare(0, 1).standard_error
    assert right == pytest.approx(math.sqrt(wrong**2 - 2 * e.covariance[0][1]))
    assert right > 1.1 * wrong


def test_bars_at_once_cover_by_exact_sums() -> None:
    """n = 4 of three options at 90 %: for shares on a grid, the chance that all three bars hold."""
    design, n = SetDesign(3, 1, "3/5"), 4
    outcomes = [c for c in itertools.product(range(n + 1), repeat=3) if sum(c) == n]
    bars = {c: estimate(Tally(design, n, c)).intervals("0.9") for c in outcomes}
    for a, b in itertools.product(range(11), repeat=2):
        if a + b > 10:
            continue
        shares = [Fraction(a, 10), Fraction(b, 10), Fraction(10 - a - b, 10)]
        said = [design.q + design.c * share for share in shares]
        held = Fraction(0)
        for c in outcomes:
            ways = math.factorial(n) // math.prod(map(math.factorial, c))
            inside = all(bar.low <= share <= bar.high for bar, share in zip(bars[c], shares, strict=True))
            held += inside * ways * math.prod((p**m for p, m in zip(said, c, strict=True)), start=Fraction(1))
        assert held >= Fraction(9, 10), shares


def test_groups_differences_and_scores() -> None:
    e = estimate(FOUR, labels=("bus", "car", "bike", "foot"))
    together = e.group([2, 3])
    assert isinstance(together, Estimate)
    assert together.exact_value == e.exact_values[2] + e.exact_values[3]
    cov = e.exact_covariance
    assert together.variance == cov[2][2] + cov[3][3] + 2 * cov[2][3]
    assert together.tally.mechanism == FOUR.design
    wide = estimate(TEN).group([0, 1])
    assert isinstance(wide, Combination)
    assert near(wide.value, sum(row.value for row in estimate(TEN).rows[:2]))
    assert e.compare(0, 1, family=1).interval().target == "difference bus − car"
    scored = e.mean([1, 2, 3, 4])
    assert near(scored.value, sum((j + 1) * value for j, value in enumerate(row.value for row in e.rows)))
    assert scored.interval().low >= 1
    assert "bus: 81.6 %" in e.sentence()
    assert str(e).splitlines()[1].startswith("bus")
    assert e.as_dict()["rows"][0]["name"] == "bus"  # type: ignore[index]
    assert Tally.from_json(FOUR.to_json()) == FOUR


def test_a_sum_of_options_has_a_guaranteed_bar_and_never_one_of_no_width_without_a_reason() -> None:
    """By sets of two: Hoeffding's and the default with the edge rule; the normal one says why it has no width."""
    design = SetDesign(5, 2, "2/3")
    low = estimate(Tally(design, 300, [20, 20, 190, 185, 185])).group([0, 1])
    assert isinstance(low, Combination)
    assert low.value < 0
    normal, sure, default = (low.interval(method=method) for method in ("wald", "hoeffding", "adjusted"))
    assert 0 == default.low < default.high < sure.high
    assert (normal.width, normal.guaranteed) == (0, False)
    assert "width 0: the whole bar lies beyond" in normal.warning
    assert (sure.low, sure.guaranteed, sure.warning) == (0, True, "")
    half = 3 * 2 * math.sqrt(math.log(40) / 2 / 300)  # an answer moves the sum of two options by 2/c = 6 at most
    assert near(sure.high, min(1.0, half))
    with pytest.raises(ParameterError, match="one of hoeffding, wald, adjusted"):
        low.interval(method="exact")


def test_two_options_are_a_yes_no_question() -> None:
    design = best_for_options(1, 2)
    both = estimate(Tally(design, 500, [180, 320]))
    single = estimate(Tally(design.column, 500, 180))
    assert both.exact_values == (single.exact_value, 1 - single.exact_value)
    assert both[0].interval() == single.interval()


def test_what_was_not_counted_from_such_answers_is_refused() -> None:
    design = SetDesign(3, 2, "3/4")
    for n, counts in (
        (2, [2, 1]),
        (2, [2, 2, 1]),
        (2, [3, 1, 0]),
        (2, [-1, 3, 2]),
        (2, [2.0, 1, 1]),
        (-1, [0, 0, 0]),
        (2, None),
        (2, 5),
        (2, "211"),
    ):
        with pytest.raises(ParameterError):
            Tally(design, n, counts)  # type: ignore[arg-type]
    with pytest.raises(TooFewAnswers):
        estimate(Tally(design, 1, [1, 1, 0]))
    with pytest.raises(ParameterError):
        Tally(design, 1, [1, 1, 0]) + Tally(SetDesign(3, 2, "4/5"), 1, [1, 1, 0])
    assert sum([Tally(design, 1, [1, 1, 0]), Tally(design, 1, [0, 1, 1])]).counts == (1, 2, 1)
    e = estimate(FOUR)
    for call in (lambda: e[4], lambda: e.compare(0, 0), lambda: e.group([]), lambda: e.group(range(4)),
                 lambda: e.mean([1, 2]), lambda: estimate(FOUR, labels=("a",)),
                 lambda: estimate(FOUR, labels=("a", "b", "c", "a")), lambda: FOUR[True]):  # fmt: skip
        with pytest.raises(ParameterError):
            call()


# ---- means ----------------------------------------------------------------------------------------------------------


def test_the_figures_of_a_mean() -> None:
    e = estimate(Tally(optimal_design(1), 1000, 520), bounds=(0, 1))
    assert near((e.value, e.standard_error), (0.543279068275, 0.0342048313392))
    assert near(tuple(e.interval()), (0.475146740675, 0.61115591901))
    hours = estimate(Tally(optimal_design(1), 1000, 520), bounds=("-5", 35), unit="hours")
    assert near(hours.value, -5 + 40 * e.value)
    assert hours.interval().low == pytest.approx(-5 + 40 * 0.475146740675)


def test_what_would_be_wrong_for_those_who_answered_is_refused() -> None:
    e = estimate(Tally(optimal_design(1), 1000, 520), bounds=(0, 1), target="sample")
    assert e.interval() == estimate(Tally(optimal_design(1), 1000, 520), bounds=(0, 1)).interval()
    assert e.standard_error is None
    with pytest.raises(ParameterError, match="hoeffding"):
        e.interval(method="wilson")
    assert e.as_dict()["rows"][0]["standard_error"] is None
    for bad in ({"bounds": (1, 1)}, {"bounds": (0, 1), "population": 3000}, {"bounds": ("nan", 1)}):
        with pytest.raises(ParameterError):
            estimate(Tally(optimal_design(1), 10, 5), **bad)  # type: ignore[arg-type]


def test_the_bar_holds_for_numbers_that_an_adversary_chose() -> None:
    """n = 12 people, exact sums over the Poisson-binomial law, for several spreads of the numbers: at least 95 %."""
    design, n = optimal_design(1), 12
    bars = [estimate(Tally(design, n, ones), bounds=(0, 1), target="sample").interval() for ones in range(n + 1)]
    for numbers in ([0.5] * 12, [0, 1] * 6, [0.1] * 6 + [0.9] * 6, [0] * 11 + [1], [0.3] * 12, [0.02] * 12, [1] * 12):
        law = [1.0]
        for number in numbers:
            p = float(1 - design.p00) + float(design.c) * number
            law = [a * (1 - p) + b * p for a, b in zip([*law, 0.0], [0.0, *law], strict=True)]
        mean = sum(numbers) / n
        assert sum(p for p, bar in zip(law, bars, strict=True) if bar.low <= mean <= bar.high) >= 0.95, numbers
