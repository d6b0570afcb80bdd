"""Choices and numbers in bulk: every symbol, every boundary of the undecided, every plane of small selections.

No chance is involved but in the two tests that say so, with their false-alarm rate."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rrcollect import Design, ParameterError, SetDesign, optimal_design, randomise, randomise_many
from rrcollect.design import bulk_sets
from rrcollect.design.bulk_sets import _closed, _plane, _selected
from rrcollect.errors import BadTruth, OffGridDesign
from tests.inside.answer import fresh_keystream
from tests.inside.design import GRID, best_for_options, bulk_bits, made_for, threshold

SYMBOLS, LOW = 1 << 16, (1 << 48) - 1


def feeding(*arrays: Any) -> Callable[[Any], None]:
    """A source of bytes: one array per call, then a real one (a selection needs bits until it is closed)."""
    given, after = iter(arrays), fresh_keystream()

    def fill(buffer: Any) -> None:
        content = next(given, None)
        if content is None:
            after(buffer)
        else:
            buffer[:] = np.ascontiguousarray(content).view(np.uint8)[: buffer.size]

    return fill


def one_draw(drawn: int) -> Callable[[Any], None]:
    """A source whose first symbol and 48 bits more are these 64 bits."""
    return feeding(np.array([drawn >> 48], np.uint16), np.array([(drawn & LOW) << 16], np.uint64))


def held(answers: Iterable[str]) -> Counter[str]:
    return Counter(answers)


# ---- one option -----------------------------------------------------------------------------------------------------

SINGLES = [made_for(1, 4, 1), made_for("1/2", 10, 1), made_for(2, 200, 1), made_for(1, 130, 1), made_for(20, 5, 1),
           SetDesign(3, 1, 1), SetDesign(3, 1, "1/2"), best_for_options(1, 2)]  # fmt: skip


def check_single(design: SetDesign, randomise: Callable[..., Any]) -> None:
    """The chance of every option, from all symbols and all boundaries of the undecided, is the design's."""
    k, each = design.options, design.limit
    assert each is not None
    share, left = each >> 48, each & LOW
    undecided = -(-(k - 1) * left // (1 << 48))
    symbols = np.arange(SYMBOLS, dtype=np.uint16)
    for truth in {0, 1, k // 2, k - 1}:
        said = np.asarray(randomise(np.full(SYMBOLS, truth), design, fill=feeding(symbols)))
        decided = said[: SYMBOLS - undecided].sum(axis=0)
        assert all(decided[option] == share for option in range(k) if option != truth)
        steps = [0]
        for step in range(
            k
        ):  # the last draw of every step, and the first of the next: it changes there and nowhere else
            end = left * (step + 1) if step < k - 1 else undecided << 48
            for drawn in {steps[-1], end - 1} if end > steps[-1] else set():
                number = (SYMBOLS - undecided << 48) + drawn
                answer = randomise(np.array([truth]), design, fill=one_draw(number))[0]
                assert answer.index("1") == (truth - 1 - step) % k
            steps.append(end)


@pytest.mark.parametrize("design", SINGLES, ids=str)
def test_one_option_has_the_law_of_the_design(design: SetDesign) -> None:
    check_single(design, randomise_many)


def test_the_check_sees_a_wrong_share() -> None:
    design, other = made_for("1/2", 10, 1), made_for("51/100", 10, 1)
    with pytest.raises(AssertionError):
        check_single(design, lambda truths, _, fill: randomise_many(truths, other, fill=fill))


def test_the_check_sees_a_step_of_one_in_2_64() -> None:
    design = made_for("1/2", 10, 1)
    other = SetDesign(10, 1, design.p - Fraction(9, GRID))
    with pytest.raises(AssertionError):
        check_single(design, lambda truths, _, fill: randomise_many(truths, other, fill=fill))


# ---- several options ------------------------------------------------------------------------------------------------

TABLES = [
    optimal_design(1, options=10),
    SetDesign(4, 2, "3/4"),
    SetDesign(5, 2, "2/3").to_grid(),
    SetDesign(16, 2, "1/2"),
]


@pytest.mark.parametrize("design", TABLES, ids=str)
def test_few_sets_have_equal_symbols(design: SetDesign) -> None:
    k, w, limit = design.options, design.size, design.applied_limit
    holding, others = math.comb(k - 1, w - 1), math.comb(k - 1, w)
    inside, outside = (limit >> 48) // holding, (GRID - limit >> 48) // others
    decided = holding * inside + others * outside
    symbols = np.arange(SYMBOLS, dtype=np.uint16)
    for truth in {0, k - 1}:
        answers = randomise_many(np.full(SYMBOLS, truth), design, fill=feeding(symbols))
        counted = held(itertools.islice(answers.texts(), decided))
        assert Counter(counted.values()) == Counter({inside: holding}) + Counter({outside: others})
        assert all(times == (inside if text[truth] == "1" else outside) for text, times in counted.items())
        assert all(design.allows(text) for text in counted)
        edge = limit - (holding * inside << 48)  # of the undecided, those below it hold the truth
        for drawn, holds in ((0, edge > 0), (edge - 1, True), (edge, False), ((SYMBOLS - decided << 48) - 1, False)):
            if 0 <= drawn < SYMBOLS - decided << 48:
                answer = randomise_many([truth], design, fill=one_draw((decided << 48) + drawn))[0]
                assert (answer[truth] == "1") == holds


@pytest.mark.parametrize("k", range(2, 7))
def test_selection_by_fair_bits_is_uniform(k: int) -> None:
    """Every pattern of two planes: of the selections that are then closed every set occurs equally often."""
    patterns = np.arange(1 << 2 * k)
    for w, inside in itertools.product(range(1, k), (0, 1)):
        candidates = np.full((1, patterns.size), (1 << k) - 3, np.uint8)  # all but option 1, the truth
        chosen = np.full_like(candidates, 2 * inside)
        wanted = np.full(patterns.size, w - inside, np.uint8)
        for bits in (patterns % (1 << k), patterns >> k):
            _plane(candidates, chosen, wanted, feeding(bits.astype(np.uint8)))
        still = _closed(candidates, chosen, wanted)
        counted = Counter(np.delete(chosen[0], still).tolist())
        assert len(counted) == math.comb(k - 1, w - inside)
        assert len(set(counted.values())) == 1
        assert all(said.bit_count() == w and said >> 1 & 1 == inside for said in counted)


@pytest.mark.parametrize(("k", "w"), [(17, 5), (33, 2), (64, 31), (65, 10), (100, 27), (200, 199), (200, 100)])
def test_wide_sets_have_their_size_and_the_truth_as_told(k: int, w: int) -> None:
    truths = (np.arange(3000) * 7 % k).astype(np.uint8)
    inside = np.arange(3000) % 3 > 0
    maps = _selected(truths, inside, k, w, fresh_keystream())
    answers = bulk_sets.ChosenSets(SetDesign(k, w, 1), maps)
    table = np.asarray(answers)
    assert (table.sum(axis=1) == w).all()
    assert (table[np.arange(3000), truths] == inside).all()


@pytest.mark.parametrize("limit", [1, (1 << 56) - 1, 1 << 56, 9926221139934917497, GRID - 1, GRID])
def test_the_flag_of_the_truth_has_its_chance(limit: int) -> None:
    everything = np.arange(256, dtype=np.uint8)
    for more, last in (
        (0, limit & (1 << 56) - 1 > 0),
        ((limit & (1 << 56) - 1) - 1, True),
        (limit & (1 << 56) - 1, False),
    ):
        if more < 0:
            continue
        flags = bulk_sets.flags(256, limit, feeding(everything, np.array([more << 8], np.uint64)))
        assert flags[1:].sum() == min(limit >> 56, 255)
        assert bool(flags[0]) == (last or limit == GRID)


def test_single_and_bulk_say_the_same_of_a_certain_design() -> None:
    for design in (SetDesign(7, 3, 1), SetDesign(40, 3, 1), SetDesign(4, 1, 1)):
        truths = np.arange(500) % design.options
        table = np.asarray(randomise_many(truths, design))
        assert (table[np.arange(500), truths] == 1).all()
        assert randomise(2, design)[2] == "1"


@pytest.mark.parametrize("design", [made_for(1, 10, 1), optimal_design(1, options=10), made_for(1, 100, 27)], ids=str)
def test_the_error_is_the_closed_form(design: SetDesign) -> None:
    """The mean of the squared error over 400 samples of 250, against n·MSE of the people who answered.  Its own spread
    is below 0.5/√400 of it (χ² with at least 9 degrees of freedom): 6.5 such spreads are beyond 1e-9."""
    k, n, times = design.options, 250, 400
    truths = (np.arange(n) ** 2 // 700 % k).astype(np.uint8)
    table = np.asarray(randomise_many(np.tile(truths, times), design)).reshape(times, n, k)
    error = table.mean(axis=1) - float(design.q) - float(design.c) * np.bincount(truths, minlength=k) / n
    p, q = float(design.p), float(design.q)
    ratio = n * (error**2).sum(axis=1).mean() / (p * (1 - p) + (k - 1) * q * (1 - q))
    assert abs(ratio - 1) < 6.5 * 0.5 / math.sqrt(times)


def test_chosen_sets_read_as_a_list_of_texts() -> None:
    answers = randomise_many(np.arange(4), SetDesign(4, 1, 1))
    assert list(answers.texts()) == ["1000", "0100", "0010", "0001"] == [answers[i] for i in range(4)]
    assert answers[-1] == "0001"
    assert repr(answers) == "ChosenSets(4 answers by one option of 4, the truth among them with p = 1)"
    with pytest.raises(IndexError):
        answers[4]
    empty = randomise_many([], optimal_design(1, options=10))
    assert (len(empty), empty.counts().tolist(), list(empty.texts())) == (0, [0] * 10, [])
    assert randomise_many(np.zeros(0, int), made_for(1, 4, 1)).counts().tolist() == [0] * 4
    assert randomise_many(np.zeros(0, int), made_for(1, 100, 27)).counts().tolist() == [0] * 100


@pytest.mark.parametrize(
    "truths", [[0.0], [4], [-1], ["1"], [True], [None], np.ma.masked_array([1], [0]), [float("nan")], [[1], [2, 3]]]
)
def test_truths_that_are_not_options_are_refused(truths: Any) -> None:
    with pytest.raises((BadTruth, ValueError)) as caught:
        randomise_many(truths, made_for(1, 4, 1))
    assert "not shown" in str(caught.value) or "masked" in str(caught.value) or "inhomogeneous" in str(caught.value)


def test_a_design_of_another_kind_is_refused_by_name() -> None:
    yes_no, choice, several = optimal_design(1), optimal_design(1, options=4), optimal_design(1, several=4)
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: randomise(0, several, bounds=(0, 1)), "design for a number:"),
        (lambda: randomise_many([0.0], several, bounds=(0, 1)), "design for a number:"),
        (lambda: randomise_many(np.zeros(1, np.uint8), choice, packed=8), "Design:"),
        (lambda: randomise(True, None), "Design, SetDesign or BlockDesign:"),  # type: ignore[arg-type]
        (lambda: randomise_many([True], None), "Design, SetDesign or BlockDesign:"),  # type: ignore[arg-type]
    ]
    for call, wanted in calls:
        with pytest.raises(ParameterError, match=f"use a {wanted}"):
            call()
    truths: list[Callable[[], Any]] = [
        lambda: randomise(2, yes_no), lambda: randomise_many([2], yes_no),
        lambda: randomise(True, choice), lambda: randomise_many([True], choice),
    ]  # fmt: skip
    for call in truths:
        with pytest.raises(BadTruth, match="not shown"):
            call()


@pytest.mark.parametrize(("low", "high"), [(-(Fraction(10) ** 400), Fraction(10) ** 400), (0, Fraction(1, 10**400))])
def test_a_range_that_no_double_is_near_to_is_drawn_from_exactly(low: Any, high: Any) -> None:
    design, zeros = Design("1/2", 1), np.zeros(2000)
    said = randomise_many(zeros, design, bounds=(low, high))
    chance = threshold(0.0, (GRID // 2, GRID), Fraction(low), Fraction(high)) / GRID
    assert abs(said.mean() - chance) < 6.5 * math.sqrt(chance * (1 - chance) / zeros.size)  # 1e-10


def test_a_design_off_the_grid_is_refused_in_bulk_too() -> None:
    with pytest.raises(OffGridDesign):
        randomise_many([0], SetDesign(5, 2, "2/3"))


# ---- numbers --------------------------------------------------------------------------------------------------------

DESIGN = optimal_design(1)
NUMBERS = [0.0, 5e-324, 1e-20, 0.1, 0.25, 1 / 3, 0.5, 0.75, 1 - 2**-53, 1.0]


def check_numbers(design: Design, low: Any, high: Any, numbers: list[float], randomise: Callable[..., Any]) -> None:
    """At τ − 1 the answer is 1 and at τ it is 0, for every number, and for symbols all around."""
    assert design.limits is not None
    for number in numbers:
        limit = threshold(number, design.limits, Fraction(low), Fraction(high))
        around = [*range(max(0, (limit >> 48) - 6), min(SYMBOLS, (limit >> 48) + 7)), 0, SYMBOLS - 1]
        draws = [limit - 1, limit, *(symbol << 48 | low for symbol in around for low in (0, LOW))]
        for drawn in (draw for draw in draws if 0 <= draw < GRID):
            assert bool(randomise(np.array([number]), design, bounds=(low, high), fill=one_draw(drawn))[0]) == (
                drawn < limit
            )


@pytest.mark.parametrize(
    "design", [DESIGN, Design("3/4", 1), Design(1, "1/2"), Design(1, 1), Design("1/2", "9/16")], ids=str
)
def test_numbers_have_the_law_of_the_single_draw(design: Design) -> None:
    check_numbers(design, 0, 1, NUMBERS, randomise_many)


@pytest.mark.parametrize(
    ("low", "high"), [("-5", "35"), ("1/3", "2/3"), ("10000000000000000", "10000000000000003"), ("0", "1e-300")]
)
def test_every_range_has_it(low: str, high: str) -> None:
    ends = Fraction(low), Fraction(high)
    inside = [
        float(ends[0] + (ends[1] - ends[0]) * share) for share in (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    ]
    check_numbers(DESIGN, low, high, [x for x in inside if ends[0] <= Fraction(x) <= ends[1]], randomise_many)


def test_the_check_of_numbers_sees_a_float_rule() -> None:
    def in_floats(truths: Any, design: Design, bounds: Any, fill: Any) -> Any:
        symbols, more = np.zeros(truths.size, np.uint16), np.zeros(truths.size, np.uint64)
        fill(symbols.view(np.uint8))
        fill(more.view(np.uint8))
        uniform = (symbols * 2.0**48 + (more >> np.uint64(16))) / 2.0**64
        return uniform < float(1 - design.p00) + float(design.c) * truths

    with pytest.raises(AssertionError):
        check_numbers(DESIGN, 0, 1, NUMBERS, in_floats)


def test_numbers_are_taken_exactly() -> None:
    limits = DESIGN.limits
    assert limits is not None
    exact = threshold(Fraction(1, 10), limits, Fraction(0), Fraction(1))
    assert (
        threshold(Decimal("0.1"), limits, Fraction(0), Fraction(1))
        == exact
        != threshold(0.1, limits, Fraction(0), Fraction(1))
    )
    assert (threshold(0, limits, Fraction(0), Fraction(1)), threshold(1, limits, Fraction(0), Fraction(1))) == limits


@pytest.mark.parametrize("truth", [float("nan"), float("inf"), -0.1, 1.1, "0.5", None, True, 1j])
def test_what_is_not_a_number_in_range_is_refused_and_not_shown(truth: Any) -> None:
    with pytest.raises(BadTruth) as one:
        randomise(truth, DESIGN, bounds=(0, 1))
    with pytest.raises(BadTruth) as many:
        randomise_many(np.array([True]) if truth is True else np.array([0.5, truth]), DESIGN, bounds=(0, 1))
    assert "not shown" in str(one.value)
    assert "not shown" in str(many.value)


def test_clipping_is_said_by_the_survey() -> None:
    source = one_draw(0)
    assert randomise(-7, DESIGN, bounds=(0, 1), clip=True, source=bytes) == "1"
    assert randomise_many(np.array([9.0]), DESIGN, bounds=(0, 1), clip=True, fill=source)[0]
    with pytest.raises(BadTruth):
        randomise_many(np.array([np.nan]), DESIGN, bounds=(0, 1), clip=True)
    with pytest.raises(ParameterError):
        randomise(1, DESIGN, bounds=(3, 3))
    with pytest.raises(BadTruth, match="2\\^53"):
        randomise_many(np.array([2**60]), DESIGN, bounds=(0, 2**61))
    assert randomise_many(np.zeros((2, 3)), DESIGN, bounds=(0, 1)).shape == (2, 3)
    assert bulk_bits.NUMBERS % 8 == 0


def test_the_mean_comes_back() -> None:
    """n = 200,000: off by more than 6.2 standard deviations (n·Var <= 1/(4c²)) in fewer than 1e-9 of the runs."""
    n = 200_000
    numbers = np.arange(n) % 1000 / 999
    said = randomise_many(numbers, DESIGN, bounds=(0, 1)).mean()
    c = float(DESIGN.c)
    assert abs((said - float(1 - DESIGN.p00)) / c - 0.5) < 6.2 / (2 * c * math.sqrt(n))
