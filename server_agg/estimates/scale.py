"""`Scale`: what one bit of an answer is about, and so how its estimate is made, cut and written.

    a share              from 0 to 1, written in percent: yes/no, and one option of a choice
    a number's mean      from low to high, in its unit

Rules
1. Tables, trends and headlines are the same for both; only the scale differs.
2. A mean is a share of its range, so it is pooled as one and scaled (`PooledMean`).  For those who answered only the
   bars of `estimates.mean` hold; what does not is refused there.
3. Written with as many digits as its bar shows two of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.parameters import NumberLike, checked_bounds
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.estimates.interval import TargetLike
from server_agg.estimates.mean import MeanEstimate, estimate_mean
from server_agg.estimates.one import Estimate
from server_agg.estimates.pooled import PooledEstimate, pool, pooled_method
from server_agg.report.result import Result
from server_agg.results.interval import Interval, Misfit
from server_agg.results.words import digits_for, percent


@dataclass(frozen=True)
class PooledMean(Result):
    """The mean of a number that was asked by several designs."""

    pooled: PooledEstimate
    low: Fraction
    high: Fraction
    unit: str = ""

    def _scaled(self, share: float) -> float:
        return float(self.low + (self.high - self.low) * Fraction(share))

    @property
    def n(self) -> int:
        """All answers."""
        return self.pooled.n

    @property
    def value(self) -> float:
        """The maximum-likelihood mean, within the range."""
        return self._scaled(self.pooled.value)

    @property
    def standard_error(self) -> float | None:
        """As that of the share, scaled."""
        error = self.pooled.standard_error
        return None if error is None else float(self.high - self.low) * error

    @property
    def misfit(self) -> Misfit:
        """As that of the share."""
        return self.pooled.misfit

    def interval(self, level: NumberLike = 0.95, method: str = "likelihood") -> Interval:
        """As that of the share, scaled."""
        bar = self.pooled.interval(level, method)
        return bar.with_ends((self._scaled(bar.low), self._scaled(bar.high)))

    def as_dict(self, level: NumberLike = 0.95, method: str = "likelihood") -> dict[str, object]:
        """Inputs and results as plain values, ready for JSON."""
        return {
            "tallies": [tally.as_dict() for tally in self.pooled.tallies],
            "n": self.n,
            "low": str(self.low),
            "high": str(self.high),
            "unit": self.unit,
            "value": self.value,
            "standard_error": self.standard_error,
            "interval": self.interval(level, method).as_dict(),
            "misfit": self.misfit.as_dict(),
        }


OneValue = Estimate | PooledEstimate | MeanEstimate | PooledMean
"""An estimate of one value, on whatever scale."""


@dataclass(frozen=True)
class Scale:
    """From `low` to `high` in `unit`; without a unit of its own it is a share in percent.

    >>> hours = Scale.of_number(0, 40, "hours")
    >>> hours.text(21.731, 5.4), hours.words(21.731, 5.4), SHARES.words(0.2836, 0.13)
    ('21.7', '21.7 hours', '28.4 %')
    """

    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    unit: str = "%"
    is_share: bool = True

    @classmethod
    def of_number(cls, low: NumberLike, high: NumberLike, unit: str = "") -> Scale:
        """The scale of a number's mean."""
        return cls(*checked_bounds((low, high)), unit, is_share=False)

    @property
    def span(self) -> float:
        """From one end to the other."""
        return float(self.high - self.low)

    @property
    def ends(self) -> tuple[float, float]:
        """Where a value must lie."""
        return float(self.low), float(self.high)

    def clipped(self, value: float) -> float:
        """The value cut to the scale."""
        low, high = self.ends
        return min(max(value, low), high)

    def text(self, value: float, width: float) -> str:
        """The value as written beside a bar of this width, without its unit."""
        if self.is_share:
            return percent(value, digits_for(width))
        digits = min(8, max(0, 1 - math.floor(math.log10(width)))) if width > 0 else 1
        text = f"{value:.{digits}f}"
        return (text.removeprefix("-") if float(text) == 0 else text).replace("-", "−")

    def words(self, value: float, width: float) -> str:
        """The same with its unit."""
        return f"{self.text(value, width)} {self.unit}".rstrip()

    def estimate(self, tallies: Sequence[Tally], target: TargetLike = "population") -> OneValue:
        """The estimate from one tally, or pooled from several."""
        if len(tallies) == 1:
            if self.is_share:
                return Estimate(tallies[0], target)
            return estimate_mean(tallies[0], self.low, self.high, unit=self.unit, target=target)
        if target != "population":
            raise ParameterError("target", target, "'population' where answers are by several designs")
        pooled = pool(tallies)
        return pooled if self.is_share else PooledMean(pooled, self.low, self.high, self.unit)

    def method(self, found: OneValue, method: str) -> str:
        """The method asked for, or what stands for it where designs were pooled."""
        return pooled_method(method) if isinstance(found, PooledEstimate | PooledMean) else method


SHARES = Scale()


def standard_error_of(found: OneValue) -> float | None:
    """The standard error, where there is one: not of a mean of those who answered."""
    return None if isinstance(found, MeanEstimate) and found.target != "population" else found.standard_error
