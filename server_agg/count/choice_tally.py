"""`ChoiceTally`: how many answered a choice by one design, and how many of their sets hold each option.

Rules
1. Counts are exact integers.  Every set has as many options as the design says, so the counts add up to n times that
   size; anything else was not counted from such answers.
2. `tally[j]` is the yes/no `Tally` of one option: everything that is estimated from a yes/no tally is estimated from
   it.  Its mechanism is the whole design, so that ε never comes from one column.
3. As in `tally`: equal designs add, others are refused; JSON has no floats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rrcollect.design.choice import SetDesign
from rrcollect.design.mechanism import AnyDesign
from rrcollect.design.parameters import whole_number
from rrcollect.errors import ParameterError
from server_agg.count.tally import LARGEST_COUNT, Tally, counts_of, fields, read_json
from server_agg.errors import MixedDesigns


@dataclass(frozen=True)
class ChoiceTally:
    """`n` sets drawn with `design`; `counts[j]` of them hold option j.

    >>> tally = ChoiceTally(SetDesign(4, 1, "1/2"), 1000, [420, 260, 180, 140])
    >>> tally[0]
    Tally(design=Design('5/6', '1/2'), n=1000, ones=420)
    """

    design: SetDesign
    n: int
    counts: Sequence[int]

    def __post_init__(self) -> None:
        if not isinstance(self.design, SetDesign):
            raise ParameterError("design", self.design, "a SetDesign: what the answers were drawn with")
        n = whole_number("n", self.n, minimum=0)
        if n > LARGEST_COUNT:
            raise ParameterError("n", n, f"at most 2^63 − 1 = {LARGEST_COUNT}")
        k, size = self.design.options, self.design.size
        if not isinstance(self.counts, Iterable) or isinstance(self.counts, str | bytes):
            raise ParameterError("counts", self.counts, f"one for each of {k} options")
        counts = tuple(whole_number("counts", count, minimum=0) for count in self.counts)
        if len(counts) != k:
            raise ParameterError("counts", list(counts), f"one for each of {k} options")
        if max(counts) > n or sum(counts) != size * n:
            allowed = f"at most n = {n} each, {size * n} together: every answer holds {size} of the options"
            raise ParameterError("counts", list(counts), allowed)
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "counts", counts)

    def __getitem__(self, option: int) -> Tally:
        if type(option) is not int or not 0 <= option < self.design.options:
            raise ParameterError("option", option, f"a whole number from 0 to {self.design.options - 1}")
        return Tally(self.design.column, self.n, self.counts[option], self.design)

    def __iter__(self) -> Iterator[Tally]:
        return (self[option] for option in range(self.design.options))

    def __len__(self) -> int:
        return self.design.options

    @property
    def sums(self) -> tuple[int, ...]:
        """In how many answers each bit is 1: the counts of the options."""
        return tuple(self.counts)

    @property
    def mechanism(self) -> SetDesign:
        """What was published."""
        return self.design

    def __add__(self, other: ChoiceTally) -> ChoiceTally:
        if not isinstance(other, ChoiceTally):
            return NotImplemented
        if self.design != other.design:
            raise MixedDesigns(
                f"answers drawn with {self.design!r} and with {other.design!r} cannot be counted together; "
                "expected equal designs"
            )
        counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]
        return ChoiceTally(self.design, self.n + other.n, counts)

    def __radd__(self, other: object) -> ChoiceTally:
        """So that `sum(tallies)` works: 0 + tally is the tally."""
        return self if type(other) is int and other == 0 else NotImplemented

    def as_dict(self) -> dict[str, object]:
        """Strings and integers only."""
        return {"counts": list(self.counts), "design": self.design.to_wire(), "n": self.n}

    def to_json(self) -> str:
        """One line of JSON without floats."""
        return json.dumps(self.as_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> ChoiceTally:
        """The tally written by `to_json`."""
        found = fields("tally", read_json("tally", text), ("counts", "design", "n"))
        design = SetDesign.from_wire(found["design"])
        return cls(design, found["n"], counts_of("tally", found, design.options))


AnyTally = Tally | ChoiceTally
"""What was counted of one question by one design, whatever its kind."""


def tally_of(design: AnyDesign, n: int, sums: Sequence[int]) -> AnyTally:
    """The tally of n answers by a design, from how many of them had each bit 1.

    >>> tally_of(SetDesign(3, 1, "1/2"), 10, [5, 3, 2])
    ChoiceTally(design=SetDesign(3, 1, '1/2'), n=10, counts=(5, 3, 2))
    """
    if isinstance(design, SetDesign):
        return ChoiceTally(design, n, sums)
    if len(sums) != 1:
        raise ParameterError("sums", list(sums), "one: an answer by this design has one bit")
    return Tally(design, n, sums[0])
