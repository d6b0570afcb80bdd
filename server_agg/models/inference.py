"""What a fitted regression allows to conclude: covariances (each labelled), tests and intervals.

    expected      I⁻¹, I = Σ w D²/(μ(1−μ)) zzᵀ at β̂                 the default
    observed      J⁻¹, J = −∂²ℓ/∂β²                                  what R's optimisers return as the Hessian
    outer         (Σ w ggᵀ)⁻¹                                        outer products of scores, the default of R's `rr`
    sandwich      J⁻¹ (Σ w ggᵀ) J⁻¹                                  holds also if the model is wrong (HC0)
    survey        J⁻¹ V J⁻¹, V of the sums of w g over clusters      for clusters and strata; see `sampling.sample`
With sampling weights the likelihood is a pseudo-likelihood: only the sandwich, with Σ w² ggᵀ, and the survey's are
variances, and there is no likelihood-ratio test; nor is there one in clusters, whose members are not independent.
The survey's errors have clusters − strata degrees of freedom f: bars and tests of one coefficient are Student's, and k
coefficients are tested by F = W(f − k + 1)/(fk) with k and f − k + 1 degrees of freedom [KG90].

A Wald bar is β̂ ∓ z·SE.  A profile bar is {b : 2(ℓ(β̂) − max ℓ given β_j = b) <= χ²}: where the likelihood levels off
above that threshold the bar has no end on that side; it is None, never infinite.  With β_j held, ℓ may have several
maxima: it is climbed from the best of a few starts, which depend on b alone and not on what was looked at before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from server_agg.errors import NoInformation
from server_agg.estimates.numerics import chi_squared_quantile, chi_squared_tail, scipy_special
from server_agg.models.fitting import climb, orthonormal
from server_agg.results.interval import Interval, exact_level

if TYPE_CHECKING:
    from server_agg.models.outcome import Floats, Outcome
    from server_agg.models.regression import LogisticFit

COVARIANCES = ("expected", "observed", "outer", "sandwich", "survey")
STARTS = (0.0, 0.5, 1.0, 1.5, 2.0)  # of the way that the other coefficients could make up for the one that is held
FARTHEST = 60.0  # standard errors, or units of log-odds, looked at for the end of a profile bar


@dataclass(frozen=True)
class Test:
    """A chi-squared test: small p speaks against the hypothesis."""

    hypothesis: str
    method: str
    statistic: float
    freedom: int
    p: float

    __test__ = False  # not a test of this project's own

    def describe(self) -> str:
        """One sentence."""
        return f"{self.hypothesis}: {self.method} χ² = {self.statistic:.4g}, {self.freedom} df, p = {self.p:.3g}"

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return asdict(self)


def chi_squared(hypothesis: str, method: str, statistic: float, freedom: int) -> Test:
    """The test with this statistic."""
    positive = max(statistic, 0.0)
    return Test(hypothesis, method, positive, freedom, chi_squared_tail(positive, freedom) if freedom else 1.0)


def inverse_of(information: Floats, kind: str) -> Floats:
    """I⁻¹."""
    values, vectors = np.linalg.eigh(information)
    if not values[0] > 1e-14 * abs(values[-1]):
        raise NoInformation(
            f"the {kind} information is not positive definite at the estimate: there is no standard error from it; "
            "expected another of " + ", ".join(k for k in COVARIANCES if k != kind)
        )
    root = vectors / np.sqrt(values)
    found: Floats = root @ root.T
    return found


def covariance(fit: LogisticFit, kind: str) -> Floats:
    """The covariance matrix of the orthonormal coefficients γ (see `fitting`) by one of `COVARIANCES`."""
    if kind not in COVARIANCES:
        raise ParameterError("covariance", kind, f"one of {', '.join(COVARIANCES)}")
    if fit.sampling and kind not in ("sandwich", "survey"):
        allowed = "'sandwich' or 'survey': with sampling weights the others are not variances"
        raise ParameterError("covariance", kind, allowed)
    if kind == "survey" and fit.sample is None:
        raise ParameterError("covariance", kind, "another, or clusters, strata or sampling_weights given to the fit")
    if kind == "outer":
        return inverse_of(fit.scaled.outer_products(fit.gamma), kind)
    which = "expected" if kind == "expected" else "observed"
    bread = inverse_of(fit.scaled.derivatives(fit.gamma, which).information, which)
    if kind == "survey" and fit.sample is not None:
        return bread @ fit.sample.covariance(fit.scaled.scores(fit.gamma)) @ bread
    if kind != "sandwich":
        return bread
    found: Floats = bread @ fit.scaled.outer_products(fit.gamma, 2 if fit.sampling else 1) @ bread
    return found


def wald_test(fit: LogisticFit, places: list[int], kind: str) -> Test:
    """That these coefficients are all 0."""
    part = fit.coefficients[places]
    spread = fit.covariance(kind)[np.ix_(places, places)]
    statistic = float(part @ np.linalg.solve(spread, part))
    words, k, f = " = ".join(fit.names[j] for j in places) + " = 0", len(places), fit.freedom(kind)
    if math.isinf(f):
        return chi_squared(words, f"Wald ({kind})", statistic, k)
    if f < k:
        raise ParameterError("names", words, f"at most {f:.0f} coefficients: as many as clusters − strata")
    p = float(scipy_special().fdtrc(k, f - k + 1, max(statistic, 0.0) * (f - k + 1) / (f * k)))
    return Test(words, f"Wald ({kind}, F with {f - k + 1:.0f} df)", statistic, k, p)


def likelihood_ratio(larger: LogisticFit, smaller: LogisticFit) -> Test:
    """Of two nested models for the same answers."""
    if larger.pseudo or smaller.pseudo:
        raise ParameterError(
            "weights", "sampling weights or clusters", "repeat counts or none: a pseudo-likelihood has no ratio test"
        )
    freedom = len(larger.names) - len(smaller.names)
    fault = _not_nested(larger.model, smaller.model, freedom)
    if fault:
        allowed = f"a model of the same answers, weights and designs nested in {larger.names}"
        raise ParameterError("smaller", f"{smaller.names}, {fault}", allowed)
    dropped = [name for name in larger.names if name not in smaller.names]
    words = (" = ".join(dropped) or "no difference") + " = 0"
    return chi_squared(words, "likelihood ratio", 2 * (larger.log_likelihood - smaller.log_likelihood), freedom)


def _not_nested(larger: Outcome, smaller: Outcome, freedom: int) -> str:
    """Why the ratio of the two likelihoods is not a test; nothing if it is one."""
    if not np.array_equal(larger.answers, smaller.answers):
        return "of other answers"
    weights = [np.ones(one.n) if one.weights is None else one.weights for one in (larger, smaller)]
    if not np.array_equal(weights[0], weights[1]):
        return "with other weights"
    if not np.array_equal(larger.table[larger.places], smaller.table[smaller.places]):
        return "by other designs"
    offsets = [np.zeros(one.n) if one.offset is None else one.offset for one in (larger, smaller)]
    if freedom < 0 or not np.array_equal(offsets[0], offsets[1]):
        return "not nested"
    scale = np.maximum(np.abs(larger.covariates).max(axis=0), 1e-300)
    fitted = np.linalg.lstsq(larger.covariates / scale, smaller.covariates, rcond=None)[0]
    left = np.abs(smaller.covariates - larger.covariates / scale @ fitted).max(axis=0)
    return "not nested" if (left > 1e-8 * np.maximum(np.abs(smaller.covariates).max(axis=0), 1e-300)).any() else ""


def profile_interval(fit: LogisticFit, place: int, level: NumberLike) -> Interval[float | None]:
    """The profile-likelihood bar of one coefficient."""
    if fit.pseudo:
        raise ParameterError("method", "profile", "'wald': with sampling weights or clusters there is no likelihood")
    exact = exact_level(level)
    threshold = chi_squared_quantile(Fraction(1 - exact))
    error = float(fit.standard_errors("expected")[place])
    column = fit.model.covariates[:, place]
    others = [j for j in range(len(fit.names)) if j != place]
    rest = fit.model.with_offset(np.zeros(fit.model.n), others)
    rest, inverse = orthonormal(rest, [fit.names[j] for j in others]) if others else (rest, np.zeros((0, 0)))
    value = float(fit.coefficients[place])

    start = np.asarray(np.linalg.solve(inverse, fit.coefficients[others]) if others else [], np.float64)
    along = _along(rest, column)

    def side(sign: float) -> float | None:
        def excess(distance: float) -> float:
            held = replace(rest, offset=column * (value + sign * distance))
            if not others:
                return 2 * (fit.log_likelihood - held.log_likelihood(start)) - threshold
            starts = (start - sign * distance * share * along for share in STARTS)
            top = climb(held, max(starts, key=held.log_likelihood), 100).log_likelihood
            return 2 * (fit.log_likelihood - top) - threshold

        return _end(excess, math.sqrt(threshold) * error)

    ends = {sign: side(sign) for sign in (-1.0, 1.0)}
    low = None if ends[-1.0] is None else value - ends[-1.0]
    high = None if ends[1.0] is None else value + ends[1.0]
    return Interval((low, high), method="profile", level=exact, target=f"coefficient of {fit.names[place]}")


def _along(rest: Outcome, column: Floats) -> Floats:
    """The coefficients of the other covariates that move η as this one does, as far as they can."""
    weighted = rest.covariates if rest.weights is None else rest.covariates * rest.weights[:, None]
    return np.asarray(np.linalg.solve(weighted.T @ rest.covariates, weighted.T @ column), np.float64)


def _end(excess: Callable[[float], float], guess: float) -> float | None:
    """Where `excess` becomes positive, or None if it does not within reach."""
    from scipy.optimize import brentq

    inner, outer = 0.0, guess
    while excess(outer) < 0:
        inner, outer = outer, 1.6 * outer
        if outer > FARTHEST * max(1.0, guess):
            return None
    return float(brentq(excess, inner, outer, xtol=1e-9, rtol=1e-12))
