"""Engines that only `make reach` runs, each as a function from rows to the source it would be given.

A new engine is a function here and a row in `tests/reach/rows.py`; see docs/batch.md, "Another engine".
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from tests.support.engines import Rows, arrow_table, spark_frame


def ibis_duckdb(rows: Rows, folder: Path) -> Any:
    return _duckdb().read_parquet(_parquet(rows, folder))


def ibis_polars(rows: Rows, folder: Path) -> Any:
    return _polars().create_table(f"rows_{abs(hash(folder))}", arrow_table(rows), overwrite=True)


def ibis_clickhouse(rows: Rows, folder: Path) -> Any:
    """chdb: ClickHouse in this process.  Its settings are the defaults: an outer join fills with defaults."""
    connection, name = _clickhouse(), f"rows_{abs(hash(folder))}"
    file = f"file('{_parquet(rows, folder)}', Parquet)"
    connection.raw_sql(f"DROP TABLE IF EXISTS {name}")
    connection.raw_sql(f"CREATE TABLE {name} ENGINE = MergeTree ORDER BY tuple() AS SELECT * FROM {file}")  # noqa: S608
    assert connection.raw_sql("SELECT getSetting('join_use_nulls')").result_rows == [(False,)]
    return connection.table(name)


def spark_connect(rows: Rows, folder: Path) -> Any:
    return spark_frame(_spark(), rows)


def _parquet(rows: Rows, folder: Path) -> str:
    import pyarrow.parquet as pq

    path = folder / "rows.parquet"
    pq.write_table(arrow_table(rows), path)
    return str(path)


@cache
def _duckdb() -> Any:
    import ibis

    return ibis.duckdb.connect()


@cache
def _polars() -> Any:
    import ibis

    return ibis.polars.connect()


@cache
def _clickhouse() -> Any:
    import ibis

    return ibis.clickhouse.connect(interface="chdb")


@cache
def _spark() -> Any:
    """A session of a Connect server on this machine."""
    from pyspark.sql import SparkSession

    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}
    builder = SparkSession.builder.remote("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


SOURCES = {make.__name__: make for make in (ibis_duckdb, ibis_polars, ibis_clickhouse, spark_connect)}
