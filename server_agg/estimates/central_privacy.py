"""What the crowd adds: the ε of a collection of n reports that cannot be told apart (shuffling).

Theorem (the blanket; [BBGN19], [FMT23]).  A report by (p00, p11) is, with probability γ = 2−p00−p11, a coin of
ν = (1−p00)/γ that does not depend on its truth.  Who sees the sum of n reports and not which is whose cannot tell two
truths of one person further apart than (ε, δ(ε)), E = e^ε:

    δ(ε) <= E over B ~ Bin(n−1, γ) of  max over both directions of  Σ_k [(1−a−E(1−b)) f(k) + (a−Eb) f(k−1)]_+

with f the pmf of Bin(B, ν) and (a, b) = (1−p00, p11), (p11, 1−p00): the chance of a 1 under either truth.

Sets of ω of k options.  Two truths x and x′ differ only in the sets that hold one of them and not the other: with x the
set holds x and not x′ with chance a = p(k−ω)/(k−1), and x′ and not x with b = (1−p)ω/(k−1).  So with chance a + b the
report is a coin of a/(a+b) or b/(a+b), and every other report is, with chance 2b at least, a fair coin in its place:

    δ(ε) <= (a+b) · E over B ~ Bin(n−1, 2b) of the same, with ν = ½ and (a, b)/(a+b)

Rules
1. It is said in addition to the local ε, which needs no trust, and never instead of it; it is never above it.
2. Everything is rounded to the safe side: what is cut off the distribution of B is added to δ, and ε is an upper end.
3. A mechanism that can prove a truth is refused: the crowd hides nothing of a proof.

Each sum is two tails of a binomial per B, because f(k−1)/f(k) = k(1−ν)/((B+1−k)ν) grows with k.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from rrcollect.design.mechanism import Mechanism, checked_design
from rrcollect.design.parameters import NumberLike, probability, whole_number
from rrcollect.errors import ParameterError
from server_agg.estimates.numerics import binomials_at_least, scipy_special

if TYPE_CHECKING:
    import numpy as np

CUT = 1e-14  # of the distribution of B, on both sides together; it is added to δ
STEPS = 26  # of the bisection: ε is known to 2^-26 of the local ε
SLACK = 1 + 1e-12  # for the rounding of the sums
CHUNK = 2**20  # values of B at a time


@lru_cache(maxsize=1024)
def central_privacy(design: Mechanism, n: int, delta: NumberLike) -> float:
    """An ε for which a collection of n reports by this design satisfies (ε, δ); at most the local ε.

    >>> from rrcollect import optimal_design
    >>> f"{central_privacy(optimal_design(1), 1000, '1e-6'):.6f}"
    '0.148671'
    """
    chance = float(probability("delta", delta))
    if not 0 < chance < 1:
        raise ParameterError("delta", delta, "a number strictly between 0 and 1, such as 1e-6")
    checked_design(design).blanket()  # a design that can prove a truth is refused
    low, high = 0.0, design.epsilon()
    if central_delta(design, n, high) > chance:
        return high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if central_delta(design, n, middle) <= chance else (middle, high)
    return high


def central_delta(design: Mechanism, n: int, epsilon: float) -> float:
    """The δ that is enough for a collection of n reports at this ε.

    >>> from rrcollect import Design, optimal_design
    >>> f"{central_delta(optimal_design(1), 20, 0.3):.12f}", f"{central_delta(Design('0.9', '0.5'), 20, 0.6):.12f}"
    ('0.024695820967', '0.003374643714')
    """
    others, hidden = whole_number("n", n, minimum=1) - 1, checked_design(design).blanket()
    one, other = map(float, hidden.ones)
    found = _bound(others, float(hidden.share), float(hidden.coin), [(one, other), (other, one)], epsilon)
    return found if hidden.weight == 1 else float(hidden.weight) * SLACK * found


def _bound(others: int, blanket: float, coin: float, directions: list[tuple[float, float]], epsilon: float) -> float:
    """The right-hand side of the theorem: the mean over B of the larger direction."""
    import numpy as np

    special = scipy_special()
    spread = math.sqrt(others * math.log(4 / CUT) / 2)  # Hoeffding: CUT or less lies beyond it
    low = max(0, math.floor(others * blanket - spread))
    high = min(others, math.ceil(others * blanket + spread))
    total, ratio = CUT, math.exp(epsilon)
    for start in range(low, high + 1, CHUNK):
        many = np.arange(start, min(high + 1, start + CHUNK), dtype=float)
        log = special.gammaln(others + 1) - special.gammaln(many + 1) - special.gammaln(others - many + 1)
        log += special.xlogy(many, blanket) + special.xlog1py(others - many, -blanket)
        sums = [_positive(many, coin, 1 - a - ratio * (1 - b), a - ratio * b) for a, b in directions]
        total += float(np.sum(np.exp(log) * np.maximum(*sums)))
    return min(1.0, total * SLACK)


def _positive(many: np.ndarray, coin: float, here: float, before: float) -> np.ndarray:
    """Σ_k [here·f(k) + before·f(k−1)]_+ with f the pmf of Bin(B, coin), for every B of `many`."""
    import numpy as np

    if here >= 0 and before >= 0:
        return np.full_like(many, here + before)
    if here <= 0 and before <= 0:
        return np.zeros_like(many)
    edge = abs(here / before) * coin
    last = np.floor(edge * (many + 1) / (1 - coin + edge))  # the last k with k(1−ν) <= |here/before|·ν(B+1−k)
    tails = [binomials_at_least(many - k, many, 1 - coin) for k in (last, last - 1)]  # P(Bin(B, ν) <= k)
    if here < 0:  # the k above `last`, and not those up to it
        tails = [1 - tail for tail in tails]
    return np.asarray(np.maximum(0.0, here * tails[0] + before * tails[1]))
