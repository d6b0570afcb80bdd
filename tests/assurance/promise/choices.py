"""Designs for choices: every one keeps its ε, one grid step more would break it, and its size is the best.

With k options, sets of ω, G = 2^64 and E = e^ε, a design keeps ε iff
    ω >= 2, p = P/G:              P (k − ω) <= E ω (G − P),          one step more: P + 1
    ω = 1, others at R/G each:    G − (k − 1) R <= E R,              one step more: R − 1
and ω is the best iff it is the smallest with E² ω (ω + 1) >= (k − ω)(k − ω − 1).  Judged by FLINT as in `check`: E is
rational or transcendental, so 300 bits decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import flint

from rrcollect.errors import UninformativeDesign
from tests.assurance.check import Outcome, Step
from tests.inside.design import GRID, best_for_options, made_for


@dataclass(frozen=True)
class ChoiceCase:
    """A promise about a choice of k options as it would be written: ε = r + ln m."""

    epsilon: str
    r: Fraction
    m: Fraction
    k: int


TIES = ((10, 6), (27, 10))  # (k, E) with E² ω (ω + 1) = (k − ω)(k − ω − 1), for ω = 1 and 2

Build = Callable[[ChoiceCase], tuple[int, int]]
"""(the size of the set, P or R); `UninformativeDesign` if there is none."""


def choice_cases(seed: int, how_many: int) -> Iterator[ChoiceCase]:
    """ε in (0, 20] by four spellings, tiny ones among them, some of them ties between two sizes; 2 to 200 options."""
    random = Random(seed)
    for _ in range(how_many):
        k = random.choice((2, 3, 4, 5, 10, random.randrange(2, 201)))
        size = min(20.0, 10 ** random.uniform(-22 if random.random() < 0.03 else -3, 1.302))
        simple = Fraction(size).limit_denominator(random.randrange(2, 10**6)) or Fraction(1, 10**6)
        form = random.randrange(4)
        if form == 0:
            text = f"{size:.{random.randrange(1, 25)}e}"
            yield ChoiceCase(text, Fraction(text), Fraction(1), k)
        elif form == 1:
            yield ChoiceCase(f"ln({1 + simple})", Fraction(0), 1 + simple, k)
        elif form == 2:
            yield ChoiceCase(f"{simple} + ln(3/2)", simple, Fraction(3, 2), k)
        else:
            whole = random.randrange(2, 10 ** random.randrange(1, 9))
            k, whole = random.choice(((k, whole), (k, whole), *TIES))
            yield ChoiceCase(f"ln {whole}", Fraction(0), Fraction(whole), k)


class ChoiceJudge:
    """Decides a <= E^power · b for whole numbers a and b > 0."""

    def __init__(self, case: ChoiceCase) -> None:
        self.factor = flint.fmpq(case.m.numerator, case.m.denominator)
        self.ball = None
        if case.r:
            with flint.ctx.workprec(300):
                self.ball = flint.arb(flint.fmpq(case.r.numerator, case.r.denominator)).exp() * flint.arb(self.factor)

    def holds(self, a: int, b: int, power: int = 1) -> bool:
        """a <= E^power · b."""
        if self.ball is None:
            return bool(flint.fmpq(a) <= self.factor**power * b)
        if a <= 0 or b <= 0:
            return a <= 0
        with flint.ctx.workprec(300):
            left, right = flint.arb(a), self.ball**power * b
            if (left < right) == (left > right):
                raise ArithmeticError("300 bits do not decide this comparison")
            return bool(left < right)

    def keeps(self, k: int, w: int, number: int) -> bool:
        """Whether sets of ω with this P, or R, keep ε."""
        if w == 1:
            return self.holds(GRID - (k - 1) * number, number)
        return self.holds(number * (k - w), w * (GRID - number))

    def enough(self, k: int, w: int) -> bool:
        """Whether the size ω is as large as the best."""
        return self.holds((k - w) * (k - w - 1), w * (w + 1), power=2)


def shipped(case: ChoiceCase) -> tuple[int, int]:
    """The design the library makes."""
    design = best_for_options(case.epsilon, case.k)
    return design.size, design.applied_limit


def by_doubles(case: ChoiceCase) -> tuple[int, int]:
    """What everybody writes: the best size by k/(E + 1) rounded, p in doubles, then a scaled integer."""
    e = math.exp(float(case.r)) * float(case.m)
    w = min(max(1, round(case.k / (e + 1))), case.k - 1)
    return w, int(2**64 / (e + case.k - 1)) if w == 1 else int(w * e / (w * e + case.k - w) * 2**64)


def moved(steps: int) -> Build:
    """The library's design, so many grid steps more informative."""

    def build(case: ChoiceCase) -> tuple[int, int]:
        w, number = shipped(case)
        return w, number - steps if w == 1 else number + steps

    return build


def larger(case: ChoiceCase) -> tuple[int, int]:
    """A set of one option more, with the right p for it."""
    w = min(shipped(case)[0] + 1, case.k - 1)
    return (w, made(case, w)) if w > 1 else shipped(case)


def made(case: ChoiceCase, w: int) -> int:
    """P of this size."""
    return made_for(case.epsilon, case.k, w).applied_limit


def choice_verdict(case: ChoiceCase, build: Build) -> str:
    """kept, tight and best, or refused rightly; or what is wrong."""
    judge, k = ChoiceJudge(case), case.k
    try:
        w, number = build(case)
    except UninformativeDesign:
        w = next(w for w in range(1, k) if judge.enough(k, w))
        least = -(-GRID // k) - 1 if w == 1 else w * GRID // k + 1  # the least informative design of this size
        return "wrong refusals" if judge.keeps(k, w, least) else "refused because nothing could be learned"
    if not judge.keeps(k, w, number):
        return "broken promises"
    if judge.keeps(k, w, number - 1 if w == 1 else number + 1):
        return "promises with a step to spare"
    best = judge.enough(k, w) and (w == 1 or not judge.enough(k, w - 1))
    return "kept, tight and of the best size" if best else "sets of another size than the best"


WRONG = ("broken promises", "promises with a step to spare", "sets of another size than the best", "wrong refusals")


def search_choices(
    each: int, build: Build = shipped, seed: int = 0, expected: str = ""
) -> Callable[[int, Step], Outcome]:
    """Judge `each` random promises per piece; with a planted bug, caught if the expected fault is found."""

    def told(piece: int) -> Iterator[tuple[str, str]]:
        for case in choice_cases(seed + piece, each):
            yield choice_verdict(case, build), f"ε = {case.epsilon}, {case.k} options"

    return judged_promises(told, each, "kept, tight and of the best size", WRONG, expected)


def judged_promises(
    told: Callable[[int], Iterator[tuple[str, str]]], each: int, good: str, wrong: tuple[str, ...], expected: str = ""
) -> Callable[[int, Step], Outcome]:
    """Count the verdicts of a piece's promises; `told` yields (verdict, which promise)."""

    def run(piece: int, step: Step) -> Outcome:
        counts, example = dict.fromkeys(("promises", good, *wrong), 0), ""
        for done, (found, case) in enumerate(told(piece)):
            counts[found] = counts.get(found, 0) + 1
            if found in wrong and not example:
                example = f"first of the {found}: {case}"
            if done % 1000 == 0:
                step(done, each)
        counts["promises"] = each
        if expected:
            return Outcome(counts[expected] > 0, {"promises": each, expected: counts[expected]})
        return Outcome(not any(counts[name] for name in wrong), counts, example)

    return run


PLANTED_CHOICES: dict[str, tuple[Build, str]] = {
    "the same formula in doubles": (by_doubles, "broken promises"),
    "one step too far": (moved(1), "broken promises"),
    "one step too timid": (moved(-1), "promises with a step to spare"),
    "one option too many": (larger, "sets of another size than the best"),
}
