"""Coverage of any kind of estimate by exact sums over all its outcomes: the machinery.

A setting is a list of outcomes (counts of two groups, or of one), and for each truth of a grid the probability of every
outcome.  The coverage of a method is the sum over the outcomes whose bar holds the truth; its least value over the
grid is a row of docs/coverage.md.  The settings are in `coverage_kinds`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import binom

from rrcollect import Design
from tests.inside.estimates import METHODS

GRID = np.array([0, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 0.99, 1])
ROUNDING = 1e-12
Ends = tuple[Any, Any]  # two ends, None where nothing bounds; or two lists of them, of bars that must hold at once
Law = tuple[Any, Any]  # a truth, or a list of them, and the probability of every outcome


@dataclass(frozen=True)
class Setting:
    """One kind of estimate with a target, designs and sizes; `bar(outcome, method)` is None where there is no fit."""

    kind: str
    target: str
    where: str
    methods: tuple[str, ...]
    outcomes: list[Any]
    bar: Callable[[Any, str], Ends | None]
    laws: Callable[[], Iterable[Law]]
    unless: frozenset[str] = frozenset()  # methods whose guarantee the estimate takes back


@dataclass(frozen=True)
class Row:
    """A row of the page."""

    kind: str
    target: str
    method: str
    guaranteed: bool
    minimum: float
    where: str
    error: float = field(default=0.0)  # of a simulation

    def cells(self) -> list[str]:
        """As the page shows it."""
        share = f"{self.minimum:.3f}" + (f" ± {self.error:.3f}" if self.error else "")
        return [
            self.kind,
            self.target,
            self.method,
            "guaranteed" if self.guaranteed else "approximate",
            share,
            self.where,
        ]


def least(setting: Setting, method: str, bar: Callable[[Any, str], Ends | None] | None = None) -> float:
    """The least coverage over the setting's truths; outcomes without a fit are left out."""
    ends = [(bar or setting.bar)(outcome, method) for outcome in setting.outcomes]
    there = np.array([found is not None for found in ends])
    low = np.array([-math.inf if e is None or e[0] is None else e[0] for e in ends])
    high = np.array([math.inf if e is None or e[1] is None else e[1] for e in ends])
    found = 1.0
    for truth, law in setting.laws():
        each = (low <= truth + ROUNDING) & (truth - ROUNDING <= high)
        holds = (each.all(axis=1) if each.ndim == 2 else each) & there
        found = min(found, float(law @ holds) / float(law @ there))
    return found


def says(design: Design, pi: Any) -> Any:
    """P(answer 1)."""
    return float(1 - design.p00) * (1 - pi) + float(design.p11) * pi


def pairs(
    designs: tuple[Design, Design],
    sizes: tuple[int, int],
    truth: Callable[[float, float], float | None],
    grid: Any = GRID,
) -> Iterator[Law]:
    """The product law of two counts, for every pair of prevalences that has a truth."""
    laws = [binom.pmf(np.arange(n + 1), n, says(d, grid)[:, None]) for d, n in zip(designs, sizes, strict=True)]
    for (i, a), (j, b) in itertools.product(enumerate(grid), repeat=2):
        value = truth(float(a), float(b))
        if value is not None:
            yield value, np.outer(laws[0][i], laws[1][j]).ravel()


def rows(every: Iterable[Setting]) -> list[Row]:
    """The least of each kind, target and method over its settings."""
    found: dict[tuple[str, str, str], Row] = {}
    for setting in every:
        for method in setting.methods:
            promised = METHODS[method].guaranteed and method not in setting.unless
            row = Row(setting.kind, setting.target, method, promised, least(setting, method), setting.where)
            key = row.kind, row.target, method
            found[key] = min((row, found.get(key, row)), key=lambda one: one.minimum)
    order = {key: place for place, key in enumerate(dict.fromkeys((k, t) for k, t, _ in found))}
    return [found[key] for key in sorted(found, key=lambda key: (order[key[:2]], -found[key].guaranteed))]


def table(lines: list[Row]) -> list[str]:
    """The rows as Markdown."""
    head = ["estimate", "target", "method", "promise", "least coverage", "found at"]
    shown = [head, ["---"] * len(head), *(row.cells() for row in lines)]
    return ["| " + " | ".join(cells) + " |" for cells in shown]
