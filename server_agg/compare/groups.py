"""Two groups side by side: difference and ratio of their prevalences, with bars and a test.

Bars for the difference d = a − b are "score", "mover", "guaranteed" or "wald", see `estimates.methods`.
For the ratio: Donner and Zou's square-and-add for quotients, and the guaranteed quotient of ends.  Where the
denominator's bar touches 0 a ratio has no upper end; it is None, never infinite.

The test of a = b is a score test: z = d/√(V_a(π0) + V_b(π0)) with both variances at the pooled estimate π0.  Where
expected counts are small its p is exact (see `estimates.small_counts`), and the result says so.  The score bar is
{δ : p of a − b = δ is not below 1 − level}, so p and bar never contradict each other.
The groups must be disjoint sets of people; a device that repeats its answer is the same person in every round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.estimates.interval import DIFFERENCE, Problem, target_words
from server_agg.estimates.methods import checked_method, interval_of
from server_agg.estimates.numerics import root_level
from server_agg.estimates.small_counts import PValue, score_test
from server_agg.report.result import Result
from server_agg.results.drawing import Point
from server_agg.results.interval import Interval, exact_level
from server_agg.results.tables import Table
from server_agg.results.words import digits_for, percent, share_point, share_table


@dataclass(frozen=True)
class Comparison(Result):
    """Group `a` against group `b`.

    >>> from rrcollect import Design
    >>> design = Design("3/4", "3/4")
    >>> found = compare_groups(Tally(design, 1000, 500), Tally(design, 1000, 400))
    >>> found.exact_difference, round(found.p, 6)
    (Fraction(1, 5), 7e-06)
    """

    a: Estimate
    b: Estimate
    family: int = 1  # how many comparisons are to hold at once
    names: tuple[str, str] = ("a", "b")

    @property
    def exact_difference(self) -> Fraction:
        """The unbiased difference, exactly; it may leave [−1, 1]."""
        return self.a.exact_value - self.b.exact_value

    @property
    def difference(self) -> float:
        """The unbiased difference."""
        return float(self.exact_difference)

    @property
    def standard_error(self) -> float:
        """Of the difference."""
        return math.sqrt(self.a.variance + self.b.variance)

    @property
    def ratio(self) -> float | None:
        """clipped a / clipped b; None if b is 0."""
        return self.a.clipped / self.b.clipped if self.b.clipped else None

    @property
    def _problem(self) -> Problem:
        return Problem(
            "difference",
            self.exact_difference,
            lambda: self.standard_error,
            covers=self._covers("difference", "−"),
            parts=((Fraction(1), self.a.problem), (Fraction(-1), self.b.problem)),
            span=DIFFERENCE,
        )

    @property
    def test(self) -> PValue:
        """The score test of equal prevalences, with how its p was found: "score", "exact" or "none", where nothing is
        random and a difference is one."""
        if not self.a.variance and not self.b.variance and self.a.target != "population" != self.b.target:
            return PValue(1.0 if self.exact_difference == 0 else 0.0, "none", 0.0)
        found = score_test(self._problem)
        return found._replace(p=min(1.0, self.family * found.p))

    @property
    def p(self) -> float:
        """The two-sided p-value of equal prevalences; of `family` comparisons at once, Bonferroni's."""
        return self.test.p

    def _bars(self, level: NumberLike, method: str) -> tuple[Interval, Interval]:
        each = root_level(level, 2) if method == "guaranteed" else exact_level(level)
        return self.a.interval(each), self.b.interval(each)

    def _covers(self, what: str, sign: str) -> str:
        of = f", one of {self.family} at once" if self.family > 1 else ""
        return f"{what} ({target_words(self.a.target)} {sign} {target_words(self.b.target)}{of})"

    def interval(self, level: NumberLike = 0.95, method: str = "score") -> Interval:
        """A bar for the difference, within [−1, 1]; that of the score holds 0 if and only if p >= 1 − level."""
        return interval_of(self._problem, self._each(level), method)

    def _each(self, level: NumberLike) -> Fraction:
        return 1 - (1 - exact_level(level)) / self.family

    def as_dict(self, level: NumberLike = 0.95, method: str = "score") -> dict[str, object]:
        """Inputs and results as plain values, ready for JSON."""
        ratio = self.ratio_interval(level, "guaranteed" if method == "guaranteed" else "mover")
        return {
            "a": {**self.a.tally.as_dict(), "misfit": self.a.misfit.as_dict()},
            "b": {**self.b.tally.as_dict(), "misfit": self.b.misfit.as_dict()},
            "difference": self.difference,
            "standard_error": self.standard_error,
            "interval": self.interval(level, method).as_dict(),
            "ratio": self.ratio,
            "ratio_interval": ratio.as_dict(),
            "p": self.p,
            "test": self.test.method,
            "family": self.family,
            "names": list(self.names),
        }

    numeric = frozenset(range(1, 5))

    def cells(self) -> Table:
        """Both groups, and their difference in points."""
        bar = self.interval()
        digits = digits_for(bar.width)
        shares = [percent(share, digits) for share in (self.difference, bar.low, bar.high)]
        how = f"{_share(bar.level)} {bar.method}"
        head, rows = share_table((name, found, found.interval()) for name, found in self._named)
        return head, [*rows, [" − ".join(self.names), str(self.a.n + self.b.n), *shares, how, ""]]

    @property
    def _named(self) -> list[tuple[str, Estimate]]:
        return list(zip(self.names, (self.a, self.b), strict=True))

    def notes(self) -> list[str]:
        """The ratio, the test, and what the bar of the difference is for."""
        ratio, test = self.ratio_interval(), self.test
        ends = " to ".join("no end" if end is None else f"{end:.3g}" for end in ratio)
        shown = f"none, since {self.names[1]} is 0" if self.ratio is None else f"{self.ratio:.3g}"
        how = "nothing is random" if test.method == "none" else f"{test.method} test"
        said = [f"equal prevalences: {how}, p = {test.p:.3g}", self.interval().describe()]
        return [
            f"ratio {'/'.join(self.names)} {shown} ({_share(ratio.level)} {ratio.method} {ends}); " + "; ".join(said)
        ]

    def points(self) -> list[Point]:
        """Both groups."""
        return [share_point(name, found, found.interval()) for name, found in self._named]

    def caption(self) -> str:
        """What the bars are, and the difference."""
        bar = self.interval()
        ends = " to ".join(percent(end, digits_for(bar.width)) for end in bar)
        return f"95 % exact bars; difference: {ends} points ({_share(bar.level)} {bar.method}), p = {self.p:.3g}"

    def ratio_interval(self, level: NumberLike = 0.95, method: str = "mover") -> Interval[float | None]:
        """A bar for the ratio a/b; its upper end is None where nothing bounds it."""
        row = checked_method("ratio", method)
        level = self._each(level)
        (la, ua), (lb, ub) = self._bars(level, method)
        low: float | None = la / ub if ub else 0.0
        high = ua / lb if lb else None
        if method == "mover":
            a, b = self.a.clipped, self.b.clipped
            (wa, xa), (wb, xb) = self._bars(level, "guaranteed")
            low = _quotient_end((a, la), (b, ub), -1, wa / xb if xb else 0.0)
            high = _quotient_end((a, ua), (b, lb), 1, xa / wb if wb else None)
        covers = self._covers("ratio", "over")
        return Interval((low or 0.0, high), method=method, level=level, target=covers, guaranteed=row.guaranteed)


def _share(level: Fraction) -> str:
    return f"{float(100 * level):.4g} %"


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


def compare_groups(
    a: Tally | Estimate, b: Tally | Estimate, *, family: int = 1, names: tuple[str, str] = ("a", "b")
) -> Comparison:
    """Group a against group b: two disjoint groups of people, each with its own design and target; `family` is how many
    such comparisons are to hold at once, `names` what the groups are called.

    >>> from rrcollect import optimal_design
    >>> both = compare_groups(Tally(optimal_design(1), 700, 330), Tally(optimal_design(1), 650, 210))
    >>> round(both.difference, 3), "{:.3f} to {:.3f}".format(*both.interval())
    (0.321, '0.209 to 0.432')
    """
    pair: list[Any] = [e if isinstance(e, Estimate) else estimate(e) for e in (a, b)]
    for one in pair:
        if len(one.labels) > 1:
            allowed = "tallies of yes and no: compare one option, tally[j], or all of them by option_tables"
            raise ParameterError("groups", "a choice", allowed)
    return Comparison(pair[0], pair[1], whole_number("family", family), (str(names[0]), str(names[1])))
