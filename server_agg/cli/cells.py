"""What the cells of a column of truths say, by the kind of question they answer.

Rules
1. Yes or no: see `answer_words`.
2. A choice: the label of an option as the survey spells it, in any of its languages.  A label that stands for two
   options in two languages stands for neither.  A whole number is read as its digits.
3. A number: as it is written, to the nearest double; it is finite, and in the range unless the survey clips.
4. Anything else (an empty cell, NaN, None, another word) stops the work with its place, never its value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.answer.bulk_numbers import double_above, double_below
from rrcollect.publish.kinds import Choice, Number, YesNo
from server_agg.answer_words import yes_or_no

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Cells:
    """How cells are read: `read` gives the truth of one, or None; `kind` is what they are kept as, `types` which types
    of a Parquet column are taken."""

    read: Callable[[Any], Any]
    kind: type[np.generic]
    allowed: str
    types: str
    right: Callable[[NDArray[Any]], NDArray[np.bool_]] | None = None  # which numbers of an array are truths

    def numbers(self, values: NDArray[Any], wrong: Callable[[int], Exception]) -> NDArray[Any]:
        """As `truths`, of an array of booleans or numbers, at once where that can be."""
        if self.right is None:
            return self.truths(values.tolist(), wrong)
        good = self.right(values)
        if not good.all():
            raise wrong(int(np.argmin(good)))
        return values.astype(self.kind)

    def truths(self, cells: Sequence[Any], wrong: Callable[[int], Exception]) -> NDArray[Any]:
        """The truths of some cells; the error `wrong` makes of the place of the first that is not a truth."""
        found = np.empty(len(cells), self.kind)
        for place, cell in enumerate(cells):
            truth = self.read(cell)
            if truth is None:
                raise wrong(place)
            found[place] = truth
        return found


def cells_of(kind: YesNo | Choice | Number) -> Cells:
    """How the truths of a question of this kind are read."""
    rest = "; drop the rows without an answer first"
    if isinstance(kind, Choice):
        labels = _labels(kind)
        listed = ", ".join(map(repr, list(labels)[:20]))
        return Cells(lambda cell: labels.get(_text(cell)), np.uint8, f"one of {listed}{rest}", "text or whole numbers")
    if isinstance(kind, Number):
        low, high = Fraction(kind.low), Fraction(kind.high)
        ends = (-math.inf, math.inf) if kind.clip else (double_above(low), double_below(high))
        allowed = "a finite number" if kind.clip else f"a number from {kind.low} to {kind.high}"

        def inside(values: NDArray[Any]) -> NDArray[np.bool_]:
            return np.asarray(np.isfinite(values) & (values >= ends[0]) & (values <= ends[1]))

        return Cells(lambda cell: _number(cell, *ends), np.float64, allowed + rest, "numbers, or text", inside)
    types = "booleans, the numbers 0 and 1, or the words yes and no"
    return Cells(yes_or_no, np.bool_, f"yes/no, true/false or 1/0{rest}", types, lambda values: np.isin(values, (0, 1)))


def numbered(options: int) -> Choice:
    """A choice whose options are called 1, 2, …: for a bare ε, without a survey."""
    return Choice(options=[{"en": str(number)} for number in range(1, options + 1)])


def _labels(kind: Choice) -> dict[str, int]:
    found: dict[str, int] = {}
    unclear = set()
    for place, by_language in enumerate(kind.options):
        for label in by_language.values():
            if found.setdefault(label, place) != place:
                unclear.add(label)
    return {label: place for label, place in found.items() if label not in unclear}


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip() if isinstance(cell, str | int) and not isinstance(cell, bool) else ""


def _number(cell: Any, low: float, high: float) -> float | None:
    try:
        value = math.nan if cell is None or isinstance(cell, bool) else float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) and low <= value <= high else None
