"""Reports to files: JSON lines (the wire form itself), CSV or Parquet (the flat row).

Rules
1. What is written reads back as the same reports.
2. A CSV file may be opened in a spreadsheet, which takes a cell that begins with = + - @ (or a tab or return) for a
   formula.  Only an invite is free text; such an invite is written with an apostrophe before it, as is one that begins
   with an apostrophe, and reading removes it.
3. The file appears under its name when it is whole: a crash leaves no half a night behind.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from rrcollect.errors import MissingExtra, ParameterError
from rrcollect.publish.report import Report
from server_agg.batch.columns import COLUMNS, NUMBERS, flat_row
from server_agg.batch.sources import kind_of

__all__ = ["format_of", "write_reports"]

FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
CHUNK = 65_536


def format_of(path: str) -> str:
    """The format of a file to write, by its ending."""
    kind = kind_of(path)
    if kind is None or kind == "packed":
        raise ParameterError("path", path, "a name ending in .jsonl, .csv (or either with .gz) or .parquet")
    return kind


def write_reports(path: str | os.PathLike[str], reports: Iterable[Report]) -> int:
    """Write reports to a .jsonl, .csv (each also .gz) or .parquet file; returns how many.

    >>> import tempfile
    >>> from rrcollect import Design
    >>> report = Report(survey="0" * 64, question="q1", design=Design("3/4", "3/4"), answer=1, id="f" * 32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_reports(f"{folder}/night.jsonl", [report])
    ...     Path(folder, "night.jsonl").read_bytes() == report.to_bytes() + b"\\n"
    1
    True
    """
    name = os.fspath(path)
    kind = format_of(name)
    folder, base = os.path.split(name)
    partial = Path(folder, f".partial-{base}")
    try:
        if kind == "parquet":
            written = _parquet(partial, reports)
        else:
            with _opened(partial, gzipped=name.endswith(".gz")) as file:
                written = _jsonl(file, reports) if kind == "jsonl" else _csv(file, reports)
        partial.replace(name)
    finally:
        partial.unlink(missing_ok=True)
    return written


def _opened(path: Path, *, gzipped: bool) -> IO[str]:
    if gzipped:
        return gzip.open(path, "wt", encoding="utf-8", newline="")
    return path.open("w", encoding="utf-8", newline="")


def _jsonl(file: IO[str], reports: Iterable[Report]) -> int:
    written = 0
    for report in reports:
        file.write(report.to_bytes().decode() + "\n")
        written += 1
    return written


def _csv(file: IO[str], reports: Iterable[Report]) -> int:
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    written = 0
    for report in reports:
        row = flat_row(report)
        if report.invite is not None and report.invite.startswith(FORMULA):
            row["invite"] = "'" + report.invite
        writer.writerow(row)
        written += 1
    return written


def _parquet(path: Path, reports: Iterable[Report]) -> int:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("pyarrow", "batch") from None
    schema = pa.schema([(name, pa.int64() if name in NUMBERS else pa.string()) for name in COLUMNS])
    written = 0
    rows = (flat_row(report) for report in reports)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while chunk := list(itertools.islice(rows, CHUNK)):
            writer.write_table(pa.Table.from_pylist(chunk, schema=schema))
            written += len(chunk)
    return written
