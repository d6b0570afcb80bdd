"""The rules as SQL and as frame expressions against `rrcollect.publish.report.fault`, row by row."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pytest

from rrcollect import RRCollectError
from server_agg import tally_reports
from server_agg.batch import sql_rules
from tests.inside.batch import NUMBER_OF, Summary, SurveyTables, frame_engine
from tests.inside.publish import fault
from tests.support import engines
from tests.support.batch_contract import OWN, readable
from tests.support.batch_reference import SURVEYS, faulty_rows, own_fault


def check(engine: Any, folder: Path) -> None:
    """Rows of one expected reason are given together, so that every one of them must have been judged so."""
    by_reason = defaultdict(list)
    for row in readable(engine, faulty_rows()):
        by_reason[own_fault(row)].append(row)
    assert {*OWN, None} == {*by_reason}  # every reason occurs
    for number, (reason, rows) in enumerate(by_reason.items()):
        (folder / str(number)).mkdir()
        found = tally_reports(engine(rows, folder / str(number)), SURVEYS).summary
        n = len(rows)
        assert found == (Summary(n, 0, 0, {reason: n}) if reason else Summary(n, n)), reason


@pytest.mark.parametrize("engine", engines.QUICK, ids=lambda e: e.__name__)
def test_every_row_is_judged_as_the_rules_say(engine: Any, tmp_path: Path) -> None:
    check(engine, tmp_path)


def test_every_row_is_judged_as_the_rules_say_on_dask(tmp_path: Path) -> None:
    """In one go, as each takes a second there; a frame of Dask keeps the order of its rows."""
    rows = faulty_rows()
    flat = frame_engine._flat(nw.from_native(engines.dask(rows, tmp_path)), lenient=False)
    judged = frame_engine._judged(flat, SurveyTables.of(SURVEYS), ids=True)
    found = [number for (number,) in frame_engine._collected(judged, "fault")]
    assert found == [NUMBER_OF.get(own_fault(row) or "", 0) for row in rows]


def test_every_reason_that_the_rules_give_is_among_those_compared() -> None:
    given = re.findall(r'return "(\w+)"', inspect.getsource(fault))
    assert sorted(given) == sorted(OWN)


# ---- planted bugs: one rule left out ---------------------------------------------------------------------------------


def without(reason: str, whole: Any) -> Any:
    return lambda *given: {name: test for name, test in whole(*given).items() if name != reason}


@pytest.mark.parametrize("reason", OWN)
def test_a_rule_left_out_of_the_sql_is_found(reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_rules.Query, "faults", without(reason, sql_rules.Query.faults))
    with pytest.raises((AssertionError, RRCollectError)):  # a round of no question does not fit the codes
        check(engines.parquet, tmp_path)


@pytest.mark.parametrize("reason", OWN)
def test_a_rule_left_out_of_the_frames_is_found(reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_engine, "_faults", without(reason, frame_engine._faults))
    with pytest.raises((AssertionError, RRCollectError, LookupError)):
        check(engines.polars, tmp_path)
