"""The settings of docs/coverage.md beyond one design and a population: every kind of estimate and target.

Every method that `methods_for` names for a kind is there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import binom, multinomial

from rrcollect import Design, classic, optimal_design
from server_agg import Tally, estimate, models, sampling
from tests.assurance.bars.laws import law_matrix
from tests.benchmarks.coverage_choices import choice_settings
from tests.benchmarks.coverage_models import model_settings
from tests.benchmarks.coverage_rows import Setting
from tests.inside.estimates import methods_for
from tests.support.aims import aimed
from tests.support.comparing import both
from tests.support.covering import GRID, Ends, Law, pairs, says

E1, E2, P3, DIRECT = optimal_design(1), optimal_design(2), Design(1, "0.3"), Design(1, 1)
NAMES = {E1: "ε = 1", E2: "ε = 2", P3: "(1, 0.3)", DIRECT: "direct"}


def _outcomes(sizes: tuple[int, int]) -> list[tuple[int, int]]:
    return list(itertools.product(range(sizes[0] + 1), range(sizes[1] + 1)))


def _words(designs: tuple[Design, ...], sizes: tuple[int, ...], more: str = "") -> str:
    names = [NAMES[d] for d in designs]
    shown = names[0] if len(set(names)) == 1 else " and ".join(names)
    return f"{shown}; n = {' and '.join(map(str, sizes))}{more}"


def _two(
    kind: str,
    target: str,
    methods: tuple[str, ...],
    groups: tuple[tuple[Design, Design], tuple[int, int]],
    make: Callable[[Tally, Tally], Callable[[str], Ends]],
    truth: Callable[[float, float], float | None],
    *,
    more: str = "",
    unless: frozenset[str] = frozenset(),
) -> Setting:
    designs, sizes = groups
    (d, e), (m, n) = designs, sizes

    def bar(outcome: Any, method: str) -> Ends:
        return make(Tally(d, m, outcome[0]), Tally(e, n, outcome[1]))(method)

    where = _words(designs, sizes, more)
    return Setting(kind, target, where, methods, _outcomes(sizes), bar, lambda: pairs(designs, sizes, truth), unless)


def _counted(n: int) -> Iterator[Setting]:
    """One design: those who answered, and a population of twice the size."""
    for design in (E1, P3, DIRECT):
        for target, words in (("sample", "those who answered"), (2 * n, "finite population")):
            shares, laws = law_matrix(design, n, target)

            def bar(ones: Any, method: str, design: Design = design, target: Any = target) -> Ends:
                return tuple(estimate(Tally(design, n, ones), **aimed(target)).interval(method=method))

            every: list[Law] = list(zip(shares.tolist(), laws, strict=True))
            named = methods_for("one design", target)
            more = f" of {target}" if target != "sample" else ""
            yield Setting(
                "one design", words, f"{NAMES[design]}; n = {n}{more}", named, list(range(n + 1)), bar,
                partial(list, every),
            )  # fmt: skip


def _dishonest(n: int) -> Iterator[Setting]:
    """At most m of n reports are anything: the bar must hold for each number of ones among them."""
    m = n // 10
    for design in (E1, P3, DIRECT):

        def bar(ones: Any, method: str, design: Design = design) -> Ends:
            found = [
                estimate(Tally(design, n, ones + k)).interval_with_dishonest(f"{m}/{n}", method=method)
                for k in range(m + 1)
            ]
            return max(one.low for one in found), min(one.high for one in found)

        honest, rates = np.arange(n - m + 1), np.arange(101) / 100
        laws = [(float(pi), binom.pmf(honest, n - m, says(design, pi))) for pi in rates]
        yield Setting(
            "at most m dishonest reporters", "honest people", f"{NAMES[design]}; n = {n}, m = {m}", ("exact",),
            honest.tolist(), bar, partial(list, laws),
        )  # fmt: skip


def _repeated(n: int) -> Iterator[Setting]:
    design = classic.kuk("0.8", "0.3", draws=2)

    def bar(total: Any, method: str) -> Ends:
        people = [n - (total + 1) // 2, total % 2, total // 2]
        return tuple(models.kuk(people, design).interval(method=method))  # type: ignore[arg-type]

    def laws() -> Iterator[Law]:
        one = [np.array([float(p) for p in design.law(truth)]) for truth in (0, 1)]  # type: ignore[union-attr]
        for pi in np.arange(101) / 100:
            law = np.array([1.0])
            for _ in range(n):
                law = np.convolve(law, (1 - pi) * one[0] + pi * one[1])
            yield float(pi), law

    where = f"Kuk, 0.8 and 0.3, two draws; n = {n}"
    yield Setting(
        "repeated draws", "population", where, methods_for("repeated draws"), list(range(2 * n + 1)), bar, laws
    )


def _moors(n: int) -> Iterator[Setting]:
    p, sizes = 0.7, (n, n)

    def bar(outcome: Any, method: str) -> Ends:
        found = models.moors((n, outcome[0]), (n, outcome[1]), classic.moors("0.7"))
        return tuple(found.interval(method=method))

    def laws() -> Iterator[Law]:
        for pi, harmless in itertools.product(GRID, repeat=2):
            both = [binom.pmf(np.arange(n + 1), n, rate) for rate in (p * pi + (1 - p) * harmless, harmless)]
            yield float(pi), np.outer(*both).ravel()

    where = f"Moors, p = 0.7; n = {n} and {n}"
    yield Setting("two samples", "population", where, methods_for("two samples"), _outcomes(sizes), bar, laws)


def _groups(n: int) -> Iterator[Setting]:
    """Differences and ratios."""
    small = max(2, n // 3)
    for designs, sizes in (
        ((E1, E1), (n, n)),
        ((P3, P3), (n, small)),
        ((DIRECT, DIRECT), (n, small)),
        ((E1, P3), (n, n)),
    ):

        def difference(a: Tally, b: Tally) -> Callable[[str], Ends]:
            return lambda method: tuple(both(a, b).difference.interval(method=method))

        def ratio(a: Tally, b: Tally) -> Callable[[str], Ends]:
            return lambda method: tuple(both(a, b).ratio.interval(method=method))

        groups = designs, sizes
        yield _two("difference", "population", methods_for("difference"), groups, difference, lambda a, b: a - b)
        yield _two("ratio", "population", methods_for("ratio"), groups, ratio, lambda a, b: a / b if b else None)


def _pooled(n: int) -> Iterator[Setting]:
    for designs in ((E1, E2), (E1, P3)):

        def bar(a: Tally, b: Tally) -> Callable[[str], Ends]:
            return lambda method: tuple(estimate([a, b]).interval(method=method))

        yield _two(
            "several designs", "population", methods_for("several designs"), (designs, (n, n)), bar,
            lambda a, b: a if a == b else None,
        )  # fmt: skip


def _strata(n: int) -> Iterator[Setting]:
    """Post-stratified answers, strata of a finite population, and records with fixed weights."""
    small = max(2, n // 4)
    for designs, sizes, shares in (
        ((E1, E1), (n, n), (1, 1)), ((P3, P3), (n, small), (1, 1)), ((P3, P3), (small, n), (1, 9)),
        ((E1, P3), (n, n), (2, 1)), ((DIRECT, DIRECT), (small, n), (1, 1)),
    ):  # fmt: skip
        weights = [share / sum(shares) for share in shares]

        def post(a: Tally, b: Tally, shares: tuple[int, int] = shares) -> Callable[[str], Ends]:
            found = sampling.estimate({"a": a, "b": b}, weights=dict(zip("ab", shares, strict=True)))
            return lambda method: tuple(found.interval(method=method))

        def fixed(a: Tally, b: Tally, shares: tuple[int, int] = shares) -> Callable[[str], Ends]:
            answers = [k < t.ones for t in (a, b) for k in range(t.n)]
            each = [t.design for t in (a, b) for _ in range(t.n)]
            heavy = [share / t.n for t, share in zip((a, b), shares, strict=True) for _ in range(t.n)]
            found = sampling.estimate(answers, each, weights=heavy)
            return lambda method: tuple(found.interval(method=method))

        def truth(a: float, b: float, weights: list[float] = weights) -> float:
            return weights[0] * a + weights[1] * b

        more, groups = f"; shares {shares[0]} : {shares[1]}", (designs, sizes)
        yield _two("post-stratified", "population", methods_for("strata"), groups, post, truth, more=more)
        yield _two(
            "weights fixed beforehand", "population", methods_for("complex sample"), groups, fixed, truth, more=more,
            unless=frozenset(["hoeffding"]),
        )  # fmt: skip
    yield from _finite_strata(min(n, 12))


def _finite_strata(n: int) -> Iterator[Setting]:
    for design in (E1, DIRECT):
        shares, laws = law_matrix(design, n, 2 * n)

        def bar(outcome: Any, method: str, design: Design = design) -> Ends:
            tallies = {x: Tally(design, n, k) for x, k in zip("ab", outcome, strict=True)}
            found = sampling.estimate(tallies, population={"a": 2 * n, "b": 2 * n})
            return tuple(found.interval(method=method))

        def both(shares: Any = shares, laws: Any = laws) -> Iterator[Law]:
            for i, j in itertools.combinations_with_replacement(range(0, len(shares), 2), 2):
                yield float(shares[i] + shares[j]) / 2, np.outer(laws[i], laws[j]).ravel()

        where = f"{NAMES[design]}; n = {n} of {2 * n}, twice"
        named = methods_for("strata")
        yield Setting("stratified", "finite population", where, named, _outcomes((n, n)), bar, both)


def _with_the_truth(n: int) -> Iterator[Setting]:
    """Records of (truth, answer): who has the attribute answers less often, and weighs more for it."""
    cells = [(a, b, c, n - a - b - c) for a in range(n + 1) for b in range(n + 1 - a) for c in range(n + 1 - a - b)]
    for design, heavy in itertools.product((E1, E2, P3, DIRECT), (4, 10)):

        def bar(cell: Any, method: str, design: Design = design, heavy: int = heavy) -> Ends:
            a, b, c, e = cell
            weights = [float(heavy)] * (a + b) + [1.0] * (c + e)
            found = sampling.estimate([1] * a + [0] * b + [1] * c + [0] * e, design, weights=weights)
            return tuple(found.interval(method=method))

        def laws(design: Design = design, heavy: int = heavy) -> Iterator[Law]:
            for pi in (0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 0.98):
                carriers, yes = pi / heavy / (pi / heavy + 1 - pi), (says(design, 1.0), says(design, 0.0))
                both = [
                    share * rate for share, y in ((carriers, yes[0]), (1 - carriers, yes[1])) for rate in (y, 1 - y)
                ]
                yield pi, multinomial.pmf(cells, n, both)

        kind = f"weights with the truth, {heavy} : 1, {NAMES[design]}"
        named = methods_for("complex sample")
        yield Setting(
            kind, "population", f"{NAMES[design]}; n = {n}", named, cells, bar, laws, frozenset(["hoeffding"])
        )


def _totals(n: int) -> Iterator[Setting]:
    """How many people, each answer standing for ten."""
    for design in (E1, P3, DIRECT):

        def bar(ones: Any, method: str, design: Design = design) -> Ends:
            answers = [1] * ones + [0] * (n - ones)
            total = sampling.estimate(answers, design, weights=np.full(n, 10.0)).total
            return tuple(total.interval(method=method))

        def laws(design: Design = design) -> Iterator[Law]:
            for pi in np.arange(101) / 100:
                yield float(10 * n * pi), binom.pmf(np.arange(n + 1), n, says(design, pi))

        methods = ("wald", "korn-graubard")
        yield Setting(
            "total of a sample", "population", f"{NAMES[design]}; n = {n}", methods, list(range(n + 1)), bar, laws
        )


FAMILIES: tuple[tuple[Callable[[int], Iterator[Setting]], ...], ...] = (  # of about the same cost, in the page's order
    (_counted, _dishonest, _repeated, _moors),
    (_groups,),
    (_pooled, _strata, _totals, choice_settings),
    (lambda n: _with_the_truth(min(n, 14)), model_settings),
)


def settings(n: int, part: int | None = None) -> Iterator[Setting]:
    """Everything that is summed, or one part of it, with about n answers per group."""
    for families in FAMILIES if part is None else (FAMILIES[part - 1],):
        for family in families:
            yield from family(n)
