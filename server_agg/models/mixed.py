"""Logistic regression with a random intercept per cluster, seen through the randomisation.

    P(truth = 1 | z, u) = s(zᵀβ + σu),   u ~ N(0, 1) once per cluster
    ℓ = Σ_c log ∫ Π_i L_i(zᵀβ + σu) φ(u) du
The integral is by adaptive Gauss-Hermite quadrature [PB95]: nodes around the mode of each cluster's integrand, spread
by its curvature there.  With k nodes it is exact for φ times a polynomial of degree 2k − 1.

Rules
1. Coefficients are about people of one cluster.  Those of `fit(clusters=…)` are about the whole population,
   and nearer to 0.  Which of them is wanted is a question, not a matter of taste; only the second takes weights.
2. σ may be 0: then the fit is that of the plain model.  The test of it has half the usual tail (σ = 0 is an edge).
3. The covariance is from the observed information, by differences of the exact gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rrcollect.design.parameters import whole_number
from rrcollect.errors import ParameterError
from server_agg.errors import NotConverged
from server_agg.estimates.numerics import chi_squared_tail
from server_agg.models.fits import Fit
from server_agg.models.inference import inverse_of
from server_agg.models.regression import LikelihoodFit, fit
from server_agg.results.row import Test
from server_agg.sampling.sample import coded

if TYPE_CHECKING:
    from server_agg.models.columns import Floats
    from server_agg.models.outcome import Outcome
    from server_agg.sampling.sample import Places

NODES = 15
NO_SPREAD = 1e-3  # a σ below this counts as 0
STEPS = 25


@dataclass(frozen=True, eq=False, kw_only=True)
class MixedFit(Fit):
    """A fitted model; `sigma` is the standard deviation of the clusters' intercepts, in log-odds."""

    scale_words = " (log odds, within a cluster)"
    plain: LikelihoodFit  # the same without the intercepts
    sigma: float
    sigma_error: float | None  # None at σ = 0
    clusters: int
    nodes: int

    @property
    def intraclass_correlation(self) -> float:
        """σ²/(σ² + π²/3), of the latent scale; for probit σ²/(σ² + 1)."""
        rest = math.pi**2 / 3 if self.plain.model.link.name == "logit" else 1.0
        return self.sigma**2 / (self.sigma**2 + rest)

    @property
    def no_spread(self) -> Test:
        """That clusters do not differ (σ = 0), by the likelihood ratio with half the tail."""
        statistic = max(0.0, 2 * ((self.log_likelihood or 0.0) - self.plain.maximum.log_likelihood))
        p = chi_squared_tail(statistic, 1) / 2 if statistic > 0 else 1.0
        return Test("sigma = 0", "likelihood ratio, half tail,", statistic, 1, p)

    def remarks(self) -> list[str]:
        """The spread of the clusters."""
        error = "" if self.sigma_error is None else f" (standard error {self.sigma_error:.4f})"
        told = f"sigma {self.sigma:.4f}{error}, intra-class correlation {self.intraclass_correlation:.3f}"
        return [f"{told}, {self.clusters} clusters", self.no_spread.sentence()]

    def extras(self) -> dict[str, object]:
        """The model in plain values."""
        return super().extras() | {
            "clusters": self.clusters, "nodes": self.nodes, "sigma": self.sigma,
            "sigma_standard_error": self.sigma_error, "intraclass_correlation": self.intraclass_correlation,
            "no_spread": self.no_spread.as_dict(),
        }  # fmt: skip


class Marginal:
    """ℓ and its gradient in (γ, σ), γ the coefficients of the orthonormal covariates."""

    def __init__(self, model: Outcome, unit: Places, units: int, nodes: int) -> None:
        self.model, self.unit, self.units = model, unit, units
        self.nodes, weights = np.polynomial.hermite.hermgauss(nodes)
        self.log_weights = np.log(weights) + self.nodes**2 + math.log(math.sqrt(2) / math.sqrt(2 * math.pi))
        self.mode = np.zeros(units)

    def _sum(self, values: Floats) -> Floats:
        return np.asarray(np.bincount(self.unit, values, self.units), np.float64)

    def _at(self, eta: Floats, sigma: float, u: Floats, kind: str = "expected") -> tuple[Floats, Floats, Floats]:
        """log L, dℓ/dη and the information of every record, at the cluster's u."""
        return self.model.eta_derivatives(eta + sigma * u[self.unit], kind)

    def _modes(self, eta: Floats, sigma: float) -> tuple[Floats, Floats]:
        """The mode of every cluster's integrand (or near it: any centre is valid), and its spread."""
        u = self.mode
        for _ in range(STEPS):
            _, score, information = self._at(eta, sigma, u)
            curve = 1 + sigma**2 * self._sum(information)
            step = np.clip((sigma * self._sum(score) - u) / curve, -1.5, 1.5)
            u = u + step
            if np.abs(step).max() < 1e-9:
                break
        _, _, information = self._at(eta, sigma, u)
        self.mode = u
        return u, 1 / np.sqrt(1 + sigma**2 * self._sum(information))

    def value(self, theta: Floats) -> tuple[float, Floats]:
        """ℓ and its gradient."""
        gamma, sigma = theta[:-1], float(theta[-1])
        eta = self.model.eta(gamma)
        centre, spread = self._modes(eta, sigma)
        logs, places, slopes = [], [], []
        for node, weight in zip(self.nodes, self.log_weights, strict=True):
            u = centre + math.sqrt(2) * spread * node
            log, score, _ = self._at(eta, sigma, u)
            logs.append(self._sum(log) - u**2 / 2 + np.log(spread) + weight)
            places.append(u)
            slopes.append(score)
        table = np.array(logs)
        top = table.max(axis=0)
        likelihood = np.exp(table - top).sum(axis=0)
        share = np.exp(table - top) / likelihood  # of every node, given the answers
        by_eta, by_sigma = np.zeros(self.model.n), 0.0
        for p, u, score in zip(share, places, slopes, strict=True):
            by_eta += p[self.unit] * score
            by_sigma += float((p * u) @ self._sum(score))
        total = float((top + np.log(likelihood)).sum())
        return total, np.append(self.model.covariates.T @ by_eta, by_sigma)


def fit_mixed(
    answers: Any,
    covariates: Any,
    design: Any,
    clusters: Any,
    *,
    names: Sequence[str] | None = None,
    intercept: bool = True,
    link: Literal["logit", "probit"] = "logit",
    nodes: int = NODES,
) -> MixedFit:
    """Logistic regression of a randomised answer with an intercept of its own for every cluster.

    >>> from rrcollect import Design
    >>> shares, units = np.repeat([1, 2, 5, 7, 8, 3], 10), np.repeat(np.arange(6), 10)
    >>> found = fit_mixed((np.arange(60) % 10 < shares).astype(int), np.empty((60, 0)), Design(1, 1), units)
    >>> round(found["Intercept"].value, 3), round(found.sigma, 3)
    (-0.327, 1.005)
    """
    from scipy.optimize import minimize

    plain = fit(answers, covariates, design, names=names, intercept=intercept, link=link)
    top = plain.maximum
    unit, named = coded("clusters", clusters, top.model.n)
    if not 2 <= len(named) < top.model.n:
        allowed = "two clusters or more, one of them with two people or more"
        raise ParameterError("clusters", f"{len(named)} of {top.model.n} records", allowed)
    whole = Marginal(top.scaled, unit, len(named), whole_number("nodes", nodes, minimum=1))

    def down(theta: Floats) -> tuple[float, Floats]:
        value, gradient = whole.value(theta)
        return -value, -gradient

    starts = [np.append(top.gamma, sigma) for sigma in (0.5, 1.5)]
    ends = [minimize(down, start, jac=True, method="BFGS", options={"gtol": 1e-7}) for start in starts]
    best = min(ends, key=lambda end: float(end.fun))
    gradient = np.abs(best.jac).max()
    if not gradient < 1e-3 * max(1.0, math.sqrt(top.model.n)):
        raise NotConverged(
            f"no maximum was reached (gradient {gradient:.3g}); expected more answers, or fewer covariates"
        )
    theta = np.asarray(best.x, np.float64)
    sigma, level, error = abs(float(theta[-1])), -float(best.fun), None
    if sigma < NO_SPREAD or level <= top.log_likelihood:
        sigma, level, beta, spread = 0.0, top.log_likelihood, top.coefficients, plain.using("observed").covariance
    else:
        theta[-1] = sigma
        information = inverse_of(_information(whole, theta), "observed")
        beta, spread = top.inverse @ theta[:-1], top.inverse @ information[:-1, :-1] @ top.inverse.T
        error = math.sqrt(float(information[-1, -1]))
    return MixedFit(
        f"{plain.title} with a Random Intercept", top.model.n, plain.names, beta, {"observed": spread}, "observed",
        log_likelihood=level, iterations=int(best.nit), plain=plain, sigma=sigma, sigma_error=error,
        clusters=len(named), nodes=nodes,
    )  # fmt: skip


def _information(whole: Marginal, theta: Floats) -> Floats:
    """−∂²ℓ, by central differences of the gradient."""
    found = np.empty((theta.size, theta.size))
    for j in range(theta.size):
        step = np.zeros(theta.size)
        step[j] = 1e-4 * max(1.0, abs(float(theta[j])))
        found[j] = (whole.value(theta - step)[1] - whole.value(theta + step)[1]) / (2 * step[j])
    return np.asarray((found + found.T) / 2, np.float64)
