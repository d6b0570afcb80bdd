"""The few numerical tools of the error bars: SciPy's special functions, rounding to the safe side, levels, searches.

SciPy comes with the extra `estimate`; it is imported when the first bar is asked for.  Nothing numerical is written
by hand that SciPy has.

Guaranteed lower ends: exact binomial tails (Clopper and Pearson), independence (Hoeffding), all n at once (Ville).

For the population N ~ Bin(n, λ): the end of {λ : P(N >= observed | λ) > tail} maps affinely, π = (λ − (1−p00))/c.
Other targets: see `finite`.
Hoeffding: an estimate is a sum of independent answers, the i-th of which can move it by w_i; then
    P(π̂ − its mean >= t) <= exp(−2t²/Σw²),     so  t = √(ln(1/tail)/2 · Σw²)     leaves at most `tail`.
It holds for every target: drawing without replacement is dominated in the convex order by drawing with.

Bars that may be looked at every day: valid at all n at once, by Ville's inequality [WR23].

For answers that come one by one from one design at one prevalence,
    e(λ) = B(N+½, n−N+½) / (B(½, ½) λ^N (1−λ)^{n−N})
is, at the true λ, a martingale that starts at 1 (the likelihood ratio of a Beta(½, ½) mixture), so it ever reaches 1/α
with probability at most α.  Hence {λ : e(λ) < 1/α}, an interval around N/n, holds λ after every answer at once with
probability >= 1 − α, however often one looks and whenever one stops; it maps to π as the exact bar does.
If the prevalence drifts, begin anew with each period.  A population's prevalence only.
The difference of two groups: each at 1 − α/2, [L1 − U2, U1 − L2].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import MissingExtra
from server_agg.count.tally import Tally
from server_agg.results.interval import exact_level

HALVINGS = 60
SLACK = 1e-9  # of log e, more than its rounding
BETA_ROUNDING = 1 - Fraction(64, 2**52)  # SciPy's beta quantile is good to a few units in the last place
ROUNDING_MARGIN = Fraction(1, 2**52)  # guaranteed bars are widened by this much, more than all rounding that follows


def scipy_special() -> Any:
    """`scipy.special`."""
    try:
        from scipy import special
    except ImportError as error:
        raise MissingExtra("scipy", "estimate") from error
    return special


def root_level(level: NumberLike, k: int) -> Fraction:
    """level^(1/k), rounded up: k independent bars at it hold at once with probability >= level (Šidák).

    >>> root_level("0.81", 2) >= Fraction(9, 10)
    True
    """
    exact = exact_level(level)
    root = Fraction(float(exact) ** (1 / k))
    while root**k < exact:
        root = Fraction(math.nextafter(float(root), 2.0))
    return root


def normal_quantile(tail: Fraction) -> float:
    """z with P(Z > z) = tail."""
    return -float(scipy_special().ndtri(float(tail)))


def normal_tail(z: float) -> float:
    """P(Z > z)."""
    return float(scipy_special().ndtr(-z))


def t_quantile(tail: Fraction, freedom: float) -> float:
    """t with P(T > t) = tail, of Student's T; z if `freedom` is infinite."""
    return normal_quantile(tail) if math.isinf(freedom) else -float(scipy_special().stdtrit(freedom, float(tail)))


def t_tail(t: float, freedom: float) -> float:
    """P(T > t) of Student's T."""
    return normal_tail(t) if math.isinf(freedom) else float(scipy_special().stdtr(freedom, -t))


def chi_squared_quantile(tail: Fraction, freedom: int = 1) -> float:
    """x with P(χ² > x) = tail."""
    return float(scipy_special().chdtri(freedom, float(tail)))


def chi_squared_tail(x: float, freedom: int) -> float:
    """P(χ² > x)."""
    return float(scipy_special().chdtrc(freedom, x))


def beta_quantile(a: int, b: int, tail: Fraction) -> float:
    """x with P(Beta(a, b) < x) = tail."""
    return float(scipy_special().betaincinv(a, b, float(tail)))


def binomial_at_least(k: int, n: int, p: float) -> float:
    """P(N >= k) for N ~ Bin(n, p)."""
    if k <= 0:
        return 1.0
    return 0.0 if k > n else float(scipy_special().betainc(k, n - k + 1, p))


def binomials_at_least(k: Any, n: Any, p: float) -> Any:
    """P(N >= k) for N ~ Bin(n, p), for arrays of k and n."""
    import numpy as np

    inside = (k > 0) & (k <= n)
    safe_k, safe_n = np.where(inside, k, 1), np.where(inside, n, 1)
    return np.where(inside, scipy_special().betainc(safe_k, safe_n - safe_k + 1, p), (k <= 0) * 1.0)


def float_below(x: Fraction) -> float:
    """The largest double that is not above x.

    >>> Fraction(float_below(Fraction(1, 3))) <= Fraction(1, 3)
    True
    """
    guess = float(x)
    return math.nextafter(guess, -math.inf) if Fraction(guess) > x else guess


def sqrt_above(x: Fraction) -> Fraction:
    """A number not below √x and above it by less than 2^-70 of it (or of 1, for large x).

    >>> sqrt_above(Fraction(4)) >= 2
    True
    """
    bits = 80 + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    scaled = -((-x.numerator << 2 * bits) // x.denominator)
    return Fraction(math.isqrt(scaled) + 1, 1 << bits) if x else Fraction(0)


def turning_point(below: Callable[[float], bool], low: float, high: float, step: float = 0.0) -> float:
    """The point up to which `below` holds, by bisection; an end if it holds nowhere or everywhere.  With a `step` it is
    the last point found at which it holds, less than that before one at which it does not.

    >>> turning_point(lambda x: x * x < 2, 0.0, 2.0)
    1.414213562373095
    """
    if not below(low):
        return low
    if below(high):
        return high
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if high - low < step:
            return low
        low, high = (middle, high) if below(middle) else (low, middle)


def least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least number in (low, high] at which `holds`, given that it does not at `low` and does at `high`.

    `holds` is false up to a point and true after it.  Should it waver (exact powers and widths saw a little), the
    number returned is still one at which it holds and before which it does not.

    >>> least(lambda k: k * k >= 50, 0, 50)
    8
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def least_by_doubling(holds: Callable[[int], bool], low: int, limit: int) -> int | None:
    """The least number above `low` at which `holds`, looked for by doubling; None if none is found up to `limit`.

    >>> least_by_doubling(lambda k: k >= 100, 1, 10**6)
    100
    """
    high = 2 * low
    while not holds(high):
        low, high = high, 2 * high
        if high > limit:
            return None
    return least(holds, low, high)


# ---- shares brought into [0, 1] that add up to 1: biased, with a smaller error than the unbiased ones --------------


def likeliest_shares(tally: Tally) -> list[Fraction]:
    """The shares of greatest likelihood where an answer holds one option; those that would be negative are 0."""
    column, k = tally.column, len(tally)
    q = 1 - column.p00
    order = sorted(range(k), key=lambda j: (-tally.counts[j], j))
    for m in range(k, 0, -1):
        top = order[:m]
        held = sum(tally.counts[j] for j in top)
        chances = {j: tally.counts[j] * (m * q + column.c) / held for j in top} if held else {}
        if chances and min(chances.values()) >= q:
            return [(chances[j] - q) / column.c if j in chances else Fraction(0) for j in range(k)]
    return [Fraction(int(j == order[0])) for j in range(k)]


def nearest_shares(shares: Sequence[Fraction]) -> list[Fraction]:
    """The nearest shares in [0, 1] that add up to 1 (Euclid)."""
    values = sorted(shares, reverse=True)
    shift, total = Fraction(0), Fraction(0)
    for m, value in enumerate(values, start=1):
        total += value
        if value - (total - 1) / m > 0:
            shift = (total - 1) / m
    return [max(value - shift, Fraction(0)) for value in shares]


# ---- guaranteed lower ends ------------------------------------------------------------------------------------------


def unbiased(tally: Tally) -> Fraction:
    """π̂ = (N/n − (1−p00))/c, exactly."""
    return (Fraction(tally.ones, tally.n) - 1 + tally.column.p00) / tally.column.c


def exact_lower(tally: Tally, tail: Fraction) -> float:
    """Clopper and Pearson's lower end for the population, rounded down; the tally must be oriented (c > 0)."""
    yes = Fraction(0)
    if tally.ones:
        yes = Fraction(beta_quantile(tally.ones, tally.n - tally.ones + 1, tail)) * BETA_ROUNDING
    return float_below((yes - 1 + tally.column.p00) / tally.column.c - ROUNDING_MARGIN)


def squared_widths(weights: Sequence[Fraction], tallies: Sequence[Tally]) -> Fraction:
    """Σw² of the estimate Σ weight·π̂: an answer of a tally can move it by weight/(n|c|)."""
    return sum((w * w / (t.n * t.design.c**2) for w, t in zip(weights, tallies, strict=True)), Fraction(0))


def hoeffding_reach(squares: Fraction, tail: Fraction) -> Fraction:
    """t with P(estimate − its mean >= t) <= tail, rounded up; `squares` is Σw²."""
    return Fraction(math.sqrt(math.log(1 / tail) / 2 * squares)) * (1 + Fraction(8, 2**52))


def hoeffding_lower(value: Fraction, squares: Fraction, tail: Fraction) -> float:
    """Hoeffding's lower end around the unbiased value, rounded down."""
    return float_below(value - hoeffding_reach(squares, tail) - ROUNDING_MARGIN)


def anytime_shares(ones: Any, n: int, miss: float) -> Any:
    """The lower end of λ for every count of ones; of the two points that bracket it the lower one."""
    import numpy as np

    special, counts = scipy_special(), np.asarray(ones, float)
    top = special.betaln(counts + 0.5, n - counts + 0.5) - special.betaln(0.5, 0.5)
    low, high = np.zeros(counts.shape), counts / n
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        log_e = top - special.xlogy(counts, middle) - special.xlog1py(n - counts, -middle)
        outside = log_e > math.log(1 / miss) + SLACK
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    return np.where(counts > 0, low, 0.0)


def anytime_lower(tally: Tally, miss: Fraction) -> float:
    """The lower end for the population; the tally must be oriented (c > 0)."""
    share = Fraction(float(anytime_shares([tally.ones], tally.n, float(miss))[0]))
    return float_below((share - 1 + tally.column.p00) / tally.column.c - ROUNDING_MARGIN)
