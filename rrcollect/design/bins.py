"""`BinDesign`: where a number lies among k = 2^h equal parts of its range, by one drawn question (Haar–Walsh).

At level l the bins form 2^l nodes; x lies in node x >> (h − l), in its left or right half.  Question
(l, r), number 2^l − 1 + r, is: "in the right half, or, if node and r have an odd number of common bits, in the left".
With s = 1 − 2·(the answer's unbiased value) the share of people below the edge m of the bins is
    F(m) = m/k + E[h·w_l(m)·(−1)^|node_m ∧ r|·s],   w_l = ρ/2 with m at the share ρ of the left half, else (1 − ρ)/2,
and the variance of one such term is h·Σ_l w_l(m)²/c² − (F − m/k)², c = 2p − 1: it grows with the logarithm of k only.

Rules
1. A number at the upper end of the range is in the last bin; on an edge it is in the bin above.
2. Sets of bins answer the same question (`below_of_sets`); which of the two is better is compared in `optimal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from rrcollect.design.drawn import DrawnMechanism
from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.design.sampling import HIDDEN, option_index
from rrcollect.design.sentences import Said, Sentences, bin_sentences, bin_told
from rrcollect.design.terms import Curve, KindLike
from rrcollect.errors import BadTruth, ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_BINS = 1024


class Binned(Protocol):
    """What tells where a number lies among bins."""

    @property
    def truths(self) -> int: ...
    def variance_below(self, edge: int, share: Fraction) -> Fraction: ...


class BinDesign(DrawnMechanism):
    """Where a number lies among `bins` equal parts of its range, 4 to 1024 and a power of two: one Haar–Walsh question,
    drawn and answered truly with chance `p`.

    >>> design = BinDesign(8, "3/4")
    >>> design.questions, design.apart, design.total_variation
    (7, Fraction(2, 3), Fraction(1, 3))
    """

    __slots__ = ("bins", "choice", "column", "p")
    bins: int
    parts = MappingProxyType({"bins": int, "p": str})
    separate = True

    def __init__(self, bins: int, p: NumberLike) -> None:
        k = whole_number("bins", bins, 4)
        if k > MOST_BINS or k & (k - 1):
            raise ParameterError("bins", bins, f"a power of two from 4 to {MOST_BINS}")
        self._made(p, bins=k)

    @property
    def levels(self) -> int:
        """h, of 2^h bins."""
        return self.bins.bit_length() - 1

    @property
    def truths(self) -> int:
        """One for each bin."""
        return self.bins

    @property
    def questions(self) -> int:
        """2^l on level l."""
        return self.bins - 1

    @property
    def ways(self) -> int:
        """So many levels, and as many rows as the last of them has."""
        return self.levels * self.bins // 2

    def question_of(self, number: Any) -> Any:
        """The level is the remainder by h, the row the last bits of the quotient."""
        rows = 1 << number % self.levels
        return rows - 1 + (number // self.levels & (rows - 1))

    def chance(self, question: int) -> Fraction:
        """All levels are drawn alike, and all rows of one level."""
        return Fraction(1, self.levels << level_of(question))

    @property
    def apart(self) -> Fraction:
        """(h + 1)/(2h): rule 2."""
        return Fraction(self.levels + 1, 2 * self.levels)

    def fits(self, kind: KindLike) -> bool:
        """A number in as many bins."""
        return kind.kind == "number" and kind.option_count == self.bins

    def checked_truth(self, truth: object) -> int:
        """The number of the bin."""
        return option_index(truth, self.bins)

    def holds(self, truth: int, question: int) -> bool:
        """In the right half, turned where node and row have an odd number of common bits."""
        level = level_of(question)
        row, right = question + 1 - (1 << level), truth >> self.levels - 1 - level
        return bool((right ^ (right >> 1 & row).bit_count()) & 1)

    def checked_truths(self, truths: Any) -> NDArray[Any]:
        """The numbers of bins."""
        import numpy as np

        from rrcollect.design.bulk_bits import refuse_masked

        refuse_masked(truths)
        given = np.asarray(truths)
        whole = given.ndim == 1 and (given.dtype.kind in "ui" or not given.size)
        if not whole or (given.size and (given.min() < 0 or given.max() >= self.bins)):
            raise BadTruth(f"the truths must be an array of whole numbers from 0 to {self.bins - 1}; {HIDDEN}")
        return given.astype(np.int64)

    def all_hold(self, truths: Any, questions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """As `holds`."""
        import numpy as np

        level = np.frexp(questions + 1.0)[1] - 1
        row, right = questions + 1 - (1 << level), truths >> self.levels - 1 - level
        return np.asarray((right ^ np.bitwise_count(right >> 1 & row)) & 1 != 0)

    def variance_below(self, edge: int, share: Fraction) -> Fraction:
        """n times the variance of the share of people below an edge, which is `share` of them.

        >>> BinDesign(8, "3/4").variance_below(4, Fraction(1, 2)) == 3 * Fraction(1, 4) / Fraction(1, 4)
        True
        """
        squares = sum((weight**2 for weight in half_weights(edge, self.bins)), Fraction(0))
        return self.levels * squares / self.c**2 - (share - Fraction(edge, self.bins)) ** 2

    def sums(self, counts: Sequence[int]) -> list[NDArray[np.float64]]:
        """By level, for every node: Σ_r (−1)^|node ∧ r| (answers "no" − answers "yes" to its question)."""
        import numpy as np

        more = np.array(counts[::2], np.float64) - np.array(counts[1::2], np.float64)
        found = []
        for level in range(self.levels):
            table = more[(1 << level) - 1 : (2 << level) - 1].copy()
            for bit in range(level):  # the Walsh transform of the rows
                pairs = table.reshape(-1, 2, 1 << bit)
                pairs[:] = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
            found.append(table)
        return found

    def below(self, n: int, counts: Sequence[int]) -> Curve:
        """The share of people below each of the k − 1 inner edges (Haar–Walsh, above)."""
        import numpy as np

        m, h, c = np.arange(1, self.bins), self.levels, float(self.c)
        values, squares, largest = m / self.bins, np.zeros(m.size), np.zeros(m.size)
        for level, sums in enumerate(self.sums(counts)):
            node, rest = np.divmod(m, self.bins >> level)
            share = 2 * rest / (self.bins >> level)  # in halves of the node
            weight = np.where(share <= 1, share, 2 - share) / 2
            values = values + h * weight * sums[node] / (c * n)
            squares, largest = squares + weight**2, np.maximum(largest, weight)
        return Curve(values, h * squares / c**2, h * largest / c + 1)

    def within(self, n: int, counts: Sequence[int]) -> Curve:
        """The share of people in each bin: the difference of two edges, on each level ±1/(bins of a half)/2."""
        import numpy as np

        m, h, c = np.arange(self.bins), self.levels, float(self.c)
        values, squares, largest = np.full(m.size, 1 / self.bins), 0.0, 0.0
        for level, sums in enumerate(self.sums(counts)):
            half = self.bins >> level + 1
            side = 1 - 2 * (m // half % 2)
            values = values + h * side / (2 * half) * sums[m // (2 * half)] / (c * n)
            squares, largest = squares + 1 / (2 * half) ** 2, 1 / (2 * half)
        return Curve(values, np.full(m.size, h * squares / c**2), np.full(m.size, h * largest / c + 1))

    def sentences(self, kind: str = "") -> Sentences:
        """That one question about where the number lies is drawn, and how often its answer is switched."""
        return bin_sentences(self.column.sentences(), self.telling())

    def told(self, answer: str, kind: str = "") -> tuple[Said, Said]:
        """That an answer about the number was sent, and what it can tell."""
        return bin_told(self.p == 1, self.telling())


def level_of(question: int) -> int:
    """The level of a Haar–Walsh question.

    >>> [level_of(question) for question in range(7)]
    [0, 1, 1, 2, 2, 2, 2]
    """
    return (question + 1).bit_length() - 1


def half_weights(edge: int, bins: int) -> list[Fraction]:
    """w of an edge, on every level.

    >>> [str(weight) for weight in half_weights(3, 8)]
    ['3/8', '1/4', '1/2']
    """
    rests = ((edge % (bins >> level), bins >> level) for level in range(bins.bit_length() - 1))
    return [min(Fraction(rest, node), 1 - Fraction(rest, node)) for rest, node in rests]


def worst_variance(design: Binned) -> Fraction:
    """The greatest n·variance of a share below an edge, for people spread evenly over the range, exactly."""
    return max(design.variance_below(edge, Fraction(edge, design.truths)) for edge in range(1, design.truths))


# ---- sets of bins ---------------------------------------------------------------------------------------------------


class SetsOfBins:
    """How many of the bins below an edge a set holds has one of two laws, by whether the truth lies below it; so the
    share below is the sum of the shares of its bins."""

    __slots__ = ()

    def variance_below(self: Any, edge: int, share: Fraction) -> Fraction:
        """n times the variance of the share of people below an edge, which is `share` of them."""
        within, without = self._spreads(edge)
        found: Fraction = (share * within + (1 - share) * without) / self.c**2 + share * (1 - share)
        return found

    def _spreads(self: Any, many: int) -> tuple[Fraction, Fraction]:
        """The variance of how many of so many bins a set holds: one of them true, and none of them."""
        p, q, (with_truth, others) = self.p, self.q, self.pair_chances()
        none = many * q * (1 - q) + many * (many - 1) * (others - q * q)
        one = p * (1 - p) + (many - 1) * (q * (1 - q) + 2 * (with_truth - p * q) + (many - 2) * (others - q * q))
        return one, none

    def below(self: Any, n: int, counts: Sequence[int]) -> Curve:
        """The share of people below each inner edge."""
        return _curve_of(self, n, [(edge, sum(counts[:edge])) for edge in range(1, self.options)])

    def within(self: Any, n: int, counts: Sequence[int]) -> Curve:
        """The share of people in each bin."""
        return _curve_of(self, n, [(1, count) for count in counts])


def _curve_of(design: Any, n: int, sums: Sequence[tuple[int, int]]) -> Curve:
    """Of sums of the counts of so many bins each; the spread is the greatest over all shares."""
    import numpy as np

    k, size, c = design.options, design.size, float(design.c)
    values, spread, reach = [], [], []
    for many, total in sums:
        one, none = (float(each) / c**2 for each in design._spreads(many))
        at = min(max((1 + one - none) / 2, 0.0), 1.0)  # where x·one + (1 − x)·none + x(1 − x) is the greatest
        values.append((total / n - many * float(design.q)) / c)
        spread.append(at * one + (1 - at) * none + at * (1 - at))
        reach.append((min(size, many) - max(0, size - (k - many))) / c)
    return Curve(np.array(values), np.array(spread), np.array(reach))
