"""Planning: n for a margin, the margin for n, ε for both, and what privacy costs.

    wald        n = ⌈z²·nV/w²⌉                 k² = z²: the usual, approximate
    chebyshev   n = ⌈nV/((1−level)w²)⌉         the paper's 4.5σ, rigorous for the true σ
    hoeffding   n = ⌈ln(2/α)/(2c²w²)⌉          rigorous, whatever the prevalence
    exact       the least n at which the Clopper-Pearson bar, the one that is printed, is expected to reach ±w; with an
                assurance, at which it does so with that probability.  The default
    anytime     the same for the bar that may be looked at every day
with nV = λ(1−λ)/c² at the given prevalence, or at the worst one in [0, 1] (λ as near to ½ as it gets) if none is given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

from rrcollect.design.optimal import optimal_design
from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike, fraction, whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.estimates.anytime import anytime_shares
from server_agg.estimates.methods import checked_method
from server_agg.estimates.numerics import exact_level, least_by_doubling, scipy_special
from server_agg.estimates.one import DIRECT
from server_agg.estimates.score import chebyshev_k2, wilson_k2
from server_agg.report.tables import text_table

TABULATED = ("exact", "anytime")  # methods whose width is summed over the counts
LARGEST_N = 10**10  # answers looked at by the exact method
LARGEST_EPSILON = 44.0  # e^44 is about 2^63.5: beyond, a device's 64 bits cannot tell it from a direct question


def worst_prevalence(design: Design) -> Fraction:
    """The prevalence in [0, 1] at which the estimate varies most: where λ is nearest to 1/2.

    >>> worst_prevalence(Design("3/4", "3/4")), worst_prevalence(Design(1, "1/20"))
    (Fraction(1, 2), Fraction(1, 1))
    """
    return min(max((design.p00 - Fraction(1, 2)) / design.c, Fraction(0)), Fraction(1))


def _k2(level: NumberLike, method: str) -> Fraction:
    return chebyshev_k2(level, "both") if method == "chebyshev" else wilson_k2((1 - exact_level(level)) / 2)


def _margin(margin: NumberLike) -> Fraction:
    allowed = "a number strictly between 0 and 1: half the width of the bar"
    exact = fraction("margin", margin, allowed)
    if not 0 < exact < 1:
        raise ParameterError("margin", margin, allowed)
    return exact


def sample_size(
    design: Design,
    margin: NumberLike,
    *,
    level: NumberLike = 0.95,
    method: str = "exact",
    prevalence: NumberLike | None = None,
    assurance: NumberLike | None = None,
) -> int:
    """How many answers for ± `margin` at `level`, by the bar that will be printed: on average, or, with an `assurance`
    of 0.9, with probability 90 %.

    >>> from rrcollect import optimal_design
    >>> [sample_size(optimal_design(1), 0.05, method=m) for m in ("wald", "chebyshev", "hoeffding")]
    [1799, 9366, 3455]
    """
    checked_method("plan", method)
    sure = _assurance(assurance, method)
    w, at = _margin(margin), worst_prevalence(design) if prevalence is None else prevalence
    if method == "hoeffding":
        miss = 1 - exact_level(level)
        return max(2, math.ceil(Fraction(math.log(2 / miss)) / (2 * design.c**2 * w**2)))
    if method not in TABULATED:
        return max(2, math.ceil(_k2(level, method) * design.variance(at) / w**2))

    def reached(n: int) -> bool:
        return _tabulated_margin(design, n, level, at, method=method, sure=sure) <= w

    found = least_by_doubling(reached, 1, LARGEST_N)
    if found is None:
        raise ParameterError("margin", margin, f"a margin that {LARGEST_N} answers can reach")
    return found


def margin_of_error(
    design: Design,
    n: int,
    *,
    level: NumberLike = 0.95,
    method: str = "exact",
    prevalence: NumberLike | None = None,
    assurance: NumberLike | None = None,
) -> float:
    """The margin ± that n answers give at `level`: on average, or at most, with probability `assurance`.

    >>> from rrcollect import optimal_design
    >>> round(margin_of_error(optimal_design(1), 1799, method="wald"), 5)
    0.05
    """
    checked_method("plan", method)
    sure = _assurance(assurance, method)
    people, at = whole_number("n", n, minimum=2), worst_prevalence(design) if prevalence is None else prevalence
    if method == "hoeffding":
        miss = 1 - exact_level(level)
        return math.sqrt(math.log(2 / miss) / (2 * people)) / abs(float(design.c))
    if method in TABULATED:
        return _tabulated_margin(design, people, level, at, method=method, sure=sure)
    return math.sqrt(_k2(level, method) * design.variance(at, people))


def _assurance(assurance: NumberLike | None, method: str) -> float | None:
    if assurance is not None and method not in TABULATED:
        raise ParameterError("assurance", assurance, f"nothing, or a method of {', '.join(TABULATED)}")
    return None if assurance is None else float(exact_level(assurance, "assurance"))


def _tabulated_margin(
    design: Design, n: int, level: NumberLike, prevalence: NumberLike, *, method: str, sure: float | None
) -> float:
    """Half the width of the bar before it is cut to [0, 1]: expected, or kept with probability `sure`."""
    import numpy as np

    beta, tail = scipy_special(), float((1 - exact_level(level)) / 2)
    yes = float(design.says_yes(prevalence))
    far = 9 * math.sqrt(n * yes * (1 - yes)) + 60
    ones = np.arange(max(0, math.floor(n * yes - far)), min(n, math.ceil(n * yes + far)) + 1)
    logs = beta.gammaln(n + 1) - beta.gammaln(ones + 1) - beta.gammaln(n - ones + 1)
    weights = np.exp(logs + beta.xlogy(ones, yes) + beta.xlogy(n - ones, 1 - yes))
    if method == "anytime":
        low, high = anytime_shares(ones, n, 2 * tail), 1 - anytime_shares(n - ones, n, 2 * tail)
    else:
        low = np.where(ones > 0, beta.betaincinv(np.maximum(ones, 1), n - ones + 1, tail), 0.0)
        high = np.where(ones < n, beta.betaincinv(ones + 1, np.maximum(n - ones, 1), 1 - tail), 1.0)
    widths = (high - low) / 2 / abs(float(design.c))
    if sure is None:
        return float(weights @ widths / weights.sum())
    order = np.argsort(widths)
    reached = np.searchsorted(np.cumsum(weights[order]) / weights.sum(), sure - 1e-12)
    return float(widths[order][min(int(reached), widths.size - 1)])


def epsilon_for(
    n: int,
    margin: NumberLike,
    *,
    level: NumberLike = 0.95,
    method: str = "exact",
    prevalence: NumberLike | None = None,
) -> float:
    """The least ε (δ = 0, optimal design) with which n answers reach ± `margin`; rounded up in the 9th digit or so.

    >>> round(epsilon_for(1799, 0.05, method="wald"), 3)
    1.0
    """
    w = _margin(margin)

    def reached(design: Design) -> bool:
        return margin_of_error(design, n, level=level, method=method, prevalence=prevalence) <= w

    if not reached(optimal_design(LARGEST_EPSILON)):
        direct = margin_of_error(DIRECT, n, level=level, method=method, prevalence=prevalence)
        raise ParameterError("margin", margin, f"{direct:.4g} or more: n = {n} direct answers give no less")
    low, high = 0.0, LARGEST_EPSILON
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(optimal_design(middle)) else (middle, high)
    return high


@dataclass(frozen=True)
class Price:
    """What an ε costs: answers needed, against direct questioning at the same margin."""

    epsilon: float
    truth: float
    effective_share: float
    n: int
    direct_n: int
    factor: float

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return asdict(self)


def privacy_price(
    epsilons: Sequence[EpsilonLike],
    *,
    margin: NumberLike = "0.05",
    level: NumberLike = 0.95,
    method: str = "exact",
    prevalence: NumberLike | None = None,
) -> list[Price]:
    """What does privacy cost: one line for each ε (δ = 0, optimal design).

    >>> [(line.epsilon, line.n) for line in privacy_price([0.5, 1, 2])]
    [(0.5, 6483), (1.0, 1839), (2.0, 685)]
    """
    lines = []
    for epsilon in epsilons:
        design = optimal_design(epsilon)
        at = worst_prevalence(design) if prevalence is None else prevalence
        n = sample_size(design, margin, level=level, method=method, prevalence=prevalence)
        direct = sample_size(DIRECT, margin, level=level, method=method, prevalence=prevalence)
        share = float(design.effective_sample_ratio(at))
        lines.append(Price(float(Epsilon(epsilon)), float(design.p11), share, n, direct, n / direct))
    return lines


def price_table(prices: Sequence[Price]) -> str:
    """The lines of `privacy_price` as a text table.

    >>> print(price_table(privacy_price(["ln 3"])))
        ε  P(truth)    an answer is worth     n  direct n  times
    1.099      0.75  0.25 of a direct one  1573       401   3.92
    """
    head = ["ε", "P(truth)", "an answer is worth", "n", "direct n", "times"]
    rows = [
        [
            f"{p.epsilon:.4g}",
            f"{p.truth:.4g}",
            f"{p.effective_share:.3g} of a direct one",
            str(p.n),
            str(p.direct_n),
            f"{p.factor:.3g}",
        ]
        for p in prices
    ]
    return text_table(head, rows, {0, 1, 2, 3, 4, 5})
