"""One of k options: k-ary response, sets, or blocks of a space, by one criterion, decided exactly.

Theorem ([PNL23], minimax; here also at every prevalence).  Among all mechanisms for k options a set design has the
least total variance, with the smallest size ω >= 1 that has

    e^(2ε) ω(ω + 1)  >=  (k − ω)(k − ω − 1),        about k/(e^ε + 1),

and p = ω e^ε / (ω e^ε + k − ω).  The size is decided exactly; a tie takes the smaller set.  p is lowered to the grid.
δ > 0 buys accuracy only by disclosing people: the optimum for k > 2 is "with chance δ send the truth, marked as such".
So only strict ε is served there; two options are a yes/no design, for which (ε, δ) has its own theorem.

Where there are 2^63 such sets or more, a report carries too much that marks a person, and k characters; it is then a
block of a space PG(t−1, q) with K >= k options, of which K − k are never true.  Every one has the law of `balanced`, so
that one figure compares all: the total variance over the k real options, of n answers of those who answered,

    T = [p(1−p) + (k−1) q(1−q)]/(p − q)²,    T (E−1)² = [E(K−1)² + (k−1)(aE + b)(ωE + b − 1)]/(ωb),

a = ω − 1, b = K − ω, E = e^ε: a polynomial, so the sign of each difference is decided exactly.  Of a tie the smaller K
is chosen.  The spaces: every prime q up to 3(E+1) + 20, with the least t >= 3 that has K >= k, and q^t <= 2^28.

The best there is for large k has n·variance 4E/(E−1)² of a rare option; with q near E + 1 a block design has
(E+q−1)²/((q−1)(E−1)²), within 4 % of it where k and E leave the choice of q.  What was lost is said (`reason`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key, partial
from typing import NamedTuple

from rrcollect.design.blocks import BlockDesign
from rrcollect.design.exponential import ExpNumber, sign_at_exp
from rrcollect.design.mechanism import GRID
from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike, probability, whole_number
from rrcollect.design.promise import Promise
from rrcollect.design.sentences import bits_of
from rrcollect.design.sets import MOST_OPTIONS, SetDesign
from rrcollect.design.space import LARGEST_SPACE, Space, is_prime
from rrcollect.errors import ParameterError, UninformativeDesign

MOST_LISTED = 1_000_000  # options
MOST_SETS = 1 << 63
LARGEST_PRIME = 645  # q³ is at most 2^28


@dataclass(frozen=True)
class ChosenForOptions:
    """Why a design was chosen for so many `options`: the `rule`, the `reason`, and what was `compared`: (candidate,
    its total variance over that of the best set).  `ties` is this design; `low` and `high` are None, as nothing is
    assumed of the shares."""

    promise: Promise
    options: int
    rule: str
    reason: str
    compared: tuple[tuple[str, float], ...]
    low: Fraction | None = None
    high: Fraction | None = None

    def explain(self, n: int = 1000) -> str:
        """Rule and reason."""
        return f"Rule      {self.rule}\nWhy       {self.reason}"


class Candidate(NamedTuple):
    """Groups of `size` of `groups` options: sets of all options there are, or the blocks of a space."""

    options: int  # asked for
    size: int
    space: Space | None = None

    @property
    def many(self) -> int:
        """K: the options that it has."""
        return self.space.sizes[0] if self.space else self.options

    @property
    def name(self) -> str:
        """What people call it."""
        if self.space:
            return f"blocks of PG({self.space.t - 1}, {self.space.q})"
        return "k-ary response" if self.size == 1 else f"sets of {self.size}"

    @property
    def figure(self) -> tuple[Fraction, Fraction, Fraction]:
        """T (E−1)² as the coefficients of 1, E, E²."""
        k, w, many = self.options, self.size, self.many
        a, b = w - 1, many - w
        below = (k - 1) * b * (b - 1), (many - 1) ** 2 + (k - 1) * (a * (b - 1) + w * b), (k - 1) * a * w
        free, linear, square = (Fraction(part, w * b) for part in below)
        return free, linear, square

    def total(self, epsilon: Epsilon) -> ExpNumber:
        """T (E−1)², exactly."""
        free, linear, square = self.figure
        return free + epsilon.exp * (linear + square * epsilon.exp)

    def design(self, epsilon: Epsilon) -> SetDesign | BlockDesign:
        """It with the chance that ε allows, on the grid."""
        if self.space is None:
            return made_for(epsilon, self.options, self.size)
        p = Fraction(math.floor(GRID * allowed(epsilon, self.many, self.size)), GRID)
        if self.many * p <= self.size:
            raise _too_strict(epsilon, self.options)
        return BlockDesign(self.space.q, self.space.t, p)


def allowed(epsilon: Epsilon, many: int, size: int) -> ExpNumber:
    """p = ωE/(ωE + k − ω)."""
    return size * epsilon.exp / (size * epsilon.exp + (many - size))


def best_for_options(epsilon: EpsilonLike, options: int, delta: NumberLike = 0) -> SetDesign | BlockDesign:
    """The design for one of so many options of least variance under ε, on the grid; also for a choice of two.

    >>> print(best_for_options(1, 1000))
    a block of 364 of 1093 options (PG(6, 3)), the truth in it with p = 0.5757816319
    >>> print(best_for_options(1, 1000).choice.reason)  # doctest: +ELLIPSIS
    blocks of PG(6, 3): 1.024 of the least total variance that any mechanism has for 1000 options (within 4 %); ...
    """
    k = checked_options(options, delta)
    exact = Epsilon(epsilon)
    best = Candidate(k, best_size(exact, k))
    few = k <= MOST_OPTIONS and math.comb(k, best.size) < MOST_SETS
    compared = [Candidate(k, 1), *([best] if few and best.size > 1 else []), *spaces(exact, k)]
    if k > MOST_OPTIONS:
        compared = compared[1:]
    if not compared:
        raise _too_strict(exact, k)
    ordered = sorted(compared, key=cmp_to_key(partial(_compare, exact)))
    chosen = ordered[0]
    design = chosen.design(exact)
    least, listed = best.total(exact), (chosen, *_others(chosen, ordered, k, best))
    told = tuple((each.name, float(each.total(exact) / least)) for each in listed)
    promise, reason = Promise(exact, Fraction(0)), _reason(told, design, k)
    return design.chosen(ChosenForOptions(promise, k, _rule(chosen), reason, told))


def checked_options(options: object, delta: NumberLike = 0) -> int:
    """How many options, if there is a design for so many."""
    k = whole_number("options", options, 2)
    if k > MOST_LISTED:
        raise ParameterError("options", options, f"2 to {MOST_LISTED}")
    if probability("delta", delta) > 0:
        raise ParameterError(
            "delta",
            delta,
            "0: for a choice δ > 0 gains accuracy only by sending the truth of some people, marked as such"
            + ("; for two options ask yes or no, by optimal_design" if k == 2 else ""),
        )
    return k


def spaces(epsilon: Epsilon, options: int) -> Iterator[Candidate]:
    """The smallest space of every prime that has so many options."""
    most = LARGEST_PRIME
    if epsilon < Epsilon(f"ln {LARGEST_PRIME}"):
        most = min(most, math.floor(3 * (epsilon.exp + 1) + 20))
    for q in filter(is_prime, range(2, most + 1)):
        t = next(t for t in range(3, 30) if Space(q, t).sizes[0] >= options)
        if q**t <= LARGEST_SPACE:
            yield Candidate(options, Space(q, t).sizes[1], Space(q, t))


def _compare(epsilon: Epsilon, one: Candidate, other: Candidate) -> int:
    """The sign of the difference of their figures; of a tie that of their K."""
    factors = (Fraction(1), epsilon.factor, epsilon.factor**2)
    parts = [(a - b) * m for a, b, m in zip(one.figure, other.figure, factors, strict=True)]
    return sign_at_exp(parts, epsilon.rational) or (one.many > other.many) - (one.many < other.many)


def _others(chosen: Candidate, ordered: list[Candidate], k: int, best: Candidate) -> list[Candidate]:
    """Of each family the best that was not chosen, and k-ary response and sets for comparison in any case."""
    blocks = next((each for each in ordered if each.space and each is not chosen), None)
    listed = [each for each in dict.fromkeys((Candidate(k, 1), best)) if each != chosen]
    return [*listed, *([blocks] if blocks and not chosen.space else [])]


def _rule(chosen: Candidate) -> str:
    if chosen.space:
        return "[PNL23] block design: the hyperplanes of a projective space"
    return "[YB18] subset selection" if chosen.size > 1 else "[HLM16] k-ary response"


def _reason(told: tuple[tuple[str, float], ...], design: SetDesign | BlockDesign, k: int) -> str:
    """What was chosen, how near it is to the best there is, and what the others would have cost."""
    (name, own), *others = told
    near = "the" if own == 1 else f"{own:.4g} of the"
    words = f"{name}: {near} least total variance that any mechanism has for {k} options"
    if own > 1:
        words += f" ({'within 4 %' if own <= 1.04 else 'so many times the people'})"
    words += f"; a report carries {bits_of(design.values)} bits"
    for other, figure in others:
        at_most = " (2^63 reports or more)" if other.startswith("sets") and design.width < k else ""
        words += f"; {other} {figure:.4g}{at_most}"
    return words


# ---- sets -----------------------------------------------------------------------------------------------------------


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


def best_sets(epsilon: EpsilonLike, options: int) -> SetDesign:
    """The set design of least variance, however many sets there are."""
    return made_for(epsilon, options, best_size(epsilon, options))


def made_for(epsilon: EpsilonLike, options: int, size: int) -> SetDesign:
    """The set design of this size that ε allows, on the grid.

    >>> made_for(1, 10, 3).limit
    9926221139934917497
    """
    exact, k, w = Epsilon(epsilon), options, size
    if w == 1:
        each = -math.floor(-GRID / (exact.exp + (k - 1)))  # R, rounded up: every other option's chance on 2^64
        p = 1 - Fraction((k - 1) * each, GRID)
    else:
        p = Fraction(math.floor(GRID * allowed(exact, k, w)), GRID)
    if k * p <= w:
        raise _too_strict(exact, k)
    return SetDesign(k, w, p)


def _too_strict(epsilon: Epsilon, options: int) -> UninformativeDesign:
    return UninformativeDesign(
        f"ε = {epsilon} forces all {options} options to be answered alike (on the grid of 1/2^64): allow a larger ε"
    )
