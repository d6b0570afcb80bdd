"""One engine on one folder of Parquet files, in a process of its own.

Run: python -m tests.assurance.engines.run ENGINE FOLDER

Prints the result of `tally_reports` and the peak memory, in bytes, of everything that ran.  Each engine is given the
source that its users have: the folder itself (DuckDB), a lazy scan (Polars), a Spark data frame.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from server_agg import BatchResult, tally_reports
from tests.assurance.engines.data import SURVEYS

MEMORY = "3GB"  # DuckDB's limit, beyond which it spills
SPARK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "16",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "3g",
}


def by_duckdb(folder: Path, **options: Any) -> tuple[BatchResult, int]:
    """Files, read by the embedded engine, with a bound on its memory."""
    temporary = str(folder.parent)
    return tally_reports(folder, SURVEYS, memory_limit=MEMORY, temp_directory=temporary, progress=False, **options), 0


def by_polars(folder: Path, **options: Any) -> tuple[BatchResult, int]:
    """A lazy scan."""
    import polars

    return tally_reports(polars.scan_parquet(folder / "*.parquet"), SURVEYS, **options), 0


def by_spark(folder: Path, **options: Any) -> tuple[BatchResult, int]:
    """A data frame of a local session; the second value is the peak of Spark's own process."""
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder.master("local[2]").appName("assurance")
    for name, value in {**SPARK, "spark.local.dir": str(folder.parent)}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        result = tally_reports(session.read.parquet(str(folder)), SURVEYS, **options)
        return result, _peak(session.sparkContext._gateway.proc.pid)
    finally:
        session.stop()


def _peak(process: int) -> int:
    status = Path(f"/proc/{process}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


ENGINES = {"duckdb": by_duckdb, "polars": by_polars, "spark": by_spark}


def main(engine: str, folder: str, *flags: str) -> None:
    """Run, and tell on standard output."""
    result, elsewhere = ENGINES[engine](Path(folder), deduplicate="--no-deduplication" not in flags)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + elsewhere
    sys.stdout.write(json.dumps({"result": json.loads(result.to_json()), "peak": peak}) + "\n")
    sys.stdout.flush()
    os._exit(0)  # Spark's shutdown hooks have nothing left to do


if __name__ == "__main__":
    main(*sys.argv[1:])
