"""The contract on a real Spark session.  One worker runs this whole file (tests/conftest.py), so one session starts."""

from __future__ import annotations

import json
import random
import runpy
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rrcollect import Report
from server_agg import tally_reports, write_reports
from server_agg.errors import BadColumn
from tests.documents.blocks import blocks_of
from tests.support.batch_contract import OWN, check, check_lenient, refusal, rows_of
from tests.support.batch_reference import SURVEYS, faulty_rows, generated, own_fault
from tests.support.devices import KEY, survey
from tests.support.engines import spark_frame as frame

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # Spark's and py4j's own deprecations
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("rrcollect")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def test_generated_rows(spark: Any) -> None:
    rows = rows_of(1)
    check(tally_reports(frame(spark, rows), SURVEYS), rows)


def test_every_row_is_judged_as_the_rules_say(spark: Any, tmp_path: Path) -> None:
    rows = faulty_rows()
    tally_reports(frame(spark, rows), SURVEYS, refused_to=tmp_path / "refused.parquet")
    written = [row.asDict() for row in spark.read.parquet(str(tmp_path / "refused.parquet")).collect()]
    expected = Counter(refusal(row, own_fault(row)) for row in rows if own_fault(row))
    assert {reason for *_, reason in expected} == {*OWN}
    assert Counter(refusal(row, row.pop("reason")) for row in written) == expected


def test_earlier_rows(spark: Any) -> None:
    rows = rows_of(3)
    new, old = rows[400:], rows[:600]
    check(tally_reports(frame(spark, new), SURVEYS, earlier=frame(spark, old)), new, old)


def test_no_rows_and_no_deduplication(spark: Any) -> None:
    assert tally_reports(frame(spark, []), SURVEYS).summary.rows == 0
    rows = rows_of(4)
    for number, row in enumerate(rows):  # so that the reference has nothing to compare
        row["id"] = f"{number:032x}"
        row["ticket"] = f"{number:032x}" if row["ticket"] else None
    check(tally_reports(frame(spark, rows), SURVEYS, deduplicate=False), rows)


def test_refused_rows_are_written_by_the_cluster(spark: Any, tmp_path: Path) -> None:
    rows = rows_of(5)
    out = tmp_path / "refused.parquet"
    for job in (rows, rows[:600]):  # a job that is run again writes over what it wrote
        result = tally_reports(frame(spark, job), SURVEYS, refused_to=out)
        written = spark.read.parquet(str(out)).groupBy("reason").count().collect()
        assert {row["reason"]: row["count"] for row in written} == result.summary.refused


def test_columns_of_the_wrong_type(spark: Any) -> None:
    wrong = frame(spark, generated(random.Random(5), 10)).withColumnRenamed("answer", "said")
    with pytest.raises(BadColumn, match="'answer' is missing"):
        tally_reports(wrong, SURVEYS)


def test_rounds_that_are_not_whole_are_malformed(spark: Any) -> None:
    rows = rows_of(6)
    check_lenient(frame(spark, rows), rows)


def test_the_program_of_the_batch_page(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`spark-submit` runs it on a cluster; here it gets this session."""
    script = "tally.py"
    page = Path(__file__).parents[2] / "docs" / "batch.md"
    (text,) = [block.text for block in blocks_of(page.read_text(encoding="utf-8")) if block.name == script]
    publication = survey().publish([KEY])
    design = publication.survey.questions[0].design
    reports = [
        Report(survey=publication.digest, question="q1", design=design, answer=str(int(i % 5 < 2)), id=f"{i:032x}")
        for i in range(100)
    ]
    (tmp_path / "reports").mkdir()
    write_reports(tmp_path / "reports" / "one.parquet", reports)
    write_reports(tmp_path / "reports" / "again.parquet", reports[:10])
    (tmp_path / "survey.signed.json").write_bytes(publication.envelope)
    (tmp_path / "publisher.pem.pub").write_bytes(KEY.public.to_pem())
    (tmp_path / script).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [script, str(tmp_path / "reports")])
    runpy.run_path(script)
    result = json.loads(capsys.readouterr().out)
    assert [(tally["n"], tally["counts"]) for tally in result["tallies"]] == [(100, [40])]
    assert result["summary"]["repeated"] == 10
