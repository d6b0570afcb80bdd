"""The lower end of every bar for one tally, by method.  (The upper end is the mirrored problem's: see `bars`.)

For the population N ~ Bin(n, λ): an interval for λ maps affinely, π = (λ − (1−p00))/c, and is cut to [0, 1].

    exact       Clopper-Pearson: {λ : P(N >= observed | λ) > tail}.  Guaranteed.  Other targets: see `finite`.
    wilson      score with z: approximate, closed form                              see `score`
    chebyshev   score with Chebyshev's k, the paper's rigorous route inverted.  Guaranteed, wide.
    hoeffding   λ̂ ∓ √(ln(2/α)/(2n)).  Guaranteed for every target: N is a sum of independent bounded answers, and
                drawing without replacement is dominated in the convex order by drawing with.
    likelihood  {π in [0, 1] : 2(ℓ(π̂) − ℓ(π)) <= χ²}: approximate; population only
    credible    Bayesian, with a stated prior; population only                      see `credible`
    wald        π̂ ∓ z·SE with the plug-in SE: offered, and warned of
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.estimates.credible import Prior, StatedPrior, as_prior, credible_lower
from server_agg.estimates.finite import finite_lower, sample_lower
from server_agg.estimates.interval import OUTWARD, WALD_WARNING, Interval, Side, clipped_interval, tail_of
from server_agg.estimates.likelihood import deviance_lower
from server_agg.estimates.numerics import beta_quantile, chi_squared_quantile, float_below, normal_quantile
from server_agg.estimates.score import chebyshev_k2, score_lower, variance_line, wilson_k2

if TYPE_CHECKING:
    from server_agg.estimates.one import Estimate

__all__ = [
    "GUARANTEED",
    "METHODS",
    "exact_lower",
    "hoeffding_lower",
    "hoeffding_reach",
    "interval",
    "unbiased",
    "unclipped_exact",
]

METHODS = ("exact", "wilson", "chebyshev", "hoeffding", "likelihood", "wald", "credible")
GUARANTEED = frozenset({"exact", "chebyshev", "hoeffding"})
POPULATION_ONLY = frozenset({"likelihood", "credible"})
LARGEST_EXACT = {True: 10**12, False: 10**9}  # by "no finite size given"; see `_too_large`
TOO_LARGE = "n is beyond the reach of exact tails in doubles; Hoeffding's bound was used, which is guaranteed as well"
BETA_ROUNDING = 1 - Fraction(64, 2**52)  # SciPy's beta quantile is good to a few units in the last place


def interval(estimate: Estimate, level: object, method: str, side: Side, prior: Prior) -> Interval:
    """The bar of `estimate` by `method`."""
    if method not in METHODS:
        raise ParameterError("method", method, f"one of {', '.join(METHODS)}")
    if method in POPULATION_ONLY and estimate.target != "population":
        allowed = ", ".join(m for m in METHODS if m not in POPULATION_ONLY)
        raise ParameterError("method", method, f"one of {allowed} for the target {estimate.target!r}")
    tail, tally, stated = tail_of(level, side), estimate.tally.oriented(), as_prior(prior)
    k2 = chebyshev_k2(level, side) if method == "chebyshev" else Fraction(0)
    words = {"wald": WALD_WARNING, "credible": f"{stated.words}; posterior probability, not coverage"}
    if _too_large(estimate):
        words["exact"] = TOO_LARGE

    def lower(tally: Tally, prior: StatedPrior) -> float:
        value = unbiased(tally)
        line = variance_line(tally.design, tally.n, estimate.sampling)
        ends: dict[str, Callable[[], float]] = {
            "exact": lambda: _exact(estimate, tally, tail),
            "wilson": lambda: score_lower(value, line, wilson_k2(tail)),
            "chebyshev": lambda: score_lower(value, line, k2),
            "hoeffding": lambda: hoeffding_lower(tally, tail),
            "likelihood": lambda: deviance_lower([tally], chi_squared_quantile(2 * tail)),
            "wald": lambda: float(value) - normal_quantile(tail) * estimate.standard_error,
            "credible": lambda: credible_lower(tally, tail, prior),
        }
        return ends[method]()

    return clipped_interval(
        lambda: lower(tally, stated),
        lambda: lower(tally.mirrored(), stated.mirrored()),
        method=method,
        level=level,
        target=estimate.target_words,
        guaranteed=method in GUARANTEED,
        side=side,
        warning=words.get(method, ""),
    )


def unclipped_exact(estimate: Estimate, level: object) -> tuple[float, float]:
    """The ends of the exact bar before they are cut to [0, 1] (for those who answered they lie in it anyway)."""
    tally, tail = estimate.tally.oriented(), tail_of(level, "both")
    return _exact(estimate, tally, tail), 1.0 - _exact(estimate, tally.mirrored(), tail)


def _too_large(estimate: Estimate) -> bool:
    """Beyond 10^12 answers SciPy's beta quantiles lose digits; a finite population's double sum is slow before that."""
    return estimate.tally.n > LARGEST_EXACT[isinstance(estimate.target, str)]


def _exact(estimate: Estimate, tally: Tally, tail: Fraction) -> float:
    if _too_large(estimate):
        return hoeffding_lower(tally, tail)
    if estimate.target == "population":
        return exact_lower(tally, tail)
    if estimate.target == "sample":
        return sample_lower(tally, tail)
    return finite_lower(tally, int(estimate.target), tail)


def exact_lower(tally: Tally, tail: Fraction) -> float:
    """Clopper and Pearson's lower end for the population, rounded down; the tally must be oriented (c > 0)."""
    yes = Fraction(0)
    if tally.ones:
        yes = Fraction(beta_quantile(tally.ones, tally.n - tally.ones + 1, tail)) * BETA_ROUNDING
    return float_below((yes - 1 + tally.design.p00) / tally.design.c - OUTWARD)


def hoeffding_lower(tally: Tally, tail: Fraction) -> float:
    """Hoeffding's lower end; the tally must be oriented (c > 0)."""
    return float_below(unbiased(tally) - hoeffding_reach([Fraction(1)], [tally], tail) - OUTWARD)


def hoeffding_reach(weights: Sequence[Fraction], tallies: Sequence[Tally], tail: Fraction) -> Fraction:
    """t with P(Σ w·π̂ − its mean >= t) <= tail: a sum of independent answers, each worth w/(n|c|), rounded up."""
    widths = sum((w * w / (t.n * t.design.c**2) for w, t in zip(weights, tallies, strict=True)), Fraction(0))
    return Fraction(math.sqrt(math.log(1 / tail) / 2 * widths)) * (1 + Fraction(8, 2**52))


def unbiased(tally: Tally) -> Fraction:
    """π̂ = (N/n − (1−p00))/c, exactly."""
    return (Fraction(tally.ones, tally.n) - 1 + tally.design.p00) / tally.design.c
