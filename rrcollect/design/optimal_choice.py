"""The best design for one of k options under a strict promise ε, and what it costs beside others.

Theorem ([PNL23], minimax; here also at every prevalence).  Among all mechanisms for k options a set design has the
least total variance, with the smallest size ω >= 1 that has

    e^(2ε) ω(ω + 1)  >=  (k − ω)(k − ω − 1),        about k/(e^ε + 1),

and p = ω e^ε / (ω e^ε + k − ω).  The size is decided exactly; a tie takes the smaller set.  p is lowered to the grid.

δ > 0 buys accuracy only by disclosing people: the optimum for k > 2 is "with chance δ send the truth, marked as such".
So only strict ε is served there; two options are a yes/no design, for which (ε, δ) has its own theorem.
"""

from __future__ import annotations

from fractions import Fraction

from rrcollect.design.exponential import ExpNumber, sign_at_exp
from rrcollect.design.mechanism import GRID
from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike, probability, whole_number
from rrcollect.design.sets import MOST_OPTIONS, SetDesign
from rrcollect.errors import ParameterError, UninformativeDesign


def best_size(epsilon: EpsilonLike, options: int) -> int:
    """The size of the best set, decided exactly.

    >>> [best_size(1, k) for k in (2, 3, 4, 10, 20, 100)]
    [1, 1, 1, 3, 5, 27]
    """
    exact, k = Epsilon(epsilon), whole_number("options", options, 2)

    def enough(w: int) -> bool:
        ways = (Fraction(-(k - w) * (k - w - 1)), Fraction(0), w * (w + 1) * exact.factor**2)
        return sign_at_exp(ways, exact.rational) >= 0

    low, high = 1, k - 1  # `enough` turns true once and stays: its left side grows with ω, its right side falls
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def optimal_choice(epsilon: EpsilonLike, options: int, delta: NumberLike = 0) -> SetDesign:
    """The set design of least variance under ε for this many options, on the grid.

    >>> design = optimal_choice(1, 10)
    >>> design.size, design.limit
    (3, 9926221139934917497)
    >>> optimal_choice("ln 2", 3)
    SetDesign(3, 1, '1/2')
    """
    k = whole_number("options", options, 2)
    if k > MOST_OPTIONS:
        raise ParameterError("options", options, f"2 to {MOST_OPTIONS}")
    if probability("delta", delta) > 0:
        raise ParameterError(
            "delta",
            delta,
            "0: for a choice δ > 0 gains accuracy only by sending the truth of some people, marked as such"
            + ("; for two options ask yes or no, by optimal_design" if k == 2 else ""),
        )
    return made_for(epsilon, k, best_size(epsilon, k))


def made_for(epsilon: EpsilonLike, options: int, size: int) -> SetDesign:
    """The set design of this size that ε allows, on the grid."""
    exact, k, w = Epsilon(epsilon), options, size
    big_e = exact.exp
    if w == 1:
        each = -(ExpNumber.floor(-(GRID / (big_e + (k - 1)))))  # R, rounded up: every other option's chance on 2^64
        p = 1 - Fraction((k - 1) * each, GRID)
    else:
        p = Fraction((GRID * (w * big_e) / (w * big_e + (k - w))).floor(), GRID)
    if k * p <= w:
        raise UninformativeDesign(
            f"ε = {exact} forces all {k} options to be answered alike (on the grid of 1/2^64): allow a larger ε"
        )
    return SetDesign(k, w, p)
