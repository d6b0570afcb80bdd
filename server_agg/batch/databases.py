"""The collector's table, copied to a file that the embedded engine reads.

Rules
1. The table is `reports`, with the columns of a row; further ones are not looked at.
2. One transaction reads it, so what is counted is one moment's state however many reports arrive meanwhile.
3. Rows are streamed to a temporary CSV file as the server sends them: neither side holds them in memory.
4. A collector's database that has not the rows of all reports that it counted, or none at all, is refused
   (`DataUnavailable`): its counts are exact, and its rows would be some.  Of closed surveys rows are not expected.
5. A URL may hold a password: no error shows it.
"""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rrcollect.lazy import extra
from server_agg.batch.sources import COLUMNS
from server_agg.errors import DataUnavailable

POSTGRES = ("postgresql://", "postgres://")
SQLITE = "sqlite:///"
ROWS_PER_READ = 10_000
COUNTED = (
    "SELECT (SELECT COUNT(*) FROM reports), (SELECT coalesce(SUM(n), 0) FROM counts WHERE survey NOT IN (SELECT digest "
    "FROM surveys WHERE closed > 0))"
)


def is_database(source: object) -> bool:
    """Whether a source is the URL of a database.

    >>> is_database("postgresql://collector/reports"), is_database("night.csv")
    (True, False)
    """
    return isinstance(source, str) and source.startswith((*POSTGRES, SQLITE))


def copy_table(url: str, path: Path) -> None:
    """Copy the reports of the database to a CSV file."""
    if url.startswith(SQLITE):
        _copy_sqlite(unquote(url.removeprefix(SQLITE)), path)
    else:
        _copy_postgres(url, path)


def _check_rows(execute: Callable[[str], Any], has_counts: str) -> None:
    """Refuse a collector's database that lacks rows."""
    if execute(has_counts).fetchone()[0] is None:
        return
    kept, counted = map(int, execute(COUNTED).fetchone())
    if not kept or kept < counted:
        raise DataUnavailable(
            f"this collector's database has rows of {kept} of the {counted} reports that were counted; `rrcollect "
            "store export --out counts.json` writes the counts, exact and ready for `rrcollect estimate` (rows are "
            "kept by a collector that runs with --keep-rows from its first report)"
        )


def _copy_postgres(url: str, path: Path) -> None:
    psycopg = extra("psycopg", "postgres")
    copy = f"COPY (SELECT {', '.join(COLUMNS)} FROM reports) TO STDOUT (FORMAT csv, HEADER)"  # noqa: S608
    try:
        with psycopg.connect(url) as connection, path.open("wb") as file, connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            _check_rows(cursor.execute, "SELECT to_regclass('counts')")
            with cursor.copy(copy) as rows:
                for piece in rows:
                    file.write(piece)
    except psycopg.Error as error:
        reason = error.diag.message_primary or type(error).__name__
        raise DataUnavailable(f"the PostgreSQL table of reports cannot be read: {reason}") from None


def _copy_sqlite(name: str, path: Path) -> None:
    file = Path("/" + name) if not Path(name).is_file() and Path("/" + name).is_file() else Path(name)
    if not file.is_file():
        raise DataUnavailable(f"there is no SQLite database {name!r}: check the path after {SQLITE}")
    try:
        with (
            closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection,
            path.open("w", newline="", encoding="utf-8") as out,
        ):
            connection.execute("BEGIN")
            _check_rows(connection.execute, "SELECT MAX(name) FROM sqlite_master WHERE name = 'counts'")
            rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM reports")  # noqa: S608
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(COLUMNS)
            while chunk := rows.fetchmany(ROWS_PER_READ):
                writer.writerows(chunk)
    except sqlite3.Error as error:
        raise DataUnavailable(f"the SQLite table of reports cannot be read: {error}") from None
