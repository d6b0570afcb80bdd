"""Logistic regression with a random intercept per cluster, seen through the randomisation.

    P(truth = 1 | z, u) = s(zᵀβ + σu),   u ~ N(0, 1) once per cluster
    ℓ = Σ_c log ∫ Π_i L_i(zᵀβ + σu) φ(u) du
The integral is by adaptive Gauss-Hermite quadrature [PB95]: nodes around the mode of each cluster's integrand, spread
by its curvature there.  With k nodes it is exact for φ times a polynomial of degree 2k − 1.

Rules
1. Coefficients are about people of one cluster.  Those of `fit_logistic(clusters=…)` are about the whole population,
   and nearer to 0.  Which of them is wanted is a question, not a matter of taste; only the second takes weights.
2. σ may be 0: then the fit is that of the plain model.  The test of it has half the usual tail (σ = 0 is an edge).
3. The covariance is from the observed information, by differences of the exact gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.errors import ParameterError
from server_agg.errors import NotConverged
from server_agg.estimates.methods import wald_interval
from server_agg.estimates.numerics import chi_squared_tail, normal_tail
from server_agg.models.inference import Test, inverse_of
from server_agg.models.regression import LogisticFit, fit_logistic
from server_agg.models.summary import Coefficient, coefficient_dicts, coefficient_table
from server_agg.report.result import Result
from server_agg.results.interval import Interval
from server_agg.sampling.sample import coded

if TYPE_CHECKING:
    from server_agg.models.columns import Floats
    from server_agg.models.outcome import Outcome
    from server_agg.sampling.sample import Places

NODES = 15
NO_SPREAD = 1e-3  # a σ below this counts as 0
STEPS = 25


@dataclass(frozen=True, eq=False)
class RandomInterceptFit(Result):
    """A fitted model; `sigma` is the standard deviation of the clusters' intercepts, in log-odds."""

    numeric = frozenset(range(1, 7))
    tidy, axis, in_percent = "coefficients", "coefficient (log odds, within a cluster)", False
    plain: LogisticFit  # the same without the intercepts
    coefficients: Floats
    sigma: float
    sigma_error: float | None  # None at σ = 0
    covariance: Floats
    log_likelihood: float
    clusters: int
    nodes: int

    @property
    def names(self) -> tuple[str, ...]:
        """Of the coefficients."""
        return self.plain.names

    def __getitem__(self, name: str) -> float:
        return float(self.coefficients[self.plain.place(name)])

    def standard_error(self, name: str) -> float:
        """Of one coefficient."""
        j = self.plain.place(name)
        return math.sqrt(float(self.covariance[j, j]))

    def interval(self, name: str, level: NumberLike = 0.95) -> Interval:
        """Wald's bar of one coefficient."""
        return wald_interval(self[name], self.standard_error(name), level, f"coefficient of {name}")

    def p_value(self, name: str) -> float:
        """Two-sided, by Wald's z."""
        return min(1.0, 2 * normal_tail(abs(self[name]) / self.standard_error(name)))

    @property
    def intraclass_correlation(self) -> float:
        """σ²/(σ² + π²/3), of the latent scale; for probit σ²/(σ² + 1)."""
        rest = math.pi**2 / 3 if self.plain.model.link.name == "logit" else 1.0
        return self.sigma**2 / (self.sigma**2 + rest)

    @property
    def no_spread(self) -> Test:
        """That clusters do not differ (σ = 0), by the likelihood ratio with half the tail."""
        statistic = max(0.0, 2 * (self.log_likelihood - self.plain.log_likelihood))
        p = chi_squared_tail(statistic, 1) / 2 if statistic > 0 else 1.0
        return Test("sigma = 0", "likelihood ratio, half tail,", statistic, 1, p)

    def _rows(self, level: NumberLike = 0.95) -> list[Coefficient]:
        return [
            (name, self[name], self.standard_error(name), self.p_value(name), self.interval(name, level))
            for name in self.names
        ]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The coefficients at 95 %."""
        return coefficient_table(self._rows(), 0.95, digits=4)

    def notes(self) -> list[str]:
        """The spread of the clusters."""
        error = "" if self.sigma_error is None else f" (standard error {self.sigma_error:.4f})"
        told = f"sigma {self.sigma:.4f}{error}, intra-class correlation {self.intraclass_correlation:.3f}"
        return [f"{told}, {self.clusters} clusters, n = {self.plain.model.n}", self.no_spread.describe()]

    def as_dict(self, level: NumberLike = 0.95) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "model": f"randomised {self.plain.model.link.name} with a random intercept",
            "n": self.plain.model.n,
            "clusters": self.clusters,
            "nodes": self.nodes,
            "log_likelihood": self.log_likelihood,
            "sigma": self.sigma,
            "sigma_standard_error": self.sigma_error,
            "intraclass_correlation": self.intraclass_correlation,
            "no_spread": self.no_spread.as_dict(),
            "coefficients": coefficient_dicts(self._rows(level)),
        }


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


def fit_random_intercept(
    answers: Any,
    covariates: Any,
    design: Any,
    clusters: Any,
    *,
    names: Sequence[str] | None = None,
    intercept: bool = True,
    link: str = "logit",
    nodes: int = NODES,
) -> RandomInterceptFit:
    """Logistic regression of a randomised answer with an intercept of its own for every cluster.

    >>> from rrcollect import Design
    >>> shares, units = np.repeat([1, 2, 5, 7, 8, 3], 10), np.repeat(np.arange(6), 10)
    >>> fit = fit_random_intercept((np.arange(60) % 10 < shares).astype(int), np.empty((60, 0)), Design(1, 1), units)
    >>> round(fit["intercept"], 3), round(fit.sigma, 3)
    (-0.327, 1.005)
    """
    from scipy.optimize import minimize

    plain = fit_logistic(answers, covariates, design, names=names, intercept=intercept, link=link)
    unit, named = coded("clusters", clusters, plain.model.n)
    if not 2 <= len(named) < plain.model.n:
        allowed = "two clusters or more, one of them with two people or more"
        raise ParameterError("clusters", f"{len(named)} of {plain.model.n} records", allowed)
    whole = Marginal(plain.scaled, unit, len(named), whole_number("nodes", nodes, minimum=1))

    def down(theta: Floats) -> tuple[float, Floats]:
        value, gradient = whole.value(theta)
        return -value, -gradient

    starts = [np.append(plain.gamma, sigma) for sigma in (0.5, 1.5)]
    ends = [minimize(down, start, jac=True, method="BFGS", options={"gtol": 1e-7}) for start in starts]
    best = min(ends, key=lambda end: float(end.fun))
    gradient = np.abs(best.jac).max()
    if not gradient < 1e-3 * max(1.0, math.sqrt(plain.model.n)):
        raise NotConverged(
            f"no maximum was reached (gradient {gradient:.3g}); expected more answers, or fewer covariates"
        )
    theta = np.asarray(best.x, np.float64)
    theta[-1] = abs(theta[-1])
    none = theta[-1] < NO_SPREAD or -float(best.fun) <= plain.log_likelihood
    if none:
        spread, error, level = plain.covariance("observed"), None, plain.log_likelihood
        return RandomInterceptFit(plain, plain.coefficients, 0.0, error, spread, level, len(named), nodes)
    information = inverse_of(_information(whole, theta), "observed")
    beta = plain.inverse @ theta[:-1]
    spread = plain.inverse @ information[:-1, :-1] @ plain.inverse.T
    sigma_error = math.sqrt(float(information[-1, -1]))
    return RandomInterceptFit(
        plain, beta, float(theta[-1]), sigma_error, spread, -float(best.fun), len(named), nodes
    )  # fmt: skip


def _information(whole: Marginal, theta: Floats) -> Floats:
    """−∂²ℓ, by central differences of the gradient."""
    found = np.empty((theta.size, theta.size))
    for j in range(theta.size):
        step = np.zeros(theta.size)
        step[j] = 1e-4 * max(1.0, abs(float(theta[j])))
        found[j] = (whole.value(theta - step)[1] - whole.value(theta + step)[1]) / (2 * step[j])
    return np.asarray((found + found.T) / 2, np.float64)
