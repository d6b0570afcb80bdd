"""What privacy costs: for each ε the answers needed, against direct questioning at the same margin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike
from rrcollect.errors import ParameterError
from server_agg.plan.detection import Asked, Bounds
from server_agg.plan.size import Shares, best_design, sample_size, shares_of, size_for_margin
from server_agg.report.result import Result
from server_agg.results.drawing import COLOURS, MARKERS, Picture, axes_for, plain_axes
from server_agg.results.interval import exact_level
from server_agg.results.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class PriceRow:
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
    """Answers needed for a margin, one row for each ε (δ = 0, optimal design); made by `price`."""

    rows: tuple[PriceRow, ...]
    epsilons: tuple[EpsilonLike, ...]
    margin: NumberLike
    options: int
    prevalence: Shares | None
    bounds: Bounds | None
    level: Fraction
    method: str

    numeric = frozenset(range(6))
    tidy = "rows"

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        rows = [{**asdict(row), "factor": row.factor} for row in self.rows]
        return {"rows": rows, "margin": str(self.margin), "level": float(self.level), "method": self.method}

    def cells(self) -> Table:
        """A line for each ε."""
        head = ["ε", "P(truth)", "an answer is worth", "n", "direct n", "times"]
        return head, [
            [f"{row.epsilon:.4g}", f"{row.truth:.4g}", f"{row.effective_share:.3g} of a direct one", str(row.n),
             str(row.direct_n), f"{row.factor:.3g}"]
            for row in self.rows
        ]  # fmt: skip

    def notes(self) -> list[str]:
        """What the answers are needed for."""
        return [self.caption()]

    def caption(self) -> str:
        """What the answers are needed for."""
        at = "the worst prevalence" if self.prevalence is None else f"prevalence {self.prevalence}"
        options = f"; all {self.options} options at once" if self.options > 2 else ""
        return f"±{self.margin} at {float(100 * self.level):.10g} % ({self.method} bars), {at}{options}"

    def plot(
        self, ax: Axes | None = None, *, limits: tuple[float, float] | None = None, methods: Sequence[str] = ()
    ) -> Picture:
        """Answers needed against ε, also by other `methods`; dashed: direct questioning.

        >>> axes = price([1, 2], method="wald").plot().axes
        >>> [int(n) for n in axes.lines[0].get_ydata()]
        [1799, 663]
        """
        axes = axes_for(ax)
        for number, method in enumerate(methods or (self.method,)):
            rows = self.rows if method == self.method else self._by(method).rows
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

    def _by(self, method: str) -> Price:
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
    >>> [(row.epsilon, row.n) for row in price([0.5, 1, 2]).rows]
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
        rows.append(PriceRow(float(Epsilon(epsilon)), float(asked.design.p11), worth, n, direct))
    return Price(tuple(rows), given, margin, options, prevalence, bounds, exact_level(level), method)
