"""The settings of docs/coverage.md in which several bars must hold at once, and those of means and groups of options.

All options of a choice, all segments of a table: an outcome is covered if every bar holds its truth.
A mean: for the population its bars are those of a share.  For those who answered the count is a sum of unequal chances;
the law is that of m people at one number and the others at another, over a grid of both.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import binom, multinomial

from rrcollect import Design, SetDesign, optimal_design
from server_agg import Estimate, Tally, compare, estimate
from tests.benchmarks.coverage_rows import Setting
from tests.inside.estimates import methods_for
from tests.support.covering import GRID, Ends, Law, says

E1, P3 = optimal_design(1), Design(1, "0.3")
AT_ONCE = tuple(method for method in methods_for("one design") if method != "credible")
SUMS = methods_for("options")
SHARES = np.array([0, 0.05, 0.2, 0.5, 0.8, 0.95, 1])


def _sets(design: SetDesign) -> list[tuple[int, ...]]:
    return list(itertools.combinations(range(design.options), design.size))


def _chances(design: SetDesign, truth: int) -> list[float]:
    """The probability of every set, given the truth."""
    k, w, p = design.options, design.size, float(design.p)
    return [p / math.comb(k - 1, w - 1) if truth in s else (1 - p) / math.comb(k - 1, w) for s in _sets(design)]


def _simplex(k: int) -> Iterator[Any]:
    for some in itertools.product(SHARES, repeat=k - 1):
        if sum(some) <= 1 + 1e-9:
            yield np.array([*some, max(0.0, 1 - sum(some))])


def _at_once(n: int) -> Iterator[Setting]:
    """All options: sets of one option of three, and of two of four."""
    for design, people in ((SetDesign(3, 1, "3/5"), n), (SetDesign(4, 2, "3/4"), min(n, 5))):
        sets = _sets(design)
        tables = [t for t in itertools.product(range(people + 1), repeat=len(sets)) if sum(t) == people]
        held = [tuple(sum(m for m, s in zip(t, sets, strict=True) if j in s) for j in range(design.options))
                for t in tables]  # fmt: skip
        outcomes = sorted(set(held))
        place = np.array([outcomes.index(counts) for counts in held])

        def bar(counts: Any, method: str, design: SetDesign = design, people: int = people) -> Ends:
            bars = estimate(Tally(design, people, counts)).intervals(method=method)
            return [one.low for one in bars], [one.high for one in bars]

        def laws(
            design: SetDesign = design, tables: Any = tables, place: Any = place, people: int = people
        ) -> Iterator[Law]:
            by_truth = np.array([_chances(design, x) for x in range(design.options)])
            for shares in _simplex(design.options):
                yield shares, np.bincount(place, multinomial.pmf(tables, people, shares @ by_truth))

        where = f"{design.size} of {design.options} options, p = {design.p}; n = {people}"
        yield Setting("choice, all options at once", "population", where, AT_ONCE, outcomes, bar, laws)


def _groups_of_options(n: int) -> Iterator[Setting]:
    """Two of five options together, by sets of two: the sum depends on how many of them each set holds."""
    for design in (SetDesign(5, 2, "2/3"), SetDesign(5, 2, "24/25")):
        outcomes = [(n - a - b, a, b) for a in range(n + 1) for b in range(n + 1 - a)]

        def bar(outcome: Any, method: str, design: SetDesign = design) -> Ends:
            inside = outcome[1] + 2 * outcome[2]
            rest = [(2 * n - inside + j) // 3 for j in range(3)]
            found = estimate(Tally(design, n, [inside // 2, inside - inside // 2, *rest])).group([0, 1])
            return tuple(found.interval(method=method))

        def laws(design: SetDesign = design, outcomes: Any = outcomes) -> Iterator[Law]:
            held = [len({0, 1} & set(s)) for s in _sets(design)]
            one, other = (np.bincount(held, _chances(design, truth)) for truth in (0, 2))
            for share in GRID:
                yield float(share), multinomial.pmf(outcomes, n, share * one + (1 - share) * other)

        where = f"2 of 5 options, p = {design.p}; n = {n}"
        yield Setting("group of options", "population", where, SUMS, outcomes, bar, laws)


def _sums_of_options(n: int) -> Iterator[Setting]:
    """One option minus another, the mean of scores, and one option among two, by sets of one option of three."""
    outcomes = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
    kinds: dict[str, tuple[Callable[[Estimate], Any], Callable[[Any], float | None]]] = {
        "two options of a choice": (lambda e: e.compare(0, 1), lambda p: p[0] - p[1]),
        "mean of scores": (lambda e: e.mean([0, 1, 2]), lambda p: p[1] + 2 * p[2]),
        "option among several": (lambda e: e.among(0, [0, 1]), lambda p: p[0] / (p[0] + p[1]) if p[2] < 1 else None),
    }
    for kind, (make, truth) in kinds.items():
        for design in (SetDesign(3, 1, "3/5"), SetDesign(3, 1, "24/25")):

            def bar(counts: Any, method: str, make: Any = make, design: SetDesign = design) -> Ends:
                found = make(estimate(Tally(design, n, counts)))
                return tuple(found.interval(method=method))

            def laws(truth: Any = truth, design: SetDesign = design) -> Iterator[Law]:
                by_truth = np.array([_chances(design, x) for x in range(3)])
                for shares in _simplex(3):
                    if truth(shares) is not None:
                        yield truth(shares), multinomial.pmf(outcomes, n, shares @ by_truth)

            where = f"1 of 3 options, p = {design.p}; n = {n}"
            yield Setting(kind, "population", where, SUMS, outcomes, bar, laws)


def _means(n: int) -> Iterator[Setting]:
    for design, name in ((E1, "ε = 1"), (P3, "(1, 0.3)")):

        def bar(ones: Any, method: str, design: Design = design, target: str = "population") -> Ends:
            return tuple(estimate(Tally(design, n, ones), bounds=(0, 1), target=target).interval(method=method))

        def drawn(design: Design = design) -> Iterator[Law]:
            for mean in np.arange(101) / 100:
                yield float(mean), binom.pmf(np.arange(n + 1), n, says(design, mean))

        def given(design: Design = design) -> Iterator[Law]:
            for m, u, v in itertools.product(range(0, n + 1, 2), GRID, GRID):
                first = binom.pmf(np.arange(m + 1), m, says(design, u))
                yield (
                    (m * u + (n - m) * v) / n,
                    np.convolve(first, binom.pmf(np.arange(n - m + 1), n - m, says(design, v))),
                )

        where, counts = f"{name}; n = {n}", list(range(n + 1))
        yield Setting("mean of a number", "population", where, AT_ONCE, counts, bar, drawn)
        realised, allowed = partial(bar, target="sample"), methods_for("mean", "sample")
        yield Setting("mean of a number", "those who answered", where, allowed, counts, realised, given)


def _segments(n: int) -> Iterator[Setting]:
    sizes = (n, max(2, n // 3))
    outcomes = list(itertools.product(range(sizes[0] + 1), range(sizes[1] + 1)))
    for design, name in ((E1, "ε = 1"), (P3, "(1, 0.3)")):

        def bar(outcome: Any, method: str, design: Design = design) -> Ends:
            cells = {str(j): Tally(design, m, k) for j, (m, k) in enumerate(zip(sizes, outcome, strict=True))}
            bars = [row.interval(method=method) for row in compare(cells).group_rows]
            return [one.low for one in bars], [one.high for one in bars]

        def laws(design: Design = design) -> Iterator[Law]:
            for pair in itertools.product(GRID, repeat=2):
                each = [binom.pmf(np.arange(m + 1), m, says(design, pi)) for m, pi in zip(sizes, pair, strict=True)]
                yield np.array(pair), np.outer(*each).ravel()

        where = f"{name}; n = {sizes[0]} and {sizes[1]}"
        methods = ("exact", "chebyshev", "hoeffding", "anytime", "wilson", "wald")
        yield Setting("segments, all at once", "population", where, methods, outcomes, bar, laws)


def choice_settings(n: int) -> Iterator[Setting]:
    """With about n answers."""
    for family in (_at_once, _groups_of_options, _sums_of_options, _means, _segments):
        yield from family(n)
