"""The bars of choices and means, by exact sums.

Choices: over every multiset of sets that n people of a population can send, the chance that the bars of all options
hold at once is never below their level.
Means: over the law of the count (Poisson-binomial, whatever numbers the people have), the two-sided exact bar holds the
mean of those who answered, and that of a population, as often as it promises; so does a panel's, whose rounds differ.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from rrcollect import Design, SetDesign, optimal_design
from server_agg import Tally, estimate
from tests.assurance.check import Figure, Outcome, Part, Step, caught

LEVEL = 0.95
ROUNDING = 1e-9
Bars = Callable[[Tally], list[tuple[float, float]]]
SMALL: list[tuple[SetDesign, int]] = [(SetDesign(3, 1, "3/5"), 5), (SetDesign(4, 2, "3/4"), 3)]
LARGE: list[tuple[SetDesign, int]] = [
    (optimal_design(4, options=3), 30), (optimal_design(4, options=4), 16), (optimal_design("ln 3", options=3), 14),
    (optimal_design(1, options=3), 9), (optimal_design(2, options=4), 9), (SetDesign(4, 2, "3/4"), 5),
    (SetDesign(5, 2, "2/3"), 4), (optimal_design(1, options=5), 6), (optimal_design(1, options=6), 5),
    (SetDesign(6, 3, "7/10"), 3),
]  # fmt: skip


def at_once(tally: Tally) -> list[tuple[float, float]]:
    """The bars as they are printed."""
    return [(bar.low, bar.high) for bar in estimate(tally).intervals(LEVEL)]


def each_alone(tally: Tally) -> list[tuple[float, float]]:
    """A planted bug: every option's bar at the level of one."""
    made = estimate(tally)
    bars = [made.option(j).interval(LEVEL) for j in range(len(tally))]
    return [(bar.low, bar.high) for bar in bars]


def of_the_column(tally: Tally) -> list[tuple[float, float]]:
    """A planted bug: the bars at once, tightened by 1 minus the *upper* ends of the others."""
    bars = at_once(tally)
    return [(low, min(high, max(low, 1 - sum(h for i, (_, h) in enumerate(bars) if i != j) / (len(bars) - 1))))
            for j, (low, high) in enumerate(bars)]  # fmt: skip


def shares_of(k: int, parts: int) -> Iterator[tuple[Fraction, ...]]:
    """Every share of k options in so many parts."""
    for cuts in itertools.combinations(range(parts + k - 1), k - 1):
        ends = (-1, *cuts, parts + k - 1)
        yield tuple(Fraction(b - a - 1, parts) for a, b in itertools.pairwise(ends))


def outcomes(design: SetDesign, n: int) -> tuple[np.ndarray, list[Tally], np.ndarray]:
    """Every multiset of n sets: how often each set is in it, its tally, and the number of its orders."""
    k, w = design.options, design.size
    sets = [tuple(int(j in chosen) for j in range(k)) for chosen in itertools.combinations(range(k), w)]
    found = []
    for chosen in itertools.combinations_with_replacement(range(len(sets)), n):
        found.append(np.bincount(chosen, minlength=len(sets)))
    times = np.array(found)
    sums = times @ np.array(sets)
    orders = np.array([math.factorial(n) // math.prod(math.factorial(m) for m in row) for row in times], float)
    return times, [Tally(design, n, row.tolist()) for row in sums], orders


def chances_of(design: SetDesign, shares: tuple[Fraction, ...]) -> np.ndarray:
    """The chance of each set of one person drawn from a population with these shares."""
    k, w = design.options, design.size
    inside = float(design.p) / math.comb(k - 1, w - 1)
    outside = float(1 - design.p) / math.comb(k - 1, w)
    members = [set(chosen) for chosen in itertools.combinations(range(k), w)]
    return np.array(
        [sum(float(s) * (inside if x in one else outside) for x, s in enumerate(shares)) for one in members]
    )


def choices(cases: list[tuple[SetDesign, int]], parts: int, bars: Bars, piece: int, step: Step) -> Outcome:
    """The least chance that all bars hold at once, over the shares in so many parts."""
    worst, cells, below = 1.0, 0, 0
    for done, (design, n) in enumerate(cases):
        times, tallies, orders = outcomes(design, n)
        known: dict[tuple[int, ...], list[tuple[float, float]]] = {}
        for tally in tallies:
            if tally.counts not in known:
                known[tally.counts] = bars(tally)
        ends = np.array([known[tally.counts] for tally in tallies])
        for shares in shares_of(design.options, parts):
            truth = np.array([float(share) for share in shares])
            held = ((ends[:, :, 0] <= truth + ROUNDING) & (truth - ROUNDING <= ends[:, :, 1])).all(axis=1)
            with np.errstate(divide="ignore"):
                logs = np.log(chances_of(design, shares))
            covered = float(np.sum(orders * np.exp(times @ logs) * held))
            worst, cells, below = min(worst, covered), cells + 1, below + (covered < LEVEL - ROUNDING)
        step(done + 1, len(cases))
    figures: dict[str, Figure] = {"cells": cells, "least chance that all bars hold": worst, "below the level": below}
    return Outcome(not below, figures)


def means(sizes: tuple[int, ...], level: float, piece: int, step: Step) -> Outcome:
    """The exact bar of a mean, over numbers of people that an adversary would choose; also rounds of a panel."""
    worst, cells, below = 1.0, 0, 0
    spreads: list[Callable[[int, float], list[float]]] = [
        lambda n, m: [m] * n,
        lambda n, m: [float(i < round(m * n)) for i in range(n)],
        lambda n, m: [min(1.0, 2 * m * i / max(1, n - 1)) for i in range(n)],
        lambda n, m: [m / 2] * (n // 2) + [min(1.0, 3 * m / 2)] * (n - n // 2),
    ]
    designs = [optimal_design(1), optimal_design(3), Design("3/4", "2/3")]
    for done, (design, n) in enumerate(itertools.product(designs, sizes)):
        bars = [
            tuple(estimate(Tally(design, n, ones), bounds=(0, 1), target="sample").interval(level))
            for ones in range(n + 1)
        ]
        ends = np.array(bars)
        for mean, spread in itertools.product([i / 20 for i in range(21)], spreads):
            numbers = spread(n, mean)
            law = np.array([1.0])
            for number in numbers:
                yes = float(1 - design.p00) + float(design.c) * number
                law = np.convolve(law, [1 - yes, yes])
            truth = sum(numbers) / n
            held = (ends[:, 0] <= truth + ROUNDING) & (truth - ROUNDING <= ends[:, 1])
            covered = float(law @ held)
            worst, cells, below = min(worst, covered), cells + 1, below + (covered < LEVEL - ROUNDING)
        step(done + 1, len(designs) * len(sizes))
    figures: dict[str, Figure] = {"cells": cells, "least coverage": worst, "below the level": below}
    return Outcome(not below, figures)


def choice_parts(full: bool) -> list[Part]:
    """The searches of this module, and planted bugs of each."""
    cases, parts = (LARGE, 12) if full else (SMALL, 5)
    sizes = (2, 3, 5, 12, 30, 60) if full else (2, 7)
    return [
        Part("all options of a choice at once", partial(choices, cases, parts, at_once)),
        Part("means, whatever the numbers", partial(means, sizes, LEVEL)),
        Part("every option at the level of one",
             caught(partial(choices, [(optimal_design(4, options=4), 14)], 6, each_alone)), planted=True),
        Part("bars tightened by the wrong ends", caught(partial(choices, SMALL, 5, of_the_column)), planted=True),
        Part("means at 90 % under the name of 95 %", caught(partial(means, (30,), 0.9)), planted=True),
    ]  # fmt: skip
