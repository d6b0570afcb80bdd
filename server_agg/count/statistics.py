"""What a tally counts of answers, by the `statistic` that their mechanism names: the ones at each character, or how
often each block was sent.  Another one is a row of `STATISTICS`, and of the tables of the engines of `batch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rrcollect.design.mechanism import Mechanism
from rrcollect.errors import ParameterError


def _ones(texts: Mapping[str, int], cells: int) -> list[int]:
    """How many answers have a 1 at each character."""
    if cells == 1:
        return [texts.get("1", 0)]
    counts = [0] * cells
    for text, n in texts.items():
        place = text.find("1")
        while place >= 0:
            counts[place] += n
            place = text.find("1", place + 1)
    return counts


def _blocks(texts: Mapping[str, int], cells: int) -> list[int]:
    """How often each block was sent."""
    counts = [0] * cells
    for text, n in texts.items():
        counts[int(text)] += n
    return counts


def fixed_ones(design: Mechanism) -> int:
    """How many 1 an answer counted by "ones" has, if that is the same for all; 0 if any number is allowed.  The
    mechanism itself is asked.

    >>> from rrcollect import Design, SetDesign
    >>> fixed_ones(SetDesign(5, 2, "2/3")), fixed_ones(Design("3/4", "3/4"))
    (2, 0)
    """
    cells = design.cells
    allowed = [many for many in range(cells + 1) if design.allows("1" * many + "0" * (cells - many))]
    if len(allowed) == 1:
        return allowed[0]
    if len(allowed) <= cells:
        raise ParameterError("design", design, "one whose answers have a fixed number of 1, or any number")
    return 0


class Statistic(NamedTuple):
    """What a tally counts of answers: how it is had from their texts; the number by which an engine judges a text
    beside its width (of "ones" how many 1 it has, if that is the same for all; of others how many there are); and in
    how many answers each option is, all of them or one, where the counts themselves and the mechanism's `row` do not
    say it."""

    counts: Callable[[Mapping[str, int], int], list[int]]
    bound: Callable[[Any], int]
    held: Callable[[Sequence[int], Any], Sequence[int]] | None = None
    row: Callable[[int, Sequence[int], Any, int], tuple[int, int]] | None = None


def _in_blocks(counts: Sequence[int], design: Any) -> Sequence[int]:
    from server_agg.count.blocks import ones_of_all

    found: list[int] = ones_of_all(counts, design.space).tolist()
    return found


def _in_block(n: int, counts: Sequence[int], design: Any, option: int) -> tuple[int, int]:
    from server_agg.count.blocks import ones_of

    return n, ones_of(counts, design.space, option)


STATISTICS = {
    "ones": Statistic(_ones, fixed_ones),
    "numbers": Statistic(_blocks, lambda design: int(design.values)),
    "blocks": Statistic(_blocks, lambda design: int(design.values), _in_blocks, _in_block),
}
"""By the `statistic` that a mechanism names; another one adds an entry here and in the engines of `batch`."""


def judged_by(design: Mechanism) -> int:
    """The number that an engine judges answers by (`Statistic.bound`)."""
    return STATISTICS[design.statistic].bound(design)


def counts_of_texts(texts: Mapping[str, int], design: Mechanism) -> list[int]:
    """The counts of answers, of which each text occurs so often; all of them are allowed by the design.

    >>> from rrcollect import SetDesign
    >>> counts_of_texts({"110": 2, "011": 1}, SetDesign(3, 2, "5/6"))
    [2, 3, 1]
    """
    return STATISTICS[design.statistic].counts(texts, design.cells)
