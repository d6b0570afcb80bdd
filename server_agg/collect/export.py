"""What leaves a store: the counts, or the rows that were kept.

Rules
1. The ending says which: `.json` the counts, as `rrcollect estimate` reads them; `.parquet` the rows, for the batch
   path.
2. Only what was folded leaves: in the order of the cells or of the random ids, never of arrival.
3. Rows leave with the crowd of their segments (`fold`); what is gathered is in the counts alone.
4. A row of a survey by invitation has no ticket and is marked as admitted (`stored_report`).
5. Rows go from the database into the file some thousands at a time, as text that Arrow reads: no object per value.
"""

from __future__ import annotations

import os
from pathlib import Path

from rrcollect.errors import ParameterError
from rrcollect.extras import extra
from server_agg.collect.store import Store
from server_agg.collect.tables import BETWEEN, COLUMNS, PAGE_COLUMNS
from server_agg.new_file import new_file

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
    if ending == ".parquet" and not store.keeps_rows():
        raise ParameterError("path", os.fspath(path), "a name ending in .json: rows are kept only if asked for")
    with new_file(path) as partial:
        if ending == ".parquet":
            return _rows(store, partial, survey)
        tallies = store.tallies(survey)
        partial.write_text(tallies.to_json() + "\n", encoding="utf-8")
        return tallies.n


def _rows(store: Store, path: Path, survey: str | None) -> int:
    pa, pq, csv = extra("pyarrow", "batch"), extra("pyarrow.parquet", "batch"), extra("pyarrow.csv", "batch")
    names = COLUMNS.split(", ")
    schema = pa.schema([(name, pa.int64() if name == "round" else pa.string()) for name in names])
    how = (
        csv.ReadOptions(column_names=PAGE_COLUMNS, use_threads=False),
        csv.ParseOptions(delimiter=BETWEEN, quote_char=False, newlines_in_values=False),
        csv.ConvertOptions(
            column_types=schema, null_values=[""], strings_can_be_null=True, include_columns=names, check_utf8=False
        ),
    )
    repeating = [name for name in names if name not in ("id", "ticket")]
    written = 0
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=repeating) as writer:
        for page in store.pages(survey):
            some = csv.read_csv(pa.py_buffer(page.encode()), *how)
            writer.write_table(some)
            written += some.num_rows
    return written
