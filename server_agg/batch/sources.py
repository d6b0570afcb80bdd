"""Which files a source means, of which kind they are, and the columns their rows must have.

Rules
1. A row is `rrcollect.publish.report.ReportRow`: all its columns must be there, in any order; further ones are not
   looked at.  `round` is a whole number, all else text.  A missing value is judged like a wrong one: a null survey is
   an unknown survey, a null answer a bad answer; only `ticket` may be missing.
2. A source is a path, a glob, a folder (with all partitions below it) or a list of these, on disk or as an address in
   an object store; the kind of a file is told by
   its ending.  Names that begin with "_" or "." are markers of other programs and are passed over in folders.
   A name that is a file's is that file; what was found is never taken for a pattern again.
3. A file is read once however often it is named; the order of files never matters.
4. What matches nothing is an error: an empty result must not look like a night without reports.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from rrcollect.errors import ParameterError, shown
from rrcollect.publish.report import ReportRow
from server_agg.batch.object_stores import is_url, opened, urls_of
from server_agg.columns import check_columns
from server_agg.errors import DataUnavailable, UnreadableReports

COLUMNS = ReportRow._fields
NUMBER = "round"  # the one column that is not text
NEEDED = ("survey", "question", "answer", "id", "design", "round")  # a line of JSON with none of them is not a report
PathLike = str | os.PathLike[str]
KINDS = {
    **dict.fromkeys((".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"), "jsonl"),
    **dict.fromkeys((".csv", ".csv.gz"), "csv"),
    ".parquet": "parquet",
    ".rrbits": "packed",
}


def wanted(column: str) -> str:
    """What a column must hold."""
    return "whole numbers" if column == NUMBER else "text"


def kind_of(path: str) -> str | None:
    """The kind of a file by its ending, or None.

    >>> kind_of("night.jsonl.gz"), kind_of("notes.txt")
    ('jsonl', None)
    """
    return next((kind for ending, kind in KINDS.items() if path.lower().endswith(ending)), None)


def files_of(source: PathLike | Iterable[PathLike]) -> dict[str, list[str]]:
    """The files of a source by kind, sorted; raises if any part of the source names none."""
    listed = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    found: dict[str, set[str]] = {}
    for part in listed:
        name = os.fspath(part)
        if not isinstance(name, str):
            raise ParameterError("source", part, "paths as text")
        paths, folder = _named(name)
        if not paths and not folder and not glob.has_magic(name):
            raise DataUnavailable(f"there is no file {name!r}; check the name and its folder")
        if not paths:
            raise DataUnavailable(f"{name!r} names no file of reports; allowed endings: {', '.join(KINDS)}")
        for path in paths:
            kind = kind_of(path)
            if kind is None:
                raise ParameterError("source", path, f"files ending in {', '.join(KINDS)}")
            if kind == "packed" and is_url(path):
                raise ParameterError("source", path, "packed files on this machine's disk: copy it first")
            real = path if is_url(path) else os.path.realpath(path)
            if "\\" in real and glob.has_magic(real):  # the engine has no spelling for it
                raise ParameterError("source", path, "a name without a backslash beside *, ? or [")
            found.setdefault(kind, set()).add(real)
    return {kind: sorted(paths) for kind, paths in sorted(found.items())}


def _named(name: str) -> tuple[list[str], bool]:
    """The files that a name means, and whether it is a folder's."""
    if is_url(name):
        found, folder = urls_of(name)
        return ([path for path in found if kind_of(path)] if folder else found), folder
    found = [name] if Path(name).exists() else glob.glob(name, recursive=True)
    paths = [path for one in found for path in (_below(one) if Path(one).is_dir() else [one])]
    return paths, Path(name).is_dir()


def _below(folder: str) -> list[str]:
    inside = (path for path in Path(folder).rglob("*") if path.is_file())
    shown = (path for path in inside if not any(p[0] in "._" for p in path.relative_to(folder).parts))
    return [str(path) for path in shown if kind_of(str(path))]


def csv_header(path: str) -> tuple[str, ...]:
    """The column names of a CSV file; raises if one of a row's is missing or named twice."""
    with _text(path, errors="replace") as file:  # bytes that are not text are a row's fault, not the header's
        try:
            names = next(csv.reader(file), [])
        except (csv.Error, OSError, EOFError) as error:
            raise UnreadableReports(path, 1, f"the header is not readable ({error})") from None
    names = [name.removeprefix("\ufeff") for name in names]
    check_columns(names, COLUMNS, path)
    return tuple(names)


def first_fault(path: str) -> UnreadableReports:
    """Where a file that was found malformed is so; read row by row, on the way to an error only."""
    in_csv = kind_of(path) == "csv"
    number = int(in_csv)  # the heading can be read
    try:
        for number, fault in _csv_faults(path) if in_csv else _json_faults(path):
            if fault:
                return UnreadableReports(path, number, fault)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        return UnreadableReports(path, number + 1, f"the file is cut off or damaged ({error})")
    return UnreadableReports(path, None, "a row is not readable")


def _csv_faults(path: str) -> Iterator[tuple[int, str | None]]:
    """The number of every line that ends a row, and what is wrong with the row."""
    names = csv_header(path)
    with _text(path) as file:
        reader = csv.reader(file, strict=True)
        for row in itertools.islice(reader, 1, None):
            fault, given = None, dict(zip(names, row, strict=False))
            if row and len(row) != len(names):
                fault = f"{len(row)} values instead of {len(names)}, one for each column"
            elif given.get(NUMBER) and not re.fullmatch("0|-?[1-9][0-9]*", given[NUMBER]):
                fault = f"{NUMBER} is {shown(given[NUMBER])}: use a whole number"
            yield reader.line_num, fault


def _json_faults(path: str) -> Iterator[tuple[int, str | None]]:
    with _bytes(path) as file:
        yield from enumerate(map(_line_fault, file), start=1)


def _text(path: str, errors: str = "strict") -> IO[str]:
    return io.TextIOWrapper(_bytes(path), encoding="utf-8", errors=errors, newline="")


def _bytes(path: str) -> Any:
    file: Any = opened(path) if is_url(path) else open(path, "rb")  # noqa: SIM115 (the caller closes it)
    if not path.endswith(".gz"):
        return file
    unzipped: Any = gzip.GzipFile(fileobj=file)
    unzipped.myfileobj = file  # so that closing the one closes the other
    return unzipped


def _line_fault(line: bytes) -> str | None:
    if not line.strip():
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        ending = "" if line.endswith(b"\n") else "; the file ends in the middle of a row"
        return f"not JSON ({error}){ending}"
    if not isinstance(value, dict) or not any(value.get(name) is not None for name in NEEDED):
        return "not a report"
    for name, kind, allowed in ((NUMBER, int, "a whole number"), ("answer", str, "text")):
        given = value.get(name)
        if given is not None and type(given) is not kind:
            return f"{name} is a {type(given).__name__}: use {allowed}"
    return None
