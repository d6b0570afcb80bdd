"""For whoever has the reports on a cluster: the nightly job of `nightly_batch_duckdb.py`, on Spark.

Shows the same call on Spark frames, and that Spark and DuckDB give the same integers.  The rules run as plain Spark
expressions: executors need no Python, and nothing comes back to the driver but grouped counts.

    python examples/nightly_batch_spark.py [FOLDER]     # a local session; FOLDER for the nights (./nights)
    spark-submit examples/nightly_batch_spark.py        # or on your cluster
"""

import sys
from pathlib import Path
from typing import Any

from nightly_batch_duckdb import SURVEY, make_nights, show
from pyspark.sql import DataFrame, SparkSession

from server_agg import tally_reports

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",  # for a few thousand rows; leave it out for real ones
    "spark.log.level": "ERROR",
}


def session() -> SparkSession:
    builder: Any = SparkSession.builder
    builder = builder.appName("nightly")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    made: SparkSession = builder.getOrCreate()
    return made


def night(spark: SparkSession, folder: Path) -> DataFrame:
    """The flat rows of a folder.  In CSV a quote inside quotes is doubled, which Spark has to be told."""
    parquet = spark.read.parquet(f"{folder}/*.parquet")
    comma = spark.read.csv(f"{folder}/*.csv", header=True, schema=parquet.schema, escape='"')
    return parquet.unionByName(comma)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "nights")
    monday, tuesday = make_nights(folder)
    refused = folder / "refused-by-spark.parquet"
    spark = session()
    try:
        old, new = night(spark, monday), night(spark, tuesday)
        first = tally_reports(old, SURVEY)
        second = tally_reports(new, SURVEY, earlier=old, refused_to=refused)
        rows = spark.read.parquet(str(refused)).groupBy("reason").count().orderBy("reason").collect()
    finally:
        spark.stop()

    print("Tuesday on Spark: ", second.summary)
    embedded = tally_reports(tuesday, SURVEY, earlier=monday)
    print("Tuesday on DuckDB:", embedded.summary)
    print("the same integers:", second == embedded)
    print("\nBoth nights together")
    show(first + second)
    written = ", ".join(f"{row['count']} {row['reason']}" for row in rows)
    print(f"refused rows in {refused}: {written}")


if __name__ == "__main__":
    main()
