"""Reports out of a store, for the batch path: JSON Lines, CSV or Parquet, by the ending of the file's name.

A report leaves as it came, but for its invite, of which only a hash was kept; and in the order of the random ids.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from rrcollect import Design, Report
from server_agg.batch.writing import write_reports
from server_agg.collect.store import Store
from server_agg.collect.stored_report import ReportRow

__all__ = ["export_reports"]


def export_reports(store: Store, path: str | os.PathLike[str], survey: str | None = None) -> int:
    """Write every report (of one survey, if given) to a .jsonl, .csv or .parquet file; returns how many.

    >>> import tempfile, pathlib
    >>> from server_agg.collect.store import open_store
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> store = open_store(folder / "reports.sqlite3")
    >>> export_reports(store, folder / "night.jsonl"), store.close()
    (0, None)
    """
    return write_reports(path, _reports(store, survey))


def _reports(store: Store, survey: str | None) -> Iterator[Report]:
    for row in store.reports(survey):
        yield _report(row)


def _report(row: ReportRow) -> Report:
    return Report(
        survey=row.survey,
        question=row.question,
        design=Design(row.p00, row.p11),
        answer=row.answer,
        id=row.id,
        round=row.round,
        segments=json.loads(row.segments),
        invite=row.invite,
    )
