"""Power: the chance that a survey of n answers finds what is there.

Against a null: the exact test rejects π0 if the two-sided Clopper-Pearson bar (or a one-sided one) does not hold it; N
is binomial, so the power is a sum of exact tails.  It saws as n grows, so the sample size for a power is an n from
which it stays above what was asked for.
Between two groups: the score test of `compare`, by the normal law with the variances of both hypotheses.  Where an
expected count of ones or zeros is below 10 the test is exact and this approximation fails: `models.power`
repeats the test itself.

One plan for every kind of question (`Asked`)
1. A choice.  Option j seen alone is the yes/no design `column`, and what is said of all k options holds at once at
   level 1 − α/k each (two options are one question, and need no correction).
2. A number.  The mean of a number in [low, high] is a share of its range.
3. All that apply.  Each option is asked of one in so many people (`apart`), and has its own level 1 − α/k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from rrcollect.design.mechanism import Mechanism
from rrcollect.design.parameters import NumberLike, checked_bounds, fraction, probability, whole_number
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.comparisons.groups import option_level
from server_agg.estimates.interval import tail_probability
from server_agg.estimates.numerics import binomial_at_least, least, least_by_doubling, normal_quantile, normal_tail
from server_agg.estimates.share import DIRECT
from server_agg.plan.pictures import draw_lines
from server_agg.results.drawing import Picture, share_axis
from server_agg.results.findings import Findings
from server_agg.results.interval import Side, exact_level, percent_of
from server_agg.results.row import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGEST_N = 10**12
STAYS = 200  # how many further n are looked at
Bounds = tuple[NumberLike, NumberLike]


class Asked(NamedTuple):
    """A question as plans see it: one yes/no design, the level of one statement, and what shares are shares of."""

    design: Design
    level: Fraction
    options: int
    low: Fraction
    span: Fraction
    apart: int = 1

    @classmethod
    def of(cls, design: Mechanism, level: NumberLike, bounds: Bounds | None) -> Asked:
        """By the rules of the module."""
        if design.separate:
            k = design.rows
            each = 1 - (1 - exact_level(level)) / k
            return cls(design.column, each, k, Fraction(0), Fraction(1), k)
        options = design.truths
        each = option_level(level, options)
        if bounds is None:
            return cls(design.column, each, options, Fraction(0), Fraction(1))
        low, high = checked_bounds(bounds)
        if options != 2:
            raise ParameterError("bounds", bounds, f"none: the design is for a choice of {options} options")
        return cls(design.column, each, options, low, high - low)

    def direct(self) -> Asked:
        """The same question, asked directly."""
        return self._replace(design=DIRECT)

    def share(self, name: str, value: NumberLike) -> Fraction:
        """A mean as a share of the range; a share as it is."""
        if self.span == 1 and not self.low:
            return probability(name, value)
        found = (fraction(name, value) - self.low) / self.span
        if not 0 <= found <= 1:
            raise ParameterError(name, value, f"{self.low} to {self.low + self.span}, the range of the number")
        return found

    def part(self, name: str, value: NumberLike, allowed: str) -> Fraction:
        """A distance as a part of the range."""
        return fraction(name, value, allowed) / self.span


def power(
    design: Mechanism,
    n: int,
    *,
    difference: NumberLike | None = None,
    null: NumberLike | None = None,
    prevalence: NumberLike | None = None,
    bounds: Bounds | None = None,
    level: NumberLike = 0.95,
    side: Side = "both",
) -> float:
    """The chance that a survey finds what is there.

    With a `difference`: that two groups of n each are found to differ, when one has `prevalence` and the other
    `difference` more (normal approximation; without a prevalence: at the worst one).  It fails where an expected count
    of ones or zeros is below 10; there use `models.power`.
    With a `null`: the exact chance to reject π = `null` when the prevalence is `prevalence`.  `side` "lower" rejects
    only for high counts (a lower bound above the null), "upper" only for low ones.

    >>> from rrcollect import optimal_design
    >>> round(power(optimal_design(1), 1000, difference=0.2), 2)
    0.99
    >>> round(power(optimal_design(1), 1000, null=0.1, prevalence=0.2), 3)
    0.867
    """
    asked, people = Asked.of(design, level, bounds), whole_number("n", n, minimum=2)
    return _chance(asked, difference, null, prevalence, side)(people)


@dataclass(frozen=True, eq=False)
class PowerCurve(Findings):
    """The power of every design at every n; `plot()` draws it against n."""

    def plot(
        self,
        ax: Axes | None = None,
        *,
        limits: tuple[float, float] | None = (0, 1),
        simulated: Mapping[int, Any] | None = None,
        wanted: NumberLike = "0.8",
    ) -> Picture:
        """One line per design; `simulated` by n (see `models.power`) are points with their exact bars."""
        lines = {label: (self.sizes, powers) for label, powers in self.powers.items()}
        axes = draw_lines(ax, lines, x="people in each group", y="power, of 100 surveys", title=self.target)
        for number, (n, point) in enumerate((simulated or {}).items()):
            low, high = point.interval()
            reach = [[point.value - low], [high - point.value]]
            how: Any = {"fmt": "o", "color": "black", "capsize": 3, "label": "" if number else "simulated"}
            axes.errorbar([n], [point.value], yerr=reach, **how)
        axes.axhline(float(fraction("wanted", wanted)), color="grey", linestyle="--", linewidth=0.8)
        share_axis(axes, [], upright=True, limits=limits)
        axes.legend(frameon=False)
        return Picture(axes)


def power_curve(
    designs: Mapping[str, Mechanism],
    sizes: Sequence[int],
    *,
    difference: NumberLike,
    prevalence: NumberLike | None = None,
    level: NumberLike = 0.95,
) -> PowerCurve:
    """Power to find `difference` between two groups of n each, by formula, for every design and n.

    >>> from rrcollect import optimal_design
    >>> found = power_curve({"ε = 1": optimal_design(1)}, [200, 400, 800], difference="0.1", prevalence="0.2")
    >>> [round(row.value, 2) for row in found.rows]
    [0.16, 0.27, 0.48]
    """
    if not designs or not sizes:
        raise ParameterError("designs and sizes", (list(designs), list(sizes)), "one or more of each")
    how: Any = {"difference": difference, "prevalence": prevalence, "level": level}
    powers = {label: [power(design, n, **how) for n in sizes] for label, design in designs.items()}
    rows = tuple(
        Row(f"{label}, n = {n}", n, found, None)
        for label, each in powers.items()
        for n, found in zip(sizes, each, strict=True)
    )
    gap, miss = float(100 * fraction("difference", difference)), percent_of(1 - exact_level(level))
    target = f"difference of {gap:g} points, test at {miss}"
    return PowerCurve(rows, target, {"powers": powers, "sizes": list(sizes)}, [target], "")


def size_for_power(
    asked: Asked,
    wanted: NumberLike,
    *,
    difference: NumberLike | None,
    null: NumberLike | None,
    prevalence: NumberLike | None,
    side: Side,
) -> int:
    """The least n of each of two groups with this power; or, against a null, an n from which it stays above for the
    next 200 n."""
    share, chance = float(exact_level(wanted, "power")), _chance(asked, difference, null, prevalence, side)
    if (
        null is not None
        and prevalence is not None
        and asked.share("null", null) == asked.share("prevalence", prevalence)
    ):
        raise ParameterError("prevalence", prevalence, f"another one than the null, {null}")
    found = least_by_doubling(lambda n: chance(n) >= share, 1, LARGEST_N)
    if found is None and null is not None:
        raise ParameterError("prevalence", prevalence, "a prevalence on the side of the null that is tested")
    if found is None:
        raise ParameterError("difference", difference, f"a difference that {LARGEST_N} answers can show")
    while null is not None:
        last_miss = max((n for n in range(found, found + STAYS) if chance(n) < share), default=None)
        if last_miss is None:
            break
        found = last_miss + 1
    return found


def _chance(
    asked: Asked,
    difference: NumberLike | None,
    null: NumberLike | None,
    prevalence: NumberLike | None,
    side: Side,
) -> Callable[[int], float]:
    """The power as a function of n."""
    if (difference is None) == (null is None):
        raise ParameterError("difference and null", (difference, null), "one of the two")
    if null is not None:
        if prevalence is None:
            raise ParameterError("prevalence", None, "the prevalence at which the null is to be rejected")
        shares = asked.share("null", null), asked.share("prevalence", prevalence)
        tail = tail_probability(asked.level, side)
        return lambda n: _against(asked.design, n, shares, tail, side)
    if side != "both":
        raise ParameterError("side", side, "'both': a difference is tested on both sides")
    gap = asked.part("difference", difference, "a number, the difference to be found")  # type: ignore[arg-type]
    if not 0 < abs(gap) < 1:
        raise ParameterError("difference", difference, f"a number between −{asked.span} and {asked.span}, not 0")
    z = normal_quantile((1 - asked.level) / 2)
    if prevalence is None:
        step = (1 - abs(gap)) / 400
        return lambda n: min(_between(asked.design, n, i * step, abs(gap), z) for i in range(401))
    first = asked.share("prevalence", prevalence)
    if not 0 <= first + gap <= 1:
        most = asked.low + asked.span
        raise ParameterError(
            "prevalence + difference", str(asked.low + asked.span * (first + gap)), f"between {asked.low} and {most}"
        )
    return lambda n: _between(asked.design, n, first, gap, z)


def _least_rejected(n: int, yes: float, tail: Fraction) -> int:
    """The least k with P(N >= k) <= tail; n + 1 if there is none."""
    return least(lambda k: binomial_at_least(k, n, yes) <= tail, 0, n + 1)


def _against(design: Design, n: int, shares: tuple[Fraction, Fraction], tail: Fraction, side: Side) -> float:
    """The exact power at the second share against the first."""
    null, prevalence = shares
    oriented = design if design.c > 0 else design.swapped()
    found = 0.0
    if side != "upper":
        k = _least_rejected(n, float(oriented.says_yes(null)), tail)
        if k <= math.floor(n * oriented.p11):  # by the edge rule higher counts have the bar of this one
            found += binomial_at_least(k, n, float(oriented.says_yes(prevalence)))
    if side != "lower":  # low counts of 1 are high counts of 0
        k = _least_rejected(n, float(1 - oriented.says_yes(null)), tail)
        if k <= math.floor(n * oriented.p00):
            found += binomial_at_least(k, n, float(1 - oriented.says_yes(prevalence)))
    return min(found, 1.0)


def _between(design: Design, n: int, first: Fraction, gap: Fraction, z: float) -> float:
    middle = first + gap / 2
    null = math.sqrt(2 * design.variance(middle, n))
    there = math.sqrt(design.variance(first, n) + design.variance(first + gap, n))
    d = abs(float(gap))
    return min(1.0, normal_tail((z * null - d) / there) + normal_tail((z * null + d) / there))
