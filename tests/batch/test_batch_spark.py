"""The contract on a real Spark session.  One worker runs this whole file (tests/conftest.py), so one session starts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server_agg import BadColumn, tally_reports
from server_agg.batch.columns import COLUMNS, NUMBERS
from tests.batch.reference import SURVEYS, generated
from tests.batch.test_batch_contract import check

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


def frame(spark: Any, rows: list[dict[str, Any]]) -> Any:
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    schema = StructType([StructField(n, LongType() if n in NUMBERS else StringType()) for n in COLUMNS])
    return spark.createDataFrame([tuple(row[name] for name in COLUMNS) for row in rows], schema)


def test_generated_rows(spark: Any) -> None:
    rows = generated(random.Random(1), 400)
    check(tally_reports(frame(spark, rows), SURVEYS), rows)


def test_earlier_rows(spark: Any) -> None:
    rows = generated(random.Random(3), 200)
    new, old = rows[80:], rows[:120]
    check(tally_reports(frame(spark, new), SURVEYS, earlier=frame(spark, old)), new, old)


def test_no_rows_and_no_deduplication(spark: Any) -> None:
    assert tally_reports(frame(spark, []), SURVEYS).summary.rows == 0
    rows = [row for row in generated(random.Random(9), 100) if row["invite"] is None]
    for number, row in enumerate(rows):
        row["id"] = f"{number:032x}"
    check(tally_reports(frame(spark, rows), SURVEYS, deduplicate=False), rows)


def test_refused_rows_are_written_by_the_cluster(spark: Any, tmp_path: Path) -> None:
    rows = generated(random.Random(5), 200)
    out = tmp_path / "refused.parquet"
    for job in (rows, rows[:120]):  # a job that is run again writes over what it wrote
        result = tally_reports(frame(spark, job), SURVEYS, refused_to=out)
        written = spark.read.parquet(str(out)).groupBy("reason").count().collect()
        assert {row["reason"]: row["count"] for row in written} == result.summary.refused


def test_columns_of_the_wrong_type(spark: Any) -> None:
    wrong = frame(spark, generated(random.Random(5), 10)).withColumnRenamed("answer", "said")
    with pytest.raises(BadColumn, match="'answer' is missing"):
        tally_reports(wrong, SURVEYS)
    texts = frame(spark, rows := generated(random.Random(6), 100))
    texts = texts.withColumn("answer", texts["answer"].cast("string")).withColumn(
        "round", texts["round"].cast("double")
    )
    with pytest.raises(BadColumn, match="whole numbers"):
        tally_reports(texts, SURVEYS)
    check(tally_reports(texts, SURVEYS, lenient=True), rows)
