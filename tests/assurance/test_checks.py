"""Every part of every assurance check at its small size: claims hold, planted bugs are caught."""

from __future__ import annotations

import pytest

from tests.assurance.check import SMALL
from tests.assurance.pieces import checks

ELSEWHERE = {
    "rows on spark",  # the same comparison on generated rows is tests/batch/test_batch_spark.py
    "a ledger that does not guard what was cut off after its commit",  # a short life in test_ledger_moments.py
}
INTERRUPTED = pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")  # an answer, while it closes one
PARTS = [
    pytest.param(check, part, marks=[INTERRUPTED] if check.name == "ledger" else [])
    for check in checks()
    for part in check.parts(SMALL)
    if part.name not in ELSEWHERE
]


@pytest.mark.no_cover
@pytest.mark.parametrize(("check", "part"), PARTS, ids=lambda x: x.name.replace(" ", "-"))
def test_part(check, part):
    for piece in range(part.pieces):
        outcome = part.run(piece, lambda done, total: None)
        assert outcome.passed, (outcome.remark, outcome.figures)


@pytest.mark.parametrize("check", checks(), ids=lambda c: c.name)
def test_every_check_has_a_planted_bug_and_its_sources_exist(check):
    from tests.assurance.evidence import ROOT

    assert any(part.planted for part in check.parts(SMALL))
    assert [source for source in check.sources if not (ROOT / source).exists()] == []
    assert [part.name for part in check.parts(SMALL)] == list(dict.fromkeys(p.name for p in check.parts(SMALL)))
