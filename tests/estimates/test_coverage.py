"""Coverage of the bars by exact summation over all counts; plug-in bars in the same harness are planted bugs."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from rrcollect import Design, optimal_design
from server_agg import Tally, estimate
from tests.benchmarks.coverage import (
    DESIGNS,
    GUARANTEED,
    ONE_SIDED,
    OTHERS,
    PREVALENCES,
    SYMMETRIC,
    by_method,
    coverage,
    minima,
    named_methods,
    plug_in_45,
)
from tests.inside.estimates import METHODS, Kind, methods_for

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coverage.md"
SIZES = (2, 3, 10, 30)  # many more in tests/assurance/bars
ROUNDING = 1e-12  # of a floating-point sum of at most 1001 probabilities


@pytest.mark.long
def test_guaranteed_bars_never_fall_below_their_level():
    assert {Design(1, "0.05"), Design("0.05", 1)} < set(DESIGNS.values())
    for cell in minima(DESIGNS, SIZES, {method: by_method(method) for method in GUARANTEED}):
        assert cell.minimum >= 0.95 - ROUNDING, cell


@pytest.mark.parametrize("level", [0.5, 0.8, 0.99, 0.999])
def test_guaranteed_at_other_levels(level):
    for design in (optimal_design(1), Design(1, "0.05"), Design("0.2", "0.3")):
        for method in GUARANTEED:
            assert coverage(design, 25, by_method(method, level)).min() >= level - ROUNDING


def test_a_thousand_answers():
    for design in (optimal_design(1), Design(1, "0.05")):
        assert coverage(design, 1000, by_method("exact")).min() >= 0.95 - ROUNDING


def test_planted_plug_in_bars_fall_below_in_the_same_harness():
    planted = {"wald": by_method("wald"), "plug-in 4.5σ": plug_in_45}
    for method, bars in planted.items():
        found = {c.design: c.minimum for c in minima(DESIGNS, (30,), {method: bars})}
        assert found["(1, 0.05)"] < 0.02
        assert found["ε = 4"] < 0.95
    just_too_narrow = by_method("exact", 0.949)
    assert coverage(optimal_design(1), 1000, just_too_narrow).min() < 0.95


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("wald", (0.005, 0.015, 0.049, 0.393)),
        ("wilson", (0.838, 0.848, 0.861, 0.910)),
        ("exact", (0.975, 0.975, 0.962, 0.951)),
        ("chebyshev", (0.956, 0.956, 0.990, 0.998)),
    ],
)
def test_the_published_minima_for_one_answer_a_proof(method, expected, monkeypatch):
    """π = .01 … .99 with the design (1, .05), n = 10/30/100/1000; the published ones are before the edge rule."""
    monkeypatch.setitem(METHODS, method, METHODS[method]._replace(edge=False))
    inside = PREVALENCES[1:-1]
    found = [coverage(Design(1, "0.05"), n, by_method(method), inside).min() for n in (10, 30, 100, 1000)]
    assert [math.floor(1000 * x + 0.5) / 1000 for x in found] == list(expected)


def test_the_committed_page_holds_the_recomputed_minima():
    """docs/coverage.md, first column (n = 10), for every method; a new method or a changed one must be written anew."""
    page = PAGE.read_text(encoding="utf-8").split("## Looked at after every answer")[0]
    written = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| ") and "method" not in line]
    found = []
    for designs in (SYMMETRIC, ONE_SIDED, OTHERS):
        cells = minima(designs, (10,), named_methods())
        for method in named_methods():
            least = min(cell.minimum for cell in cells if cell.method == method)
            found.append([f" {method} ", f" {least:.3f} "])
    assert written == found


def test_a_credible_interval_never_holds_a_certain_prevalence():
    found = coverage(optimal_design(1), 30, by_method("credible"))
    assert found[0] == found[-1] == 0.0
    assert found[10:-10].min() > 0.92


def test_credible_intervals_hold_their_probability_on_average_over_their_prior():
    """Averaged over a uniform prevalence the coverage of the uniform prior's interval is the level, exactly; that of
    another prior's is not (the planted bug)."""
    design, grid = optimal_design(2), (np.arange(4000) + 0.5) / 4000
    assert coverage(design, 20, by_method("credible"), grid).mean() == pytest.approx(0.95, abs=3e-4)
    another = coverage(design, 20, lambda e: e.interval(0.95, "credible", prior=(4.0, 4.0)), grid).mean()
    assert abs(another - 0.95) > 0.02


def exact_coverage(design: Design, n: int, bars: list[tuple[float, float]], pi: Fraction) -> Fraction:
    yes = design.says_yes(pi)
    law = [math.comb(n, k) * yes**k * (1 - yes) ** (n - k) for k in range(n + 1)]
    return sum((p for p, (low, high) in zip(law, bars, strict=True) if low <= pi <= high), Fraction(0))


@pytest.mark.parametrize("design", [optimal_design(1), Design(1, "0.05"), Design("0.3", "0.2"), Design(1, 1)], ids=repr)
@pytest.mark.parametrize("method", GUARANTEED)
def test_guaranteed_at_the_worst_points_in_exact_arithmetic(design, method):
    """Coverage is least just outside an end of some bar: look there, with fractions, at every end."""
    for n in (2, 7, 13):
        bars = [tuple(estimate(Tally(design, n, k)).interval(0.95, method)) for k in range(n + 1)]
        for end in {end for bar in bars for end in bar}:
            for step in (-math.inf, 0.0, math.inf):
                at = math.nextafter(end, step) if step else end
                if 0 <= at <= 1:
                    assert exact_coverage(design, n, bars, Fraction(at)) >= Fraction(19, 20)


def test_planted_rounding_inwards_is_caught_by_the_same_search():
    design, n = optimal_design(1), 7
    bars = [tuple(estimate(Tally(design, n, k)).interval(0.95)) for k in range(n + 1)]
    inwards = [(low + 1e-3, high - 1e-3) for low, high in bars]
    found = []
    for end in {end for bar in inwards for end in bar}:
        for at in (math.nextafter(end, -1), math.nextafter(end, 2)):
            if 0 <= at <= 1:
                found.append(exact_coverage(design, n, inwards, Fraction(at)))
    exact = min(
        exact_coverage(design, n, bars, Fraction(at))
        for bar in bars
        for end in bar
        for at in (math.nextafter(end, -1), math.nextafter(end, 2))
        if 0 <= at <= 1
    )
    assert min(found) < exact


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_one_sided_bounds_cover(side):
    for design in (optimal_design(1), Design(1, "0.05"), Design("0.05", 1)):
        for method in GUARANTEED:
            found = coverage(design, 40, lambda e, m=method: e.interval(0.95, m, side=side))
            assert found.min() >= 0.95 - ROUNDING
            two_sided = [estimate(Tally(design, 40, k)).interval(0.9, "exact") for k in range(41)]
            one = [estimate(Tally(design, 40, k)).interval(0.95, "exact", side=side) for k in range(41)]
            kept = 0 if side == "lower" else 1
            assert np.allclose([x[kept] for x in two_sided], [x[kept] for x in one], atol=0)


NAMES_ON_THE_PAGE = {  # of the kinds of `methods`; a plan has no data to cover
    "one design": "one design", "several designs": "several designs", "repeated draws": "repeated draws",
    "two samples": "two samples", "strata": "post-stratified",
    "difference": "difference", "ratio": "ratio", "coefficient": "logistic coefficient",
    "complex sample": "weights fixed beforehand", "complex difference": "complex difference",
    "list experiment": "list experiment", "options": "two options of a choice", "mean": "mean of a number",
    "several designs of a choice": "several designs",  # each option is a yes/no by several designs, at level 1 − α/k
}  # fmt: skip


def test_the_page_lists_every_method_of_every_kind_and_target():
    text = PAGE.read_text(encoding="utf-8")
    first, other = text.split("## Every other estimate and target")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in other.splitlines() if line.startswith("| ")]
    shown = {(kind, target, method) for kind, target, method, *_ in rows}
    assert {*get_args(Kind)} == {*NAMES_ON_THE_PAGE, "plan"}
    for kind, name in NAMES_ON_THE_PAGE.items():
        if kind != "one design":
            named = {*methods_for(kind)} - {"credible"}  # it never holds 0 or 1, and stands where π is between them
            assert {(name, "population", method) for method in named} <= shown, kind
    for method in methods_for("one design"):
        assert f"| {method}" in first
    for target, name in (("sample", "those who answered"), (40, "finite population")):
        assert {("one design", name, method) for method in methods_for("one design", target)} <= shown
    answered = {("mean of a number", "those who answered", method) for method in methods_for("mean", "sample")}
    assert answered == {row for row in shown if row[:2] == ("mean of a number", "those who answered")}
    for kind, _, method, promise, share, _ in rows[1:]:
        if promise == "guaranteed":
            assert float(share.split(" ± ")[0]) >= 0.95, (kind, method)
