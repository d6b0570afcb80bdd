"""`trend`: prevalence over rounds, or over groups with a score, and the line through them.

The rounds' bars hold all at once, of a choice those of all options too: see `groups`.  Slope, standard error and test
are the score's: see `estimates.score`.  Rounds may be by several designs.
Rounds must be answered by independent people.  A device that keeps its first answer for life, as this project's
client does, repeats it: for a panel of the same devices the differences between rounds are smaller than these bars.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.errors import ParameterError
from server_agg.comparisons.groups import Counted, _Grouped, read_groups
from server_agg.comparisons.pairs import counts_of
from server_agg.estimates.methods import wald_interval
from server_agg.results.drawing import Picture
from server_agg.results.interval import Interval
from server_agg.results.row import Row, Scale, Test

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Trend(_Grouped):
    """Rounds in order, with the line through them; `scores` are their places in time, or on whatever scale."""

    scores: tuple[float, ...] = ()
    step: str = "round"  # what a row is

    @property
    def first(self) -> str:  # type: ignore[override]
        """What a row is."""
        return self.step

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rounds, of a choice every option in every round."""
        return self.group_rows

    @cached_property
    def slopes(self) -> tuple[Row, ...]:
        """For every option the line through its rounds."""
        return tuple(part.slope for part in self.options)

    @cached_property
    def slope(self) -> Row:
        """The rise per round, with the p-value of no change; without a standard error where the answers tell nothing of
        a trend.  Of a choice see `slopes`."""
        if self.labels:
            raise ParameterError("slope", "of a choice", "slopes, one for each option")
        counted, span = counts_of(self.groups), self.estimated.span
        (top,), (spread,) = counted.scores(counted.counts).trend(np.array(self.scores))
        value, error = (span * float(top / spread), span * float(1 / np.sqrt(spread))) if spread > 0 else (0.0, None)
        test = self.test

        def made(level: NumberLike, method: str | None) -> Interval[Any]:
            found = wald_interval(value, float(error or 0), self._of_options(level), "slope")
            return found.with_ends((found.low, found.high), level=level)

        extras, p = {"test": test.method, "p_alone": test.p_value}, min(1.0, self.many * test.p_value)
        scale = Scale(unit="%" if self.bounds is None else self.unit, axis=f"change per {self.step}")
        name, bars = self._named(f"slope per {self.step}"), made if error is not None else None
        return Row(name, sum(group.n for group in self.groups), value, error, bars, p, None, scale, extras)

    @cached_property
    def changes(self) -> tuple[Row, ...]:
        """Each round against the one before, all at once as the rounds' bars are; rounds must be by one design each."""
        if self.labels:
            return tuple(row for part in self.options for row in part.changes)
        family = self.at_once_of(len(self.groups) - 1)
        return tuple(self.pair_row(place, place - 1, family) for place in range(1, len(self.groups)))

    @cached_property
    def test(self) -> Test:
        """That nothing changes with the scores; of a choice in the shares of all options."""
        return self._test(f"no trend over scores {', '.join(f'{x:g}' for x in self.scores)}", 1, self.scores)

    @property
    def together(self) -> str:  # type: ignore[override]
        """Said of the rounds' bars."""
        return self.at_once

    def headline(self) -> Row:
        """The slope; of a choice, or where the answers tell nothing of one, the last round."""
        return self.rows[-1] if self.labels or self.slope.bar is None else self.slope

    def remarks(self) -> list[str]:
        """The line through the rounds with the p-value of no change; the verdict is the reader's."""
        if self.labels:
            told = [f"{part.option}: {part.line()}" for part in self.options]
            return ["; ".join([*told, "p of no change, for all options at once"])]
        return [self.line()]

    def line(self) -> str:
        """The slope with the p-value of no change, of a choice for all options at once."""
        row = self.slope
        if row.standard_error is None:
            return "the answers tell nothing of a trend"
        steep, p = f"{row.value:+.3g} {'' if self.bounds is None else self.unit}".rstrip(), row.p_value
        error = f"SE {row.standard_error:.2g}"
        return f"slope {steep} per {self.step} ({error}); no change: {self.test.method} test, p = {p:.3g}"

    def extras(self) -> dict[str, object]:
        """The scores, the lines and the test."""
        lines = [row.as_dict(self.level) for row in self.slopes]
        return {"scores": list(self.scores), "slopes": lines, "test": self.test.as_dict()}

    def places(self) -> Sequence[float] | None:
        """Rounds stand where their scores are; the options of a choice one below the other."""
        return None if self.labels else self.scores

    def plot(self, ax: Axes | None = None, *, limits: tuple[float, float] | None = None) -> Picture:
        """The prevalence by round."""
        drawn = super().plot(ax, limits=limits)
        if not self.labels:
            names = [
                f"{group.name}\n{point.note}".strip() for group, point in zip(self.groups, self.points(), strict=True)
            ]
            drawn.axes.set_xticks(list(self.scores), names)
            drawn.axes.set_xlabel(self.step)
        return drawn


def trend(
    rounds: Mapping[Any, Counted],
    *,
    scores: Sequence[float] | None = None,
    bounds: tuple[NumberLike, NumberLike] | None = None,
    unit: str = "",
    labels: Sequence[str] = (),
    simultaneous: str = "bonferroni",
    over: int = 0,
    family: int | None = None,
    level: NumberLike = 0.95,
    method: str | None = None,
) -> Trend:
    """The prevalence by round, and whether it changes.

    Rounds are named by their whole numbers, which are their scores; groups by any names, with `scores` in their order
    (1, 2, 3, … unless given).  A round too small for an estimate (n < 2) is refused, not merged.  `over`: of how many
    rounds it may become, if it is looked at before the last.  `family`: of how many changes each is one.

    >>> from rrcollect import Design
    >>> from server_agg import Tally
    >>> design = Design("3/4", "3/4")
    >>> found = trend({1: Tally(design, 500, 150), 2: Tally(design, 500, 190), 3: Tally(design, 500, 240)})
    >>> [round(row.value, 3) for row in found.rows]
    [0.1, 0.26, 0.46]
    >>> print(found.line())
    slope +0.18 per round (SE 0.031); no change: score test, p = 5.09e-09
    >>> print(found.test.sentence())
    no trend over scores 1, 2, 3: score χ² = 34.15, 1 df, p = 5.09e-09
    """
    if len(rounds) < 2:
        raise ParameterError("rounds", list(rounds), "two rounds or more")
    numbered = scores is None and all(type(key) is int for key in rounds)
    if numbered:
        rounds = {number: rounds[number] for number in sorted(whole_number("round", key, 0) for key in rounds)}
    places = tuple(float(x) for x in (rounds if numbered else range(1, len(rounds) + 1) if scores is None else scores))
    if len(places) != len(rounds) or not np.isfinite(places).all() or len(set(places)) == 1:
        raise ParameterError("scores", scores, f"{len(rounds)} numbers, not all equal: one for each group")
    found, names = read_groups(rounds, labels, lambda key: "population", "rounds")
    for group in found:
        if group.n < 2:
            raise ParameterError("rounds", {group.name: group.n}, "rounds of two answers or more")
    step = "round" if numbered else "group" if scores is None else "score"
    how: dict[str, Any] = {
        "simultaneous": simultaneous,
        "over": over,
        "level": level,
        "group_method": method,
        "family": family,
    }
    return Trend(found, names, "population", bounds, unit, **how, scores=places, step=step)
