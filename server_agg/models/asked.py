"""The questions of a table: values without bias and chances, a column per option, whatever was asked and however.

    yes/no       r of `yes`, and 1 − r of `no`
    choice       r of every option
    known        1 for the option that a record has, 0 for the others: direct answers
Answers drawn apart have values whose products are unbiased for the joint truth (`JointValues`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.mechanism import checked_design
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.models.columns import each_its_own, probabilities
from server_agg.sampling.sample import coded
from server_agg.sampling.values import AnswerValues

if TYPE_CHECKING:
    from server_agg.models.columns import Floats


@dataclass(frozen=True, eq=False)
class Asked:
    """One question of the table: unbiased values and chances, a column per option."""

    values: Floats
    chances: Floats
    labels: tuple[str, ...]
    given: AnswerValues

    @classmethod
    def of(cls, name: str, given: Any) -> Asked:
        """(answers, design), (answers, design, labels), or a column that is known of everybody."""
        if not isinstance(given, tuple):
            place, names = coded(name, given, len(given))
            known, called = np.eye(len(names))[place], [str(label) for label in names]
            one = AnswerValues(known, known > 0, called, [Design(1, 1)], np.zeros(len(known), np.intp))
            return cls._checked(name, known, known, called, one)
        if len(given) not in (2, 3):
            raise ParameterError(name, given, "(answers, design), (answers, design, labels) or a known column")
        answers, design, *named = given
        found = AnswerValues.of(answers, design)
        if each_its_own(design):
            rows, places = probabilities(design, found.n)
            chances = np.where(found.ones, rows[places, :2], rows[places, 2:])
        else:
            chances = checked_design(design).chances(answers)
        values, options = found.values, found.names
        if values.shape[1] == 1:
            values, options = np.hstack([1 - values, values]), ["no", "yes"]
        return cls._checked(name, values, chances, named[0] if named else options, found)

    @classmethod
    def _checked(cls, name: str, values: Floats, chances: Floats, labels: Sequence[str], given: AnswerValues) -> Asked:
        named = tuple(map(str, labels))
        if len(named) != values.shape[1] or len(set(named)) != len(named) or len(named) < 2:
            raise ParameterError(f"labels of {name}", list(named), f"{values.shape[1]} different names, two or more")
        return cls(values, chances, named, given)

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """Between what values lie; those of yes and no mirror each other."""
        low, high = self.given.ends
        ends = (low, high, 1 - low, 1 - high) if len(self.labels) == 2 else (low, high)
        return min(ends), max(ends)


@dataclass(frozen=True, eq=False)
class JointValues(AnswerValues):
    """The products of two questions' values, a column per cell; no cell has counts of its own."""

    pair: tuple[Asked, Asked] = field(kw_only=True)

    @classmethod
    def both(cls, first: Asked, second: Asked) -> JointValues:
        """Of the same people."""
        n = len(first.values)
        values = (first.values[:, :, None] * second.values[:, None, :]).reshape(n, -1)
        names = [f"{a}, {b}" for a in first.labels for b in second.labels]
        designs = first.given.designs + second.given.designs
        return cls(values, values > 0, names, designs, np.zeros(n, np.intp), pair=(first, second))

    @cached_property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the greatest product."""
        products = [a * b for a in self.pair[0].ends for b in self.pair[1].ends]
        return min(products), max(products)

    @cached_property
    def widths(self) -> Floats:
        """How far one person can move a cell."""
        return np.full(self.n, float(self.ends[1] - self.ends[0]))

    def counts(self, rows: Any, option: int, repeats: Floats) -> list[Any]:
        """None: a product is not a count."""
        return []
