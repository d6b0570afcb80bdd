"""The laws of the count N of "yes" for each target: as exact fractions, and in doubles for large n.

population   N ~ Bin(n, λ(π))
sample       given t true "yes" among the n who answered: Bin(t, p11) + Bin(n−t, 1−p00)
finite       T true "yes" among M, of whom n were drawn without replacement, and t is also hypergeometric
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import binom, hypergeom

from rrcollect import Design

F0 = Fraction(0)


def binomial(n: int, p: Fraction) -> list[Fraction]:
    """P(Bin(n, p) = 0 … n)."""
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def sample_law(design: Design, n: int, t: int) -> list[Fraction]:
    """P(N = 0 … n) given t true "yes" among the n who answered."""
    yes, no = binomial(t, design.p11), binomial(n - t, 1 - design.p00)
    law = [F0] * (n + 1)
    for i, a in enumerate(yes):
        for j, b in enumerate(no):
            law[i + j] += a * b
    return law


def finite_law(given: Sequence[Sequence[Fraction]], n: int, yes: int, size: int) -> list[Fraction]:
    """P(N = 0 … n) if n of `size` people are drawn, `yes` of whom have the attribute; given[t] is `sample_law` of t."""
    law = [F0] * (n + 1)
    for t in range(max(0, n - size + yes), min(n, yes) + 1):
        weight = Fraction(math.comb(yes, t) * math.comb(size - yes, n - t), math.comb(size, n))
        law = [x + weight * y for x, y in zip(law, given[t], strict=True)]
    return law


def mean(law: Sequence[Fraction], of: Callable[[int], Fraction]) -> Fraction:
    """The expectation of a function of N."""
    return sum((p * of(k) for k, p in enumerate(law) if p), F0)


def population_matrix(design: Design, n: int, prevalences: Any) -> Any:
    """In doubles: a row P(N = 0 … n) for each prevalence."""
    yes = float(1 - design.p00) * (1 - prevalences) + float(design.p11) * prevalences
    return binom.pmf(np.arange(n + 1)[None, :], n, yes[:, None])


def law_matrix(design: Design, n: int, target: str | int) -> tuple[Any, Any]:
    """In doubles: every share that n people, or a population of `target`, can have, and a row of N's law for each."""
    given = np.array(
        [
            np.convolve(
                binom.pmf(np.arange(t + 1), t, float(design.p11)),
                binom.pmf(np.arange(n - t + 1), n - t, float(1 - design.p00)),
            )
            for t in range(n + 1)
        ]
    )
    if target == "sample":
        return np.arange(n + 1) / n, given
    size = int(target)
    drawn = hypergeom.pmf(np.arange(n + 1)[None, :], size, np.arange(size + 1)[:, None], n)
    return np.arange(size + 1) / size, drawn @ given
