"""How a randomised answer goes together with a covariate, or with another randomised answer.

With the unbiased values r of `server_agg.sampling.values`: E[r | truth] = truth, and the noise depends on the
truth alone, so
    cov(truth, x) = E[r x] − E[r]E[x],        P(both truths) = E[r1 r2]          (independent noise)
    var(truth) = π(1−π), never the variance of r, which holds the noise too
    correlation = cov/√(var·var)              for two yes/no traits this is φ
All are estimated by their moments.  Standard errors come from the influence of each record (the delta method), so they
count sampling and noise together.  The test of independence is z = cov/SE(cov at independence).

Rule: where an estimated prevalence is not strictly between 0 and 1 the truth shows no variance, and there is no
correlation: `NoInformation`.  The moment estimate may leave [−1, 1]; `clipped` does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rrcollect.design.parameters import NumberLike
from rrcollect.errors import ParameterError
from server_agg.errors import NoInformation, TooFewAnswers
from server_agg.estimates.interval import DIFFERENCE
from server_agg.estimates.methods import wald_interval
from server_agg.estimates.numerics import normal_tail
from server_agg.models.columns import vector_of
from server_agg.report.result import Result
from server_agg.results.interval import Interval
from server_agg.results.tables import Table
from server_agg.results.words import bar_note, figure_table, percent
from server_agg.sampling.values import unbiased_values

if TYPE_CHECKING:
    from server_agg.models.columns import Floats


@dataclass(frozen=True)
class JointTable:
    """P(first truth, second truth), unbiased; a cell may lie outside [0, 1]."""

    both: float
    first_only: float
    second_only: float
    neither: float

    @property
    def odds_ratio(self) -> float | None:
        """both·neither/(first_only·second_only); None unless all four are positive."""
        cells = (self.both, self.first_only, self.second_only, self.neither)
        return self.both * self.neither / (self.first_only * self.second_only) if min(cells) > 0 else None


@dataclass(frozen=True)
class Association(Result):
    """A correlation with the truth behind a randomised answer."""

    axis, in_percent = "correlation of the truths", False
    n: int
    correlation: float
    standard_error: float
    covariance: float
    p: float
    table: JointTable | None = None

    @property
    def clipped(self) -> float:
        """The correlation cut to [−1, 1]."""
        return min(max(self.correlation, -1.0), 1.0)

    def interval(self, level: NumberLike = 0.95) -> Interval:
        """correlation ∓ z·SE within [−1, 1]; approximate."""
        return wald_interval(self.correlation, self.standard_error, level, "correlation of the truths", span=DIFFERENCE)

    numeric = frozenset(range(1, 5))

    def cells(self) -> Table:
        """The correlation with its bar."""
        return figure_table("correlation", self.n, self.correlation, self.interval(), percentage=False)

    def notes(self) -> list[str]:
        """The test, what the bar is, and the table of two answers."""
        told = [f"no correlation: p = {self.p:.3g}; {bar_note(self.interval())}"]
        if self.table is not None:
            cells = (self.table.both, self.table.first_only, self.table.second_only, self.table.neither)
            names = ("both", "the first only", "the second only", "neither")
            told.append(", ".join(f"{name} {percent(cell)} %" for name, cell in zip(names, cells, strict=True)))
        return told

    def as_dict(self, level: NumberLike = 0.95) -> dict[str, object]:
        """Plain values, ready for JSON."""
        found: dict[str, object] = {
            "n": self.n,
            "correlation": self.correlation,
            "standard_error": self.standard_error,
            "interval": self.interval(level).as_dict(),
            "covariance": self.covariance,
            "p": self.p,
        }
        if self.table is not None:
            cells = {name: getattr(self.table, name) for name in ("both", "first_only", "second_only", "neither")}
            found["table"] = {**cells, "odds_ratio": self.table.odds_ratio}
        return found


def correlate_with(answers: Any, design: Any, covariate: Any) -> Association:
    """The (point-biserial) correlation of the truth behind randomised answers with a number known of everybody.

    >>> from rrcollect import Design
    >>> found = correlate_with([1, 1, 0, 0, 1, 0], Design("9/10", "9/10"), [3, 1, 1, 2, 3, 2])
    >>> round(found.correlation, 3), round(found.standard_error, 3)
    (0.51, 0.448)
    """
    first = _values(answers, design)
    x = vector_of("covariate", covariate, first.size)
    spread = float(x.var())
    if spread <= 0:
        raise NoInformation("the covariate is the same for every record: nothing can go together with it")
    return _associated(first, x, spread, (x - x.mean()) ** 2 - spread)


def correlate_answers(first: Any, first_design: Any, second: Any, second_design: Any) -> Association:
    """The correlation φ of two truths, both behind randomised answers of the same people, with their joint table.

    The noise of the two must have been drawn independently, as this project's client draws them for two questions.

    >>> from rrcollect import Design
    >>> found = correlate_answers([1, 1, 0, 0, 0] * 80, Design("3/4", "3/4"), [1, 0, 0, 1, 0] * 80, Design(1, 1))
    >>> round(found.correlation, 2), found.n
    (0.36, 400)
    """
    a, b = _values(first, first_design), _values(second, second_design)
    if a.size != b.size:
        raise ParameterError("second", f"{b.size} answers", f"as many as there are first ones, {a.size}")
    share, both = float(b.mean()), float(a @ b) / a.size
    found = _associated(a, b, share * (1 - share), (1 - 2 * share) * (b - share))
    one = float(a.mean())
    table = JointTable(both, one - both, share - both, 1 - one - share + both)
    return Association(found.n, found.correlation, found.standard_error, found.covariance, found.p, table)


def _values(answers: Any, design: Any) -> Floats:
    values = unbiased_values(design, answers)
    if values.size < 2:
        raise TooFewAnswers(int(values.size), "the records")
    return values


def _associated(r: Floats, x: Floats, spread: float, spread_moves: Floats) -> Association:
    """`spread` is the variance of x's truth and `spread_moves` each record's influence on it."""
    share = float(r.mean())
    own = share * (1 - share)
    if own <= 0 or spread <= 0:
        raise NoInformation(
            f"an estimated prevalence is not strictly between 0 and 1 (here {share:.4g}): the truth shows no variance, "
            "so it has no correlation; expected more answers"
        )
    products = (r - share) * (x - x.mean())
    together = float(products.mean())
    scale = math.sqrt(own * spread)
    value = together / scale
    moves = (products - together) / scale - value / 2 * ((1 - 2 * share) * (r - share) / own + spread_moves / spread)
    error = math.sqrt(float(moves @ moves)) / r.size
    null = math.sqrt(float(products @ products)) / r.size
    p = min(1.0, 2 * normal_tail(abs(together) / null)) if null > 0 else 1.0
    return Association(int(r.size), value, error, together, p)
