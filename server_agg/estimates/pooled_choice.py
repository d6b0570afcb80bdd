"""`PooledChoice`: the shares of all options of a choice that was answered by several designs.

    π̂_j = Σ_d w_d π̂_dj,   w_d ∝ n_d / (n·Var of one option at the share 1/k)

Rules
1. The weights are fixed before the data are seen and are the same for every option: each share is unbiased, and all of
   them add up to 1.
2. One option is a pooled yes/no (`pooled[j]`).  Bars of all options hold at once, each at 1 − α/k.
3. Designs for another number of options are another question and are refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from server_agg.count.tallies import merged
from server_agg.count.tally import Tally, tallies_in
from server_agg.errors import EmptySelection
from server_agg.estimates.choice import named_options
from server_agg.estimates.methods import checked_method, methods_for
from server_agg.estimates.pooled import PooledEstimate, pool
from server_agg.estimates.simplex import nearest_shares
from server_agg.report.result import Result
from server_agg.results.interval import Interval, Misfit, exact_level
from server_agg.results.words import digits_for, percent


def pooled_choice_method(method: str) -> str:
    """The method asked for, or the normal approximation where several designs have no such bar."""
    return method if method in methods_for("several designs of a choice") else "wald"


@dataclass(frozen=True)
class PooledChoice(Result):
    """The shares behind several tallies of one choice.

    >>> from rrcollect.design.sets import SetDesign
    >>> found = pool_choices([Tally(SetDesign(3, 1, "1/2"), 600, [280, 180, 140]),
    ...                       Tally(SetDesign(3, 1, "2/3"), 400, [220, 100, 80])])
    >>> [round(value, 3) for value in found.values], sum(found.exact_values)
    ([0.794, 0.176, 0.03], Fraction(1, 1))
    """

    tallies: tuple[Tally, ...]
    labels: tuple[str, ...] = ()

    tidy = "options"

    def __post_init__(self) -> None:
        if not self.tallies:
            raise EmptySelection("nothing to pool; expected one or more tallies of a choice")
        if len({len(tally) for tally in self.tallies}) > 1:
            listed = sorted({len(tally) for tally in self.tallies})
            raise ParameterError("tallies", f"choices of {listed} options", "choices of the same options")
        object.__setattr__(self, "labels", named_options(self.labels, len(self.tallies[0])))

    def __getitem__(self, option: int) -> PooledEstimate:
        """One option as a pooled yes/no."""
        planning = Fraction(1, len(self.labels))
        return pool((tally[option] for tally in self.tallies), planning=planning)

    @property
    def n(self) -> int:
        """All answers."""
        return sum(tally.n for tally in self.tallies)

    @cached_property
    def options(self) -> tuple[PooledEstimate, ...]:
        """Every option as a pooled yes/no."""
        return tuple(self[option] for option in range(len(self.labels)))

    @cached_property
    def exact_values(self) -> tuple[Fraction, ...]:
        """The unbiased shares, exactly; they add up to 1."""
        return tuple(option.exact_unbiased for option in self.options)

    @property
    def values(self) -> list[float]:
        """The unbiased shares; one may leave [0, 1]."""
        return [float(value) for value in self.exact_values]

    @property
    def standard_errors(self) -> list[float]:
        """One for each option."""
        return [option.unbiased_standard_error for option in self.options]

    def simplex(self) -> list[float]:
        """The nearest shares in [0, 1] that add up to 1; biased."""
        return [float(value) for value in nearest_shares(self.exact_values)]

    @property
    def misfit(self) -> Misfit:
        """Of the option that is the most extreme, its probability times the number of options."""
        worst = min((option.misfit for option in self.options), key=lambda misfit: misfit.tail_probability)
        return Misfit(min(1.0, len(self.labels) * worst.tail_probability), worst.side)

    def intervals(self, level: NumberLike = 0.95, method: str = "wald") -> list[Interval]:
        """hoeffding, chebyshev: guaranteed, all options at once.  wald: approximate."""
        checked_method("several designs of a choice", method)
        each = 1 - (1 - exact_level(level)) / len(self.labels)
        bars = [option.interval(each, method) for option in self.options]
        return [bar.with_ends((bar.low, bar.high), level=exact_level(level)) for bar in bars]

    def as_dict(self, level: NumberLike = 0.95, method: str = "wald") -> dict[str, object]:
        """Inputs and results as plain values, ready for JSON."""
        options = [
            {"label": label, "value": value, "simplex": inside, "standard_error": error, "interval": bar.as_dict()}
            for label, value, inside, error, bar in zip(
                self.labels,
                self.values,
                self.simplex(),
                self.standard_errors,
                self.intervals(level, method),
                strict=True,
            )
        ]
        tallies = [tally.as_dict() for tally in self.tallies]
        return {"n": self.n, "tallies": tallies, "misfit": self.misfit.as_dict(), "options": options}

    numeric = frozenset({1, 2, 3})

    def cells(self) -> tuple[list[str] | None, list[list[str]]]:
        """A line for each option, the largest share first."""
        lines, bars, inside = [], self.intervals(), self.simplex()
        for j in sorted(range(len(bars)), key=lambda j: (-self.exact_values[j], j)):
            digits = digits_for(bars[j].width)
            ends = f"{percent(bars[j].low, digits)}–{percent(bars[j].high, digits)}"
            lines.append([self.labels[j], percent(self.values[j], digits), ends, percent(inside[j], digits)])
        return ["option", "%", "95 %, all at once (wald)", "within 0–100 %"], lines

    def sentence(self, level: NumberLike = 0.95, method: str = "wald") -> str:
        """The largest share with its bar, in one sentence."""
        bars = self.intervals(level, method)
        top = max(range(len(bars)), key=lambda j: self.exact_values[j])
        digits = digits_for(bars[top].width)
        told = (
            f"{self.labels[top]}: {percent(min(max(self.values[top], 0.0), 1.0), digits)} % "
            f"({float(100 * bars[top].level):.10g} % {method} interval for all {len(bars)} options at once "
            f"{percent(bars[top].low, digits)}–{percent(bars[top].high, digits)} %), n = {self.n} by "
            f"{len(self.tallies)} designs; target: the population"
        )
        return "; ".join([told, *([self.misfit.describe()] if self.misfit.told else [])])


def pool_choices(tallies: Iterable[Tally], labels: Iterable[str] = ()) -> PooledChoice:
    """One estimate from tallies of one choice, whatever their designs; equal designs are merged first.

    >>> from rrcollect.design.sets import SetDesign
    >>> once = Tally(SetDesign(3, 1, "1/2"), 600, [280, 180, 140])
    >>> pool_choices([once, once]).n
    1200
    """
    return PooledChoice(merged(tallies_in(tallies)), tuple(labels))
