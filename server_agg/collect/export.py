"""Reports out of a store, for the batch path: JSON Lines, CSV or Parquet, by the ending of the file's name.

A report leaves as it came, but for its ticket, of which only a hash was kept; and in the order of the random ids.
"""

from __future__ import annotations

import json
import os

from rrcollect.design.mechanism import from_text
from rrcollect.publish.report import Report, ReportRow
from server_agg.batch.writing import write_reports
from server_agg.collect.store import Store

__all__ = ["export_reports"]


def export_reports(store: Store, path: str | os.PathLike[str], survey: str | None = None) -> int:
    """Write every report (of one survey, if given) to a .jsonl, .csv or .parquet file; returns how many.

    >>> import tempfile, pathlib
    >>> from server_agg.collect.stores import open_store
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> store = open_store(folder / "reports.sqlite3")
    >>> export_reports(store, folder / "night.jsonl"), store.close()
    (0, None)
    """
    return write_reports(path, map(_report, store.reports(survey)))


def _report(row: ReportRow) -> Report:
    parts = {"design": from_text(row.design or ""), "segments": json.loads(row.segments or "{}")}
    return Report(**{**row._asdict(), **parts})
