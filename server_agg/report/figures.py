"""Plots with error bars (extra `plot`); each returns the matplotlib axes.

A point is the clipped estimate; a hollow point marks one whose unbiased value lies outside [0, 1].  The title says what
the bars cover.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rrcollect.design.figures import axes_for
from rrcollect.design.parameters import EpsilonLike, NumberLike, fraction
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.compare.segments import SegmentTable
from server_agg.compare.trends import Trend
from server_agg.plan.power import power_between
from server_agg.plan.sample_size import privacy_price

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from server_agg.models.power_simulation import SimulatedPower

__all__ = ["plot_power", "plot_privacy_price", "plot_segments", "plot_trend"]


def _points(axes: Axes, table: SegmentTable, places: Sequence[float], *, upright: bool) -> None:
    for place, row in zip(places, table.rows, strict=True):
        value, (low, high) = row.estimate.value, row.interval
        shown = min(max(value, 0.0), 1.0)
        reach = [[max(shown - low, 0.0)], [max(high - shown, 0.0)]]
        face = "tab:blue" if shown == value else "white"
        style = {"fmt": "o", "color": "tab:blue", "markerfacecolor": face, "capsize": 3}
        if upright:
            axes.errorbar([place], [shown], yerr=reach, **style)  # type: ignore[arg-type]
        else:
            axes.errorbar([shown], [place], xerr=reach, **style)  # type: ignore[arg-type]


def _covers(table: SegmentTable) -> str:
    methods = sorted({row.interval.method for row in table.rows})
    together = {"none": "each on its own"}.get(table.simultaneous, f"all at once ({table.simultaneous})")
    return f"{float(100 * table.level):.10g} % {'/'.join(methods)} bars, {together}"


def plot_segments(table: SegmentTable, ax: Axes | None = None) -> Axes:
    """The rows of a segment table, one below the other.

    >>> from rrcollect import optimal_design
    >>> from server_agg import Tally, segment_table
    >>> design = optimal_design(1)
    >>> table = segment_table({"north": Tally(design, 700, 330), "south": Tally(design, 650, 210)})
    >>> [label.get_text() for label in plot_segments(table).get_yticklabels()]
    ['north (n = 700)', 'south (n = 650)']
    """
    axes = axes_for(ax)
    places = list(range(len(table.rows), 0, -1))
    _points(axes, table, places, upright=False)
    axes.set_yticks(places, [f"{row.label} (n = {row.n})" for row in table.rows])
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("share with the attribute")
    axes.set_title(_covers(table), fontsize="medium")
    return axes


def plot_trend(found: Trend, ax: Axes | None = None) -> Axes:
    """The prevalence by round with bars.

    >>> from rrcollect import optimal_design
    >>> from server_agg import Tally, trend
    >>> found = trend({0: Tally(optimal_design(1), 700, 330), 1: Tally(optimal_design(1), 650, 210)})
    >>> plot_trend(found).get_xlabel()
    'round'
    """
    axes = axes_for(ax)
    _points(axes, found.table, [float(number) for number in found.rounds], upright=True)
    axes.set_xticks(list(found.rounds))
    axes.set_xlabel("round")
    axes.set_ylabel("share with the attribute")
    axes.set_title(_covers(found.table), fontsize="medium")
    return axes


def plot_privacy_price(
    epsilons: Sequence[EpsilonLike],
    ax: Axes | None = None,
    *,
    margin: NumberLike = "0.05",
    level: NumberLike = 0.95,
    prevalence: NumberLike | None = None,
    methods: Sequence[str] = ("wald", "chebyshev", "hoeffding"),
) -> Axes:
    """What does privacy cost: answers needed for ± `margin` against ε, by method; dashed: direct questioning.

    >>> axes = plot_privacy_price([1, 2], methods=["wald"])
    >>> [int(n) for n in axes.lines[0].get_ydata()]
    [1799, 663]
    """
    axes = axes_for(ax)
    for number, method in enumerate(methods):
        lines = privacy_price(epsilons, margin=margin, level=level, method=method, prevalence=prevalence)
        colour = f"C{number}"
        axes.plot([p.epsilon for p in lines], [p.n for p in lines], "o-", color=colour, label=method)
        axes.axhline(lines[0].direct_n, color=colour, linestyle="--", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_xlabel("ε")
    axes.set_ylabel("answers needed")
    width, share = float(fraction("margin", margin)), float(100 * fraction("level", level))
    axes.set_title(f"±{width:g} at {share:.10g} %; dashed: asked directly", fontsize="medium")
    axes.legend()
    return axes


def plot_power(
    designs: Mapping[str, Design],
    sizes: Sequence[int],
    *,
    difference: NumberLike,
    prevalence: NumberLike | None = None,
    level: NumberLike = 0.95,
    simulated: Mapping[int, SimulatedPower] | None = None,
    wanted: NumberLike = "0.8",
    ax: Axes | None = None,
) -> Axes:
    """Power to find `difference` between two groups of n each, by formula, one line per design; `simulated` by n as
    points with their exact bars.

    >>> from rrcollect import optimal_design
    >>> axes = plot_power({"ε = 1": optimal_design(1)}, [200, 400, 800], difference="0.1", prevalence="0.2")
    >>> [round(float(power), 2) for power in axes.lines[0].get_ydata()]
    [0.16, 0.27, 0.48]
    """
    if not designs or not sizes:
        raise ParameterError("designs and sizes", (list(designs), list(sizes)), "one or more of each")
    axes = axes_for(ax)
    for label, design in designs.items():
        powers = [power_between(design, n, difference=difference, prevalence=prevalence, level=level) for n in sizes]
        axes.plot(list(sizes), powers, label=label)
    for number, (n, point) in enumerate((simulated or {}).items()):
        low, high = point.interval()
        reach = [[point.power - low], [high - point.power]]
        axes.errorbar(
            [n], [point.power], yerr=reach, fmt="o", color="black", capsize=3, label="" if number else "simulated"
        )
    axes.axhline(float(fraction("wanted", wanted)), color="grey", linestyle="--", linewidth=0.8)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("people in each group")
    axes.set_ylabel("power")
    share = f"{float(100 * (1 - fraction('level', level))):.10g} %"
    axes.set_title(f"difference {float(fraction('difference', difference)):g}, test at {share}", fontsize="medium")
    axes.legend()
    return axes
