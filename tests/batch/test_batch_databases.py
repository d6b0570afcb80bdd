"""The collector's table as a source, on a real PostgreSQL server and on SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from server_agg import tally_reports
from server_agg.batch.sql_rules import Query
from server_agg.errors import DataUnavailable
from tests.inside.batch import COLUMNS
from tests.support import engines
from tests.support.batch_contract import OWN, Rows, check, covering, rows_of
from tests.support.batch_reference import SURVEYS
from tests.support.postgres_server import running_postgres

TABLE = (
    "CREATE TABLE reports (survey text, question text, round {0}, design text, answer text, id text, ticket text, "
    "segments text, more date)"
)


def in_postgresql(server: str, kind: str = "bigint") -> Rows:
    """The contract's rows in the collector's table; a column of that kind holds no larger rounds."""
    most = 2**31 if kind == "int" else 2**63
    rows = covering([row for row in rows_of(1, engines.comma) if row["round"] is None or row["round"] < most])
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS reports")
        connection.execute(TABLE.format(kind))
        with connection.cursor().copy(f"COPY reports ({', '.join(COLUMNS)}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row([row[name] for name in COLUMNS])
    return rows


def in_sqlite(path: Path) -> Rows:
    rows = rows_of(2, engines.comma)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(TABLE.format("integer"))
        marks = ", ".join("?" * len(COLUMNS))
        connection.executemany(
            f"INSERT INTO reports ({', '.join(COLUMNS)}) VALUES ({marks})",  # noqa: S608
            [[row[name] for name in COLUMNS] for row in rows],
        )
    return rows


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_postgres() as postgres:
        yield postgres.address()


@pytest.mark.parametrize("kind", ["int", "bigint"])
def test_postgresql(server: str, kind: str) -> None:
    rows = in_postgresql(server, kind)
    check(tally_reports(server, SURVEYS), rows)


def test_an_unreachable_or_empty_server_is_named_without_its_password(server: str) -> None:
    with pytest.raises(DataUnavailable) as unreachable:
        tally_reports("postgresql://someone:secret@127.0.0.1:1/none?connect_timeout=2", SURVEYS)
    assert "secret" not in str(unreachable.value)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS reports")
    with pytest.raises(DataUnavailable, match="reports"):
        tally_reports(server, SURVEYS)


def test_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "collector.sqlite3"
    rows = in_sqlite(path)
    check(tally_reports(f"sqlite:///{path}", SURVEYS), rows)
    with pytest.raises(DataUnavailable, match="no SQLite database"):
        tally_reports("sqlite:///nowhere.sqlite3", SURVEYS)


@pytest.mark.parametrize("reason", [reason for reason in OWN if reason not in ("unknown_round", "bad_answer")])
@pytest.mark.parametrize("database", ["postgresql", "sqlite"])
def test_a_database_judged_without_one_of_the_rules_is_caught(
    database: str, reason: str, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a reason is left out of the SQL.  (Without the two that are not listed it does not run at all.)"""
    path = tmp_path / "collector.sqlite3"
    source = server if database == "postgresql" else f"sqlite:///{path}"
    rows = in_postgresql(server) if database == "postgresql" else in_sqlite(path)
    whole = Query.faults
    monkeypatch.setattr(Query, "faults", lambda self: {k: v for k, v in whole(self).items() if k != reason})
    with pytest.raises(AssertionError):
        check(tally_reports(source, SURVEYS), rows)
