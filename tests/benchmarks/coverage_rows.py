"""Coverage of any kind of estimate by exact sums over all its outcomes (`covering`): settings, and rows of the page.

A setting is a list of outcomes (counts of two groups, or of one), and for each truth of a grid the probability of every
outcome.  The coverage of a method is the sum over the outcomes whose bar holds the truth; its least value over the
grid is a row of docs/coverage.md.  The settings are in `coverage_kinds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.inside.estimates import METHODS
from tests.support.covering import Ends, Law, covered


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
    return min(covered([(bar or setting.bar)(outcome, method) for outcome in setting.outcomes], setting.laws()))


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
