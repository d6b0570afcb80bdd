"""What privacy costs: for each ε the answers needed, against direct questioning at the same margin."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike
from rrcollect.errors import ParameterError
from server_agg.plan.detection import Asked, Bounds
from server_agg.plan.size import Shares, best_design, sample_size, shares_of, size_for_margin
from server_agg.results.drawing import COLOURS, MARKERS, Picture, axes_for, plain_axes
from server_agg.results.interval import exact_level
from server_agg.results.result import Result
from server_agg.results.row import Row, Scale
from server_agg.results.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


TIMES = Scale(0.0, math.inf, "", "times as many answers as asked directly")


class PriceLine(NamedTuple):
    """One ε: P(truth is told), what an answer is worth in direct ones, and the answers needed."""

    epsilon: float
    truth: float
    effective_share: float
    n: int
    direct_n: int

    @property
    def factor(self) -> float:
        """How many times as many answers as asked directly."""
        return self.n / self.direct_n


@dataclass(frozen=True)
class Price(Result):
    """Answers needed for a margin, one line for each ε (δ = 0, optimal design); made by `price`.  The value of a row is
    how many times as many answers are needed as asked directly."""

    lines: tuple[PriceLine, ...]
    epsilons: tuple[EpsilonLike, ...]
    margin: NumberLike
    options: int
    prevalence: Shares | None
    bounds: Bounds | None
    by: str  # the method of the bars
    level: NumberLike = 0.95

    target = "population"

    @property
    def rows(self) -> tuple[Row, ...]:
        """One for each ε."""
        return tuple(
            Row(f"ε = {line.epsilon:.4g}", line.n, line.factor, None, scale=TIMES, extras=line._asdict())
            for line in self.lines
        )

    def tables(self, level: NumberLike | None = None, method: str | None = None) -> list[tuple[Table, frozenset[int]]]:
        """A line for each ε."""
        head = ["ε", "P(truth)", "an answer is worth", "n", "direct n", "times"]
        lines = [
            [f"{one.epsilon:.4g}", f"{one.truth:.4g}", f"{one.effective_share:.3g} of a direct one", str(one.n),
             str(one.direct_n), f"{one.factor:.3g}"]
            for one in self.lines
        ]  # fmt: skip
        return [((head, lines), frozenset(range(6)))]

    def context(self) -> str:
        """Nothing was counted."""
        return ""

    def remarks(self) -> list[str]:
        """What the answers are needed for."""
        return [self.caption()]

    def extras(self) -> dict[str, object]:
        """What the answers are needed for."""
        return {"margin": str(self.margin), "level": float(exact_level(self.level)), "method": self.by}

    def caption(self) -> str:
        """What the answers are needed for."""
        at = "the worst prevalence" if self.prevalence is None else f"prevalence {self.prevalence}"
        options = f"; all {self.options} options at once" if self.options > 2 else ""
        return f"±{self.margin} at {float(100 * exact_level(self.level)):.10g} % ({self.by} bars), {at}{options}"

    def plot(
        self, ax: Axes | None = None, *, limits: tuple[float, float] | None = None, methods: Sequence[str] = ()
    ) -> Picture:
        """Answers needed against ε, also by other `methods`; dashed: direct questioning.

        >>> axes = price([1, 2], method="wald").plot().axes
        >>> [int(n) for n in axes.lines[0].get_ydata()]
        [1799, 663]
        """
        axes = axes_for(ax)
        for number, method in enumerate(methods or (self.by,)):
            rows = self.lines if method == self.by else self._with(method).lines
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            axes.plot([row.epsilon for row in rows], [row.n for row in rows], f"{marker}-", color=colour, label=method)
            axes.axhline(rows[0].direct_n, color=colour, linestyle="--", linewidth=0.8)
        axes.set_yscale("log")
        if limits is not None:
            axes.set_ylim(*limits)
        axes.set_xlabel("ε")
        axes.set_ylabel("answers needed")
        plain_axes(axes, f"{self.caption()}; dashed: asked directly")
        axes.legend(frameon=False)
        return Picture(axes)

    def _with(self, method: str) -> Price:
        how = {"margin": self.margin, "options": self.options, "prevalence": self.prevalence, "bounds": self.bounds}
        return price(self.epsilons, **how, level=self.level, method=method)  # type: ignore[arg-type]


def price(
    epsilons: Iterable[EpsilonLike],
    *,
    margin: NumberLike = "0.05",
    options: int = 2,
    prevalence: Shares | None = None,
    bounds: Bounds | None = None,
    level: NumberLike = 0.95,
    method: str = "exact",
) -> Price:
    """What does privacy cost: one row for each ε (δ = 0, optimal design), for a yes/no, a choice of so many `options`
    or a number within `bounds`.

    >>> print(price(["ln 3"]))
        ε  P(truth)    an answer is worth     n  direct n  times
    1.099      0.75  0.25 of a direct one  1573       401   3.92
    ±0.05 at 95 % (exact bars), the worst prevalence
    >>> [(line.epsilon, line.n) for line in price([0.5, 1, 2]).lines]
    [(0.5, 6483), (1.0, 1839), (2.0, 685)]
    """
    given = tuple(epsilons)
    if not given:
        raise ParameterError("epsilons", epsilons, "one ε or more")
    rows = []
    for epsilon in given:
        design = best_design(epsilon, options)
        n = sample_size(design, margin=margin, prevalence=prevalence, bounds=bounds, level=level, method=method)
        asked = Asked.of(design, level, bounds)
        direct = size_for_margin(asked.direct(), margin, prevalence, method, None)
        worth = min(float(asked.design.effective_sample_ratio(at)) for at in shares_of(asked, prevalence))
        rows.append(PriceLine(float(Epsilon(epsilon)), float(asked.design.p11), worth, n, direct))
    return Price(tuple(rows), given, margin, options, prevalence, bounds, method, exact_level(level))
