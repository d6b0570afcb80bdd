"""Bulk answers: draw by draw the single path's law, on shared keystreams, exhaustively where it can be exhausted."""

import os
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrcollect import Design, ParameterError, optimal_design, randomise_many
from rrcollect.errors import BadTruth, NoRandomness, NotOriented, OffGridDesign
from tests.inside.answer import fresh_keystream
from tests.inside.design import bulk_bits as packed
from tests.support.tape import Tape, packed_draws, randomise_packed, single

GRID = 2**64
LOW = 3 << 50 | 5  # of both thresholds of one design, which differ in their top bytes alone
DESIGNS = {
    "strict": optimal_design(1),
    "relaxed": optimal_design("1/2", "1/10"),
    "asymmetric": Design("0.7311", "0.8177").to_grid(),
    "yes_is_a_proof": Design(1, "1/20").to_grid(),
    "no_is_a_proof": Design("1/20", 1).to_grid(),
    "direct": Design(1, 1),
    "three_quarters": Design("3/4", "3/4"),
    "one_plane": Design("1/2", 1),
    "a_hair": Design(1, Fraction(1, GRID)),
    "almost_direct": optimal_design(100),
    "tiny_epsilon": optimal_design("1/1000000"),
    "equal_lows": Design(1 - Fraction(64 << 56 | LOW, GRID), Fraction(200 << 56 | LOW, GRID)),
}
by_name = pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS.keys())


@settings(max_examples=30)
@given(st.integers(0, 3000), st.data())
def test_booleans_are_the_packed_answers_on_a_shared_keystream(n, data):
    """Packed answers equal the single path's draw by draw (below); booleans are the same answers, unpacked."""
    design = data.draw(st.sampled_from(list(DESIGNS.values())))
    truths = np.frombuffer(os.urandom(n), np.uint8) & 1 == 1
    start = bytes(n) if data.draw(st.booleans()) else os.urandom(n)
    first = Tape(start, rest=os.urandom)
    answers = randomise_many(truths, design, fill=first)
    again = Tape(b"".join(first.given))
    said = randomise_packed(np.packbits(truths, bitorder="little"), n, design, fill=again)
    assert np.array_equal(answers, np.unpackbits(said, count=n, bitorder="little").astype(bool))
    assert first.given == again.given


@pytest.mark.parametrize("ties", [0, 1, 2])
@by_name
def test_packed_equals_the_single_path_on_a_shared_keystream(design, ties):
    """Every answer is the single path's on the draw rebuilt from the planes; the first `ties` stages decide nothing."""
    words = 3
    truths = np.frombuffer(os.urandom(words * 8), np.uint64)
    limits = design.applied
    flips = sum(limits) == GRID
    stages = packed._Planes(limits, Tape()).stages
    start = b""
    for stage in stages[:ties]:  # r = 0 keeps a plane undecided, but where both bits are 0 it is r = 1
        start += b"".join((b"\xff" if bits == (0, 0) else b"\x00") * 8 * words for bits in reversed(stage))
    tape = Tape(start, rest=os.urandom)
    answers = randomise_packed(truths.view(np.uint8), words * 64, design, fill=tape).view(np.uint64)
    assert len(tape.given) >= min(ties + 1, len(stages))  # the later stages were reached
    draws = packed_draws(design, words, tape, truths)
    for word in range(words):
        for bit in range(64):
            truth = bool(int(truths[word]) >> bit & 1)
            drawn = draws[word][bit]
            if flips and truth:
                drawn = GRID - 1 - drawn
            if limits[1] == GRID and truth:
                drawn = 0
            assert int(answers[word]) >> bit & 1 == single(truth, design, drawn)


@by_name
def test_every_plane_down_to_the_last_one_is_compared_once(design):
    """The stages are the bits of both thresholds from the highest on, nine planes, seven, the rest; none is left."""
    limits = design.applied
    low, high = limits
    if low + high == GRID:
        high = low
    elif high == GRID:
        high = 0
    stages = packed._Planes(limits, Tape()).stages
    planes = [pair for stage in stages for pair in stage]
    assert planes == [(low >> j & 1, high >> j & 1) for j in range(63, 63 - len(planes), -1)]
    assert not (low | high) & ((1 << 64 - len(planes)) - 1)
    assert planes[-1:] != [(0, 0)]
    assert [len(stage) for stage in stages[:-1]] == [9, 7][: len(stages[:-1])]


@pytest.mark.parametrize(("number", "zeros"), [(0, 64), (1, 0), (12, 2), (3 << 62, 62), (1 << 63, 63)])
def test_trailing_zeros(number, zeros):
    assert packed.trailing_zeros(number) == zeros


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_packed_exhaustively_on_small_grids(bits):
    """All 2^bits planes patterns for every pair of thresholds k/2^bits: counts equal the numerators exactly."""
    size = 1 << bits
    patterns = np.arange(size)
    for k00 in range(size + 1):
        for k11 in range(size - k00 + 1, size + 1):
            design = Design(Fraction(k00, size), Fraction(k11, size))
            for truth, expected in ((0, size - k00), (1, k11)):
                stages = packed._Planes(design.applied, Tape()).stages
                planes = len(stages[0]) if stages else 0
                rows = b"".join(
                    np.packbits(patterns >> p & 1, bitorder="little").tobytes().ljust(8, b"\0") for p in range(planes)
                )
                tape = Tape(rows)
                truths = np.full(8, 255 * truth, np.uint8)
                said = randomise_packed(truths, 64, design, fill=tape)
                ones = int(np.unpackbits(said, bitorder="little")[:size].sum())
                assert ones == expected, (k00, k11, truth)


def z_scores(truths, answers, design):
    for truth in (False, True):
        n = int((truths == truth).sum())
        p = float(design.matrix[truth][1])
        ones = int(answers[truths == truth].sum())
        if p in (0.0, 1.0):
            assert ones == n * p
        else:
            yield (ones - n * p) / (n * p * (1 - p)) ** 0.5


@by_name
def test_frequencies_with_the_real_keystream(design):
    """|z| < 7 in at most 4 comparisons per design, 48 in all: false alarms below 48 · 2.6e-12 < 2e-10 per run."""
    n = 2_000_003
    truths = np.frombuffer(os.urandom(n), np.uint8) < 77
    answers = randomise_many(truths, design)
    unpacked = np.unpackbits(randomise_packed(np.packbits(truths), n, design, bitorder="big"), count=n).astype(bool)
    for said in (answers, unpacked):
        assert all(abs(z) < 7 for z in z_scores(truths, said, design))


def test_neighbours_are_independent():
    """Answers to equal truths agree with their neighbours as independent ones do (|z| < 7: below 1e-11 per run)."""
    design, n = optimal_design(1), 2_000_000
    p = float(1 - design.p00)
    for said in (
        randomise_many(np.zeros(n, bool), design),
        np.unpackbits(randomise_packed(np.zeros(n // 8, np.uint8), n, design)).astype(bool),
    ):
        for lag in (1, 8, 64):
            both = int((said[:-lag] & said[lag:]).sum())
            m = n - lag
            assert abs(both - m * p * p) < 7 * (m * p * p * (1 - p * p) * 3) ** 0.5


def test_the_frequency_check_catches_seven_bits():
    n = 2_000_000
    truths = np.zeros(n, bool)
    seven = np.frombuffer(os.urandom(n), np.uint8) >> 1 < round(float(1 - optimal_design(1).p00) * 128)
    assert any(abs(z) > 7 for z in z_scores(truths, seven, optimal_design(1)) if np.isfinite(z))


# ---- calls never share a keystream --------------------------------------------------------------------------------


def test_every_call_has_its_own_key(monkeypatch):
    keys = []
    real = os.urandom

    def recording(n):
        keys.append(real(n))
        return keys[-1]

    monkeypatch.setattr(os, "urandom", recording)
    for _ in range(50):
        randomise_many(np.zeros(10, bool), optimal_design(1))
        randomise_packed(np.zeros(2, np.uint8), 16, optimal_design(1))
    assert len(keys) == 200
    assert len(set(keys)) == 200


def test_a_failing_generator_makes_no_answers(monkeypatch):
    def fail(n):
        raise OSError("no entropy")

    monkeypatch.setattr(os, "urandom", fail)
    with pytest.raises(NoRandomness):
        randomise_many(np.zeros(10, bool), optimal_design(1))
    with pytest.raises(NoRandomness):
        randomise_packed(np.zeros(2, np.uint8), 16, optimal_design(1))


def test_the_keystream_is_aes_in_counter_mode():
    """Two fills continue one stream: what is filled later is not what was filled before."""
    fill = fresh_keystream()
    first, second = np.zeros(64, np.uint8), np.zeros(64, np.uint8)
    fill(first)
    fill(second)
    assert not np.array_equal(first, second)


# ---- shapes, sizes, refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "n", [0, 1, 7, 8, 9, 63, 64, 65, 64 * packed.CHUNK - 1, 64 * packed.CHUNK, 64 * packed.CHUNK + 1]
)
def test_every_size_and_the_edges_of_chunks(n):
    """With T1 = 2^64 and T0 = 0 the answers are the truths, wherever chunks and blocks end."""
    truths = np.frombuffer(os.urandom(n), np.uint8) & 1 == 1
    assert np.array_equal(randomise_many(truths, Design(1, 1)), truths)
    for order in ("little", "big"):
        bits = np.packbits(truths, bitorder=order)
        assert np.array_equal(randomise_packed(bits, n, Design(1, 1), bitorder=order), bits)
    size = packed.BLOCK * 8 + 3
    big = np.frombuffer(os.urandom(size), np.uint8) if n == 0 else None
    if big is not None:
        assert np.array_equal(randomise_packed(big, size * 8, Design(1, 1)), big)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.int8, np.uint32])
def test_types_shapes_and_layouts(dtype):
    truths = np.array([[1, 0, 1], [0, 0, 1]], dtype)
    assert np.array_equal(randomise_many(truths, Design(1, 1)), truths.astype(bool))
    assert np.array_equal(randomise_many(truths.T[::-1], Design(1, 1)), truths.T[::-1].astype(bool))
    assert randomise_many(truths.tolist(), Design(1, 1)).shape == (2, 3)


@pytest.mark.parametrize(
    "truths",
    [np.array([0.0, 1.0]), np.array([2, 0]), np.array([-1, 0]), ["yes", "no"], np.array([None]), np.array([np.nan])],
)
def test_bad_truths_are_refused_and_not_shown(truths):
    with pytest.raises(BadTruth, match="not shown"):
        randomise_many(truths, optimal_design(1))


def test_true_is_true_whatever_byte_it_is():
    odd = np.array([0, 1, 2, 255], np.uint8).view(bool)
    assert randomise_many(odd, Design(1, 1)).tolist() == [False, True, True, True]
    said = randomise_many(np.full(100_000, 2, np.uint8).view(bool), Design("3/4", "1/2"))
    assert abs(said.mean() - 0.5) < 0.05  # 31 standard deviations
    late = np.zeros(2 * 64 * packed.CHUNK + 3, np.uint8)
    late[64 * packed.CHUNK + 1 :: 5] = 2
    for design in (Design(1, 1), Design("1/2", 1), Design(1, "1/2")):
        said = randomise_many(late.view(bool), design)
        assert set(np.unique(said.view(np.uint8))) <= {0, 1}
        if design.p11 == 1:
            assert said[late > 0].all()
        if design.p00 == 1:
            assert not said[late == 0].any()
    with pytest.raises(BadTruth, match="masked"):
        randomise_many(np.ma.array([True, False], mask=[True, False]), optimal_design(1))


@pytest.mark.parametrize("truths", [np.zeros(2, bool), np.zeros((2, 2), np.uint8), [1, 2], b"12"])
def test_bad_packed_truths(truths):
    with pytest.raises(BadTruth, match="not shown"):
        randomise_packed(truths, 16, optimal_design(1))


@pytest.mark.parametrize("n", [-1, 17, 8, 16.0, "16"])
def test_bad_packed_lengths(n):
    with pytest.raises(ParameterError, match="^packed is"):
        randomise_packed(np.zeros(2, np.uint8), n, optimal_design(1))
    with pytest.raises(ParameterError, match="^bitorder is"):
        randomise_packed(np.zeros(2, np.uint8), 16, optimal_design(1), bitorder="middle")


@pytest.mark.parametrize(
    "call", [lambda d: randomise_many([True], d), lambda d: randomise_packed(np.zeros(1, np.uint8), 8, d)]
)
def test_designs_a_device_does_not_run(call):
    with pytest.raises(OffGridDesign):
        call(Design("2/3", "2/3"))
    with pytest.raises(NotOriented):
        call(Design("1/4", "1/4"))


def test_unused_bits_of_the_last_byte_are_0():
    for order, mask in (("little", 0b11111000), ("big", 0b00011111)):
        for _ in range(20):
            said = randomise_packed(np.full(2, 255, np.uint8), 11, optimal_design(1), bitorder=order)
            assert said[1] & mask == 0


@pytest.mark.parametrize("call", [
    lambda t: randomise_many(t, optimal_design(1)),
    lambda t: randomise_packed(t, t.size * 8, optimal_design(1)),
])  # fmt: skip
def test_memory_beyond_input_and_output(call):
    truths = np.zeros(20_000_000, np.uint8)
    call(truths[:1000])
    tracemalloc.start()
    try:
        answers = call(truths)
        beyond = tracemalloc.get_traced_memory()[1] - answers.nbytes
    finally:
        tracemalloc.stop()
    assert beyond <= 16 * 2**20
