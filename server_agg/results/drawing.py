"""Estimates with their bars as a picture, all in one style (extra `plot`).

Rules
1. A point is the estimate; one that lies beyond its bar, which keeps to what is possible, is drawn hollow at the end of
   it.  The title says what the bars cover.  A count that fits no share well says so under its name.
2. Shares are of 100, as on every page.  Their axis begins at 0 (or ends at 100, where all bars lie above one half) and
   ends at the first mark of `MARKS` that holds every bar: data of one size get one axis, so that figures can be
   compared.
3. Colours are Okabe and Ito's, which people see apart whatever their eyes; nothing is told by colour alone.
4. Saved as PNG, SVG (text stays text) or PDF (fonts that may be edited).  Nothing is needed of a display.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rrcollect.errors import ParameterError
from rrcollect.lazy import extra
from server_agg.results.interval import mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "os^Dv<>"
MARKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
LINE = 44  # characters of a label
FEW = 8  # points side by side whose labels have room
SHARE = "of 100 with the attribute"
HOLLOW = "hollow: the estimate lies beyond its bar"
ENDINGS = (".png", ".svg", ".pdf")


class Point(NamedTuple):
    """One estimate: its name, the value, and the ends of its bar (None where nothing bounds it)."""

    label: str
    value: float
    low: float | None
    high: float | None
    note: str = ""  # stands under the name: how well the counts fit


class Picture:
    """A figure that shows itself in a notebook and saves itself for a paper; `axes` are matplotlib's."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes

    @property
    def figure(self) -> Figure:
        """The whole figure."""
        found = self.axes.get_figure(root=True)
        if found is None:
            raise ParameterError("axes", self.axes, "axes of a figure")
        return found

    def save(self, path: str | Path) -> Path:
        """Write a .png, .svg or .pdf."""
        where = Path(path)
        if where.suffix.lower() not in ENDINGS:
            raise ParameterError("path", str(path), f"a name ending in {', '.join(ENDINGS)}")
        with _fonts():
            self.figure.savefig(where, dpi=200)
        return where

    def _repr_png_(self) -> bytes:
        written = io.BytesIO()
        self.figure.savefig(written, format="png", dpi=110)
        return written.getvalue()


def _fonts() -> AbstractContextManager[Any]:
    """Text that stays text."""
    settings = {"svg.fonttype": "none", "pdf.fonttype": 42}
    found: AbstractContextManager[Any] = extra("matplotlib", "plot").rc_context(settings)
    return found


def axes_for(ax: Axes | None) -> Axes:
    """The given axes, or those of a new figure; `MissingExtra` without matplotlib."""
    if ax is not None:
        return ax
    axes: Axes = extra("matplotlib.figure", "plot").Figure(figsize=(6.4, 4.8), layout="constrained").add_subplot()
    return axes


def share_limits(ends: Sequence[float]) -> tuple[float, float]:
    """The axis of shares that holds all `ends`.

    >>> share_limits([0.03, 0.17]), share_limits([0.93, 1.0]), share_limits([0.2, 0.9])
    ((0.0, 0.2), (0.9, 1.0), (0.0, 1.0))
    """
    if min(ends) > 0.5:
        return 1 - next(mark for mark in MARKS if mark >= 1 - min(ends) - 1e-12), 1.0
    return 0.0, next(mark for mark in MARKS if mark >= min(max(ends), 1.0) - 1e-12)


def share_axis(axes: Axes, ends: Sequence[float], *, upright: bool, limits: tuple[float, float] | None = None) -> None:
    """Of 100, with limits that fit: see rule 2."""
    low, high = share_limits(ends) if limits is None else limits
    room = 0.02 * (high - low)
    (axes.set_ylim if upright else axes.set_xlim)(low - room, high + room)
    axis = axes.yaxis if upright else axes.xaxis
    axis.set_major_formatter(lambda share, place: mark(100 * share))


def plain_axes(axes: Axes, title: str) -> None:
    """The style that all figures share."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(title, fontsize="medium", wrap=True)


def draw_points(
    points: Sequence[Point],
    ax: Axes | None = None,
    *,
    title: str = "",
    axis: str = SHARE,
    shares: bool = True,
    places: Sequence[float] | None = None,
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Points with bars: one below the other, or, with `places`, upright at these.

    >>> axes = draw_points([Point("north", 0.12, 0.08, 0.17), Point("south", -0.01, 0.0, 0.04)])
    >>> [label.get_text() for label in axes.get_yticklabels()], [round(float(x), 3) for x in axes.get_xlim()]
    (['north', 'south'], [-0.004, 0.204])
    """
    axes = axes_for(ax)
    if ax is None and places is None:
        lines = sum(_named(point).count("\n") + 2 for point in points)
        axes.figure.set_figheight(min(16.0, 1.4 + 0.18 * lines))  # type: ignore[union-attr]
    upright = places is not None
    at = list(range(len(points), 0, -1)) if places is None else list(places)
    for place, point in zip(at, points, strict=True):
        _point(axes, place, point, upright=upright)
    known = [end for point in points for end in (point.low, point.high) if end is not None]
    if any(_shown(point) != point.value for point in points):
        title = "; ".join(filter(None, [title, HOLLOW]))
    if places is None:
        axes.set_yticks(at, [_named(point) for point in points])
        axes.set_ylim(0.4, len(points) + 0.6)
        axes.set_xlabel(axis)
    else:
        axes.set_ylabel(axis)
        if len(points) > FEW:
            axes.tick_params(axis="x", labelrotation=45)
    if shares:
        share_axis(axes, [min(max(end, 0.0), 1.0) for end in known], upright=upright, limits=limits)
    else:
        (axes.axhline if upright else axes.axvline)(0, color="grey", linestyle=":", linewidth=0.8)
        if limits is not None:
            room = 0.02 * (limits[1] - limits[0])
            (axes.set_ylim if upright else axes.set_xlim)(limits[0] - room, limits[1] + room)
    plain_axes(axes, title)
    return axes


def _wrapped(label: str) -> str:
    """A long label, such as the text of a question, in lines."""
    return "\n".join(textwrap.fill(line, LINE) for line in label.splitlines())


def _named(point: Point) -> str:
    """The label with its note under it."""
    return "\n".join(filter(None, [_wrapped(point.label), _wrapped(point.note)]))


def _ends(point: Point) -> tuple[float, float]:
    return point.value if point.low is None else point.low, point.value if point.high is None else point.high


def _shown(point: Point) -> float:
    """Where the point is drawn: within its bar."""
    low, high = _ends(point)
    return min(max(point.value, low), high)


def _point(axes: Axes, place: float, point: Point, *, upright: bool) -> None:
    (low, high), shown = _ends(point), _shown(point)
    face = COLOURS[0] if shown == point.value else "white"
    style: dict[str, Any] = {"fmt": "o", "color": COLOURS[0], "markerfacecolor": face, "capsize": 3, "elinewidth": 1.6}
    reach = [[shown - low], [high - shown]]
    if upright:
        axes.errorbar([place], [shown], yerr=reach, **style)
    else:
        axes.errorbar([shown], [place], xerr=reach, **style)
