"""What privacy costs: for each ε the answers needed, against direct questioning at the same margin."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from rrcollect.design.parameters import Epsilon, EpsilonLike, NumberLike
from rrcollect.errors import ParameterError
from server_agg.plan.detection import Asked, Bounds
from server_agg.plan.pictures import draw_lines
from server_agg.plan.size import Shares, best_design, sample_size, shares_of, size_for_margin
from server_agg.results.drawing import Picture
from server_agg.results.findings import Findings
from server_agg.results.interval import exact_level, percent_of
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


@dataclass(frozen=True, eq=False)
class Price(Findings):
    """Answers needed for a margin, one of `lines` for each ε (δ = 0, optimal design); made by `price`.  The value of a
    row is how many times as many answers are needed as asked directly."""

    by: Callable[[str], Price] = field(kw_only=True)  # the same by another method of the bars

    def tables(self, level: NumberLike | None = None, method: str | None = None) -> list[tuple[Table, frozenset[int]]]:
        """A line for each ε."""
        head = ["ε", "P(truth)", "an answer is worth", "n", "direct n", "times"]
        lines = [
            [f"{one.epsilon:.4g}", f"{one.truth:.4g}", f"{one.effective_share:.3g} of a direct one", str(one.n),
             str(one.direct_n), f"{one.factor:.3g}"]
            for one in self.lines
        ]  # fmt: skip
        return [((head, lines), frozenset(range(6)))]

    def plot(
        self, ax: Axes | None = None, *, limits: tuple[float, float] | None = None, methods: Sequence[str] = ()
    ) -> Picture:
        """Answers needed against ε, also by other `methods`; dashed: direct questioning.

        >>> axes = price([1, 2], method="wald").plot().axes
        >>> [int(n) for n in axes.lines[0].get_ydata()]
        [1799, 663]
        """
        used = self.facts["method"]
        found = {method: self if method == used else self.by(method) for method in methods or (used,)}
        lines = {m: ([line.epsilon for line in one.lines], [line.n for line in one.lines]) for m, one in found.items()}
        direct = [one.lines[0].direct_n for one in found.values()]
        title = f"{self.told[0]}; dashed: asked directly"
        axes = draw_lines(ax, lines, x="ε", y="answers needed", title=title, dashed=direct)
        axes.set_yscale("log")
        if limits is not None:
            axes.set_ylim(*limits)
        axes.legend(frameon=False)
        return Picture(axes)


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
    lines = []
    for epsilon in given:
        design = best_design(epsilon, options)
        n = sample_size(design, margin=margin, prevalence=prevalence, bounds=bounds, level=level, method=method)
        asked = Asked.of(design, level, bounds)
        direct = size_for_margin(asked.direct(), margin, prevalence, method, None)
        worth = min(float(asked.design.effective_sample_ratio(at)) for at in shares_of(asked, prevalence))
        lines.append(PriceLine(float(Epsilon(epsilon)), float(asked.design.p11), worth, n, direct))
    rows = tuple(
        Row(f"ε = {line.epsilon:.4g}", line.n, line.factor, None, scale=TIMES, extras=line._asdict()) for line in lines
    )
    at = "the worst prevalence" if prevalence is None else f"prevalence {prevalence}"
    every = f"; all {options} options at once" if options > 2 else ""
    told = f"±{margin} at {percent_of(level)} ({method} bars), {at}{every}"
    facts = {"lines": lines, "margin": str(margin), "level": float(exact_level(level)), "method": method}
    how: Any = {"margin": margin, "options": options, "prevalence": prevalence, "bounds": bounds, "level": level}
    return Price(rows, "population", facts, [told], "", by=lambda other: price(given, **how, method=other))
