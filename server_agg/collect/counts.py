"""The counts: one line per cell, which is all that an estimate needs.

    survey × question × round × design × segments × answer  →  n

Rules
1. Reading costs as much as there are cells, however many reports were counted.
2. A report is in exactly one cell; a fold adds to all cells in one statement per cell, in the order of the cells.

>>> cells = [("s1", "tax", 0, '{"p00":"3/4","p11":"3/4"}', '{"region":"north"}', answer, n)
...          for answer, n in (("0", 60), ("1", 40))]
>>> next(iter(tallies_of(cells).values()))
Tally(design=Design('3/4', '3/4'), n=100, counts=(40,))
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from functools import lru_cache

from rrcollect.design import from_text
from rrcollect.design.mechanism import Mechanism
from server_agg.count.tallies import Tallies, TallyKey
from server_agg.count.tally import Tally

CountedCell = tuple[str, str, int, str, str, str, int]


@lru_cache(maxsize=4096)
def _design(text: str) -> Mechanism:
    return from_text(text)


@lru_cache(maxsize=65_536)
def _segments(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(json.loads(text).items())


def tallies_of(cells: Iterable[CountedCell], pilots: Collection[str] = ()) -> Tallies:
    """The counts as tallies; `pilots` are the digests of trials."""
    summed: dict[tuple[str, str, int, str, str], list[int]] = {}
    for survey, question, round_, design, segments, answer, n in cells:
        found = summed.setdefault((survey, question, round_, design, segments), [0] * (1 + len(answer)))
        found[0] += n
        for place, bit in enumerate(answer, start=1):
            if bit == "1":
                found[place] += n
    made = {}
    for (survey, question, round_, text, declared), (total, *sums) in summed.items():
        mechanism = _design(text)
        key = TallyKey(survey, question, mechanism, _segments(declared), round_, survey in pilots)
        made[key] = Tally(mechanism, total, sums)
    return Tallies(made)
