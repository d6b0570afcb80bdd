"""`Combination`: a sum of the options of one choice, with a bar that knows that they are dependent.

Σ wπ̂ is a mean over the answers of Σ w(bit − q)/c, so its variance is that of the options' covariance, and one answer
moves it by (the ω greatest weights − the ω least)/c over n at most: Hoeffding's bound needs no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from server_agg.estimates.interval import Interval
from server_agg.estimates.methods import ALL_CUT, WALD_WARNING, wald_interval
from server_agg.estimates.numerics import ROUNDING_MARGIN, exact_level, normal_tail

__all__ = ["Combination"]


@dataclass(frozen=True)
class Combination:
    """Σ weight·share over the options: a group of options, a difference of two, a mean of scores."""

    value: float
    standard_error: float
    what: str
    span: tuple[float, float]
    reach: float  # Hoeffding's: the most that one answer moves the value, times √n

    @property
    def p_value(self) -> float:
        """Two-sided, of the value being 0; normal approximation."""
        if self.standard_error == 0:
            return 1.0 if self.value == 0 else 0.0
        return min(1.0, 2 * normal_tail(abs(self.value) / self.standard_error))

    def interval(self, level: NumberLike = 0.95, method: str = "wald") -> Interval:
        """wald: value ∓ z·SE, by the covariance of the options; approximate, as `p_value` is.  hoeffding: guaranteed
        for every target, since answers are independent and each moves the value so far at most; by the edge rule."""
        least, most = self.span
        if method == "hoeffding":
            half = self.reach * math.sqrt(math.log(2 / (1 - exact_level(level))) / 2) + ROUNDING_MARGIN
            ends, warning = (min(self.value, most) - half, max(self.value, least) + half), ""
        elif method == "wald":
            bar = wald_interval(self.value, self.standard_error, level, self.what)
            ends, warning = (bar.low, bar.high), WALD_WARNING
            if bar.high <= least or bar.low >= most:
                warning += f"; {ALL_CUT}"
        else:
            raise ParameterError("method", method, "'wald' or 'hoeffding'")
        low, high = (min(max(end, least), most) for end in ends)
        sure = method == "hoeffding"
        return Interval((low, high), method=method, level=level, target=self.what, guaranteed=sure, warning=warning)
