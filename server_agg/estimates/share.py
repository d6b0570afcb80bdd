"""`Share`: the unbiased estimate of one share from one tally, and what its bars are made from.

Of n answers N are ones; λ̂ = N/n and c = p00 + p11 − 1.

    π̂ = (λ̂ − (1−p00))/c                         the estimate: unbiased, but may lie outside [0, 1]; `clipped` does not
    v_pop = λ̂(1−λ̂)/((n−1)c²)                    unbiased for the variance if respondents are drawn from a population
    v_real = [π̂ p11(1−p11) + (1−π̂) p00(1−p00)]/(c²n)
                                                unbiased for the variance by the mechanism's noise alone: the target is
                                                the people who answered.  Never negative: it is linear in N, and not
                                                negative at N = 0 and N = n.
    v = (1−f)·v_pop + f·v_real, f = n/M         if n people were drawn from M without replacement

Rules
1. Value and variances are exact fractions; floats are for display.
2. A share keeps its tally and target, so that other bars can be computed later without counting again.
3. No estimate without a bar: n < 2 is refused.  No result is ever NaN or infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.parameters import NumberLike
from rrcollect.design.yes_no import Design
from server_agg.count.tally import Tally, checked_tally
from server_agg.errors import TooFewAnswers
from server_agg.estimates.interval import Prior, Problem, TargetLike
from server_agg.estimates.methods import interval_of
from server_agg.estimates.numerics import binomial_at_least, squared_widths, unbiased
from server_agg.estimates.score import variance_line
from server_agg.results.interval import Interval, Misfit, Side

DIRECT = Design(1, 1)  # the truth as it is


@dataclass(frozen=True)
class Share:
    """The share of yes in `tally` for `target`: "population", "sample", or the size M of a population.

    >>> share = Share(Tally(Design("3/4", "3/4"), 1000, 400))
    >>> share.exact_value, round(share.standard_error, 4)
    (Fraction(3, 10), 0.031)
    """

    tally: Tally
    target: TargetLike = "population"

    def __post_init__(self) -> None:
        if checked_tally(self.tally, yes_no=True).n < 2:
            raise TooFewAnswers(self.tally.n)

    # ---- the value and its variance ---------------------------------------------------------------------------

    @property
    def says_yes(self) -> Fraction:
        """λ̂ = N/n, the share of ones."""
        return Fraction(self.tally.ones, self.tally.n)

    @property
    def exact_value(self) -> Fraction:
        """The unbiased estimate, exactly."""
        return unbiased(self.tally)

    @property
    def value(self) -> float:
        """The unbiased estimate; it may leave [0, 1], and sums without bias because it may."""
        return float(self.exact_value)

    @property
    def exact_clipped(self) -> Fraction:
        """The value cut to [0, 1], exactly; biased."""
        return min(max(self.exact_value, Fraction(0)), Fraction(1))

    @property
    def population_variance(self) -> Fraction:
        """v_pop, unbiased for the variance if the respondents were drawn from an infinite population."""
        yes = self.says_yes
        return yes * (1 - yes) / ((self.tally.n - 1) * self.tally.column.c**2)

    @property
    def noise_variance(self) -> Fraction:
        """v_real, unbiased for the variance that the mechanism alone adds."""
        design, pi = self.tally.column, self.exact_value
        noise = pi * design.p11 * (1 - design.p11) + (1 - pi) * design.p00 * (1 - design.p00)
        return noise / (design.c**2 * self.tally.n)

    @property
    def sampled_share(self) -> Fraction:
        """f: 0 for an infinite population, 1 if the target is the people who answered, n/M for M people."""
        if self.target == "population":
            return Fraction(0)
        return Fraction(1) if self.target == "sample" else Fraction(self.tally.n, int(self.target))

    @property
    def sampling(self) -> Fraction:
        """s in the true variance V_real + s·π(1−π)/n: 1 for "population", 0 for "sample", (M−n)/(M−1) for M people."""
        if self.target in ("population", "sample"):
            return 1 - self.sampled_share
        return Fraction(int(self.target) - self.tally.n, int(self.target) - 1)

    @property
    def variance(self) -> Fraction:
        """The unbiased estimate of the variance of `value` for the target."""
        f = self.sampled_share
        return (1 - f) * self.population_variance + f * self.noise_variance

    @property
    def standard_error(self) -> float:
        """The square root of `variance`."""
        return math.sqrt(self.variance)

    @property
    def unbiased_standard_error(self) -> float:
        """The standard error of the unbiased value: here the same."""
        return self.standard_error

    # ---- error bars -------------------------------------------------------------------------------------------

    @property
    def problem(self) -> Problem:
        """The share in the form that the methods for error bars take."""
        tally = self.tally.oriented()
        return Problem(
            "one design",
            self.exact_value,
            lambda: self.standard_error,
            self.target,
            n=tally.n,
            tallies=(tally,),
            variance=lambda: variance_line(tally.column, tally.n, self.sampling),
            squares=squared_widths([Fraction(1)], [tally]),
        )

    def interval(self, level: NumberLike, method: str, side: Side = "both", prior: Prior = "uniform") -> Interval:
        """(low, high), within [0, 1]."""
        return interval_of(self.problem, level, method, side, prior)

    @property
    def misfit(self) -> Misfit:
        """How improbable so extreme a count is at the prevalence (0 or 1) nearest to it, and on which side it lies."""
        tally = self.tally.oriented()
        below = binomial_at_least(tally.n - tally.ones, tally.n, float(tally.column.p00))  # if all truths were "no"
        above = binomial_at_least(tally.ones, tally.n, float(tally.column.p11))  # if all truths were "yes"
        return Misfit(below, "below") if below <= above else Misfit(above, "above")
