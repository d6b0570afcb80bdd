"""The table of interval methods, and the one way from an estimate to its error bar.

Rules
1. A method is one row of `METHODS`: its name, its lower end, whether its coverage is guaranteed, the kinds of estimates
   and the targets it serves, and what it warns of.  No other place checks a method's name.
2. An estimate tells its bars what they need as a `Problem`.
3. Only lower ends are computed.  The upper end is the lower end of the mirrored problem (the complementary attribute,
   or the difference the other way round), mirrored back, so every result mirrors exactly.

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
from fractions import Fraction
from typing import NamedTuple

from rrcollect.errors import ParameterError
from server_agg.estimates.credible import Prior, as_prior, credible_lower
from server_agg.estimates.exact import exact_lower, hoeffding_lower
from server_agg.estimates.finite import finite_lower, sample_lower
from server_agg.estimates.interval import Interval, Side, TargetLike, tail_probability
from server_agg.estimates.likelihood import deviance_lower
from server_agg.estimates.numerics import (
    ROUNDING_MARGIN,
    chi_squared_quantile,
    exact_level,
    float_below,
    normal_quantile,
    root_level,
)
from server_agg.estimates.problem import ANYWHERE, Kind, Problem, Request
from server_agg.estimates.score import chebyshev_k2, score_lower, wilson_k2

__all__ = ["METHODS", "TOO_LARGE", "WALD_WARNING", "Method", "checked_method", "make_interval", "methods_for",
           "too_large", "unclipped_exact", "wald_interval"]  # fmt: skip

LARGEST_EXACT = {True: 10**12, False: 10**9}  # by "no finite size given"; see `too_large`
TOO_LARGE = "n is beyond the reach of exact tails in doubles; Hoeffding's bound was used, which is guaranteed as well"
WALD_WARNING = (
    "plug-in standard error: the true coverage can be far below the level (at p00 = 1 or p11 = 1, near 0); "
    "prefer a guaranteed bar"
)


# ---- lower ends ---------------------------------------------------------------------------------------------------


def too_large(problem: Problem) -> bool:
    """Beyond 10^12 answers SciPy's beta quantiles lose digits; a finite population's double sum is slow before that."""
    return problem.n > LARGEST_EXACT[isinstance(problem.target, str)]


def _exact_at(problem: Problem, tail: Fraction) -> float:
    if too_large(problem):
        return hoeffding_lower(problem.value, problem.squares, tail)
    (tally,) = problem.tallies
    if problem.target == "population":
        return exact_lower(tally, tail)
    return sample_lower(tally, tail) if problem.target == "sample" else finite_lower(tally, int(problem.target), tail)


def _exact(problem: Problem, request: Request) -> float:
    return _exact_at(problem, request.tail)


def _wilson(problem: Problem, request: Request) -> float:
    return score_lower(problem.value, problem.line, wilson_k2(request.tail))


def _chebyshev(problem: Problem, request: Request) -> float:
    return score_lower(problem.value, problem.line, chebyshev_k2(request.level, request.side))


def _hoeffding(problem: Problem, request: Request) -> float:
    return hoeffding_lower(problem.value, problem.squares, request.tail)


def _likelihood(problem: Problem, request: Request) -> float:
    return deviance_lower(problem.tallies, chi_squared_quantile(2 * request.tail))


def _wald(problem: Problem, request: Request) -> float:
    return float(problem.value) - normal_quantile(request.tail) * problem.error()


def _credible(problem: Problem, request: Request) -> float:
    return credible_lower(problem.tallies[0], request.tail, request.prior)


def _mover(problem: Problem, request: Request) -> float:
    reaches = []
    for weight, part in problem.parts:
        end = part if weight > 0 else part.mirrored()
        reaches.append(abs(float(weight)) * max(float(end.value) - _exact_at(end, request.tail), 0.0))
    return float(problem.value) - math.hypot(*reaches)


def _guaranteed(problem: Problem, request: Request) -> float:
    tail, total = (1 - root_level(request.level, len(problem.parts))) / 2, Fraction(0)
    for weight, part in problem.parts:
        end = _exact_at(part if weight > 0 else part.mirrored(), tail)
        cut = Fraction(min(max(end, 0.0), 1.0))
        total += weight * (cut if weight > 0 else 1 - cut)
    return float_below(total - ROUNDING_MARGIN)


def _by_the_model(problem: Problem, request: Request) -> float:
    raise NotImplementedError(f"a model makes the ends of its {problem.kind} itself")


# ---- warnings -----------------------------------------------------------------------------------------------------


def _if_large(problem: Problem, request: Request) -> str:
    return TOO_LARGE if too_large(problem) else ""


def _plug_in(problem: Problem, request: Request) -> str:
    return WALD_WARNING if problem.kind != "coefficient" else ""


def _posterior(problem: Problem, request: Request) -> str:
    return f"{request.prior.words}; posterior probability, not coverage"


# ---- the table ----------------------------------------------------------------------------------------------------


class Method(NamedTuple):
    """One row; `targets` None: every target."""

    name: str
    lower: Callable[[Problem, Request], float]
    guaranteed: bool
    serves: tuple[Kind, ...]
    targets: tuple[str, ...] | None = None
    warning: Callable[[Problem, Request], str] = lambda problem, request: ""


METHODS = {row.name: row for row in (
    Method("exact", _exact, True, ("one design", "plan"), warning=_if_large),
    Method("wilson", _wilson, False, ("one design", "repeated draws")),
    Method("chebyshev", _chebyshev, True, ("one design", "several designs", "repeated draws", "plan")),
    Method("hoeffding", _hoeffding, True, ("one design", "several designs", "repeated draws", "two samples",
                                           "weighted records", "strata", "plan")),
    Method("likelihood", _likelihood, False, ("one design", "several designs"), ("population",)),
    Method("wald", _wald, False, ("one design", "several designs", "two samples", "weighted records", "strata",
                                  "difference", "coefficient", "plan"), warning=_plug_in),
    Method("credible", _credible, False, ("one design",), ("population",), _posterior),
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
        *most, last = (f"'{each}'" for each in there)
        raise ParameterError("method", name, f"{', '.join(most)} or {last}{for_target}")
    return METHODS[name]


def make_interval(
    problem: Problem, level: object, method: str, side: Side = "both", prior: Prior = "uniform"
) -> Interval:
    """The bar of an estimate by `method`."""
    row = checked_method(problem.kind, method, problem.target)
    request = Request(exact_level(level), side, tail_probability(level, side), as_prior(prior))
    (least, most), other = problem.span, request._replace(prior=request.prior.mirrored())
    low = least if side == "upper" else min(max(row.lower(problem, request), least), most)
    high = most
    if side != "lower":
        high = problem.mirror - min(max(row.lower(problem.mirrored(), other), least), most)
    return Interval(
        (min(low, high), high),
        method=method,
        level=request.level,
        target=problem.covers,
        guaranteed=row.guaranteed,
        side=side,
        warning=row.warning(problem, request) or (problem.supposes if row.guaranteed else ""),
    )


def unclipped_exact(problem: Problem, level: object) -> tuple[float, float]:
    """The ends of the exact bar before they are cut to [0, 1] (for those who answered they lie in it anyway)."""
    tail = tail_probability(level, "both")
    return _exact_at(problem, tail), 1.0 - _exact_at(problem.mirrored(), tail)


def wald_interval(
    value: float, standard_error: float, level: object, covers: str, span: tuple[float, float] = ANYWHERE
) -> Interval:
    """value ∓ z·SE of a number that is not a share."""
    return make_interval(
        Problem("coefficient", Fraction(value), lambda: standard_error, covers, span=span), level, "wald"
    )
