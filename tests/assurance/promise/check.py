"""Every design keeps the promise it was made for, and one grid step more would break it.

A matrix with the numerators (k00, k11) over G = 2^64 keeps (ε, δ) iff, with E = e^ε,
    k11 <= E (G − k00) + G δ,            k00 <= E (G − k11) + G δ,
    G − k00 <= E k11 + G δ,              G − k11 <= E k00 + G δ.
The judge decides these four with FLINT's ball arithmetic, from the rational numbers a promise was spelled with: it
shares neither the builder's arithmetic nor its parser.  E = e^r·m with r ≠ 0 is transcendental, so 300 bits leave
nothing open (if they did the judge would say so); with r = 0 everything is rational.

The step that must break the promise raises both numerators of a symmetric design, and the one below G of a corner
(1, δ).  A refusal ("nothing can be learned") is judged too: the least informative symmetric design, k = 2^63 + 1, must
break the promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import flint

from rrcollect import Epsilon, optimal_design
from rrcollect.errors import UninformativeDesign
from tests.assurance.check import FULL, Check, Outcome, Part, Size, Step
from tests.assurance.promise.choices import PLANTED_CHOICES, search_choices
from tests.assurance.promise.two_sided import PLANTED_TWO_SIDED, search_two_sided
from tests.inside.design import GRID


@dataclass(frozen=True)
class Case:
    """A promise as a publisher would write it, and what it means: ε = r + ln m."""

    epsilon: str | float | Fraction
    r: Fraction
    m: Fraction
    delta: Fraction
    prevalence: Fraction | None


Builder = Callable[[Case], tuple[int, int]]
"""The numerators (k00, k11) for a case; `UninformativeDesign` if there are none."""


def cases(seed: int, how_many: int) -> Iterator[Case]:
    """ε in (0, 40], in six spellings; δ 0, 1, beside a grid point, tiny, large; one in 20 with a prevalence."""
    random = Random(seed)
    while how_many:
        epsilon, r, m = _spelled(random)
        delta = _delta(random)
        if r == 0 and m == 1 and delta == 0:
            continue  # promises that everybody answers alike
        prevalence = Fraction(random.randrange(1001), 1000) if random.random() < 0.05 else None
        how_many -= 1
        yield Case(epsilon, r, m, delta, prevalence)


def _spelled(random: Random) -> tuple[str | float | Fraction, Fraction, Fraction]:
    one, none = Fraction(1), Fraction(0)
    low = -22 if random.random() < 0.05 else -3
    size = min(40.0, 10 ** random.uniform(low, 1.603))
    simple = Fraction(size).limit_denominator(random.randrange(2, 10**6)) or Fraction(1, 10**6)
    form = random.randrange(6)
    if form == 0:
        text = f"{size:.{random.randrange(1, 25)}e}"
        return text, Fraction(text), one
    if form == 1:
        return size, Fraction(repr(size)), one
    if form == 2:
        return f"{simple.numerator}/{simple.denominator}", simple, one
    if form == 3:
        whole = random.randrange(2, 10 ** random.randrange(1, 17))
        return f"ln {whole}", none, Fraction(whole)
    if form == 4:
        return f"ln({1 + simple})", none, 1 + simple
    return f"{simple} + ln(3/2)", simple, Fraction(3, 2)


def _delta(random: Random) -> Fraction:
    form = random.random()
    if form < 0.3:
        return Fraction(0)
    if form < 0.31:
        return Fraction(1)
    if form < 0.4:  # on a point of the grid, or a hair beside it
        hair = Fraction(random.randrange(-1, 2), 10**40)
        return min(Fraction(1), max(Fraction(0), Fraction(random.getrandbits(random.randrange(1, 65)), GRID) + hair))
    return Fraction(f"{10 ** random.uniform(-22, -1e-9):.{random.randrange(1, 18)}e}")


class Judge:
    """Whether numerators keep one case's promise."""

    def __init__(self, case: Case) -> None:
        self.grid_delta = flint.fmpq(case.delta.numerator, case.delta.denominator) * GRID
        self.factor = flint.fmpq(case.m.numerator, case.m.denominator)
        self.ball = None
        if case.r:
            with flint.ctx.workprec(300):
                self.ball = flint.arb(flint.fmpq(case.r.numerator, case.r.denominator)).exp() * flint.arb(self.factor)

    def keeps(self, k00: int, k11: int) -> bool:
        """All four inequalities."""
        if not (0 <= k00 <= GRID and 0 <= k11 <= GRID):
            return False
        if k00 == k11:
            return self._holds(k11, GRID - k00) and self._holds(GRID - k00, k11)
        return (
            self._holds(k11, GRID - k00)
            and self._holds(k00, GRID - k11)
            and self._holds(GRID - k00, k11)
            and self._holds(GRID - k11, k00)
        )

    def _holds(self, likely: int, unlikely: int) -> bool:
        """likely <= E · unlikely + G δ."""
        rest = likely - self.grid_delta
        if rest <= 0:
            return True
        if self.ball is None:
            return bool(rest <= self.factor * unlikely)
        if unlikely == 0:
            return False
        with flint.ctx.workprec(300):
            left, right = flint.arb(rest), self.ball * unlikely
            if (left < right) == (left > right):
                raise ArithmeticError("300 bits do not decide this comparison")
            return bool(left < right)


def shipped(case: Case) -> tuple[int, int]:
    """The design the library makes."""
    design = optimal_design(case.epsilon, case.delta, prevalence=case.prevalence)
    return design.numerators


def by_doubles(case: Case) -> tuple[int, int]:
    """What everybody writes: the same formula in doubles, then a scaled integer."""
    e = math.exp(float(case.r)) * float(case.m)
    k = int((e + float(case.delta)) / (e + 1) * 2**64)
    return k, k


def nearest(case: Case) -> tuple[int, int]:
    """The exact optimum, rounded to the nearest grid point instead of down."""
    e = Epsilon.of_parts(case.r, case.m).exp
    k = min(math.floor((e + case.delta) / (e + 1) * GRID + Fraction(1, 2)), GRID - 1)
    return k, k


def moved(steps: int) -> Builder:
    """The library's design, so many grid steps off."""

    def build(case: Case) -> tuple[int, int]:
        return _raised(*shipped(case), steps)

    return build


def _raised(k00: int, k11: int, steps: int) -> tuple[int, int]:
    if k00 == k11:
        return k00 + steps, k11 + steps
    return (k00, k11 + steps) if k00 == GRID else (k00 + steps, k11)


def verdict(case: Case, build: Builder) -> str:
    """kept and tight, refused rightly, capped rightly; or what is wrong."""
    judge = Judge(case)
    try:
        k00, k11 = build(case)
    except UninformativeDesign:
        return "wrong refusals" if judge.keeps(2**63 + 1, 2**63 + 1) else "refused because nothing could be learned"
    if not judge.keeps(k00, k11):
        return "broken promises"
    if not judge.keeps(*_raised(k00, k11, 1)):
        return "kept and tight"
    capped = case.delta == 1 and case.prevalence is None and k00 == k11 == GRID - 1
    return "stopped one step below certainty" if capped else "promises with a step to spare"


WRONG = ("broken promises", "promises with a step to spare", "wrong refusals")


def search(build: Builder, each: int, seed: int = 0) -> Callable[[int, Step], Outcome]:
    """Judge `each` random promises per piece."""

    def run(piece: int, step: Step) -> Outcome:
        counts = dict.fromkeys(("promises", "kept and tight", *WRONG), 0)
        example = ""
        for done, case in enumerate(cases(seed + piece, each)):
            found = verdict(case, build)
            counts[found] = counts.get(found, 0) + 1
            if found in WRONG and not example:
                example = f"first of the {found}: ε = {case.epsilon}, δ = {case.delta}"
            if done % 1000 == 0:
                step(done, each)
        counts["promises"] = each
        return Outcome(not any(counts[name] for name in WRONG), counts, example)

    return run


def with_planted_bug(build: Builder, each: int, expected: str) -> Callable[[int, Step], Outcome]:
    """Caught if the same search finds the expected fault."""

    def run(piece: int, step: Step) -> Outcome:
        found = search(build, each, seed=10**6)(piece, step)
        figures = {"promises": found.figures["promises"], expected: found.figures[expected]}
        return Outcome(int(found.figures[expected]) > 0, figures)

    return run


def parts(size: Size) -> list[Part]:
    """A million promises: half a million of yes and no, 300,000 of choices, 200,000 of two sides; or 2,000."""
    pieces, each, planted = (20, 25_000, 20_000) if size is FULL else (1, 1_000, 300)
    (choices, sides), some = ((15, 10), 20_000) if size is FULL else ((1, 1), 500)
    return [
        Part("the library's designs", search(shipped, each), pieces),
        Part("the same formula in doubles", with_planted_bug(by_doubles, planted, "broken promises"), planted=True),
        Part("rounded to nearest", with_planted_bug(nearest, planted // 10, "broken promises"), planted=True),
        Part("one step too far", with_planted_bug(moved(1), planted // 10, "broken promises"), planted=True),
        Part(
            "one step too timid",
            with_planted_bug(moved(-1), planted // 10, "promises with a step to spare"),
            planted=True,
        ),
        Part("the library's designs for choices", search_choices(some), choices),
        *[
            Part(f"choices, {name}", search_choices(400, build, seed=10**6, expected=fault), planted=True)
            for name, (build, fault) in PLANTED_CHOICES.items()
        ],
        Part("the library's designs with two promises", search_two_sided(some), sides),
        *[
            Part(f"two promises, {name}", search_two_sided(200, made, seed=10**6, expected=fault), planted=True)
            for name, (made, fault) in PLANTED_TWO_SIDED.items()
        ],
    ]


CHECK = Check(
    1,
    "promise",
    "The exact promise",
    "For every (ε, δ) the design the library makes keeps the promise exactly, and one step of 1/2^64 more would break "
    "it; for choices the size of the set is the best too, and of two promises both are kept. Judged by FLINT's ball "
    "arithmetic from the numbers as they were spelled.",
    ("tests/assurance/promise/choices.py", "tests/assurance/promise/two_sided.py", "rrcollect/design"),
    parts,
    "a random search and not a proof (proofs are in the modules' docstrings and tests/design/test_proofs.py); designs "
    "made by `optimal_design`, without a cap on the likelihood ratio, for two promises and for options.",
    alone=False,
)
