"""Tests across k groups: are their prevalences equal, and do they rise with a score?

Both are the score tests of `estimates.score`, for groups by one design or by several; where expected counts are
small the p-value is exact or simulated (`estimates.small_counts`), and the test says so.
Two groups: the test of `compare.groups`, whose square this is.  Rounds in time: `trends`, which also draws the line.
Pairwise comparisons are Holm-adjusted: the chance of any false alarm among them stays below the level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from rrcollect.errors import ParameterError
from server_agg.compare.groups import compare_groups
from server_agg.count.tallies import merged
from server_agg.count.tally import Tally
from server_agg.errors import TooFewAnswers
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.estimates.score import Groups
from server_agg.estimates.small_counts import PValue, p_value
from server_agg.models.columns import vector_of
from server_agg.models.fits import Test
from server_agg.report.result import Result
from server_agg.results.drawing import Point
from server_agg.results.tables import Table
from server_agg.results.words import percent, share_point, share_table

GroupsLike = Mapping[str, Tally | Sequence[Tally]]


@dataclass(frozen=True)
class PairTest:
    """Group `a` against group `b`; `adjusted` is Holm's p among all pairs."""

    a: str
    b: str
    difference: float
    p: float
    adjusted: float


@dataclass(frozen=True)
class GroupTest(Result):
    """A test across groups, with the common prevalence under its hypothesis and each group's estimate, whose bars are
    each for itself."""

    tidy = "groups"
    numeric = frozenset(range(1, 5))
    groups: dict[str, Estimate | Estimate]
    common: float
    test: Test
    pairs: tuple[PairTest, ...] = ()

    @property
    def p(self) -> float:
        """Of the test."""
        return self.test.p_value

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "groups": [
                {
                    "label": label,
                    "n": found.n,
                    "value": found.value,
                    "standard_error": found.standard_error,
                    "interval": found.interval().as_dict(),
                    "misfit": found.misfit.as_dict(),
                }
                for label, found in self.groups.items()
            ],
            "common": self.common,
            "test": self.test.as_dict(),
            "pairs": [
                {"a": t.a, "b": t.b, "difference": t.difference, "p": t.p, "adjusted": t.adjusted} for t in self.pairs
            ],
        }

    def tables(self) -> list[Table]:
        """The pairs, if there are any, and under them the groups."""
        head = ["pair", "difference in points", "p", "p adjusted (Holm)"]
        pairs = [[f"{t.a} − {t.b}", percent(t.difference), f"{t.p:.3g}", f"{t.adjusted:.3g}"] for t in self.pairs]
        return [*([(head, pairs)] if pairs else []), self.cells()]

    def cells(self) -> Table:
        """The groups with their bars."""
        return share_table(((label, found, found.interval()) for label, found in self.groups.items()), "group")

    def notes(self) -> list[str]:
        """The test; the bars are each for itself."""
        return [self.test.sentence(), "95 % bars, each for itself"]

    def points(self) -> list[Point]:
        """The groups."""
        return [share_point(label, found, found.interval()) for label, found in self.groups.items()]

    def caption(self) -> str:
        """What the bars are, and the test."""
        methods = "/".join(sorted({found.interval().method for found in self.groups.values()}))
        return f"95 % {methods} bars, each for itself; {self.test.hypothesis}: p = {self.p:.3g}"


def compare_many(groups: GroupsLike) -> GroupTest:
    """Whether all groups have the same prevalence, and which pairs differ (pairs: groups by one design each).

    >>> from rrcollect import Design
    >>> design = Design("3/4", "3/4")
    >>> found = compare_many({"a": Tally(design, 500, 150), "b": Tally(design, 500, 190), "c": Tally(design, 500, 240)})
    >>> print(found.test.sentence())
    all 3 prevalences equal: score χ² = 34.3, 2 df, p = 3.57e-08
    >>> [(t.a, t.b, round(t.adjusted, 4)) for t in found.pairs]
    [('a', 'b', 0.0076), ('a', 'c', 0.0), ('b', 'c', 0.0028)]
    """
    lists = _lists(groups)
    made = Groups.of([[_possible(t.oriented()) for t in tallies] for tallies in lists.values()])
    test = _test(f"all {len(lists)} prevalences equal", p_value(made), len(lists) - 1)
    return GroupTest(_estimates(lists), float(made.common(made.counts)[0]), test, _pairs(lists))


def trend_across(groups: GroupsLike, scores: Sequence[float] | None = None) -> GroupTest:
    """Whether prevalence changes with the groups' `scores` (1, 2, 3, … in their order unless given).

    >>> from rrcollect import Design
    >>> design = Design("3/4", "3/4")
    >>> found = trend_across({"a": Tally(design, 500, 150), "b": Tally(design, 500, 190), "c": Tally(design, 500, 240)})
    >>> print(found.test.sentence())
    no trend over scores 1, 2, 3: score χ² = 34.15, 1 df, p = 5.09e-09
    """
    lists = _lists(groups)
    given = vector_of("scores", range(1, len(lists) + 1) if scores is None else list(scores))
    if given.size != len(lists) or given.min() == given.max():
        raise ParameterError("scores", scores, f"{len(lists)} numbers, not all equal: one for each group")
    xs = tuple(float(x) for x in given)
    made = Groups.of(list(lists.values()))
    words = f"no trend over scores {', '.join(f'{x:g}' for x in xs)}"
    test = _test(words, p_value(made, "trend", xs), 1)
    return GroupTest(_estimates(lists), float(made.common(made.counts)[0]), test)


def _possible(tally: Tally) -> Tally:
    """By the edge rule: the nearest count that a prevalence explains, since no other is evidence of a difference."""
    least, most = math.ceil(tally.n * (1 - tally.design.p00)), math.floor(tally.n * tally.design.p11)
    return replace(tally, counts=min(max(tally.ones, least), most)) if least <= most else tally


def _test(hypothesis: str, found: PValue, freedom: int) -> Test:
    words = {"score": "score", "exact": "score, exact p,", "simulated": "score, simulated p,"}[found.method]
    return Test(hypothesis, words, found.statistic, freedom, found.p)


def _lists(groups: GroupsLike) -> dict[str, list[Tally]]:
    if len(groups) < 2:
        raise ParameterError("groups", list(groups), "two groups or more")
    lists = {str(x): [g] if isinstance(g, Tally) else list(g) for x, g in groups.items()}
    for label, tallies in lists.items():
        if sum(t.n for t in tallies) < 2:
            raise TooFewAnswers(sum(t.n for t in tallies), f"group {label!r}")
    return lists


def _estimates(lists: Mapping[str, list[Tally]]) -> dict[str, Estimate | Estimate]:
    """By one design, or pooled over several."""
    each = {label: [t for t in merged(tallies) if t.n] for label, tallies in lists.items()}
    return {label: estimate(found[0]) if len(found) == 1 else estimate(found) for label, found in each.items()}


def _pairs(lists: Mapping[str, list[Tally]]) -> tuple[PairTest, ...]:
    single = {label: tallies[0] for label, tallies in lists.items() if len(tallies) == 1}
    raw = []
    for a, b in combinations(single, 2):
        found = compare_groups(single[a], single[b])
        raw.append((a, b, found.difference, found.p))
    adjusted, worst = {}, 0.0
    for rank, place in enumerate(sorted(range(len(raw)), key=lambda j: raw[j][3])):
        worst = max(worst, min(1.0, (len(raw) - rank) * raw[place][3]))
        adjusted[place] = worst
    return tuple(PairTest(*pair, adjusted[place]) for place, pair in enumerate(raw))
