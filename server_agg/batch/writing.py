"""Reports to files: JSON lines (the wire form itself), CSV or Parquet (rows).

Rules
1. What is written reads back as the same reports.
2. CSV is written by `files`: segments of reports, and every column of refused ones, may hold any text.
3. The file appears under its name when it is whole: a crash leaves no half a night behind.
"""

from __future__ import annotations

import gzip
import itertools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from rrcollect.errors import ParameterError
from rrcollect.lazy import extra
from rrcollect.publish.report import Report
from server_agg.batch.sources import COLUMNS, NUMBER, kind_of
from server_agg.files import new_file, write_csv

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
    >>> report = Report(survey="0" * 64, question="q1", design=Design("3/4", "3/4"), answer="1", id="f" * 32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_reports(f"{folder}/night.jsonl", [report])
    ...     Path(folder, "night.jsonl").read_bytes() == report.to_bytes() + b"\\n"
    1
    True
    """
    format_of(os.fspath(path))
    with new_file(path) as partial:
        return write_whole(partial, reports)


def write_rows(path: str | os.PathLike[str], head: Sequence[str], rows: Iterable[Sequence[object]]) -> int:
    """Write rows to a .csv file (also .gz) under a heading; returns how many."""
    with new_file(path) as partial, _text(partial) as file:
        return write_csv(file, head, rows)


def write_whole(path: Path, reports: Iterable[Report]) -> int:
    """The same in place, for a file that is new already (`new_file`)."""
    kind = format_of(path.name)
    if kind == "parquet":
        return _parquet(path, reports)
    with _text(path) as file:
        if kind == "csv":
            return write_csv(file, COLUMNS, (report.row for report in reports))
        written = 0
        for report in reports:
            file.write(report.to_bytes().decode() + "\n")
            written += 1
        return written


def _text(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "wt", encoding="utf-8", newline="")
    return path.open("w", encoding="utf-8", newline="")


def _parquet(path: Path, reports: Iterable[Report]) -> int:
    pa, pq = extra("pyarrow", "batch"), extra("pyarrow.parquet", "batch")
    schema = pa.schema([(name, pa.int64() if name == NUMBER else pa.string()) for name in COLUMNS])
    written = 0
    rows = (report.row for report in reports)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while chunk := list(itertools.islice(rows, CHUNK)):
            writer.write_table(pa.Table.from_arrays([pa.array(c) for c in zip(*chunk, strict=True)], schema=schema))
            written += len(chunk)
    return written
