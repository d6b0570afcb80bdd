"""`BitMechanism`: answers that are rows of bits, in whatever form they come, counted and made into values without bias.

Rules
1. An answer in hand is a text that its mechanism allows, a row of 0 and 1, or, where it is one bit, a bool, an int or a
   NumPy scalar of either.  Anything else, a missing value above all, is refused with its position.
2. 0.0 and 1.0 are 0 and 1: pandas makes them of every column that ever had a NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rrcollect.design.mechanism import Mechanism
from rrcollect.design.parameters import whole_number
from rrcollect.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

BIT = "0 or 1"


class BitMechanism(Mechanism):
    """A mechanism whose answers are rows of bits, and whose tallies count the ones of each."""

    __slots__ = ()
    statistic = "ones"

    @property
    def cells(self) -> int:
        """One count per character."""
        return self.width

    def check_counts(self, n: int, counts: Sequence[int]) -> tuple[int, ...]:
        """The counts of n answers, if they can be; otherwise a `ParameterError`."""
        if len(counts) != self.cells:
            raise ParameterError("counts", list(counts), f"{self.cells}, one for each character of an answer")
        found = tuple(whole_number("counts", count, minimum=0) for count in counts)
        if max(found) > n:
            raise ParameterError("counts", list(found), f"at most n = {n} each")
        return found

    def bits(self, answers: Any) -> NDArray[np.uint8]:
        """The answers as a table of 0 and 1, one row each and one column per character; others are refused.

        Answers are texts, or a table with one column per character; where that is one, also 0 and 1 or booleans in a
        list, an array or a column.

        >>> from rrcollect import SetDesign
        >>> SetDesign(3, 1, "1/2").bits(["100", "001"]).tolist()
        [[1, 0, 0], [0, 0, 1]]
        """
        return answer_table(answers, self.width, self.allows, self.form)

    def counted(self, answers: Any) -> tuple[int, tuple[int, ...]]:
        """(how many answers there are, the counts of a tally of them)."""
        table = self.bits(answers)
        return len(table), tuple(table.sum(axis=0, dtype="int64").tolist())

    def texts(self, answers: Any) -> Iterator[str]:
        """The answers as they are sent, one after the other."""
        return ("".join(map(str, row)) for row in self.bits(answers).tolist())

    def unbiased(self, answers: Any) -> NDArray[np.float64]:
        """r = (bit − (1−p00))/c for every bit of every answer, by the `column`.

        >>> from rrcollect import Design
        >>> Design("3/4", "3/4").unbiased([1, 0, 1]).tolist()
        [1.5, -0.5, 1.5]
        """
        one = self.column
        return self._by_bit(answers, (one.p00 - 1) / one.c, one.p00 / one.c)

    def noise(self, answers: Any) -> NDArray[np.float64]:
        """e = r·p11(1−p11)/c² + (1−r)·p00(1−p00)/c²: p00(1−p11)/c² for a 1, p11(1−p00)/c² for a 0, never negative.

        >>> from rrcollect import Design
        >>> Design("3/4", "3/4").noise([1, 0]).tolist()
        [0.75, 0.75]
        """
        one = self.column
        return self._by_bit(answers, one.p11 * (1 - one.p00) / one.c**2, one.p00 * (1 - one.p11) / one.c**2)

    def chances(self, answers: Any) -> NDArray[np.float64]:
        """P(answer | truth), a column per truth: yes and no by the design matrix; of sets, all that hold the truth are
        alike, and all others.

        >>> from rrcollect import Design, SetDesign
        >>> Design("3/4", "2/3").chances([1]).round(3).tolist(), SetDesign(3, 1, "1/2").chances(["100"]).tolist()
        ([[0.25, 0.667]], [[0.5, 0.25, 0.25]])
        """
        import numpy as np

        table, one = self.bits(answers), self.column
        if self.width == 1:
            return np.array([[float(one.p00), float(1 - one.p11)], [float(1 - one.p00), float(one.p11)]])[table[:, 0]]
        holding = Fraction(self.values * self.blank.count("1"), self.width)
        return np.array([float((1 - one.p11) / (self.values - holding)), float(one.p11 / holding)])[table]

    def _by_bit(self, answers: Any, of_zero: Fraction, of_one: Fraction) -> NDArray[np.float64]:
        import numpy as np

        table = np.array([float(of_zero), float(of_one)])[self.bits(answers)]
        return table[:, 0] if self.width == 1 else table


def answer_table(answers: Any, width: int, allows: Callable[[str], bool], form: str) -> NDArray[np.uint8]:
    """The answers as rows of `width` bits that a mechanism `allows`; `form` says to people what it allows."""
    import numpy as np

    values = answers.to_numpy() if hasattr(answers, "to_numpy") else answers
    if hasattr(values, "__array__") and not isinstance(values, np.ndarray):
        values = np.asarray(values)
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise ParameterError("answers", answers, f"{form} for every record, in a list, an array or a column")
    if isinstance(values, np.ma.MaskedArray):
        raise ParameterError("answers", "a masked array", f"{form} for every record; drop the masked ones first")
    array = values if isinstance(values, np.ndarray) else _as_array(values)
    if array.dtype.kind in "UO" and array.ndim == 1 and any(isinstance(value, str) for value in array):
        return _of_texts(array.tolist(), width, allows, form)
    if array.ndim == 1 and width > 1:  # rows in a list
        array = np.array([bit_array(row) for row in array], np.uint8).reshape(len(array), -1)
    shape = "one dimension, one answer each" if width == 1 else f"a column for each of {width} options"
    if array.ndim != (1 if width == 1 else 2) or (width > 1 and array.shape[1] != width):
        raise ParameterError("answers", f"an array of shape {array.shape}", shape)
    if width == 1:
        return bit_array(array)[:, None]
    table = bit_array(array.reshape(-1), width).reshape(-1, width)
    known: dict[bytes, bool] = {}
    for position, row in enumerate(table):
        if not known.setdefault(key := row.tobytes(), known.get(key) or allows("".join(map(str, row.tolist())))):
            raise ParameterError(f"answer {position}", row.tolist(), form)
    return table


def _as_array(values: Iterable[Any]) -> NDArray[Any]:
    import numpy as np

    listed = list(values)
    try:
        return np.asarray(listed)
    except ValueError:  # rows of different lengths
        made = np.empty(len(listed), object)
        made[:] = listed
        return made


def _of_texts(texts: list[Any], width: int, allows: Callable[[str], bool], form: str) -> NDArray[np.uint8]:
    import numpy as np

    for position, text in enumerate(texts):
        if not isinstance(text, str) or not allows(text):
            raise ParameterError(f"answer {position}", text, form)
    return (np.frombuffer("".join(texts).encode(), np.uint8) - np.uint8(48)).reshape(-1, width)


def bit_array(answers: Any, width: int = 1) -> NDArray[np.uint8]:
    """A flat array of 0 and 1; refuses everything else with its position, `width` values being one answer."""
    import numpy as np

    array = np.asarray(answers)
    if array.dtype == np.bool_:
        ones: NDArray[np.uint8] = (array.view(np.uint8) != 0).astype(np.uint8)  # a byte of 2 is True as well
        return ones
    if array.dtype.kind not in "iuf" and array.size:
        for position, value in enumerate(array.tolist()):
            if not isinstance(value, bool | int | float) or value not in (0, 1):
                raise ParameterError(f"answer {position // width}", value, BIT)
    wrong = np.flatnonzero((array != 0) & (array != 1))
    if wrong.size:
        raise ParameterError(f"answer {wrong[0] // width}", array[wrong[0]].item(), BIT)
    return array.astype(np.uint8)
