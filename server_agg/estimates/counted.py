"""`Counted`: the values, rows and bars of what was counted of one question, by one design or by several.

Rules
1. Value and variances are exact fractions; floats are for display.
2. The mean of a population has every bar of a share, scaled to the range.  For the people who answered, a two-sided
   Clopper–Pearson bar stays valid ([Hoe56]: the count of unequal chances has lighter tails than the binomial one), and
   so does Hoeffding's.  All else is refused by name, and there is no standard error: the variance of "the people who
   answered" supposes truths 0 and 1, and a number may lie between.  Nothing is said about people whose number was
   brought to an end of the range.
3. Bars of options hold at once: see `combination`; by several designs each is at level 1 − α/k.
4. Of "all that apply" each option is a share of its own, by the people who were asked about it.  Their bars hold at
   once, each at level 1 − α/k, and nothing is tightened.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

from rrcollect.design.parameters import NumberLike, probability
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.estimates.combination import Options
from server_agg.estimates.interval import Kind, Prior, Problem, TargetLike
from server_agg.estimates.methods import checked_method, methods_for
from server_agg.estimates.numerics import nearest_shares, normal_quantile
from server_agg.estimates.pooled import PooledShare
from server_agg.estimates.share import Share
from server_agg.results.interval import Interval, Misfit, Side, exact_level, worst_misfit
from server_agg.results.result import Result
from server_agg.results.row import SHARES, Row, Scale


class Margin(NamedTuple):
    """A half-width ± with what one assumes by using it."""

    multiplier: float
    half_width: float
    assumes: str


class DirectAnswers(NamedTuple):
    """What n direct and honest answers at the same prevalence would have given."""

    standard_error: float
    half_width: float
    level: float


@dataclass(frozen=True)
class Counted(Result):
    """One row for a yes/no or a number, one for each option of a choice."""

    tallies: tuple[Tally, ...]  # one for each design
    target: str = "population"
    population: int | None = None
    bounds: tuple[Fraction, Fraction] | None = None  # of a number
    unit: str = ""
    labels: tuple[str, ...] = ()
    planning: Fraction | None = None  # of the weights of several designs

    @abstractmethod
    def context(self) -> str:
        """Answers and promise."""

    # ---- values -----------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """All answers."""
        return sum(tally.n for tally in self.tallies)

    @property
    def tally(self) -> Tally:
        """What was counted, by one design."""
        if len(self.tallies) > 1:
            raise ParameterError("estimate", f"by {len(self.tallies)} designs", "by one design; `tallies` has them all")
        return self.tallies[0]

    @property
    def _k(self) -> int:
        return len(self.labels)

    @property
    def _bars_of(self) -> TargetLike:
        """The target as a bar takes it; the mean of those who answered is as that of a population (rule 2)."""
        return "population" if self.bounds else self.population or self.target

    @property
    def separate(self) -> bool:
        """Whether its rows are shares of several things, each asked of other people (rule 4)."""
        return self._k > 1 and self.tallies[0].mechanism.separate

    @cached_property
    def _shares(self) -> tuple[Share | PooledShare, ...]:
        """Every row as a share, by one design or pooled."""
        if len(self.tallies) == 1:
            return tuple(Share(self.tally[j] if self._k > 1 else self.tally, self._bars_of) for j in range(self._k))
        planning = self.planning or Fraction(1, max(2, self._k))
        return tuple(PooledShare(tuple(t[j] for t in self.tallies), planning) for j in range(self._k))

    @property
    def _share(self) -> Share | PooledShare:
        if self._k > 1:
            raise ParameterError("estimate", f"of {self._k} options", "of one row; option(j) is that of one option")
        return self._shares[0]

    @property
    def share(self) -> Share:
        """The only share, by one design: its variances, and what its bars are made from."""
        return Share(self.tally, self._bars_of)

    @property
    def pooled(self) -> PooledShare:
        """The only share as a pooled one: its unbiased value, the weights, and whether the designs agree."""
        return PooledShare(self.tallies, self.planning or Fraction(1, 2))

    @property
    def problem(self) -> Problem:
        """The only share in the form that the methods for error bars take."""
        return self._share.problem

    @cached_property
    def options(self) -> Options:
        """The options of a choice by one design: how they hang together."""
        if self._k == 1 or self.separate:
            what = "of options that may all apply, each asked of other people" if self.separate else "of one row"
            raise ParameterError("estimate", what, "that of a choice")
        return Options(self.tally, self._bars_of, self._k)

    @cached_property
    def scale(self) -> Scale:
        """A share in percent, or the number in its unit."""
        return Scale(*self.bounds, self.unit, self.unit or "mean") if self.bounds else SHARES

    def _scaled(self, share: Fraction | float) -> Fraction:
        low, high = self.bounds or (Fraction(0), Fraction(1))
        return low + (high - low) * Fraction(share)

    @property
    def exact_value(self) -> Fraction:
        """The unbiased estimate, exactly; it may leave its scale, and sums without bias because it may."""
        return self._scaled(self._share.exact_value)

    @property
    def exact_values(self) -> tuple[Fraction, ...]:
        """The unbiased shares of all options, exactly; of sets of a fixed size they add up to 1."""
        return tuple(share.exact_value for share in self._shares)

    @property
    def value(self) -> float:
        """The unbiased estimate; by several designs the one of greatest likelihood, within its scale."""
        return float(self._scaled(self._share.value)) if len(self.tallies) > 1 else float(self.exact_value)

    @property
    def clipped(self) -> float:
        """The value cut to its scale; biased."""
        return self.scale.clipped(self.value)

    @property
    def variance(self) -> Fraction:
        """The unbiased estimate of the variance of `value`, exactly; of a mean, for the population (rule 2)."""
        return self.share.variance * (self._scaled(1) - self._scaled(0)) ** 2

    @property
    def standard_error(self) -> Any:
        """Of `value`, a number; None for the mean of those who answered, and where an answer is certain."""
        error = self._share.standard_error
        if error is None or (self.bounds and self.target != "population"):
            return None
        return float(self._scaled(1) - self._scaled(0)) * error

    @cached_property
    def misfit(self) -> Misfit:
        """Whether some count is too extreme for any share: k times the least chance, at most 1."""
        if self._k == 1:
            return self._share.misfit
        if len(self.tallies) == 1 and not self.separate:
            return self.options.misfit
        return worst_misfit(share.misfit for share in self._shares)

    # ---- rows and bars ----------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The share, the mean, or the shares of all options, in their order."""
        if self._k == 1:
            several = len(self.tallies) > 1
            errors = self._share.unbiased_standard_error * self.scale.span if several else 0.0
            extras = {"unbiased": float(self.exact_value), "unbiased_standard_error": errors} if several else {}
            found = self.value, self.standard_error, self.interval
            return (Row(self.labels[0], self.n, *found, None, self.misfit, self.scale, extras),)
        return tuple(
            Row(
                label, sum(tally[j].n for tally in self.tallies), float(share.exact_value),
                share.unbiased_standard_error, partial(self._bar_of, j), None, share.misfit, SHARES,
                {"count": sum(tally[j].ones for tally in self.tallies), "simplex": inside},
            )
            for j, (label, share, inside) in enumerate(zip(self.labels, self._shares, self.simplex(), strict=True))
        )  # fmt: skip

    @property
    def kind(self) -> Kind:
        """Which bars it has."""
        if len(self.tallies) > 1:
            return "several designs" if self._k == 1 else "several designs of a choice"
        return "mean" if self.bounds else "one design"

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods for the bar of a single row."""
        return methods_for(self.kind, self.population or self.target) if self._k == 1 else ()

    def method_for(self, method: str | None) -> str:
        """The method asked for, or the usual one: exact.  Where several designs have no such bar it is the likelihood,
        of a choice hoeffding, which holds for all options at once however direct the answers are."""
        if len(self.tallies) == 1:
            return method or "exact"
        usual = "likelihood" if self._k == 1 else "hoeffding"
        return method if method in methods_for(self.kind) else usual

    def interval(
        self, level: NumberLike = 0.95, method: str | None = None, *, side: Side = "both", prior: Prior = "uniform"
    ) -> Interval:
        """(low, high) of the only row, within its scale; the methods are described in `server_agg.estimates.methods`.

        `side` "lower" or "upper" gives a one-sided bound with the whole error probability at that end.

        >>> from rrcollect import Design
        >>> from server_agg import estimate
        >>> estimate(Tally(Design(1, "1/2"), 20, 0)).interval(method="exact", side="upper")[0]
        0.0
        """
        share, how = self._share, self.method_for(None) if method is None else method
        checked_method(self.kind, how, self.population or self.target)
        if self.bounds is None:
            return share.interval(level, how, side, prior)
        if side != "both" and self.target != "population":
            raise ParameterError(
                "side", side, "'both': for those who answered one-sided bounds of a mean are not known"
            )
        bar = share.interval(level, how, side, prior)
        return bar.with_ends((float(self._scaled(bar.low)), float(self._scaled(bar.high))), target=self.target)

    def _bar_of(self, option: int, level: NumberLike, method: str | None) -> Interval:
        how = self.method_for(None) if method is None else method
        asked = exact_level(level), how
        if asked not in self._made:
            checked_method(self.kind, how, self._bars_of)
            self._made[asked] = self._at_once(*asked)
        return self._made[asked][option]

    @cached_property
    def _made(self) -> dict[tuple[Fraction, str], list[Interval]]:
        return {}

    def _at_once(self, level: Fraction, method: str) -> list[Interval]:
        """The bars of all options, holding at once (rule 3)."""
        if len(self.tallies) == 1 and not self.separate:
            return self.options.intervals(level, method)
        each = 1 - (1 - level) / self._k
        bars = [share.interval(each, method) for share in self._shares]
        return [bar.with_ends((bar.low, bar.high), level=level) for bar in bars]

    def simplex(self) -> list[float]:
        """The shares of options brought into [0, 1] and, but where they are `separate`, adding up to 1: of greatest
        likelihood for one design with one option in an answer, otherwise the nearest such shares.  Biased; for reading,
        not for adding up."""
        if self.separate:
            return [SHARES.clipped(float(value)) for value in self.exact_values]
        if len(self.tallies) == 1:
            return self.options.simplex()
        return [float(value) for value in nearest_shares(self.exact_values)]

    # ---- beside the value ---------------------------------------------------------------------------------------

    def margins(self) -> tuple[Margin, Margin]:
        """The paper's margins of error at 95 %, both with the estimated σ ([HLM17] Section II)."""
        sigma = self.share.standard_error
        return (
            Margin(1.96, 1.96 * sigma, "π̂ is nearly normal (central limit theorem) and σ is nearly its estimate"),
            Margin(
                4.5,
                4.5 * sigma,
                "nothing of the distribution (Chebyshev), but the true σ: with the estimated one the coverage can be "
                "near 0; interval(method='chebyshev') inverts the inequality instead",
            ),
        )

    @property
    def effective_sample_size(self) -> float:
        """How many honest, direct answers would have the same variance, if the clipped value is the prevalence."""
        return float(self.n * self.tally.column.effective_sample_ratio(self.share.exact_clipped))

    def direct(self, level: NumberLike = 0.95) -> DirectAnswers:
        """The standard error and the half-width that n honest answers to a direct question would have given."""
        exact, pi = exact_level(level), self.share.exact_clipped
        error = math.sqrt(self.share.sampling * pi * (1 - pi) / self.n)
        return DirectAnswers(error, normal_quantile((1 - exact) / 2) * error, float(exact))

    def manipulation(self, share: NumberLike) -> float:
        """How far a share of dishonest reporters can move the value, at most: share/|c|."""
        return float(probability("share", share) * self.tally.mechanism.manipulation_factor)

    def interval_with_dishonest(self, share: NumberLike, level: NumberLike = 0.95, method: str = "exact") -> Interval:
        """A bar for the prevalence among honest people.  It holds whatever up to this share of reporters sent.

        m = floor(share·n) answers are taken as dishonest.  Of the n − m honest answers at least N − m and at most N are
        ones.  So the lower end is that of max(0, N − m) ones in n − m answers, the upper end that of min(N, n − m).
        """
        tally, m = self.tally.oriented(), math.floor(probability("share", share) * self.n)
        honest = tally.n - m
        if honest < 2:
            raise ParameterError("share", share, f"a share that leaves two honest reporters of {tally.n} or more")
        few, many = (
            Share(Tally(tally.design, honest, ones), self._bars_of).interval(level, method)
            for ones in (max(0, tally.ones - m), min(tally.ones, honest))
        )
        told = f"holds whatever any {m} of the {tally.n} reporters sent; they are given up"
        if m == 0:
            told = f"{share} of {tally.n} reporters is less than one: nobody is given up"
        warnings = dict.fromkeys(filter(None, (told, few.warning, many.warning)))
        return few.with_ends((few.low, many.high), target=f"{few.target}, honest people", warning="; ".join(warnings))
