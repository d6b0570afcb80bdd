"""What stands beside an estimate: its margins, its fit, what direct questioning would have given, its total.

They are plain values computed by `Estimate`; each says in words what it assumes or means.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from server_agg.estimates.interval import Interval
from server_agg.estimates.numerics import exact_level


@dataclass(frozen=True)
class Margin:
    """A half-width ± with what one assumes by using it."""

    multiplier: float
    half_width: float
    assumes: str


@dataclass(frozen=True)
class Misfit:
    """How well the counts fit the design: the chance of so extreme a count at the nearest end of [0, 1].

    True, as a condition, if the two-sided 95 % exact interval, before the edge rule, misses [0, 1] altogether.
    """

    tail_probability: float
    side: str
    approximate: bool = False  # the probability is by the normal law

    def at(self, level: object = 0.95) -> bool:
        """Whether the two-sided exact interval at this level, before the edge rule, misses [0, 1] altogether."""
        return self.tail_probability <= (1 - exact_level(level)) / 2

    def __bool__(self) -> bool:
        return self.at()

    @property
    def told(self) -> bool:
        """Whether it is told beside a value: the count lies beyond what the nearest end gives by even chance."""
        return self.tail_probability < 0.5

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {"flag": bool(self), "tail_probability": self.tail_probability, "side": self.side}

    def describe(self) -> str:
        """The probability in words; before it, if so, that the data do not fit at 95 %."""
        sign = "≈" if self.approximate else "="
        words = f"P(a count so far {self.side}) {sign} {self.tail_probability:.3g} at that end of [0, 1]"
        return f"data do not fit the design: {words}" if self else words


def worst_misfit(each: Iterable[Misfit]) -> Misfit:
    """Of several counts the most extreme one, its probability times their number (Bonferroni).

    >>> worst_misfit([Misfit(0.2, "below"), Misfit(0.01, "above")])
    Misfit(tail_probability=0.02, side='above', approximate=False)
    """
    found = sorted(each, key=lambda misfit: misfit.tail_probability)
    if not found:
        return Misfit(1.0, "below")
    return replace(found[0], tail_probability=min(1.0, len(found) * found[0].tail_probability))


@dataclass(frozen=True)
class DirectAnswers:
    """What n direct and honest answers at the same prevalence would have given."""

    standard_error: float
    half_width: float
    level: float


@dataclass(frozen=True)
class PeopleTotal:
    """How many people have the attribute, of `people`; `interval` is the bar of the share it came from."""

    people: int
    value: float
    standard_error: float
    low: float
    high: float
    interval: Interval
