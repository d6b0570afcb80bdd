"""`Tally`: how many answers were drawn with one design, and how many of them were 1.

Rules
1. Counts are exact integers, 0 <= ones <= n < 2^63 (they fit into a 64-bit integer of a database or Parquet file).
2. Answers are counted together only if their matrices are equal; `+` refuses others and points to `pool`.  Adding is
   associative and commutative, so any order and any grouping of the same answers gives the same tally.
3. Adding a tally with n = 0 of the same design changes nothing.  An estimate needs n >= 2.
4. `mechanism` is the design that was published; `design` is the yes/no design that these bits follow.  They differ only
   if the bits are one column of a wider answer, such as one option of a choice.  ε is always that of the mechanism.
5. The JSON form has no floats: {"counts": [400], "design": {"p00": "3/4", "p11": "3/4"}, "n": 1000}.  What is read from
   it is checked like the arguments of a call.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from rrcollect.design.mechanism import AnyDesign, Mechanism, from_wire
from rrcollect.design.parameters import whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError, SurveyRefused
from rrcollect.publish.canonical import read
from server_agg.errors import MixedDesigns

LARGEST_COUNT = 2**63 - 1
LONGEST_JSON = 1 << 28  # bytes


@dataclass(frozen=True)
class Tally:
    """`n` answers drawn with `design`, of which `ones` were 1.

    >>> first, second = Tally(Design("3/4", "3/4"), 600, 250), Tally(Design("3/4", "3/4"), 400, 150)
    >>> first + second
    Tally(design=Design('3/4', '3/4'), n=1000, ones=400)
    >>> Tally(Design("3/4", "3/4"), 10, 11)
    Traceback (most recent call last):
    ...
    rrcollect.errors.ParameterError: ones is 11; expected at most n = 10
    """

    design: Design
    n: int
    ones: int
    mechanism: Mechanism = field(default=None, repr=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.design, Design):
            raise ParameterError("design", self.design, "a Design: the matrix the answers were drawn with")
        n, ones = whole_number("n", self.n, minimum=0), whole_number("ones", self.ones, minimum=0)
        if n > LARGEST_COUNT:
            raise ParameterError("n", n, f"at most 2^63 − 1 = {LARGEST_COUNT}")
        if ones > n:
            raise ParameterError("ones", ones, f"at most n = {n}")
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "ones", ones)
        object.__setattr__(self, "mechanism", self.mechanism or self.design)

    @property
    def sums(self) -> tuple[int, ...]:
        """For each bit of the answer, in how many answers it is 1: here one number."""
        return (self.ones,)

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if self.design != other.design or self.mechanism != other.mechanism:
            raise MixedDesigns(
                f"answers drawn with {self.design!r} and with {other.design!r} cannot be counted together; "
                "expected equal matrices, or pool([...]) for an estimate from both"
            )
        return Tally(self.design, self.n + other.n, self.ones + other.ones, self.mechanism)

    def __radd__(self, other: object) -> Tally:
        """So that `sum(tallies)` works: 0 + tally is the tally."""
        if isinstance(other, int) and not isinstance(other, bool) and other == 0:
            return self
        return NotImplemented

    def swapped(self) -> Tally:
        """The same answers with the labels 0 and 1 exchanged: every estimate is the same."""
        return self._relabelled(self.design.swapped())

    def mirrored(self) -> Tally:
        """The same answers read as answers about the complementary attribute: every estimate becomes 1 − itself."""
        return self._relabelled(self.design.mirrored())

    def _relabelled(self, design: Design) -> Tally:
        return Tally(design, self.n, self.n - self.ones, design if self.mechanism is self.design else self.mechanism)

    def oriented(self) -> Tally:
        """`self`, or `self.swapped()` if c < 0: the one in which a 1 makes the attribute more probable (c > 0)."""
        return self if self.design.c > 0 else self.swapped()

    def as_dict(self) -> dict[str, object]:
        """The tally as plain values without floats, ready for JSON."""
        return {"counts": [self.ones], "design": self.design.to_wire(), "n": self.n}

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
        design = design_of(found)
        if not isinstance(design, Design):
            raise ParameterError("design", found["design"], "that of a yes/no; a choice is a ChoiceTally")
        return cls(design, found["n"], counts_of("tally", found)[0])

    @classmethod
    def from_json(cls, text: str) -> Tally:
        """The tally written by `to_json`."""
        return cls.from_dict(read_json("tally", text))


def design_of(entry: dict[str, Any]) -> AnyDesign:
    """The design of an entry; an error if it is not written in its one spelling."""
    try:
        return from_wire(entry["design"])
    except SurveyRefused as error:
        raise ParameterError("design", entry["design"], str(error)) from None


def counts_of(name: str, entry: dict[str, Any], width: int = 1) -> list[int]:
    """The counts of an entry: a list with one count per bit of the answer (`width`).  Only its length is checked."""
    counts = entry["counts"]
    if not isinstance(counts, list) or len(counts) != width:
        raise ParameterError(f"counts of a {name}", counts, f"a list of {width} whole numbers")
    return counts


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
