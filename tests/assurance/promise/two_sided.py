"""Designs with two promises: each keeps both, and one grid step more in both probabilities would break one.

With (k00, k11) over G = 2^64, E1 = e^ε_yes and E2 = e^ε_no a design keeps both promises iff
    k11 <= E1 (G − k00)        and        k00 <= E2 (G − k11).
Each comparison has one exponential alone, so the judge is that of choices: FLINT, 300 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from rrcollect import Promise, optimal_design
from rrcollect.errors import UninformativeDesign
from tests.assurance.check import Outcome, Step
from tests.assurance.promise.choices import ChoiceCase, ChoiceJudge, choice_cases, judged_promises
from tests.inside.design import GRID

Build = Callable[[ChoiceCase, ChoiceCase], tuple[int, int]]
"""The numerators for ε_yes and ε_no; `UninformativeDesign` if there are none."""
WRONG = ("broken promises", "promises with a step to spare", "wrong refusals")


def shipped(yes: ChoiceCase, no: ChoiceCase) -> tuple[int, int]:
    """The design the library makes."""
    return optimal_design(Promise.two_sided(yes.epsilon, no.epsilon)).numerators


def by_doubles(yes: ChoiceCase, no: ChoiceCase) -> tuple[int, int]:
    """The formula in doubles, then a scaled integer."""
    e1, e2 = (math.exp(float(case.r)) * float(case.m) for case in (yes, no))
    if e1 * e2 == 1:
        raise UninformativeDesign("doubles see nothing")
    return int(e2 * (e1 - 1) / (e1 * e2 - 1) * 2**64), int(e1 * (e2 - 1) / (e1 * e2 - 1) * 2**64)


def moved(steps: int) -> Build:
    """The library's design, so many grid steps more informative in both."""

    def build(yes: ChoiceCase, no: ChoiceCase) -> tuple[int, int]:
        k00, k11 = shipped(yes, no)
        return k00 + steps, k11 + steps

    return build


def exchanged(yes: ChoiceCase, no: ChoiceCase) -> tuple[int, int]:
    """The two promises taken for each other."""
    return shipped(no, yes)


def verdict(yes: ChoiceCase, no: ChoiceCase, build: Build) -> str:
    """kept and tight, or refused rightly; or what is wrong."""
    first, second = ChoiceJudge(yes), ChoiceJudge(no)

    def keeps(k00: int, k11: int) -> bool:
        return k00 <= GRID and k11 <= GRID and first.holds(k11, GRID - k00) and second.holds(k00, GRID - k11)

    try:
        k00, k11 = build(yes, no)
    except UninformativeDesign:
        return "wrong refusals" if keeps(2**63 + 1, 2**63 + 1) else "refused because nothing could be learned"
    if not keeps(k00, k11):
        return "broken promises"
    return "promises with a step to spare" if keeps(k00 + 1, k11 + 1) else "kept and tight"


def search_two_sided(
    each: int, build: Build = shipped, seed: int = 0, expected: str = ""
) -> Callable[[int, Step], Outcome]:
    """Judge `each` random pairs of promises per piece; with a planted bug, caught if the expected fault is found."""

    def told(piece: int) -> Iterator[tuple[str, str]]:
        first, second = (choice_cases(seed + 2 * piece + place, each) for place in (0, 1))
        for yes, no in zip(first, second, strict=True):
            yield verdict(yes, no, build), f"ε_yes = {yes.epsilon}, ε_no = {no.epsilon}"

    return judged_promises(told, each, "kept and tight", WRONG, expected)


PLANTED_TWO_SIDED: dict[str, tuple[Build, str]] = {
    "the same formula in doubles": (by_doubles, "broken promises"),
    "one step too far": (moved(1), "broken promises"),
    "one step too timid": (moved(-1), "promises with a step to spare"),
    "the promises exchanged": (exchanged, "broken promises"),
}
