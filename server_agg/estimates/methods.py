"""The table of interval methods, and the one way from an estimate to its error bar.

Rules
1. A method is one row of `METHODS`: its name, its lower end, whether its coverage is guaranteed, the kinds of estimates
   and the targets it serves, whether the edge rule of `interval` applies (ends rise with N), and what it warns of.
   Only `checked_method` judges whether a method may be asked for; lists of names come from `methods_for`.
2. `interval_of` is the one way from a `Problem` to its bar.  A bar of width 0 says why.

    exact       Clopper-Pearson: {λ : P(N >= observed | λ) > tail}.  Guaranteed.                see `numerics`, `finite`
    wilson      score with z: approximate, closed form                                          see `score`
    chebyshev   score with Chebyshev's k, the paper's rigorous route inverted.  Guaranteed, wide.
    hoeffding   π̂ ∓ √(ln(2/α)/2 · Σw²).  Guaranteed for every target: answers are independent.  see `numerics`
    likelihood  {π in [0, 1] : 2(ℓ(π̂) − ℓ(π)) <= χ²}: approximate; population only               see `likelihood`
    wald        π̂ ∓ z·SE with the plug-in SE: offered, and warned of; t for z where few clusters estimate SE
    credible    Bayesian, with a stated prior; population only                                  see `credible`
    anytime     holds at all n at once: look every day, stop when you like.  Guaranteed; population only  see `numerics`
    korn-graubard  Clopper-Pearson with the effective sample size, for weighted answers: approximate    see `effective`
    score       differences that the score test does not reject; approximate; exact for small counts  see `small_counts`
                and, of people who can be counted, for little noise                          see `finite_pairs`
    mover       Newcombe's square-and-add on the exact bars of the parts, before they are cut to [0, 1].  Approximate,
                seldom below its level; for populations only.  (Cut bars: at n = 20 coverage of 76 %.)  In a complex
                sample the bars of the parts are Korn and Graubard's, and the parts are correlated [Z07].
    guaranteed  the exact bars of k independent parts at level^(1/k) each: all hold at once with probability >= level
    profile     likelihood with everything else maximised; a regression makes its own ends
    adjusted    wald with three answers more, for sums of options: approximate, near its level    see `combination`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from rrcollect.errors import ParameterError
from server_agg.estimates.credible import credible_lower
from server_agg.estimates.effective import korn_graubard_lower
from server_agg.estimates.finite import finite_lower, sample_lower
from server_agg.estimates.finite_pairs import finite_pairs, little_random
from server_agg.estimates.interval import (
    ANYWHERE,
    Kind,
    Prior,
    Problem,
    Request,
    TargetLike,
    as_prior,
    tail_probability,
    target_words,
)
from server_agg.estimates.likelihood import deviance_lower
from server_agg.estimates.numerics import (
    ROUNDING_MARGIN,
    anytime_lower,
    chi_squared_quantile,
    exact_lower,
    float_below,
    hoeffding_lower,
    normal_quantile,
    root_level,
    t_quantile,
)
from server_agg.estimates.score import NO_VARIANCE, chebyshev_k2, score_lower, wilson_k2
from server_agg.estimates.small_counts import score_difference_lower, two_groups
from server_agg.results.interval import Interval, Side, exact_level

LARGEST_EXACT = {True: 10**12, False: 10**9}  # by "no finite size given"; see `too_large`
TOO_LARGE = "n is beyond the reach of exact tails in doubles; Hoeffding's bound was used, which is guaranteed as well"
MORE = 3  # answers that an adjusted bar adds
NO_WIDTH = 1e-12  # below it a bar has no width but rounding
NOTHING_RANDOM = "width 0: everybody was asked and every answer is the truth"
NO_ERROR = "width 0: all answers are alike, so the estimated standard error is 0; the true one need not be"
ALL_EQUAL = "width 0: all scores are equal, so nothing is random"
ALL_CUT = "width 0: the whole bar lies beyond what is possible and is cut to the nearest end"
WALD_WARNING = (
    "plug-in standard error: the true coverage can be far below the level (at p00 = 1 or p11 = 1, near 0); "
    "prefer a guaranteed bar"
)
WITH_THE_TRUTH = (
    "if weights go with the truth (who has the attribute answers less often), coverage can fall far below the level, "
    "the more so the less noise the answers have: 0.76 for direct answers, weights of 4 to 1 and n = 14"
)


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
        low = _exact(end, request.tail) if end.sample is None else _korn_graubard(end, request)
        reaches.append(abs(float(weight)) * max(float(end.value) - low, 0.0))
    square = sum(reach**2 for reach in reaches) - 2 * problem.correlation * math.prod(reaches)
    return float(problem.value) - math.sqrt(max(square, 0.0))


def _guaranteed(problem: Problem, request: Request) -> float:
    tail, total = (1 - root_level(request.level, len(problem.parts))) / 2, Fraction(0)
    for weight, part in problem.parts:
        end = _exact(part if weight > 0 else part.mirrored(), tail)
        cut = Fraction(min(max(end, 0.0), 1.0))
        total += weight * (cut if weight > 0 else 1 - cut)
    return float_below(total - problem.excess - ROUNDING_MARGIN)


def _anytime(problem: Problem, request: Request) -> float:
    miss = 1 - request.level
    if not problem.parts:
        return anytime_lower(problem.tallies[0], miss)
    (_, a), (_, b) = problem.parts
    ends = (min(max(anytime_lower(part.tallies[0], miss / 2), 0.0), 1.0) for part in (a, b.mirrored()))
    return float_below(sum(map(Fraction, ends)) - 1 - ROUNDING_MARGIN)


def _korn_graubard(problem: Problem, request: Request) -> float:
    if problem.sample is None:
        raise NotImplementedError(f"{problem.kind} without an effective sample size")
    size = problem.sample.size(float(problem.value + problem.excess), problem.error(), float(request.tail))
    return korn_graubard_lower(problem.sample, problem.value, size, request.tail)


def _unequal(problem: Problem) -> bool:
    """Whether weights may go with the truth: of a sample of the population, if they are unequal."""
    if problem.kind != "complex sample" or problem.sample is None or problem.target != "population":
        return False
    return problem.sample.kish < problem.sample.n * (1 - 1e-9)


def _by_the_model(problem: Problem, request: Request) -> float:
    raise NotImplementedError(f"a model makes the ends of its {problem.kind} itself")


def adjusted(problem: Problem) -> tuple[float, float]:
    """The value of a sum of options and its error with `MORE` answers added, half of them at each end of an answer."""
    if problem.sample is None:
        raise NotImplementedError(f"{problem.kind} without the ends of an answer")
    n, low, high = problem.n, float(problem.sample.least), float(problem.sample.most)
    middle, reach, raw = (low + high) / 2, (high - low) / 2, float(problem.value)
    value = (n * raw + MORE * middle) / (n + MORE)
    spread = n * (n * problem.error() ** 2 + (raw - value) ** 2) + MORE * (reach**2 + (middle - value) ** 2)
    return value, math.sqrt(spread) / (n + MORE)


def _adjusted(problem: Problem, request: Request) -> float:
    value, error = adjusted(problem)
    return value - normal_quantile(request.tail) * error


def _score(problem: Problem, request: Request) -> float:
    """By the law of the target: the normal one, or exactly; guaranteed where neither is at hand."""
    if problem.target == "population" or not little_random(two_groups(problem)):
        return score_difference_lower(problem, request)
    (_, a), (_, b) = problem.parts
    table = finite_pairs(a.tallies[0], b.tallies[0], (a.target, b.target))
    if table is None:
        return _guaranteed(problem.within(), request)
    kept = table[0][table[1] >= float(2 * request.tail)]
    return float(kept.min()) - float(ROUNDING_MARGIN) if kept.size else float(problem.value)


class Method(NamedTuple):
    """One row; `targets` None: every target.  `fewer`: kinds that it serves for fewer targets than the others."""

    name: str
    lower: Callable[[Problem, Request], float]
    guaranteed: bool
    serves: tuple[Kind, ...]
    targets: tuple[str, ...] | None = None
    warning: Callable[[Problem, Request], str] = lambda problem, request: ""
    edge: bool = True  # ends rise with N: the edge rule applies
    fewer: Mapping[Kind, tuple[str, ...]] = MappingProxyType({})

    def takes(self, kind: Kind, target: TargetLike) -> bool:
        """Whether it serves this kind of estimate and this target."""
        targets = self.fewer.get(kind, self.targets)
        return kind in self.serves and (targets is None or target in targets)


MEANS: Mapping[Kind, tuple[str, ...]] = MappingProxyType({"mean": ("population",)})  # see rule 2 of `mean`


METHODS = {row.name: row for row in (
    Method("exact", lambda p, r: _exact(p, r.tail), True, ("one design", "mean", "plan"),
           warning=lambda p, r: TOO_LARGE if too_large(p) else ""),
    Method("wilson", lambda p, r: score_lower(p.value, p.line, wilson_k2(r.tail)), False,
           ("one design", "mean", "repeated draws"), fewer=MEANS),
    Method("chebyshev", lambda p, r: score_lower(p.value, p.line, chebyshev_k2(r.level, r.side)), True,
           ("one design", "several designs", "several designs of a choice", "mean", "repeated draws", "plan"),
           fewer=MEANS),
    Method("hoeffding", lambda p, r: hoeffding_lower(p.value, p.squares, r.tail), True,
           ("one design", "several designs", "several designs of a choice", "mean", "repeated draws", "two samples",
            "strata", "complex sample", "list experiment", "options", "plan")),
    Method("likelihood", lambda p, r: deviance_lower(p.tallies, chi_squared_quantile(2 * r.tail)), False,
           ("one design", "several designs", "mean"), ("population",)),
    Method("wald", lambda p, r: float(p.value) - t_quantile(r.tail, p.freedom) * p.error(), False,
           ("one design", "several designs", "several designs of a choice", "mean", "two samples", "strata",
            "complex sample", "complex difference", "list experiment", "difference", "coefficient", "options", "plan"),
           warning=lambda p, r: WALD_WARNING if p.kind != "coefficient" else "", edge=False, fewer=MEANS),
    Method("credible", lambda p, r: credible_lower(p.tallies[0], r.tail, r.prior), False, ("one design", "mean"),
           ("population",), lambda p, r: f"{r.prior.words}; posterior probability, not coverage", False),
    Method("korn-graubard", _korn_graubard, False, ("strata", "complex sample"),
           warning=lambda p, r: WITH_THE_TRUTH if _unequal(p) else ""),
    Method("score", _score, False, ("difference",), edge=False),
    Method("anytime", _anytime, True, ("one design", "mean", "difference", "plan"), ("population",)),
    Method("mover", _mover, False, ("difference", "ratio", "complex difference"), ("population",)),
    Method("guaranteed", _guaranteed, True, ("two samples", "strata", "difference", "ratio")),
    Method("profile", _by_the_model, False, ("coefficient",)),
    Method("adjusted", _adjusted, False, ("options",)),
)}  # fmt: skip


def methods_for(kind: Kind, target: TargetLike = "population") -> tuple[str, ...]:
    """The names of the methods for a kind of estimate and a target.

    >>> methods_for("strata"), methods_for("mean", "sample")
    (('hoeffding', 'wald', 'korn-graubard', 'guaranteed'), ('exact', 'hoeffding'))
    """
    return tuple(row.name for row in METHODS.values() if row.takes(kind, target))


def checked_method(kind: Kind, name: str, target: TargetLike = "population") -> Method:
    """The row of a method that serves this kind of estimate and this target, or a `ParameterError`."""
    there = methods_for(kind, target)
    if name not in there:
        for_target = f" for the target {target!r}" if name in methods_for(kind) else ""
        allowed = f"one of {', '.join(there)}" if len(there) > 2 else " or ".join(f"'{each}'" for each in there)
        raise ParameterError("method", name, allowed + for_target)
    return METHODS[name]


def interval_of(
    problem: Problem, level: object, method: str, side: Side = "both", prior: Prior = "uniform"
) -> Interval:
    """The bar of the problem by `method`."""
    row, stated, (least, most) = checked_method(problem.kind, method, problem.target), as_prior(prior), problem.span
    request = Request(exact_level(level), side, tail_probability(level, side), stated)

    def lower(one: Problem, asked: Request) -> float:
        return min(max(row.lower(one.within() if row.edge else one, asked), least), most)

    low, high = least, most
    if side != "upper":
        low = lower(problem, request)
    if side != "lower":
        high = problem.mirror - lower(problem.mirrored(), request._replace(prior=stated.mirrored()))
    warnings = [row.warning(problem, request) or (problem.unless if row.guaranteed else "")]
    if high - low < NO_WIDTH:
        warnings.append(_why_no_width(problem))
    return Interval(
        (min(low, high), high),
        method=method,
        level=request.level,
        target=problem.covers or target_words(problem.target),
        guaranteed=row.guaranteed and not problem.unless,
        side=side,
        warning="; ".join(words for words in warnings if words),
    )


def _why_no_width(problem: Problem) -> str:
    sample, (least, most) = problem.sample, problem.span
    if sample is not None and sample.least == sample.most:
        return ALL_EQUAL
    if problem.error() == 0 and (problem.kind != "options" or least <= problem.value <= most):
        nothing = problem.tallies and problem.line == NO_VARIANCE
        return NOTHING_RANDOM if nothing else NO_ERROR
    return ALL_CUT


def unclipped_exact(problem: Problem, level: object) -> tuple[float, float]:
    """The ends of the exact bar before they are cut to [0, 1] (for those who answered they lie in it anyway)."""
    tail = tail_probability(level, "both")
    return _exact(problem, tail), 1.0 - _exact(problem.mirrored(), tail)


def wald_interval(
    value: float,
    standard_error: float,
    level: object,
    covers: str,
    span: tuple[float, float] = ANYWHERE,
    *,
    freedom: float = math.inf,
) -> Interval:
    """value ∓ z·SE (or t·SE) of a number that is not a share; `span`, if given, is (−x, x)."""
    problem = Problem("coefficient", Fraction(value), lambda: standard_error, covers=covers, span=span, freedom=freedom)
    return interval_of(problem, level, "wald")
