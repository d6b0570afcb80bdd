"""`SeveralDesign`: all that apply of several options, by one drawn question: is this one true of you?

A truth is the set of options that apply.  Each option is estimated by those who were asked about it, as a yes/no.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rrcollect.design.drawn import DrawnMechanism
from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.design.sampling import HIDDEN, Source, option_index
from rrcollect.design.sentences import Said, Sentences, several_sentences, several_told
from rrcollect.design.terms import KindLike
from rrcollect.errors import BadTruth, ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rrcollect.design.terms import Fill

MOST_SEVERAL = 200


class SeveralDesign(DrawnMechanism):
    """One of `several` options, each of which is true of a person or not, drawn and answered truly with chance `p`.

    >>> design = SeveralDesign(4, "3/4")
    >>> design.worst_likelihood_ratio, design.draw([1, 3], lambda n: bytes(n)), design.draw([0], lambda n: bytes(n))
    (Fraction(3, 1), '1', '1')
    >>> design.row(8, [2, 1, 1, 0, 0, 3, 1, 0], 2)                # how many answers to the third, and how many "yes"
    (3, 3)
    """

    __slots__ = ("choice", "column", "p", "several")
    several: int
    parts = MappingProxyType({"several": int, "p": str})
    apart = Fraction(1)
    separate = True

    def __init__(self, several: int, p: NumberLike) -> None:
        options = whole_number("several", several, 2)
        if options > MOST_SEVERAL:
            raise ParameterError("several", several, f"2 to {MOST_SEVERAL}")
        self._made(p, several=options)

    @property
    def truths(self) -> int:
        """Every subset of the options."""
        return 1 << self.several

    @property
    def questions(self) -> int:
        """One for each option."""
        return self.several

    @property
    def ways(self) -> int:
        """One for each option."""
        return self.several

    def question_of(self, number: Any) -> Any:
        """The option itself."""
        return number

    def chance(self, question: int) -> Fraction:
        """All options are drawn alike."""
        return Fraction(1, self.several)

    def fits(self, kind: KindLike) -> bool:
        """ "All that apply" of as many options."""
        return kind.kind == "several" and kind.option_count == self.several

    def checked_truth(self, truth: object) -> int:
        """The numbers of the options that are true, as bits."""
        if isinstance(truth, str | bytes) or not isinstance(truth, Iterable):
            raise BadTruth(f"the truth must be the numbers of the options that apply, each from 0 on; {HIDDEN}")
        said = 0
        for option in truth:
            said |= 1 << option_index(option, self.several)
        return said

    def draw_number(self, number: object, bounds: Any, source: Source, *, clip: bool = False) -> str:
        """Refused: the truths are not parts of a range."""
        raise ParameterError("design", self, "a design for a number: optimal_design(epsilon, bins=…)")

    def draw_numbers(self, numbers: Any, bounds: Any, fill: Fill, *, clip: bool = False) -> Any:
        """Refused, as one."""
        return self.draw_number(numbers, bounds, bytes)

    def holds(self, truth: int, question: int) -> bool:
        """Whether the option is among those that are true."""
        return bool(truth >> question & 1)

    def checked_truths(self, truths: Any) -> NDArray[Any]:
        """A table of 0 and 1 or booleans, a row for each person and a column for each option."""
        import numpy as np

        from rrcollect.design.bulk_bits import as_bits

        table = np.asarray(truths)
        if table.ndim != 2 or table.shape[1] != self.several:
            raise BadTruth(f"the truths must be a table with a column of 0 and 1 for each of {self.several} options")
        return np.asarray(as_bits(truths).reshape(table.shape) != 0)

    def all_hold(self, truths: Any, questions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The column of the drawn option."""
        import numpy as np

        return np.asarray(truths[np.arange(len(truths)), questions])

    def sentences(self, kind: str = "") -> Sentences:
        """That one option is drawn, and how often its answer is switched."""
        return several_sentences(self.several, self.column.sentences())

    def told(self, answer: str, kind: str = "") -> tuple[Said, Said]:
        """Which option was asked, by its number from 1, what was sent, and what that can tell."""
        return several_told(int(answer) // 2 + 1, self.column.told(str(int(answer) % 2)))
