"""`Findings`: a result whose rows and notes were all worked out when it was made, with the facts behind them.

Rules
1. A fact has its name, another than anything of a row has: `found.honesty` is `found.facts["honesty"]`.
2. JSON shows every fact that has a plain form: numbers, texts, lists and dicts of them, and what has `as_dict()` or
   `to_wire()`.
   Others (the share that a row was made from, another result) are there for programs alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from rrcollect.design.parameters import NumberLike
from server_agg.results.result import Result
from server_agg.results.row import Row


@dataclass(frozen=True, eq=False)
class Findings(Result):
    """Rows, notes and facts."""

    together = "each for itself"
    figures: tuple[Row, ...]
    target: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    told: Sequence[str] = ()  # sentences of its own, under the rows
    said: str | None = None  # how it was asked, in words; None: how many answers there are
    heads: Mapping[str, list[str]] = field(default_factory=dict)  # more columns of text
    main: str | int = 0  # the row of the sentence

    @property
    def rows(self) -> tuple[Row, ...]:
        """The estimates."""
        return self.figures

    def headline(self) -> Row:
        """The row of the sentence."""
        return self[self.main]

    def sentence(self, level: NumberLike | None = None, method: str | None = None) -> str:
        """One sentence; of a row without a bar its name, its value and the notes."""
        row = self.headline()
        if row.bar is not None:
            return super().sentence(level, method)
        told = f"{row.name} {row.shown(None)} {row.scale.unit}".rstrip()
        return "; ".join([f"{told}; target: the {self.target}", *self._notes(level, method)])

    def context(self) -> str:
        """How it was asked."""
        return super().context() if self.said is None else self.said

    def columns(self) -> dict[str, list[str]]:
        """More columns."""
        return dict(self.heads)

    def remarks(self) -> list[str]:
        """Sentences of its own."""
        return list(self.told)

    def extras(self) -> dict[str, object]:
        """The facts that have a plain form."""
        return plain_facts(self.facts)

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        return facts[name] if name in facts else super().__getattr__(name)  # type: ignore[misc]


def plain_facts(facts: Mapping[str, Any]) -> dict[str, object]:
    """The facts that have a plain form, in it.

    >>> plain_facts({"half": Fraction(1, 2), "ends": (0, 1), "way": len})
    {'half': 0.5, 'ends': [0, 1]}
    """
    found = {name: _plain(fact) for name, fact in facts.items()}
    return {name: fact for name, fact in found.items() if fact is not Ellipsis}


def _plain(fact: Any) -> Any:
    """Numbers, texts, lists, dicts; an ellipsis where there is no such form."""
    if hasattr(fact, "as_dict") and not isinstance(fact, Result):
        return fact.as_dict()
    if hasattr(fact, "to_wire"):
        return fact.to_wire()
    if isinstance(fact, Mapping):
        return plain_facts(fact) or ...
    if isinstance(fact, tuple | list):
        found = [_plain(each) for each in fact]
        return ... if ... in found else found
    if isinstance(fact, Fraction):
        return float(fact)
    return fact if fact is None or isinstance(fact, str | int | float) else ...
