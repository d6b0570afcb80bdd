"""The collector's table as a source, on a real PostgreSQL server and on SQLite."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from server_agg import SourceUnavailable, tally_reports
from server_agg.batch.sources import COLUMNS
from tests.support import engines
from tests.support.batch_contract import check, readable
from tests.support.batch_reference import SURVEYS, generated
from tests.support.postgres_server import running_postgres

TABLE = (
    "CREATE TABLE reports (survey text, question text, round {0}, design text, answer text, id text, ticket text, "
    "segments text, more date)"
)


def stored_rows(seed: int) -> list[dict[str, Any]]:
    return readable(engines.comma, generated(random.Random(seed), 300))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_postgres() as postgres:
        yield postgres.address()


@pytest.mark.parametrize("round_", ["int", "bigint"])
def test_postgresql(server: str, round_: str) -> None:
    most = 2**31 if round_ == "int" else 2**63  # what the column holds
    rows = [row for row in stored_rows(1) if row["round"] is None or row["round"] < most]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS reports")
        connection.execute(TABLE.format(round_))
        with connection.cursor().copy(f"COPY reports ({', '.join(COLUMNS)}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row([row[name] for name in COLUMNS])
    check(tally_reports(server, SURVEYS), rows)


def test_an_unreachable_or_empty_server_is_named_without_its_password(server: str) -> None:
    with pytest.raises(SourceUnavailable) as unreachable:
        tally_reports("postgresql://someone:secret@127.0.0.1:1/none?connect_timeout=2", SURVEYS)
    assert "secret" not in str(unreachable.value)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS reports")
    with pytest.raises(SourceUnavailable, match="reports"):
        tally_reports(server, SURVEYS)


def test_sqlite(tmp_path: Path) -> None:
    rows, path = stored_rows(2), tmp_path / "collector.sqlite3"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(TABLE.format("integer"))
        marks = ", ".join("?" * len(COLUMNS))
        connection.executemany(
            f"INSERT INTO reports ({', '.join(COLUMNS)}) VALUES ({marks})",  # noqa: S608
            [[row[name] for name in COLUMNS] for row in rows],
        )
    check(tally_reports(f"sqlite:///{path}", SURVEYS), rows)
    with pytest.raises(SourceUnavailable, match="no SQLite database"):
        tally_reports("sqlite:///nowhere.sqlite3", SURVEYS)
