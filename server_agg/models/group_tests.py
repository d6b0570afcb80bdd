"""Tests across k groups: are their prevalences equal, and do they rise with a score?

With, at the common prevalence π0 (the maximum-likelihood estimate of all answers together), for every group
    U = Σ c(N − nλ)/(λ(1−λ))    its score,        I = Σ n c²/(λ(1−λ))    its information
(sums over the designs used in the group) and U° = U − I·ΣU/ΣI:
    equality    X² = Σ U°²/I,  k − 1 degrees of freedom                    Pearson's test if all share one design
    trend       X² = (Σ x U°)²/(Σ x²I − (Σ xI)²/ΣI),  1 degree             Cochran and Armitage's, through the noise
Two groups: the test of `compare.groups`, whose square this is.  Rounds in time: `trends`, which also draws the line.
Pairwise comparisons are Holm-adjusted: the chance of any false alarm among them stays below the level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from rrcollect.errors import ParameterError
from server_agg.compare.groups import compare_groups
from server_agg.count.tally import Tally
from server_agg.errors import TooFewAnswers
from server_agg.estimates.pooled import pool
from server_agg.models.columns import vector_of
from server_agg.models.inference import Test, chi_squared
from server_agg.report.result import Result

__all__ = ["GroupTest", "PairTest", "compare_many", "trend_across"]

Groups = Mapping[str, Tally | Sequence[Tally]]


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
    """A test across groups, with the common prevalence under its hypothesis and each group's unbiased estimate."""

    labels: tuple[str, ...]
    values: tuple[float, ...]
    common: float
    test: Test
    pairs: tuple[PairTest, ...] = ()

    @property
    def p(self) -> float:
        """Of the test."""
        return self.test.p

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "groups": [{"label": x, "value": v} for x, v in zip(self.labels, self.values, strict=True)],
            "common": self.common,
            "test": self.test.as_dict(),
            "pairs": [
                {"a": t.a, "b": t.b, "difference": t.difference, "p": t.p, "adjusted": t.adjusted} for t in self.pairs
            ],
        }


def compare_many(groups: Groups) -> GroupTest:
    """Whether all groups have the same prevalence, and which pairs differ (pairs: groups by one design each).

    >>> from rrcollect import Design
    >>> design = Design("3/4", "3/4")
    >>> found = compare_many({"a": Tally(design, 500, 150), "b": Tally(design, 500, 190), "c": Tally(design, 500, 240)})
    >>> print(found.test.describe())
    all 3 prevalences equal: score χ² = 34.3, 2 df, p = 3.57e-08
    >>> [(t.a, t.b, round(t.adjusted, 4)) for t in found.pairs]
    [('a', 'b', 0.0076), ('a', 'c', 0.0), ('b', 'c', 0.0028)]
    """
    lists = _lists(groups)
    common, scores, information = _scores(lists)
    statistic = sum((u * u / i for u, i in zip(scores, information, strict=True) if i), Fraction(0))
    test = chi_squared(f"all {len(lists)} prevalences equal", "score", float(statistic), len(lists) - 1)
    return GroupTest(tuple(lists), _values(lists), float(common), test, _pairs(lists))


def trend_across(groups: Groups, scores: Sequence[float] | None = None) -> GroupTest:
    """Whether prevalence changes with the groups' `scores` (1, 2, 3, … in their order unless given).

    >>> from rrcollect import Design
    >>> design = Design("3/4", "3/4")
    >>> found = trend_across({"a": Tally(design, 500, 150), "b": Tally(design, 500, 190), "c": Tally(design, 500, 240)})
    >>> print(found.test.describe())
    no trend over scores 1, 2, 3: score χ² = 34.15, 1 df, p = 5.09e-09
    """
    lists = _lists(groups)
    given = vector_of("scores", range(1, len(lists) + 1) if scores is None else list(scores))
    if given.size != len(lists) or given.min() == given.max():
        raise ParameterError("scores", scores, f"{len(lists)} numbers, not all equal: one for each group")
    xs = [Fraction(float(x)) for x in given]
    common, moved, information = _scores(lists)
    total = sum(information, Fraction(0))
    first = sum((x * i for x, i in zip(xs, information, strict=True)), Fraction(0))
    second = sum((x * x * i for x, i in zip(xs, information, strict=True)), Fraction(0))
    spread = second - first**2 / total if total else Fraction(0)
    top = sum((x * u for x, u in zip(xs, moved, strict=True)), Fraction(0))
    words = f"no trend over scores {', '.join(f'{float(x):g}' for x in xs)}"
    test = chi_squared(words, "score", float(top**2 / spread) if spread else 0.0, 1)
    return GroupTest(tuple(lists), _values(lists), float(common), test)


def _lists(groups: Groups) -> dict[str, list[Tally]]:
    if len(groups) < 2:
        raise ParameterError("groups", list(groups), "two groups or more")
    lists = {str(x): [g] if isinstance(g, Tally) else list(g) for x, g in groups.items()}
    for label, tallies in lists.items():
        if sum(t.n for t in tallies) < 2:
            raise TooFewAnswers(sum(t.n for t in tallies), f"group {label!r}")
    return lists


def _values(lists: Mapping[str, list[Tally]]) -> tuple[float, ...]:
    return tuple(pool(tallies).unbiased for tallies in lists.values())


def _scores(lists: Mapping[str, list[Tally]]) -> tuple[Fraction, list[Fraction], list[Fraction]]:
    """π0, and U° and I of every group; an answer that is certain at π0 tells nothing and counts nothing."""
    common = Fraction(pool([t for tallies in lists.values() for t in tallies]).value)
    scores, information = [], []
    for tallies in lists.values():
        u = i = Fraction(0)
        for tally in tallies:
            yes = tally.design.says_yes(common)
            if yes * (1 - yes):
                u += tally.design.c * (tally.ones - tally.n * yes) / (yes * (1 - yes))
                i += tally.n * tally.design.c**2 / (yes * (1 - yes))
        scores.append(u)
        information.append(i)
    total = sum(information, Fraction(0))
    shift = sum(scores, Fraction(0)) / total if total else Fraction(0)
    return common, [u - i * shift for u, i in zip(scores, information, strict=True)], information


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
