"""What the maximum of a likelihood allows to conclude: covariances (each labelled), the ratio test, profile bars.

    expected      I⁻¹, I = Σ w D²/(μ(1−μ)) zzᵀ at β̂                 the default
    observed      J⁻¹, J = −∂²ℓ/∂β²                                  what R's optimisers return as the Hessian
    outer         (Σ w ggᵀ)⁻¹                                        outer products of scores, the default of R's `rr`
    sandwich      J⁻¹ (Σ w ggᵀ) J⁻¹                                  holds also if the model is wrong (HC0)
    survey        J⁻¹ V J⁻¹, V of the sums of w g over clusters      for clusters and strata; see `sampling.sample`;
                  in clusters times f/(f − k + 1), f clusters − strata, k coefficients (Stata and R have no factor)
    replicates    Σ s_r (β_r − β̂)(β_r − β̂)ᵀ                          fitted again with the weights of each replicate
Of a population taken in part (f > 0) V shrinks what differs from person to person; the noise of the answers does not
shrink, and J⁻¹(Σ f w² Var(g | truth))J⁻¹ is added to the last two (see `outcome`).
With weights the likelihood is a pseudo-likelihood: only the sandwich, with Σ w² ggᵀ, and the survey's are variances,
and there is no likelihood-ratio test; nor is there one in clusters, whose members are not independent.

A profile bar is {b : 2(ℓ(β̂) − max ℓ given β_j = b) <= χ²}: where the likelihood levels off above that threshold the bar
has no end on that side; it is None, never infinite.  With β_j held, ℓ may have several maxima: it is climbed from the
best of a few starts, which depend on b alone and not on what was looked at before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from server_agg.errors import NoInformation
from server_agg.estimates.numerics import chi_squared_quantile
from server_agg.models.covariates import COVARIANCES
from server_agg.models.fitting import climb, maximise, orthonormal
from server_agg.models.outcome import Outcome
from server_agg.models.sampled import replicate_weights, replicated_df
from server_agg.results.interval import Interval, exact_level

if TYPE_CHECKING:
    from server_agg.models.columns import Floats
    from server_agg.models.options import Options
    from server_agg.sampling.replication import Replicates
    from server_agg.sampling.sample import Sample

STARTS = (0.0, 0.5, 1.0, 1.5, 2.0)  # of the way that the other coefficients could make up for the one that is held
FARTHEST = 60.0  # standard errors, or units of log-odds, looked at for the end of a profile bar


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the likelihood of a model is largest; `sample` is how the people were drawn, where that counts."""

    model: Outcome | Options
    columns: tuple[str, ...]  # of the covariates
    coefficients: Floats
    log_likelihood: float
    iterations: int
    scaled: Outcome | Options  # the same model with orthonormal covariates, see `fitting`
    gamma: Floats  # and its coefficients: β = R⁻¹γ
    inverse: Floats  # R⁻¹
    weighted: bool  # whether records stand for people who were not asked
    sample: Sample | None
    replicates: Replicates | None

    @classmethod
    def of(
        cls,
        model: Outcome | Options,
        columns: tuple[str, ...],
        start: Floats | None = None,
        *,
        weighted: bool,
        sample: Sample | None,
        replicates: Replicates | None,
    ) -> Maximum:
        """The maximum, or the error that says why there is none."""
        found, scaled, inverse = maximise(model, columns, start)
        return cls(
            model, columns, inverse @ found.gamma, found.log_likelihood, found.iterations, scaled, found.gamma, inverse,
            weighted, sample, replicates,
        )  # fmt: skip

    @property
    def names(self) -> tuple[str, ...]:
        """Of the coefficients."""
        return self.model.coefficient_names(self.columns)

    @property
    def df(self) -> float:
        """Degrees of freedom of a survey's errors."""
        if self.sample is None:
            return math.inf
        if self.replicates is not None:
            return replicated_df(self.replicates, self.sample, self.model.spent)
        return self.sample.df_of_coefficients(self.model.spent)[0]

    @property
    def triangle(self) -> Floats:
        """R of the covariates."""
        if self.model.size > self.model.width:
            return self.model.triangle()
        return np.asarray(np.linalg.inv(self.inverse), np.float64)

    @property
    def pseudo(self) -> bool:
        """Whether what is maximised is not a likelihood: records are weighted, or not independent."""
        return self.weighted or (self.sample is not None and self.sample.clustered)

    def covariance(self, kind: str) -> Floats:
        """The covariance matrix of the orthonormal coefficients γ (see `fitting`) by one of `COVARIANCES`."""
        if self.weighted and kind not in ("sandwich", "survey", "replicates"):
            raise ParameterError(
                "covariance", kind, "'sandwich' or 'survey': with weights the others are not variances"
            )
        if kind == "survey" and self.sample is None:
            raise ParameterError("covariance", kind, "another, or weights, clusters or strata given to the fit")
        if kind == "replicates" and self.replicates is None:
            raise ParameterError("covariance", kind, "another, or replicates given to the fit")
        if kind == "outer":
            return inverse_of(self.scaled.outer_products(self.gamma), kind)
        which = "expected" if kind == "expected" else "observed"
        bread = inverse_of(self.scaled.derivatives(self.gamma, which).information, which)
        if kind == "survey" and self.sample is not None:
            middle = self.sample.covariance(self.scaled.scores(self.gamma))
            _, factor = self.sample.df_of_coefficients(self.model.spent)
            return np.asarray(bread @ (factor * middle + self._noise(self.sample)) @ bread, np.float64)
        if kind == "replicates" and self.sample is not None and self.replicates is not None:
            found = self._replicated(self.sample, self.replicates)
            return np.asarray(found + bread @ self._noise(self.sample) @ bread, np.float64)
        if kind != "sandwich":
            return bread
        middle = self.scaled.outer_products(self.gamma, 2 if self.weighted else 1)
        return np.asarray(bread @ middle @ bread, np.float64)

    def _noise(self, sample: Sample) -> Floats:
        """What a population taken in part does not take away."""
        if not sample.fraction.any() or not isinstance(self.scaled, Outcome):
            return np.zeros((self.model.size,) * 2)
        return self.scaled.noise(self.gamma, sample.record_fraction)

    def _replicated(self, sample: Sample, replicates: Replicates) -> Floats:
        """From the fits of all replicates."""
        found = []
        for r in range(replicates.count):
            again = replace(self.scaled, weights=replicate_weights(replicates, sample, r))
            top = climb(again, self.gamma)
            if top.verdict != "converged":
                allowed = (
                    f"replicates that each have a fit; number {r} has none: fewer covariates, or covariance='survey'"
                )
                raise ParameterError("replicates", replicates.kind, allowed)
            found.append(top.gamma)
        return replicates.spread(np.array(found), self.gamma)

    def profile(self, place: int, level: NumberLike) -> Interval[float | None]:
        """The profile-likelihood bar of one coefficient."""
        if self.pseudo:
            raise ParameterError("method", "profile", "'wald': with weights or clusters there is no likelihood")
        if not isinstance(self.model, Outcome):
            raise ParameterError("method", "profile", "'wald': a choice has no profile bars")
        exact = exact_level(level)
        threshold = chi_squared_quantile(Fraction(1 - exact))
        way = self.inverse[place]
        error = math.sqrt(float(way @ self.covariance("expected") @ way))
        column = self.model.covariates[:, place]
        others = [j for j in range(len(self.names)) if j != place]
        rest = self.model.only(others)
        rest, inverse = orthonormal(rest, [self.names[j] for j in others]) if others else (rest, np.zeros((0, 0)))
        value = float(self.coefficients[place])
        start = np.asarray(np.linalg.solve(inverse, self.coefficients[others]) if others else [], np.float64)
        along = _along(rest, column)

        def side(sign: float) -> float | None:
            def excess(distance: float) -> float:
                held = replace(rest, offset=column * (value + sign * distance))
                if not others:
                    return 2 * (self.log_likelihood - held.log_likelihood(start)) - threshold
                starts = (start - sign * distance * share * along for share in STARTS)
                top = climb(held, max(starts, key=held.log_likelihood), 100).log_likelihood
                return 2 * (self.log_likelihood - top) - threshold

            return _end(excess, math.sqrt(threshold) * error)

        ends = {sign: side(sign) for sign in (-1.0, 1.0)}
        low = None if ends[-1.0] is None else value - ends[-1.0]
        high = None if ends[1.0] is None else value + ends[1.0]
        return Interval((low, high), method="profile", level=exact, target=f"coefficient of {self.names[place]}")


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


def not_nested(larger: Outcome | Options, smaller: Outcome | Options, df: int) -> str:
    """Why the ratio of the two likelihoods is not a test; nothing if it is one."""
    if not np.array_equal(larger.answers, smaller.answers):
        return "of other answers"
    weights = [np.ones(one.n) if one.weights is None else one.weights for one in (larger, smaller)]
    if not np.array_equal(weights[0], weights[1]):
        return "with other weights"
    if not np.array_equal(larger.table[larger.places], smaller.table[smaller.places]):
        return "by other designs"
    offsets = [np.zeros(one.n) if one.offset is None else one.offset for one in (larger, smaller)]
    if df < 0 or larger.link.name != smaller.link.name or not np.array_equal(offsets[0], offsets[1]):
        return "not nested"
    scale = np.maximum(np.abs(larger.covariates).max(axis=0), 1e-300)
    fitted = np.linalg.lstsq(larger.covariates / scale, smaller.covariates, rcond=None)[0]
    left = np.abs(smaller.covariates - larger.covariates / scale @ fitted).max(axis=0)
    return "not nested" if (left > 1e-8 * np.maximum(np.abs(smaller.covariates).max(axis=0), 1e-300)).any() else ""


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
