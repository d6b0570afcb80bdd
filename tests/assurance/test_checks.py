"""Parts of every assurance check at their small size: claims hold, planted bugs are caught."""

from __future__ import annotations

import pytest

from tests.assurance.check import SMALL
from tests.assurance.pieces import checks

ELSEWHERE = {
    "rows on spark",  # the same comparison on generated rows is tests/batch/test_batch_spark.py
    "a ledger that does not guard what was cut off after its commit",  # a short life in test_ledger_moments.py
}
FEW = {
    "promise": ("the library's designs", "rounded to nearest"),
    "sampler": ("bulk and single path on shared keystreams", "undecided planes not resolved, shared keystream"),
    "audit": ("first answers through the whole client", "a mechanism with p = 63/64 that claims ln 3"),
    "traces": ("statements of the whole answer", "early return for a yes on half of the draws"),
    "ledger": ("republished again and again", "a ledger that forgets on restart"),
    "node_ledger": ("killed at every call to the disk", "named before it is flushed"),
    "collector": ("a storm of duplicates, SQLite", "a collector that does not look for duplicates"),
    "bars": ("exact bars, population", "Wald's bars under the name of exact"),
    "documents": ("named bad documents in Python", "Python ignores the signature"),
    "engines": ("rows on duckdb", "one row of the files changed"),
    "dependencies": ("licences", "wrong licences and bills"),
    "tokens": ("issuer and collector together", "not blinded"),
}
"""What `make test` runs of each check: a claim, and a planted bug that the same search catches.  The other parts are
`make reach`'s, part `assurance`."""
INTERRUPTED = pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")  # an answer, while it closes one


def parts(*, few):
    return [
        pytest.param(check, part, marks=[INTERRUPTED] if check.name == "ledger" else [])
        for check in checks()
        for part in check.parts(SMALL)
        if part.name not in ELSEWHERE and (part.name in FEW[check.name]) is few
    ]


def holds(part):
    for piece in range(part.pieces):
        outcome = part.run(piece, lambda done, total: None)
        assert outcome.passed, (outcome.remark, outcome.figures)


@pytest.mark.no_cover
@pytest.mark.parametrize(("check", "part"), parts(few=True), ids=lambda x: x.name.replace(" ", "-"))
def test_part(check, part):
    holds(part)


@pytest.mark.no_cover
@pytest.mark.parametrize(("check", "part"), parts(few=False), ids=lambda x: x.name.replace(" ", "-"))
def test_further_part(check, part):
    holds(part)


@pytest.mark.parametrize("check", checks(), ids=lambda c: c.name)
def test_a_claim_and_a_planted_bug_of_every_check_are_run(check):
    planted = {part.name: part.planted for part in check.parts(SMALL)}
    assert [planted[name] for name in FEW[check.name]] == [False, True]


@pytest.mark.parametrize("check", checks(), ids=lambda c: c.name)
def test_every_check_has_a_planted_bug_and_its_sources_exist(check):
    from tests.assurance.evidence import ROOT

    assert any(part.planted for part in check.parts(SMALL))
    assert [source for source in check.sources if not (ROOT / source).exists()] == []
    assert [part.name for part in check.parts(SMALL)] == list(dict.fromkeys(p.name for p in check.parts(SMALL)))
