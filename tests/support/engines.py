"""Every engine as a function from rows (dictionaries) to the source it would be given."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

from server_agg.batch.sources import NUMBER
from tests.inside.batch import COLUMNS
from tests.inside.files import harmless

Rows = list[dict[str, Any]]


def arrow_table(rows: Rows) -> Any:
    import pyarrow as pa

    schema = pa.schema([(name, pa.int64() if name == NUMBER else pa.string()) for name in COLUMNS])
    return pa.Table.from_pylist(rows, schema=schema)


def parquet(rows: Rows, folder: Path) -> Any:
    import pyarrow.parquet as pq

    (folder / "day=1").mkdir(exist_ok=True)
    half = len(rows) // 2
    pq.write_table(arrow_table(rows[:half]), folder / "a.parquet")
    pq.write_table(arrow_table(rows[half:]), folder / "day=1" / "b.parquet")
    (folder / "_SUCCESS").touch()
    return folder


def comma(rows: Rows, folder: Path) -> Any:
    with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, sorted(COLUMNS))
        writer.writeheader()
        for row in rows:
            escaped = {name: row[name] and harmless(row[name]) for name in ("ticket", "segments")}
            writer.writerow({**row, **escaped})
    return folder / "*.csv"


def wire(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its design and segments as objects, where that says the same; every other one as texts."""
    nested = {}
    for name in ("design", "segments") if len(row["id"] or "") % 2 == 0 and row["answer"] != "1" else ():
        try:
            value = json.loads(row[name] or "")
        except ValueError:
            continue
        if isinstance(value, dict) and json.dumps(value, ensure_ascii=False, separators=(",", ":")) == row[name]:
            nested[name] = value
    return {**row, **nested}


def jsonl(rows: Rows, folder: Path) -> Any:
    half = len(rows) // 2
    for name, part in (("a.jsonl", rows[:half]), ("b.jsonl.gz", rows[half:])):
        with gzip.open(folder / name, "wt") if name.endswith("gz") else (folder / name).open("w") as file:
            for row in part:
                file.write(json.dumps(wire(row), ensure_ascii=len(row["id"] or "") % 2 == 0) + "\n")
    return [str(folder / "a.jsonl"), folder / "b.jsonl.gz"]


def relation(rows: Rows, folder: Path) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.register("given", arrow_table(rows))
    connection.execute("CREATE TABLE kept AS SELECT * FROM given")
    return connection.table("kept")


def polars(rows: Rows, folder: Path) -> Any:
    import polars as pl

    return pl.DataFrame(rows, schema={name: pl.Int64 if name == NUMBER else pl.String for name in COLUMNS})


def polars_lazy(rows: Rows, folder: Path) -> Any:
    return polars(rows, folder).lazy()


def pandas(rows: Rows, folder: Path) -> Any:
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({name: "Int64" if name == NUMBER else "str" for name in COLUMNS})


def pandas_objects(rows: Rows, folder: Path) -> Any:
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)
    return frame.astype({NUMBER: "Int64"})


def pyarrow(rows: Rows, folder: Path) -> Any:
    return arrow_table(rows)


def dask(rows: Rows, folder: Path) -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(pandas(rows, folder), npartitions=2)


def spark_frame(session: Any, rows: Rows) -> Any:
    """A frame of this session."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    schema = StructType([StructField(n, LongType() if n == NUMBER else StringType()) for n in COLUMNS])
    return session.createDataFrame([tuple(row[name] for name in COLUMNS) for row in rows], schema)


FILES = (parquet, comma, jsonl)
QUICK = (*FILES, relation, polars, polars_lazy, pandas, pandas_objects, pyarrow)
