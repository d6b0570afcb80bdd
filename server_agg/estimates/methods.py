"""The table of interval methods, and the one way from an estimate to its error bar.

Rules
1. A method is one row of `METHODS`: its name, its lower end, whether its coverage is guaranteed, the kinds of estimates
   and the targets it serves, and what it warns of.  No other place checks a method's name.
2. An estimate tells its bars what they need as a `Problem`.  A kind of estimate fills in what it has; methods that need
   something else do not serve that kind.
3. Only lower ends are computed.  The upper end is the lower end of the mirrored problem (the complementary attribute,
   1 − π, or the difference the other way round, b − a), mirrored back, so every result mirrors exactly.

    exact       Clopper-Pearson: {λ : P(N >= observed | λ) > tail}.  Guaranteed.                see `exact`, `finite`
    wilson      score with z: approximate, closed form                                          see `score`
    chebyshev   score with Chebyshev's k, the paper's rigorous route inverted.  Guaranteed, wide.
    hoeffding   π̂ ∓ √(ln(2/α)/2 · Σw²).  Guaranteed for every target: answers are independent.  see `exact`
    likelihood  {π in [0, 1] : 2(ℓ(π̂) − ℓ(π)) <= χ²}: approximate; population only               see `likelihood`
    wald        π̂ ∓ z·SE with the plug-in SE: offered, and warned of
    credible    Bayesian, with a stated prior; population only                                  see `credible`
    mover       Newcombe's square-and-add on the exact bars of the parts, before they are cut to [0, 1].  Approximate,
                seldom below its level.  (Cut bars would not do: at n = 20 their coverage falls to 76 %.)
    guaranteed  the exact bars of k independent parts at level^(1/k) each: all hold at once with probability >= level
    profile     likelihood with everything else maximised; a regression makes its own ends
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple

from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.estimates.credible import Prior, StatedPrior, as_prior, credible_lower
from server_agg.estimates.exact import exact_lower, hoeffding_lower
from server_agg.estimates.finite import finite_lower, sample_lower
from server_agg.estimates.interval import Interval, Side, TargetLike, tail_probability, target_words
from server_agg.estimates.likelihood import deviance_lower
from server_agg.estimates.numerics import (
    ROUNDING_MARGIN,
    chi_squared_quantile,
    exact_level,
    float_below,
    normal_quantile,
    root_level,
)
from server_agg.estimates.score import NO_VARIANCE, VarianceLine, chebyshev_k2, score_lower, wilson_k2

__all__ = ["DIFFERENCE", "METHODS", "TOO_LARGE", "WALD_WARNING", "Method", "Problem", "checked_method",
           "methods_for", "too_large", "unclipped_exact", "wald_interval"]  # fmt: skip

Kind = Literal["one design", "several designs", "repeated draws", "two samples", "weighted records", "strata",
               "difference", "ratio", "coefficient", "plan"]  # fmt: skip

SHARE, DIFFERENCE, ANYWHERE = (0.0, 1.0), (-1.0, 1.0), (-math.inf, math.inf)  # where a bar must lie
LARGEST_EXACT = {True: 10**12, False: 10**9}  # by "no finite size given"; see `too_large`
TOO_LARGE = "n is beyond the reach of exact tails in doubles; Hoeffding's bound was used, which is guaranteed as well"
WALD_WARNING = (
    "plug-in standard error: the true coverage can be far below the level (at p00 = 1 or p11 = 1, near 0); "
    "prefer a guaranteed bar"
)


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
    parts: tuple[tuple[Fraction, Problem], ...] = ()  # the value as Σ weight·(value of an independent part)
    span: tuple[float, float] = SHARE
    covers: str = ""  # what a bar covers, in words; by default the target
    supposes: str = ""  # what a guaranteed bar takes for granted beyond independent answers

    @cached_property
    def line(self) -> VarianceLine:
        """The true variance of the value, by prevalence."""
        return self.variance()

    @property
    def mirror(self) -> int:
        """The mirrored value is this minus the value."""
        return 1 if self.span == SHARE else 0

    def mirrored(self) -> Problem:
        """The mirrored problem; mirroring it again gives the first."""
        tallies = tuple(tally.mirrored() for tally in self.tallies)
        parts = tuple((weight, part.mirrored()) for weight, part in self.parts)
        value = self.mirror - self.value
        return replace(self, value=value, tallies=tallies, parts=parts, variance=self._mirrored_line)

    def _mirrored_line(self) -> VarianceLine:
        return self.line.mirrored()

    def interval(self, level: object, method: str, side: Side = "both", prior: Prior = "uniform") -> Interval:
        """The bar by `method`."""
        row, stated, (least, most) = checked_method(self.kind, method, self.target), as_prior(prior), self.span
        request = Request(exact_level(level), side, tail_probability(level, side), stated)
        low, high = least, most
        if side != "upper":
            low = min(max(row.lower(self, request), least), most)
        if side != "lower":
            other = request._replace(prior=stated.mirrored())
            high = self.mirror - min(max(row.lower(self.mirrored(), other), least), most)
        return Interval(
            (min(low, high), high),
            method=method,
            level=request.level,
            target=self.covers or target_words(self.target),
            guaranteed=row.guaranteed,
            side=side,
            warning=row.warning(self, request) or (self.supposes if row.guaranteed else ""),
        )


class Request(NamedTuple):
    """What was asked for of a bar; `tail` is the error probability left to one end."""

    level: Fraction
    side: Side
    tail: Fraction
    prior: StatedPrior


def too_large(problem: Problem) -> bool:
    """Beyond 10^12 answers SciPy's beta quantiles lose digits; a finite population's double sum is slow before that."""
    return problem.n > LARGEST_EXACT[isinstance(problem.target, str)]


def _exact(problem: Problem, tail: Fraction) -> float:
    if too_large(problem):
        return hoeffding_lower(problem.value, problem.squares, tail)
    (tally,) = problem.tallies
    if problem.target == "population":
        return exact_lower(tally, tail)
    return sample_lower(tally, tail) if problem.target == "sample" else finite_lower(tally, int(problem.target), tail)


def _mover(problem: Problem, request: Request) -> float:
    reaches = []
    for weight, part in problem.parts:
        end = part if weight > 0 else part.mirrored()
        reaches.append(abs(float(weight)) * max(float(end.value) - _exact(end, request.tail), 0.0))
    return float(problem.value) - math.hypot(*reaches)


def _guaranteed(problem: Problem, request: Request) -> float:
    tail, total = (1 - root_level(request.level, len(problem.parts))) / 2, Fraction(0)
    for weight, part in problem.parts:
        end = _exact(part if weight > 0 else part.mirrored(), tail)
        cut = Fraction(min(max(end, 0.0), 1.0))
        total += weight * (cut if weight > 0 else 1 - cut)
    return float_below(total - ROUNDING_MARGIN)


def _by_the_model(problem: Problem, request: Request) -> float:
    raise NotImplementedError(f"a model makes the ends of its {problem.kind} itself")


class Method(NamedTuple):
    """One row; `targets` None: every target."""

    name: str
    lower: Callable[[Problem, Request], float]
    guaranteed: bool
    serves: tuple[Kind, ...]
    targets: tuple[str, ...] | None = None
    warning: Callable[[Problem, Request], str] = lambda problem, request: ""


METHODS = {row.name: row for row in (
    Method("exact", lambda p, r: _exact(p, r.tail), True, ("one design", "plan"),
           warning=lambda p, r: TOO_LARGE if too_large(p) else ""),
    Method("wilson", lambda p, r: score_lower(p.value, p.line, wilson_k2(r.tail)), False,
           ("one design", "repeated draws")),
    Method("chebyshev", lambda p, r: score_lower(p.value, p.line, chebyshev_k2(r.level, r.side)), True,
           ("one design", "several designs", "repeated draws", "plan")),
    Method("hoeffding", lambda p, r: hoeffding_lower(p.value, p.squares, r.tail), True,
           ("one design", "several designs", "repeated draws", "two samples", "weighted records", "strata", "plan")),
    Method("likelihood", lambda p, r: deviance_lower(p.tallies, chi_squared_quantile(2 * r.tail)), False,
           ("one design", "several designs"), ("population",)),
    Method("wald", lambda p, r: float(p.value) - normal_quantile(r.tail) * p.error(), False,
           ("one design", "several designs", "two samples", "weighted records", "strata", "difference", "coefficient",
            "plan"),
           warning=lambda p, r: WALD_WARNING if p.kind != "coefficient" else ""),
    Method("credible", lambda p, r: credible_lower(p.tallies[0], r.tail, r.prior), False, ("one design",),
           ("population",), lambda p, r: f"{r.prior.words}; posterior probability, not coverage"),
    Method("mover", _mover, False, ("difference", "ratio")),
    Method("guaranteed", _guaranteed, True, ("two samples", "difference", "ratio")),
    Method("profile", _by_the_model, False, ("coefficient",)),
)}  # fmt: skip


def methods_for(kind: Kind, target: TargetLike = "population") -> tuple[str, ...]:
    """The names of the methods for a kind of estimate and a target.

    >>> methods_for("strata")
    ('hoeffding', 'wald')
    """
    return tuple(
        row.name for row in METHODS.values() if kind in row.serves and (row.targets is None or target in row.targets)
    )


def checked_method(kind: Kind, name: str, target: TargetLike = "population") -> Method:
    """The row of a method that serves this kind of estimate and this target, or a `ParameterError`."""
    there = methods_for(kind, target)
    if name not in there:
        for_target = f" for the target {target!r}" if name in methods_for(kind) else ""
        allowed = f"one of {', '.join(there)}" if len(there) > 2 else " or ".join(f"'{each}'" for each in there)
        raise ParameterError("method", name, allowed + for_target)
    return METHODS[name]


def unclipped_exact(problem: Problem, level: object) -> tuple[float, float]:
    """The ends of the exact bar before they are cut to [0, 1] (for those who answered they lie in it anyway)."""
    tail = tail_probability(level, "both")
    return _exact(problem, tail), 1.0 - _exact(problem.mirrored(), tail)


def wald_interval(
    value: float, standard_error: float, level: object, covers: str, span: tuple[float, float] = ANYWHERE
) -> Interval:
    """value ∓ z·SE of a number that is not a share."""
    return Problem("coefficient", Fraction(value), lambda: standard_error, covers=covers, span=span).interval(
        level, "wald"
    )
