"""Density, degrees, triangles and their variances are unbiased: by enumeration of every answer to small graphs."""

from itertools import combinations, product

import numpy as np
import pandas
import pytest

from rrcollect import Design, ParameterError, optimal_design
from server_agg import models
from server_agg.errors import UnclearAnswer
from server_agg.models.graphs import _triangles

D = Design("0.8", "0.7")


def matrix(nodes, ties):
    made = np.zeros((nodes, nodes), np.uint8)
    for (i, j), tie in zip(combinations(range(nodes), 2), ties, strict=True):
        made[i, j] = made[j, i] = tie
    return made


def law(truth, design):
    """Every answer with its probability."""
    yes = [float(design.p11) if tie else float(1 - design.p00) for tie in truth]
    for said in product((0, 1), repeat=len(truth)):
        yield said, float(np.prod([p if bit else 1 - p for p, bit in zip(yes, said, strict=True)]))


def frame(nodes, said):
    pairs = list(combinations("abcdefgh"[:nodes], 2))
    return {"source": [a for a, _ in pairs], "target": [b for _, b in pairs], "answer": list(said)}


def moments(nodes, truth, design, values):
    """(mean, variance, mean of the estimated variance) of `values(said)` = (value, variance)."""
    found = [(p, *values(said)) for said, p in law(truth, design)]
    mean = sum(p * value for p, value, _ in found)
    return mean, sum(p * (value - mean) ** 2 for p, value, _ in found), sum(p * v for p, _, v in found)


def triangles(ties, nodes):
    full = matrix(nodes, ties).astype(float)
    return np.trace(full @ full @ full) / 6


@pytest.mark.parametrize("truth", list(product((0, 1), repeat=6))[::5])
@pytest.mark.parametrize("design", [D, Design(1, "0.4"), Design("0.2", "0.3")])
def test_triangles_of_graphs_of_four_nodes(truth, design):
    mean, true, estimated = moments(4, truth, design, lambda said: _triangles(design, matrix(4, said)))
    assert mean == pytest.approx(triangles(truth, 4), abs=1e-9)
    assert estimated == pytest.approx(true, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("truth", [(1, 1, 0, 0, 1, 1, 0, 1, 0, 1), (0,) * 10, (1,) * 10])
def test_triangles_of_graphs_of_five_nodes(truth):  # where triangles may share one node and no edge
    mean, true, estimated = moments(5, truth, D, lambda said: _triangles(D, matrix(5, said)))
    assert mean == pytest.approx(triangles(truth, 5), abs=1e-8)
    assert estimated == pytest.approx(true, rel=1e-9)


def test_density_and_degrees_by_enumeration():
    truth = (1, 1, 0, 0, 1, 1)
    for name, value in (("density", 4 / 6), ("degree of a", 2.0), ("degree of d", 2.0)):

        def row(said, name=name):
            found = models.graph(frame(4, said), design=D)
            if name == "density":
                return found.density.value, found.density.standard_error**2
            degree, error, (low, high) = found[name].value, found[name].standard_error, found[name].interval()
            assert 0 <= low <= min(max(degree, 0), 3) <= high <= 3
            return degree, error**2

        mean, true, estimated = moments(4, truth, D, row)
        assert mean == pytest.approx(value, abs=1e-9)
        assert estimated == pytest.approx(true, rel=1e-9)


def test_planted_bugs_are_seen_by_the_enumeration():
    truth = (1,) * 6  # triangles with common edges

    def naive(said):  # the answers taken for ties
        return triangles(said, 4), 0.0

    def without_pairs(said):  # as if triangles with a common edge were independent
        r = np.array([float(bit - (1 - D.p00)) / float(D.c) for bit in said])
        number, _ = _triangles(D, matrix(4, said))
        places = {pair: k for k, pair in enumerate(combinations(range(4), 2))}
        each = [[places[pair] for pair in combinations(three, 2)] for three in combinations(range(4), 3)]
        return number, float(sum(np.prod(r[t] ** 2) - np.prod(r[t]) for t in each))

    assert abs(moments(4, truth, D, naive)[0] - triangles(truth, 4)) > 0.1
    _, true, estimated = moments(4, truth, D, without_pairs)
    assert abs(estimated - true) > 0.05 * true


def test_a_large_graph_is_found_again():
    generator, nodes, design = np.random.default_rng(7), 120, optimal_design(2)
    full = np.triu(generator.random((nodes, nodes)) < 0.15, 1)
    pairs = [(i, j) for i in range(nodes) for j in range(i + 1, nodes)]
    flip = generator.random(len(pairs)) < float(1 - design.p11)
    told = [bool(full[i, j]) ^ bool(f) for (i, j), f in zip(pairs, flip, strict=True)]
    data = pandas.DataFrame({"source": [i for i, _ in pairs], "target": [j for _, j in pairs], "answer": told})
    found = models.graph(data, design=design)
    whole = (full | full.T).astype(float)
    truth = np.trace(whole @ whole @ whole) / 6
    assert abs(found.triangles - truth) < 6.2 * found["triangles"].standard_error  # false alarms: below 1e-9
    assert abs(found.density.value - whole.mean() * nodes / (nodes - 1)) < 6.2 * found.density.standard_error
    low, high = found["triangles"].interval()
    assert low < found.triangles < high
    rows = found.to_frame()
    assert len(rows) == nodes + 2
    assert "nodes, 7140 pairs" in str(found)


@pytest.mark.needs("matplotlib")
def test_a_picture_and_a_variance_that_is_not_above_zero():
    found = models.graph(frame(4, (0,) * 6), design=Design(1, 1))  # the truth as it is
    row = found["triangles"]
    assert (row.value, row.standard_error, row.bar) == (0.0, None, None)
    assert "variance is not above 0" in str(found)
    assert found.to_frame()["low"].isna().tolist()[-1]
    assert found.plot()._repr_png_()


def test_what_is_not_a_graph_is_refused():
    good = frame(4, (1, 0, 1, 0, 1, 1))
    with pytest.raises(ParameterError, match="one row: the graph has no directions"):
        models.graph({k: [*v, v[0]] for k, v in good.items()}, design=D)
    turned = {"source": [*good["source"], "b"], "target": [*good["target"], "a"], "answer": [*good["answer"], 0]}
    with pytest.raises(ParameterError, match="no directions"):
        models.graph(turned, design=D)
    with pytest.raises(ParameterError, match="rows is 5: use 6, one for each pair of 4 nodes"):
        models.graph({k: v[:-1] for k, v in good.items()}, design=D)
    with pytest.raises(ParameterError, match="two different nodes"):
        models.graph({**good, "target": good["source"]}, design=D)
    with pytest.raises(ParameterError, match="two different nodes"):
        models.graph({**good, "target": [None, *good["target"][1:]]}, design=D)
    with pytest.raises(UnclearAnswer, match="an answer for every pair"):
        models.graph({**good, "answer": [None, 0, 1, 0, 1, 1]}, design=D)
    with pytest.raises(ParameterError, match="degree of d"):
        models.graph(good, D)["degree of e"]
