"""docs/scale.md says what was recorded, and its exponents are those of the law behind the figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.scale import recorded
from tests.benchmarks.scale_page import exponent, page, slope

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def test_the_page_is_what_was_recorded() -> None:
    """If not: python -m tests.benchmarks.scale --page"""
    assert PAGE.read_text(encoding="utf-8") == page(recorded())


@pytest.mark.parametrize("b", [0.0, 0.5, 1.0, 1.5, 2.0])
def test_an_exponent_is_found_from_exact_costs(b: float) -> None:
    rows = [1e5, 1e6, 1e7]
    assert exponent(rows, [3 * n**b for n in rows]) == pytest.approx(b)


def test_start_up_costs_do_not_flatten_the_slope_of_large_sizes() -> None:
    batches = [{"rows": n, "cpu": 50 + n / 1e6 if n < 1e6 else n / 1e6} for n in (1e5, 1e6, 1e7)]
    assert slope(batches, "cpu") == pytest.approx(1.0)
    assert exponent([1e5, 1e6, 1e7], [batch["cpu"] for batch in batches]) < 0.5  # planted: all sizes
