"""`NumberedMechanism`: answers that are numbers, each written with as many digits as the largest has.

Rules
1. An answer is a whole number below `values`; a tally counts how often each was given: n per number.  So the counts of
   a tally are the answers themselves, however many there are (`sums_tell`).
2. An answer in hand is the text that is sent, or the number.  Anything else is refused with its position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rrcollect.design.mechanism import Mechanism
from rrcollect.design.parameters import whole_number
from rrcollect.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray


class NumberedMechanism(Mechanism):
    """A mechanism whose answers are numbers, and whose tallies count how often each was given."""

    __slots__ = ()
    statistic = "numbers"
    sums_tell = True

    @property
    def cells(self) -> int:
        """One count per number."""
        return self.values

    @property
    def width(self) -> int:
        """As many digits as the largest number has."""
        return len(str(self.values - 1))

    @property
    def blank(self) -> str:
        """The number 0."""
        return "0" * self.width

    def allows(self, answer: str) -> bool:
        """Whether this text is a number of `width` digits below `values`."""
        digits = len(answer) == self.width and answer.isascii() and answer.isdigit()
        return digits and int(answer) < self.values

    @property
    def form(self) -> str:
        """How many digits, and which is the last number."""
        return f"a number from {self.blank} to {self.values - 1}, with {self.width} digits"

    def written(self, number: int) -> str:
        """The number as it is sent."""
        return f"{number:0{self.width}d}"

    def check_counts(self, n: int, counts: Sequence[int]) -> tuple[int, ...]:
        """How often each number was given: together n."""
        if len(counts) != self.cells:
            raise ParameterError("counts", f"{len(counts)} of them", f"{self.cells}, one for each number")
        found = tuple(whole_number("counts", count, minimum=0) for count in counts)
        if sum(found) != n:
            raise ParameterError("counts", sum(found), f"n = {n} together: each answer is one number")
        return found

    def as_numbers(self, answers: Any) -> NDArray[np.int64]:
        """The answers as an array of numbers; others are refused (rule 2)."""
        import numpy as np

        values = answers.to_numpy() if hasattr(answers, "to_numpy") else answers
        if not isinstance(values, Iterable) or isinstance(values, (str, bytes, np.ma.MaskedArray)):
            raise ParameterError("answers", type(answers).__name__, f"{self.form}, for every record")
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "ui":
            values = np.array([self._number(*each) for each in enumerate(values)], np.int64)
        if values.ndim != 1:
            raise ParameterError("answers", f"of shape {values.shape}", "one dimension, one answer each")
        wrong = np.flatnonzero((values < 0) | (values >= self.values))
        if wrong.size:
            raise ParameterError(f"answer {wrong[0]}", values[wrong[0]].item(), self.form)
        return np.asarray(values, np.int64)

    def _number(self, position: int, value: object) -> int:
        """One answer in hand."""
        text = isinstance(value, str) and self.allows(value)
        if text or (type(value).__name__.startswith(("int", "uint")) and 0 <= int(value) < self.values):  # type: ignore[call-overload]
            return int(value)  # type: ignore[call-overload,no-any-return]
        raise ParameterError(f"answer {position}", value, self.form)

    def counted(self, answers: Any) -> tuple[int, tuple[int, ...]]:
        """(how many answers there are, how often each number was given)."""
        import numpy as np

        given = self.as_numbers(answers)
        return len(given), tuple(np.bincount(given, minlength=self.cells).tolist())

    def texts(self, answers: Any) -> Iterator[str]:
        """The answers as they are sent, one after the other."""
        return map(self.written, self.as_numbers(answers).tolist())
