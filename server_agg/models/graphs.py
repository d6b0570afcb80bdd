"""Graphs whose edges were answered by randomised response: density, degrees and triangles without bias [KSK14].

Every pair {i, j} of nodes was answered once, independently, by one design.  With r the unbiased value of an answer and
e the unbiased estimate of its variance (`sampling.values`; e = r² − r, since a truth is its own square),
    density    mean of r                          variance  Σ e / pairs²
    degree     d_i = Σ_j r_ij                     variance  Σ_j e_ij
    triangles  T = Σ_{i<j<k} r_ij r_jk r_ik       variance  Σ_{i<j} e_ij (S_ij² − Q_ij) + Σ_{i<j<k} (Π r² − Π r)
where S_ij = Σ_k r_ik r_jk and Q_ij = Σ_k (r_ik r_jk)².  T is unbiased because a triangle is three answers.  Its
variance is T² less an unbiased estimate of the square of the number: pairs of triangles without a common edge cancel,
those with one give the first sum, a triangle with itself the second.

Rules
1. The graph is the target: nothing is random but the noise.  The bars of density and degrees are exact and guaranteed;
   that of the triangles is z·SE, approximate, and missing where the estimated variance is not above 0.
2. Who counts noisy edges as if they were true gets another graph: at ε = 1 the answers of an empty graph of 100 nodes
   have some 3,000 triangles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rrcollect.design.parameters import NumberLike
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.answer_words import Coding, is_null
from server_agg.columns import count_rows
from server_agg.count.tally import Tally
from server_agg.errors import UnclearAnswer
from server_agg.estimates.estimate import Estimate, estimate
from server_agg.estimates.methods import wald_interval
from server_agg.report.result import Result
from server_agg.results.drawing import Point
from server_agg.results.interval import Interval
from server_agg.results.tables import Table
from server_agg.results.words import share_point
from server_agg.sampling.values import noise_variances, unbiased_values

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLUMNS = ("low", "high", "level", "method", "target", "side", "guaranteed", "warning",
           "misfit_flag", "misfit_tail_probability", "misfit_side")  # fmt: skip


@dataclass(frozen=True)
class GraphEstimate(Result):
    """A graph seen through the noise; `degrees[j]` estimates the share of the others that `nodes[j]` is tied to."""

    numeric = frozenset(range(1, 5))
    tidy, axis, in_percent = "rows", "degree", False
    nodes: tuple[str, ...]
    density: Estimate
    degrees: tuple[Estimate, ...]
    triangles: float
    triangles_variance: float  # unbiased; it may be negative

    def degree(self, node: str, level: NumberLike = 0.95) -> tuple[float, float, Interval]:
        """(unbiased degree, standard error, exact bar) of one node."""
        if str(node) not in self.nodes:
            raise ParameterError("node", node, f"one of {', '.join(self.nodes[:20])}")
        found = self.degrees[self.nodes.index(str(node))].total()
        return (
            found.value,
            found.standard_error,
            found.interval(level).with_ends(found.interval(level), target="degree"),
        )

    def triangles_interval(self, level: NumberLike = 0.95) -> Interval | None:
        """z·SE around the number of triangles, not cut to what is possible; None without a standard error."""
        error = self.triangles_standard_error
        return None if error is None else wald_interval(self.triangles, error, level, "number of triangles")

    @property
    def triangles_standard_error(self) -> float | None:
        """The square root of their variance; None where that is not above 0."""
        return math.sqrt(self.triangles_variance) if self.triangles_variance > 0 else None

    def as_dict(self, level: NumberLike = 0.95) -> dict[str, object]:
        """Plain values, ready for JSON; the rows are density, triangles and the degree of every node."""
        density, bar = self.density, self.triangles_interval(level)
        rows: list[dict[str, Any]] = [
            {"name": "density", "value": density.value, "standard_error": density.standard_error,
             "interval": density.interval(level).as_dict(), "misfit": density.misfit.as_dict()},
            {"name": "triangles", "value": self.triangles, "standard_error": self.triangles_standard_error,
             "interval": None if bar is None else bar.as_dict()},
        ]  # fmt: skip
        for node, one in zip(self.nodes, self.degrees, strict=True):
            value, error, ends = self.degree(node, level)
            rows.append({"name": f"degree of {node}", "value": value, "standard_error": error,
                         "interval": ends.as_dict(), "misfit": one.misfit.as_dict()})  # fmt: skip
        return {"nodes": list(self.nodes), "design": density.tally.design.to_wire(), "rows": rows}

    def records(self) -> list[dict[str, object]]:
        """One row per estimate, all with the same columns."""
        empty = dict.fromkeys(COLUMNS)
        rows = [{name: value for name, value in row.items() if name != "interval"} for row in super().records()]
        return [{"name": row["name"], "value": row["value"], **empty, **row} for row in rows]

    def cells(self) -> Table:
        """Density, triangles and degrees as text."""
        lines, fits = [], [self.density.misfit, None, *(one.misfit for one in self.degrees)]
        for row, fit in zip(self.records(), fits, strict=True):
            shown = ["none" if row[name] is None else f"{row[name]:.4g}" for name in ("value", "standard_error")]
            ends = ["none" if row[name] is None else f"{row[name]:.4g}" for name in ("low", "high")]
            note = fit.describe() if fit is not None and fit.told else ""
            lines.append([str(row["name"]), *shown, *ends, str(row["method"] or "variance not above 0"), note])
        return ["", "estimate", "SE", "low", "high", "bar", ""], lines

    def points(self) -> list[Point]:
        """The degrees."""
        people = len(self.nodes) - 1
        each = [share_point("", one, one.interval()) for one in self.degrees]
        return [
            Point(node, people * one.value, *self.degree(node)[2], one.note)
            for node, one in zip(self.nodes, each, strict=True)
        ]

    def caption(self) -> str:
        """What the bars of the picture are."""
        return "95 % exact bars, each on its own"

    def notes(self) -> list[str]:
        """What the bars cover."""
        return [f"{len(self.nodes)} nodes, {self.density.n} pairs; 95 % bars, each for itself, for this graph"]


def estimate_graph(
    data: Any,
    *,
    design: Design,
    source: str = "source",
    target: str = "target",
    answer: str = "answer",
    yes: Any = None,
    no: Any = None,
) -> GraphEstimate:
    """Density, degrees and triangles of a graph from a frame, mapping or file with one row per pair of nodes.

    >>> ties = {"source": ["a", "a", "a", "b", "b", "c"], "target": ["b", "c", "d", "c", "d", "d"]}
    >>> found = estimate_graph(ties | {"answer": [1, 1, 0, 1, 0, 0]}, design=Design("0.9", "0.9"))
    >>> found.density.value, found.degree("a")[0], round(found.triangles, 3)
    (0.5, 2.125, 1.477)
    """
    import numpy as np

    found = count_rows(data, [answer, source, target])
    bits = Coding.of(yes, no).bits(dict.fromkeys(cells[0] for cells in found.counts), found.where)
    ties: dict[frozenset[str], int] = {}
    for (value, one, other), times in found.counts.items():
        pair, bit = frozenset({str(one), str(other)}), bits[value]
        if is_null(one) or is_null(other) or len(pair) != 2:
            raise ParameterError("pair", (one, other), "two different nodes in every row")
        if times > 1 or pair in ties:
            raise ParameterError("pair", tuple(sorted(pair)), "one row: the graph has no directions")
        if bit is None:
            raise UnclearAnswer(found.where(value), value, "an answer for every pair: without it the sums are biased")
        ties[pair] = bit
    nodes = sorted({node for pair in ties for node in pair})
    if len(nodes) < 3 or len(ties) != math.comb(len(nodes), 2):
        expected = f"{math.comb(len(nodes), 2)}, one for each pair of {len(nodes)} nodes (3 or more)"
        raise ParameterError("rows", len(ties), expected)
    place = {node: j for j, node in enumerate(nodes)}
    said = np.zeros((len(nodes), len(nodes)), np.uint8)
    for pair, bit in ties.items():
        i, j = (place[node] for node in pair)
        said[i, j] = said[j, i] = bit
    degrees = tuple(estimate(Tally(design, len(nodes) - 1, int(row.sum())), target="sample") for row in said)
    whole = estimate(Tally(design, len(ties), int(said.sum()) // 2), target="sample")
    return GraphEstimate(tuple(nodes), whole, degrees, *_triangles(design, said))


def _triangles(design: Design, said: NDArray[np.uint8]) -> tuple[float, float]:
    """(T, its unbiased variance) from the symmetric matrix of answers."""
    import numpy as np

    shape, off = said.shape, 1.0 - np.eye(len(said))
    r = unbiased_values(design, said.ravel()).reshape(shape) * off
    e = noise_variances(design, said.ravel()).reshape(shape) * off
    squares = r * r
    paths, square_paths = r @ r, squares @ squares
    number = float((paths * r).sum()) / 6
    with_itself = float((square_paths * squares).sum()) / 6 - number
    return number, float((e * (paths**2 - square_paths)).sum()) / 2 + with_itself
