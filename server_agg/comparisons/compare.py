"""`compare`: groups side by side, with a test that they are equal and every pair of them.

Rules
1. The groups' bars hold all at once, of a choice those of all options too: see `groups`.
2. With a `minimum`, a cell with fewer answers is not shown on its own: all such cells are merged into one, and if that
   is still too small the next smallest cell joins it (otherwise its content could be found by subtraction).  What was
   merged is listed with its size: reported, not hidden.  Which cells are merged depends on how many answered, so it is
   the same for every option.  What was merged is in the test of all groups, and in no pair.
3. Pairs: bars and p are those of all pairs at once (Bonferroni), or of `family` of them, so that the chance of any
   false alarm among them stays below the level and p never contradicts its bar; p of a pair alone is `p_alone`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.errors import ParameterError
from server_agg.comparisons.groups import SIMULTANEOUS, Counted, _Grouped, read_groups
from server_agg.comparisons.pairs import Group, counts_of
from server_agg.count.tallies import merged
from server_agg.errors import EmptySelection, TooFewAnswers
from server_agg.estimates.interval import TargetLike, checked_target
from server_agg.results.drawing import Point
from server_agg.results.row import Row, Test

MERGED = "(merged)"
SHOWN = 15  # pairs that are printed


@dataclass(frozen=True)
class Comparison(_Grouped):
    """Groups and how they differ.  `rows` are the groups, of a choice every option in every group; of two groups their
    difference and their ratio are rows too.

    >>> from rrcollect import Design
    >>> from server_agg import Tally
    >>> design = Design("3/4", "3/4")
    >>> found = compare({"north": Tally(design, 1000, 500), "south": Tally(design, 1000, 400)})
    >>> round(found.difference.value, 10), round(found.difference.p_value, 6), round(found.ratio.value, 3)
    (0.2, 7e-06, 1.667)
    """

    first = "group"
    suppressed: tuple[tuple[str, int], ...] = ()  # (cell, answers) that were merged for being too small
    minimum: int = 2

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The groups; of two their difference and ratio as well."""
        if not self._two:
            return self.group_rows
        low = self.estimated.low
        return (*self.group_rows, self.difference, *(() if low else (self.ratio,)))

    def __getitem__(self, name: str | int) -> Row:
        """A row, or a pair by its name such as "north − south"."""
        found = [row for row in self.rows if row.name == name] or [row for row in self.pairs if row.name == name]
        return found[0] if found else super().__getitem__(name)

    def single(self, place: int) -> bool:
        """Whether a group can be one of a pair; groups that were merged are compared with nobody."""
        return super().single(place) and self.groups[place].name != MERGED

    @property
    def _two(self) -> bool:
        """Whether there are two groups of a yes/no or a number, each by one design."""
        return len(self.groups) == 2 and not self.labels and self.single(0) and self.single(1)

    @cached_property
    def difference(self) -> Row:
        """The first of two groups against the second."""
        self._only_two()
        return self.pair_row(0, 1, self.at_once_of(1))

    @cached_property
    def ratio(self) -> Row:
        """The first of two groups over the second; of shares, and of numbers whose range begins at 0."""
        self._only_two()
        if self.estimated.low:
            raise ParameterError("bounds", self.bounds, "a range that begins at 0 for a ratio of means")
        return self.ratio_row(0, 1, self.at_once_of(1))

    def _only_two(self) -> None:
        if len(self.groups) != 2 or self.labels:
            raise ParameterError("groups", len(self.groups), "two groups; of more see `pairs`, of a choice `options`")

    @cached_property
    def pairs(self) -> tuple[Row, ...]:
        """Every pair of groups by one design each, of a choice for every option."""
        if self.labels:
            return tuple(row for part in self.options for row in part.pairs)
        places = list(combinations([place for place in range(len(self.groups)) if self.single(place)], 2))
        return tuple(self.pair_row(a, b, self.at_once_of(len(places))) for a, b in places)

    @cached_property
    def test(self) -> Test:
        """That all groups are equal; of a choice in the shares of all options."""
        if len(self.groups) < 2:
            raise ParameterError("groups", [group.name for group in self.groups], "two groups or more")
        what = "prevalences" if self.bounds is None else "means"
        what = f"shares of {len(self.labels)} options" if self.labels else what
        many = f"all {len(self.groups)}" if len(self.groups) > 2 else "both"
        return self._test(f"{what} equal in {many} groups", len(self.groups) - 1)

    @property
    def common(self) -> float:
        """The prevalence of all groups, if it is the same: the maximum-likelihood estimate from all answers."""
        made = counts_of(self.groups)
        return float(made.common(made.counts)[0])

    @property
    def together(self) -> str:  # type: ignore[override]
        """Said of the groups' bars; beside a difference it is a remark."""
        return "" if self._two else self.at_once

    def headline(self) -> Row:
        """The difference of two groups, or the first group."""
        return self.difference if self._two else self.rows[0]

    def details(self, level: NumberLike = 0.95) -> list[list[str]]:
        """The pairs, where there are few."""
        if self._two or not 0 < len(self.pairs) <= SHOWN:
            return []
        return [[row.name, f"{row.shown(None)} {row.scale.unit}, p = {row.p_value:.3g}"] for row in self.pairs]

    def remarks(self) -> list[str]:
        """The test, which bars hold at once, and what was merged."""
        said = [self.test.sentence()] if len(self.groups) > 1 else []
        if self._two and self.at_once:
            how = SIMULTANEOUS[self.simultaneous]
            said.append(f"the bars of both groups hold {f'at once ({how})' if how else 'each for itself'}")
        if len(self.groups) > 2 and self.pairs:
            family = self.pairs[0].extras["family"]
            said.append(
                "pairs: " + (f"p and bars for {family} at once (Bonferroni)" if family != 1 else "each for itself")
            )
        return [*said, *self.merged_note()]

    def merged_note(self) -> list[str]:
        """What was merged."""
        if not self.suppressed:
            return []
        cells = ", ".join(f"{name} (n = {n})" for name, n in self.suppressed)
        return [f"merged for having fewer than {self.minimum} answers or to protect those: {cells}"]

    def extras(self) -> dict[str, object]:
        """The test, the pairs without their bars, and what was merged."""
        told = ("value", "standard_error", "p_value")
        pairs = [{"name": row.name, **row.extras, **{name: getattr(row, name) for name in told}} for row in self.pairs]
        found = {"pairs": pairs, "suppressed": [{"name": name, "n": n} for name, n in self.suppressed]}
        test = {"test": self.test.as_dict(), "common": self.common} if len(self.groups) > 1 and not self.labels else {}
        return {**test, **found, "simultaneous": self.simultaneous, "minimum": self.minimum}

    def points(self) -> list[Point]:
        """The groups."""
        return super().points()[: len(self.group_rows)]


def compare(
    groups: Mapping[Any, Counted],
    *,
    target: str = "population",
    population: int | Mapping[Any, int] | None = None,
    bounds: tuple[NumberLike, NumberLike] | None = None,
    unit: str = "",
    labels: Sequence[str] = (),
    minimum: int | None = None,
    simultaneous: str = "bonferroni",
    over: int = 0,
    family: int | None = None,
    level: NumberLike = 0.95,
    method: str | None = None,
) -> Comparison:
    """Groups of people side by side, e.g. from `Tallies.by("region")`: disjoint sets of people, each by its own design
    or designs.

    `population` is the size of a finite population, of all groups or by their names; `bounds` and `unit` are those of a
    number, `labels` those of a choice.  With a `minimum` smaller groups are merged.  `over`: of how many rows the table
    may become, if it is looked at while it grows; the bars are then those of so many rows.  `family`: of how many
    comparisons each pair is one (all pairs unless given; 1 for one that was meant beforehand).

    >>> from rrcollect import Design
    >>> from server_agg import Tally
    >>> design = Design("3/4", "3/4")
    >>> cells = {"north": Tally(design, 400, 180), "south": Tally(design, 300, 90), "islands": Tally(design, 9, 3)}
    >>> found = compare(cells, minimum=30)
    >>> [(row.name, row.n, round(row.value, 3)) for row in found.rows[:2]]
    [('north', 400, 0.4), ('(merged)', 309, 0.102)]
    >>> found.notes[-1]
    'merged for having fewer than 30 answers or to protect those: south (n = 300), islands (n = 9)'
    """
    if not groups:
        raise EmptySelection("no groups: give one or more")

    of = checked_target(target)

    def asked(key: Any) -> TargetLike:
        size = population.get(key) if isinstance(population, Mapping) else population
        return of if size is None else size

    found, names = read_groups(groups, labels, asked, "groups")
    least = whole_number("minimum", 2 if minimum is None else minimum, 2)
    joined: list[Group] = []
    if minimum is not None:
        found, joined = merge_small(found, least)
    elif len(found) < 2:
        raise ParameterError("groups", list(groups), "two groups or more; one alone goes to estimate(…)")
    for group in found:
        if group.n < 2:
            raise TooFewAnswers(group.n, f"group {group.name!r}")
    suppressed = tuple((group.name, group.n) for group in joined)
    return Comparison(
        found, names, of, bounds, unit, simultaneous, over, level, method, family=family, suppressed=suppressed,
        minimum=least,
    )  # fmt: skip


def merge_small(groups: Sequence[Group], minimum: int) -> tuple[tuple[Group, ...], list[Group]]:
    """(groups shown, the last of them the merged one; groups that were merged), each in the order given."""
    if MERGED in {group.name for group in groups}:
        raise ParameterError("groups", MERGED, f"names that differ from {MERGED!r}, which is given to merged groups")
    everybody = sum(group.n for group in groups)
    if everybody < minimum:
        raise TooFewAnswers(everybody, "the whole table", minimum)
    by_size = sorted(groups, key=lambda group: group.n)
    names = {group.name for group in by_size if group.n < minimum}
    for group in by_size:
        if names and sum(one.n for one in groups if one.name in names) < minimum:
            names.add(group.name)
    joined = [group for group in groups if group.name in names]
    if not joined:
        return tuple(groups), []
    counted = [tally for group in joined for tally in group.tallies]
    tallies = tuple(merged([tally for tally in counted if tally.n] or counted[:1]))
    sizes = [group.target for group in joined]
    together = sizes[0] if isinstance(sizes[0], str) else sum(int(size) for size in sizes)
    made = Group(MERGED, tuple(group.name for group in joined), tallies, together)
    return (*(group for group in groups if group.name not in names), made), joined
