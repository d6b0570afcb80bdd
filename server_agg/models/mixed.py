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
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rrcollect.design.parameters import whole_number
from rrcollect.errors import ParameterError
from server_agg.errors import NotConverged
from server_agg.estimates.numerics import chi_squared_tail
from server_agg.models.fits import Fit
from server_agg.models.fitting import differences
from server_agg.models.inference import inverse_of
from server_agg.models.regression import fit
from server_agg.results.row import Test
from server_agg.sampling.sample import coded

if TYPE_CHECKING:
    from server_agg.models.columns import Floats
    from server_agg.models.outcome import Outcome
    from server_agg.sampling.sample import Places

NODES = 15
NO_SPREAD = 1e-3  # a σ below this counts as 0
STEPS = 25


class Marginal:
    """ℓ and its gradient in (γ, σ), γ the coefficients of the orthonormal covariates."""

    def __init__(self, model: Outcome, unit: Places, units: int, nodes: int) -> None:
        self.model, self.unit, self.units = model, unit, units
        self.nodes, weights = np.polynomial.hermite.hermgauss(nodes)
        self.log_weights = np.log(weights) + self.nodes**2 + math.log(math.sqrt(2) / math.sqrt(2 * math.pi))
        self.mode = np.zeros(units)

    def _sum(self, values: Floats) -> Floats:
        return np.asarray(np.bincount(self.unit, values, self.units), np.float64)

    def _at(self, eta: Floats, sigma: float, u: Floats) -> tuple[Floats, Floats, Floats]:
        """log L, dℓ/dη and the information of every record, at the cluster's u."""
        return self.model.eta_derivatives(eta + sigma * u[self.unit])

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
) -> Fit:
    """Logistic regression of a randomised answer with an intercept of its own for every cluster.

    `sigma` is the standard deviation of the clusters' intercepts in log-odds, `sigma_error` its standard error (None at
    σ = 0); `intraclass_correlation` is σ²/(σ² + π²/3), of the latent scale (for probit σ²/(σ² + 1)); `no_spread` is the
    test that clusters do not differ (σ = 0), `plain` the same model without the intercepts.

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
        raise NotConverged(f"no maximum was reached (gradient {gradient:.3g}): use more answers, or fewer covariates")
    theta = np.asarray(best.x, np.float64)
    sigma, level, error = abs(float(theta[-1])), -float(best.fun), None
    if sigma < NO_SPREAD or level <= top.log_likelihood:
        sigma, level, gamma, spread = 0.0, top.log_likelihood, top.gamma, top.covariance("observed")
    else:
        theta[-1] = sigma
        information = inverse_of(differences(lambda at: whole.value(at)[1], theta, 1e-4), "observed")
        gamma, spread, error = theta[:-1], information[:-1, :-1], math.sqrt(float(information[-1, -1]))
    statistic = max(0.0, 2 * (level - top.log_likelihood))
    p = chi_squared_tail(statistic, 1) / 2 if statistic > 0 else 1.0
    alike = Test("sigma = 0", "likelihood ratio, half tail,", statistic, 1, p)
    latent = sigma**2 / (sigma**2 + (math.pi**2 / 3 if link == "logit" else 1.0))
    beside = "" if error is None else f" (standard error {error:.4f})"
    told = f"sigma {sigma:.4f}{beside}, intra-class correlation {latent:.3f}, {len(named)} clusters"
    facts = {
        "clusters": len(named), "nodes": nodes, "sigma": sigma, "sigma_error": error, "plain": plain,
        "intraclass_correlation": latent, "no_spread": alike,
    }  # fmt: skip
    return Fit(
        f"{plain.title} with a Random Intercept", top.model.n, plain.names, top.inverse @ gamma,
        {"observed": lambda: spread}, "observed", log_likelihood=level, iterations=int(best.nit), checks=(alike,),
        told=(told,), facts=facts, scale_words=" (log odds, within a cluster)", basis=top.inverse,
    )  # fmt: skip
