"""Graphs whose edges were answered by randomised response: density, degrees and triangles without bias [KSK14].

Every pair {i, j} of nodes was answered once, independently, by one design.  With r the unbiased value of an answer and
e the unbiased estimate of its variance (`Mechanism.unbiased` and `noise`; e = r² − r, since a truth is its own square),
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
from typing import TYPE_CHECKING, Any

from rrcollect.design.parameters import NumberLike
from rrcollect.design.yes_no import Design
from rrcollect.errors import ParameterError
from server_agg.answer_words import Coding, is_null
from server_agg.columns import count_rows
from server_agg.count.tally import Tally
from server_agg.errors import UnclearAnswer
from server_agg.estimates.share import Share
from server_agg.models.fits import wald_bar
from server_agg.results.findings import Findings
from server_agg.results.interval import Interval
from server_agg.results.row import SHARES, Row, Scale

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COUNTS = Scale(axis="degree")


def _row(name: str, one: Share, people: int = 1) -> Row:
    """A share with its exact bar; of so many `people`, as a number of them."""

    def bar(level: NumberLike, method: str | None) -> Interval[Any]:
        found = one.interval(level, method or "exact")
        return found if people == 1 else found.with_ends((people * found.low, people * found.high), target="degree")

    scale = SHARES if people == 1 else Scale(0.0, float(people), "", "degree")
    value, error = people * one.value, people * one.standard_error
    return Row(name, one.tally.n, value, error, bar, None, one.misfit, scale)


def graph(
    data: Any,
    design: Design,
    *,
    source: str = "source",
    target: str = "target",
    answer: str = "answer",
    yes: Any = None,
    no: Any = None,
) -> Findings:
    """Density, degrees and triangles of a graph from a frame, mapping or file with one row per pair of nodes.

    The row "degree of a" estimates how many of the others node a is tied to.  The bar of the triangles is not cut to
    what is possible; it is missing where their estimated variance, which may be negative, is not above 0.

    >>> ties = {"source": ["a", "a", "a", "b", "b", "c"], "target": ["b", "c", "d", "c", "d", "d"]}
    >>> found = graph(ties | {"answer": [1, 1, 0, 1, 0, 0]}, Design("0.9", "0.9"))
    >>> found.density.value, found["degree of a"].value, round(found.triangles, 3)
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
    people = len(nodes) - 1
    degrees = [Share(Tally(design, people, int(row.sum())), "sample") for row in said]
    whole = Share(Tally(design, len(ties), int(said.sum()) // 2), "sample")
    number, variance = _triangles(design, said)
    error = math.sqrt(variance) if variance > 0 else None
    bar = None if error is None else wald_bar(number, error, "number of triangles")
    rows = [_row(f"degree of {node}", one, people) for node, one in zip(nodes, degrees, strict=True)]
    rows += [_row("density", whole), Row("triangles", None, number, error, bar, scale=COUNTS)]
    facts = {"nodes": nodes, "design": design, "density": whole, "triangles": number}
    told = [] if error is not None else ["triangles: no bar, since the estimated variance is not above 0"]
    said_of = f"{len(nodes)} nodes, {len(ties)} pairs"
    return Findings(tuple(rows), "graph", facts, told, said_of, main="density")


def _triangles(design: Design, said: NDArray[np.uint8]) -> tuple[float, float]:
    """(T, its unbiased variance) from the symmetric matrix of answers."""
    import numpy as np

    shape, off = said.shape, 1.0 - np.eye(len(said))
    r = design.unbiased(said.ravel()).reshape(shape) * off
    e = design.noise(said.ravel()).reshape(shape) * off
    squares = r * r
    paths, square_paths = r @ r, squares @ squares
    number = float((paths * r).sum()) / 6
    with_itself = float((square_paths * squares).sum()) / 6 - number
    return number, float((e * (paths**2 - square_paths)).sum()) / 2 + with_itself
