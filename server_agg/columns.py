"""One reader of columns: frames, mappings and files.

Rules
1. The library that made a frame (pandas, Polars, pyarrow, DuckDB, Dask, PySpark, …, eager or lazy) counts it; only the
   counts come here.  A mapping of names to columns is counted here.
2. The ending names the format of a file.  Cells of text files stay text; CSV has commas or, where its head shows them,
   semicolons.  Labels of values in Stata and SPSS files replace their codes, and what such a file declares missing is
   missing.
3. A column that is missing or named twice is refused with the names that are there, and so is a line with too few or
   too many cells.
4. A file that is cut off, damaged or not what its ending says is one error that names it.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import json
import os
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rrcollect.errors import ParameterError, RRCollectError
from rrcollect.lazy import extra
from server_agg.answer_words import is_null
from server_agg.errors import BadColumn, DataUnavailable, UnreadableReports

READSTAT = {".dta": "read_dta", ".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por"}
TEXTS = (".csv", ".tsv", ".jsonl")
ENDINGS = (*TEXTS, *(f"{ending}.gz" for ending in TEXTS), ".parquet", *READSTAT)
FRAMES = "a frame, a mapping of columns such as {'answer': [1, 0]}, or a file's name"
OTHER_FILES = "(read any other with pandas or Polars and give the frame)"
PIECE = 65_536  # rows at once; a multiple of 8, so that packed pieces can be joined
Cells = tuple[Any, ...]


class RowCounts(NamedTuple):
    """How many rows hold each combination of cells, the answer first; and where an answer is for the first time."""

    counts: dict[Cells, int]
    where: Callable[[Any], str]

    @property
    def rows(self) -> int:
        """All of them."""
        return sum(self.counts.values())


def check_columns(there: Sequence[str], wanted: Iterable[str], where: str) -> None:
    """Refuse names that no column, or more than one, has; the error lists those that are there."""
    for name in wanted:
        if there.count(name) != 1:
            seen = "missing" if name not in there else "named twice"
            allowed = f"one of {', '.join(map(repr, there[:20]))}" if there else "a line of names first: it is empty"
            raise BadColumn(name, seen, allowed if seen == "missing" else "a name that only one column has", where)


def count_rows(data: Any, columns: Sequence[str], encoding: str = "utf-8") -> RowCounts:
    """The rows of a frame, a mapping of columns or a file, by these columns; the first holds the answers."""
    wanted = list(dict.fromkeys(columns))
    for name in wanted:
        if not isinstance(name, str):
            raise ParameterError("column", name, "the name of a column, as text; rename the column if it is not")
    if isinstance(data, str | os.PathLike):
        path = Path(data)
        if path.suffix.lower() == ".parquet":
            _check_file(path)
            with _readable(path, encoding):
                found = _frame(extra("pyarrow.parquet", "data").read_table(path), wanted, str(path))
        else:
            found = _one_by_one(_told(path, wanted, encoding), str(path))
    elif isinstance(data, Mapping):
        found = _one_by_one(_mapped(data, wanted), "the columns")
    else:
        found = _frame(data, wanted, "the frame")
    if not found.rows:
        raise ParameterError("data", "without rows", "one row or more")
    return found


def _frame(data: Any, wanted: list[str], name: str) -> RowCounts:
    nw = extra("narwhals.stable.v2", "data")
    try:
        frame = nw.from_native(data)
        names = frame.collect_schema().names()
    except TypeError:
        raise ParameterError("data", type(data).__name__, FRAMES) from None
    except nw.exceptions.DuplicateError:
        names = list(data.columns)
    check_columns(names, wanted, name)
    if len(set(names)) != len(names):
        frame = nw.from_native(data[wanted])  # others may have one name; these have not
    found = frame.lazy().select(wanted).group_by(wanted).agg(nw.len().alias("rows counted")).collect()
    counts: dict[Cells, int] = {}
    for *cells, n in found.select([*wanted, "rows counted"]).iter_rows():
        key = tuple(_hashable(cell) for cell in cells)
        counts[key] = counts.get(key, 0) + int(n)

    def where(answer: Any) -> str:
        if not isinstance(frame, nw.DataFrame):
            return f"column {wanted[0]!r}"
        column = frame.get_column(wanted[0]).to_list()
        return f"row {next(i for i, cell in enumerate(column) if _hashable(cell) == answer)} (the first is 0)"

    return RowCounts(counts, where)


def _hashable(cell: Any) -> Any:
    """The cell, with one None for all that is missing; a list or dict as its text."""
    return None if is_null(cell) else cell if isinstance(cell, Hashable) else repr(cell)


def _mapped(data: Mapping[str, Any], wanted: list[str]) -> Iterator[tuple[str, Cells]]:
    check_columns(list(data), wanted, "the columns")
    columns = [list(data[name]) for name in wanted]
    if len({len(column) for column in columns}) > 1:
        raise ParameterError("data", f"columns of {[len(c) for c in columns]} rows", "columns of one length")
    return ((f"row {place} (the first is 0)", cells) for place, cells in enumerate(zip(*columns, strict=True)))


def _told(path: Path, wanted: list[str], encoding: str) -> Iterator[tuple[str, Cells]]:
    for piece in file_rows(path, wanted, encoding):
        columns = [piece.cells[name] for name in wanted]
        yield from ((f"{path}, {piece.word} {n}", c) for n, *c in zip(piece.numbers, *columns, strict=True))  # type: ignore[misc]


def _one_by_one(rows: Iterable[tuple[str, Cells]], name: str) -> RowCounts:
    counts: dict[Cells, int] = {}
    first: dict[Any, str] = {}
    for place, cells in rows:
        key = tuple(_hashable(cell) for cell in cells)
        counts[key] = counts.get(key, 0) + 1
        first.setdefault(key[0], place)
    return RowCounts(counts, lambda answer: first.get(answer, name))


# ---- columns of a file, in pieces ---------------------------------------------------------------------------------


class FileRows(NamedTuple):
    """Some rows of a file: cells by column (lists, or Arrow arrays of Parquet), their lines or rows (the first is 1),
    the share of the file read so far, and the names of all its columns."""

    cells: dict[str, Any]
    word: str
    numbers: Sequence[int]
    share: float
    columns: Sequence[str]


def file_rows(path: Path, wanted: Sequence[str], encoding: str = "utf-8") -> Iterator[FileRows]:
    """The rows of a file, these columns of them, in pieces of PIECE; what cannot be read is one error."""
    known = _known(encoding)
    _check_file(path)
    with _readable(path, known):
        yield from _pieces(path, list(wanted), known)


def _check_file(path: Path) -> None:
    if not str(path).lower().endswith(ENDINGS):
        raise ParameterError("data", str(path), f"a file that ends in {', '.join(ENDINGS)} {OTHER_FILES}")
    if not path.is_file():
        why = "is a folder; name a file, not a folder" if path.is_dir() else "is not there; check the name and folder"
        raise DataUnavailable(f"{path} {why}")


class _readable:  # noqa: N801  a context, called like a function
    """Whatever a file's library says against it becomes an error of ours that names the file."""

    def __init__(self, path: Path, encoding: str) -> None:
        self.path, self.encoding = path, encoding

    def __enter__(self) -> None:
        """Nothing is opened here."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        path, ending = str(self.path), "".join(self.path.suffixes[-1:])
        if isinstance(error, UnicodeError):
            name, other = self.encoding.removesuffix("-sig"), "cp1252" if self.encoding.startswith("utf-8") else "utf-8"
            why = f"not text in {name}; say what it is in, e.g. encoding='{other}', or save it as UTF-8"
            raise UnreadableReports(path, None, why, skippable=False) from None
        if isinstance(error, csv.Error):
            raise UnreadableReports(path, None, f"not a table: {error}", skippable=False) from None
        if isinstance(error, EOFError | zlib.error | gzip.BadGzipFile):
            raise DataUnavailable(f"{path}: the file is cut off, damaged or not packed by gzip") from None
        told = isinstance(error, OSError) and error.errno is None and not isinstance(error, RRCollectError)
        if told or type(error).__module__.partition(".")[0] in ("pyarrow", "pyreadstat"):
            raise DataUnavailable(f"{path}: not a {ending} file, cut off or damaged: {error}") from None


def _known(encoding: str) -> str:
    try:
        found = codecs.lookup(encoding).name
    except (LookupError, TypeError):
        raise ParameterError("encoding", encoding, "a name that Python knows, such as utf-8, cp1252, utf-16") from None
    return "utf-8-sig" if found == "utf-8" else found


def _pieces(path: Path, wanted: list[str], encoding: str) -> Iterator[FileRows]:
    ending = Path(str(path).lower().removesuffix(".gz")).suffix
    if ending == ".parquet":
        return _parquet(path, wanted)
    if ending in READSTAT:
        return _readstat(path, wanted, READSTAT[ending])
    return _text(path, wanted, ending, encoding)


def _parquet(path: Path, wanted: list[str]) -> Iterator[FileRows]:
    with extra("pyarrow.parquet", "data").ParquetFile(path) as file:
        head = list(file.schema_arrow.names)
        check_columns(head, wanted, str(path))
        done, rows = 0, max(file.metadata.num_rows, 1)
        for batch in file.iter_batches(batch_size=PIECE, columns=wanted):
            cells = {name: batch.column(batch.schema.get_field_index(name)) for name in wanted}
            numbers = range(done + 1, done + batch.num_rows + 1)
            done += batch.num_rows
            yield FileRows(cells, "row", numbers, done / rows, head)


def _readstat(path: Path, wanted: list[str], reader: str) -> Iterator[FileRows]:
    """One piece; labels of values instead of their codes, a value without a label as it is."""
    columns, meta = getattr(extra("pyreadstat", "data"), reader)(str(path), output_format="dict")
    check_columns(list(columns), wanted, str(path))
    labels = {name: meta.variable_value_labels.get(name, {}) for name in wanted}
    cells = {name: [labels[name].get(cell, cell) for cell in columns[name]] for name in wanted}
    yield FileRows(cells, "row", range(1, len(next(iter(cells.values()))) + 1), 1.0, list(columns))


def _text(path: Path, wanted: list[str], ending: str, encoding: str) -> Iterator[FileRows]:
    with path.open("rb") as raw:
        size = max(os.fstat(raw.fileno()).st_size, 1)
        unpacked: Any = gzip.GzipFile(fileobj=raw) if path.name.lower().endswith(".gz") else raw
        file = io.TextIOWrapper(unpacked, encoding=encoding, newline="")
        head: list[str] = []
        rows = (
            _json_rows(path, file, head, wanted) if ending == ".jsonl" else _csv_rows(path, file, head, wanted, ending)
        )
        while chunk := list(itertools.islice(rows, PIECE)):
            columns = zip(*(cells for _, cells in chunk), strict=True)
            cells = dict(zip(wanted, map(list, columns), strict=True))
            yield FileRows(cells, "line", [line for line, _ in chunk], raw.tell() / size, head)
        check_columns(head, wanted, str(path))


def _csv_rows(
    path: Path, file: io.TextIOWrapper, head: list[str], wanted: list[str], ending: str
) -> Iterator[tuple[int, Cells]]:
    first = file.readline()
    between = "\t" if ending == ".tsv" else ";" if first.count(";") > first.count(",") else ","
    file.seek(0)
    reader = csv.reader(file, delimiter=between, strict=True)
    head.extend(name.strip() for name in next(reader, []))
    check_columns(head, wanted, str(path))
    places = [head.index(name) for name in wanted]
    for row in reader:
        if not row:
            continue  # a blank line
        if len(row) != len(head):
            why = f"{len(row)} cells under a head of {len(head)}"
            raise UnreadableReports(str(path), reader.line_num, why, skippable=False)
        yield reader.line_num, tuple(row[place] for place in places)


def _json_rows(path: Path, file: io.TextIOWrapper, head: list[str], wanted: list[str]) -> Iterator[tuple[int, Cells]]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            raise UnreadableReports(str(path), number, f"not JSON: {error}", skippable=False) from None
        if not isinstance(found, dict):
            raise UnreadableReports(str(path), number, "not a JSON object", skippable=False)
        head.extend(name for name in found if name not in head)
        yield number, tuple(found.get(name) for name in wanted)
