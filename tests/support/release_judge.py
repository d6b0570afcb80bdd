"""The judge of releases: everything that was ever published, looked at by somebody who only adds and subtracts.

Rules
1. A publisher is shown everybody who answered so far and says the sets of people whose counts it publishes, by name.
   Every person here has an answer of their own, so that it can be seen who is in which count.
2. `small_combination` looks at *all* combinations with coefficients −1, 0, 1 of all counts of a history, by the set of
   the sums they can have: exact, not a sample.
3. `smallest_class` looks at the people: whom no published set tells apart are a class, and a combination of sums over
   the sets is a combination of sums over classes.  So nobody reads the answer of a class smaller than this.
4. Neither knows of blocks, draws or hierarchies.  The publishers below that are not `Blocks` are planted bugs.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, combinations
from typing import NamedTuple

from tests.inside.collect import Cell, next_release

Key = tuple[object, ...]
Sets = dict[Key, frozenset[int]]
Publisher = Callable[[list["Person"], int, list[str]], Sets]


class Person(NamedTuple):
    """Who answered, in which question and round, and with which segments."""

    number: int
    question: str
    round: int
    segments: str

    @property
    def cell(self) -> Cell:
        return Cell("s", self.question, self.round, "d", self.segments, f"{self.number:06}")


class History(NamedTuple):
    """Who came before each publication."""

    minimum: int
    segments: list[str]
    arrivals: list[list[Person]]


def random_history(source: random.Random) -> History:
    """Small: up to two questions, two rounds, two segments, six publications."""
    values = [["a", "b"], ["x", "y", "z"]][: source.randrange(3)]
    names, number, arrivals = ["one", "two"][: len(values)], 0, []
    for _ in range(source.randint(1, 6)):
        came = []
        for _ in range(source.choice((0, 1, 3, 10, 30, 60))):
            declared = {name: source.choice(some) for name, some in zip(names, values, strict=True)}
            kept = {name: value for name, value in declared.items() if source.random() < 0.8}
            said = json.dumps(kept, sort_keys=True, separators=(",", ":"))
            came.append(Person(number, source.choice("pq"), source.randrange(2), said))
            number += 1
        arrivals.append(came)
    return History(source.randint(2, 7), names, arrivals)


def judged(history: History, publisher: Publisher) -> tuple[int | None, int | None]:
    """The smallest count that a combination gives away, and the smallest class that is below the minimum."""
    people: list[Person] = []
    counts: set[tuple[Key, int]] = set()
    classes: dict[int, set[tuple[int, Key]]] = {}
    for time, came in enumerate(history.arrivals):
        people += came
        for name, members in publisher(people, history.minimum, history.segments).items():
            counts.add((name, len(members)))
            for number in members:
                classes.setdefault(number, set()).add((time, name))
    sizes = Counter(frozenset(seen) for seen in classes.values())
    small = min((size for size in sizes.values() if size < history.minimum), default=None)
    return small_combination((n for _, n in counts), history.minimum), small


def small_combination(counts: Iterable[int], minimum: int) -> int | None:
    """The least sum strictly between 0 and `minimum` that some combination of the counts has; None if there is none."""
    reached = {0}
    for count in counts:
        reached |= {total + count for total in reached} | {total - count for total in reached}
    return min((total for total in reached if 0 < total < minimum), default=None)


def tables(names: list[str]) -> Iterator[tuple[str, ...]]:
    """Every choice of segments: the whole, by one, by two, …"""
    return chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))


def told(people: Iterable[tuple[Person, str]], chosen: tuple[str, ...]) -> Sets:
    """The sets of a table, from people and the segments they are told with."""
    found: dict[Key, set[int]] = {}
    for person, segments in people:
        declared = json.loads(segments)
        group = tuple(declared.get(name) for name in chosen)
        found.setdefault((chosen, person.question, person.round, group), set()).add(person.number)
    return {name: frozenset(members) for name, members in found.items()}


class Blocks:
    """The rule itself, with the memory that a store has: one object per history."""

    def __init__(self, source: random.Random | None = None) -> None:
        self.public: dict[int, str] = {}
        self.source = source

    def __call__(self, people: list[Person], minimum: int, segments: list[str]) -> Sets:
        unpublished = {person.cell: 1 for person in people if person.number not in self.public}
        made = next_release(unpublished, minimum, segments, self.source)
        self.public |= {int(cell.answer): cell.segments for cell in made.added}
        shown = [(person, self.public[person.number]) for person in people if person.number in self.public]
        return {name: members for chosen in tables(segments) for name, members in told(shown, chosen).items()}


# ---- planted bugs ---------------------------------------------------------------------------------------------------


def live(people: list[Person], minimum: int, segments: list[str]) -> Sets:
    """What a live view shows: every cell that has enough, as it is now (two days differ by a few)."""
    own = [(person, person.segments) for person in people]
    everything = {name: members for chosen in tables(segments) for name, members in told(own, chosen).items()}
    return {name: members for name, members in everything.items() if len(members) >= minimum}


class CrossingTables:
    """Cells change only when they gained the minimum: each by itself, in tables that cross."""

    def __init__(self) -> None:
        self.shown: Sets = {}

    def __call__(self, people: list[Person], minimum: int, segments: list[str]) -> Sets:
        for name, members in live(people, minimum, segments).items():
            if len(members) - len(self.shown.get(name, ())) >= minimum:
                self.shown = {**self.shown, name: members}
        return self.shown


class Remainder(Blocks):
    """The rule, and beside it how many are not told apart yet."""

    def __call__(self, people: list[Person], minimum: int, segments: list[str]) -> Sets:
        found = super().__call__(people, minimum, segments)
        rest = frozenset(person.number for person in people) - frozenset().union(*found.values())
        return {**found, ("undeclared",): rest}


class EverythingAtTheEnd(Blocks):
    """The rule, but at the end everything is published."""

    def __init__(self, publications: int) -> None:
        super().__init__()
        self.left = publications

    def __call__(self, people: list[Person], minimum: int, segments: list[str]) -> Sets:
        self.left -= 1
        return super().__call__(people, minimum if self.left else 1, segments)
