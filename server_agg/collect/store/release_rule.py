"""A release, without I/O: what strangers may see next, from what was counted and what they have seen.

Everything ever published is a sum over *blocks*: disjoint crowds of exactly `minimum` answers to one question in one
round.  A block is told with the groups that all its members declared; which groups those are is its place in one
hierarchy, of which the levels are the survey's segments, coarse ones first:

    everybody  ⊃  region = north  ⊃  region = north, age = young  ⊃  …

Rules
1. Answers that are not published yet are gathered under the finest group they declare.  A group gives as many whole
   blocks as it has; what is left over, fewer than `minimum`, is gathered one level up with the left-overs beside it,
   and so on up to everybody.  What is left there waits for the next release: the last few are never published.
2. Which answers make up the blocks is drawn uniformly among those that are gathered, by the operating system's
   generator.  The rule looks at how many answered and what they declared, never at what they answered: so a release is
   a fair sample of what came, and that it happened tells nothing about an answer.
3. What was published stays: a later release adds blocks, and changes nothing else.

Theorem.  Let C1 … Cr be any sets of answers of which counts were ever published: the whole, a group, a cell of any
table by any segments, "not declared", the remainder that is not told apart, in this release or an earlier one.  Each is
a union of blocks, because at every release every cell is the sum of all blocks that carry its label.  Hence for all
whole numbers x1 … xr

    Σ xi |Ci| = minimum · Σ over blocks of (Σ xi [block ⊆ Ci])

is a multiple of `minimum`, and never lies strictly between 0 and `minimum`; and every combination of published sums of
answers is a combination of the sums of whole blocks.  Crossing tables, differences of two days, and subtraction from
the whole give blocks again, and nothing smaller.                                                                     □

Not claimed.  Whoever wrote `minimum` − 1 answers of a block knows the last one, still randomised: invitations make that
hard.  That a group published a block tells that at least `minimum` answers declared it.

>>> cells = {Cell("s", "q1", 0, "d", '{"region":"north"}', "1"): 7, Cell("s", "q1", 0, "d", "{}", "1"): 5}
>>> made = next_release(cells, 5, ["region"])
>>> [(cell.segments, n) for cell, n in made.added.items()], made.waiting
([('{"region":"north"}', 5), ('{}', 5)], {('q1', 0): 2})
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rrcollect.publish.canonical import canonical
from rrcollect.publish.survey import Survey
from server_agg.collect.store.reports import Cell
from server_agg.survey_page.released import MIXED

Place = tuple[str | None, ...]  # values of the first segments of the hierarchy; None: not declared


class Release(NamedTuple):
    """What a release adds for strangers, which answers that takes, and what it leaves."""

    added: dict[Cell, int]  # by the labels of blocks
    taken: dict[Cell, int]  # the same answers, by the cells in which they were counted
    crowds: dict[str, int]  # by question: the fewest answers that became visible as one sum
    waiting: dict[tuple[str, int], int]  # by question and round: answers without a block; for the owner alone

    @property
    def answers(self) -> int:
        """How many answers are added."""
        return sum(self.added.values())


def hierarchy(survey: Survey) -> list[str]:
    """The survey's segments, coarse ones first: those with the fewest values."""
    return sorted(survey.segments, key=lambda name: (len(survey.segments[name].values), name))


def next_release(
    unpublished: Mapping[Cell, int], minimum: int, segments: Sequence[str], source: random.Random | None = None
) -> Release:
    """The next release from counts that are not published yet, by a hierarchy of segments."""
    draw = source or random.SystemRandom()
    added: Counter[Cell] = Counter()
    taken: Counter[Cell] = Counter()
    crowds: dict[str, int] = {}
    waiting: dict[tuple[str, int], int] = {}
    groups: dict[tuple[str, str, int, str], dict[Cell, int]] = {}
    for cell, n in sorted(unpublished.items()):
        groups.setdefault(cell[:4], {})[cell] = n
    for group, cells in groups.items():
        for place, chosen in _blocks(cells, minimum, segments, draw):
            label = canonical(_label(place, segments)).decode()
            for cell, n in chosen.items():
                added[cell._replace(segments=label)] += n
            taken.update(chosen)
            size = sum(chosen.values())
            crowds[group[1]] = min(size, crowds.get(group[1], size))
        left = sum(cells.values()) - sum(taken[cell] for cell in cells)
        waiting[group[1:3]] = waiting.get(group[1:3], 0) + left
    return Release(dict(sorted(added.items())), dict(sorted(taken.items())), crowds, waiting)


def _blocks(
    cells: Mapping[Cell, int], minimum: int, segments: Sequence[str], source: random.Random
) -> Iterator[tuple[Place, Counter[Cell]]]:
    """The blocks of one question and round, those of one label together, from the finest level to everybody."""
    level: dict[Place, Counter[Cell]] = {}
    for cell, n in cells.items():
        declared = json.loads(cell.segments)
        level.setdefault(tuple(declared.get(name) for name in segments), Counter())[cell] += n
    for depth in range(len(segments), -1, -1):
        above: dict[Place, Counter[Cell]] = {}
        for place, gathered in level.items():
            total = sum(gathered.values())
            left = gathered if total < minimum else _drawn(gathered, total % minimum, source)
            if total >= minimum:
                yield place, gathered - left
            above.setdefault(place[: max(0, depth - 1)], Counter()).update(left)
        level = above


def _drawn(gathered: Counter[Cell], many: int, source: random.Random) -> Counter[Cell]:
    """So many of the answers, each as likely as any other."""
    found: Counter[Cell] = Counter()
    places = iter(sorted(source.sample(range(sum(gathered.values())), many)))
    place, end = next(places, None), 0
    for cell, n in gathered.items():
        end += n
        while place is not None and place < end:
            found[cell] += 1
            place = next(places, None)
    return found


def _label(place: Place, segments: Sequence[str]) -> dict[str, str]:
    told = {name: value for name, value in zip(segments, place, strict=False) if value is not None}
    return told | dict.fromkeys(segments[len(place) :], MIXED)
