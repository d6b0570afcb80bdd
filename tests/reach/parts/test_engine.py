"""The batch contract on an engine of `sources`: `pytest tests/reach/parts/test_engine.py -k NAME`."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pytest

from rrcollect import ParameterError
from server_agg import tally_reports
from tests.inside.batch import COLUMNS
from tests.inside.batch import tally_reports as backends
from tests.reach.parts.sources import SOURCES
from tests.support.batch_contract import check, check_lenient, refusal, rows_of
from tests.support.batch_reference import CLOSED, SURVEYS, generated, own_fault, reasons_of

pytestmark = pytest.mark.filterwarnings("ignore")  # deprecations of others


@pytest.fixture(params=SOURCES.values(), ids=list(SOURCES))
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The function; while the contract runs its engine counts as tested."""
    made = request.param(generated(random.Random(0), 2), tmp_path)
    monkeypatch.setitem(backends.TESTED, backends.backend_of(nw.from_native(made)), "under test")
    return request.param


@pytest.mark.parametrize("seed", [1, 2])
def test_rows_with_every_fault(engine: Any, seed: int, tmp_path: Path) -> None:
    rows = rows_of(seed)
    check(tally_reports(engine(rows, tmp_path), SURVEYS), rows)


def test_reports_by_invitation_alone(engine: Any, tmp_path: Path) -> None:
    """With no other rows, a rule that took the absent for the present would refuse all of them."""
    rows = [row for row in generated(random.Random(3), 200) if row["survey"] == CLOSED.digest and not own_fault(row)]
    result = tally_reports(engine(rows, tmp_path), SURVEYS)
    check(result, rows)
    assert result.summary.accepted > 20


def test_earlier_rows_are_not_counted_again(engine: Any, tmp_path: Path) -> None:
    rows = rows_of(3)
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    old, new = rows[:500], rows[300:]
    earlier = engine(old, tmp_path / "old")
    check(tally_reports(engine(new, tmp_path / "new"), SURVEYS, earlier=earlier), new, old)


def test_no_rows_and_no_deduplication(engine: Any, tmp_path: Path) -> None:
    assert tally_reports(engine([], tmp_path), SURVEYS).summary.rows == 0
    rows = rows_of(4)
    for number, row in enumerate(rows):  # so that the reference has nothing to compare
        row["id"] = f"{number:032x}"
        row["ticket"] = f"{number:032x}" if row["ticket"] else None
    (tmp_path / "again").mkdir()
    check(tally_reports(engine(rows, tmp_path / "again"), SURVEYS, deduplicate=False), rows)


def test_rounds_that_are_not_whole_are_malformed(engine: Any, tmp_path: Path) -> None:
    rows = rows_of(6)
    check_lenient(engine(rows, tmp_path), rows)


def test_beside_ibis_duckdb_a_table_of_ibis_sqlite_is_refused_by_name(tmp_path: Path) -> None:
    """SQLite knows the operations too, and the contract was not run on it by ibis."""
    import ibis

    with closing(sqlite3.connect(tmp_path / "rows.sqlite3")) as made, made:
        kinds = (f"{name} {'integer' if name == 'round' else 'text'}" for name in COLUMNS)
        made.execute(f"CREATE TABLE reports ({', '.join(kinds)})")
    table = ibis.sqlite.connect(tmp_path / "rows.sqlite3").table("reports")
    with pytest.raises(ParameterError, match="a frame of ibis/sqlite'; .*run the contract on it first: docs/batch.md"):
        tally_reports(table, SURVEYS)


def test_refused_rows_are_written_with_their_reason(engine: Any, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    rows, out = rows_of(5), tmp_path / "refused.parquet"
    check(tally_reports(engine(rows, tmp_path), SURVEYS, refused_to=out), rows)
    told = zip(rows, reasons_of(rows), strict=True)
    expected = Counter(refusal(row, reason) for row, reason in told if reason not in (None, "repeated"))
    written = pq.read_table(out).select([*COLUMNS, "reason"]).to_pylist()
    assert Counter(refusal(row, row.pop("reason")) for row in written) == expected
