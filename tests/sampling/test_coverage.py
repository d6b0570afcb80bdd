"""Bars and tests under clustering, small: fixed seeds, so that nothing here is left to chance.

The full size is `python -m tests.benchmarks.coverage_samples`, which writes docs/coverage.md.  400 surveys have a
standard error of 0.011 at 0.95.  The naive bar is the planted bug: the same check must catch it.
"""

from __future__ import annotations

import pytest

from tests.benchmarks.coverage_samples import DESIGNS, PAGE, TITLE, coefficient_bars, covered, share_bars

DIRECT = DESIGNS["direct"]


@pytest.mark.parametrize(("icc", "prevalence"), [(0.1, 0.3), (0.3, 0.02)])
def test_the_bar_of_a_complex_sample_holds_and_the_naive_one_does_not(icc: float, prevalence: float) -> None:
    held = covered(share_bars, DIRECT, prevalence, icc, 400, prevalence=prevalence)
    assert held["korn-graubard"] >= 0.92
    assert held["naive"] < 0.85


def test_informative_weights_are_mended_and_ignoring_them_is_caught() -> None:
    held = covered(share_bars, DIRECT, 0.3, 0.05, 150, prevalence=0.3, informative=True)
    assert held["korn-graubard"] >= 0.9
    assert held["naive"] < 0.1


def test_a_test_in_clusters_keeps_its_size_and_the_naive_one_does_not() -> None:
    held = covered(coefficient_bars, DIRECT, 0.0, 0.1, 200, prevalence=0.3)
    assert held["wald"] >= 0.9
    assert held["naive"] < 0.85


def test_the_page_has_every_correlation_with_the_error_of_its_simulation() -> None:
    section = PAGE.read_text(encoding="utf-8").split(TITLE)[1]
    for icc in ("ICC 0;", "ICC 0.05;", "ICC 0.1;", "ICC 0.3;"):
        assert section.count(icc) >= 9
    assert all(" ± " in line for line in section.splitlines() if "; " in line and line[:2] == "| ")
