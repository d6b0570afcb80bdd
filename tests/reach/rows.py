"""The parts of `make reach`, and what is not run here, with the reason.  A part is a row: see `part`."""

from __future__ import annotations

from tests.reach.part import Part, by_pytest

__all__ = ["NOT_RUN", "PARTS"]

PARTS: tuple[Part, ...] = (
    Part(
        "ibis_duckdb",
        "DuckDB by ibis",
        by_pytest("test_engine.py", only="ibis_duckdb"),
        packages=("ibis-framework[duckdb,sqlite]", "narwhals"),
        extras=("batch",),
    ),
    Part(
        "ibis_polars",
        "Polars by ibis",
        by_pytest("test_engine.py", only="ibis_polars"),
        packages=("ibis-framework[polars]", "polars", "narwhals"),
        extras=("batch",),
    ),
    Part(
        "ibis_clickhouse",
        "ClickHouse by ibis",
        by_pytest("test_engine.py", only="ibis_clickhouse"),
        packages=("chdb", "ibis-framework[clickhouse]", "clickhouse-connect[chdb]"),
        extras=("batch",),
    ),
    Part(
        "spark_connect",
        "Spark Connect",
        by_pytest("test_engine.py", only="spark_connect"),
        packages=("pyspark[connect]==4.*",),
        extras=("batch",),
        tools=("java",),
    ),
    Part(
        "s3",
        "S3 by fsspec (moto), folders of Hive",
        by_pytest("test_lakes.py", only="s3"),
        packages=("s3fs", "moto[server,s3]"),
        told=("s3fs", "moto", "fsspec", "duckdb"),
        extras=("stores", "estimate"),
    ),
    Part(
        "iceberg",
        "Iceberg",
        by_pytest("test_lakes.py", only="iceberg"),
        packages=("pyiceberg[sql-sqlite,pyarrow]", "polars"),
        extras=("batch", "estimate"),
    ),
    Part(
        "delta",
        "Delta Lake",
        by_pytest("test_lakes.py", only="delta"),
        packages=("deltalake", "polars"),
        extras=("batch", "estimate"),
    ),
    Part(
        "stream",
        "Spark Structured Streaming, killed",
        by_pytest("test_stream.py"),
        packages=("pyspark==4.*",),
        extras=("batch",),
        tools=("java",),
    ),
    Part(
        "dask",
        "Dask",
        by_pytest(
            "tests/batch/test_batch_contract.py",
            "tests/batch/test_batch_faults.py",
            "tests/batch/test_batch_rules.py",
            only="dask",
        ),
        packages=("dask[dataframe]",),
        extras=("batch", "data", "stores"),
    ),
    Part(
        "spark_example",
        "The example of a nightly batch on Spark",
        by_pytest("tests/examples/test_examples.py", "tests/examples/test_examples_page.py", only="spark"),
        packages=("pyspark==4.*",),
        extras=("batch", "estimate"),
        tools=("java",),
    ),
    Part(
        "spark35",
        "Spark 3.5",
        by_pytest("tests/batch/test_batch_spark.py"),
        packages=("pyspark==3.5.*",),
        extras=("batch",),
        tools=("java",),
    ),
    Part(
        "otree",
        "oTree: an app, played by its bots",
        by_pytest("test_otree.py"),
        packages=("otree", "requests"),
        extras=("data",),
    ),
    Part(
        "surveyjs",
        "SurveyJS: a question type, in Node and in Chromium",
        by_pytest("test_surveyjs.py"),
        packages=("playwright", "axe-playwright-python"),
        extras=("data",),
        tools=("node", "npm", "chromium-headless-shell"),
        node=("survey-core", "survey-js-ui"),
    ),
    Part(
        "others",
        "Answers that OpenDP and diffprivlib randomised",
        by_pytest("test_others.py"),
        packages=("opendp", "diffprivlib", "scikit-learn<1.8"),
        extras=("estimate",),
    ),
    Part(
        "npm",
        "The npm package: publint, arethetypeswrong, TypeScript --strict",
        by_pytest("test_npm.py"),
        tools=("node", "npm"),
        node=("publint@0.3", "@arethetypeswrong/cli@0.18", "typescript@5.9", "@types/node@20"),
    ),
    Part(
        "frameworks",
        "The survey element in React and in Vue, in Chromium",
        by_pytest("test_frameworks.py"),
        packages=("playwright", "axe-playwright-python"),
        extras=("data",),
        tools=("node", "npm", "chromium-headless-shell"),
        node=("react@19", "react-dom@19", "vue@3", "esbuild@0.28"),
    ),
    Part("pythons", "CPython 3.12, 3.13 and 3.14: the quick tests", by_pytest("test_pythons.py"), timeout=7200),
)

NOT_RUN: dict[str, str] = {
    "Qualtrics, LimeSurvey, REDCap": "need an account, or a server of their own: see docs/survey-tools.md",
    "SurveyJS in React, Angular, Vue": "the plain renderer is run; the others render the same widget",
    "SurveyJS in Firefox": "the page is run in Chromium",
    "SurveyJS Creator": "its designer shows the type by its name; nothing of it is run",
    "BigQuery, Snowflake, Databricks": "need an account; no engine that can be installed",
    "gs:// and az:// addresses": "no server of theirs runs here; the code is that of s3://",
    "a ClickHouse server, a Spark cluster": "one machine; chdb and local Spark run the same engines",
    "an Iceberg REST catalogue, a Hive metastore": "services of their own; a catalogue in SQLite is run",
}
