"""A smoothed curve over rounds, with bars: at each round the mean of its neighbourhood.

    at round t:  Σ_s w_ts π̂_s,   w_ts ∝ n_s · max(0, 1 − |s − t|/(width + 1)),   Σ_s w_ts = 1

Rules
1. The weights are made of times and numbers of answers alone.  So every point is unbiased for the same mean of the true
   shares, which is what its bar covers: a curve that bends is flattened by as much as that mean differs from it.
2. Rounds must be answered by independent people, as in a panel in which each device answers in one round.
3. Bars hold at all rounds at once (Bonferroni).  "hoeffding" is guaranteed; the others of `strata` are approximate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.design.parameters import NumberLike, whole_number
from rrcollect.errors import ParameterError
from server_agg.count.tally import Tally
from server_agg.estimates.interval import Interval
from server_agg.estimates.numerics import exact_level
from server_agg.estimates.one import Estimate
from server_agg.estimates.scale import SHARES, Scale
from server_agg.report.drawing import Point
from server_agg.report.result import Result
from server_agg.weigh.strata import StratifiedEstimate


@dataclass(frozen=True)
class SmoothedPoint:
    """The curve at one round: the mean of its neighbourhood, with its bar."""

    round: int
    n: int
    value: float
    interval: Interval
    weights: tuple[Fraction, ...]  # of the rounds, in their order


@dataclass(frozen=True)
class SmoothedCurve(Result):
    """The points of the curve, in the order of rounds; `width` rounds to either side are looked at."""

    points_by_round: tuple[SmoothedPoint, ...]
    width: int
    level: Fraction
    scale: Scale = SHARES

    tidy = "rounds"
    numeric = frozenset(range(1, 5))

    def describe(self) -> str:
        """What the curve and its bars are."""
        bar = self.points_by_round[0].interval
        promise = "" if bar.guaranteed else "; approximate"
        return (
            f"smoothed over {self.width} rounds to either side; all {len(self.points_by_round)} {bar.method} bars "
            f"cover their neighbourhoods' means at once at {float(100 * self.level):.10g} %{promise}"
        )

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        rounds = [
            {"round": one.round, "n": one.n, "value": one.value, "interval": one.interval.as_dict()}
            for one in self.points_by_round
        ]
        return {"rounds": rounds, "width": self.width, "level": float(self.level)}

    def cells(self) -> tuple[list[str] | None, list[list[str]]]:
        """A line for each round."""
        head = ["round", "n nearby", f"mean {self.scale.unit}".rstrip(), "low", "high"]
        lines = []
        for one in self.points_by_round:
            shown = (self.scale.clipped(one.value), *one.interval)
            numbers = (self.scale.text(value, one.interval.width) for value in shown)
            lines.append([str(one.round), str(one.n), *numbers])
        return head, lines

    def notes(self) -> list[str]:
        """What the curve and its bars are."""
        return [self.describe()]

    def points(self) -> list[Point]:
        """The curve."""
        return [Point(str(one.round), one.value, *one.interval) for one in self.points_by_round]

    def caption(self) -> str:
        """What the bars of the picture are."""
        return self.describe()

    def _placed(self) -> list[float]:
        return [float(one.round) for one in self.points_by_round]


def smoothed(
    rounds: Mapping[int, Tally | Sequence[Tally]],
    *,
    width: int = 2,
    level: NumberLike = 0.95,
    method: str = "hoeffding",
    scale: Scale = SHARES,
) -> SmoothedCurve:
    """The smoothed curve of a yes/no, of one option, or (with its scale) of a number's mean.

    >>> from rrcollect import Design
    >>> design = Design("3/4", "3/4")
    >>> curve = smoothed({r: Tally(design, 1000, 300 + 20 * r) for r in range(5)}, width=1)
    >>> [round(point.value, 3) for point in curve.points_by_round]
    [0.113, 0.14, 0.18, 0.22, 0.247]
    """
    if len(rounds) < 2:
        raise ParameterError("rounds", list(rounds), "two rounds or more")
    reach, order = whole_number("width", width), sorted(whole_number("round", number, minimum=0) for number in rounds)
    found = {number: _estimates(number, rounds[number]) for number in order}
    each = 1 - (1 - exact_level(level)) / len(order)
    points = []
    for middle in order:
        parts = [
            (str(number), Fraction(one.n) * (reach + 1 - abs(number - middle)), one)
            for number in order
            if abs(number - middle) <= reach
            for one in found[number]
        ]
        total = sum((weight for _, weight, _ in parts), Fraction(0))
        mean = StratifiedEstimate(tuple((name, weight / total, one) for name, weight, one in parts), "smoothed", None)
        bar = mean.interval(each, method)
        ends = tuple(float(scale.low + Fraction(end) * (scale.high - scale.low)) for end in bar)
        words = f"mean of rounds {parts[0][0]} to {parts[-1][0]}"
        points.append(
            SmoothedPoint(
                middle,
                mean.n,
                float(scale.low + mean.exact_value * (scale.high - scale.low)),
                bar.with_ends((ends[0], ends[1]), target=words),
                tuple(weight / total for _, weight, _ in parts),
            )
        )
    return SmoothedCurve(tuple(points), reach, exact_level(level), scale)


def _estimates(number: int, given: Tally | Sequence[Tally]) -> list[Estimate]:
    tallies = [given] if isinstance(given, Tally) else list(given)
    if not tallies or any(not isinstance(tally, Tally) for tally in tallies) or min(tally.n for tally in tallies) < 2:
        raise ParameterError(f"round {number}", [t.n for t in tallies if isinstance(t, Tally)], "two answers or more")
    return [Estimate(tally) for tally in tallies]
