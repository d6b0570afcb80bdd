"""What a bar is asked for: targets and sides by their names, `Problem` (an estimate as its bars see it), the edge rule.

Rules
1. An estimate tells its bars what they need as a `Problem`.  A kind of estimate fills in what it has; methods that need
   something else do not serve that kind.
2. Only lower ends are computed.  The upper end is the lower end of the mirrored problem (the complementary attribute,
   1 − π, or the difference the other way round, b − a), mirrored back, so every result mirrors exactly.
3. The edge rule.  A lower end is computed from min(N, ⌊n·p11⌋), an upper one so from max(N, ⌈n(1−p00)⌉): no count past
   what a prevalence in [0, 1] explains.  Where ends rise with N it only widens, so a guaranteed bar stays guaranteed;
   the bar is never empty, and a count that no prevalence explains does not make it narrower.  A value that is not one
   count (pooled, weighted) is cut to 1 instead; a difference has the rule for each of its parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

from rrcollect.design.parameters import whole_number
from rrcollect.design.yes_no import Target
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.estimates.effective import EffectiveSample
from server_agg.estimates.numerics import unbiased
from server_agg.estimates.score import NO_VARIANCE, VarianceLine
from server_agg.results.interval import Side, exact_level

TargetLike = str | int
TARGETS: tuple[str, ...] = get_args(Target)
"""The targets that have a name; a finite population has a size instead."""


def checked_target(target: object) -> str:
    """The target: 'population' or 'sample'."""
    if not isinstance(target, str) or target not in TARGETS:
        raise ParameterError("target", target, "'population' or 'sample'; population=M is one of M people")
    return target


def checked_population(size: object, drawn: int, target: str = "population") -> int | None:
    """The size M of a finite population of which `drawn` people were drawn; None if there is none."""
    if size is None:
        return None
    if target != "population":
        raise ParameterError("population", size, f"nothing where the target is the {target}")
    return whole_number("population", size, minimum=drawn)


def aimed(target: TargetLike) -> dict[str, Any]:
    """A target or the size of a population as `estimate` takes it."""
    return {"target": target} if isinstance(target, str) else {"population": target}


def target_words(target: TargetLike) -> str:
    """The target as a bar names it."""
    return f"population of {target}" if isinstance(target, int) else target


def tail_probability(level: object, side: str) -> Fraction:
    """The error probability left to one end: (1 − level)/2 for a two-sided bar, 1 − level for a one-sided one."""
    if side not in ("both", "lower", "upper"):
        raise ParameterError("side", side, "'both', 'lower' or 'upper'")
    miss = 1 - exact_level(level)
    if side != "both" and miss * 2 > 1:
        raise ParameterError("level", level, "1/2 or more for a one-sided bound")
    return miss / 2 if side == "both" else miss


Kind = Literal["one design", "several designs", "several designs of a choice", "mean", "repeated draws", "two samples",
               "strata", "complex sample", "complex difference", "list experiment", "difference",
               "ratio", "coefficient", "options", "plan"]  # fmt: skip

SHARE, DIFFERENCE, ANYWHERE = (0.0, 1.0), (-1.0, 1.0), (-math.inf, math.inf)  # where a bar must lie


Prior = str | tuple[float, float]
ALLOWED = "'uniform', 'jeffreys', or (a, b) from 0.01 to 1e6 for a Beta(a, b) prior of the prevalence"


class StatedPrior(NamedTuple):
    """A prior that was understood."""

    words: str
    a: float
    b: float
    of_rate: bool  # whether it is a prior of λ, cut to its range, instead of π

    def mirrored(self) -> StatedPrior:
        return StatedPrior(self.words, self.b, self.a, self.of_rate)


def as_prior(prior: object) -> StatedPrior:
    """The prior, or a `ParameterError`."""
    if prior == "uniform":
        return StatedPrior("uniform prior", 1.0, 1.0, False)
    if prior == "jeffreys":
        return StatedPrior("Jeffreys prior", 0.5, 0.5, True)
    if isinstance(prior, tuple) and len(prior) == 2:
        numbers = [x for x in prior if isinstance(x, int | float) and not isinstance(x, bool)]
        if len(numbers) == 2 and all(0.01 <= x <= 1e6 for x in numbers):
            return StatedPrior(
                f"Beta({numbers[0]:g}, {numbers[1]:g}) prior", float(numbers[0]), float(numbers[1]), False
            )
    raise ParameterError("prior", prior, ALLOWED)


class Request(NamedTuple):
    """What was asked for of a bar; `tail` is the error probability left to one end."""

    level: Fraction
    side: Side
    tail: Fraction
    prior: StatedPrior


@dataclass(frozen=True)
class Problem:
    """An estimate as its bars see it.  The weights of the parts add up to 1 for a share and to 0 for a difference."""

    kind: Kind
    value: Fraction  # unbiased
    error: Callable[[], float]  # the standard error
    target: TargetLike = "population"
    n: int = 0
    tallies: tuple[Tally, ...] = ()  # oriented: c > 0
    variance: Callable[[], VarianceLine] = lambda: NO_VARIANCE  # the true one, by prevalence
    squares: Fraction = Fraction(0)  # Hoeffding's Σw²
    parts: tuple[
        tuple[Fraction, Problem], ...
    ] = ()  # the value as Σ weight·(value of a part), independent unless correlated
    span: tuple[float, float] = SHARE
    covers: str = ""  # what a bar covers, in words; by default the target
    unless: str = ""  # why no bar is guaranteed for this target, whatever its method
    sample: EffectiveSample | None = None  # for weighted answers
    freedom: float = math.inf  # of the estimated standard error
    correlation: float = 0.0  # of the two parts
    excess: Fraction = Fraction(0)  # by how much the edge rule lowered the value

    @cached_property
    def line(self) -> VarianceLine:
        """The true variance of the value, by prevalence."""
        return self.variance()

    @property
    def mirror(self) -> Fraction:
        """The mirrored value is this minus the value."""
        return Fraction(sum(self.span)) if all(map(math.isfinite, self.span)) else Fraction(0)

    def mirrored(self) -> Problem:
        """The mirrored problem; mirroring it again gives the first."""
        tallies = tuple(tally.mirrored() for tally in self.tallies)
        parts = tuple((weight, part.mirrored()) for weight, part in self.parts)
        value = self.mirror - self.value
        sample = self.sample and self.sample.mirrored(self.mirror)
        return replace(self, value=value, tallies=tallies, parts=parts, variance=self._mirrored_line, sample=sample)

    def _mirrored_line(self) -> VarianceLine:
        return self.line.mirrored()

    def within(self) -> Problem:
        """The problem that a lower end is computed from, by the edge rule."""
        tallies = tuple(_explained(tally) for tally in self.tallies)
        parts = tuple((w, p.within() if w > 0 else p.mirrored().within().mirrored()) for w, p in self.parts)
        value = sum((weight * part.value for weight, part in parts), Fraction(0)) if parts else self.value
        if self.kind == "one design":
            value = unbiased(tallies[0])
        most = self.span[1]
        excess = max(value - Fraction(most), Fraction(0)) if math.isfinite(most) else Fraction(0)
        return replace(self, value=value - excess, tallies=tallies, parts=parts, excess=excess)


def _explained(tally: Tally) -> Tally:
    """The tally with no more ones than prevalence 1 explains."""
    most = math.floor(tally.n * tally.column.p11)
    return tally if tally.ones <= most else replace(tally, counts=(most,))
