"""The comparison of times by truth, on times that are made up."""

from __future__ import annotations

import numpy as np
import pytest

from tests.assurance.traces.timing import judged

# The generator is seeded: no false alarms.


def made(how_many: int, share: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Times of about 2 with a little noise, truths, and the generator."""
    random = np.random.default_rng(seed)
    return random.gamma(400, 1 / 200, how_many), random.random(how_many) < share, random


def outcome(times, truths, strict=True):
    return judged({"clock": times}, truths, strict)


def test_equal_times_are_shown_to_be_equal():
    times, truths, _ = made(100_000, 0.125)
    found = outcome(times, truths)
    assert found.passed
    assert found.figures["less than 1/200, clock"] == "shown on 90 % of the calls"


@pytest.mark.parametrize(
    ("share", "slow", "factor"),
    [
        (0.125, 0.75, 500),  # fewer than a tenth of all the calls, and all of them cut off with the slowest tenth
        (0.5, 0.19, 16),
        (0.125, 0.02, 50),
        (0.5, 1.0, 1.02),
        (0.125, 1.0, 1.02),
        (0.125, 1.0, 0.98),
        (0.125, 1.0, 1000),
    ],
)
def test_slower_yeses_are_found_however_many_they_are(share, slow, factor):
    times, truths, random = made(100_000, share)
    times[truths & (random.random(times.size) < slow)] *= factor
    assert not outcome(times, truths, strict=False).passed


def test_wide_noise_shows_nothing_and_refutes_nothing():
    times, truths, random = made(1_000, 0.5)
    times *= random.lognormal(0, 1, times.size)
    assert outcome(times, truths, strict=False).passed
    found = outcome(times, truths)
    assert not found.passed
    assert found.remark == "clock: a difference below 1/200 was not shown"


def test_noise_in_the_slow_half_does_not_hide_what_the_fast_half_shows():
    times, truths, random = made(100_000, 0.5)
    times[random.random(times.size) < 0.4] *= 100
    times[random.random(times.size) < 0.2] += random.pareto(1)
    assert outcome(times, truths).figures["less than 1/200, clock"] == "shown on 50 % of the calls"


@pytest.mark.parametrize("seed", range(20))
def test_heavy_tails_are_not_an_alarm(seed):
    times, truths, random = made(5_000, 0.125, seed)
    times += 1000 * random.pareto(0.6, times.size) * (random.random(times.size) < 0.005)
    assert outcome(times, truths, strict=False).passed
