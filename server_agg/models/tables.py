"""Two questions of the same people, of any kinds: their joint table, whether they go together, and what changed.

With the unbiased values r of both answers, drawn apart (see `sampling.values`),
    E[r1_i r2_j | truths] = 1 if the truths are i and j, else 0           so the joint shares are means of products
    d_ij = π_ij − π_i·π_·j                                               0 if the questions are independent
Shares, their covariance and all bars are those of `sampling`: weights, strata, clusters, populations and replicates
count.  A column that is known of everybody is a question with direct answers, so that groups are compared in a choice.

Rules
1. Of people drawn one by one independence is tested by Pearson's X² = n·tr(S1⁻¹ D S2⁻¹ Dᵀ), S the covariance of the
   values: of direct answers the X² of every textbook, of randomised ones the X² of the answers' own table, for noise
   drawn apart cannot make independent questions dependent, nor hide a dependence.  Else by Rao and Scott's F.
2. With the same options twice the table is of two waves: gross change Σ π_ij (i ≠ j), net change π_·j − π_j·.  Of
   people drawn one by one net change is tested by McNemar's X² (of more options Stuart and Maxwell's), symmetry by
   Bowker's:
   n·ūᵀ(mean of uuᵀ)⁻¹ū, u the difference of the values; else by Wald's F.
3. Means of products may leave [0, 1]; the likelihood on the shares that are possible (`likelihood`) does not, and has
   profile bars.  It is one of people drawn one by one alone.
4. A device that repeats its answer of the first wave has not drawn again: such answers show no change, and nothing here
   can tell.  Collected reports of this project join no two answers of a person; a table is of data that do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.errors import ParameterError
from server_agg.models.asked import Asked, JointValues
from server_agg.models.fits import chi_squared, tested, wald_bar
from server_agg.models.mixtures import largest_mixture, mixture_bar
from server_agg.results.findings import Findings
from server_agg.results.interval import Interval
from server_agg.results.row import DIFFERENCES, SHARES, Row, Scale, Test
from server_agg.sampling.estimating import figures_of
from server_agg.sampling.omnibus import inverse_and_rank, rao_scott_test, wald_test
from server_agg.sampling.replication import Replicates, replicates_of
from server_agg.sampling.sample import Sample
from server_agg.sampling.sample_estimate import SampleEstimate

if TYPE_CHECKING:
    from server_agg.models.columns import Floats

INDEPENDENT, HOMOGENEOUS, SYMMETRIC = "the questions are independent", "no net change", "as much change either way"
APART = "supposes: the two answers of a person were drawn apart"
RATIOS = Scale(0.0, math.inf, "", "odds ratio")


@dataclass(frozen=True, eq=False)
class CrossTable(SampleEstimate):
    """The joint shares, a row per cell "option of the first, option of the second"."""

    joint: JointValues = field(kw_only=True)
    simple: bool = field(kw_only=True)  # people drawn one by one, by one design each
    made: Replicates | None = field(kw_only=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Options of the first and of the second."""
        one, other = self.joint.pair
        return len(one.labels), len(other.labels)

    def margin(self, place: int) -> SampleEstimate:
        """The first question (0) or the second (1) alone."""
        if place not in (0, 1):
            raise ParameterError("place", place, "0 or 1")
        return figures_of(self.sample, self.joint.pair[place].given, self.made)

    @property
    def shares(self) -> Floats:
        """The joint shares as a table."""
        _, _, w = self._values()
        return np.asarray((w @ self.joint.values).reshape(self.shape), np.float64)

    def _values(self) -> tuple[Floats, Floats, Floats]:
        one, other = self.joint.pair
        return one.values, other.values, self.sample.weights / self.sample.weights.sum()

    @cached_property
    def independence(self) -> Test:
        """Of the two questions; of a question and groups: that the groups do not differ."""
        r, s, w = self._values()
        first, second = w @ r, w @ s
        spreads = [(v - m).T @ ((v - m) * w[:, None]) for v, m in ((r, first), (s, second))]
        (one, j), (other, k) = map(inverse_and_rank, spreads)
        apart = self.shares - np.outer(first, second)
        n = float(self.sample.n)
        statistic = n * float((one @ apart @ other * apart).sum())
        if self.simple:
            return chi_squared(INDEPENDENT, "Pearson", statistic, j * k)
        return rao_scott_test(
            INDEPENDENT, statistic, n * np.kron(one, other).astype(np.float64), self._of_apart(first, second), self.df
        )

    def _of_apart(self, first: Floats, second: Floats) -> Floats:
        """The covariance of d, by the derivatives of π_ij − π_i·π_·j."""
        j, k = self.shape
        rows, columns = np.kron(np.eye(j), np.ones(k)), np.kron(np.ones(j), np.eye(k))
        by = np.eye(j * k) - np.repeat(rows, k, axis=0) * np.tile(second, j)[:, None]
        by -= np.tile(columns, (j, 1)) * np.repeat(first, k)[:, None]
        return np.asarray(by @ self.covariance @ by.T, np.float64)

    @cached_property
    def wald(self) -> Test:
        """Of independence, by Wald's statistic of π_ij − π_i·π_·j."""
        first, second = self.shares.sum(axis=1), self.shares.sum(axis=0)
        apart, spread = (self.shares - np.outer(first, second))[1:, 1:].ravel(), self._of_apart(first, second)
        kept = np.arange(self.shares.size).reshape(self.shape)[1:, 1:].ravel()
        return wald_test(INDEPENDENT, "survey", apart, spread[np.ix_(kept, kept)], self._freedom)

    @property
    def _freedom(self) -> float:
        return math.inf if self.simple else float(self.df)

    @cached_property
    def odds_ratios(self) -> Findings:
        """π_11 π_ij/(π_1j π_i1), of every option against the first ones: bars by log ∓ z·SE (or t·SE), p that of 1."""
        pi, (one, other) = self.shares, self.joint.pair
        rows = []
        for i in range(1, self.shape[0]):
            for j in range(1, self.shape[1]):
                names = [f"{q.labels[at]} against {q.labels[0]}" for q, at in ((one, i), (other, j))]
                rows.append(self._odds(" × ".join(names), pi, i, j))
        told = ["none where one of its shares is not above 0"] if any(row.value is None for row in rows) else []
        return Findings(tuple(rows), "odds ratio", told=told)

    def _odds(self, name: str, pi: Floats, i: int, j: int) -> Row:
        at = [0, i * self.shape[1] + j, j, i * self.shape[1]]
        four = pi.ravel()[at]
        if not (four > 0).all():
            return Row(name, self.sample.n, None, None, None, scale=RATIOS)
        way = np.array([1, 1, -1, -1]) / four
        value = float(np.log(four) @ [1, 1, -1, -1])
        error = math.sqrt(max(float(way @ self.covariance[np.ix_(at, at)] @ way), 0.0))
        logs = wald_bar(value, error, "odds ratio", df=self._freedom)

        def bar(level: Any, method: str | None) -> Interval[Any]:
            found = logs(level, method)
            return found.with_ends((math.exp(found.low), math.exp(found.high)))

        p = tested(value, error, self._freedom)
        extras = {"log_odds": value, "log_odds_error": error}
        return Row(name, self.sample.n, math.exp(value), math.exp(value) * error, bar, p, None, RATIOS, extras)

    # ---- two waves ----------------------------------------------------------------------------------------------

    def _waves(self) -> tuple[str, ...]:
        one, other = self.joint.pair
        if one.labels != other.labels:
            raise ParameterError("second", list(other.labels), f"the options of the first, {list(one.labels)}")
        return one.labels

    @cached_property
    def change(self) -> Findings:
        """Two waves: the share of those who changed, and by how much each option's share did."""
        labels, k = self._waves(), self.shape[0]
        ways = [(1 - np.eye(k)).ravel()]
        ways += [(np.eye(k)[:, [j]] * -1 + np.eye(k)[[j]]).ravel() for j in range(k)]
        names = ["changed (gross)", *(f"net: {label}" for label in labels)]
        rows = []
        for name, way in zip(names, ways, strict=True):
            value, error = float(way @ self.shares.ravel()), math.sqrt(max(float(way @ self.covariance @ way), 0.0))
            gross = name == names[0]
            span = (0.0, 1.0) if gross else (-1.0, 1.0)
            bar = partial(_cut, wald_bar(value, error, "change between two waves", df=self._freedom), span)
            p = None if gross else tested(value, error, self._freedom)
            rows.append(Row(name, self.sample.n, value, error, bar, p, None, SHARES if gross else DIFFERENCES))
        told = [APART, self.homogeneity.sentence()]
        return Findings(tuple(rows), "change between two waves", {"homogeneity": self.homogeneity}, told)

    @cached_property
    def homogeneity(self) -> Test:
        """Two waves: no option's share changed."""
        self._waves()
        r, s, _ = self._values()
        k = self.shape[0]
        way = np.kron(np.ones(k), np.eye(k)) - np.kron(np.eye(k), np.ones(k))
        return self._waves_test(HOMOGENEOUS, "McNemar" if k == 2 else "Stuart–Maxwell", (s - r)[:, 1:], way[1:])

    @cached_property
    def symmetry(self) -> Test:
        """Two waves: as many went from i to j as from j to i."""
        self._waves()
        r, s, _ = self._values()
        i, j = np.triu_indices(self.shape[0], 1)
        place = np.arange(self.shares.size).reshape(self.shape)
        way, apart = np.eye(self.shares.size), r[:, i] * s[:, j] - r[:, j] * s[:, i]
        return self._waves_test(SYMMETRIC, "Bowker", apart, way[place[i, j]] - way[place[j, i]])

    def _waves_test(self, hypothesis: str, name: str, apart: Floats, way: Floats) -> Test:
        if not self.simple:
            value, spread = way @ self.shares.ravel(), way @ self.covariance @ way.T
            return wald_test(hypothesis, "survey", value, spread, self._freedom)
        mean = apart.mean(axis=0)
        inverse, rank = inverse_and_rank(apart.T @ apart / len(apart))
        return chi_squared(hypothesis, name, len(apart) * float(mean @ inverse @ mean), rank)

    # ---- the likelihood -----------------------------------------------------------------------------------------

    @cached_property
    def likelihood(self) -> Findings:
        """The likeliest shares of those that are possible, with profile bars, and the ratio test of independence."""
        if not self.simple and (self.sample.clustered or self.sample.weighted):
            raise ParameterError("weights", "weights or clusters", "none: with them there is no likelihood")
        one, other = self.joint.pair
        said, times = np.unique(np.hstack([one.chances, other.chances]), axis=0, return_counts=True)
        heavy = times.astype(np.float64)
        j, k = self.shape
        atoms = (said[:, :j, None] * said[:, None, j:]).reshape(len(said), -1)
        shares, level = largest_mixture(atoms, heavy)
        alone = [largest_mixture(part, heavy)[1] for part in (said[:, :j], said[:, j:])]
        rows = [
            Row(name, self.sample.n, float(share), None, _profile(atoms, heavy, at, (float(share), level)))
            for at, (name, share) in enumerate(zip(self.joint.names, shares, strict=True))
        ]
        ratio = chi_squared(INDEPENDENT, "likelihood ratio", 2 * (level - sum(alone)), (j - 1) * (k - 1))
        facts = {"log_likelihood": level, "independence": ratio}
        return Findings(tuple(rows), "population", facts, [APART, ratio.sentence()])

    # ---- shown --------------------------------------------------------------------------------------------------

    def remarks(self) -> list[str]:
        """What is supposed, and whether the questions go together."""
        return [*super().remarks(), APART, self.independence.sentence()]

    def extras(self) -> dict[str, object]:
        """The test beside the facts of the sample."""
        return {**super().extras(), "independence": self.independence.as_dict()}


def _cut(bar: Any, span: tuple[float, float], level: Any, method: str | None) -> Interval[Any]:
    found = bar(level, method)
    return found if found.low is None else found.with_ends((max(found.low, span[0]), min(found.high, span[1])))  # type: ignore[no-any-return]


def _profile(atoms: Floats, times: Floats, place: int, best: tuple[float, float]) -> Any:
    def bar(level: Any, method: str | None) -> Interval[Any]:
        if method not in (None, "profile"):
            raise ParameterError("method", method, "'profile'")
        return mixture_bar(atoms, times, place, best, level)

    return bar


def table(
    first: Any,
    second: Any,
    *,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    population: Any = None,
    replicates: Replicates | str | None = None,
) -> CrossTable:
    """The joint table of two questions of the same people, each `(answers, design)` or `(answers, design, labels)`, or
    a column that is known of everybody, such as a group.

    Yes/no has the options no and yes.  How the people were drawn is told as to `sampling.estimate`.  `independence` is
    the test that the questions do not go together (that groups do not differ), `odds_ratios` how they do; with the same
    options twice `change`, `homogeneity` and `symmetry` compare two waves; `likelihood` has the likeliest shares.

    >>> from rrcollect import Design
    >>> first, second = [1, 1, 0, 0, 0] * 80, [1, 0, 0, 1, 0] * 80
    >>> found = table((first, Design("3/4", "3/4")), (second, Design("3/4", "3/4")))
    >>> {row.name: round(row.value, 3) for row in found.rows}
    {'no, no': 0.65, 'no, yes': 0.05, 'yes, no': 0.05, 'yes, yes': 0.25}
    >>> print(found.independence.sentence())
    the questions are independent: Pearson χ² = 11.11, 1 df, p = 0.000858
    >>> groups = table((first, Design("3/4", "3/4")), ["a", "b"] * 200)
    >>> round(groups.independence.p_value, 3)
    1.0
    """
    pair = Asked.of("first", first), Asked.of("second", second)
    sizes = [len(one.values) for one in pair]
    if sizes[0] != sizes[1]:
        raise ParameterError("second", f"{sizes[1]} answers", f"as many as there are first ones, {sizes[0]}")
    joint = JointValues.both(*pair)
    how = {"weights": weights, "strata": strata, "clusters": clusters, "population": population}
    sample = Sample.of(joint.n, **how)
    made = replicates_of(replicates, sample, weights)
    plain = all(given is None for given in (*how.values(), replicates))
    simple = plain and all(len(one.given.designs) == 1 for one in pair)
    found = figures_of(sample, joint, made)
    return CrossTable(
        found.figures, found.target, found.facts, found.told, found.said, covariance=found.covariance, sample=sample,
        joint=joint, simple=simple, made=made,
    )  # fmt: skip
