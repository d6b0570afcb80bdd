"""Moors' two samples [Moo71]: the harmless question's share of yes is estimated from the second sample.

    π̂ = (λ̂1 − (1−p)λ̂2)/p,     v = [λ̂1(1−λ̂1)/(n1−1) + (1−p)² λ̂2(1−λ̂2)/(n2−1)]/p²
Both are unbiased.  Bars: wald (approximate); guaranteed, from the exact bars of λ1 and λ2 at level √level each; and
hoeffding, since π̂ is a sum of independent answers worth 1/(p n1) and (1−p)/(p n2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.classic.two_samples import MoorsDesign
from rrcollect.design.parameters import NumberLike
from server_agg.count.tally import Tally
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.estimates.exact import squared_widths
from server_agg.estimates.interval import Problem
from server_agg.estimates.methods import interval_of
from server_agg.estimates.numerics import normal_tail
from server_agg.estimates.share import DIRECT
from server_agg.report.result import UnbiasedResult
from server_agg.results.drawing import Point
from server_agg.results.interval import Interval, Misfit
from server_agg.results.tables import Table
from server_agg.results.words import EstimateLike, bar_note, share_point, share_table


@dataclass(frozen=True)
class MoorsEstimate(UnbiasedResult):
    """The prevalence from sample `first` (both questions) and sample `second` (the harmless one alone)."""

    design: MoorsDesign
    first: Estimate  # of λ1
    second: Estimate  # of λ2, the harmless question's share of yes

    @property
    def exact_value(self) -> Fraction:
        """π̂, exactly; unbiased, may leave [0, 1]."""
        p = self.design.p
        return (self.first.exact_value - (1 - p) * self.second.exact_value) / p

    @property
    def innocuous(self) -> float:
        """The harmless question's estimated share of yes."""
        return self.second.value

    @property
    def variance(self) -> Fraction:
        """The unbiased variance estimate, exactly."""
        p = self.design.p
        return (self.first.variance + (1 - p) ** 2 * self.second.variance) / p**2

    @property
    def n(self) -> int:
        """People in both samples."""
        return self.first.n + self.second.n

    @property
    def misfit(self) -> Misfit:
        """Whether the two shares are too far apart for any prevalence; by the normal law, the harmless share taken as
        the second sample has it."""
        p, u = self.design.p, self.second.exact_value
        tails = {}
        for side, end in (("below", 0), ("above", 1)):
            yes = p * end + (1 - p) * u
            variance = yes * (1 - yes) / self.first.n + (1 - p) ** 2 * u * (1 - u) / self.second.n
            away = float(self.first.exact_value - yes) * (1 if side == "below" else -1)
            tails[side] = normal_tail(-away / math.sqrt(variance)) if variance else float(away >= 0)
        side = min(tails, key=lambda each: tails[each])
        return Misfit(tails[side], side, approximate=True)

    numeric = frozenset(range(1, 5))

    def cells(self) -> Table:
        """The share with its bar, and the harmless one."""
        second: tuple[str, EstimateLike, Interval] = "harmless", self.second, self.second.interval()
        return share_table([("sensitive", self, self.interval()), second], "question")

    def notes(self) -> list[str]:
        """What the bars are for."""
        return [f"sensitive: {bar_note(self.interval())}; harmless: {bar_note(self.second.interval())}"]

    def points(self) -> list[Point]:
        """The share, and the harmless one."""
        second = share_point("harmless", self.second, self.second.interval())
        return [share_point("sensitive", self, self.interval()), second]

    def caption(self) -> str:
        """What the bars of the picture are."""
        return "95 % guaranteed bar; harmless question: 95 % exact bar"

    def as_dict(self, level: NumberLike = 0.95, method: str = "guaranteed") -> dict[str, object]:
        """Inputs and results as plain values, ready for JSON."""
        return {
            "p": str(self.design.p),
            "n1": self.first.tally.n,
            "ones1": self.first.tally.ones,
            "n2": self.second.tally.n,
            "ones2": self.second.tally.ones,
            "value": self.value,
            "standard_error": self.standard_error,
            "innocuous": self.innocuous,
            "interval": self.interval(level, method).as_dict(),
            "misfit": self.misfit.as_dict(),
        }

    def interval(self, level: NumberLike = 0.95, method: str = "guaranteed") -> Interval:
        """(low, high) by "guaranteed", "hoeffding" or "wald"."""
        weights = [1 / self.design.p, 1 - 1 / self.design.p]
        problem = Problem(
            "two samples",
            self.exact_value,
            lambda: self.standard_error,
            squares=squared_widths(weights, [self.first.tally, self.second.tally]),
            parts=((weights[0], self.first.problem), (weights[1], self.second.problem)),
        )
        return interval_of(problem, level, method)


def estimate_moors(design: MoorsDesign, *, n1: int, ones1: int, n2: int, ones2: int) -> MoorsEstimate:
    """The estimate from counts: `ones1` of `n1` said yes in the first sample, `ones2` of `n2` in the second.

    >>> found = estimate_moors(MoorsDesign(Fraction(7, 10)), n1=800, ones1=184, n2=200, ones2=100)
    >>> found.exact_value, round(found.standard_error, 4)
    (Fraction(4, 35), 0.0261)
    """
    return MoorsEstimate(design, estimate(Tally(DIRECT, n1, ones1)), estimate(Tally(DIRECT, n2, ones2)))
