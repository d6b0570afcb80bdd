"""What stands beside an estimate: its margins, what direct questioning would have given, its total.

They are plain values computed by `Estimate`; each says in words what it assumes or means.
"""

from __future__ import annotations

from dataclasses import dataclass

from server_agg.results.interval import Interval


@dataclass(frozen=True)
class Margin:
    """A half-width ± with what one assumes by using it."""

    multiplier: float
    half_width: float
    assumes: str


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
