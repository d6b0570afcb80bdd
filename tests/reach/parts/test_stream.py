"""The example of a stream, killed with SIGKILL again and again: the integers of one batch over the same files."""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from server_agg import BatchResult, tally_reports
from tests.assurance.evidence import ROOT
from tests.inside.publish import COMPARED, RoundTimes
from tests.support.batch_reference import CLOSED, DESIGNS, OPEN, generated, reasons_of
from tests.support.batch_reference import row as row_of
from tests.support.engines import spark_frame as frame

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(1500)]
EXAMPLES = ROOT / "examples" / "lakes"
FILES = 6


def started(reports: Path, state: Path, log: Path) -> subprocess.Popen[bytes]:
    """The stream in a process group of its own, which Java belongs to."""
    command = [sys.executable, str(EXAMPLES / "spark_stream.py"), str(reports), str(state)]
    quiet = {**os.environ, "PYSPARK_SUBMIT_ARGS": "--conf spark.ui.enabled=false --master local[2] pyspark-shell"}
    with log.open("ab") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, env=quiet, start_new_session=True)


def killed_when(reports: Path, state: Path, log: Path, moment: Callable[[], bool]) -> bool:
    """Start the stream and kill it at this moment; whether it came."""
    stream = started(reports, state, log)
    try:
        while stream.poll() is None:
            if moment():
                return True
            time.sleep(0.01)
        return False
    finally:
        if stream.poll() is None:
            os.killpg(stream.pid, signal.SIGKILL)
        stream.wait()


def batch_of(state: Path) -> int:
    total = state / "total.json"
    return json.loads(total.read_text())["batch"] if total.exists() else -1


def test_a_stream_that_is_killed_and_restarted_counts_each_report_once(tmp_path: Path) -> None:
    sys.path.insert(0, str(EXAMPLES))
    from made_up_rows import SURVEY, rows

    reports, state, log = tmp_path / "reports", tmp_path / "state", tmp_path / "log"
    reports.mkdir()
    for number in range(FILES):  # each file repeats half of the one before it
        pq.write_table(rows(number * 100, 200), reports / f"{number}.parquet")
    expected = tally_reports(reports, SURVEY)
    assert expected.summary.repeated == 100 * (FILES - 1)

    remembered = state / "remembered"
    moments = [
        lambda: (remembered / "batch=1").exists() and batch_of(state) < 1,  # remembered, not yet counted
        lambda: batch_of(state) >= 2,  # counted, perhaps not yet told to Spark
        lambda: batch_of(state) >= 3 and random.random() < 0.05,  # at any time
    ]
    kills = sum(killed_when(reports, state, log, moment) for moment in moments)
    assert kills == len(moments), log.read_text()
    last = started(reports, state, log)
    assert last.wait() == 0, log.read_text()
    found = BatchResult.from_json(json.loads((state / "total.json").read_text())["result"])
    assert (found.tallies, found.summary) == (expected.tallies, expected.summary)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1").getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("spark_stream")


def test_a_stream_counts_each_report_once(spark: Any, stream: Any, tmp_path: Path) -> None:
    """Micro-batches, one of them handed over again after a crash, give what one batch of all rows gives."""
    rows, now = generated(random.Random(7), 200), datetime(2026, 1, 1, tzinfo=UTC)
    reasons = reasons_of(rows)
    rows = [row for row, why in zip(rows, reasons, strict=True) if why not in COMPARED and row["survey"] == OPEN.digest]
    parts = [rows[:60], rows[40:120], rows[100:]]
    for number, part in enumerate([parts[0], parts[1], parts[1], parts[2]]):
        stream.count_batch(frame(spark, part), min(number, 1) + (number == 3), OPEN, tmp_path, now)
    found = BatchResult.from_json(json.loads((tmp_path / "total.json").read_text())["result"])
    assert found.tallies == tally_reports(frame(spark, rows), OPEN).tallies


def two_batches(spark: Any, stream: Any, state: Path) -> BatchResult:
    """Reports by invitation, and in a later batch: another answer under an id, a used ticket, a report that is good."""

    def invited(number: int, ticket: int, **changes: Any) -> dict[str, Any]:
        return row_of(survey=CLOSED.digest, id=f"{number:032x}", ticket=f"{ticket:032x}", **changes)

    now = datetime(2026, 1, 1, tzinfo=UTC)
    stream.count_batch(frame(spark, [invited(1, 1), invited(2, 2)]), 0, CLOSED, state, now)
    later = [invited(1, 1, answer="0"), invited(3, 2), invited(4, 4)]
    stream.count_batch(frame(spark, later), 1, CLOSED, state, now)
    return BatchResult.from_json(json.loads((state / "total.json").read_text())["result"])


def test_what_a_later_batch_contradicts_or_a_used_ticket_is_refused(spark: Any, stream: Any, tmp_path: Path) -> None:
    summary = two_batches(spark, stream, tmp_path).summary
    assert summary.refused == {"conflicting_id": 1, "ticket_reused": 1}
    assert (summary.rows, summary.accepted, summary.repeated) == (5, 3, 0)


def test_a_stream_that_remembers_nothing_counts_them_all(
    spark: Any, stream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: rule 1 without the rows of the batches before."""
    monkeypatch.setattr(stream, "_before", lambda *given: None)
    summary = two_batches(spark, stream, tmp_path).summary
    assert (summary.accepted, summary.refused) == (5, {})


def test_a_stream_forgets_rounds_that_are_closed(spark: Any, stream: Any, tmp_path: Path) -> None:
    """What is remembered is bounded: nothing of a round that has closed, its grace over; nor is that counted."""
    times = [
        RoundTimes(opens=datetime(2026, 1, d, tzinfo=UTC), closes=datetime(2026, 1, d + 1, tzinfo=UTC))
        for d in (1, 2, 3)
    ]
    survey = OPEN.model_copy(update={"rounds": tuple(times)})
    made = [
        row_of(survey=survey.digest, question="q2", design=DESIGNS["q2"].text, round=i % 3, id=f"{i:032x}")
        for i in range(30)
    ]
    early, late = datetime(2026, 1, 4, tzinfo=UTC), datetime(2026, 1, 3, tzinfo=UTC) + timedelta(days=7, hours=1)
    stream.count_batch(frame(spark, made), 0, survey, tmp_path, early)
    assert {path.name for path in tmp_path.glob("remembered/*/round=*")} == {"round=0", "round=1", "round=2"}
    stream.count_batch(frame(spark, made), 1, survey, tmp_path, late)  # all of them again
    assert {path.name for path in tmp_path.glob("remembered/*/round=*")} == {"round=2"}
    found = BatchResult.from_json(json.loads((tmp_path / "total.json").read_text())["result"])
    assert (found.summary.accepted, found.summary.repeated, found.summary.rows) == (30, 10, 40)
