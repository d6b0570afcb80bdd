"""`Tally`: how many answers were drawn with one design, and the counts of what they say.

Rules
1. Counts are exact integers, 0 <= count <= n < 2^63 (they fit into a 64-bit integer of a database or Parquet file); the
   design says how many there are and what else is impossible: of sets of a fixed size they add up to n times that size.
2. Answers are counted together only if their designs are equal; `+` refuses others, and `estimate([...])` takes them.
   Adding is associative and commutative, so any order and any grouping of the same answers gives the same tally.
3. Adding a tally with n = 0 of the same design changes nothing.  An estimate needs n >= 2.
4. `tally[j]` is the yes/no tally of one option, and `len(tally)` says how many there are; everything that is estimated
   from a yes/no tally is estimated from it.  It has as many answers as speak of the option: of a drawn question, those
   that drew it.
   `mechanism` is the design that was published; `design` is the one that these counts follow.  They differ only for one
   option of a wider answer.  ε is always that of the mechanism.
5. An answer in hand is 0 or 1 (a bool, an int, a NumPy scalar of either); of a choice the text of 0 and 1 that is sent,
   or a row of 0 and 1.  Anything else, a missing value above all, is refused with its position; nothing is skipped
   silently.  Packed bits are counted without unpacking; bits beyond n are not looked at.
6. The JSON form has no floats: {"counts": [400], "design": {"p00": "3/4", "p11": "3/4"}, "n": 1000}.  What is read from
   it is checked like the arguments of a call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rrcollect.design import from_wire
from rrcollect.design.mechanism import Mechanism, checked_design
from rrcollect.design.parameters import whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError, SurveyRefused
from rrcollect.publish.canonical import read
from server_agg.count.statistics import STATISTICS, Statistic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_COUNT = 2**63 - 1
LONGEST_JSON = 1 << 28  # bytes
PIECE = 1 << 15  # words of 64 bits


@dataclass(frozen=True, init=False)
class Tally:
    """`n` answers drawn with `design`, and one count for each of its cells: how many say 1, or hold option j.

    A single count may be given as a number.

    >>> from rrcollect import SetDesign
    >>> first, second = Tally(Design("3/4", "3/4"), 600, 250), Tally(Design("3/4", "3/4"), 400, 150)
    >>> first + second
    Tally(design=Design('3/4', '3/4'), n=1000, counts=(400,))
    >>> Tally(SetDesign(4, 1, "1/2"), 1000, [420, 260, 180, 140])[0]
    Tally(design=Design('5/6', '1/2'), n=1000, counts=(420,))
    >>> Tally(Design("3/4", "3/4"), 10, 11)
    Traceback (most recent call last):
    ...
    rrcollect.errors.ParameterError: counts is [11]: use at most n = 10 each
    """

    design: Mechanism
    n: int
    counts: tuple[int, ...]
    mechanism: Mechanism = field(repr=False)

    def __init__(
        self, design: Mechanism, n: int, counts: int | Iterable[int], mechanism: Mechanism | None = None
    ) -> None:
        checked_design(design)
        answers = whole_number("n", n, minimum=0)
        if answers > LARGEST_COUNT:
            raise ParameterError("n", n, f"at most 2^63 − 1 = {LARGEST_COUNT}")
        listed = isinstance(counts, Iterable) and not isinstance(counts, str | bytes)
        given: Any = tuple(counts) if listed else (counts,)  # type: ignore[arg-type] # `check_counts` judges each
        object.__setattr__(self, "design", design)
        object.__setattr__(self, "n", answers)
        object.__setattr__(self, "counts", design.check_counts(answers, given))
        object.__setattr__(self, "mechanism", mechanism or design)

    @classmethod
    def of(cls, answers: Any, design: Mechanism, *, n: int | None = None, bitorder: str = "little") -> Tally:
        """The tally of answers: a list, an array or a column of 0/1 or booleans; of a choice the sets in any form (what
        a bulk randomisation gives, texts of 0 and 1, a table with a column of 0 and 1 per option).  With `n` they are
        yes/no answers packed eight to a byte, in the bit order that a bulk randomisation uses by default.

        >>> from rrcollect import SetDesign
        >>> Tally.of([True, False, True], Design("3/4", "3/4"))
        Tally(design=Design('3/4', '3/4'), n=3, counts=(2,))
        >>> Tally.of(["100", "001", "100"], SetDesign(3, 1, "1/2")).counts
        (2, 0, 1)
        >>> Tally.of(bytes([0b00000111, 0b00000001]), Design("3/4", "3/4"), n=9).ones
        4
        """
        if n is not None:
            return cls(design, n, packed_ones(answers, n, bitorder))
        return cls(design, *checked_design(design).counted(answers))

    @property
    def ones(self) -> int:
        """The one count of a yes/no tally."""
        return checked_tally(self, yes_no=True).counts[0]

    @property
    def column(self) -> Design:
        """One character of the answer seen alone, as a yes/no: of a yes/no tally its design."""
        found: Design = self.design.column
        return found

    def __getitem__(self, option: int) -> Tally:
        if type(option) is not int or not 0 <= option < len(self):
            raise ParameterError("option", option, f"a whole number from 0 to {len(self) - 1}")
        known = self.__dict__.get("held")
        if known is not None:
            return Tally(self.column, self.n, known[option], self.mechanism)
        row = self.statistic.row
        if row is None:
            found = self.design.row(self.n, self.counts, option)
        else:
            found = row(self.n, self.counts, self.design, option)
        return Tally(self.column, *found, self.mechanism)

    def __iter__(self) -> Iterator[Tally]:
        return (self[option] for option in range(len(self)))

    @property
    def statistic(self) -> Statistic:
        """What was counted."""
        return STATISTICS[self.design.statistic]

    @cached_property
    def held(self) -> Sequence[int]:
        """In how many answers each option is: of sets the counts, of blocks by a transform of them, exactly."""
        held = self.statistic.held
        return self.counts if held is None else held(self.counts, self.design)

    def __len__(self) -> int:
        return self.design.rows

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if self.design != other.design or self.mechanism != other.mechanism:
            designs = f"{self.design!r} and {other.design!r}"
            raise ParameterError(
                "designs", designs, "equal ones, to count answers together; estimate([...]) takes both"
            )
        counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]
        return Tally(self.design, self.n + other.n, counts, self.mechanism)

    def __radd__(self, other: object) -> Tally:
        """So that `sum(tallies)` works: 0 + tally is the tally."""
        return self if type(other) is int and other == 0 else NotImplemented

    def swapped(self) -> Tally:
        """The same yes/no answers with the labels 0 and 1 exchanged: every estimate is the same."""
        return self._relabelled(self.column.swapped())

    def mirrored(self) -> Tally:
        """The same yes/no answers read as about the complementary attribute: every estimate becomes 1 − itself."""
        return self._relabelled(self.column.mirrored())

    def _relabelled(self, design: Design) -> Tally:
        return Tally(design, self.n, self.n - self.ones, design if self.mechanism is self.design else self.mechanism)

    def oriented(self) -> Tally:
        """`self`, or `self.swapped()` if c < 0: the one in which a 1 makes the attribute more probable (c > 0)."""
        return self if self.column.c > 0 else self.swapped()

    def as_dict(self) -> dict[str, object]:
        """The tally as plain values without floats, ready for JSON."""
        return {"counts": list(self.counts), "design": self.design.to_wire(), "n": self.n}

    def to_json(self) -> str:
        """One line of JSON without floats.

        >>> Tally(Design("3/4", "2/3"), 10, 4).to_json()
        '{"counts": [4], "design": {"p00": "3/4", "p11": "2/3"}, "n": 10}'
        """
        return json.dumps(self.as_dict(), allow_nan=False)

    @classmethod
    def from_dict(cls, given: object) -> Tally:
        """The tally written by `as_dict`; anything else is refused."""
        found = fields("tally", given, ("counts", "design", "n"))
        try:
            design = from_wire(found["design"])
        except SurveyRefused as error:
            raise ParameterError("design", found["design"], str(error)) from None
        if not isinstance(found["counts"], list) or len(found["counts"]) != design.cells:
            raise ParameterError("counts of a tally", found["counts"], f"a list of {design.cells} whole numbers")
        return cls(design, found["n"], found["counts"])

    @classmethod
    def from_json(cls, text: str) -> Tally:
        """The tally written by `to_json`."""
        return cls.from_dict(read_json("tally", text))


def checked_tally(value: object, name: str = "tally", *, yes_no: bool = False) -> Tally:
    """`value`, if it is a tally (`yes_no`: one with a single count); otherwise an error."""
    if not isinstance(value, Tally):
        raise ParameterError(name, value, "a Tally(design, n, counts)")
    if yes_no and len(value) != 1:
        raise ParameterError(name, value, "that of a yes/no; tally[j] is that of one option")
    return value


def checked_tallies(value: Tally | Iterable[Tally], *, yes_no: bool = False) -> list[Tally]:
    """One tally or several, as a list; an error if anything else is among them."""
    return [checked_tally(each, yes_no=yes_no) for each in ([value] if isinstance(value, Tally) else value)]


# ---- counting answers in hand ------------------------------------------------------------------------------------


def answer_array(answers: Any) -> NDArray[np.uint8]:
    """Answers, or truths, of one bit as an array of 0 and 1; refuses everything else with its position."""
    from rrcollect.design.bits import answer_table

    return answer_table(answers, 1, ("0", "1").__contains__, "0 or 1")[:, 0]


def packed_ones(packed: Any, n: int, bitorder: str) -> int:
    """How many of n answers packed eight to a byte are 1."""
    import numpy as np

    answers = whole_number("n", n, minimum=0)
    if bitorder not in ("big", "little"):
        raise ParameterError("bitorder", bitorder, "'big' or 'little'")
    raw = isinstance(packed, bytes | bytearray | memoryview)
    array = np.frombuffer(packed, np.uint8) if raw else np.asarray(packed)
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ParameterError("answers", packed, "packed: bytes or a one-dimensional array of uint8")
    if array.size != -(-answers // 8):
        raise ParameterError("answers", f"{array.size} bytes", f"{-(-answers // 8)} bytes for n = {answers} answers")
    whole = answers // 8
    ones = count_ones(array[:whole])
    last = np.unpackbits(array[whole:], bitorder="big" if bitorder == "big" else "little")
    return ones + int(last[: answers % 8].sum())


def count_ones(data: NDArray[np.uint8]) -> int:
    """The number of bits that are 1: read once, in pieces that stay in the cache, near the memory's own speed.

    >>> import numpy as np
    >>> count_ones(np.array([255, 1, 0], np.uint8))
    9
    """
    import numpy as np

    if not data.flags.c_contiguous:
        data = np.ascontiguousarray(data)
    before = min(-data.ctypes.data % 8, data.size)  # bytes up to the first whole word
    whole = before + (data.size - before) // 8 * 8
    words = data[before:whole].view(np.uint64)
    counts = np.empty(min(PIECE, words.size), np.uint8)
    ones = sum(int(np.bitwise_count(part).sum(dtype=np.int64)) for part in (data[:before], data[whole:]))
    for start in range(0, words.size, PIECE):
        part = words[start : start + PIECE]
        ones += int(np.bitwise_count(part, out=counts[: part.size]).sum(dtype=np.uint32))
    return ones


# ---- reading what was written ------------------------------------------------------------------------------------


def fields(name: str, given: object, names: tuple[str, ...]) -> dict[str, Any]:
    """`given`, if it is an object with exactly these fields; otherwise an error."""
    if not isinstance(given, dict) or set(given) != set(names):
        raise ParameterError(name, given, f"an object with the fields {', '.join(names)} and no others")
    return given


def read_json(name: str, text: str) -> object:
    """The value of a JSON text; floats, constants such as NaN, and repeated fields are errors."""
    try:
        return read(text.encode(), LONGEST_JSON, LARGEST_COUNT)
    except (AttributeError, UnicodeEncodeError, SurveyRefused) as error:
        raise ParameterError(name, text, f"JSON text whose only numbers are whole ({error})") from None
