"""Pictures of the paper (extra `plot`): where the optimum switches, and where it lies.

`plot_switch` is [HLM17] Figure 1, the level sets of g(ε, δ).  `plot_region` draws R′ in the (p00, p11) plane with its
two tight edges R″, the variance as a background, and the optimum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rrcollect.design.optimal import optimal_design, switch_point
from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike, probability, whole_number
from rrcollect.design.promise import Promise
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.results.drawing import COLOURS, MARKERS, Picture, axes_for, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Lines = Mapping[str, tuple[Sequence[float], Sequence[float]]]
LEVELS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)


def draw_lines(ax: Axes | None, lines: Lines, *, x: str, y: str, title: str, dashed: Sequence[float] = ()) -> Axes:
    """One line per label through its points, told apart by colour and marker; `dashed` are heights to compare with."""
    axes = axes_for(ax)
    for number, (label, (places, heights)) in enumerate(lines.items()):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        axes.plot(places, heights, f"{marker}-", color=colour, label=label)
        if number < len(dashed):
            axes.axhline(dashed[number], color=colour, linestyle="--", linewidth=0.8)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    plain_axes(axes, title)
    return axes


def plot_switch(
    ax: Axes | None = None,
    *,
    levels: Sequence[float] = LEVELS,
    max_epsilon: float = 2.0,
    max_delta: float = 0.5,
    points: int = 60,
) -> Picture:
    """Level sets of g over ε and δ: left of and above a curve (1, δ) is optimal at that prevalence.

    >>> plot_switch(points=10).axes.get_xlabel()
    'ε'
    """
    steps = whole_number("points", points, minimum=2)
    if not levels or any(not 0 < level < 1 for level in levels):
        raise ParameterError("levels", levels, "prevalences strictly between 0 and 1")
    if not max_epsilon > 0 or not 0 < max_delta <= 1:
        raise ParameterError("(max_epsilon, max_delta)", (max_epsilon, max_delta), "ε above 0 and δ in (0, 1]")
    axes = axes_for(ax)
    epsilons = [max_epsilon * i / steps for i in range(1, steps + 1)]
    deltas = [max_delta * j / steps for j in range(1, steps + 1)]
    g = [[float(switch_point(Promise.of(Fraction(e), Fraction(d)))) for e in epsilons] for d in deltas]
    lines = axes.contour(epsilons, deltas, g, levels=sorted(levels), cmap="viridis")
    axes.clabel(lines, fmt=lambda level: f"π = {level:g}")
    axes.set_xlabel("ε")
    axes.set_ylabel("δ")
    axes.set_title("g(ε, δ): above its curve, (1, δ) is optimal at prevalence π")
    return Picture(axes)


def plot_region(
    epsilon: EpsilonLike, delta: NumberLike = 0, *, prevalence: NumberLike = "1/2", ax: Axes | None = None
) -> Picture:
    """The designs that keep (ε, δ), the variance over them, the two tight edges and the optimum (or optima).

    >>> plot_region("ln 2", "1/4", prevalence="1/4").axes.get_title()
    'ε = ln(2), δ = 1/4, prevalence 0.25'
    """
    big_e, d = float(Epsilon(epsilon).exp), float(probability("delta", delta))
    pi = float(probability("prevalence", prevalence))
    found = list(optimal_design(epsilon, delta, prevalence=prevalence).choice.ties)
    axes = axes_for(ax)
    q = (big_e + d) / (big_e + 1)
    corner = [(1.0, 0.0), (1.0, d), (q, q), (d, 1.0), (0.0, 1.0)]
    axes.fill(*zip(*corner, strict=True), color="tab:blue", alpha=0.12, label="keeps the promise (R′)")
    axes.plot(*zip(*corner[1:4], strict=True), color="tab:blue", linewidth=2, label="a tight inequality (R″)")
    axes.plot([0, 1], [1, 0], color="grey", linestyle=":", label="p00 + p11 = 1: nothing learned")
    _variance_lines(axes, pi, min(float(design.variance(prevalence)) for design in found))
    for design in found:
        _mark(axes, design)
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.02)
    axes.set_aspect("equal")
    axes.set_xlabel("p00 = P(say no | truth no)")
    axes.set_ylabel("p11 = P(say yes | truth yes)")
    axes.set_title(f"ε = {Epsilon(epsilon)}, δ = {probability('delta', delta)}, prevalence {pi:g}")
    axes.legend(loc="lower left", fontsize="small")
    return Picture(axes)


def _variance_lines(axes: Axes, pi: float, best: float) -> None:
    """Level lines of n·variance above the diagonal: the optimum's own, and multiples of it."""
    ticks = [i / 100 for i in range(101)]

    def n_variance(p00: float, p11: float) -> float:
        c = p00 + p11 - 1
        yes = 1 - p00 + pi * c
        return yes * (1 - yes) / (c * c) if c > 0.02 else float("nan")

    levels = [m * best for m in (1, 1.5, 2.5, 5, 10)] if best > 0 else [0.1, 0.25, 0.5, 1, 2]
    grid = [[n_variance(x, y) for x in ticks] for y in ticks]
    lines = axes.contour(ticks, ticks, grid, levels=levels, colors="grey", linewidths=0.6)
    axes.clabel(lines, fmt="%.3g", fontsize="x-small")


def _mark(axes: Axes, design: Design) -> None:
    words = "optimum" + (f' (a "{design.proofs[0]}" is a proof)' if design.proofs else "")
    axes.plot(float(design.p00), float(design.p11), "o", color="tab:red", label=words)
