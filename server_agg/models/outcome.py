"""The likelihood of randomised answers given covariates, and its derivatives.

With the linear predictor η = zᵀβ (+ offset), s = s(η) by the link, and for an observed answer a
    q0 = P(a | truth 0),  q1 = P(a | truth 1)                      the answer's column of its own design matrix
    L  = q0(1−s) + q1 s                                            its probability
    ℓ  = Σ w log L
    dℓ/dη   = (q1−q0) s'/L
    −d²ℓ/dη² = (dℓ/dη)² − (q1−q0) s''/L                            observed information
    E[−d²ℓ/dη²] = (q1−q0)² s'²/(L(1−L))                            expected information
The last does not depend on which answer was given.  ℓ is not concave in β (see `fitting`).

Rules
1. Every record may have its own design; the matrices are kept once each, and records point to them.
2. L and 1−L are sums of positive terms, computed from exact fractions, so neither loses digits near 0.
3. The link cuts η where s is 1e−300: every quotient is finite, whatever β.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from server_agg.count.tally import answer_array
from server_agg.models.columns import matrix_of, probabilities
from server_agg.models.covariates import COVARIANCES, Averaged, Covariates, Derivatives, Predicted, checked_repeats
from server_agg.models.links import LINKS, Link

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from server_agg.models.columns import Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome(Covariates):
    """Answers with their designs, covariates (one column per coefficient), weights and offset.

    >>> from rrcollect import Design
    >>> model = Outcome.of([1, 0, 1], [[1.0], [1.0], [1.0]], Design("3/4", "3/4"))
    >>> round(model.log_likelihood(np.zeros(1)), 4)          # each answer has probability 1/2 at s = 1/2
    -2.0794
    """

    answers: NDArray[np.uint8]
    table: Floats  # distinct designs, rows of (P(1|0), P(1|1), P(0|0), P(0|1))
    places: NDArray[np.intp]
    offset: Floats | None = None
    link: Link = LINKS["logit"]

    covariances = COVARIANCES
    climbs = "Fisher scoring"

    @classmethod
    def of(cls, answers: Any, covariates: Any, design: Any, repeats: Any = None) -> Outcome:
        """The model of these records, checked; nothing missing is skipped."""
        array = answer_array(answers)
        n = int(array.size)
        table, places = probabilities(design, n)
        given = checked_repeats(n, repeats)
        return cls(answers=array, covariates=matrix_of(covariates, n), table=table, places=places, weights=given)

    @property
    def size(self) -> int:
        """Coefficients: one per column."""
        return self.width

    @property
    def spent(self) -> int:
        """What the coefficients cost of the degrees of freedom."""
        return self.size

    @property
    def designs(self) -> int:
        """Distinct ones."""
        return len(self.table)

    @property
    def origin(self) -> Floats:
        """Where a climb begins: every share is 1/2."""
        return np.zeros(self.size)

    def check(self, columns: Sequence[str], how: Mapping[str, Any]) -> None:
        """Whatever the columns and the way people were drawn."""

    def lifted(self, inverse: Floats) -> Floats:
        """R⁻¹."""
        return inverse

    def stacked(self, inverse: Floats) -> tuple[Floats, Floats]:
        """Of orthonormal covariates: the rows that each η goes by, with their weights, and β of their coefficients."""
        return self.covariates if self.weights is None else self.covariates * np.sqrt(self.weights)[:, None], inverse

    def coefficient_names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Those of the columns."""
        return tuple(columns)

    def eta(self, beta: Floats, rows: slice = slice(None)) -> Floats:
        """The linear predictor of these rows."""
        found = self.covariates[rows] @ beta
        return found if self.offset is None else found + self.offset[rows]

    def _given(self, rows: slice) -> tuple[Floats, Floats, Floats, Floats]:
        """q0, q1 and their complements, for the answers that were observed."""
        yes0, yes1, no0, no1 = self.table.T
        said, at = self.answers[rows].astype(bool), self.places[rows]
        if len(self.table) == 1:
            pick = np.where
            return (
                pick(said, yes0[0], no0[0]), pick(said, yes1[0], no1[0]),
                pick(said, no0[0], yes0[0]), pick(said, no1[0], yes1[0]),
            )  # fmt: skip
        a, b, c, d = yes0[at], yes1[at], no0[at], no1[at]
        return np.where(said, a, c), np.where(said, b, d), np.where(said, c, a), np.where(said, d, b)

    def log_likelihood(self, beta: Floats) -> float:
        """ℓ(β)."""
        total = 0.0
        for rows in self.blocks():
            q0, q1, _, _ = self._given(rows)
            s, t = self.link.shares(self.eta(beta, rows))
            logs = np.log(np.maximum(q0 * t + q1 * s, 1e-320))
            total += float(logs.sum() if self.weights is None else self.weights[rows] @ logs)
        return total

    def eta_derivatives(
        self, eta: Floats, kind: str = "expected", rows: slice = slice(None)
    ) -> tuple[Floats, Floats, Floats]:
        """log L, dℓ/dη and the information about η of these rows at η, before weights."""
        q0, q1, r0, r1 = self._given(rows)
        s, t = self.link.shares(eta)
        likelihood = np.maximum(q0 * t + q1 * s, 1e-320)
        steep = (q1 - q0) * self.link.steep(eta, s, t)
        score = steep / likelihood
        if kind == "expected":
            information = score * (steep / np.maximum(r0 * t + r1 * s, 1e-320))
        else:
            information = score * (score - self.link.bend(eta, s, t))
        return np.log(likelihood), score, information

    def derivatives(self, beta: Floats, kind: str = "expected") -> Derivatives:
        """ℓ, Σ w (dℓ/dη) z and Σ w (information) z zᵀ at β."""
        total, gradient = 0.0, np.zeros(self.size)
        information = np.zeros((self.size, self.size))
        for rows in self.blocks():
            logs, score, curve = self.eta_derivatives(self.eta(beta, rows), kind, rows)
            if self.weights is not None:
                w = self.weights[rows]
                logs, score, curve = w * logs, w * score, w * curve
            z = self.covariates[rows]
            total += float(logs.sum())
            gradient += score @ z
            information += (z * curve[:, None]).T @ z
        return Derivatives(total, gradient, (information + information.T) / 2)

    def scores(self, beta: Floats) -> Floats:
        """w g of every record, g its gradient: one row each."""
        found = np.empty_like(self.covariates)
        for rows in self.blocks():
            _, score, _ = self.eta_derivatives(self.eta(beta, rows), rows=rows)
            w = 1.0 if self.weights is None else self.weights[rows]
            np.multiply(self.covariates[rows], (w * score)[:, None], out=found[rows])
        return found

    def noise(self, beta: Floats, fraction: Floats) -> Floats:
        """Σ f w² v z zᵀ, v unbiased for the variance of dℓ/dη given the truth: P(1 | t)P(0 | t) has the unbiased value
        p00(1−p11) for a 1 and p11(1−p00) for a 0, and between 1 and 0 dℓ/dη moves by (q1−q0)s'/(L(1−L))."""
        total = np.zeros((self.size, self.size))
        for rows in self.blocks():
            q0, q1, r0, r1 = self._given(rows)
            eta = self.eta(beta, rows)
            s, t = self.link.shares(eta)
            both = np.maximum((q0 * t + q1 * s) * (r0 * t + r1 * s), 1e-320)
            w = 1.0 if self.weights is None else self.weights[rows]
            moved = w * (q1 - q0) * self.link.steep(eta, s, t) / both
            z = self.covariates[rows]
            total += (z * (fraction[rows] * r0 * r1 * moved**2)[:, None]).T @ z
        return (total + total.T) / 2

    def outer_products(self, beta: Floats, power: int = 1) -> Floats:
        """Σ w^power g gᵀ, g the gradient of one record: `power` 1 for repeat counts, 2 for sampling weights."""
        total = np.zeros((self.size, self.size))
        for rows in self.blocks():
            _, score, _ = self.eta_derivatives(self.eta(beta, rows), rows=rows)
            w = 1.0 if self.weights is None else self.weights[rows] ** power
            z = self.covariates[rows]
            total += (z * (w * score * score)[:, None]).T @ z
        return (total + total.T) / 2

    def reach(self, step: Floats) -> float:
        """The most any record's η moves by `step`."""
        return max((float(np.abs(self.covariates[rows] @ step).max()) for rows in self.blocks()), default=0.0)

    @property
    def best_information(self) -> Floats:
        """For every distinct design, the information of one answer about η at η = 0."""
        yes = (self.table[:, 0] + self.table[:, 1]) / 2
        found: Floats = ((self.table[:, 1] - self.table[:, 0]) * self.link.curve(np.zeros(1)).steep) ** 2 / (
            yes * (1 - yes)
        )
        return found

    @property
    def most_information(self) -> float:
        """That of all answers together."""
        weights = np.ones(self.n) if self.weights is None else self.weights
        return float(np.bincount(self.places, weights, len(self.table)) @ self.best_information)

    # ---- where there is no maximum ----------------------------------------------------------------------------

    def scales(self) -> Floats:
        """How large the columns are."""
        return np.asarray(np.sqrt(np.mean(self.covariates**2, axis=0)), np.float64)

    def runaway(self, beta: Floats) -> str:
        """What the fitted shares tend to."""
        if self.answers.min() == self.answers.max():
            return f"all {self.n} answers are {int(self.answers[0])}"
        s = self.link.curve(self.eta(beta)).share
        to0, to1 = int((s < 1e-3).sum()), int((s > 1 - 1e-3).sum())
        return f"the fitted prevalence tends to 0 for {to0} and to 1 for {to1} of {self.n} records"

    # ---- shares of people -------------------------------------------------------------------------------------

    def predicted(self, beta: Floats, rows: Floats) -> list[Predicted]:
        """The prevalence for rows of the model matrix."""
        return [Predicted("", self.link, rows @ beta, rows)]

    def averaged(self, beta: Floats, rows: Floats, share: Floats) -> list[Averaged]:
        """The mean prevalence for rows of the model matrix."""
        at = self.link.curve(rows @ beta)
        return [Averaged("", float(share @ at.share), (share * at.steep) @ rows)]

    def slopes(self, beta: Floats, column: int, share: Floats) -> list[Averaged]:
        """The mean derivative of the prevalence by a covariate."""
        at = self.link.curve(self.covariates @ beta)
        steep, own = share * at.steep, float(beta[column])
        slope = (steep * at.bend * own) @ self.covariates
        slope[column] += float(steep.sum())
        return [Averaged("", float(steep.sum()) * own, slope)]
