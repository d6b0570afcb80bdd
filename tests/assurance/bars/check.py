"""Check 8: error bars cover, estimates are unbiased, regressions recover.

Coverage is a sum over every count N, not a simulation.  For the population it is computed on a grid of prevalences and
just outside every end of every bar: between two ends it is P(a <= N <= b), which has one peak in λ, so its infimum over
all prevalences lies at the ends.  For those who answered and for finite populations every possible share is looked at.

Unbiasedness is in `unbiased`, regressions are in `recovery`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rrcollect import Design
from tests.assurance.bars.choices import choice_parts
from tests.assurance.bars.kinds import further_parts
from tests.assurance.bars.laws import law_matrix, population_matrix
from tests.assurance.bars.recovery import DESIGNS as REGRESSIONS
from tests.assurance.bars.recovery import naive, regression, shortened
from tests.assurance.bars.samples import sample_parts
from tests.assurance.bars.unbiased import PIECES, biased, clipped, divided_by_n, one_too_many, plain, unbiased
from tests.assurance.check import FULL, Check, Figure, Outcome, Part, Size, Step
from tests.benchmarks.coverage import (
    CREDIBLE,
    DESIGNS,
    GUARANTEED,
    ONE_SIDED,
    OTHERS,
    PREVALENCES,
    SYMMETRIC,
    Bars,
    bar_ends,
    by_method,
    minima,
    named_methods,
)
from tests.support.covering import covered

ROUNDING = 1e-12  # of a sum of at most 1001 probabilities in doubles
FURTHER = {  # designs of no particular beauty, with p00 + p11 away from 1
    f"({a}/64, {b}/64)": Design(Fraction(a, 64), Fraction(b, 64))
    for a in (3, 17, 31, 45, 59, 64)
    for b in (5, 24, 43, 62)
    if abs(a + b - 64) >= 5
}
ALL = DESIGNS | FURTHER
SOME = list(ALL.values())[::6]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "coverage.md"
GROUPS: dict[str, Collection[str]] = {
    "symmetric, ε = 0.1 … 4": SYMMETRIC,
    "one answer is a proof": ONE_SIDED,
    "other": OTHERS,
}


def least_coverage(design: Design, n: int, bars: Bars, target: str | int = "population") -> tuple[int, float]:
    """(how many cells, the least coverage over them) of bars for one design, n and target."""
    low, high = bar_ends(design, n, bars, target)
    if target == "population":
        ends = np.concatenate([low, high])
        shares = np.concatenate([PREVALENCES, np.nextafter(ends, -1), np.nextafter(ends, 2)])
        shares = np.unique(shares[(shares >= 0) & (shares <= 1)])
        law = population_matrix(design, n, shares)
    else:
        shares, law = law_matrix(design, n, target)
    return len(shares), min(covered(list(zip(low, high, strict=True)), zip(shares, law, strict=True), rounding=0))


def coverage_part(
    cases: list[tuple[Design, int, str | int, float]], make: Callable[[float], Bars], piece: int, step: Step
) -> Outcome:
    """No cell below its level; `make` gives the bars for a level."""
    cells, below, worst, least_at_95 = 0, 0, math.inf, 1.0
    for done, (design, n, target, level) in enumerate(cases):
        count, least = least_coverage(design, n, make(level), target)
        cells, below = cells + count, below + (least < level - ROUNDING)
        worst = min(worst, least - level)
        least_at_95 = min(least_at_95, least) if level == 0.95 else least_at_95
        step(done + 1, len(cases))
    figures: dict[str, Figure] = {"cells": cells, "design × n × target × level": len(cases), "below the level": below}
    figures |= {"least coverage minus level": worst, "least coverage at 95 %": least_at_95}
    return Outcome(below == 0, figures)


def found_below(outcome: Outcome) -> Outcome:
    """For a planted bug: caught if a cell fell below its level."""
    return Outcome(not outcome.passed, outcome.figures)


def population_cases(full: bool, piece: int, pieces: int) -> list[tuple[Design, int, str | int, float]]:
    """Every design with every n, at 95 %; the smaller n at other levels too."""
    sizes = [*range(2, 51), 75, 100, 150, 200, 300] if full else [2, 5, 10, 30]
    found: list[tuple[Design, int, str | int, float]] = [
        (d, n, "population", 0.95) for d in ALL.values() for n in sizes
    ]
    some, levels = ALL.values() if full else SOME, (0.5, 0.8, 0.9, 0.99, 0.999)
    found += [(d, n, "population", x) for d in some for n in (2, 7, 25) for x in levels]
    if full:
        found += [(DESIGNS[name], 1000, "population", 0.95) for name in ("ε = 1", "ε = 2", "(1, 0.05)", "(0.05, 1)")]
    return found[piece::pieces]


def people_cases(full: bool, piece: int, pieces: int) -> list[tuple[Design, int, str | int, float]]:
    """Those who answered, and populations of n + 1, 2n and 5n."""
    designs = (DESIGNS | dict(list(FURTHER.items())[::3])).values() if full else list(DESIGNS.values())[::3]
    found: list[tuple[Design, int, str | int, float]] = []
    for design in designs:
        found += [(design, n, "sample", 0.95) for n in ((*range(2, 31), 50, 100) if full else (2, 15))]
        found += [(design, n, m, 0.95) for n in ((*range(2, 21), 40) if full else (8,)) for m in (n + 1, 2 * n, 5 * n)]
    return found[piece::pieces]


def guaranteed_everywhere(cases: Any, full: bool, pieces: int, piece: int, step: Step) -> Outcome:
    """The exact bars on a share of the cases."""
    return coverage_part(cases(full, piece, pieces), lambda level: by_method("exact", level), piece, step)


def planted_bars(make: Callable[[float], Bars], piece: int, step: Step) -> Outcome:
    """The same search over bars that are not exact."""
    cases = population_cases(False, 0, 4) + people_cases(False, 0, 2)
    return found_below(coverage_part(cases, make, piece, step))


def slightly_narrow(piece: int, step: Step) -> Outcome:
    """Exact bars of 94.9 % under the name of 95 %."""
    cases: list[tuple[Design, int, str | int, float]] = [(DESIGNS["ε = 1"], 1000, "population", 0.95)]
    return found_below(coverage_part(cases, lambda level: by_method("exact", level - 0.001), piece, step))


def published(sizes: tuple[int, ...], piece: int, step: Step) -> Outcome:
    """The least coverage of every method, recomputed, is what docs/coverage.md says; three never fall below 95 %."""
    quick = {m: b for m, b in named_methods().items() if m not in ("likelihood", CREDIBLE)}
    few = {name: DESIGNS[name] for name in ("ε = 0.5", "ε = 1", "ε = 2", "(1, 0.05)", "(0.05, 1)")}
    n = sizes[piece]
    cells = minima(few, (n,), quick) if n == 1000 else minima(DESIGNS, (n,), named_methods())
    figures: dict[str, Figure] = {"cells": len(cells) * PREVALENCES.size}
    wrong = [cell for cell in cells if cell.method in GUARANTEED and cell.minimum < 0.95 - ROUNDING]
    for method in dict.fromkeys(cell.method for cell in cells):
        figures[f"least coverage, {method}"] = min(cell.minimum for cell in cells if cell.method == method)
    text, differing = PAGE.read_text(encoding="utf-8"), []
    for title, designs in GROUPS.items():
        table = text.split(f"## Designs: {title}\n\n")[1].split("\n\n")[0].splitlines()
        column = [word.strip() for word in table[0].split("|")].index(f"n = {n}")
        written = {line.split("|")[1].strip(): line.split("|")[column].strip() for line in table[2:]}
        for method, said in written.items():
            found = [cell.minimum for cell in cells if cell.method == method and cell.design in designs]
            if said != (f"{min(found):.3f}" if found else ""):
                differing.append(f"{title}, {method}, n = {n}")
    figures["figures of the page that differ"] = len(differing)
    return Outcome(not wrong and not differing, figures, "; ".join(differing[:3]))


def parts(size: Size) -> list[Part]:
    """Coverage, unbiasedness, regression, and a planted bug or more of each."""
    full = size is FULL
    pieces = 4 if full else 1
    sizes = (10, 30, 100, 300, 1000) if full else (10,)
    return [
        Part("exact bars, population", partial(guaranteed_everywhere, population_cases, full, pieces), pieces),
        Part(
            "exact bars, those who answered and finite populations",
            partial(guaranteed_everywhere, people_cases, full, pieces),
            pieces,
        ),
        Part("the other methods", partial(published, sizes), len(sizes)),
        Part(
            "unbiased, in fractions", partial(unbiased, plain, list(ALL.values()) if full else SOME, full), PIECES[full]
        ),
        Part("regression bars", partial(regression, 10_000 if full else 100), len(REGRESSIONS)),
        Part(
            "Wald's bars under the name of exact", partial(planted_bars, lambda x: by_method("wald", x)), planted=True
        ),
        Part(
            "Wilson's bars under the name of exact",
            partial(planted_bars, lambda x: by_method("wilson", x)),
            planted=True,
        ),
        Part("94.9 % under the name of 95 %", slightly_narrow, planted=True),
        *further_parts(full),
        *choice_parts(full),
        *sample_parts(full),
        Part("an estimate that is clipped", partial(biased, clipped, SOME), planted=True),
        Part("an estimate divided by n + 1", partial(biased, one_too_many, SOME), planted=True),
        Part("a variance divided by n", partial(biased, divided_by_n, SOME), planted=True),
        Part("a regression that ignores the design", partial(naive, 100), len(REGRESSIONS), planted=True),
        *([Part("standard errors a tenth too small", partial(shortened, 10_000), planted=True)] if full else []),
    ]


CHECK = Check(
    8,
    "bars",
    "Statistics: bars that cover, estimates without bias",
    "Summed exactly over every count, the exact bars never cover less than they promise, for any design, n, prevalence "
    "and target looked at; the edge rule holds; looks at anytime bars exclude the truth no more often than promised; "
    "those of all options of a choice hold at once, and those of a mean whatever the numbers; "
    "the coverage of every other method and estimate is what docs/coverage.md says; the estimate and its estimated "
    "variance are unbiased as identities of fractions; 95 % bars of a regression cover as often as that; "
    "the default bars of complex samples hold in at least 93 of 100 simulated surveys.",
    (
        "tests/assurance/bars/choices.py",
        "tests/assurance/bars/kinds.py",
        "tests/assurance/bars/laws.py",
        "tests/assurance/bars/recovery.py",
        "tests/assurance/bars/samples.py",
        "tests/assurance/bars/unbiased.py",
        "tests/benchmarks/coverage.py",
        "tests/benchmarks/coverage_choices.py",
        "tests/benchmarks/coverage_kinds.py",
        "tests/benchmarks/coverage_looks.py",
        "tests/benchmarks/coverage_models.py",
        "tests/benchmarks/coverage_rows.py",
        "tests/benchmarks/coverage_samples.py",
        "tests/support/covering.py",
        "server_agg/sampling",
        "docs/coverage.md",
        "rrcollect/design",
        "server_agg/comparisons",
        "server_agg/estimates",
        "server_agg/count/tally.py",
        "server_agg/models/fitting.py",
        "server_agg/models/inference.py",
        "server_agg/models/outcome.py",
        "server_agg/models/regression.py",
        "server_agg/models/moments.py",
        "server_agg/models/predictor.py",
        "server_agg/models/simulation.py",
    ),
    parts,
    "designs, n and levels on grids; the bars of a regression by simulation, so their coverage is known to about one "
    "percent.",
    alone=False,
)
