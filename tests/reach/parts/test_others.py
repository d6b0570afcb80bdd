"""What OpenDP and diffprivlib randomised, estimated by the design that docs/your-data.md names for it.

An estimate may be 7 standard errors off: false alarms below 1e-11 each, for about ten of them.  The planted bugs are
designs that were not applied.
"""

from __future__ import annotations

import math
from collections import Counter

import opendp.prelude as dp
import pytest
from diffprivlib.mechanisms import Binary

from rrcollect import Design, SetDesign, classic, optimal_design
from server_agg import Tally, estimate

N, SHARE = 20_000, 0.1
TRUTHS = [person % 10 < 1 for person in range(N)]

dp.enable_features("contrib")


def near(design: Design, ones: int) -> bool:
    found = estimate(Tally(design, N, ones))
    return abs(found.value - SHARE) < 7 * found.standard_error


@pytest.mark.parametrize("epsilon", [0.5, 1.0, math.log(3), 3.0])
def test_diffprivlib_s_binary_answers(epsilon: float) -> None:
    binary = Binary(epsilon=epsilon, value0="no", value1="yes")
    ones = sum(binary.randomise("yes" if truth else "no") == "yes" for truth in TRUTHS)
    assert near(optimal_design(epsilon), ones)
    assert not near(optimal_design(3 * epsilon), ones)


@pytest.mark.parametrize("prob", [0.6, 0.75, 0.9])
def test_opendp_s_boolean_answers(prob: float) -> None:
    randomised = dp.m.make_randomized_response_bool(prob=prob)
    ones = sum(randomised(truth) for truth in TRUTHS)
    assert near(classic.warner(prob), ones)
    assert not near(classic.warner(prob - 0.08), ones)
    assert classic.warner(prob).epsilon() == pytest.approx(randomised.map(1), abs=1e-12)


def test_opendp_s_answers_of_several() -> None:
    """OpenDP replaces the truth by one of the *other* options; told as `k_ary_response` that is more often."""
    kept, options = 0.7, ["a", "b", "c", "d"]
    randomised = dp.m.make_randomized_response(options, prob=kept)
    truths = [options[min(person % 10, 3)] for person in range(N)]  # 1, 1, 1 and 7 of ten
    counted = Counter(randomised(truth) for truth in truths)
    design = SetDesign(4, 1, kept)
    other = classic.k_ary_response(4, (1 - design.p) * 4 / 3)
    assert (other.options, other.p) == (design.options, design.p)
    found = estimate(Tally(design, N, [counted[option] for option in options]))
    for option, truth in enumerate((0.1, 0.1, 0.1, 0.7)):
        assert abs(found[option].value - truth) < 7 * found[option].standard_error
    assert design.epsilon() == pytest.approx(randomised.map(1), abs=1e-12)
