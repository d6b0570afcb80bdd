"""One question, several designs: a new version of the survey, or respondents with different promises.

Headline: the maximum-likelihood estimate on [0, 1] with its likelihood-ratio interval and the information's standard
error.  For sums onward: a weighted mean of the unbiased values with weights fixed before the data are seen,
    w ∝ n / (n·Var at a planning prevalence π0),
which is exactly unbiased and whose variance Σ w² Var_i(π) is again a quadratic in π (see `score`), so it has guaranteed
bars too.  Weights by *estimated* variances would be biased, and a design with N = 0 would get an infinite one.

The homogeneity test is the score test of equal prevalences, each design a group (`score_tests`): Pearson's X², with one
degree of freedom less than there are designs, and at an edge without the part that all designs share (Pearson's own
takes that for disagreement: size 0.10 at prevalence 0).  Where expected counts are small p is exact or simulated.  A
small p speaks for designs that disagree: a change in who answers, or a matrix that was not the one applied.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from fractions import Fraction

from rrcollect.design.parameters import NumberLike, probability
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.count.tallies import merged
from server_agg.count.tally import Tally, tallies_in
from server_agg.errors import EmptySelection, TooFewAnswers
from server_agg.estimates.exact import squared_widths, unbiased
from server_agg.estimates.likelihood import information, maximum_likelihood
from server_agg.estimates.methods import interval_of, methods_for
from server_agg.estimates.one import Estimate
from server_agg.estimates.problem import Problem
from server_agg.estimates.score import NO_VARIANCE, VarianceLine, variance_line
from server_agg.estimates.score_tests import Groups
from server_agg.estimates.small_counts import p_value
from server_agg.report.result import Result
from server_agg.results.drawing import Point
from server_agg.results.interval import Interval, Misfit, Side, worst_misfit
from server_agg.results.tables import Table
from server_agg.results.words import bar_words, digits_for, percent, share_point, share_table


def pooled_method(method: str) -> str:
    """The method asked for, or the likelihood where several designs have no such bar."""
    return method if method in methods_for("several designs") else "likelihood"


@dataclass(frozen=True)
class Homogeneity:
    """Whether the designs tell the same story; small p: they do not."""

    statistic: float
    freedom: int
    p: float
    method: str = "score"  # how p was found: "score", "exact" or "simulated"

    def describe(self) -> str:
        """One sentence."""
        if self.freedom == 0:
            return "one design only: nothing to compare"
        test = f"X² = {self.statistic:.3g} with {self.freedom} degree{'s' * (self.freedom > 1)} of freedom"
        how = "" if self.method == "score" else f"{self.method} "
        return f"one prevalence behind all designs: {test}, {how}p = {self.p:.3g}"


@dataclass(frozen=True)
class PooledEstimate(Result):
    """The prevalence behind several tallies of one question; `planning` is π0 of the fixed weights.

    >>> from rrcollect import optimal_design
    >>> pooled = pool([Tally(optimal_design(1), 600, 230), Tally(optimal_design(2), 400, 100)])
    >>> round(pooled.value, 12), round(pooled.standard_error, 12)
    (0.19601237957, 0.023988610243)
    """

    tallies: tuple[Tally, ...]
    planning: Fraction = Fraction(1, 2)
    _oriented: tuple[Tally, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.tallies:
            raise EmptySelection("nothing to pool; expected one or more tallies")
        oriented = merged([tally.oriented() for tally in self.tallies])
        if self.n < 2:
            raise TooFewAnswers(self.n, "the pool")
        object.__setattr__(self, "_oriented", tuple(tally for tally in oriented if tally.n))

    @property
    def n(self) -> int:
        """All answers."""
        return sum(tally.n for tally in self.tallies)

    @property
    def value(self) -> float:
        """The maximum-likelihood estimate on [0, 1]."""
        return maximum_likelihood(self._oriented)

    @property
    def standard_error(self) -> float | None:
        """1/√information at the estimate; None where an answer is certain and the information says nothing."""
        found = information(self._oriented, self.value)
        return None if math.isinf(found) else 1 / math.sqrt(found)

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Each design on its own (those with two answers or more)."""
        return tuple(Estimate(tally) for tally in self._oriented if tally.n >= 2)

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """The fixed weights, in the order of the merged designs; they add up to 1."""
        parts = [tally.n / tally.design.variance(self.planning) for tally in self._oriented]
        return tuple(part / sum(parts) for part in parts)

    @property
    def exact_unbiased(self) -> Fraction:
        """The fixed-weight mean of the unbiased values, exactly; it may leave [0, 1]."""
        return sum((w * unbiased(t) for w, t in zip(self.weights, self._oriented, strict=True)), Fraction(0))

    @property
    def unbiased(self) -> float:
        """`exact_unbiased` as a float: use it where estimates are summed further."""
        return float(self.exact_unbiased)

    @property
    def unbiased_standard_error(self) -> float:
        """The standard error of `unbiased`, at the maximum-likelihood estimate."""
        return math.sqrt(max(self._line().at(Fraction(self.value)), Fraction(0)))

    def _line(self) -> VarianceLine:
        total = NO_VARIANCE
        for weight, tally in zip(self.weights, self._oriented, strict=True):
            total = total.plus(variance_line(tally.design, tally.n).scaled(weight * weight))
        return total

    @property
    def problem(self) -> Problem:
        """What the bars are made from."""
        return Problem(
            "several designs",
            self.exact_unbiased,
            lambda: self.unbiased_standard_error,
            n=self.n,
            tallies=self._oriented,
            variance=self._line,
            squares=squared_widths(self.weights, self._oriented),
        )

    def interval(self, level: NumberLike = 0.95, method: str = "likelihood", *, side: Side = "both") -> Interval:
        """likelihood: around `value`, approximate.  chebyshev, hoeffding: around `unbiased`, guaranteed.  wald:
        `unbiased` ∓ z·SE, approximate."""
        return interval_of(self.problem, level, method, side)

    @property
    def homogeneity(self) -> Homogeneity:
        """The score test that one prevalence stands behind all designs."""
        freedom = len(self._oriented) - 1
        if not freedom:
            return Homogeneity(0.0, 0, 1.0)
        found = p_value(Groups(tuple((tally,) for tally in self._oriented)))
        return Homogeneity(found.statistic, freedom, found.p, found.method)

    @property
    def misfit(self) -> Misfit:
        """Of the design whose count is the most extreme, its probability times the number of designs (Bonferroni)."""
        return worst_misfit(each.misfit for each in self.estimates)

    def sentence(self, level: NumberLike = 0.95, method: str = "likelihood") -> str:
        """One sentence that may be put into a report."""
        bar = self.interval(level, method)
        return (
            f"{percent(self.value, digits_for(bar.width))} % ({bar_words(bar)}), n = {self.n} by "
            f"{len(self._oriented)} designs; target: the population; {self.homogeneity.describe()}"
            + (f"; {self.misfit.describe()}" if self.misfit.told else "")
        )

    numeric = frozenset(range(1, 5))

    def cells(self) -> Table:
        """Each design on its own, and all together."""
        return share_table(self._rows(), "design")

    def _rows(self) -> list[tuple[str, Estimate | PooledEstimate, Interval]]:
        each = [(_design_words(one.tally.design), one, one.interval()) for one in self.estimates]
        return [*each, ("pooled", self, self.interval())]

    def notes(self) -> list[str]:
        """What the last bar is for, and whether the designs tell the same story."""
        return [f"pooled: {self.interval().describe()}; {self.homogeneity.describe()}"]

    def points(self) -> list[Point]:
        """Each design on its own, and all together."""
        return [share_point(*row) for row in self._rows()]

    def caption(self) -> str:
        """What the bars of the picture are."""
        return "95 % exact bars; pooled: 95 % likelihood bar"

    def as_dict(self, level: NumberLike = 0.95, method: str = "likelihood") -> dict[str, object]:
        """Inputs and results as plain values, ready for JSON."""
        test = self.homogeneity
        return {
            "tallies": [tally.as_dict() for tally in self.tallies],
            "planning": str(self.planning),
            "n": self.n,
            "value": self.value,
            "standard_error": self.standard_error,
            "interval": self.interval(level, method).as_dict(),
            "unbiased": self.unbiased,
            "unbiased_standard_error": self.unbiased_standard_error,
            "misfit": self.misfit.as_dict(),
            "homogeneity": asdict(test),
        }


def _design_words(design: Design) -> str:
    return f"p00 = {float(design.p00):.4g}, p11 = {float(design.p11):.4g}"


def pool(tallies: Iterable[Tally], *, planning: NumberLike = "1/2") -> PooledEstimate:
    """One estimate from tallies of one question, whatever their designs; equal designs are merged first.

    `planning` is the prevalence at which the fixed weights of `unbiased` are best; choose it before seeing the data.

    >>> from rrcollect import optimal_design
    >>> pooled = pool([Tally(optimal_design(1), 600, 230), Tally(optimal_design(2), 400, 100)])
    >>> round(pooled.value, 4), round(pooled.standard_error, 4)
    (0.196, 0.024)
    """
    found = tallies_in(tallies, yes_no=True)
    at = probability("planning", planning)
    if not 0 < at < 1:
        raise ParameterError("planning", planning, "a prevalence strictly between 0 and 1")
    return PooledEstimate(merged(found), at)
