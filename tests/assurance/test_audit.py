"""The auditor's bound against an oracle, and the audit of recorded pieces."""

from __future__ import annotations

import math

import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.assurance.audit.check import CHECK, EPSILON, pooled
from tests.assurance.audit.epsilon_audit import Count, epsilon_at_least, refuted
from tests.assurance.check import Outcome, Part
from tests.assurance.evidence import Evidence, version


@pytest.mark.parametrize(("no", "yes"), [(250, 750), (3, 997), (500, 500), (0, 1000), (900, 950)])
@pytest.mark.parametrize("delta", [0, 0.05])
@pytest.mark.parametrize("doubt", [1e-3, 1e-10])
def test_the_bound_is_that_of_clopper_and_pearson(no, yes, delta, doubt):
    """statsmodels' two-sided limits at doubt/4 leave out doubt/8 on each side, as ours do."""
    n = 1000
    limits = {x: proportion_confint(ones, n, alpha=doubt / 4, method="beta") for x, ones in ((0, no), (1, yes))}
    ratios = []
    for x, y in ((0, 1), (1, 0)):
        ratios.append((limits[x][0] - delta) / limits[y][1])
        ratios.append((1 - limits[x][1] - delta) / (1 - limits[y][0]))
    expected = max(0.0, *(math.log(r) for r in ratios if r > 0))
    assert epsilon_at_least(Count(n, no), Count(n, yes), delta, doubt) == pytest.approx(expected, abs=1e-9)


def test_more_is_known_after_more_draws_but_never_more_than_is_true():
    bounds = [epsilon_at_least(Count(n, n // 4), Count(n, 3 * n // 4)) for n in (40, 400, 4000, 4 * 10**6)]
    assert bounds == sorted(bounds)
    assert 1.09 < bounds[-1] < math.log(3)
    assert not refuted(math.log(3), Count(4000, 1000), Count(4000, 3000))
    assert refuted(1.0, Count(4 * 10**6, 10**6), Count(4 * 10**6, 3 * 10**6))


@pytest.mark.parametrize(("yes", "held"), [(750, True), (900, False)])
def test_recorded_pieces_are_judged_together(tmp_path, yes, held):
    part = Part("first", lambda piece, step: Outcome(True), pieces=3)
    evidence = Evidence(CHECK, tmp_path)
    about = {"seconds": 1, "date": "2026-01-01", "machine": "any"}
    counts = {"trials per truth": 1000, "seen as yes, truth no": 1000 - yes, "seen as yes, truth yes": yes}
    for piece in range(3):
        missing = pooled(part, tmp_path)(0, lambda done, total: None)
        assert not missing.passed
        evidence.record(part, piece, Outcome(True, counts), version(CHECK), about)
    found = pooled(part, tmp_path)(0, lambda done, total: None)
    assert found.passed is held
    assert found.figures["trials per truth"] == 3000
    assert found.figures["most ε claimed"] == EPSILON
    evidence.record(
        part, 0, Outcome(True, counts), {**version(CHECK), "tests/assurance/audit/check.py": "older"}, about
    )
    assert not pooled(part, tmp_path)(0, lambda done, total: None).passed
