"""A billion sets of options, and a billion bits of numbers: are they distributed and independent as the design says?

Everybody in a run has the same truth, or truths alternate by place, so every law is known exactly.  Of n answers to one
truth x, under the claim
* the answers that hold option j are Bin(n, p) for j = x and Bin(n, q) else;
* those that hold both i and j are Bin(n, t1) if x is one of them and Bin(n, t0) else, t1 = p(ω − 1)/(k − 1) and
  t0 = (ω − 1)(ω − 2p)/((k − 1)(k − 2));
* of n/2 neighbours those that both hold option j are Bin(n/2, μ²), μ being p or q.
A number at the share x of its range gives a 1 with probability τ(x)/2^64.
Every comparison yields a two-sided binomial chance; the search fails if one is below `ALARM / MOST`, so that a sound
sampler is accused with probability below 1e-9 per run.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from rrcollect import Design, SetDesign, optimal_design, randomise_many
from tests.assurance.check import Outcome, Step
from tests.assurance.sampler.statistics import ALARM, MOST
from tests.inside.design import threshold

if TYPE_CHECKING:
    from numpy.typing import NDArray

AT_ONCE = 1 << 18  # answers per call
Table = Callable[["NDArray[np.uint8]", SetDesign], "NDArray[np.uint8]"]
"""Rows of 0 and 1 for many truths."""
PATHS = {  # one design per way of drawing in bulk: `design/bulk_sets.py`
    "sets of one": optimal_design(1, options=4),
    "sets from a table": optimal_design(1, options=10),
    "sets by selection": optimal_design(1, options=20),
}


def shipped(truths: NDArray[np.uint8], design: SetDesign) -> NDArray[np.uint8]:
    """Through `randomise_many`."""
    return np.asarray(randomise_many(truths, design))


def least_chance(seen: Any, asked: Any, p: Any) -> float:
    """The least two-sided binomial chance of several counts."""
    found = 2 * np.minimum(binom.cdf(seen, asked, p), binom.sf(np.asarray(seen) - 1, asked, p))
    return float(np.min(found))


class Counts:
    """What was counted of the answers to one truth: options, pairs of options, options of neighbours."""

    def __init__(self, design: SetDesign, truth: int) -> None:
        self.design, self.truth, self.n = design, truth, 0
        self.together = np.zeros((design.options, design.options), np.int64)
        self.twice = np.zeros(design.options, np.int64)

    def add(self, rows: NDArray[np.uint8]) -> None:
        """Some more answers, an even number of them."""
        self.n += len(rows)
        real = rows.astype(np.float32)  # whole numbers below 2^24 are exact
        self.together += (real.T @ real).astype(np.int64)
        self.twice += (rows[::2] & rows[1::2]).sum(axis=0, dtype=np.int64)

    def chances(self) -> tuple[int, float]:
        """(comparisons, the least chance)."""
        design, k, w = self.design, self.design.options, self.design.size
        p, q = float(design.p), float(design.q)
        t1 = float(design.p * (w - 1) / (k - 1))
        t0 = float((w - 1) * (w - 2 * design.p) / ((k - 1) * max(k - 2, 1)))
        alone, both = np.full(k, q), np.full((k, k), t0)
        alone[self.truth], both[self.truth, :], both[:, self.truth] = p, t1, t1
        pairs = np.triu_indices(k, 1)
        found = [least_chance(np.diag(self.together), self.n, alone), least_chance(self.twice, self.n // 2, alone**2)]
        if w > 1:
            found.append(least_chance(self.together[pairs], self.n, both[pairs]))
        elif self.together[pairs].any():
            found.append(0.0)
        return 2 * k + len(pairs[0]), min(found)


def set_law(design: SetDesign, answers: int, draw: Table = shipped) -> Callable[[int, Step], Outcome]:
    """So many answers, to the first, the last and a middle option in turn."""

    def run(piece: int, step: Step) -> Outcome:
        counts = [Counts(design, truth) for truth in sorted({0, design.options // 2, design.options - 1})]
        calls = -(-answers // AT_ONCE)
        for call in range(calls):
            each = counts[call % len(counts)]
            each.add(draw(np.full(min(AT_ONCE, answers), each.truth, np.uint8), design))
            step(call + 1, calls)
        made = [each.chances() for each in counts if each.n]
        least = min(chance for _, chance in made)
        figures = {"answers": sum(each.n for each in counts), "comparisons": sum(many for many, _ in made)}
        return Outcome(least >= ALARM / MOST, {**figures, "least chance": least})

    return run


def number_law(answers: int, off: float = 0.0) -> Callable[[int, Step], Outcome]:
    """So many bits of numbers at nine places of a range; `off` is what a planted bug adds to every number."""
    design: Design = optimal_design(1)
    places = [0.0, 2.0**-40, 0.1, 0.25, 1 / 3, 0.5, 0.77, 1 - 2.0**-50, 1.0]

    def run(piece: int, step: Step) -> Outcome:
        seen, asked, twice = (np.zeros(len(places), np.int64) for _ in range(3))
        calls = -(-answers // AT_ONCE)
        for call in range(calls):
            place = call % len(places)
            number = min(places[place] + off, 1.0)
            bits = randomise_many(np.full(min(AT_ONCE, answers), number), design, bounds=(0, 1))
            asked[place] += bits.size
            seen[place] += np.count_nonzero(bits)
            twice[place] += np.count_nonzero(bits[::2] & bits[1::2])
            step(call + 1, calls)
        limits, ends = design.applied, (Fraction(0), Fraction(1))
        law = np.array([threshold(place, limits, *ends) / 2.0**64 for place in places])
        met = asked > 0
        least = min(
            least_chance(seen[met], asked[met], law[met]), least_chance(twice[met], asked[met] // 2, law[met] ** 2)
        )
        figures = {"answers": int(asked.sum()), "comparisons": 2 * int(met.sum()), "least chance": least}
        return Outcome(least >= ALARM / MOST, figures)

    return run


# ---- planted bugs ---------------------------------------------------------------------------------------------------


def too_honest(truths: NDArray[np.uint8], design: SetDesign) -> NDArray[np.uint8]:
    """The truth is left out a twentieth less often."""
    more = SetDesign(design.options, design.size, design.p + (1 - design.p) / 20)
    return np.asarray(randomise_many(truths, more.to_grid()))


def last_gives_way(truths: NDArray[np.uint8], design: SetDesign) -> NDArray[np.uint8]:
    """The truth takes the place of the last option of a sorted set: some sets never occur."""
    rows = shipped(truths, design)
    lone = np.flatnonzero(rows[:, 0] & rows[:, 1])
    rows[lone, 1], rows[lone, -1] = rows[lone, -1], 1
    return rows


def repeated(truths: NDArray[np.uint8], design: SetDesign) -> NDArray[np.uint8]:
    """One answer in fifty is its neighbour's."""
    rows = shipped(truths, design)
    rows[1::50] = rows[0::50][: len(rows[1::50])]
    return rows


PLANTED_SETS = {
    "the truth a little more often": too_honest,
    "an option that gives way": last_gives_way,
    "one answer in fifty is its neighbour's": repeated,
}
