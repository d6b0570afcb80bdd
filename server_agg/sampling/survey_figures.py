"""All figures of one complex sample: `SurveyEstimate`, what `survey_estimate` returns.

Rules
1. One figure answers for the whole (`found.value`, `found.interval()`); several are asked by their names.
2. Figures are dependent: `difference` uses their covariance.  Bars are each for themselves; `intervals` hold at once.
3. How the people were drawn, and by what the variance was estimated, stands under every table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from server_agg.report.result import Result
from server_agg.results.drawing import Point
from server_agg.results.interval import Interval, exact_level
from server_agg.results.tables import Table
from server_agg.results.words import misfit_note
from server_agg.sampling.figures import SurveyDifference, SurveyFigure
from server_agg.sampling.sample import Sample
from server_agg.sampling.totals import Total

if TYPE_CHECKING:
    from server_agg.sampling.sample import Floats


@dataclass(frozen=True, eq=False)
class SurveyEstimate(Result):
    """The figures of one sample: one, or one per group and option; `found["north"]` is one of them."""

    numeric = frozenset(range(1, 7))
    tidy = "figures"
    figures: tuple[SurveyFigure, ...]
    covariance: Floats  # of their shares
    sample: Sample
    variance_by: str  # "linearisation", "JK1", …
    privacy: str
    dropped: int = 0  # rows without an answer

    def __getitem__(self, name: str) -> SurveyFigure:
        return self.figures[self._place(name)]

    def __len__(self) -> int:
        return len(self.figures)

    def _place(self, name: str) -> int:
        names = [figure.name for figure in self.figures]
        if name not in names:
            raise ParameterError("name", name, f"one of {names}")
        return names.index(name)

    @property
    def _only(self) -> SurveyFigure:
        if len(self.figures) != 1:
            names = [figure.name for figure in self.figures]
            raise ParameterError("figure", f"one of {len(names)}", f"found[name], with a name of {names}")
        return self.figures[0]

    @property
    def value(self) -> float:
        """Of the only figure."""
        return self._only.value

    @property
    def standard_error(self) -> float:
        """Of the only figure."""
        return self._only.standard_error

    @property
    def design_effect(self) -> float | None:
        """Of the only figure."""
        return self._only.design_effect

    @property
    def total(self) -> Total:
        """Of the only figure."""
        return self._only.total

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the whole sample."""
        return self.sample.freedom

    def interval(self, level: NumberLike = 0.95, method: str = "korn-graubard", **how: Any) -> Interval:
        """The bar of the only figure."""
        return self._only.interval(level, method, **how)

    def intervals(self, level: NumberLike = 0.95, method: str = "korn-graubard") -> list[Interval]:
        """The bars of all figures, holding at once: each at level 1 − α/k."""
        each = 1 - (1 - exact_level(level)) / len(self.figures)
        return [figure.interval(each, method) for figure in self.figures]

    def difference(self, first: str, second: str) -> SurveyDifference:
        """One figure minus another, by their covariance."""
        i, j = self._place(first), self._place(second)
        if i == j:
            raise ParameterError("second", second, "another figure")
        return SurveyDifference(self.figures[i], self.figures[j], float(self.covariance[i, j]), self.freedom)

    def sentence(self, level: NumberLike = 0.95, method: str = "korn-graubard") -> str:
        """One sentence per figure."""
        many = len(self.figures) > 1
        said = [(f"{f.name}: " if many else "") + f.sentence(level, method) for f in self.figures]
        return "\n".join(said)

    def cells(self, level: NumberLike = 0.95) -> Table:
        """A line per figure."""
        lines = []
        for figure in self.figures:
            bar = figure.interval(level)
            value, low, high, unit = figure.shown(bar)
            effect = "none" if figure.design_effect is None else f"{figure.design_effect:.2f}"
            count = "" if figure.sum is None else f"{figure.sum.clipped:.0f}".replace("-", "−")
            lines.append([figure.name, str(figure.n), value + unit, low, high, effect, count, figure.beside(bar)])
        return ["", "n", "estimate", "low", "high", "design effect", "total", ""], lines

    def points(self) -> list[Point]:
        """Every figure, with how well it fits."""
        return [
            Point(f"{f.name} (n = {f.n:,})", f.value, *f.interval(), misfit_note(f.misfit)) for f in self.figures
        ]  # fmt: skip

    def notes(self, level: NumberLike = 0.95) -> list[str]:
        """How the people were drawn, and what the bars are."""
        share = f"{float(100 * exact_level(level)):.10g} %"
        bars = f"{share} korn-graubard bars, each for itself; {self.drawn()}"
        gone = [f"{self.dropped} rows dropped: their answer is missing"] if self.dropped else []
        return [bars, f"{self.variance_by}, {self.privacy}", *gone]

    def drawn(self) -> str:
        """The sample in words."""
        s = self.sample
        strata = f" in {len(s.strata)} strata" if s.strata != (None,) else ""
        units = f"{s.units} clusters" if s.clustered else "people"
        return f"{s.n} answers, {units}{strata}, {s.freedom} degrees of freedom"

    def as_dict(self, level: NumberLike = 0.95, method: str = "korn-graubard") -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "n": self.sample.n,
            "units": self.sample.units,
            "strata": len(self.sample.strata),
            "degrees_of_freedom": self.freedom,
            "variance": self.variance_by,
            "dropped": self.dropped,
            "figures": [figure.as_dict(level, method) for figure in self.figures],
        }


class SurveyMeans(SurveyEstimate):
    """The same of means of numbers: its picture is in their unit."""

    axis, in_percent = "mean", False
