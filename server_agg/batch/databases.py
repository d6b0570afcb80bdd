"""The collector's table, copied to a file that the embedded engine reads.

Rules
1. The table is `reports`, with the columns of a row; further ones are not looked at.
2. One statement reads it, so what is counted is one moment's state however many reports arrive meanwhile.
3. Rows are streamed to a temporary CSV file as the server sends them: neither side holds them in memory.
4. A URL may hold a password: no error shows it.
"""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

from rrcollect.extras import extra
from server_agg.batch.errors import SourceUnavailable
from server_agg.batch.sources import COLUMNS

__all__ = ["copy_table", "is_database"]

POSTGRES = ("postgresql://", "postgres://")
SQLITE = "sqlite:///"
ROWS_PER_READ = 10_000


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


def _copy_postgres(url: str, path: Path) -> None:
    psycopg = extra("psycopg", "postgres")
    copy = f"COPY (SELECT {', '.join(COLUMNS)} FROM reports) TO STDOUT (FORMAT csv, HEADER)"  # noqa: S608
    try:
        with (
            psycopg.connect(url, autocommit=True) as connection,
            path.open("wb") as file,
            connection.cursor() as cursor,
            cursor.copy(copy) as rows,
        ):
            for piece in rows:
                file.write(piece)
    except psycopg.Error as error:
        reason = error.diag.message_primary or type(error).__name__
        raise SourceUnavailable(f"the PostgreSQL table of reports cannot be read: {reason}") from None


def _copy_sqlite(name: str, path: Path) -> None:
    file = Path("/" + name) if not Path(name).is_file() and Path("/" + name).is_file() else Path(name)
    if not file.is_file():
        raise SourceUnavailable(f"there is no SQLite database {name!r}")
    try:
        with (
            closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection,
            path.open("w", newline="", encoding="utf-8") as out,
        ):
            rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM reports")  # noqa: S608
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(COLUMNS)
            while chunk := rows.fetchmany(ROWS_PER_READ):
                writer.writerows(chunk)
    except sqlite3.Error as error:
        raise SourceUnavailable(f"the SQLite table of reports cannot be read: {error}") from None
