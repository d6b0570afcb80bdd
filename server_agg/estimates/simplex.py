"""Shares brought into [0, 1] that add up to 1: biased, with a smaller error than the unbiased ones.

sets of one option   of greatest likelihood, in closed form: those that would be negative are 0
others               the nearest such shares: the likelihood would need the counts of whole sets
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from server_agg.count.tally import Tally


def likeliest_shares(tally: Tally) -> list[Fraction]:
    """The shares of greatest likelihood for sets of one option."""
    design, k = tally.design, len(tally)
    order = sorted(range(k), key=lambda j: (-tally.counts[j], j))
    for m in range(k, 0, -1):
        top = order[:m]
        held = sum(tally.counts[j] for j in top)
        chances = {j: tally.counts[j] * (m * design.q + design.c) / held for j in top} if held else {}
        if chances and min(chances.values()) >= design.q:
            return [(chances[j] - design.q) / design.c if j in chances else Fraction(0) for j in range(k)]
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
