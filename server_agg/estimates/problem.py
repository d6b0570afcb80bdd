"""`Problem`: an estimate as its error bars see it, and `Request`: what was asked for of a bar.

Rules
1. A kind of estimate fills in what it has; what it does not have is left out, and the methods that need it do not serve
   that kind (see `methods`).
2. The mirrored problem is that of the complementary attribute (1 − π), or the difference the other way round (b − a).
   The weights of the parts add up to 1 for a share and to 0 for a difference, so the parts mirror by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple

from server_agg.count.tally import Tally
from server_agg.estimates.credible import StatedPrior
from server_agg.estimates.interval import Side, TargetLike
from server_agg.estimates.score import NO_VARIANCE, VarianceLine

__all__ = ["ANYWHERE", "DIFFERENCE", "SHARE", "Kind", "Problem", "Request"]

Kind = Literal["one design", "several designs", "repeated draws", "two samples", "weighted records", "strata",
               "difference", "ratio", "coefficient", "plan"]  # fmt: skip

SHARE, DIFFERENCE, ANYWHERE = (0.0, 1.0), (-1.0, 1.0), (-math.inf, math.inf)  # where a bar must lie


@dataclass(frozen=True)
class Problem:
    """An estimate as its bars see it; what a kind of estimate does not have is left out."""

    kind: Kind
    value: Fraction  # unbiased
    error: Callable[[], float]  # the standard error
    covers: str = "population"  # the target in words
    target: TargetLike = "population"
    n: int = 0
    tallies: tuple[Tally, ...] = ()  # oriented: c > 0
    variance: Callable[[], VarianceLine] = lambda: NO_VARIANCE  # the true one, by prevalence
    squares: Fraction = Fraction(0)  # Hoeffding's Σw²
    parts: tuple[tuple[Fraction, Problem], ...] = ()  # the value as Σ weight·(value of an independent part)
    span: tuple[float, float] = SHARE
    supposes: str = ""  # what a guaranteed bar takes for granted besides independent answers

    @cached_property
    def line(self) -> VarianceLine:
        """The true variance of the value, by prevalence."""
        return self.variance()

    @property
    def mirror(self) -> int:
        """The mirrored value is this minus the value; the weights of the parts add up to it too."""
        return 1 if self.span == SHARE else 0

    def _mirrored_line(self) -> VarianceLine:
        return self.line.mirrored()

    def mirrored(self) -> Problem:
        """The problem of the complementary attribute."""
        return replace(
            self,
            value=self.mirror - self.value,
            tallies=tuple(tally.mirrored() for tally in self.tallies),
            variance=self._mirrored_line,
            parts=tuple((weight, part.mirrored()) for weight, part in self.parts),
        )


class Request(NamedTuple):
    """What was asked for of a bar; `tail` is the error probability left to one end."""

    level: Fraction
    side: Side
    tail: Fraction
    prior: StatedPrior
