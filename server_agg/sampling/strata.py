"""Strata and post-stratification: known shares of the population, each with its own answers.

    π̂ = Σ W π̂_h,   v = Σ W² v_h,   W the stratum's share of the population
Stratified (sizes M_h known, n_h drawn without replacement from each): v_h = (1−f)v_pop + f·v_real, f = n_h/M_h.
Post-stratified (shares known, the cell a respondent falls into is not fixed beforehand): the same with v_pop, given the
n_h that turned up.  Everything is an exact fraction; strata may have different designs.

Design effect: v over the variance of one simple random sample of the same answers at the same prevalence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.parameters import NumberLike, fraction, whole_number
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.errors import EmptySelection
from server_agg.estimates.effective import EffectiveSample
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.estimates.exact import squared_widths
from server_agg.estimates.interval import Problem
from server_agg.estimates.methods import interval_of
from server_agg.report.result import UnbiasedResult
from server_agg.results.drawing import Point
from server_agg.results.interval import Interval, Misfit, Side, worst_misfit
from server_agg.results.tables import Table
from server_agg.results.words import bar_note, percent, share_point, share_table
from server_agg.sampling.values import value_ends


@dataclass(frozen=True)
class StratifiedEstimate(UnbiasedResult):
    """The weighted sum of the strata's estimates; `population` is their total size, if known."""

    strata: tuple[tuple[str, Fraction, Estimate], ...]
    kind: str
    population: int | None

    @property
    def n(self) -> int:
        """All answers."""
        return sum(found.tally.n for _, _, found in self.strata)

    @property
    def exact_value(self) -> Fraction:
        """Σ W π̂_h, exactly; unbiased."""
        return sum((share * found.exact_value for _, share, found in self.strata), Fraction(0))

    @property
    def variance(self) -> Fraction:
        """Σ W² v_h, exactly; unbiased for the variance."""
        return sum((share**2 * found.variance for _, share, found in self.strata), Fraction(0))

    @property
    def design_effect(self) -> float | None:
        """The variance over that of a simple random sample of the same answers; None if that is 0."""
        at = self.exact_clipped
        plain = sum((e.tally.design.variance(at) * e.tally.n for _, _, e in self.strata), Fraction(0)) / self.n**2
        return float(self.variance / plain) if plain else None

    def total(self, people: int | None = None) -> tuple[float, float]:
        """(how many people, its standard error); `people` if the population's size is not known already."""
        size = self.population if people is None else whole_number("people", people)
        if size is None:
            raise ParameterError("people", people, "the size of the population the total is for")
        return float(size * self.exact_value), size * self.standard_error

    @property
    def effective_sample(self) -> EffectiveSample:
        """What the strata's shares leave of the n answers."""
        widest = max(1 / abs(found.tally.design.c) for _, _, found in self.strata)
        squares = [float(share**2 / found.n / (found.tally.design.c * widest) ** 2) for _, share, found in self.strata]
        small = sum(a**2 / (found.n - 1) for a, (_, _, found) in zip(squares, self.strata, strict=True))
        ends = value_ends(found.tally.design for _, _, found in self.strata)
        return EffectiveSample(self.n, *ends, 1 / sum(squares), sum(squares) ** 2 / small)

    def interval(self, level: NumberLike = 0.95, method: str = "korn-graubard", *, side: Side = "both") -> Interval:
        """korn-graubard: exact tails with the effective sample size, approximate.  hoeffding: guaranteed, since all
        answers are independent given their strata.  guaranteed: from the exact bars of all strata at once.  wald:
        ∓ z·SE, approximate."""
        problem = Problem(
            "strata",
            self.exact_value,
            lambda: self.standard_error,
            self.population or "population",
            n=self.n,
            parts=tuple((share, found.problem) for _, share, found in self.strata),
            sample=self.effective_sample,
            squares=squared_widths([share for _, share, _ in self.strata], [e.tally for _, _, e in self.strata]),
        )
        return interval_of(problem, level, method, side)

    @property
    def misfit(self) -> Misfit:
        """Of the stratum whose count is the most extreme, its probability times the number of strata (Bonferroni)."""
        return worst_misfit(found.misfit for _, _, found in self.strata)

    numeric = frozenset(range(1, 5))

    def cells(self) -> Table:
        """The strata with their shares of the population, each bar for itself, and all together."""
        each = [(f"{x} ({percent(float(w))} %)", e, e.interval()) for x, w, e in self.strata]
        return share_table([*each, ("all", self, self.interval())], "stratum")

    def notes(self) -> list[str]:
        """What the last bar is for."""
        return [f"all: {self.kind}, {bar_note(self.interval())}"]

    def points(self) -> list[Point]:
        """The strata, and all together."""
        each = [share_point(x, e, e.interval()) for x, _, e in self.strata]
        return [*each, share_point("all", self, self.interval())]

    def caption(self) -> str:
        """What the bars of the picture are."""
        return f"95 % exact bars; all: 95 % {self.interval().method} bar"

    def as_dict(self, level: NumberLike = 0.95, method: str = "korn-graubard") -> dict[str, object]:
        """Inputs and results as plain values, ready for JSON."""
        return {
            "kind": self.kind,
            "strata": [
                {"label": x, "share": str(w), "tally": e.tally.as_dict(), "misfit": e.misfit.as_dict()}
                for x, w, e in self.strata
            ],
            "n": self.n,
            "value": self.value,
            "standard_error": self.standard_error,
            "interval": self.interval(level, method).as_dict(),
            "misfit": self.misfit.as_dict(),
            "design_effect": self.design_effect,
            "population": self.population,
        }


def stratified_estimate(tallies: Mapping[str, Tally], sizes: Mapping[str, int]) -> StratifiedEstimate:
    """Strata of known sizes, people drawn without replacement within each.

    >>> from rrcollect import Design
    >>> design = Design("3/4", "3/4")
    >>> found = stratified_estimate({"a": Tally(design, 100, 40), "b": Tally(design, 50, 30)}, {"a": 3000, "b": 1000})
    >>> found.exact_value
    Fraction(2, 5)
    """
    _same("sizes", tallies, sizes)
    people = {label: whole_number(f"size of {label}", size) for label, size in sizes.items()}
    everybody = sum(people.values())
    strata = tuple((x, Fraction(people[x], everybody), estimate(tallies[x], population=people[x])) for x in tallies)
    return StratifiedEstimate(strata, "stratified", everybody)


def poststratified_estimate(
    tallies: Mapping[str, Tally], shares: Mapping[str, NumberLike], *, population: int | None = None
) -> StratifiedEstimate:
    """Cells of known population shares (any positive numbers; they are scaled to add up to 1).

    >>> from rrcollect import Design
    >>> cells = {"a": Tally(Design("3/4", "3/4"), 100, 40), "b": Tally(Design("3/4", "3/4"), 50, 30)}
    >>> round(poststratified_estimate(cells, {"a": 1, "b": 3}).value, 3)
    0.6
    """
    _same("shares", tallies, shares)
    exact = {label: fraction(f"share of {label}", share) for label, share in shares.items()}
    for label, share in exact.items():
        if share <= 0:
            raise ParameterError(f"share of {label}", shares[label], "a number above 0")
    everything = sum(exact.values())
    strata = tuple((x, exact[x] / everything, estimate(tallies[x])) for x in tallies)
    return StratifiedEstimate(
        strata, "post-stratified", None if population is None else whole_number("population", population)
    )


def _same(name: str, tallies: Mapping[str, Tally], other: Mapping[str, object]) -> None:
    if not tallies:
        raise EmptySelection("no strata; expected one or more")
    if set(tallies) != set(other):
        raise ParameterError(name, sorted(map(str, other)), f"one for each stratum: {sorted(map(str, tallies))}")
