"""What leaves a store: the counts, or the rows that were kept.

Rules
1. The ending says which: `.json` the counts, as `rrcollect estimate` reads them; `.parquet` the rows, for the batch
   path.
2. Only what was folded leaves: in the order of the cells or of the random ids, never of arrival.
3. A row of a survey by invitation has no ticket and is marked as admitted (`stored_report`).
4. Rows go from the database's cursor into the file, some thousands at a time.
"""

from __future__ import annotations

import os
from pathlib import Path

from rrcollect.errors import ParameterError
from rrcollect.extras import extra
from server_agg.collect.store import Store
from server_agg.collect.tables import COLUMNS
from server_agg.new_file import new_file

__all__ = ["ENDINGS", "export_reports"]

ENDINGS = (".json", ".parquet")


def export_reports(store: Store, path: str | os.PathLike[str], survey: str | None = None) -> int:
    """Write the counts (.json) or rows (.parquet) of all surveys or of one; returns how many reports that was.

    >>> import tempfile
    >>> from server_agg.collect.stores import open_store
    >>> folder = Path(tempfile.mkdtemp())
    >>> store = open_store(folder / "reports.sqlite3")
    >>> export_reports(store, folder / "counts.json"), store.close()
    (0, None)
    """
    ending = Path(path).suffix
    if ending not in ENDINGS:
        raise ParameterError("path", os.fspath(path), "a name ending in .json (counts) or .parquet (rows)")
    if ending == ".parquet" and not store.keep_rows:
        raise ParameterError("path", os.fspath(path), "a name ending in .json: rows are kept only if asked for")
    with new_file(path) as partial:
        if ending == ".parquet":
            return _rows(store, partial, survey)
        tallies = store.tallies(survey)
        partial.write_text(tallies.to_json() + "\n", encoding="utf-8")
        return tallies.n


def _rows(store: Store, path: Path, survey: str | None) -> int:
    pa, pq = extra("pyarrow", "batch"), extra("pyarrow.parquet", "batch")
    schema = pa.schema([(name, pa.int64() if name == "round" else pa.string()) for name in COLUMNS.split(", ")])
    written = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for some in store.rows(survey):
            arrays = [pa.array(column, kind.type) for column, kind in zip(zip(*some, strict=True), schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            written += len(some)
    return written
