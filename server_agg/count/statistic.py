"""What a tally counts of answers, by the `statistic` that their mechanism names: an entry for each.

An answer is a text that only its mechanism reads.  Whoever counts answers asks this table how often each cell of a
tally occurs in them; a mechanism with another statistic adds an entry here and in the engines of `batch`.

>>> from rrcollect import Design, SetDesign
>>> counts_of_texts({"1": 40, "0": 60}, Design("3/4", "3/4"))
[40]
>>> counts_of_texts({"110": 2, "011": 1}, SetDesign(3, 2, "5/6"))
[2, 3, 1]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

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


COUNTERS: dict[str, Callable[[Mapping[str, int], int], list[int]]] = {"ones": _ones}


def counts_of_texts(texts: Mapping[str, int], design: Mechanism) -> list[int]:
    """The counts of answers, of which each text occurs so often; all of them are allowed by the design."""
    return COUNTERS[design.statistic](texts, design.cells)


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
