"""The unbiased values of answers, record by record: r of `Mechanism.unbiased`, with their ends and widths.

    E[r | truth] = 1 for the option that is true and 0 for the others; r² − r is unbiased for the variance of r
A slice must be chosen without looking at the answers.

Rules
1. Answers to a yes/no have one column of values, those to a choice one per option.
2. The designs of a yes/no may differ from record to record; a choice has one.
3. `counts` are the same answers counted by design, without weights.  Whoever answered, a count is not below that of
   "nobody has it" in law, however they were drawn, and not above that of "everybody": so its misfit is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.mechanism import checked_design
from rrcollect.design.yes_no import Design, checked_yes_no
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally, answer_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from server_agg.sampling.sample import Floats, Places


@dataclass(frozen=True, eq=False)
class AnswerValues:
    """One column of values per option (one in all for yes and no); a row stands for `repeats` equal people."""

    values: Floats
    ones: NDArray[np.bool_]  # the answers, column by column
    names: list[str]
    designs: list[Any]  # the different ones
    place: Places  # every record's design
    responded: NDArray[np.bool_] | None = None

    @classmethod
    def of(
        cls, answers: Any, design: Any, labels: Sequence[str] = (), responded: NDArray[np.bool_] | None = None
    ) -> AnswerValues:
        """Of these answers, checked; if not everybody `responded`, the others get values of 0 (and have no weight)."""
        if responded is not None:
            each = _those(responded, design, "designs") if isinstance(design, Iterable) else design
            return cls.of(_those(responded, answers, "answers"), each, labels).among(responded)
        if isinstance(design, Iterable):
            bits = answer_array(answers)
            found, place = distinct_designs(design, bits.size)
            return cls(_looked_up(bits, found, place)[:, None], bits[:, None] == 1, [""], found, place)
        one = checked_design(design)
        values = one.unbiased(answers)
        values = values.reshape(len(values), -1)
        no, yes = one.column.unbiased([0, 1])
        names = list(labels) or ([""] if one.cells == 1 else [f"option {j + 1}" for j in range(one.cells)])
        if len(set(names)) != one.cells:
            raise ParameterError("labels", list(labels), f"{one.cells} different names, one per option")
        said = np.abs(values - yes) < np.abs(values - no)
        return cls(values, said, names, [one], np.zeros(len(values), np.intp))

    @classmethod
    def of_tallies(cls, tallies: Sequence[Tally]) -> AnswerValues:
        """Of yes/no tallies: a row for the zeros and one for the ones of each."""
        designs = list(dict.fromkeys(tally.design for tally in tallies))
        values = np.concatenate([tally.design.unbiased([0, 1]) for tally in tallies])
        ones = np.tile([False, True], len(tallies))[:, None]
        place = np.repeat([designs.index(tally.design) for tally in tallies], 2)
        return cls(values[:, None], ones, [""], designs, place)

    def among(self, responded: NDArray[np.bool_]) -> AnswerValues:
        """The same among everybody asked."""
        shape = responded.size, len(self.names)
        values, ones = np.zeros(shape), np.zeros(shape, np.bool_)
        place = np.zeros(responded.size, np.intp)
        values[responded], ones[responded], place[responded] = self.values, self.ones, self.place
        return replace(self, values=values, ones=ones, place=place, responded=responded)

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.values)

    @cached_property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the greatest value that an answer can have."""
        return value_ends(one.column for one in self.designs)

    @cached_property
    def widths(self) -> Floats:
        """1/|c| of every row's design: how far one answer can move its value."""
        return np.array([float(1 / abs(Fraction(one.column.c))) for one in self.designs])[self.place]

    def counts(self, rows: NDArray[np.bool_], option: int, repeats: Floats) -> list[Tally]:
        """The answers of these rows to one option counted by design, without weights (rule 3)."""
        there = rows if self.responded is None else rows & self.responded
        place, people = self.place[there], repeats[there]
        n = np.bincount(place, people, len(self.designs))
        ones = np.bincount(place, people * self.ones[there, option], len(self.designs))
        return [Tally(d.column, int(m), int(k)) for d, m, k in zip(self.designs, n, ones, strict=True) if m >= 2]


def unbiased_values(answers: Any, design: Any) -> Floats:
    """r of every answer to a yes/no; `design` is one Design, or one for each record.

    >>> unbiased_values([1, 0, 1], [Design("3/4", "3/4"), Design(1, "1/2"), Design(1, "1/2")]).tolist()
    [1.5, 0.0, 2.0]
    """
    bits = answer_array(answers)
    found, place = distinct_designs(design, bits.size)
    return _looked_up(bits, found, place)


def _looked_up(bits: NDArray[Any], designs: list[Design], place: Places) -> Floats:
    table = np.array([one.unbiased([0, 1]) for one in designs]).reshape(-1, 2)
    return np.asarray(table[place, bits], np.float64)


def value_ends(designs: Iterable[Design]) -> tuple[Fraction, Fraction]:
    """The least and the greatest r that an answer by these designs can have.

    >>> value_ends([Design("3/4", "3/4")])
    (Fraction(-1, 2), Fraction(3, 2))
    """
    ends = [end for d in set(designs) for end in ((d.p00 - 1) / d.c, d.p00 / d.c)]
    return min(ends), max(ends)


def distinct_designs(design: Any, n: int) -> tuple[list[Design], Places]:
    """The different designs among those of n records, in the order of their appearance, and every record's place.

    >>> found, places = distinct_designs([Design("3/4", "3/4"), Design(1, "1/2"), Design("3/4", "3/4")], 3)
    >>> len(found), places.tolist()
    (2, [0, 1, 0])
    """
    if isinstance(design, str) or not isinstance(design, Iterable):
        try:
            return [checked_yes_no(design)], np.zeros(n, dtype=np.intp)
        except ParameterError:
            raise ParameterError("design", design, "one Design, or one for each record") from None
    column: Any = design
    given = list(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if len(given) != n:
        raise ParameterError("design", f"{len(given)} designs", f"one Design, or one for each of {n} records")
    by_identity: dict[int, int] = {}
    by_value: dict[tuple[int, ...], int] = {}  # the hash of a Fraction is slow, that of its numbers is not
    found: list[Design] = []
    places = np.empty(n, dtype=np.intp)
    for position, one in enumerate(given):
        place = by_identity.get(id(one))
        if place is None:
            checked = checked_yes_no(one, f"design {position}")
            p00, p11 = checked.p00, checked.p11
            value = p00.numerator, p00.denominator, p11.numerator, p11.denominator
            place = by_identity[id(one)] = by_value.setdefault(value, len(found))
            if place == len(found):
                found.append(checked)
        places[position] = place
    return found, places


def _those(responded: NDArray[np.bool_], given: Any, name: str) -> Any:
    """What was given of those who responded: of them alone already, or of everybody."""
    rows = given.to_numpy() if hasattr(given, "to_numpy") else given if isinstance(given, np.ndarray) else list(given)
    if len(rows) == int(responded.sum()):
        return rows
    if len(rows) != responded.size:
        allowed = f"one for each of {responded.size} people asked, or of {int(responded.sum())} who answered"
        raise ParameterError(name, f"{len(rows)} rows", allowed)
    if isinstance(rows, np.ndarray) and rows.dtype.kind not in {"f", "O"}:
        return rows[responded]
    kept = [row for row, there in zip(rows, responded, strict=True) if there]
    return [int(row) if isinstance(row, float) and row.is_integer() else row for row in kept]  # a column with NaN
