"""Set designs: numbers, best size, promise, variances by enumeration; and two promises for one question."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import flint
import pytest

from rrcollect import Design, Epsilon, ParameterError, Promise, SetDesign, optimal_design, randomise
from rrcollect.design.sampling import chosen_set
from rrcollect.errors import BadTruth, NoRandomness, OffGridDesign, UninformativeDesign
from tests.inside.design import GRID, best_for_options, best_size, from_wire, made_for
from tests.support.devices import VECTORS, load

FOUR, FIVE = SetDesign(4, 1, "1/2"), SetDesign(5, 2, "2/3")
SHARES4 = ["1/2", "1/4", "1/8", "1/8"]
SHARES5 = ["1/2", "1/4", "1/8", "1/16", "1/16"]


def test_the_numbers_of_two_designs() -> None:
    assert (FOUR.q, FOUR.c, FIVE.q, FIVE.c) == (Fraction(1, 6), Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
    assert FOUR.total_variance(SHARES4) == Fraction(213, 32)
    assert FOUR.total_variance(["1/4"] * 4) == Fraction(27, 4)
    assert (FOUR.variance(SHARES4, 0), FOUR.variance(SHARES4, 3)) == (2, Fraction(95, 64))
    assert (FOUR.covariance(SHARES4, 0, 1), FOUR.covariance(SHARES4, 2, 3)) == (Fraction(-3, 4), Fraction(-25, 64))
    assert FIVE.total_variance(SHARES5) == Fraction(1365, 128)
    assert FIVE.covariance(SHARES5, 0, 1) == Fraction(-5, 8)
    assert FIVE.covariance(SHARES5, 3, 4) == Fraction(-129, 256)
    assert FOUR.delta("ln 2") == pytest.approx(1 / 6, abs=1e-15)
    assert FIVE.delta("ln 2") == pytest.approx(1 / 6, abs=1e-15)


def test_the_best_size() -> None:
    cases = {(4, "0.5"): 2, (4, "0.6"): 1, (10, "0.5"): 4, (10, "1"): 3, (10, "1.79"): 2, (10, "1.8"): 1, (20, "1"): 5}
    assert {case: best_size(case[1], case[0]) for case in cases} == cases
    assert (best_size(1, 100), best_size(2, 1000)) == (27, 119)
    assert best_size("ln(6)", 10) == 1  # a tie: E² 1·2 = 72 = 9·8
    assert best_size("ln(3)", 3) == 1


@pytest.mark.parametrize("k", [2, 3, 5, 10, 37, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("ratio", ["1000001/1000000", "9/8", "2", "e", "6", "50"])
def test_the_best_size_has_the_least_variance(k: int, ratio: str) -> None:
    """Against every other size, before the grid, by exact variances (e is one of the designs' own numbers)."""
    epsilon = "1" if ratio == "e" else f"ln({ratio})"
    size = best_size(epsilon, k)
    even = [Fraction(1, k)] * k

    def least(w: int) -> Fraction:
        big_e = Fraction(271828182845904523536, 10**20) if ratio == "e" else Fraction(ratio)
        return SetDesign(k, w, w * big_e / (w * big_e + k - w)).total_variance(even)

    found = {w: least(w) for w in {1, 2, size - 1, size, size + 1, k - 1} if 1 <= w < k}
    assert found[size] == min(found.values())
    assert all(found[w] > found[size] for w in found if w < size)  # a tie takes the smaller set


def test_numerators_on_the_grid() -> None:
    assert optimal_design(1, options=10).limit == 9926221139934917497
    assert optimal_design("1/2", options=5).limit == 9659012886435617561
    assert optimal_design(1, options=4).limit == 3225924259609386020
    assert made_for("1/2", 10, 1).limit == 1732296639641195340
    assert made_for("ln 3", 3, 1).limit == 3689348814741910324


def test_figures_of_ten_options() -> None:
    design, even = optimal_design(1, options=10), ["1/10"] * 10
    assert float(design.p) == pytest.approx(0.538101526224, abs=1e-12)
    assert float(design.q) == pytest.approx(0.273544274864, abs=1e-12)
    assert float(design.c) == pytest.approx(0.26455725136, abs=1e-12)
    assert float(design.total_variance(even)) == pytest.approx(30.0040551563, abs=1e-9)
    assert float(made_for(1, 10, 1).total_variance(even)) == pytest.approx(41.8583005841, abs=1e-9)
    assert float(design.manipulation_factor) == pytest.approx(3.7799001723, abs=1e-9)
    assert float(made_for(1, 10, 1).manipulation_factor) == pytest.approx(6.81976706869, abs=1e-9)
    words = design.explain()
    assert all(told in words for told in ("ε = 1", "at most 2.72", "one false report of 1000"))


def _kept(design: SetDesign, epsilon: str) -> tuple[bool, bool]:
    """(the promise is kept, one step more would break it), by FLINT's ball arithmetic."""
    before, flint.ctx.prec = flint.ctx.prec, 400
    try:
        big_e = flint.arb(flint.fmpq(*Fraction(epsilon).as_integer_ratio())).exp()

        def ratio(p: Fraction) -> flint.arb:
            k, w = design.truths, design.size
            exact = p * (k - w) / ((1 - p) * w)
            return flint.arb(flint.fmpq(exact.numerator, exact.denominator))

        step = Fraction(design.options - 1 if design.size == 1 else 1, GRID)
        return bool(ratio(design.p) <= big_e), design.p + step == 1 or bool(ratio(design.p + step) > big_e)
    finally:
        flint.ctx.prec = before


def promises(n: int) -> list[tuple[int, str]]:
    """Random numbers of options and ε; a fixed seed of the tests, nothing on the privacy path."""
    chosen = random.Random(17)
    return [(chosen.randint(2, 200), f"{chosen.randint(1, 9999)}/{chosen.choice([10, 1000, 3000])}") for _ in range(n)]


def test_the_promise_is_kept_and_tight() -> None:
    for k, epsilon in promises(400):
        assert _kept(best_for_options(epsilon, k), epsilon) == (True, True), (k, epsilon)


def test_the_judge_sees_a_step_too_many_and_one_too_few() -> None:
    design = optimal_design("7/10", options=9)
    step = Fraction(1, GRID)
    assert _kept(SetDesign(9, design.size, design.p + step), "7/10") == (False, True)
    assert _kept(SetDesign(9, design.size, design.p - step), "7/10") == (True, False)


@pytest.mark.parametrize(("k", "size"), [(2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3), (5, 2), (6, 3)])
def test_variances_and_covariances_are_those_of_the_law(k: int, size: int) -> None:
    """One person drawn from the population, every set enumerated; n people have a share of 1/n."""
    design = SetDesign(k, size, Fraction(size, k) + Fraction(k - size, 2 * k))
    shares = [Fraction(2 * (j + 1), k * (k + 1)) for j in range(k)]
    sets = list(itertools.combinations(range(k), size))
    law = dict.fromkeys(sets, Fraction(0))
    for held in sets:
        for truth, share in enumerate(shares):
            inside = truth in held
            ways = math.comb(k - 1, size - 1) if inside else math.comb(k - 1, size)
            law[held] += share * (design.p if inside else 1 - design.p) / ways
    value = {held: [((j in held) - design.q) / design.c for j in range(k)] for held in sets}
    mean = [sum(law[held] * value[held][j] for held in sets) for j in range(k)]
    assert mean == shares
    for i in range(k):
        row = []
        for j in range(k):
            exact = sum(law[held] * value[held][i] * value[held][j] for held in sets) - mean[i] * mean[j]
            assert design.covariance(shares, i, j, 7) == exact / 7
            row.append(exact)
        assert sum(row) == 0


@pytest.mark.parametrize("k", range(2, 8))
def test_the_set_of_a_number_is_uniform(k: int) -> None:
    for size, inside in itertools.product(range(1, k), (0, 1)):
        drawn = [chosen_set(inside, number, k, size) for number in range(math.perm(k - 1, size))]
        counted = {said: drawn.count(said) for said in drawn}
        assert len(counted) == math.comb(k - 1, size - inside)
        assert len(set(counted.values())) == 1
        assert all(said.bit_count() == size and said & 1 == inside and said < 1 << k for said in counted)


@pytest.mark.parametrize("case", load(VECTORS / "sets.json"), ids=lambda c: f"{c['design']['p'][:9]}-{c['draw'][:20]}")
def test_the_sets_of_the_vectors(case: dict[str, Any]) -> None:
    design, drawn = from_wire(case["design"]), bytes.fromhex(case["draw"])
    truths = case.get("truths", range(design.truths))
    said = [randomise(truth, design, source=lambda n: drawn[-n:]) for truth in truths]
    assert said == case["answers"]


def test_a_number_that_would_favour_somebody_is_drawn_again() -> None:
    given = iter([bytes(8) + b"\xff" * 9, bytes(9)])
    first = randomise(0, SetDesign(4, 2, "3/4"), source=lambda n: next(given))
    assert first == randomise(0, SetDesign(4, 2, "3/4"), source=bytes)
    with pytest.raises(StopIteration):
        next(given)


@pytest.mark.parametrize("truth", [-1, 4, 10**30, True, False, 1.0, "1", None, float("nan"), [1]])
def test_a_truth_that_is_not_an_option_is_refused_and_not_shown(truth: object) -> None:
    with pytest.raises(BadTruth) as caught:
        randomise(truth, FOUR.to_grid())  # type: ignore[arg-type]
    assert repr(truth) not in str(caught.value) or truth == 4


def test_what_cannot_be_a_design_is_refused() -> None:
    for bad in [(1, 1, 1), (201, 1, 1), (4, 4, 1), (4, 0, 1), (4, 1, 2), (4, 1, "nan"), (True, 1, 1), (4.0, 1, 1)]:
        with pytest.raises(ParameterError):
            SetDesign(*bad)  # type: ignore[arg-type]
    for p in ("1/4", "1/5", 0):
        with pytest.raises(UninformativeDesign):
            SetDesign(4, 1, p)
    with pytest.raises(ParameterError, match="marked as such"):
        optimal_design(1, "1/100", options=5)
    with pytest.raises(ParameterError, match="optimal_design"):
        best_for_options(1, 2, "1/100")
    for epsilon in (0, "1e-30"):
        with pytest.raises(UninformativeDesign):
            optimal_design(epsilon, options=5)
    with pytest.raises(ParameterError, match="add up to 1"):
        FOUR.variance(["1/2", "1/2", "1/2", 0], 0)
    with pytest.raises(ParameterError, match="option"):
        FOUR.variance(SHARES4, 4)
    with pytest.raises(OffGridDesign):
        randomise(0, FIVE)
    with pytest.raises(NoRandomness):
        randomise(0, FOUR.to_grid(), source=lambda n: b"")


def test_a_certain_design_discloses_and_says_so() -> None:
    certain = SetDesign(3, 1, 1)
    assert certain.worst_likelihood_ratio == math.inf
    assert (certain.loss.epsilon, certain.loss.delta) == (Epsilon(0), 1)
    assert "excluded for certain" in certain.explain()
    assert randomise(1, certain) == "010"


# ---- two promises ---------------------------------------------------------------------------------------------------


def test_two_promises() -> None:
    design = optimal_design(Promise.two_sided("ln 2", "ln 6"))
    assert (design.p00, design.p11) == tuple(
        Fraction(math.floor(p * GRID), GRID) for p in (Fraction(6, 11), Fraction(10, 11))
    )
    assert float(design.variance("1/10")) == pytest.approx(1.21, abs=1e-12)
    assert (design.choice.promise.epsilon, design.choice.promise.delta) == (Epsilon("ln 6"), 0)
    assert "only one of the answers can harm" in design.explain()


@pytest.mark.parametrize(("yes", "no"), [("1", "2"), ("1/3", "5"), ("ln 3", "1"), ("1/2 + ln 2", "7/3"), ("3", "3")])
def test_both_promises_are_kept_and_tight(yes: str, no: str) -> None:
    design, step = optimal_design(Promise.two_sided(yes, no)), Fraction(1, GRID)
    told = {1: Epsilon(yes), 0: Epsilon(no)}
    for answer, promise in told.items():
        assert Epsilon.of_ratio(Fraction(design.likelihood_ratio(answer))) <= promise
    more = Design(design.p00 + step, design.p11 + step)
    assert all(Epsilon.of_ratio(Fraction(more.likelihood_ratio(answer))) > told[answer] for answer in (0, 1))


def test_equal_promises_are_warner_s() -> None:
    from rrcollect import optimal_design

    for epsilon in ("1", "ln 3", "1/10"):
        assert optimal_design(Promise.two_sided(epsilon, epsilon)) == optimal_design(epsilon)


@pytest.mark.parametrize("promise", [(0, 1), (1, 0), (0, 0), ("1e-40", "1e-40")])
def test_two_promises_that_allow_nothing_are_refused(promise: tuple[object, object]) -> None:
    with pytest.raises(UninformativeDesign):
        optimal_design(Promise.two_sided(*promise))  # type: ignore[arg-type]
