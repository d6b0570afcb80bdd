"""Engines that were not tested are refused by name; the rules hold where an outer join fills with defaults."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pytest

from rrcollect import ParameterError
from server_agg import tally_reports
from tests.inside.batch import NUMBER_OF, frame_engine
from tests.inside.batch import tally_reports as backends
from tests.support import engines
from tests.support.batch_contract import check, rows_of
from tests.support.batch_reference import SURVEYS, generated

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("engine", [engines.polars_lazy, engines.pandas, engines.pyarrow], ids=lambda e: e.__name__)
def test_an_engine_that_is_not_on_the_list_is_refused_by_name(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = engine(generated(random.Random(1), 5), tmp_path)
    name = backends.backend_of(nw.from_native(frame))
    tally_reports(frame, SURVEYS)
    monkeypatch.delitem(backends.TESTED, name)
    with pytest.raises(ParameterError, match=f"a frame of {name}.*docs/batch.md, Another engine"):
        tally_reports(frame, SURVEYS)


def test_the_page_lists_the_tested_engines() -> None:
    page = (ROOT / "docs" / "batch.md").read_text(encoding="utf-8")
    assert "## Another engine" in page
    assert [words for words in backends.TESTED.values() if words not in page] == []


# ---- an engine whose outer joins fill with defaults, as ClickHouse's do ----------------------------------------------


def _filled(frame: Any) -> Any:
    defaults = {
        name: nw.col(name).fill_null("" if kind == nw.String else 0)
        for name, kind in frame.collect_schema().items()
        if kind == nw.String or kind.is_numeric()
    }
    return frame.with_columns(**defaults)


@pytest.fixture
def filling_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (nw.DataFrame, nw.LazyFrame):
        whole = kind.join

        def join(self: Any, other: Any, *given: Any, whole: Any = whole, how: Any = "inner", **options: Any) -> Any:
            joined = whole(self, other, *given, how=how, **options)
            return _filled(joined) if how == "left" else joined

        monkeypatch.setattr(kind, "join", join)


@pytest.mark.usefixtures("filling_joins")
@pytest.mark.parametrize("engine", [engines.polars, engines.polars_lazy, engines.pyarrow], ids=lambda e: e.__name__)
def test_the_rules_hold_where_joins_fill_with_defaults(engine: Any, tmp_path: Path) -> None:
    rows = rows_of(2)
    check(tally_reports(engine(rows, tmp_path), SURVEYS, refused_to=tmp_path / "refused.parquet"), rows)


@pytest.mark.usefixtures("filling_joins")
def test_a_rule_that_tests_for_null_after_a_join_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: what the join did not find is told by NULL, so that every report with a ticket is refused."""

    def by_null(ids: Any) -> Any:
        uses = ids.filter(nw.col("ticket_use") != "").group_by("ticket_use").agg(reports=nw.len())
        joined = ids.join(uses.filter(nw.col("reports") > 1), on="ticket_use", how="left")
        reused = ~nw.col("reports").is_null() & (nw.col("ticket_use") != "")
        fault = nw.when(reused).then(nw.lit(NUMBER_OF["ticket_reused"])).otherwise(nw.col("fault"))
        return joined.with_columns(
            fault=fault, content=nw.when(reused).then(nw.lit("")).otherwise(nw.col("content"))
        ).drop("reports")

    monkeypatch.setattr(frame_engine, "_tickets_once", by_null)
    rows = rows_of(2)
    with pytest.raises(AssertionError):
        check(tally_reports(engines.polars(rows, tmp_path), SURVEYS), rows)
