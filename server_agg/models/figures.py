"""The power plot (extra `plot`): the chance to find a difference against the number of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rrcollect.design.figures import axes_for
from rrcollect.design.parameters import NumberLike, fraction
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.models.power_simulation import SimulatedPower
from server_agg.plan.power import power_between

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_power"]


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
    """Power to find `difference` between two groups of n each, by formula, a line a design; `simulated` by n as points
    with their exact bars.

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
