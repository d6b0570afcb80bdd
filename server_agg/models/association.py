"""How a randomised answer goes together with a covariate, or with another randomised answer.

With the unbiased values r of `Mechanism.unbiased`: E[r | truth] = truth, and the noise depends on the
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
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from rrcollect.errors import ParameterError
from server_agg.errors import NoInformation, TooFewAnswers
from server_agg.estimates.interval import DIFFERENCE
from server_agg.estimates.numerics import normal_tail
from server_agg.models.columns import vector_of
from server_agg.models.fits import wald_bar
from server_agg.results.findings import Findings
from server_agg.results.interval import percent
from server_agg.results.row import Row, Scale
from server_agg.sampling.values import unbiased_values

if TYPE_CHECKING:
    from server_agg.models.columns import Floats

TARGET = "correlation of the truths"
CORRELATIONS = Scale(-1.0, 1.0, "", TARGET)


class JointTable(NamedTuple):
    """P(first truth, second truth), unbiased; a cell may lie outside [0, 1]."""

    both: float
    first_only: float
    second_only: float
    neither: float

    @property
    def odds_ratio(self) -> float | None:
        """both·neither/(first_only·second_only); None unless all four are positive."""
        return self.both * self.neither / (self.first_only * self.second_only) if min(self) > 0 else None

    def as_dict(self) -> dict[str, float | None]:
        """Plain values, ready for JSON."""
        return {**self._asdict(), "odds_ratio": self.odds_ratio}

    def sentence(self) -> str:
        """One sentence."""
        names = ("both", "the first only", "the second only", "neither")
        return ", ".join(f"{name} {percent(cell)} %" for name, cell in zip(names, self, strict=True))


def correlate(answers: Any, design: Any, other: Any, other_design: Any = None) -> Findings:
    """The correlation of the truth behind randomised answers with a number known of everybody (point-biserial), or,
    with `other_design`, with the truth behind other randomised answers of the same people (φ, with their joint table).

    The noise of two answers must have been drawn independently, as this project's client draws them for two questions.
    The bar is ∓ z·SE within [−1, 1], approximate; p is that of no correlation.  `covariance` and, of two answers,
    `table` are the moments behind it.

    >>> from rrcollect import Design
    >>> found = correlate([1, 1, 0, 0, 1, 0], Design("9/10", "9/10"), [3, 1, 1, 2, 3, 2])
    >>> round(found.value, 3), round(found.standard_error, 3)
    (0.51, 0.448)
    >>> found = correlate([1, 1, 0, 0, 0] * 80, Design("3/4", "3/4"), [1, 0, 0, 1, 0] * 80, Design(1, 1))
    >>> round(found.value, 2), found.n
    (0.36, 400)
    """
    a = _values(answers, design)
    if other_design is None:
        x = vector_of("other", other, a.size)
        spread = float(x.var())
        if spread <= 0:
            raise NoInformation("the covariate is the same for every record: nothing can go together with it")
        return _associated(a, x, spread, (x - x.mean()) ** 2 - spread)
    b = _values(other, other_design)
    if a.size != b.size:
        raise ParameterError("other", f"{b.size} answers", f"as many as there are first ones, {a.size}")
    share, both = float(b.mean()), float(a @ b) / a.size
    found = _associated(a, b, share * (1 - share), (1 - 2 * share) * (b - share))
    one = float(a.mean())
    table = JointTable(both, one - both, share - both, 1 - one - share + both)
    return replace(found, facts={**found.facts, "table": table}, told=[table.sentence()])


def _values(answers: Any, design: Any) -> Floats:
    values = unbiased_values(answers, design)
    if values.size < 2:
        raise TooFewAnswers(int(values.size), "the records")
    return values


def _associated(r: Floats, x: Floats, spread: float, spread_moves: Floats) -> Findings:
    """`spread` is the variance of x's truth and `spread_moves` each record's influence on it."""
    share = float(r.mean())
    own = share * (1 - share)
    if own <= 0 or spread <= 0:
        raise NoInformation(
            f"an estimated prevalence is not strictly between 0 and 1 (here {share:.4g}): the truth shows no variance, "
            "so it has no correlation: use more answers"
        )
    products = (r - share) * (x - x.mean())
    together = float(products.mean())
    scale = math.sqrt(own * spread)
    value = together / scale
    moves = (products - together) / scale - value / 2 * ((1 - 2 * share) * (r - share) / own + spread_moves / spread)
    error = math.sqrt(float(moves @ moves)) / r.size
    null = math.sqrt(float(products @ products)) / r.size
    p = min(1.0, 2 * normal_tail(abs(together) / null)) if null > 0 else 1.0
    bar = wald_bar(value, error, TARGET, span=DIFFERENCE)
    row = Row("correlation", int(r.size), value, error, bar, p, None, CORRELATIONS)
    return Findings((row,), TARGET, {"covariance": together})
