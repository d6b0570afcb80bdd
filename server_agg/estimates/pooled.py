"""`PooledShare`: one question, several designs: a new version of the survey, or respondents with different promises.

Headline: the maximum-likelihood estimate on [0, 1] with its likelihood-ratio interval and the information's standard
error.  For sums onward: a weighted mean of the unbiased values with weights fixed before the data are seen,
    w ∝ n / (n·Var at a planning prevalence π0),
which is exactly unbiased and whose variance Σ w² Var_i(π) is again a quadratic in π (see `score`), so it has guaranteed
bars too.  Weights by *estimated* variances would be biased, and a design with N = 0 would get an infinite one.

The homogeneity test is the score test of equal prevalences, each design a group (`score`): Pearson's X², with one
degree of freedom less than there are designs, and at an edge without the part that all designs share (Pearson's own
takes that for disagreement: size 0.10 at prevalence 0).  Where expected counts are small p is exact or simulated.  A
small p speaks for designs that disagree: a change in who answers, or a matrix that was not the one applied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from rrcollect.design.parameters import NumberLike, probability
from rrcollect.errors import ParameterError
from server_agg.count.tallies import merged
from server_agg.count.tally import Tally
from server_agg.errors import TooFewAnswers
from server_agg.estimates.interval import Prior, Problem
from server_agg.estimates.likelihood import information, maximum_likelihood
from server_agg.estimates.methods import interval_of
from server_agg.estimates.numerics import squared_widths, unbiased
from server_agg.estimates.score import NO_VARIANCE, Groups, VarianceLine, variance_line
from server_agg.estimates.share import Share
from server_agg.estimates.small_counts import p_value
from server_agg.results.interval import Interval, Misfit, Side, worst_misfit


def checked_planning(planning: NumberLike) -> Fraction:
    """A prevalence at which weights are best; strictly between 0 and 1."""
    at = probability("planning", planning)
    if not 0 < at < 1:
        raise ParameterError("planning", planning, "a prevalence strictly between 0 and 1")
    return at


class Homogeneity(NamedTuple):
    """Whether the designs tell the same story; small p: they do not."""

    statistic: float
    df: int
    p_value: float
    method: str = "score"  # how p was found: "score", "exact" or "simulated"

    def describe(self) -> str:
        """One sentence."""
        if self.df == 0:
            return "one design only: nothing to compare"
        test = f"X² = {self.statistic:.3g} with {self.df} degree{'s' * (self.df > 1)} of freedom"
        how = "" if self.method == "score" else f"{self.method} "
        return f"one prevalence behind all designs: {test}, {how}p = {self.p_value:.3g}"


@dataclass(frozen=True)
class PooledShare:
    """The share behind several tallies of one question; `planning` is π0 of the fixed weights, chosen before the data.

    >>> from rrcollect import optimal_design
    >>> pooled = PooledShare((Tally(optimal_design(1), 600, 230), Tally(optimal_design(2), 400, 100)))
    >>> round(pooled.value, 12), round(pooled.standard_error, 12)
    (0.19601237957, 0.023988610243)
    """

    tallies: tuple[Tally, ...]
    planning: NumberLike = Fraction(1, 2)

    def __post_init__(self) -> None:
        if self.n < 2:
            raise TooFewAnswers(self.n, "the pool")
        object.__setattr__(self, "planning", checked_planning(self.planning))

    @cached_property
    def oriented(self) -> tuple[Tally, ...]:
        """The tallies that hold answers, one for each design, all with c > 0."""
        return tuple(tally for tally in merged([tally.oriented() for tally in self.tallies]) if tally.n)

    @property
    def n(self) -> int:
        """All answers."""
        return sum(tally.n for tally in self.tallies)

    @property
    def value(self) -> float:
        """The maximum-likelihood estimate on [0, 1]."""
        return maximum_likelihood(self.oriented)

    @property
    def standard_error(self) -> float | None:
        """1/√information at the estimate; None where an answer is certain and the information says nothing."""
        found = information(self.oriented, self.value)
        return None if math.isinf(found) else 1 / math.sqrt(found)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """The fixed weights, in the order of the merged designs; they add up to 1."""
        parts = [tally.n / tally.column.variance(self.planning) for tally in self.oriented]
        return tuple(part / sum(parts) for part in parts)

    @property
    def exact_value(self) -> Fraction:
        """The fixed-weight mean of the unbiased values, exactly; it may leave [0, 1]."""
        return sum((w * unbiased(t) for w, t in zip(self.weights, self.oriented, strict=True)), Fraction(0))

    @property
    def unbiased(self) -> float:
        """`exact_value` as a float: use it where estimates are summed further."""
        return float(self.exact_value)

    @property
    def unbiased_standard_error(self) -> float:
        """The standard error of `unbiased`, at the maximum-likelihood estimate."""
        return math.sqrt(max(self._line().at(Fraction(self.value)), Fraction(0)))

    def _line(self) -> VarianceLine:
        total = NO_VARIANCE
        for weight, tally in zip(self.weights, self.oriented, strict=True):
            total = total.plus(variance_line(tally.column, tally.n).scaled(weight * weight))
        return total

    @property
    def problem(self) -> Problem:
        """What the bars are made from."""
        return Problem(
            "several designs",
            self.exact_value,
            lambda: self.unbiased_standard_error,
            n=self.n,
            tallies=self.oriented,
            variance=self._line,
            squares=squared_widths(self.weights, self.oriented),
        )

    def interval(self, level: NumberLike, method: str, side: Side = "both", prior: Prior = "uniform") -> Interval:
        """likelihood: around `value`, approximate.  chebyshev, hoeffding: around `unbiased`, guaranteed.  wald:
        `unbiased` ∓ z·SE, approximate."""
        return interval_of(self.problem, level, method, side, prior)

    @property
    def homogeneity(self) -> Homogeneity:
        """The score test that one prevalence stands behind all designs."""
        df = len(self.oriented) - 1
        if not df:
            return Homogeneity(0.0, 0, 1.0)
        found = p_value(Groups(tuple((tally,) for tally in self.oriented)))
        return Homogeneity(found.statistic, df, found.p, found.method)

    @property
    def misfit(self) -> Misfit:
        """Of the design whose count is the most extreme, its probability times the number of designs (Bonferroni)."""
        return worst_misfit(Share(tally).misfit for tally in self.oriented if tally.n >= 2)
