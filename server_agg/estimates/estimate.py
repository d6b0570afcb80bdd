"""`estimate`: from what was counted of one question to its unbiased estimate with every error bar for it.

    yes/no     one share                                           see `share`; by several designs `pooled`
    a choice   the shares of all options, with bars that hold at once
    a number   its mean, low + (high − low)·share: the bit was 1 with a chance that grew evenly with the number;
               in bins its whole distribution: see `distribution`
    several    each option a share of its own, by the people who were asked about it

Options of a choice:
    π̂_j = (N_j/n − q)/c                      unbiased; of sets of a fixed size they add up to 1 exactly
    Cov_ij = (t_ij − μ_iμ_j)/((n−1)c²)       t_ij = t0 + (t1 − t0)(π̂_i + π̂_j), the chance that both are in an answer
    by several designs π̂_j = Σ_d w_d π̂_dj,   w_d ∝ n_d / (n·Var of one option at the share 1/k), fixed before the data

Rules
1. One option is a yes/no estimate (`option(j)`): every bar, target and sentence of it applies as it stands.
2. Two options of one question are dependent.  They are compared, and added up, by the covariance.
3. The bars of options hold at once: each at level 1 − α/k (two options need no correction), then tightened for free:
   no option has more than 1 minus the lower ends of the others, nor less than 1 minus their upper ends.  Where that
   would leave nothing (misfit) the bars stay as they were.
4. The raw value is unbiased and sums onward; the `simplex` value lies in [0, 1], adds up to 1 with the others, is
   biased and has a smaller error.  They are two figures, each by its name.
5. Designs for another number of options are another question and are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, overload

from rrcollect.design.parameters import NumberLike, checked_bounds, fraction, whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.count.tallies import merged
from server_agg.count.tally import Tally, checked_tallies
from server_agg.errors import EmptySelection, TooFewAnswers
from server_agg.estimates.combination import Combination
from server_agg.estimates.counted import Counted
from server_agg.estimates.distribution import Distribution
from server_agg.estimates.found import OfManyOptions
from server_agg.estimates.interval import checked_population, checked_target
from server_agg.estimates.pooled import checked_planning
from server_agg.results.interval import Interval, percent, privacy_words
from server_agg.results.row import SHARES, Row, Scale, named_options


class Estimate(OfManyOptions, Counted):
    """What `estimate` returns: one row for a yes/no or a number, one for each option of a choice.

    >>> e = estimate(Tally(Design("3/4", "3/4"), 1000, 400))
    >>> e.exact_value, round(e.standard_error, 4)
    (Fraction(3, 10), 0.031)
    >>> low, high = e.interval(level=0.95, method="exact")
    >>> print(e.sentence())
    30.0 % (95 % exact interval 23.9–36.2 %), n = 1000, ε = 1.099; target: the population
    """

    first = "option"
    together = "all at once"

    # ---- options of a choice ------------------------------------------------------------------------------------

    def option(self, option: int) -> Estimate:
        """One option alone, as a yes/no estimate."""
        one = tuple(tally[option] for tally in self.tallies)
        planning = self.planning or Fraction(1, max(2, len(self.labels)))
        return Estimate(one, self.target, self.population, labels=(self.labels[option],), planning=planning)

    @property
    def exact_covariance(self) -> tuple[tuple[Fraction, ...], ...]:
        """The unbiased estimate of the covariances of all options for the target."""
        k = range(len(self.labels))
        return tuple(tuple(self.options.covariance(i, j) for j in k) for i in k)

    @property
    def covariance(self) -> list[list[float]]:
        """`exact_covariance` in floats."""
        return [[float(value) for value in row] for row in self.exact_covariance]

    def group(self, options: Iterable[int]) -> Estimate | Combination:
        """The share of several options together: exact where an answer holds one option, else by the covariance."""
        chosen, k = sorted({self._checked(option) for option in options}), len(self.labels)
        if not 0 < len(chosen) < k:
            raise ParameterError("options", chosen, f"1 to {k - 1} of the options")
        if self.options.exclusive:
            column, size = self.tally.column, len(chosen)
            q = 1 - column.p00
            merged_column = Design(1 - size * q, column.p11 + (size - 1) * q)
            ones = sum(self.tally.counts[j] for j in chosen)
            one = Tally(merged_column, self.n, ones, self.tally.mechanism)
            return Estimate((one,), self.target, self.population, labels=("share of the group",))
        name = "share of the group"
        return self.options.combined([Fraction(j in chosen) for j in range(k)], name, SHARES, name)

    def compare(self, first: int, second: int, *, family: int | None = None) -> Combination:
        """The share of one option minus that of another, by the covariance; bar and p are those of one of `family`
        comparisons at once: of all pairs of options unless given, 1 for a pair that was meant beforehand.

        >>> from rrcollect import SetDesign
        >>> e = estimate(Tally(SetDesign(4, 1, "1/2"), 1000, [420, 260, 180, 140]))
        >>> round(e.compare(0, 1).value, 3), e.compare(0, 1).p_value < 1e-6
        (0.48, True)
        """
        if self._checked(first) == self._checked(second):
            raise ParameterError("second", second, "another option")
        many = math.comb(len(self.labels), 2) if family is None else whole_number("family", family, 1)
        return self.options.difference(first, second, (self.labels[first], self.labels[second]), many)

    def mean(self, scores: Sequence[NumberLike]) -> Combination:
        """The mean of scores given to ordered options."""
        weights = [fraction("scores", score) for score in scores]
        if len(weights) != len(self.labels):
            raise ParameterError("scores", list(scores), f"one for each of {len(self.labels)} options")
        scale = Scale(float(min(weights)), float(max(weights)), axis="mean of the scores")
        return self.options.combined(weights, scale.axis, scale, scale.axis)

    def among(self, option: int, options: Iterable[int]) -> Combination:
        """The share of an option among the people of several, such as all to whom the question applies.

        >>> from rrcollect import SetDesign
        >>> e = estimate(Tally(SetDesign(4, 1, "1/2"), 1000, [320, 260, 180, 240]))
        >>> found = e.among(0, [0, 1, 2])                       # the fourth: does not apply
        >>> round(found.value, 3), [round(end, 3) for end in found.interval()]
        (0.59, [0.488, 0.696])
        """
        of = sorted({self._checked(one) for one in options})
        if self._checked(option) not in of or len(of) < 2:
            raise ParameterError("options", of, f"two options or more, {option} among them")
        return self.options.among(option, of, f"{self.labels[option]} among {', '.join(self.labels[j] for j in of)}")

    def _checked(self, option: int) -> int:
        if type(option) is not int or not 0 <= option < self.options.k:
            raise ParameterError("option", option, f"a whole number from 0 to {self.options.k - 1}")
        return option

    # ---- beside the value ---------------------------------------------------------------------------------------

    def total(self, people: int | None = None) -> Combination:
        """How many people: the share times the size of the target (`people` must be given for a population).

        >>> estimate(Tally(Design("3/4", "3/4"), 1000, 400), target="sample").total().value
        300.0
        """
        known = self.population or (self.n if self.target == "sample" else None)
        size = people if known is None else known
        if size is None:
            raise ParameterError("people", people, "the size of the population the total is for")
        if people is not None and whole_number("people", people) != size:
            raise ParameterError("people", people, f"{size}, the size of the target, or nothing")
        size = whole_number("people", size)

        def bar(level: NumberLike, method: str | None) -> Interval:
            found = self.interval(level, method)
            return found.with_ends((size * found.low, size * found.high))

        share, scale = self.share, Scale(0, size, "people", "people")
        row = Row(
            "total", self.n, float(size * share.exact_value), size * share.standard_error, bar, None, self.misfit, scale
        )
        return Combination(row, self.target, self.methods)

    # ---- output -------------------------------------------------------------------------------------------------

    def context(self) -> str:
        """Answers, and the promise of one design or the number of designs."""
        if len(self.tallies) > 1:
            return f"n = {self.n} by {len(self.tallies)} designs"
        return f"n = {self.n}, {privacy_words(self.tally.mechanism)}"

    def design_text(self) -> str:
        """The designs, with the promise of each."""
        each = [f"{tally.design} ({privacy_words(tally.mechanism)})" for tally in self.tallies]
        return f"Answers were randomised by {' and '.join(each)}, and estimates account for it"

    def headline(self) -> Row:
        """The largest share."""
        return self.rows[0] if self.many else max(self.rows, key=lambda row: row.value or 0.0)

    def columns(self) -> dict[str, list[str]]:
        """Of a choice, the shares brought into [0, 1]."""
        if len(self.labels) == 1 or self.many:
            return {}
        return {
            "within 0–100 %": [
                SHARES.text(x, bar.width) for x, bar in zip(self.simplex(), self.intervals(), strict=True)
            ]
        }

    def details(self, level: NumberLike = 0.95) -> list[list[str]]:
        """Of a share by one design all that is known of it; of several designs each on its own."""
        if len(self.labels) > 1:
            return []
        if len(self.tallies) > 1:
            each = [Estimate((tally,), labels=("",)) for tally in self.pooled.oriented if tally.n >= 2]
            return [*super().details(level), *([str(one.tally.design), one.sentence(level)] for one in each)]
        lines = super().details(level)
        if not self.bounds:
            value = f"{percent(self.value, 2)} % (unbiased), {percent(self.clipped, 2)} % (clipped)"
            lines[0] = [self.labels[0], value]
        lines.append(["answers", f"n = {self.n}, ones = {self.tally.ones}"])
        lines.append(["design", f"{self.tally.design}, {privacy_words(self.tally.mechanism)}"])
        return lines if self.bounds else [*lines, *self._beside(level)]

    def _beside(self, level: NumberLike) -> list[list[str]]:
        (normal, chebyshev), direct, worth = self.margins(), self.direct(level), self.effective_sample_size
        told = f"all n asked directly: ±{percent(direct.half_width, 2)} points"
        return [
            ["margins", f"±{percent(normal.half_width, 2)} (1.96σ), ±{percent(chebyshev.half_width, 2)} (4.5σ) points"
             if normal.half_width else "none: all answers are alike, so the estimated σ is 0; see the bars"],
            ["fit", self.misfit.describe()],
            ["privacy cost", (f"as many as {worth:.4g} direct answers; " if worth >= 0.5 else "")
             + (told if direct.half_width else "at an edge no margin is told")],
            ["dishonesty", "each 1 % of dishonest reporters moves it up to "
             f"{percent(self.manipulation('0.01'), 2)} points"],
        ]  # fmt: skip

    def remarks(self) -> list[str]:
        """Whether several designs tell the same story; of a choice, how well its counts fit."""
        if len(self.labels) > 1:
            misfit = [f"all options together: {self.misfit.describe()}"] if self.misfit.told else []
            return [*misfit, *self.found().remarks()] if self.many else misfit
        return [self.pooled.homogeneity.describe()] if len(self.tallies) > 1 else []

    def extras(self) -> dict[str, object]:
        """What was counted, and what stands beside the value."""
        found: dict[str, object] = {
            "tallies": [tally.as_dict() for tally in self.tallies] if not self.many else [],
            "population": self.population,
        }
        if self.bounds:
            found["bounds"] = {"low": str(self.bounds[0]), "high": str(self.bounds[1]), "unit": self.unit}
        if len(self.labels) > 1:
            return {**found, "misfit": self.misfit.as_dict()}
        if len(self.tallies) > 1:
            pooled = self.pooled
            return {**found, "planning": str(pooled.planning), "homogeneity": pooled.homogeneity._asdict()}
        beside = {
            "effective_sample_size": self.effective_sample_size,
            "manipulation_per_percent": self.manipulation("0.01"),
        }
        return found if self.bounds else {**found, "clipped": self.clipped, **beside}


@overload
def estimate(
    tallies: Tally | Iterable[Tally],
    *,
    target: str = "population",
    population: int | None = None,
    bounds: None = None,
    unit: str = "",
    labels: Iterable[str] = (),
    planning: NumberLike | None = None,
) -> Estimate: ...
@overload
def estimate(
    tallies: Tally | Iterable[Tally],
    *,
    target: str = "population",
    population: int | None = None,
    bounds: tuple[NumberLike, NumberLike] | None = None,
    unit: str = "",
    labels: Iterable[str] = (),
    planning: NumberLike | None = None,
) -> Any: ...
def estimate(
    tallies: Tally | Iterable[Tally],
    *,
    target: str = "population",
    population: int | None = None,
    bounds: tuple[NumberLike, NumberLike] | None = None,
    unit: str = "",
    labels: Iterable[str] = (),
    planning: NumberLike | None = None,
) -> Estimate | Distribution:
    """The unbiased estimate from a tally, or from several of one question by different designs, for the population the
    respondents were drawn from ("population"; of M people of whom n were drawn without replacement with `population`),
    or for the people who answered ("sample").  A number's mean needs its range, `bounds`.

    `labels` name the options of a choice.  `planning` is the prevalence at which the weights of several designs are
    best; choose it before seeing the data.

    >>> from rrcollect import SetDesign, optimal_design
    >>> e = estimate(Tally(optimal_design(1), 1000, 400))
    >>> round(e.value, 10), round(e.standard_error, 10)
    (0.2836046586, 0.0335405966)
    >>> print(estimate(Tally(optimal_design(1), 1000, 520), bounds=(0, 40), unit="hours").sentence())
    21.7 hours (95 % exact interval 19.0–24.4 hours), n = 1000, ε = 1; target: the population
    >>> pooled = estimate([Tally(optimal_design(1), 600, 230), Tally(optimal_design(2), 400, 100)])
    >>> round(pooled.value, 4), round(pooled.standard_error, 4)
    (0.196, 0.024)
    >>> print(estimate(Tally(SetDesign(3, 1, "3/4"), 1000, [600, 250, 150]), labels=["a", "b", "c"]))
    option  estimate %   low  high  within 0–100 %
    a             76.0  69.9  81.9            76.0
    b             20.0  14.9  25.5            20.0
    c              4.0   0.0   8.6             4.0
    n = 1000, ε = 1.792; 95 % exact bars for the population, all at once, coverage guaranteed
    """
    found = merged(checked_tallies(tallies))
    if not found:
        raise EmptySelection("nothing was counted: give one tally or more")
    if len({len(tally) for tally in found}) > 1:
        listed = sorted({len(tally) for tally in found})
        raise ParameterError("tallies", f"answers of {listed} counts", "answers to one question with the same options")
    n, k = sum(tally.n for tally in found), len(found[0])
    if n < 2:
        raise TooFewAnswers(n, "the tally" if len(found) == 1 else "the pool")
    if bounds is not None and k > 1:
        return Distribution.of(found, checked_target(target), population, checked_bounds(bounds), unit)
    if (few := min(sum(tally[j].n for tally in found) for j in range(k))) < 2:
        raise TooFewAnswers(few, "some option")
    wanted, people = checked_target(target), checked_population(population, n, target)
    if len(found) > 1 and (wanted != "population" or people):
        raise ParameterError("target", people or target, "'population' where answers are by several designs")
    if bounds is not None and people:
        raise ParameterError("bounds", bounds, "those of a number, for 'population' or 'sample'")
    alone = tuple(labels) or (("mean",) if bounds else ("yes",))
    return Estimate(
        found, wanted, people, checked_bounds(bounds) if bounds else None, unit,
        named_options(labels if k > 1 else alone, found[0].design),
        None if planning is None else checked_planning(planning),
    )  # fmt: skip
