"""The competitors of the benchmarks do what ours does: NumPy and OpenDP answer by the design, C keeps the law."""

import shutil
from ctypes.util import find_library
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from rrcollect import Design
from tests.benchmarks import bulk
from tests.benchmarks.c_loop import openssl_loop, register_loop
from tests.benchmarks.peers import bit_vector

# ---- NumPy and OpenDP -----------------------------------------------------------------------------------------------


def follows(answers, truths, design, within):
    """Is the share of yes, for either truth, what the design says, within a distance?"""
    law = float(1 - design.p00), float(design.p11)
    return all(abs(np.asarray(answers)[truths == x].mean() - law[x]) < within for x in (0, 1))


@pytest.mark.parametrize(
    ("form", "design"),
    [
        (bulk.insecure_shortcut, bulk.SYMMETRIC),
        (bulk.insecure_integers, bulk.SYMMETRIC),
        (bulk.insecure_where, bulk.ASYMMETRIC),
        (bulk.insecure_one_draw, bulk.ASYMMETRIC),
    ],
)
def test_the_numpy_forms_answer_by_the_design(form, design):
    """Half a million draws of either truth from a fixed seed: no chance is left.  0.005 is over seven standard errors.

    A planted bug: the same form for a design that is 0.01 away.
    """
    truths = np.arange(1_000_000) % 2 == 0
    assert follows(form(truths, design)(), truths, design, 0.005)
    away = Design(design.p00 + Fraction(1, 100), design.p11 + Fraction(1, 100))
    assert not follows(form(truths, away)(), truths, design, 0.005)


@pytest.mark.needs("opendp")
def test_opendps_vector_of_bits_answers_by_the_design():
    """0.02 is 8 standard errors and more for either truth: false alarms below 1e-14 per run.

    A planted bug: half of the flips, which is what one gets who takes OpenDP's parameter for the probability of a flip.
    """
    n, design = 96_000, bulk.SYMMETRIC
    truths = np.arange(n) % 3 == 0

    def said(given):
        ((size, answer),) = bit_vector(given, n).values()
        assert size == n
        return np.unpackbits(np.frombuffer(answer(), np.uint8))

    assert follows(said(design), truths, design, 0.02)
    half = (1 + design.p00) / 2
    assert not follows(said(Design(half, half)), truths, design, 0.02)


# ---- the C loops are a fair limit -----------------------------------------------------------------------------------


def compiled(loop, *, needs=None):
    """The loop, if it can be compiled here; the page says so if it cannot, and the reason must be one of these."""
    if loop is None:
        assert shutil.which("cc") is None or (needs and find_library(needs) is None)
    return loop


def answered_exactly(answer, u):
    """Against thresholds 2^56·t the answers are exactly [u > 255 − t]."""
    truths = np.arange(u.size) % 3 == 0
    for t0, t1 in ((1, 255), (68, 209), (128, 128)):
        expected = u > np.where(truths, 255 - t1, 255 - t0)
        assert np.array_equal(answer(truths, (t0 << 56, t1 << 56)), expected)


@pytest.mark.parametrize("size", [16, 32])
def test_the_loop_in_registers_draws_aes_in_counter_mode(size):
    if loop := compiled(register_loop()):
        key, n = bytes(range(size)), 1280
        blocks = b"".join(i.to_bytes(16, "little") for i in range(n // 16))
        drawn = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(blocks)  # noqa: S305
        answered_exactly(partial(loop.booleans, key=key), np.frombuffer(drawn, np.uint8))


def test_the_openssl_loop_draws_aes_in_counter_mode():
    if loop := compiled(openssl_loop(), needs="crypto"):
        key, nonce = bytes(range(32)), bytes(range(16))
        drawn = Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor().update(bytes(12_800))
        answered_exactly(partial(loop.booleans, key=key, nonce=nonce), np.frombuffer(drawn, np.uint8))


def test_the_c_loops_keep_the_law():
    """|z| < 7 in 12 comparisons: false alarms below 12 · 2.6e-12 per run.  The second pair is decided by the rests."""
    n = 1_280_000
    truths = np.arange(n) % 2 == 0
    bits = np.packbits(truths, bitorder="little")
    loops = []
    if plain := compiled(openssl_loop(), needs="crypto"):
        loops.append(plain.booleans)
    if loop := compiled(register_loop()):
        packed = lambda _, limits: np.unpackbits(loop.packed(bits, limits), bitorder="little").view(bool)  # noqa: E731
        loops += [loop.booleans, packed]
    for limits in ((4960000000000000000, 15080000000000000000), (1 << 54, 3 << 54)):
        for answer in loops:
            said = answer(truths, limits)
            for truth in (False, True):
                p, m = limits[truth] / 2**64, n // 2
                assert abs(said[truths == truth].sum() - m * p) < 7 * (m * p * (1 - p)) ** 0.5


def test_what_the_c_loops_cannot_do_is_refused():
    if loop := compiled(openssl_loop(), needs="crypto"):
        with pytest.raises(ValueError, match="multiples of 8 truths, not 7"):
            loop.booleans(np.zeros(7, bool), (1, 2))
        with pytest.raises(ValueError, match=r"below 2\^64"):
            loop.booleans(np.zeros(8, bool), (1, 1 << 64))
