"""Figures for planning (extra `plot`); each returns the matplotlib axes.

Estimates draw themselves: `plot()` of every result, see `drawing`, whose style these share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rrcollect.design.figures import axes_for
from rrcollect.design.parameters import EpsilonLike, NumberLike, fraction
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.plan.power import power_between
from server_agg.plan.sample_size import privacy_price
from server_agg.report.drawing import COLOURS, MARKERS, plain_axes, share_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from server_agg.models.power_simulation import SimulatedPower


def plot_privacy_price(
    epsilons: Sequence[EpsilonLike],
    ax: Axes | None = None,
    *,
    margin: NumberLike = "0.05",
    level: NumberLike = 0.95,
    prevalence: NumberLike | None = None,
    methods: Sequence[str] = ("exact", "chebyshev", "hoeffding"),
) -> Axes:
    """What does privacy cost: answers needed for ± `margin` against ε, by method; dashed: direct questioning.

    >>> axes = plot_privacy_price([1, 2], methods=["wald"])
    >>> [int(n) for n in axes.lines[0].get_ydata()]
    [1799, 663]
    """
    axes = axes_for(ax)
    for number, method in enumerate(methods):
        lines = privacy_price(epsilons, margin=margin, level=level, method=method, prevalence=prevalence)
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(
            [p.epsilon for p in lines],
            [p.n for p in lines],
            f"{MARKERS[number % len(MARKERS)]}-",
            color=colour,
            label=method,
        )
        axes.axhline(lines[0].direct_n, color=colour, linestyle="--", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_xlabel("ε")
    axes.set_ylabel("answers needed")
    width, share = float(fraction("margin", margin)), float(100 * fraction("level", level))
    plain_axes(axes, f"±{100 * width:g} points at {share:.10g} %; dashed: asked directly")
    axes.legend(frameon=False)
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
    for number, (label, design) in enumerate(designs.items()):
        powers = [power_between(design, n, difference=difference, prevalence=prevalence, level=level) for n in sizes]
        axes.plot(
            list(sizes),
            powers,
            label=label,
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
        )
    for number, (n, point) in enumerate((simulated or {}).items()):
        low, high = point.interval()
        reach = [[point.power - low], [high - point.power]]
        axes.errorbar(
            [n], [point.power], yerr=reach, fmt="o", color="black", capsize=3, label="" if number else "simulated"
        )
    axes.axhline(float(fraction("wanted", wanted)), color="grey", linestyle="--", linewidth=0.8)
    share_axis(axes, [], upright=True, limits=(0, 1))
    axes.set_xlabel("people in each group")
    axes.set_ylabel("power, of 100 surveys")
    share = f"{float(100 * (1 - fraction('level', level))):.10g} %"
    plain_axes(axes, f"difference of {float(100 * fraction('difference', difference)):g} points, test at {share}")
    axes.legend(frameon=False)
    return axes
