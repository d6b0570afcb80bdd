"""Two groups against each other, and the one test of any number of them.

Rules
1. One test for one question.  Equality and trend are the score tests of `estimates.score` on the counts as they
   were observed; where expected counts are small p is exact or simulated (`estimates.small_counts`), and the test says
   so.  A count that no prevalence explains is evidence too, and its misfit stands beside it.  Of two groups, equality
   and trend are the same test.
2. The score bar of a difference d = a − b is {δ : p of a − b = δ is not below 1 − level}, by the same p, so that p and
   bar never contradict each other.  The other bars of a difference are "mover", "guaranteed", "anytime" and "wald", see
   `estimates.methods`.
   Of people who can be counted the test is exact where little is random, of more than two groups that of all pairs at
   once; where the sum is too long, p is that of the guaranteed bar, which then is the bar.
3. A ratio has Donner and Zou's square-and-add for quotients, and the guaranteed quotient of ends.  Where the
   denominator's bar touches 0 it has no upper end; that is None, never infinite.
The groups must be disjoint sets of people; a device that repeats its answer is the same person in every round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from server_agg.count.tally import Tally
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.estimates.finite_pairs import TIE, finite_pairs, little_random
from server_agg.estimates.interval import DIFFERENCE, Problem, TargetLike, aimed, target_words
from server_agg.estimates.methods import checked_method, interval_of
from server_agg.estimates.numerics import root_level, turning_point
from server_agg.estimates.score import NO_VARIANCE, Groups
from server_agg.estimates.small_counts import PValue, p_value
from server_agg.results.interval import Interval


class Group(NamedTuple):
    """A row: its name, the cells it holds (several if they were merged), and their answers, one tally per design."""

    name: str
    cells: tuple[str, ...]
    tallies: tuple[Tally, ...]
    target: TargetLike

    @property
    def n(self) -> int:
        """Answers."""
        return sum(tally.n for tally in self.tallies)

    def option(self, place: int) -> Group:
        """The same of one option."""
        return self._replace(tallies=tuple(tally[place] for tally in self.tallies))


class Pair(NamedTuple):
    """Two groups by one design each, and their shares (of a number: shares of its range)."""

    first: Group
    second: Group
    a: Estimate
    b: Estimate

    @property
    def n(self) -> int:
        """Answers."""
        return self.first.n + self.second.n

    @property
    def value(self) -> Fraction:
        """The unbiased difference, exactly; it may leave [−1, 1]."""
        return self.a.exact_value - self.b.exact_value

    @property
    def standard_error(self) -> float:
        """Of the difference."""
        return math.sqrt(self.a.variance + self.b.variance)

    @property
    def ratio(self) -> float | None:
        """clipped a / clipped b; None if b is 0."""
        return self.a.clipped / self.b.clipped if self.b.clipped else None

    def name(self, sign: str) -> str:
        """Such as "north − south"."""
        return f"{self.first.name} {sign} {self.second.name}"

    @property
    def target(self) -> TargetLike:
        """The target of the difference: people who can be counted, if those of a group are."""
        return self.first.target if self.second.target == "population" else self.second.target

    def test(self) -> PValue:
        """Of equal prevalences."""
        return score_test((self.first, self.second))

    def counted(self) -> float:
        """p of no difference between people who can be counted, where little is random: that of the bar."""
        (_, a), (_, b) = (problem := self.problem()).parts
        table = finite_pairs(a.tallies[0], b.tallies[0], (a.target, b.target))
        if table is not None:
            apart, p = table
            return float(min(p[apart <= TIE].max(), p[apart >= -TIE].max()))

        def held(p: float) -> bool:
            bar = interval_of(problem, 1 - p, "guaranteed")
            return bar.low <= 0 <= bar.high

        return turning_point(held, TIE, 1 - TIE)

    def problem(self, family: int = 1) -> Problem:
        """What the bars of the difference are made from."""
        return Problem(
            "difference",
            self.value,
            lambda: self.standard_error,
            self.target,
            covers=self._covers("difference", "−", family),
            parts=((Fraction(1), self.a.problem), (Fraction(-1), self.b.problem)),
            span=DIFFERENCE,
        )

    def _covers(self, what: str, sign: str, family: int) -> str:
        of = f", one of {family} at once" if family > 1 else ""
        return f"{what} ({target_words(self.first.target)} {sign} {target_words(self.second.target)}{of})"

    def ratio_interval(self, level: Fraction, method: str, family: int = 1) -> Interval[float | None]:
        """A bar for the ratio a/b (rule 3)."""
        row = checked_method("ratio", method, self.target)
        (la, ua), (lb, ub) = self._bars(level)
        (wa, xa), (wb, xb) = self._bars(root_level(level, 2))
        low: float | None = wa / xb if xb else 0.0
        high = xa / wb if wb else None
        if method == "mover":
            a, b = self.a.clipped, self.b.clipped
            low, high = _quotient_end((a, la), (b, ub), -1, low), _quotient_end((a, ua), (b, lb), 1, high)
        covers = self._covers("ratio", "over", family)
        return Interval((low or 0.0, high), method=method, level=level, target=covers, guaranteed=row.guaranteed)

    def _bars(self, level: Fraction) -> tuple[Interval, Interval]:
        return self.a.interval(level), self.b.interval(level)


def _quotient_end(
    over: tuple[float, float], under: tuple[float, float], sign: int, otherwise: float | None
) -> float | None:
    """Donner and Zou's end of a/b from (a, its end) and (b, its end); `otherwise` where theirs does not exist (b's
    bar reaches 0 or 2b)."""
    (a, end_a), (b, end_b) = over, under
    scale = end_b * (2 * b - end_b)
    inside = (a * b) ** 2 - end_a * end_b * (2 * a - end_a) * (2 * b - end_b)
    if scale <= 0 or inside < 0:
        return otherwise
    return max(0.0, (a * b + sign * math.sqrt(inside)) / scale)


def score_test(groups: Sequence[Group], scores: tuple[float, ...] = ()) -> PValue:
    """The test of equal prevalences or, with scores, of no trend over them (rule 1)."""
    finite = [_of(group) for group in groups if group.target != "population"]
    if len(finite) == len(groups) and all(found.problem.line == NO_VARIANCE for found in finite):
        return PValue(1.0 if len({found.exact_value for found in finite}) == 1 else 0.0, "none", 0.0)
    counted = counts_of(groups)
    if finite and not scores and little_random(counted):
        pairs = [Pair(a, b, _of(a), _of(b)).counted() for a, b in combinations(groups, 2)]
        p, observed = min(1.0, len(pairs) * min(pairs)), float(counted.scores(counted.counts).equality()[0])
        return PValue(p, "exact", observed)
    return p_value(counted, "trend" if scores else "equality", scores)


def _of(group: Group) -> Estimate:
    found: Estimate = estimate(group.tallies[0], **aimed(group.target))
    return found


def counts_of(groups: Sequence[Group]) -> Groups:
    """The counts as they were observed, and how much of each group's variance is that of sampling."""
    sampling = []
    for group in groups:
        line = estimate(group.tallies[0], **aimed(group.target)).problem.line if group.target != "population" else None
        sampling += [1.0 if line is None else float(line.s * group.n)] * len(group.tallies)
    return Groups(tuple(tuple(tally.oriented() for tally in group.tallies) for group in groups), tuple(sampling))
