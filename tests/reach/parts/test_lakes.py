"""Object stores and lake tables as sources: the batch contract's rows, and the examples as their reader runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server_agg import tally_reports
from server_agg.errors import DataUnavailable
from tests.assurance.evidence import ROOT
from tests.support import engines
from tests.support.batch_contract import check, rows_of
from tests.support.batch_reference import SURVEYS
from tests.support.examples_page import sections

pytestmark = pytest.mark.filterwarnings("ignore")  # deprecations of others

ACCOUNT = "1,100 rows read: 1,000 accepted, 100 repeated, 0 refused"


def example(name: str, *arguments: str) -> list[str]:
    """What an example prints."""
    command = [sys.executable, str(ROOT / "examples" / "lakes" / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket of moto's S3 server on the loopback."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    address, port = server.get_host_and_port()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://{address}:{port}",
        "AWS_ACCESS_KEY_ID": "made-up",
        "AWS_SECRET_ACCESS_KEY": "made-up",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    boto3.client("s3").create_bucket(Bucket="lake")
    yield "lake"
    server.stop()


@pytest.mark.parametrize("engine", engines.FILES, ids=lambda e: e.__name__)
def test_s3_files_count_as_on_disk(engine: Any, bucket: str, tmp_path: Path) -> None:
    import fsspec

    rows = rows_of(1, engine)
    engine(rows, tmp_path)
    store, place = fsspec.filesystem("s3"), f"s3://{bucket}/{engine.__name__}/night [1]"
    for path in tmp_path.rglob("*"):
        if path.is_file():
            store.pipe(f"{place}/{path.relative_to(tmp_path)}", path.read_bytes())
    check(tally_reports(place, SURVEYS), rows)
    check(tally_reports(f"s3://{bucket}/{engine.__name__}/n*", SURVEYS), rows)


def test_s3_what_is_not_there_is_named(bucket: str) -> None:
    with pytest.raises(DataUnavailable, match="s3://lake/none.csv"):
        tally_reports(f"s3://{bucket}/none.csv", SURVEYS)


def test_s3_example(bucket: str) -> None:
    said = example("s3_store.py", bucket)
    assert said[0] == ACCOUNT
    assert said[-1] == "Tuesday alone: 500 rows read: 400 accepted, 100 repeated, 0 refused"


def test_iceberg_rows(tmp_path: Path) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    rows = rows_of(2)
    table = engines.arrow_table(rows)
    catalogue = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalogue.db", warehouse=tmp_path.as_uri())
    catalogue.create_namespace("surveys")
    made = catalogue.create_table("surveys.reports", schema=table.schema)
    made.append(table.slice(0, 300))
    made.append(table.slice(300))
    for source in (made.to_polars(), made.scan().to_arrow()):
        check(tally_reports(source, SURVEYS), rows)


def test_iceberg_example(tmp_path: Path) -> None:
    said = example("iceberg_table.py", str(tmp_path / "lake"))
    assert (said[0], said[-1][:34]) == (ACCOUNT, "counted on Monday: 600 rows read: ")


def test_delta_rows(tmp_path: Path) -> None:
    import polars
    from deltalake import DeltaTable, write_deltalake

    rows = rows_of(3)
    table = engines.arrow_table(rows)
    for part in (table.slice(0, 300), table.slice(300)):
        write_deltalake(str(tmp_path), part, mode="append")
    for source in (polars.scan_delta(str(tmp_path)), DeltaTable(str(tmp_path)).to_pyarrow_table()):
        check(tally_reports(source, SURVEYS), rows)


def test_delta_example(tmp_path: Path) -> None:
    said = example("delta_table.py", str(tmp_path / "lake"))
    assert tuple(said) == sections()["lakes/"].shown
