"""Writing much for a release without keeping anybody from taking reports.

Rules
1. A release writes as many lines as there are crowds, and whoever takes reports would wait for them.  So they are
   written before, some at a time and with pauses, under the number of a release that there is not yet; nobody reads
   them.  The line of the release itself, in one short transaction, makes them count and the ones before count no more.
2. What does not count any more, or never did (a release that was interrupted), is deleted likewise.
3. One release at a time does this: under the lock of the folder of keys.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from server_agg.collect.store.database import CROWD, Database

VERSIONED = ("answers", "taken", "released")
LAST = "(SELECT coalesce(max(number), 0) FROM releases WHERE releases.survey = {}.survey)"
AT_ONCE = 1_000  # lines per transaction
PAUSE = 2  # as long as the last transaction took, so many times over: others are written meanwhile
SAME_LINE = " AND ".join(f"{name} = ?" for name in (*CROWD.split(", "), "number"))


def write(database: Database, statement: str, lines: Sequence[Sequence[Any]]) -> None:
    """Execute it for each of these lines, some at a time."""
    for start in range(0, len(lines), AT_ONCE):
        began = time.perf_counter()
        with database.writing() as cursor:
            database.run_many(cursor, statement, lines[start : start + AT_ONCE])
        if len(lines) > AT_ONCE:
            time.sleep(PAUSE * (time.perf_counter() - began))


def sweep(database: Database, survey: str) -> None:
    """Delete the lines of a survey that do not count."""
    for table in VERSIONED:
        old = f"SELECT DISTINCT {CROWD}, number FROM {table} WHERE survey = ? AND number <> {LAST.format(table)}"  # noqa: S608
        with database.reading() as cursor:
            lines = database.run(cursor, old, (survey,)).fetchall()
        write(database, f"DELETE FROM {table} WHERE {SAME_LINE}", lines)  # noqa: S608
