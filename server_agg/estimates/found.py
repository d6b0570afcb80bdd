"""Which options of many are there at all: those whose share is certainly above a bound.

Option v is tested by its own count, which is exactly Bin(n, q + cπ_v): p_v = P(Bin(n, q + cβ) >= N_v) for the bound β.
Of k options the following are found, and how sure that is:

    bonferroni           p_v <= α/k: with chance 1 − α nothing is in the list that is not above the bound; guaranteed
    benjamini-yekutieli  the i-th least p is <= αi/(k·Σ1/j): of the list a share of α is wrong on average; guaranteed
    benjamini-hochberg   the i-th least p is <= αi/k: the same, approximate, as options of one answer are dependent

Rules
1. k is how many options were asked for, not how many were found.  Bars of all options hold at once (each at 1 − α/k);
   of a list that was chosen by a rate of errors the bars are at level 1 − Rα/k, R its length [BY05].
2. Said beside `bonferroni`: how large an estimate must be to be found; of options of just that share about half are.
3. All others are one row: 1 − Σ found.  Its variance is that of the number of found options in a block (or set).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike, probability
from rrcollect.errors import ParameterError
from server_agg.estimates.combination import Options
from server_agg.estimates.interval import target_words
from server_agg.estimates.numerics import scipy_special
from server_agg.results.interval import Interval, exact_level, percent
from server_agg.results.result import Result
from server_agg.results.row import MOST_ROWS, SHARES, Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

METHODS = {  # how p-values are judged, whether that is guaranteed, and what is then true, at a level of so many percent
    "bonferroni": (True, "every row is certainly above {bound}, all at once, at {level}"),
    "benjamini-yekutieli": (True, "at most {miss} of the rows are not above {bound}, on average"),
    "benjamini-hochberg": (False, "at most {miss} of the rows are not above {bound}, on average: approximate"),
}
SAFE = 1 + 1e-9  # p-values are floats: made larger by more than they can be off
MOST_TERMS = 64  # found options of which the rest's variance is computed by pairs


@dataclass(frozen=True)
class Found(Result):
    """The options that were found, the largest first, and the others as one row."""

    options: Options
    listed: tuple[Row, ...]
    rest: Row
    least: Fraction  # the least estimate that is found
    level: NumberLike = 0.95
    above: Fraction = Fraction(0)
    way: str = "bonferroni"

    first = "option"
    together = "all at once"

    @property
    def rows(self) -> tuple[Row, ...]:
        """The found options, then the rest."""
        return (*self.listed, self.rest)

    @property
    def target(self) -> str:
        """Whose shares they are."""
        return target_words(self.options.target)

    def __len__(self) -> int:
        return len(self.listed)

    @property
    def not_found(self) -> int:
        """How many options were not found."""
        return self.options.k - len(self.listed)

    def remarks(self) -> list[str]:
        """What is true of the list, and what could have been found."""
        sure = exact_level(self.level)
        shares = {"level": sure, "miss": 1 - sure, "bound": self.above}
        told = {name: f"{100 * float(share):.4g} %" for name, share in shares.items()}
        many = f"{len(self.listed)} of {self.options.k} options found"
        said = [f"{many}: {METHODS[self.way][1].format(**told)} ({self.way})"]
        if self.way == "bonferroni":
            said.append(f"found is what is estimated at {percent(float(self.least), 2)} % or more")
        return said

    def extras(self) -> dict[str, object]:
        """The list in short."""
        about = {"found": len(self.listed), "not_found": self.not_found, "detectable": float(self.least)}
        return {**about, "above": str(self.above), "by": self.way, "guaranteed": METHODS[self.way][0]}


def found_options(options: Options, labels: Sequence[str], level: NumberLike, above: NumberLike, way: str) -> Found:
    """The options found at a level above a bound."""
    sure, bound = exact_level(level), probability("above", above)
    if way not in METHODS:
        raise ParameterError("method", way, f"one of {', '.join(METHODS)}")
    k, n, column = options.k, options.tally.n, options.tally.column
    counts = np.array(options.tally.held[:k], np.int64)
    needed = _needed(counts, n, float(column.says_yes(bound)), float(1 - sure), way)
    chosen = np.flatnonzero(counts >= needed)
    chosen = chosen[np.argsort(-counts[chosen], kind="stable")]
    rows = [options.row(option, labels[option]) for option in chosen.tolist()]
    if way != "bonferroni":
        rows = [_with_rate(row, options, option, len(rows)) for row, option in zip(rows, chosen.tolist(), strict=True)]
    least = (Fraction(needed, n) - (1 - column.p00)) / column.c
    return Found(options, tuple(rows), _rest(options, chosen), least, level, bound, way)


def _needed(counts: NDArray[np.int64], n: int, rate: float, miss: float, way: str) -> int:
    """The least count that is found; n + 1 if there is none."""
    tail = scipy_special().bdtrc  # P(Bin > x)
    k = counts.size
    if way == "bonferroni":
        low, high = 0, n + 1  # P(Bin >= low) is above, P(Bin >= high) is not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if tail(middle - 1, n, rate) * SAFE <= miss / k else (middle, high)
        return high
    share = miss / (k * float((1 / np.arange(1, k + 1)).sum())) if way == "benjamini-yekutieli" else miss / k
    values, times = np.unique(counts, return_counts=True)
    p = np.where(values > 0, tail(values - 1, n, rate), 1.0) * SAFE
    ranks = np.cumsum(times[::-1])[::-1]  # so many options have this count or a larger one
    passed = np.flatnonzero(p <= share * ranks)
    return int(values[passed[0]]) if passed.size else n + 1


def _with_rate(row: Row, options: Options, option: int, listed: int) -> Row:
    """The row with the bar of a list that was chosen by its rate of errors (rule 1)."""

    def bar(level: NumberLike, method: str | None) -> Interval:
        own = exact_level(level)
        found = options[option].interval(1 - (1 - own) * listed / options.k, method or "exact")
        return found.with_ends((found.low, found.high), level=own)

    return replace(row, bar=bar)


def _rest(options: Options, chosen: NDArray[np.int64]) -> Row:
    """The share of all others (rule 3)."""
    name = f"the {options.k - chosen.size} others"
    if not chosen.size:
        return Row(name, options.tally.n, 1.0, None, None, None, None, SHARES)
    weights = [0] * options.k
    for option in chosen.tolist():
        weights[option] = -1
    value = 1 - sum((options[option].exact_value for option in chosen.tolist()), Fraction(0))
    if chosen.size > MOST_TERMS:
        return Row(name, options.tally.n, float(value), None, None, None, None, SHARES)
    return options.combined(weights, name, SHARES, name, start=1).row


class OfManyOptions:
    """What an estimate has beside, where there may be very many options."""

    labels: tuple[str, ...]

    @property
    def many(self) -> bool:
        """Whether there are more options than rows are shown."""
        return len(self.labels) > MOST_ROWS

    def found(self: Any, level: NumberLike = 0.95, above: NumberLike = 0, method: str = "bonferroni") -> Found:
        """The options whose share is above a bound, sorted, with bars; `method` says how sure that is (`found`).

        >>> from rrcollect import SetDesign
        >>> from server_agg import Tally, estimate
        >>> e = estimate(Tally(SetDesign(4, 1, "1/2"), 1000, [420, 260, 180, 140]), labels=["a", "b", "c", "d"])
        >>> [row.name for row in e.found().rows]
        ['a', 'b', 'the 2 others']
        """
        return found_options(self.options, self.labels, level, above, method)

    @cached_property
    def rows(self: Any) -> tuple[Row, ...]:
        """As they are, but of very many options those that were found, and the rest as one row."""
        return self.found().rows if self.many else super().rows  # type: ignore[misc, no-any-return]

    def __getitem__(self: Any, name: str | int) -> Row:
        if self.many and name in self._places:
            return self.options.row(self._places[name], name)  # type: ignore[no-any-return]
        return super().__getitem__(name)  # type: ignore[misc, no-any-return]

    @cached_property
    def _places(self: Any) -> dict[object, int]:
        return {label: place for place, label in enumerate(self.labels)}
