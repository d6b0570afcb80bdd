"""Two groups side by side: difference and ratio of their prevalences, with bars and a test.

Bars for the difference d = a − b are "mover", "guaranteed" or "wald", see `estimates.methods`.
For the ratio: Donner and Zou's square-and-add for quotients, and the guaranteed quotient of ends.  Where the
denominator's bar touches 0 a ratio has no upper end; it is None, never infinite.

The test of a = b is a score test: z = d/√(V_a(π0) + V_b(π0)) with both variances at the pooled estimate π0.
The groups must be disjoint sets of people; a device that repeats its answer is the same person in every round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.parameters import NumberLike
from server_agg.count.tally import Tally
from server_agg.estimates.interval import Interval, target_words
from server_agg.estimates.methods import DIFFERENCE, Problem, checked_method
from server_agg.estimates.numerics import exact_level, normal_tail, root_level
from server_agg.estimates.one import Estimate, estimate
from server_agg.estimates.pooled import pool
from server_agg.estimates.score import variance_line
from server_agg.report.result import Result

__all__ = ["Comparison", "compare_groups"]


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
    def p(self) -> float:
        """The two-sided p-value of the score test of equal prevalences (approximate)."""
        common = Fraction(pool([self.a.tally, self.b.tally]).value)
        lines = [variance_line(e.tally.design, e.tally.n, e.sampling).at(common) for e in (self.a, self.b)]
        spread = sum(lines)
        if spread <= 0:  # nothing is random here: a difference is one, or there is none
            return 1.0 if self.exact_difference == 0 else 0.0
        return min(1.0, 2 * normal_tail(abs(self.difference) / math.sqrt(spread)))

    def _bars(self, level: NumberLike, method: str) -> tuple[Interval, Interval]:
        each = root_level(level, 2) if method == "guaranteed" else exact_level(level)
        return self.a.interval(each), self.b.interval(each)

    def _covers(self, what: str, sign: str) -> str:
        return f"{what} ({target_words(self.a.target)} {sign} {target_words(self.b.target)})"

    def interval(self, level: NumberLike = 0.95, method: str = "mover") -> Interval:
        """A bar for the difference, within [−1, 1]."""
        problem = Problem(
            "difference",
            self.exact_difference,
            lambda: self.standard_error,
            covers=self._covers("difference", "−"),
            parts=((Fraction(1), self.a.problem), (Fraction(-1), self.b.problem)),
            span=DIFFERENCE,
        )
        return problem.interval(level, method)

    def as_dict(self, level: NumberLike = 0.95, method: str = "mover") -> dict[str, object]:
        """Inputs and results as plain values, ready for JSON."""
        ratio = self.ratio_interval(level, "guaranteed" if method == "guaranteed" else "mover")
        return {
            "a": self.a.tally.as_dict(),
            "b": self.b.tally.as_dict(),
            "difference": self.difference,
            "standard_error": self.standard_error,
            "interval": self.interval(level, method).as_dict(),
            "ratio": self.ratio,
            "ratio_interval": ratio.as_dict(),
            "p": self.p,
        }

    def ratio_interval(self, level: NumberLike = 0.95, method: str = "mover") -> Interval[float | None]:
        """A bar for the ratio a/b; its upper end is None where nothing bounds it."""
        row = checked_method("ratio", method)
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


def compare_groups(a: Tally | Estimate, b: Tally | Estimate) -> Comparison:
    """Group a against group b: two disjoint groups of people, each with its own design and target.

    >>> from rrcollect import optimal_design
    >>> both = compare_groups(Tally(optimal_design(1), 700, 330), Tally(optimal_design(1), 650, 210))
    >>> round(both.difference, 3), "{:.3f} to {:.3f}".format(*both.interval())
    (0.321, '0.206 to 0.434')
    """
    return Comparison(*[e if isinstance(e, Estimate) else estimate(e) for e in (a, b)])
