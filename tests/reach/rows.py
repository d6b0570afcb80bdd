"""The parts of `make reach`, and what is not run here, with the reason.  A part is a row: see `part`."""

from __future__ import annotations

from tests.reach.part import Part, by_pytest

__all__ = ["NOT_RUN", "PARTS"]

PARTS: tuple[Part, ...] = (
    Part(
        "spark35",
        "Spark 3.5",
        by_pytest("tests/batch/test_batch_spark.py"),
        packages=("pyspark==3.5.*",),
        extras=("batch",),
        tools=("java",),
    ),
    Part(
        "others",
        "Answers that OpenDP and diffprivlib randomised",
        by_pytest("test_others.py"),
        packages=("opendp", "diffprivlib", "scikit-learn<1.8"),
        extras=("estimate",),
    ),
)

NOT_RUN: dict[str, str] = {
    "BigQuery, Snowflake, Databricks": "need an account; no engine that can be installed",
}
