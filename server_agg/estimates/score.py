"""Bars by inverting |π̂ − π| <= k·σ(π) with the true standard deviation, not an estimated one.

For every target n times the variance of π̂ is a quadratic in π,
    n·Var(π) = a + bπ + s·π(1 − π),   a = p00(1−p00)/c²,   b = [p11(1−p11) − p00(1−p00)]/c²,
with s = 1 for a population, 0 for the people who answered, (M−n)/(M−1) for n of M drawn without replacement.  So the
inequality is a quadratic one and its ends are
    (B ∓ √(B² − 4AC))/(2A),   A = 1 + k²s/n,   B = 2π̂ + k²(b+s)/n,   C = π̂² − k²a/n.
k = z gives Wilson's interval; k² = 1/(1−level) is Chebyshev's inequality and k² = level/(1−level) Cantelli's, its
one-sided form: with these the coverage is guaranteed ([HLM17] Section II, the rigorous route).
Postcondition: the lower end returned is not above the exact one.

Score tests of k groups, each by one design or by several, for many tables of counts at once.

With, at the common prevalence π0 (the maximum-likelihood estimate of all answers together), for every group
    U = Σ (n/v)(π̂ − π0)    its score,        I = Σ n/v    its information,      v = n·Var(π̂) at π0
(sums over the designs used in the group; v = λ(1−λ)/c² for a population) and U° = U − I·ΣU/ΣI:
    equality    X² = Σ U°²/I,  k − 1 degrees of freedom                    Pearson's test if all share one design
    trend       X² = (Σ x U°)²/S,  S = Σ x²I − (Σ xI)²/ΣI,  1 degree       Cochran and Armitage's, through the noise
The line of the trend is the score's own: slope Σ x U°/S with standard error 1/√S, so that (slope/SE)² is X².  With one
design per group it is the least-squares line through the unbiased values, weights I.
`shift` moves a tally's prevalence: with shift δ for group a the test is that of a − b = δ; it may have a row per table.
An answer that is certain at π0 tells nothing and counts nothing, unless it was another one.  Of shifted groups it fixes
the prevalence of its own group: all of the difference is then looked for in the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rrcollect.design.yes_no import Design
from server_agg.count.tally import Tally
from server_agg.estimates.numerics import ROUNDING_MARGIN, float_below, normal_quantile, sqrt_above
from server_agg.results.interval import exact_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HALVINGS = 52
CERTAIN = 1e-15  # a variance below this is rounding error


class VarianceLine(NamedTuple):
    """Var(π) = a + bπ + s·π(1 − π), already divided by n."""

    a: Fraction
    b: Fraction
    s: Fraction

    def at(self, pi: Fraction) -> Fraction:
        """The variance at prevalence π."""
        return self.a + self.b * pi + self.s * pi * (1 - pi)

    def scaled(self, factor: Fraction) -> VarianceLine:
        """The variance times `factor`."""
        return VarianceLine(self.a * factor, self.b * factor, self.s * factor)

    def plus(self, other: VarianceLine) -> VarianceLine:
        """The variance of a sum of independent estimates."""
        return VarianceLine(self.a + other.a, self.b + other.b, self.s + other.s)

    def mirrored(self) -> VarianceLine:
        """The same variance as a function of 1 − π."""
        return VarianceLine(self.a + self.b, -self.b, self.s)


NO_VARIANCE = VarianceLine(Fraction(0), Fraction(0), Fraction(0))


def variance_line(design: Design, n: int, sampling: Fraction = Fraction(1), draws: int = 1) -> VarianceLine:
    """The exact variance of π̂ from n people with `draws` answers each; `sampling` is s.

    >>> design = Design("3/4", "3/4")
    >>> variance_line(design, 10).at(Fraction(1, 5)) == design.variance("1/5", n=10)
    True
    """
    noise0, noise1 = design.p00 * (1 - design.p00), design.p11 * (1 - design.p11)
    scale = draws * design.c**2
    return VarianceLine(noise0 / scale / n, (noise1 - noise0) / scale / n, sampling / n)


def wilson_k2(tail: Fraction) -> Fraction:
    """z² for a tail probability at one end."""
    return Fraction(normal_quantile(tail)) ** 2


def chebyshev_k2(level: object, side: str) -> Fraction:
    """The k² with which P(|π̂ − π| <= kσ) >= level, or its one-sided form, whatever the distribution."""
    exact = exact_level(level)
    return 1 / (1 - exact) if side == "both" else exact / (1 - exact)


def score_lower(value: Fraction, line: VarianceLine, k2: Fraction) -> float:
    """The lower end, rounded down."""
    a = 1 + k2 * line.s
    b = 2 * value + k2 * (line.b + line.s)
    c = value * value - k2 * line.a
    return float_below((b - sqrt_above(max(b * b - 4 * a * c, Fraction(0)))) / (2 * a) - ROUNDING_MARGIN)


# ---- score tests of several groups ----------------------------------------------------------------------------------


class GroupScores(NamedTuple):
    """π0 of every table, and U° and I of its groups."""

    common: Floats
    scores: Floats
    information: Floats

    def equality(self) -> Floats:
        """X² of equal prevalences."""
        told = self.information > 0
        return np.asarray((np.where(told, self.scores, 0) ** 2 / np.where(told, self.information, 1)).sum(axis=1))

    def trend(self, xs: Floats) -> tuple[Floats, Floats]:
        """Σ x U° and S."""
        total = self.information.sum(axis=1)
        centre = (self.information @ xs) / np.where(total > 0, total, 1)
        away = xs[None, :] - centre[:, None]
        return np.asarray(self.scores @ xs), np.asarray((self.information * away**2).sum(axis=1))

    def trend_statistic(self, xs: Floats) -> Floats:
        """X² of no trend."""
        top, spread = self.trend(xs)
        return np.where(spread > 0, top**2 / np.where(spread > 0, spread, 1), 0.0)


@dataclass(frozen=True)
class Groups:
    """Tallies in groups: what a table of counts is a table of; `sampling` is s of each tally's target."""

    tallies: tuple[tuple[Tally, ...], ...]
    sampling: tuple[float, ...] = ()

    @classmethod
    def of(cls, groups: Sequence[Sequence[Tally]]) -> Groups:
        """Each tally oriented (c > 0), empty ones left out."""
        return cls(tuple(tuple(t.oriented() for t in group if t.n) for group in groups))

    @cached_property
    def flat(self) -> tuple[Tally, ...]:
        """All tallies."""
        return tuple(tally for group in self.tallies for tally in group)

    @cached_property
    def counts(self) -> Floats:
        """The table that was observed."""
        return np.array([[t.ones for t in self.flat]], float)

    @cached_property
    def _numbers(self) -> tuple[Floats, Floats, Floats, Floats]:
        n = np.array([t.n for t in self.flat], float)
        rates = np.array([[float(p) for row in t.column.matrix for p in row] for t in self.flat]).T
        return n, rates, np.array([float(t.design.c) for t in self.flat]), np.array(self.sampling or [1.0] * n.size)

    def rates(self, pi: Floats, shift: Floats | float = 0.0) -> tuple[Floats, Floats, Floats]:
        """The prevalence, λ and 1 − λ of every tally (columns) for every π (rows)."""
        _, (no0, yes0, no1, yes1), _, _ = self._numbers
        p = np.clip(pi[:, None] + shift, 0.0, 1.0) + np.zeros(len(self.flat))
        return p, yes0 * (1 - p) + yes1 * p, no0 * (1 - p) + no1 * p

    def ends(self, shift: Floats | float = 0.0) -> tuple[Floats, Floats]:
        """Between what the common prevalence can lie, for every row of `shift`."""
        rows = np.atleast_2d(shift)
        return np.maximum(-rows.min(axis=1), 0.0), np.minimum(1 - rows.max(axis=1), 1.0)

    def common(self, counts: Floats, shift: Floats | float = 0.0) -> Floats:
        """The maximum-likelihood estimate of every table."""
        n, (_, yes0, _, _), c, _ = self._numbers
        if not np.any(shift) and len({t.design for t in self.flat}) == 1:
            return np.asarray(np.clip((counts.sum(axis=1) / n.sum() - yes0[0]) / c[0], 0.0, 1.0))
        first, last = (end + np.zeros(len(counts)) for end in self.ends(shift))
        low, high = first, last

        def rising(pi: Floats) -> NDArray[np.bool_]:
            _, yes, no = self.rates(pi, shift)
            up = np.where(counts > 0, counts / np.maximum(yes, 1e-300), 0.0)
            down = np.where(n - counts > 0, (n - counts) / np.maximum(no, 1e-300), 0.0)
            return np.asarray((c * (up - down)).sum(axis=1) > 0)

        for _ in range(HALVINGS):
            middle = (low + high) / 2
            up = rising(middle)
            low, high = np.where(up, middle, low), np.where(up, high, middle)
        found = np.where(low == first, first, np.where(high == last, last, (low + high) / 2))
        return np.asarray(found)

    def scores(self, counts: Floats, shift: Floats | float = 0.0) -> GroupScores:
        """π0, U° and I of every table of counts (one per row)."""
        n, (_, yes0, _, _), c, sampling = self._numbers
        common = self.common(counts, shift)
        p, yes, no = self.rates(common, shift)
        v = yes * no / c**2 - (1 - sampling) * p * (1 - p)
        impossible = np.abs(counts / n - yes) > 1e-9  # of an answer that is certain
        certain = (v <= CERTAIN) & ~impossible
        each = np.where(certain & (not np.any(shift)), 0.0, n / np.maximum(v, CERTAIN))
        u = np.where(certain, 0.0, each * ((counts / n - yes0) / c - p))
        member = np.array([[float(t is x) for x in self.tallies] for t in self.tallies for _ in t])
        scores, information = u @ member, each @ member
        total = information.sum(axis=1)
        moved = information * (scores.sum(axis=1) / np.where(total > 0, total, 1))[:, None]
        return GroupScores(common, scores - moved, information)
