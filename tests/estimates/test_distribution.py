"""The distribution of a number: the numbers of the theory, variances by enumeration, and bands that cover.

Coverage is enumerated exactly for few people, and simulated for many: a miss in more of the runs than a binomial law
with the level's chance allows in one of 10^9 cases is a failure."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy import stats

from rrcollect import ParameterError, SetDesign, optimal_design, randomise_many
from server_agg import Tally, estimate
from tests.inside.design import BinDesign, Curve, worst_variance

FOUR = [BinDesign(4, "63/64"), SetDesign(4, 1, "61/64"), SetDesign(4, 2, "31/32")]
SHARES = [
    [Fraction(1, 4)] * 4,
    [Fraction(1), Fraction(0), Fraction(0), Fraction(0)],
    [Fraction(1, 8), Fraction(5, 8), Fraction(0), Fraction(1, 4)],
]
PEOPLE, RUNS = 9, 300


def law(design: Any, truth: int) -> dict[str, Fraction]:
    """The answers to a bin with their chances, by the definition of each design."""
    p = design.p
    if design.statistic == "numbers":
        said = [(q, design.holds(truth, q)) for q in range(design.questions)]
        return {
            design.written(2 * q + bit): design.chance(q) * (p if bit == own else 1 - p)
            for q, own in said
            for bit in (False, True)
        }
    k, w = design.options, design.size
    sets = ["".join("01"[j in held] for j in range(k)) for held in itertools.combinations(range(k), w)]
    inside = math.comb(k - 1, w - 1)
    return {one: p / inside if one[truth] == "1" else (1 - p) / (len(sets) - inside) for one in sets}


def everybody(design: Any, shares: list[Fraction], n: int) -> Iterator[tuple[float, Tally]]:
    """Every tally of n people of a population, with its chance."""
    laws = [law(design, truth) for truth in range(len(shares))]
    chances = {one: sum(s * each[one] for s, each in zip(shares, laws, strict=True)) for one in laws[0]}
    for said in itertools.combinations_with_replacement(sorted(chances), n):
        times = Counter(said)
        orders = math.factorial(n) // math.prod(map(math.factorial, times.values()))
        yield float(orders * math.prod(chances[one] ** m for one, m in times.items())), Tally.of(list(said), design)


def below(shares: list[Fraction]) -> list[float]:
    return [float(sum(shares[:edge])) for edge in range(len(shares) + 1)]


@pytest.mark.parametrize(
    ("bins", "haar_walsh", "sets"),
    [(8, 6.37, 6.46), (16, 10.3, 13.8), (32, 15.7, 28.6), (64, 21.8, 58), (256, 37.5, None), (1024, 57.2, None)],
)
def test_the_worst_variance_is_that_of_the_theory(bins: int, haar_walsh: float, sets: float | None) -> None:
    drawn = worst_variance(BinDesign(bins, optimal_design(1).p00))
    assert float(drawn) == pytest.approx(haar_walsh, abs=0.06)
    if sets is None:
        assert optimal_design(1, bins=bins).to_wire()["bins"] == bins
    else:
        assert float(worst_variance(optimal_design(1, options=bins))) == pytest.approx(sets, abs=0.06)
        assert ("bins" in optimal_design(1, bins=bins).to_wire()) is (haar_walsh < sets)


@pytest.mark.parametrize("design", [*FOUR, BinDesign(8, "3/4"), SetDesign(5, 2, "2/3")], ids=str)
def test_one_answer_has_the_variance_and_the_reach_that_bands_are_made_from(design: Any) -> None:
    k = design.truths
    for truth in range(k):
        told = [
            (chance, design.below(1, Tally.of([said], design).counts)) for said, chance in law(design, truth).items()
        ]
        means = sum(float(chance) * one.values for chance, one in told)
        squares = sum(float(chance) * one.values**2 for chance, one in told)
        true = [float(truth < edge) for edge in range(1, k)]
        assert means == pytest.approx(true, abs=1e-9)  # unbiased
        wanted = [float(design.variance_below(edge, Fraction(truth < edge))) for edge in range(1, k)]
        assert squares - means**2 == pytest.approx(wanted, abs=1e-9)
        for chance, one in told:
            assert (squares - means**2 <= one.spread + 1e-9).all()
            assert (np.abs(one.values - means) <= one.reach + 1e-9).all() or not chance


@pytest.mark.parametrize("design", FOUR, ids=str)
def test_bins_and_edges_tell_the_same(design: Any) -> None:
    (tally,) = [one for _, one in itertools.islice(everybody(design, SHARES[2], 4), 7, 8)]
    found = estimate(tally, bounds=(0, 4))
    heights = [one.value for one in found.histogram()]
    assert np.diff([one.value for one in found.cdf()]) == pytest.approx(heights)
    one = design.within(4, tally.counts)
    assert sum(one.values) == pytest.approx(1)


@pytest.mark.parametrize("shares", SHARES, ids=["even", "one bin", "uneven"])
@pytest.mark.parametrize("design", FOUR, ids=str)
def test_bands_and_histograms_cover_exactly(design: Any, shares: list[Fraction]) -> None:
    level, true = 0.5, np.array(below(shares))
    whole = curve = bars = narrow = 0.0
    for chance, tally in everybody(design, shares, 6 if len(law(design, 0)) > 4 else PEOPLE):
        found = estimate(tally, bounds=(0, 4))
        low, high = found.band(level)
        whole += chance
        narrow += chance * (high - low).max() < 1
        curve += chance * bool(((low <= true + 1e-12) & (true <= high + 1e-12)).all())
        held = zip(found.histogram(level), np.diff(true), strict=True)
        bars += chance * all(one.bar[0] <= share + 1e-12 and share <= one.bar[1] + 1e-12 for one, share in held)
    assert whole == pytest.approx(1)
    assert narrow > 0.5
    assert min(curve, bars) >= level


def simulated(design: Any, n: int, level: float, bounds: tuple[int, int] = (0, 16)) -> tuple[int, int]:
    """(runs in which the band missed the true curve, runs in which the median's bar missed the true median)."""
    k = design.truths
    weights = np.exp(-np.arange(k) / (k / 4))
    law_of_bins = weights / weights.sum()
    true = np.concatenate([[0], np.cumsum(law_of_bins)])
    people, missed, median = np.searchsorted(true[1:], (np.arange(n) + 0.5) / n), 0, 0
    realised = np.concatenate([[0], np.cumsum(np.bincount(people, minlength=k)) / n])
    for _ in range(RUNS):
        found = estimate(Tally.of(randomise_many(people, design), design), bounds=bounds, target="sample")
        low, high = found.band(level)
        missed += not ((low <= realised) & (realised <= high)).all()
        bar = found["median"].interval(level)
        edge = found.edge(int(np.searchsorted(realised, 0.5)))  # the median lies in the bin that ends here
        median += not (bar.low <= edge - 1 + 1e-9 and edge <= bar.high + 1e-9)
    return missed, median


MOST_MISSED = int(stats.binom.isf(1e-9, RUNS, 0.05))


@pytest.mark.parametrize("design", [optimal_design(1, bins=16), optimal_design(3, bins=16)], ids=["drawn", "sets"])
def test_bands_cover_in_simulation(design: Any) -> None:
    missed, median = simulated(design, 3000, 0.95)
    assert max(missed, median) <= MOST_MISSED  # by chance at most once in 10^9


@pytest.mark.parametrize("name", ["spread", "reach"])
def test_a_band_from_too_small_a_spread_is_caught(name: str) -> None:
    """Planted: a sixteenth of the variance is claimed; and for the few, a tenth of the reach with none at all."""
    real = BinDesign.below

    def boasting(self: Any, n: int, counts: Any) -> Curve:
        made = real(self, n, counts)
        return (
            made._replace(spread=made.spread / 16)
            if name == "spread"
            else made._replace(reach=made.reach / 10, spread=0)
        )

    with mock.patch.object(BinDesign, "below", boasting):
        assert simulated(BinDesign(16, optimal_design(1).p00), 3000, 0.95)[0] > MOST_MISSED


def test_a_band_that_may_be_looked_at_every_day_is_wider_and_holds_at_every_n() -> None:
    design = optimal_design(1, bins=16)
    found = estimate(Tally(design, 3000, [100] * 30), bounds=(0, 24))
    usual, looked = (found["median"].interval(0.95, method) for method in ("bernstein", "anytime"))
    assert looked.low <= usual.low < usual.high <= looked.high
    assert looked.method == "anytime"
    left = sum(Fraction(1, (j + 1) * (j + 2)) for j in range(64))
    assert left < 1  # what all doublings of n take of α together


def test_what_a_distribution_is_not_asked() -> None:
    design = optimal_design(1, bins=16)
    tally = Tally(design, 3000, [100] * 30)
    found = estimate(tally, bounds=(0, 24), unit="hours")
    for q in (0, 1, -1, 2, float("nan")):
        with pytest.raises(ParameterError):
            found.quantile(q)
    with pytest.raises(ParameterError, match="bernstein"):
        found["median"].interval(0.95, "wald")
    with pytest.raises(ParameterError, match="one design"):
        estimate([tally, Tally(BinDesign(16, "3/4"), 30, [1] * 30)], bounds=(0, 24))
    with pytest.raises(ParameterError, match="population"):
        estimate(tally, bounds=(0, 24), population=10_000)
    with pytest.raises(ParameterError, match="bins"):
        estimate(Tally(optimal_design(1, several=3), 6, [1] * 6), bounds=(0, 1))
    assert found.quantile("1/2").value == found["median"].value == 12.0
    assert found.as_dict()["cdf"][0] == {"low": 0.0, "high": 0.0, "value": 0.0, "bar": [0.0, 0.0]}


def test_rejected_numbers_are_drawn_again() -> None:
    """A number that would favour some question is never used: three does not divide 2^64."""
    design, given = optimal_design(1, several=3), iter([b"\xff" * 16, bytes(8)])
    assert design.draw([], lambda n: next(given)) == "0"
    with pytest.raises(StopIteration):
        next(given)
