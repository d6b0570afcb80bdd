"""OpenDP's map from probability to ε (an implementation we did not write) agrees within one rounding."""

import math
from random import Random

import opendp.prelude as dp
import pytest

from rrcollect import Design, optimal_design


@pytest.fixture(autouse=True, scope="module")
def contrib():
    dp.enable_features("contrib")


def one_rounding(p: float) -> float:
    """How far ε = ln(p/(1−p)) moves when p, or the quotient, is off by one unit in the last place."""
    return math.ulp(p) / (p * (1 - p)) + 2 * math.ulp(1)


def test_probability_to_epsilon():
    random = Random(17)
    for _ in range(300):
        p = random.uniform(0.5001, 0.999999)
        theirs = dp.m.make_randomized_response_bool(p).map(1)
        assert abs(theirs - Design(p, p).epsilon()) <= one_rounding(p) + 2 * math.ulp(theirs)


def test_epsilon_to_probability_and_back():
    for epsilon in ("0.1", "0.5", "1", "ln 3", "2", "4", "8"):
        design = optimal_design(epsilon)
        theirs = dp.m.make_randomized_response_bool(float(design.p00)).map(1)
        assert abs(theirs - float(design.choice.promise.epsilon)) <= one_rounding(float(design.p00)) + 2 * math.ulp(
            theirs
        )
