"""One answer: every draw of small grids, boundary draws of 64 bits, refusals that show nothing, forks."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrcollect import Design, ParameterError, optimal_design, randomise
from rrcollect.errors import BadTruth, NoRandomness, NotOriented, OffGridDesign
from tests.support.biased_draws import biased, feeding, seven_bit
from tests.support.devices import VECTORS, load
from tests.support.executed_lines import lines_of
from tests.support.forks import repeated_draws
from tests.support.stopping import in_child


def count_ones(design: Design, truth: bool, bits: int, answer=randomise) -> int:
    """How many of all 2^bits draws (low bits all 0, then all 1) say 1; asserts that the low bits do not matter."""
    ones = 0
    for top in range(1 << bits):
        low = answer(truth, design, source=feeding(top << 64 - bits))
        high = answer(truth, design, source=feeding((top + 1 << 64 - bits) - 1))
        assert low == high
        ones += int(low)
    return ones


@pytest.mark.no_cover
@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 6, 7, 8])
def test_every_numerator_and_every_draw_of_small_grids(bits):
    """Counts equal the numerators exactly, for every k/D with D = 2^bits <= 256 and both truths."""
    size = 1 << bits
    for k in range(size + 1):
        for design, truth, expected in (
            (Design(Fraction(size - k, size), 1) if k < size else None, False, k),
            (Design(1, Fraction(k, size)) if k else None, True, k),
        ):
            if design is not None:
                assert count_ones(design, truth, bits) == expected


def test_the_exhaustive_count_catches_a_7_bit_probability():
    assert count_ones(Design(1, Fraction(3, 256)), True, 8, answer=seven_bit) != 3


@pytest.mark.parametrize("case", load(VECTORS / "draws.json"), ids=lambda c: f"{c['design']['p00'][:9]}-{c['draw']}")
def test_boundary_draws(case):
    design = Design(**case["design"])
    drawn = int(case["draw"], 16)
    assert randomise(False, design, source=feeding(drawn)) == str(case["no"])
    assert randomise(True, design, source=feeding(drawn)) == str(case["yes"])


def test_the_boundary_draws_catch_a_biased_threshold():
    wrong = 0
    for case in load(VECTORS / "draws.json"):
        design, source = Design(**case["design"]), feeding(int(case["draw"], 16))
        wrong += biased(True, design, source=source) != case["yes"]
    assert wrong >= 3


grid = st.integers(1, 2**64).map(lambda k: Fraction(k, 2**64))


@given(grid, grid, st.integers(0, 2**64 - 1))
def test_the_rule_for_any_grid_design(p00, p11, drawn):
    if p00 + p11 <= 1:
        return
    design = Design(p00, p11)
    assert randomise(True, design, source=feeding(drawn)) == str(int(Fraction(drawn, 2**64) < p11))
    assert randomise(False, design, source=feeding(drawn)) == str(int(Fraction(drawn, 2**64) < 1 - p00))


@pytest.mark.parametrize("truth", [True, 1, np.True_, np.bool_(True)])
def test_truths_in_every_plain_form(truth):
    assert randomise(truth, Design("1/2", 1)) == "1"


@pytest.mark.parametrize("truth", [False, 0, np.False_, np.bool_(False)])
def test_untruths_in_every_plain_form(truth):
    assert randomise(truth, Design(1, "1/2")) == "0"


@pytest.mark.parametrize("truth", [2, -1, "yes", None, 1.0, 0.5, [], b"1", object(), np.array([1])])
def test_other_truths_are_refused_and_not_shown(truth):
    with pytest.raises(BadTruth) as caught:
        randomise(truth, optimal_design(1))
    assert repr(truth) not in str(caught.value).replace("(or 1 or 0)", "")
    assert caught.value.__cause__ is None


def test_what_numpy_1_calls_its_booleans_is_a_truth():
    named = type("bool_", (int,), {})
    assert [randomise(named(bit), Design(1, 1)) for bit in (0, 1)] == ["0", "1"]


def test_the_thresholds_are_the_design_s():
    assert Design("3/4", 1).applied == (2**62, 2**64)
    assert Design("3/4", "1/2").applied == (2**62, 2**63)


def test_what_is_not_a_design_is_named():
    with pytest.raises(
        ParameterError, match="^design is 'ln 3': use a Design, SetDesign or BlockDesign: what answers are"
    ):
        randomise(True, "ln 3")


def test_designs_a_device_does_not_run():
    with pytest.raises(OffGridDesign):
        randomise(True, Design("2/3", "2/3"))
    with pytest.raises(NotOriented):
        randomise(True, Design("1/4", "1/4"))


def failing(n):
    raise OSError("no entropy, drew 12345")


@pytest.mark.parametrize(
    "source",
    [failing, lambda n: b"", lambda n: b"1234567", lambda n: b"123456789", lambda n: "12345678", lambda n: None],
)
def test_no_randomness_no_answer(source):
    with pytest.raises(NoRandomness) as caught:
        randomise(True, optimal_design(1), source=source)
    assert "12345" not in str(caught.value)


def test_the_same_number_of_bytes_and_the_same_lines_for_both_truths():
    """Record and replay: the trace of executed lines is the same for both truths, whatever the draw."""

    def trace(truth, drawn):
        asked = []

        def source(n):
            asked.append(n)
            return drawn.to_bytes(8, "big")

        return lines_of(lambda: randomise(truth, design, source=source)), asked

    design = optimal_design(1)
    for drawn in (0, 2**62, 2**63, 2**64 - 1):
        assert trace(True, drawn) == trace(False, drawn)
        assert trace(True, drawn)[1] == [8]


@pytest.mark.process
@pytest.mark.no_cover
def test_forks_repeat_no_draw_and_no_keystream():
    """A hundred here, a thousand in the long suite (check `sampler`); false alarms below 6e-16."""
    assert repeated_draws(100) == 0


@pytest.mark.process
def test_the_fork_test_catches_a_generator_kept_across_forks():
    shared = np.random.default_rng(1)
    assert len({in_child(lambda: shared.bytes(8)) for _ in range(20)}) == 1
