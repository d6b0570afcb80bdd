"""Two groups side by side: difference and ratio of their prevalences, with bars and a test.

Bars for the difference d = a − b
    mover        Newcombe's square-and-add ("MOVER") on the two exact bars (l, u) before they are cut to [0, 1]:
                 d − √((a−l_a)² + (u_b−b)²),  d + √((u_a−a)² + (b−l_b)²).  Approximate, seldom below its level.
                 (Cut bars would not do: at n = 20 their coverage falls to 76 %.)
    guaranteed   the two exact bars at level √level each; both hold at once with probability >= level because the
                 groups are independent, and then so does l_a − u_b <= d <= u_a − l_b
    wald         d ∓ z·√(v_a + v_b): offered, and warned of
For the ratio: Donner and Zou's square-and-add for quotients, and the guaranteed quotient of ends.  Where the
denominator's bar touches 0 a ratio has no upper end; it is None, never infinite.

The test of a = b is a score test: z = d/√(V_a(π0) + V_b(π0)) with both variances at the pooled estimate π0.
The groups must be disjoint sets of people; a device that repeats its answer is the same person in every round.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.estimates.interval import WALD_WARNING, Interval
from server_agg.estimates.methods import unclipped_exact
from server_agg.estimates.numerics import exact_level, normal_quantile, normal_tail
from server_agg.estimates.one import Estimate, estimate
from server_agg.estimates.pooled import pool
from server_agg.estimates.score import variance_line
from server_agg.report.result import Result

__all__ = ["Comparison", "RatioInterval", "compare_groups", "root_level"]

METHODS = ("mover", "guaranteed", "wald")


@dataclass(frozen=True)
class RatioInterval:
    """A bar for a ratio; `high` is None if nothing bounds it from above."""

    low: float
    high: float | None
    level: float
    method: str
    guaranteed: bool


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

    def interval(self, level: NumberLike = 0.95, method: str = "mover") -> Interval:
        """A bar for the difference, within [−1, 1]."""
        _known(method, METHODS)
        if method == "wald":
            reach = normal_quantile((1 - exact_level(level)) / 2) * self.standard_error
            low, high = self.difference - reach, self.difference + reach
        elif method == "mover":
            (down_a, up_a), (down_b, up_b) = _reaches(self.a, level), _reaches(self.b, level)
            low = self.difference - math.hypot(down_a, up_b)
            high = self.difference + math.hypot(up_a, down_b)
        else:
            (la, ua), (lb, ub) = self._bars(level, method)
            low, high = la - ub, ua - lb
        return Interval(
            (min(max(low, -1.0), 1.0), min(max(high, -1.0), 1.0)),
            method=method,
            level=exact_level(level),
            target=f"difference ({self.a.target_words} − {self.b.target_words})",
            guaranteed=method == "guaranteed",
            warning=WALD_WARNING if method == "wald" else "",
        )

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
            "ratio_interval": asdict(ratio),
            "p": self.p,
        }

    def ratio_interval(self, level: NumberLike = 0.95, method: str = "mover") -> RatioInterval:
        """A bar for the ratio a/b."""
        _known(method, METHODS[:2])
        (la, ua), (lb, ub) = self._bars(level, method)
        low: float | None = la / ub if ub else 0.0
        high = ua / lb if lb else None
        if method == "mover":
            a, b = self.a.clipped, self.b.clipped
            (wa, xa), (wb, xb) = self._bars(level, "guaranteed")
            low = _quotient_end((a, la), (b, ub), -1, wa / xb if xb else 0.0)
            high = _quotient_end((a, ua), (b, lb), 1, xa / wb if wb else None)
        return RatioInterval(low or 0.0, high, float(exact_level(level)), method, method == "guaranteed")


def _reaches(e: Estimate, level: NumberLike) -> tuple[float, float]:
    """How far the exact bar reaches below and above the unbiased value, before it is cut to [0, 1]."""
    low, high = unclipped_exact(e, level)
    return max(e.value - low, 0.0), max(high - e.value, 0.0)


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


def _known(method: str, allowed: tuple[str, ...]) -> None:
    if method not in allowed:
        raise ParameterError("method", method, f"one of {', '.join(allowed)}")


def root_level(level: NumberLike, k: int) -> Fraction:
    """level^(1/k), rounded up: k independent bars at it hold at once with probability >= level (Šidák).

    >>> root_level("0.81", 2) >= Fraction(9, 10)
    True
    """
    exact = exact_level(level)
    root = Fraction(float(exact) ** (1 / k))
    while root**k < exact:
        root = Fraction(math.nextafter(float(root), 2.0))
    return root


def compare_groups(a: Tally | Estimate, b: Tally | Estimate) -> Comparison:
    """Group a against group b: two disjoint groups of people, each with its own design and target.

    >>> from rrcollect import optimal_design
    >>> both = compare_groups(Tally(optimal_design(1), 700, 330), Tally(optimal_design(1), 650, 210))
    >>> round(both.difference, 3), "{:.3f} to {:.3f}".format(*both.interval())
    (0.321, '0.206 to 0.434')
    """
    return Comparison(*[e if isinstance(e, Estimate) else estimate(e) for e in (a, b)])
