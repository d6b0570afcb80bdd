"""What every result can do: show itself to people and machines; and what every exact, unbiased one has.

Rules
1. A result keeps its inputs.  It knows one dict of plain values (`as_dict`, for JSON and frames) and tables of text
   (`tables`, with `notes` under them: text, HTML, Markdown, LaTeX); everything else comes from these two.
2. A frame is tidy: one row per estimate, numbers as they are (shares and not percentages), the ends of a bar as `low`
   and `high` with its method and level beside them.  `tidy` names the entry of `as_dict` that holds the rows; without
   it a result is one row.  Lists of inputs are left out.
3. A picture has every estimate with its bar, and its title says what the bars are.
"""

from __future__ import annotations

import html
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from rrcollect.errors import ParameterError
from rrcollect.lazy import extra
from server_agg.results.drawing import SHARE, Picture, Point, draw_points
from server_agg.results.tables import Table, html_table, latex_table, latex_text, markdown_table, markdown_text
from server_agg.results.tables import text_table as aligned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VALUES = (
    "value",
    "difference",
    "correlation",
    "prevalence",
    "power",
    "honest_carriers",
)  # what an estimate may be called
NAMES = ("label", "name", "question", "cheaters")  # and what names it
WITHOUT_PREFIX = ("bar", "interval", "tally")
LIBRARIES = ("pandas", "polars")


def clipped(share: float) -> float:
    """The share cut to [0, 1]."""
    return min(max(share, 0.0), 1.0)


class Result(ABC):
    """A result with an `as_dict`."""

    numeric: ClassVar[frozenset[int]] = frozenset()  # columns of the (last) table that are aligned to the right
    tidy: ClassVar[str] = ""
    axis: ClassVar[str] = SHARE  # what the axis of its picture shows
    in_percent: ClassVar[bool] = True  # and whether it is a share

    @abstractmethod
    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""

    def to_json(self, *how: Any, **named: Any) -> str:
        """`as_dict`, called with the same arguments, as JSON; no NaN and no infinity, ever."""
        return json.dumps(self.as_dict(*how, **named), allow_nan=False)

    # ---- for people -------------------------------------------------------------------------------------------

    def cells(self) -> Table:
        """A table of text: its head, if it has one, and its lines."""
        return None, _lines(self.as_dict())

    def tables(self) -> list[Table]:
        """All that is shown, mostly one table."""
        return [self.cells()]

    def notes(self) -> list[str]:
        """Sentences that stand under the table."""
        return []

    def __str__(self) -> str:
        return "\n".join([self._drawn(aligned, "\n\n"), *self.notes()])

    def to_markdown(self) -> str:
        """The tables in GitHub's Markdown, with what must be said under them."""
        return "\n\n".join([self._drawn(markdown_table, "\n\n"), *(markdown_text(note) for note in self.notes())])

    def to_latex(self) -> str:
        """The tables as `tabular` (package booktabs), with what must be said under them."""
        return "\n\n".join([self._drawn(latex_table, "\n\n"), *(latex_text(note) for note in self.notes())])

    def to_html(self) -> str:
        """The tables in HTML, with what must be said under them; every text is escaped."""
        return self._drawn(html_table, "") + "".join(f"<p>{html.escape(note)}</p>" for note in self.notes())

    def _repr_html_(self) -> str:
        return self.to_html()

    def _drawn(self, dialect: Callable[..., str], between: str) -> str:
        *above, last = self.tables()
        return between.join([*(dialect(*table) for table in above), dialect(*last, self.numeric)])

    # ---- for programs -----------------------------------------------------------------------------------------

    def records(self) -> list[dict[str, object]]:
        """The rows of the tidy frame."""
        found = self.as_dict()
        rows: Any = found.get(self.tidy, [found])
        if isinstance(rows, dict):
            rows = [{"name": name, **row} for name, row in rows.items()]
        return [_flat(row) for row in rows]

    def to_frame(self, library: str = "pandas") -> Any:
        """The tidy frame, of pandas or Polars."""
        if library not in LIBRARIES:
            raise ParameterError("library", library, f"one of {', '.join(LIBRARIES)}")
        rows = self.records()
        names = list(dict.fromkeys(name for row in rows for name in row))
        return extra(library, "data").DataFrame({name: [row.get(name) for row in rows] for name in names})

    # ---- as a picture -----------------------------------------------------------------------------------------

    def points(self) -> list[Point]:
        """What is drawn: every row of the frame with a value and a bar."""
        found = []
        for row in self.records():
            value: Any = next((row[name] for name in VALUES if row.get(name) is not None), None)
            name: Any = next((row[name] for name in NAMES if name in row), "")
            low, high = (row.get(end) for end in ("low", "high"))
            if value is not None and (low is not None or high is not None):
                found.append(Point(str(name), value, low, high))  # type: ignore[arg-type]
        return found

    def caption(self) -> str:
        """What the bars of the picture are."""
        kinds = {_bar_kind(row) for row in self.records() if row.get("level") is not None and row.get("method")}
        return ", ".join(sorted(f"{kind} bars" for kind in kinds))

    def _placed(self) -> list[float] | None:
        """Where upright points stand; None: one below the other."""
        return None

    def plot(self, ax: Axes | None = None, *, limits: tuple[float, float] | None = None) -> Picture:
        """The estimates with their bars; `limits` fixes the axis, for pictures that are laid side by side."""
        points = self.points()
        if not points:
            raise ParameterError("result", type(self).__name__, "a result whose estimates have error bars")
        how: dict[str, Any] = {"axis": self.axis, "shares": self.in_percent, "places": self._placed(), "limits": limits}
        return Picture(draw_points(points, ax, title=self.caption(), **how))


def _bar_kind(bar: dict[str, Any]) -> str:
    return f"{100 * bar['level']:.4g} % {bar['method']}"


def _flat(given: dict[str, Any], prefix: str = "") -> dict[str, object]:
    """A nested dict as one row; names joined by underscores, those of bars and tallies as they are."""
    row: dict[str, object] = {}
    for name, value in given.items():
        if isinstance(value, dict):
            row |= _flat(value, prefix if name in WITHOUT_PREFIX else f"{prefix}{name}_")
        elif not isinstance(value, list):
            row[prefix + name] = value
        elif all(isinstance(each, str) for each in value):
            row[prefix + name] = ", ".join(value)
    return row


def _lines(given: object, name: str = "") -> list[list[str]]:
    """A nested dict as lines of (name, value), names joined by dots; a bar is one line, and of no width it says why."""
    if isinstance(given, dict) and {"low", "high", "level", "method"} <= given.keys():
        return [[name, _bar_line(given)]]
    if isinstance(given, dict):
        return [line for key, value in given.items() for line in _lines(value, f"{name}.{key}" if name else str(key))]
    if isinstance(given, list):
        return [line for place, value in enumerate(given) for line in _lines(value, f"{name}.{place}")]
    return [[name.replace("_", " "), f"{given:.6g}" if isinstance(given, float) else str(given)]]


def _bar_line(bar: dict[str, Any]) -> str:
    ends = ["none" if end is None else f"{end:.4g}" for end in (bar["low"], bar["high"])]
    promise = "guaranteed" if bar["guaranteed"] else "approximate"
    words = f"{ends[0]} to {ends[1]} ({_bar_kind(bar)}, for the {bar['target']}, {promise})"
    return f"{words}; {bar['warning']}" if bar["warning"] else words
