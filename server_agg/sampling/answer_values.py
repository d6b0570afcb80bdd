"""The unbiased values of answers to yes/no questions and to choices, column by column, with their ends and widths.

    r = (x − q)/c,  q = 1 − p00      E(r | truth) = 1 for the option that is true and 0 for the others
An answer to a choice is a text of 0 and 1, as on the wire, or a row of a matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.sets import SetDesign
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.results.words import privacy_words
from server_agg.sampling.values import distinct_designs, unbiased_values, value_ends

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AnswerValues:
    """One column of values per option (one in all for yes and no)."""

    values: Floats
    names: list[str]
    ends: tuple[Fraction, Fraction]  # the least and the greatest value of an answer
    widths: Floats  # each record's
    privacy: str

    @classmethod
    def of(
        cls, answers: Any, design: Any, labels: Sequence[str] = (), responded: NDArray[np.bool_] | None = None
    ) -> AnswerValues:
        """Of these answers, checked; if not everybody `responded`, the others get values of 0 (and have no weight)."""
        if responded is not None:
            design = design if isinstance(design, Design | SetDesign) else _those(responded, design, "designs")
            return cls.of(_those(responded, answers, "answers"), design, labels).among(responded)
        if isinstance(design, SetDesign):
            return _of_sets(answers, design, labels)
        values = unbiased_values(design, answers)
        found, places = distinct_designs(design, values.size)
        widths = np.array([float(1 / abs(d.c)) for d in found])[places]
        privacy = privacy_words(found[0]) if len(found) == 1 else f"{len(found)} designs"
        return cls(values[:, None], [""], value_ends(found), widths, privacy)

    def among(self, responded: NDArray[np.bool_]) -> AnswerValues:
        """The same among everybody asked."""
        values, widths = np.zeros((responded.size, len(self.names))), np.ones(responded.size)
        values[responded], widths[responded] = self.values, self.widths
        return replace(self, values=values, widths=widths)

    @property
    def n(self) -> int:
        """Records."""
        return len(self.values)


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


def _of_sets(answers: Any, design: SetDesign, labels: Sequence[str]) -> AnswerValues:
    bits = _sets(answers, design)
    names = list(labels) or [f"option {j + 1}" for j in range(design.options)]
    if len(set(names)) != design.options:
        raise ParameterError("labels", list(labels), f"{design.options} different names, one per option")
    column = design.column
    values = np.where(bits == 1, float(column.p00 / column.c), float((column.p00 - 1) / column.c))
    widths = np.full(len(values), float(1 / column.c))
    return AnswerValues(values, names, value_ends([column]), widths, privacy_words(design))


def _sets(answers: Any, design: SetDesign) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The answers to a choice as a matrix of 0 and 1; every row is a set of the design's size."""
    given = answers.to_numpy() if hasattr(answers, "to_numpy") else answers
    if not isinstance(given, np.ndarray) or given.ndim == 1:
        texts = list(given)
        for place, text in enumerate(texts):
            if not isinstance(text, str) or not design.allows(text):
                allowed = f"{design.options} characters of 0 and 1, {design.size} of them 1"
                raise ParameterError(f"answer {place}", text, allowed)
        given = np.array([[int(character) for character in text] for text in texts]).reshape(-1, design.options)
    matrix = np.asarray(given)
    if matrix.ndim != 2 or matrix.shape[1] != design.options:
        allowed = f"a column for each of {design.options} options"
        raise ParameterError("answers", f"an array of shape {matrix.shape}", allowed)
    wrong = np.flatnonzero(~np.isin(matrix, (0, 1)).all(axis=1) | (matrix.sum(axis=1) != design.size))
    if wrong.size:
        raise ParameterError(f"answer {wrong[0]}", matrix[wrong[0]].tolist(), f"0 and 1, {design.size} of them 1")
    return matrix.astype(np.uint8)
