"""Three kinds of people behind randomised answers: the likelihood of their shares, and of covariates.

    honest carriers      share h, who say 1 with probability p11
    honest others        share b, who say 1 with probability 1 − p00
    cheaters             share γ = 1 − h − b, who never say 1
ℓ is concave in the shares.  Its maximum on the triangle is the linear solution if two designs have one there, and
otherwise found by bisection: along a split of two shares, and along the third, whose profile is concave too.

Covariates: who has the attribute, and who follows the rules.
    cheaters "anybody"    λ = t·(ρ p11 + (1 − ρ)(1 − p00))    cheating detection [CD98]: ρ the prevalence among honest
                                                              people, 1 − t the share of cheaters, carriers or not
    cheaters "carriers"   λ = π t p11 + (1 − π)(1 − p00)      the stochastic lie detector [MME12]: only carriers cheat;
                                                              π the prevalence, t the share of honest carriers
    ρ or π = σ(xᵀβ),   t = σ(wᵀδ),   cheaters always answer 0
Two designs or more, given at random, with different ratios p11/(1 − p00) (see `cheating`): one design would identify
δ by the form of the curves alone, and is refused.

Rules
1. The estimate is the maximum of ℓ = Σ w log P(answer) by Fisher scoring within a trust region from two starts.
2. The covariance is from the expected information, Σ ∇λ∇λᵀ/(λ(1 − λ)); with weights, clusters or strata the survey's.
3. If nobody seems to cheat, t runs to 1 and there is no maximum inside: `Separation` says so.
4. The two models fit equally well without covariates: the data do not say who cheats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally, answer_array
from server_agg.errors import NotIdentified, Separation
from server_agg.estimates.numerics import turning_point
from server_agg.models.columns import checked_rank, named_covariates
from server_agg.models.fits import INTERCEPT, Fit
from server_agg.models.fitting import uphill
from server_agg.models.links import sigmoid
from server_agg.sampling.sample import Sample
from server_agg.sampling.values import distinct_designs

if TYPE_CHECKING:
    from server_agg.models.columns import Floats

Triple = tuple[float, float, float]
CHEATERS = {
    "anybody": "prevalence among honest people; share of honest people",
    "carriers": "prevalence; share of honest carriers",
}
HONEST = "honest ~ "


class Group(NamedTuple):
    """A tally as floats: its counts, and P(1) of the three kinds of people."""

    ones: int
    zeros: int
    yes: Triple

    @classmethod
    def of(cls, tally: Tally) -> Group:
        """Of a tally."""
        return cls(tally.ones, tally.n - tally.ones, (float(tally.column.p11), float(1 - tally.column.p00), 0.0))

    def rate(self, shares: Triple) -> float:
        """λ, within [0, 1]."""
        return min(max(sum(s * y for s, y in zip(shares, self.yes, strict=True)), 0.0), 1.0)

    def log_likelihood(self, yes: float) -> float:
        """Of answers that are 1 with probability `yes`; 0·log 0 = 0."""
        total = 0.0
        for times, rate in ((self.ones, yes), (self.zeros, 1 - yes)):
            if times:
                total += times * math.log(rate) if rate > 0 else -math.inf
        return total

    def saturated(self) -> float:
        """The most it can be: at the observed rate."""
        return self.log_likelihood(self.ones / (self.ones + self.zeros))


def determinant(a: Design, b: Design) -> Fraction:
    """Not 0: the two designs tell the shares apart."""
    return a.p11 * (1 - b.p00) - b.p11 * (1 - a.p00)


def explain_identification(designs: Sequence[Design]) -> str:
    """Whether these designs, together, can show cheaters, and why.

    >>> print(explain_identification([Design("3/4", "3/4")]))
    not identified: one design gives one equation, λ = h·p11 + b·(1 − p00), for two unknown shares
    """
    distinct = list(dict.fromkeys(designs))
    if len(distinct) < 2:
        return "not identified: one design gives one equation, λ = h·p11 + b·(1 − p00), for two unknown shares"
    first = distinct[0]
    if all(determinant(first, other) == 0 for other in distinct[1:]):
        ratio = "∞" if first.p00 == 1 else f"{float(first.p11 / (1 - first.p00)):.6g}"
        return (
            f"not identified: all designs have the same ratio p11/(1 − p00) = {ratio}, so a 1 tells the same by each "
            "and fewer of them look the same as more cheaters"
        )
    return f"identified: {len(distinct)} designs with different ratios p11/(1 − p00)"


def linear_shares(groups: Sequence[Tally]) -> tuple[Fraction, Fraction, Fraction]:
    """The shares that two designs give exactly; unbiased, and perhaps outside of the triangle."""
    (a, b), rates = groups, [Fraction(t.ones, t.n) for t in groups]
    scale = determinant(a.column, b.column)
    h = (rates[0] * (1 - b.column.p00) - rates[1] * (1 - a.column.p00)) / scale
    others = (a.column.p11 * rates[1] - b.column.p11 * rates[0]) / scale
    return h, others, 1 - h - others


def slopes_of(groups: Sequence[Group], shares: Triple) -> Triple:
    """dℓ by each share, λ and 1 − λ both taken as sums over the three kinds."""
    found = [0.0, 0.0, 0.0]
    for group in groups:
        yes = group.rate(shares)
        up, down = group.ones / max(yes, 1e-300), group.zeros / max(1 - yes, 1e-300)
        for kind, y in enumerate(group.yes):
            found[kind] += up * y + down * (1 - y)
    return found[0], found[1], found[2]


def held(groups: Sequence[Group], place: int, value: float) -> tuple[float, Triple]:
    """The maximum of ℓ with one share held, and where: the other two split the rest (ℓ is concave along the split)."""
    one, other = (k for k in range(3) if k != place)
    rest = 1 - value

    def at(split: float) -> Triple:
        shares = [0.0, 0.0, 0.0]
        shares[place], shares[one], shares[other] = value, split, rest - split
        return shares[0], shares[1], shares[2]

    def rising(split: float) -> bool:
        slopes = slopes_of(groups, at(split))
        return slopes[one] > slopes[other]

    best = at(turning_point(rising, 0.0, rest))
    return sum(group.log_likelihood(group.rate(best)) for group in groups), best


def maximum(groups: Sequence[Group], linear: Sequence[Fraction] | None) -> tuple[Triple, float]:
    """The maximum on the triangle: the linear solution if it lies there; else bisection on the cheaters' share, whose
    profile is concave too."""
    if linear is not None and min(linear) >= 0:
        shares = float(linear[0]), float(linear[1]), float(linear[2])
        return shares, sum(group.saturated() for group in groups)

    def rising(value: float) -> bool:
        _, shares = held(groups, 2, value)
        slopes = slopes_of(groups, shares)
        return slopes[2] > max(slopes[k] for k in (0, 1) if shares[k] > 0)

    level, shares = held(groups, 2, turning_point(rising, 0.0, 1 - 1e-12))
    return shares, level


# ---- covariates --------------------------------------------------------------------------------------------------


class Rates:
    """λ of every record and its gradient in (β, δ)."""

    def __init__(self, cheaters: str, yes: Floats, no: Floats, x: Floats, z: Floats) -> None:
        self.carriers, self.yes, self.no, self.x, self.z = cheaters == "carriers", yes, no, x, z

    def shares(self, theta: Floats) -> tuple[Floats, Floats]:
        """Prevalence and honesty of every record."""
        k = self.x.shape[1]
        return sigmoid(self.x @ theta[:k])[0], sigmoid(self.z @ theta[k:])[0]

    def at(self, theta: Floats) -> tuple[Floats, Floats]:
        """λ, and ∇λ row by row."""
        s, t = self.shares(theta)
        if self.carriers:
            rate = s * t * self.yes + (1 - s) * self.no
            by_s, by_t = t * self.yes - self.no, s * self.yes
        else:
            honest = s * self.yes + (1 - s) * self.no
            rate, by_s, by_t = t * honest, t * (self.yes - self.no), honest
        slope = np.hstack([self.x * (by_s * s * (1 - s))[:, None], self.z * (by_t * t * (1 - t))[:, None]])
        return np.clip(rate, 1e-12, 1 - 1e-12), slope


def fit_cheating(
    answers: Any,
    covariates: Any,
    design: Any,
    *,
    cheaters: str = "carriers",
    honesty_covariates: Any = None,
    names: Sequence[str] | None = None,
    weights: Any = None,
    clusters: Any = None,
    strata: Any = None,
) -> Fit:
    """Prevalence and honesty as functions of covariates, from answers by two designs or more (one for each record).

    The names of δ begin with "honest ~ "; `prevalence` and `honesty` of the fit are means over the records.

    >>> from rrcollect import Design
    >>> first, second = Design("0.9", "0.7"), Design("0.4", "0.7")
    >>> fit = fit_cheating([1] * 230 + [0] * 770 + [1] * 530 + [0] * 470, None, [first] * 1000 + [second] * 1000)
    >>> round(fit.prevalence, 4), round(fit.honesty, 4)              # 1 − b and h/(h + γ) of `cheating`
    (0.4, 0.6071)
    """
    if cheaters not in CHEATERS:
        raise ParameterError("cheaters", cheaters, f"one of {', '.join(CHEATERS)}")
    array = answer_array(answers)
    n = int(array.size)
    found, places = distinct_designs(design, n)
    words = explain_identification(found)
    if words.startswith("not"):
        raise NotIdentified(f"{words}: use two designs, or the sensitivity that `cheating` shows for one")
    x, columns = named_covariates(covariates, n, names, (INTERCEPT,))
    z, others = named_covariates(honesty_covariates, n, None, (INTERCEPT,))
    x, z = (np.column_stack([np.ones(n), each]) for each in (x, z))
    for matrix, named in ((x, columns), (z, others)):
        checked_rank(matrix, named)
    if n <= x.shape[1] + z.shape[1]:
        raise ParameterError("answers", f"{n} records", f"more than {x.shape[1] + z.shape[1]}, one per coefficient")
    yes, no = (
        np.array([float(one) for one in each])[places]
        for each in zip(*((d.p11, 1 - d.p00) for d in found), strict=True)
    )
    drawn = {"weights": weights, "clusters": clusters, "strata": strata}
    sample = None if all(one is None for one in drawn.values()) else Sample.of(n, **drawn)
    w = np.ones(n) if sample is None else sample.weights / sample.weights.mean()
    rates = Rates(cheaters, yes, no, x, z)
    theta, level, information = _maximum(rates, array, w)
    rate, slope = rates.at(theta)
    values = np.linalg.eigvalsh(information)
    s, t = rates.shares(theta)
    if values[0] < 1e-7 * values[-1] or t.min() > 1 - 1e-6 or not np.isfinite(theta).all():
        raise Separation(
            f"the likelihood has no maximum inside: the fitted share of honest people is {t.min():.3g} to {t.max():.3g}"
            f", the prevalence {s.min():.3g} to {s.max():.3g}. Where nobody seems to cheat, or covariates tell almost "
            "surely, this happens: fit without cheaters, or use fewer covariates or more answers"
        )
    spread = np.asarray(np.linalg.inv(information), np.float64)
    if sample is not None:
        scores = slope * (w * (array - rate) / (rate * (1 - rate)))[:, None]
        spread = spread @ sample.covariance(scores) @ spread
    labels = [INTERCEPT, *columns, HONEST + INTERCEPT, *(HONEST + name for name in others)]
    kind, share = "expected" if sample is None else "survey", w / w.sum()
    prevalence, honesty = float(share @ s), float(share @ t)
    means = f"means over the records: {100 * prevalence:.1f} % and {100 * honesty:.1f} %"
    return Fit(
        "Cheating", n, tuple(labels), theta, {kind: lambda: spread}, kind,
        math.inf if sample is None else float(sample.df), level, scale_words=" (log odds)",
        told=(f"cheaters: {cheaters} ({CHEATERS[cheaters]}); {means}",),
        facts={"cheaters": cheaters, "prevalence": prevalence, "honesty": honesty},
    )  # fmt: skip


def _maximum(rates: Rates, answers: Any, w: Floats) -> tuple[Floats, float, Floats]:
    """The best of two climbs by Fisher scoring within a trust region, its level and its information."""

    def level(theta: Floats) -> float:
        rate, _ = rates.at(theta)
        return float(w @ np.where(answers == 1, np.log(rate), np.log1p(-rate)))

    def gradient(theta: Floats) -> Floats:
        rate, slope = rates.at(theta)
        return np.asarray(slope.T @ (w * (answers - rate) / (rate * (1 - rate))), np.float64)

    def information(theta: Floats) -> Floats:
        rate, slope = rates.at(theta)
        return np.asarray((slope * (w / (rate * (1 - rate)))[:, None]).T @ slope, np.float64)

    k, ends = rates.x.shape[1], []
    for prevalence in (-2.0, 0.0):
        start = np.zeros(k + rates.z.shape[1])
        start[0], start[k] = prevalence, 1.5
        ends.append(uphill(level, gradient, information, start)[0])
    best = max(ends, key=level)
    return best, level(best), information(best)
