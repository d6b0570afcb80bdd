"""The likelihood of randomised answers to a choice, given covariates: shares of k options by a multinomial or an
ordinal law.

With Q_j = P(the answer | truth j) and the shares s(η) of the k options, η = (η_1, …, η_{k−1}) linear in z,
    L = Σ_j Q_j s_j,       g = ∂log L/∂η,       h = −∂²log L/∂η²                       one answer
    multinomial    s_j = e^η_j/Σ e^η, η = 0 for the first option;      τ_j = Q_j s_j/L, the chance that the truth is j:
                   g = τ − s,          h = (diag s − ssᵀ) − (diag τ − ττᵀ)
    ordinal        P(truth ≤ j) = F(η_j), η_j = θ_j − xᵀβ;             d_j = Q_j − Q_{j+1}, L = Q_k + Σ F_j d_j:
                   g_j = F'_j d_j/L,   h = ggᵀ − diag(F''_j d_j/L)
A direct answer has one Q_j that is not 0: the laws are those of statsmodels' MNLogit and OrderedModel.

Rules
1. η_j = zᵀB_j.  The coefficients γ are B itself (multinomial) or thresholds and one slope for each covariate (ordinal):
   vec B = Cγ, and all derivatives are those of B, times C.
2. The climb (see `fitting`) goes by h where that is positive definite, and by Σ ggᵀ where it is not.
3. Thresholds out of order have no likelihood: −∞.
4. Two options are the yes/no of `outcome`: the same coefficients to the last digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.mechanism import checked_design
from rrcollect.errors import ParameterError
from server_agg.count.tally import answer_array
from server_agg.models.columns import each_its_own, matrix_of, probabilities
from server_agg.models.covariates import COVARIANCES, Averaged, Covariates, Derivatives, Predicted, checked_repeats
from server_agg.models.fits import INTERCEPT
from server_agg.models.links import LINKS, Law

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server_agg.models.columns import Floats

NUMBERS = 24_000  # of a block of covariates
STEP = 1e-4  # standard deviations, for the slope of a share


@dataclass(frozen=True, eq=False, kw_only=True)
class Options(Covariates):
    """Answers by their chances given each truth (truths by records), covariates with an intercept first, weights.

    >>> from rrcollect import SetDesign
    >>> from server_agg.models.links import LAWS
    >>> model = Options.of(["100", "010", "001"], np.ones((3, 1)), SetDesign(3, 1, "1/2"), LAWS["multinomial", "logit"])
    >>> round(model.log_likelihood(np.zeros(2)), 4)          # each answer has probability 1/3 at equal shares
    -3.2958
    """

    chances: Floats
    link: Law
    labels: tuple[str, ...]
    designs: int
    _seen: dict[bytes, Derivatives] = field(init=False, default_factory=dict, repr=False)

    covariances = COVARIANCES[1:]
    climbs = "Newton's steps"
    offset = None
    places = slice(None)

    @classmethod
    def of(
        cls, answers: Any, covariates: Any, design: Any, link: Law, *, labels: Sequence[str] = (), repeats: Any = None
    ) -> Options:
        """The model of these records, checked.  Yes and no may have a design for each record, a choice has one."""
        if each_its_own(design):
            said = answer_array(answers).astype(bool)[:, None]
            table, places = probabilities(design, said.size)
            chances, designs = np.where(said, table[places, :2], table[places, 2:]), len(table)
        else:
            chances, designs = checked_design(design).chances(answers), 1
        n, truths = chances.shape
        named = tuple(labels) or (("no", "yes") if truths == 2 else tuple(f"option {j + 1}" for j in range(truths)))
        if len(named) != truths or len(set(named)) != truths:
            raise ParameterError("labels", list(labels), f"{truths} different names, one per option")
        given = checked_repeats(n, repeats)
        turned = np.ascontiguousarray(chances.T)
        z = matrix_of(covariates, n)
        return cls(covariates=z, weights=given, chances=turned, link=link, labels=named, designs=designs)

    # ---- what the likelihood ratio compares -------------------------------------------------------------------

    @property
    def answers(self) -> Floats:
        """The evidence: a row per record."""
        return self.chances.T

    @property
    def table(self) -> Floats:
        """The same: the chances know the designs."""
        return self.chances.T

    # ---- coefficients -----------------------------------------------------------------------------------------

    @property
    def many(self) -> int:
        """η of one record."""
        return len(self.chances) - 1

    @property
    def spread(self) -> Floats:
        """C of rule 1."""
        return self.link.spread(self.many, self.width)

    @property
    def size(self) -> int:
        """Coefficients."""
        return int(self.spread.shape[1])

    @property
    def spent(self) -> int:
        """What the coefficients of one η cost of the degrees of freedom: each has scores of its own (multinomial), or
        they share slopes (ordinal)."""
        return self.width if self.size == self.many * self.width else self.size

    @property
    def origin(self) -> Floats:
        """Where a climb begins: equal shares."""
        return self.link.origin(self.many, self.width)

    def check(self, columns: Sequence[str], how: Mapping[str, Any]) -> None:
        """Thresholds take the place of the intercept.  A population taken in part is refused: the variance of g given
        the truth, which does not shrink, is a sum over all answers that there are."""
        if "ordinal" in self.link.name and columns[0] != INTERCEPT:
            raise ParameterError("intercept", False, "True for an ordinal outcome: thresholds take its place")
        if how.get("population") is not None:
            allowed = "nothing for a choice: how much its noise adds is not known"
            raise ParameterError("population", "given", allowed)

    def lifted(self, inverse: Floats) -> Floats:
        """R⁻¹ for each η, seen from γ: R⁻¹ is triangular, so slopes that are equal stay so."""
        spread = self.spread
        return np.asarray(np.linalg.pinv(spread) @ np.kron(np.eye(self.many), inverse) @ spread, np.float64)

    def stacked(self, inverse: Floats) -> tuple[Floats, Floats]:
        """As `Outcome.stacked`: one η below the other, made orthonormal again."""
        z = self.covariates if self.weights is None else self.covariates * np.sqrt(self.weights)[:, None]
        rows = np.vstack([z @ part for part in self.spread.reshape(self.many, self.width, -1)])
        q, triangle = np.linalg.qr(rows)
        return q, np.asarray(inverse @ np.linalg.inv(triangle), np.float64)

    def coefficient_names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Options and columns, or columns and thresholds."""
        return tuple(self.link.named(self.labels, columns))

    def _eta(self, gamma: Floats, rows: Floats) -> Floats:
        return np.asarray((self.spread @ gamma).reshape(self.many, self.width) @ rows.T, np.float64)

    # ---- the likelihood and its derivatives -------------------------------------------------------------------

    def _parts(self, gamma: Floats) -> Iterator[tuple[slice, Floats, Floats, Floats, Floats, Floats]]:
        """Of each block: the rows, z, η, s, L, weights; nothing where a share is negative (rule 3)."""
        for rows in self.blocks(NUMBERS):
            z = self.covariates[rows]
            eta = self._eta(gamma, z)
            s = self.link.shares(eta)
            level = np.einsum("jn,jn->n", self.chances[:, rows], s)
            if not (level > 0).all() or s.min() < 0:
                return
            yield rows, z, eta, s, level, np.ones(len(z)) if self.weights is None else self.weights[rows]

    def log_likelihood(self, gamma: Floats) -> float:
        """ℓ(γ)."""
        found, walked = 0.0, 0
        for _, z, _, _, level, w in self._parts(gamma):
            found, walked = found + float(w @ np.log(level)), walked + len(z)
        return found if walked == self.n else -np.inf

    def derivatives(self, gamma: Floats, kind: str = "expected") -> Derivatives:
        """ℓ, its gradient, and h; with "expected" what takes its place where it is not positive definite (rule 2)."""
        key = gamma.tobytes()
        if key not in self._seen:
            self._seen.clear()
            self._seen[key] = self._derived(gamma)
        found = self._seen[key]
        if kind == "observed" or not np.isfinite(found.log_likelihood):
            return found
        values = np.linalg.eigvalsh(found.information)
        if values[0] > 1e-6 * abs(values[-1]):
            return found
        return found._replace(information=self.outer_products(gamma))

    def _derived(self, gamma: Floats) -> Derivatives:
        gradient, blocks = np.zeros((self.many, self.width)), np.zeros((self.many, self.many, self.width, self.width))
        total, walked = 0.0, 0
        for rows, z, eta, s, level, w in self._parts(gamma):
            g, h = self.link.derived(eta, s, self.chances[:, rows], level)
            total, walked = total + float(w @ np.log(level)), walked + len(z)
            gradient += (w * g) @ z
            self._add(blocks, w * h, z)
        if walked < self.n:
            return Derivatives(-np.inf, np.zeros(self.size), np.eye(self.size))
        return Derivatives(total, self.spread.T @ gradient.ravel(), self._squares(blocks))

    def _add(self, blocks: Floats, h: Floats, z: Floats) -> None:
        """Σ h_jl z zᵀ for j ≤ l."""
        first, second = np.triu_indices(self.many)
        blocks[first, second] += np.matmul(h[first, second][:, None, :] * z.T[None], z)

    def _squares(self, blocks: Floats) -> Floats:
        """The blocks as a matrix of γ."""
        first, second = np.triu_indices(self.many, 1)
        blocks[second, first] = blocks[first, second].transpose(0, 2, 1)
        whole = blocks.transpose(0, 2, 1, 3).reshape(self.many * self.width, -1)
        spread = self.spread
        found = spread.T @ whole @ spread
        return np.asarray((found + found.T) / 2, np.float64)

    def outer_products(self, gamma: Floats, power: int = 1) -> Floats:
        """Σ w^power g gᵀ, g the gradient of one record."""
        blocks = np.zeros((self.many, self.many, self.width, self.width))
        for rows, z, eta, s, level, w in self._parts(gamma):
            g, _ = self.link.derived(eta, s, self.chances[:, rows], level)
            self._add(blocks, w**power * g[:, None] * g[None], z)
        return self._squares(blocks)

    def scores(self, gamma: Floats) -> Floats:
        """w g of every record: one row each."""
        found = np.empty((self.n, self.size))
        for rows, z, eta, s, level, w in self._parts(gamma):
            g, _ = self.link.derived(eta, s, self.chances[:, rows], level)
            found[rows] = ((w * g).T[:, :, None] * z[:, None, :]).reshape(len(z), -1) @ self.spread
        return found

    def reach(self, step: Floats) -> float:
        """The most any record's η moves by `step`."""
        moved = (float(np.abs(self._eta(step, self.covariates[rows])).max()) for rows in self.blocks(NUMBERS))
        return max(moved, default=0.0)

    @property
    def best_information(self) -> Floats:
        """What one answer tells of η where all shares are equal, on average."""
        truth = self.chances / self.chances.sum(axis=0)
        squares = ((truth - 1 / len(truth)) ** 2).sum(axis=0) / self.many
        return np.array([float(squares.mean() if self.weights is None else squares @ self.weights / self.people)])

    @property
    def most_information(self) -> float:
        """That of all answers together."""
        return float(self.best_information[0]) * self.people

    # ---- where there is no maximum ----------------------------------------------------------------------------

    def scales(self) -> Floats:
        """How large the columns of the coefficients are."""
        size = np.sqrt(np.mean(self.covariates**2, axis=0))
        return np.asarray(np.abs(self.spread).T @ np.tile(size, self.many) / self.many, np.float64)

    def runaway(self, gamma: Floats) -> str:
        """Which fitted shares tend to 0."""
        s = self.link.shares(self._eta(gamma, self.covariates))
        empty = [
            f"{label} for {int(few)}" for label, few in zip(self.labels, (s < 1e-3).sum(axis=1), strict=True) if few
        ]
        return f"fitted shares tend to 0: {', '.join(empty)} of {self.n} records" if empty else "no share tends to 0"

    # ---- shares of people -------------------------------------------------------------------------------------

    def _ways(self, gamma: Floats, rows: Floats) -> tuple[Floats, Floats]:
        """Shares (options by rows), and their gradients (options by rows by coefficients)."""
        eta = self._eta(gamma, rows)
        s = self.link.shares(eta)
        slopes = self.link.slopes(eta, s)
        return s, np.einsum("jln,nc->jnlc", slopes, rows).reshape(*s.shape, -1) @ self.spread

    def predicted(self, gamma: Floats, rows: Floats) -> list[Predicted]:
        """The share of each option for rows of the model matrix, on the log-odds."""
        s, ways = self._ways(gamma, rows)
        s = np.clip(s, 1e-300, 1 - 1e-16)
        return [
            Predicted(label, LINKS["logit"], np.log(one / (1 - one)), way / (one * (1 - one))[:, None])
            for label, one, way in zip(self.labels, s, ways, strict=True)
        ]

    def averaged(self, gamma: Floats, rows: Floats, share: Floats) -> list[Averaged]:
        """The mean share of each option for rows of the model matrix."""
        values, slopes = np.zeros(len(self.labels)), np.zeros((len(self.labels), self.size))
        for part in self.blocks(NUMBERS):
            s, ways = self._ways(gamma, rows[part])
            values, slopes = values + s @ share[part], slopes + np.einsum("jnc,n->jc", ways, share[part])
        return [Averaged(*each) for each in zip(self.labels, values.tolist(), slopes, strict=True)]

    def slopes(self, gamma: Floats, column: int, share: Floats) -> list[Averaged]:
        """The mean derivatives of the shares by a covariate, by a central difference."""
        step = STEP * float(self.covariates[:, column].std())
        high, low = self.covariates.copy(), self.covariates.copy()
        high[:, column] += step
        low[:, column] -= step
        ends = zip(*(self.averaged(gamma, x, share / (2 * step)) for x in (high, low)), strict=True)
        return [Averaged(up.label, up.value - down.value, up.slope - down.slope) for up, down in ends]
