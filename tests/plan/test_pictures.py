"""The two figures draw what the theorems say; their data are checked, not their pixels."""

import sys

import pytest
from matplotlib.figure import Figure

from rrcollect import ParameterError, optimal_design
from rrcollect.errors import MissingExtra
from server_agg import plan


def test_level_sets_of_g_are_level_sets():
    axes = plan.plot_switch(levels=[0.1, 0.3], points=40).axes
    (contours,) = [c for c in axes.collections if hasattr(c, "get_paths")]
    for level, path in zip([0.1, 0.3], contours.get_paths(), strict=True):
        assert len(path.vertices) > 10
        for epsilon, delta in path.vertices[::7]:
            assert optimal_design(float(epsilon), float(delta)).choice.switch_point == pytest.approx(level, abs=0.02)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("ε", "δ")


@pytest.mark.parametrize(("epsilon", "delta", "pi"), [("ln 2", "1/4", "1/4"), (1, 0, "0.3"), (1, "2/5", 0)])
def test_feasible_region_marks_the_optima(epsilon, delta, pi):
    axes = plan.plot_region(epsilon, delta, prevalence=pi).axes
    marked = [
        tuple(map(float, (*line.get_xdata(), *line.get_ydata()))) for line in axes.lines if line.get_marker() == "o"
    ]
    best = optimal_design(epsilon, delta, prevalence=pi)
    assert (float(best.p00), float(best.p11)) in marked
    region = axes.patches[0].get_path()
    assert region.contains_point((float(best.p00) - 1e-6, float(best.p11) - 1e-6))
    assert not region.contains_point((float(best.p00) + 1e-6, float(best.p11) + 1e-6))


def test_given_axes_are_used():
    ax = Figure().add_subplot()
    assert plan.plot_switch(ax, points=5).axes is ax
    assert plan.plot_region(1, ax=ax).axes is ax


@pytest.mark.parametrize(
    "arguments",
    [
        {"levels": []},
        {"levels": [2]},
        {"max_epsilon": 0},
        {"max_delta": 2},
        {"max_epsilon": float("nan")},
        {"points": 1},
    ],
)
def test_bad_arguments(arguments):
    with pytest.raises(ParameterError):
        plan.plot_switch(**arguments)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # as where the extra is not installed
    with pytest.raises(MissingExtra, match=r"matplotlib is not installed; pip install 'rrcollect\[plot\]'"):
        plan.plot_region(1)
