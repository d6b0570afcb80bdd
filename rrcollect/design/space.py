"""The projective space PG(t−1, q), q prime: its points, which are also its hyperplanes, and what lies in which.

Rules
1. A point is a vector whose first coordinate that is not 0 is 1; a hyperplane is the points orthogonal to a vector.
2. Vectors are whole numbers, their coordinates read to the base q.  Points are numbered by where the first 1 is, then
   by the number that the coordinates behind it make.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_SPACE = 1 << 28


class Space(NamedTuple):
    """PG(t−1, q): its numbers, its points, and what lies in a block."""

    q: int
    t: int

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """(k, ω, λ, λ₃).

        >>> Space(3, 4).sizes
        (40, 13, 4, 1)
        """
        k, w, two, three = ((self.q ** (self.t - less) - 1) // (self.q - 1) for less in range(4))
        return k, w, two, three

    def place(self, number: int) -> tuple[int, int]:
        """(the weight of the first coordinate that is not 0, the number that the digits behind it make).

        >>> Space(3, 3).place(11), Space(3, 3).place(12)
        ((3, 2), (1, 0))
        """
        weight = self.q ** (self.t - 1)
        while number >= weight:
            number, weight = number - weight, weight // self.q
        return weight, number

    def vector(self, number: int) -> int:
        """The vector of a point, its coordinates read as a number."""
        return sum(self.place(number))

    def number(self, vector: int) -> int:
        """The point that a vector other than 0 spans.

        >>> space = Space(5, 3)
        >>> [space.number(space.vector(point)) for point in range(31)] == list(range(31))
        True
        """
        weight, before = self.q ** (self.t - 1), 0
        while vector < weight:
            before, weight = before + weight, weight // self.q
        inverse = pow(vector // weight, -1, self.q)
        return before + self.times(inverse, vector % weight)

    def times(self, factor: int, vector: int) -> int:
        """Every coordinate times a factor."""
        found, weight = 0, 1
        while vector:
            vector, digit = divmod(vector, self.q)
            found, weight = found + digit * factor % self.q * weight, weight * self.q
        return found

    def product(self, one: int, other: int) -> int:
        """The inner product of two vectors."""
        found = 0
        while one and other:
            (one, a), (other, b) = divmod(one, self.q), divmod(other, self.q)
            found += a * b
        return found % self.q

    def holds(self, block: int, option: int) -> bool:
        """Whether a block holds an option, both by their numbers."""
        return not self.product(self.vector(block), self.vector(option))

    def line(self, i: int, j: int) -> list[int]:
        """The q + 1 points on the line through two others.

        >>> Space(2, 3).line(0, 1)
        [0, 1, 6]
        """
        one, other = self.vector(i), self.vector(j)
        return sorted({j, *(self.number(self.plus(one, self.times(a, other))) for a in range(self.q))})

    def plus(self, one: int, other: int) -> int:
        """The sum of two vectors."""
        found, weight = 0, 1
        while one or other:
            (one, a), (other, b) = divmod(one, self.q), divmod(other, self.q)
            found, weight = found + (a + b) % self.q * weight, weight * self.q
        return found


def is_prime(number: int) -> bool:
    """Whether a small number is prime."""
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


@lru_cache(maxsize=4)
def digits_of(space: Space) -> NDArray[np.uint16]:
    """The coordinates of all points, one row each."""
    import numpy as np

    parts = []
    for lead in range(space.t):
        behind = space.t - 1 - lead
        tails = np.arange(space.q**behind)[:, None] // space.q ** np.arange(behind - 1, -1, -1) % space.q
        head = np.zeros((len(tails), lead + 1), np.uint16)
        head[:, lead] = 1
        parts.append(np.hstack([head, tails.astype(np.uint16)]))
    return np.vstack(parts)
