"""Bars that are looked at after every answer: the exact probability that none of them excludes the truth.

Answers come one by one.  With P(n, N) the probability of N ones among n answers and no bar so far that excluded π,
    P(n, N) = [bar(n, N) holds π]·((1 − λ)·P(n − 1, N) + λ·P(n − 1, N − 1))
which goes over all 2^n paths in n²/2 steps.  Looking begins with the second answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rrcollect import Design, optimal_design
from tests.benchmarks.coverage import Bars, bar_ends


def looked_at() -> tuple[Design, ...]:
    """The designs of the page: ε = 1, (1, 0.3), and direct answers."""
    return optimal_design(1), Design(1, "0.3"), Design(1, 1)


def all_ends(design: Design, n: int, bars: Bars) -> list[tuple[Any, Any]]:
    """The ends for every count, of 2 … n answers."""
    return [bar_ends(design, size, bars) for size in range(2, n + 1)]


def never_excluded(design: Design, ends: list[tuple[Any, Any]], prevalences: Any) -> Any:
    """For each prevalence, the probability that every bar holds it."""
    pi = np.asarray(prevalences, float)[:, None]
    yes = float(1 - design.p00) * (1 - pi) + float(design.p11) * pi
    alive = np.hstack([1 - yes, yes])
    for low, high in ends:
        none = np.zeros((len(pi), 1))
        alive = np.hstack([alive * (1 - yes), none]) + np.hstack([none, alive * yes])
        alive = alive * ((low[None, :] <= pi) & (pi <= high[None, :]))
    return alive.sum(axis=1)
