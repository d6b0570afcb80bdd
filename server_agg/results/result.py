"""`Result`: every result is a list of named rows, and all that it shows is made here from its rows and its notes.

Rules
1. A row has `name, n, value, standard_error, interval(level, method), p_value, misfit, scale` (see `row`); a result
   with one row has these itself.  `p_value` is None where there is no null hypothesis, `misfit` where all counts fit.
   Of a comparison that is one of several, bar and p are those of all at once (Bonferroni: `family` of them), so that
   the bar holds 0 if and only if p is not below 1 − level; p of this one alone is `p_alone` among the extras.
2. `notes` holds every warning: a value beyond its scale, counts that do not fit, a coverage that is only approximate,
   bars that hold at once or each for itself, why a bar has no width, and what the result itself adds (`remarks`).
   Tables, sentence and JSON all show them.
3. A value is shown cut to its scale, with as many digits as its bar shows two of; in JSON and frames it is as it is.
4. A frame is tidy: one row per row, numbers as they are (shares and not percentages), the ends of a bar as `low` and
   `high` with its method and level beside them.
5. A subclass says what is its own, never how it is shown: `rows`, `target`, and as needed `methods` (of a single row,
   whose bars by all of them are shown), `together`, `context`, `details`, `columns`, `remarks`, `extras`.
"""

from __future__ import annotations

import html
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from rrcollect.lazy import extra
from server_agg.results.drawing import Picture, Point, draw_points
from server_agg.results.interval import Interval, bars_words, kind_words, misfit_note, percent_of
from server_agg.results.row import SHARES, Row, Scale, flat
from server_agg.results.tables import Table, html_table, latex_table, latex_text, markdown_table, markdown_text
from server_agg.results.tables import text_table as aligned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OF_ONE_ROW = frozenset({"value", "standard_error", "interval", "p_value", "misfit", "scale"})
LIBRARIES = ("pandas", "polars")
ALIKE = "0 as estimated, since all answers are alike; see the bars"


class Result(ABC):
    """A list of named rows with notes."""

    first: ClassVar[str] = ""  # what the first column holds
    opening: Sequence[str] = ()  # sentences that must be read first, above the rows
    together: ClassVar[str] = ""  # of several rows: "all at once" or "each for itself"
    level: NumberLike = 0.95  # of the bars that are shown, unless another one is asked for
    method: str | None = None  # of the bars that are shown; None: the usual one

    # ---- what a subclass says -----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def rows(self) -> tuple[Row, ...]:
        """The estimates, in the order in which they are shown."""

    if TYPE_CHECKING:  # of the only row: see `__getattr__`; a subclass may have fields of these names

        @property
        def target(self) -> Any: ...
        @property
        def value(self) -> float: ...
        @property
        def standard_error(self) -> Any: ...
        @property
        def p_value(self) -> Any: ...
        @property
        def misfit(self) -> Any: ...
        @property
        def scale(self) -> Scale: ...
        @property
        def n(self) -> int: ...
        def interval(self, level: NumberLike = 0.95, method: str | None = None) -> Interval[Any]: ...

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods for the bar of a single row; all of them are shown."""
        return ()

    def context(self) -> str:
        """Answers and promise, such as "n = 1000, ε = 1"."""
        counts = {row.n for row in self.rows}
        return f"n = {min(counts)}" if len(counts) == 1 and None not in counts else ""  # type: ignore[type-var]

    def details(self, level: NumberLike = 0.95) -> list[list[str]]:
        """Lines of a name and a text, above the rows; of a single row its value, its error and its test."""
        if len(self.methods) < 2:
            return []
        (row,) = self.rows
        bar, (error, p) = row.interval(level), (row.standard_error, row.p_value)
        narrow = (bar.width or 0) / 10
        lines = [[row.name, f"{row.shown(bar)} {row.scale.unit}".rstrip()]]
        if error is not None:
            unit = "points" if row.scale.is_share else row.scale.unit
            told = f"{row.scale.text(error, narrow)} {unit}".rstrip()
            lines.append(["standard error", told if error else ALIKE])
        return [*lines, *([["p", f"{p:.3g}"]] if p is not None else [])]

    def columns(self) -> dict[str, list[str]]:
        """More columns of text, by their heads."""
        return {}

    def remarks(self) -> list[str]:
        """Sentences of its own, under the rows."""
        return []

    def extras(self) -> dict[str, object]:
        """More entries of its JSON."""
        return {}

    def headline(self) -> Row:
        """The row of the sentence."""
        return self.rows[0]

    def places(self) -> Sequence[float] | None:
        """Where the points of a picture stand upright; None: one below the other."""
        return None

    # ---- rows ---------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str | int) -> Row:
        if type(name) is int and 0 <= name < len(self.rows):
            return self.rows[name]
        for row in self.rows:
            if row.name == name:
                return row
        raise ParameterError("row", name, f"one of {[row.name for row in self.rows]}")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "n" and len({row.n for row in self.rows}) == 1:
                return self.rows[0].n
            if name == "n" or name in OF_ONE_ROW:
                if len(self.rows) != 1:
                    allowed = f"asked of one row: result[name].{name} for a name of {[row.name for row in self.rows]}"
                    raise ParameterError("attribute", name, allowed)
                return getattr(self.rows[0], name)
            raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def intervals(self, level: NumberLike | None = None, method: str | None = None) -> list[Interval[Any]]:
        """The bars of all rows that have one, together as the notes say."""
        return [bar for bar in self._bars(level, method) if bar is not None]

    # ---- notes --------------------------------------------------------------------------------------------------

    @property
    def notes(self) -> tuple[str, ...]:
        """What the bars are, and every warning."""
        return self._notes(None, None)

    def _notes(self, level: NumberLike | None, method: str | None) -> tuple[str, ...]:
        told = "; ".join(filter(None, [self.context(), bars_words(self.intervals(level, method), self.together)]))
        return (*([told] if told else []), *self._warnings(level, method))

    def _asked(self, level: NumberLike | None, method: str | None) -> tuple[NumberLike, str | None]:
        return self.level if level is None else level, self.method if method is None else method

    def _bars(self, level: NumberLike | None, method: str | None) -> list[Interval[Any] | None]:
        asked = self._asked(level, method)
        return [None if row.bar is None else row.interval(*asked) for row in self.rows]

    def _warnings(self, level: NumberLike | None, method: str | None) -> list[str]:
        """All that must be said of values and bars; what is true of every row is said once, without a name."""
        found: dict[str, list[str]] = {}
        for row, bar in zip(self.rows, self._bars(level, method), strict=True):
            for note in row.beside(bar) if bar is not None else []:
                found.setdefault(note, []).append(row.name)
        every = len(self.rows)
        said = [note if len(names) == every else f"{', '.join(names)}: {note}" for note, names in found.items()]
        return [*said, *self.remarks()]

    def sentence(self, level: NumberLike | None = None, method: str | None = None) -> str:
        """One sentence that may be put into a report: the headline row with its bar, and every warning."""
        row = self.headline()
        bar = row.interval(*self._asked(level, method))
        several = len(self.rows) > 1
        each = f", {self.together}," if self.together and several and row in self.rows else ""
        name = f"{row.name}: " if several else ""
        shown = f"{name}{row.shown(bar)} {row.scale.unit}".rstrip()
        told = f"{shown} ({kind_words(bar)} interval{each} {row.scale.bar(bar)})"
        rough = [] if bar.guaranteed else ["coverage approximate"]
        about = [", ".join(filter(None, [told, self.context()])), f"target: the {bar.target}"]
        return "; ".join([*about, *rough, *self._warnings(level, method)])

    def methods_text(self, level: NumberLike | None = None, method: str | None = None) -> str:
        """A paragraph for the methods section of a paper, from the result's own facts: who answered and by what design
        with what promise, what the bars are and cover, the tests, and every warning or assumption.

        >>> from rrcollect import Design
        >>> from server_agg import Tally, estimate
        >>> print(estimate(Tally(Design("3/4", "3/4"), 1000, 400)).methods_text())
        Answers were randomised by p00 = 0.75, p11 = 0.75 (ε = 1.099), and estimates account for it. n = 1000,
        ε = 1.099. Target: the population. Error bars: 95 % exact interval for the population, coverage guaranteed.
        Computed with rrcollect.
        """
        asked = self._asked(level, method)
        bars, warned = self.intervals(*asked), [note.rstrip(".") for note in self._warnings(*asked)]
        told = [self.design_text(), self.context()]
        told += [f"Target: the {self.target}" if isinstance(self.target, str) else "", *self.opening]
        kinds = bars_words(bars, self.together)
        told += [f"Error bars: {kinds.removeprefix('bars: ')}" if kinds else "No error bar is given"]
        if any(row.p_value is not None for row in self.rows):
            told.append("p-values are two-sided; the null hypothesis is that a value is 0")
        told += [f"Beside the values: {'; '.join(warned)}" if warned else "", "Computed with rrcollect"]
        return " ".join(f"{each.rstrip('.')}." for each in told if each)

    def design_text(self) -> str:
        """How answers were randomised, where the result knows; for `methods_text`."""
        return ""

    # ---- for people ---------------------------------------------------------------------------------------------

    def tables(self, level: NumberLike | None = None, method: str | None = None) -> list[tuple[Table, frozenset[int]]]:
        """Tables of text, each with its columns of numbers."""
        level, method = self._asked(level, method)
        above = [((None, self.details(level)), frozenset[int]())] if self.details(level) else []
        return [*above, self._by_method(level) if len(self.methods) > 1 else self._by_row(level, method)]

    def _by_method(self, level: NumberLike) -> tuple[Table, frozenset[int]]:
        """The bars of the only row, by every method."""
        (row,), lines = self.rows, []
        for name in self.methods:
            bar = row.interval(level, name)
            ends = [row.scale.text(end, bar.width) for end in (bar.low, bar.high)]
            lines.append([name, *ends, bar.warning or ("guaranteed" if bar.guaranteed else "approximate")])
        unit = f", {row.scale.unit}" if row.scale.unit and not row.scale.is_share else ""
        return (["method", f"low {percent_of(level)}{unit}", "high", ""], lines), frozenset({1, 2})

    def _by_row(self, level: NumberLike, method: str | None) -> tuple[Table, frozenset[int]]:
        """The rows; a column that would be the same in all of them is left to the notes."""
        rows, bars, columns = self.rows, self._bars(level, method), self.columns()
        units = {row.scale.unit for row in rows}
        counts = len({row.n for row in rows}) > 1
        kinds = len({kind_words(bar) for bar in bars if bar is not None}) > 1
        tested = any(row.p_value is not None for row in rows)
        unit = (" %" if units == {"%"} else f", {min(units)}") if len(units) == 1 and units != {""} else ""
        head = [self.first, *(["n"] if counts else []), f"estimate{unit}", "low", "high", *columns]
        head += [*(["p"] if tested else []), *(["bar"] if kinds else [])]
        lines = []
        for place, (row, bar) in enumerate(zip(rows, bars, strict=True)):
            line = [row.name, *(["" if row.n is None else str(row.n)] if counts else []), row.shown(bar)]
            line += ["", ""] if bar is None else [row.scale.text(end, bar.width) for end in (bar.low, bar.high)]
            if len(units) > 1 and row.scale.unit:
                line[-3] += f" {row.scale.unit}"
            line += [texts[place] for texts in columns.values()]
            line += [*(["" if row.p_value is None else f"{row.p_value:.3g}"] if tested else [])]
            lines.append([*line, *([kind_words(bar) if bar is not None else ""] if kinds else [])])
        return (head, lines), frozenset(range(1, len(head) - kinds))

    def to_text(self, level: NumberLike | None = None, method: str | None = None) -> str:
        """The tables with the notes under them."""
        tables = [aligned(*table, numeric) for table, numeric in self.tables(level, method)]
        return "\n".join([*self.opening, "\n\n".join(tables), *self._notes(level, method)])

    def __str__(self) -> str:
        return self.to_text()

    def to_markdown(self) -> str:
        """The tables in GitHub's Markdown, with the notes under them."""
        return self._drawn(markdown_table, markdown_text, "\n\n")

    def to_latex(self) -> str:
        """The tables as `tabular` (package booktabs), with the notes under them."""
        return self._drawn(latex_table, latex_text, "\n\n")

    def _repr_html_(self) -> str:
        return self._drawn(html_table, lambda note: f"<p>{html.escape(note)}</p>", "")

    def _drawn(self, dialect: Callable[..., str], words: Callable[[str], str], between: str) -> str:
        drawn = [dialect(*table, numeric) for table, numeric in self.tables()]
        return between.join([*map(words, self.opening), *drawn, *map(words, self.notes)])

    # ---- for programs -------------------------------------------------------------------------------------------

    def as_dict(self, level: NumberLike | None = None, method: str | None = None) -> dict[str, object]:
        """Inputs and results as plain values, ready for JSON."""
        level, method = self._asked(level, method)
        rows = [row.as_dict(level, method) for row in self.rows]
        return {"rows": rows, "target": self.target, "notes": list(self._notes(level, method)), **self.extras()}

    def to_json(self, level: NumberLike | None = None, method: str | None = None) -> str:
        """`as_dict` as JSON; no NaN and no infinity, ever."""
        return json.dumps(self.as_dict(level, method), allow_nan=False)

    def to_frame(self, library: str = "pandas") -> Any:
        """The tidy frame, of pandas or Polars."""
        if library not in LIBRARIES:
            raise ParameterError("library", library, f"one of {', '.join(LIBRARIES)}")
        rows = [flat(row.as_dict(*self._asked(None, None))) for row in self.rows]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return extra(library, "data").DataFrame({name: [row.get(name) for row in rows] for name in names})

    # ---- as a picture -------------------------------------------------------------------------------------------

    def points(self) -> list[Point]:
        """What is drawn: the rows on the scale of the first with their bars, or the only row with every method."""
        if len(self.methods) > 1:
            (row,) = self.rows
            notes = {self.methods[0]: misfit_note(row.misfit)}  # once: all bars are of one count
            bars = {name: row.interval(self.level, name) for name in self.methods}
            return [Point(name, float(row.value or 0), *bar, notes.get(name, "")) for name, bar in bars.items()]
        return [
            Point(
                f"{row.name} (n = {row.n:,})" if row.n is not None else row.name,
                row.value,
                *bar,
                misfit_note(row.misfit),
            )
            for row, bar in zip(self.rows, self._bars(None, None), strict=True)
            if row.value is not None and bar is not None and row.scale == self.rows[0].scale
        ]

    def caption(self) -> str:
        """What the bars of the picture are."""
        return self.notes[0] if self.rows else ""

    def plot(self, ax: Axes | None = None, *, limits: tuple[float, float] | None = None) -> Picture:
        """The rows with their bars; `limits` fixes the axis, for pictures that are laid side by side."""
        points, scale = self.points(), self.rows[0].scale if self.rows else SHARES
        if not points:
            raise ParameterError("result", type(self).__name__, "a result whose rows have error bars")
        if limits is None and not scale.is_share and all(map(math.isfinite, scale.ends)):
            limits = scale.ends
        shares = scale.is_share and scale.low == 0
        axis = {"axis": scale.axis or scale.unit, "shares": shares, "places": self.places(), "limits": limits}
        return Picture(draw_points(points, ax, title=self.caption(), **axis))  # type: ignore[arg-type]
