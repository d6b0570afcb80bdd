"""The whole distribution of a number that was asked in bins: quantiles, the curve of shares below, a histogram.

The share F(m) of people below the edge m of the bins is estimated without bias, as a mean of n independent terms of
variance V(m) at most, which are b(m) at most from their mean (`Mechanism.below`).  So by Bernstein's inequality
    |F̂(m) − F(m)| <= b L/(3n) + √((b L/(3n))² + 2VL/n),      L = ln(2(k − 1)/α),
at all k − 1 edges at once, with a chance of 1 − α at least.  F rises: the band is the running greatest of the lower
ends and the running least of the upper ones from above, and holds all the same.

Looked at again and again (method "anytime") it holds at all n at once: between n = 2^(j−1) and 2^j by the same
inequality for the greatest of the sums up to N = 2^j [Freedman 1975], at α/((j+1)(j+2)); these add up to α.

Rules
1. The band is guaranteed, for the people who answered and for the population they were drawn from: their truths are any
   numbers, and only sums of independent bounded terms are used.
2. A quantile x_q is the least x with F(x) >= q.  Its bar is made of edges: it begins at the last edge where the band
   lies below q, and ends at the first where it is not below q.  So the bars of all quantiles hold at once too.  Its
   value lies on the straight line between edges, of F̂ made to rise.
3. Bars of bins hold at once: Bernstein, each at 1 − α/k.
4. Nothing is known of where in its bin a number lies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rrcollect.design.parameters import NumberLike, probability
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.results.interval import Interval, exact_level, privacy_words
from server_agg.results.result import Result
from server_agg.results.row import Row, Scale

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rrcollect.design.terms import Curve

    Floats = NDArray[np.float64]

QUANTILES = {"10 %": "0.1", "25 %": "0.25", "median": "0.5", "75 %": "0.75", "90 %": "0.9"}
METHODS = "bernstein", "anytime"


class Place(NamedTuple):
    """An edge of the bins with the share of people below it, or a bin from `low` to `high` with the share in it."""

    low: float
    high: float
    value: float
    bar: tuple[float, float]


def bernstein(curve: Curve, n: int, level: NumberLike, *, anytime: bool = False) -> Floats:
    """Half the width of the bars at all places of a curve, which hold at once."""
    import numpy as np

    miss, often = 1 - exact_level(level), n
    if anytime:
        j = (n - 1).bit_length()
        miss, often = miss / ((j + 1) * (j + 2)), 1 << j
    doubt = math.log(2 * len(curve.values) / float(miss))
    slack = curve.reach * doubt / 3
    half = (slack + np.sqrt(slack**2 + 2 * curve.spread * doubt * often)) / n
    return np.asarray(half * (1 + 1e-9))  # sums of floats


def bernstein_size(curve: Curve, margin: float, level: NumberLike) -> int:
    """The least n of which no bar is wider than ± margin: n = 2L(V + b·margin/3)/margin², where it is the greatest."""
    doubt = math.log(2 * len(curve.values) / float(1 - exact_level(level)))
    return max(2, math.ceil(2 * doubt * float(max(curve.spread + curve.reach * margin / 3)) / margin**2))


@dataclass(frozen=True)
class Distribution(Result):
    """What `estimate` returns for a number in bins: one row for each of five quantiles.

    >>> from rrcollect import optimal_design
    >>> from server_agg import Tally, estimate
    >>> found = estimate(Tally(optimal_design(1, bins=16), 30_000, [1000] * 30), bounds=(0, 24), unit="hours")
    >>> print(found.sentence())
    median: 12.0 hours (95 % bernstein interval, all at once, 9.0–15.0 hours), n = 30000, ε = 1; target: the \
population; in 16 bins of 1.5 hours; between edges a straight line is drawn
    >>> len(found.cdf()), len(found.histogram())
    (17, 16)
    """

    first = "quantile"
    together = "all at once"
    tally: Tally
    target: str
    bounds: tuple[Fraction, Fraction]
    unit: str = ""

    @classmethod
    def of(
        cls, tallies: Sequence[Tally], target: str, population: int | None, bounds: tuple[Fraction, Fraction], unit: str
    ) -> Distribution:
        """From what was counted by one design."""
        if len(tallies) > 1:
            raise ParameterError("tallies", f"by {len(tallies)} designs", "answers by one design, for a distribution")
        if population is not None:
            raise ParameterError("population", population, "none: a band is for 'population' or 'sample'")
        made = cls(tallies[0], target, bounds, unit)
        made._below  # noqa: B018 (a design that is not for bins is refused here)
        return made

    @property
    def bins(self) -> int:
        """How many parts the range has."""
        return self.tally.mechanism.truths

    @cached_property
    def scale(self) -> Scale:
        """The number in its unit."""
        return Scale(*self.bounds, self.unit, self.unit or "number")

    def edge(self, number: float) -> float:
        """Where so many bins end."""
        low, high = map(float, self.bounds)
        return low + (high - low) * number / self.bins

    # ---- the band -----------------------------------------------------------------------------------------------

    def _bernstein(self, curve: Curve, level: NumberLike, method: str | None) -> tuple[Floats, Floats]:
        """The ends at all places of a curve at once, cut to [0, 1]."""
        import numpy as np

        half = bernstein(curve, self.tally.n, level, anytime=self.method_for(method) == "anytime")
        return np.clip(curve.values - half, 0, 1), np.clip(curve.values + half, 0, 1)

    def method_for(self, method: str | None) -> str:
        """The method asked for, or the usual one."""
        return method if method in METHODS else METHODS[0]

    def band(self, level: NumberLike = 0.95, method: str | None = None) -> tuple[Floats, Floats]:
        """The ends of F at all edges, the two of the range with them (0 and 1 for certain)."""
        import numpy as np

        low, high = self._bernstein(self._below, level, method)
        rising, falling = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
        return np.concatenate([[0], rising, [1]]), np.concatenate([[0], falling, [1]])

    @cached_property
    def _below(self) -> Curve:
        return self.tally.design.below(self.tally.n, self.tally.counts)

    @cached_property
    def _curve(self) -> Floats:
        """F̂ at all edges, cut to [0, 1] and made to rise."""
        import numpy as np

        inner = np.maximum.accumulate(np.clip(self._below.values, 0, 1))
        return np.concatenate([[0], inner, [1]])

    def cdf(self, level: NumberLike = 0.95, method: str | None = None) -> tuple[Place, ...]:
        """The share of people below every edge: unbiased (so it may fall or leave [0, 1]), with the band."""
        values = [0.0, *self._below.values.tolist(), 1.0]
        ends = zip(*(end.tolist() for end in self.band(level, method)), strict=True)
        return tuple(
            Place(self.edge(0), self.edge(m), value, bar)
            for m, (value, bar) in enumerate(zip(values, ends, strict=True))
        )

    def histogram(self, level: NumberLike = 0.95, method: str | None = None) -> tuple[Place, ...]:
        """The share of people in every bin, with bars that hold at once."""
        curve = self.tally.design.within(self.tally.n, self.tally.counts)
        ends = zip(*(end.tolist() for end in self._bernstein(curve, level, method)), strict=True)
        return tuple(
            Place(self.edge(m), self.edge(m + 1), value, bar)
            for m, (value, bar) in enumerate(zip(curve.values.tolist(), ends, strict=True))
        )

    # ---- quantiles ----------------------------------------------------------------------------------------------

    def quantile(self, q: NumberLike) -> Row:
        """The least number that a share q of people does not exceed, with its bar (rule 2)."""
        share = probability("q", q)
        if not 0 < share < 1:
            raise ParameterError("q", q, "a number strictly between 0 and 1")
        return self._row(f"{float(100 * share):.10g} %", share)

    def _row(self, name: str, share: Fraction) -> Row:
        import numpy as np

        q, curve = float(share), self._curve
        after = max(1, int(np.searchsorted(curve, q)))  # the first edge with F̂ >= q
        before, rise = curve[after - 1], curve[after] - curve[after - 1]
        place = after - 1 + (q - before) / rise if rise > 0 else after
        return Row(name, self.tally.n, self.edge(float(place)), None, partial(self._bar, share), None, None, self.scale)

    def _bar(self, share: Fraction, level: NumberLike, method: str | None) -> Interval:
        import numpy as np

        if method not in (None, *METHODS):
            raise ParameterError("method", method, "'bernstein' or 'anytime': bars of quantiles are made of one band")
        low, high = self.band(level, method)
        begins = int(np.flatnonzero(high < float(share))[-1])
        ends = int(np.flatnonzero(low >= float(share))[0])
        begins, ends = min(begins, ends - 1), max(ends, begins + 1)  # where no curve fits the counts
        whole = "the band does not tell this quantile from the ends of the range" if ends - begins == self.bins else ""
        return Interval(
            (self.edge(begins), self.edge(ends)), method=self.method_for(method), level=exact_level(level),
            target=self.target, guaranteed=True, warning=whole,
        )  # fmt: skip

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Five quantiles."""
        return tuple(self._row(name, Fraction(q)) for name, q in QUANTILES.items())

    # ---- output -------------------------------------------------------------------------------------------------

    def context(self) -> str:
        """Answers and promise."""
        return f"n = {self.tally.n}, {privacy_words(self.tally.mechanism)}"

    def headline(self) -> Row:
        """The median."""
        return self["median"]

    def remarks(self) -> list[str]:
        """How fine it is."""
        width = self.scale.text(self.edge(1) - self.edge(0), self.edge(1) - self.edge(0))
        return [f"in {self.bins} bins of {width} {self.unit}".rstrip() + "; between edges a straight line is drawn"]

    def extras(self) -> dict[str, object]:
        """What was counted, the curve and the histogram."""
        places: dict[str, Any] = {"cdf": self.cdf(self.level), "histogram": self.histogram(self.level)}
        drawn = {
            name: [{"low": p.low, "high": p.high, "value": p.value, "bar": list(p.bar)} for p in listed]
            for name, listed in places.items()
        }
        return {
            "tallies": [self.tally.as_dict()],
            "bounds": [str(end) for end in self.bounds],
            "unit": self.unit,
            **drawn,
        }
