"""A column of truths read from a file, with who they are about, as compactly as they can be kept.

Rules
1. What a cell says is decided by the kind of question: see `cells`.  What it does not say stops the work with its
   place, never its value.
2. The file is read once, in pieces, and judged whole before anything is reserved or drawn.  Of a person one or eight
   bytes of truth, 16 bytes of keyed hash and 4 bytes per segment are kept; the id itself is not.
3. A file that is cut off, or is not of its kind at all, is one line.
4. Without ids a table is known by its resolved path, by its place on the disk (a symlink or hard link is the same file)
   and by its columns with its number of rows (a copy has the same).  No digest of the content is made: it would be one
   of the truths, and whoever has the key and knows all of them but one could test that one.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rrcollect.errors import BadTruth, ParameterError
from rrcollect.extras import extra
from server_agg.cli.cells import Cells
from server_agg.errors import BadColumn, SourceUnavailable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rrcollect import BulkLedger
    from server_agg.cli.progress import Tell

PIECE = 65_536  # rows at once; a multiple of 8, so that packed pieces can be joined


class Piece(NamedTuple):
    """Some rows: their truths, their cells in other columns, the share of the file read so far, all column names."""

    truths: NDArray[Any]
    cells: dict[str, list[Any]]
    share: float
    columns: Sequence[str]


class Roster(NamedTuple):
    """All rows: truths, people (as the ledger hashes them), places of segment values, and the table's marks."""

    truths: NDArray[Any]
    people: NDArray[np.bytes_] | None
    segments: dict[str, NDArray[np.int32]]
    marks: dict[str, str]


def read_roster(
    path: Path,
    column: str,
    cells: Cells,
    *,
    id_column: str | None,
    segments: Mapping[str, Sequence[str]],
    ledger: BulkLedger,
    tell: Tell,
) -> Roster:
    """The whole file; `segments` maps the columns that are sent to the values they may have."""
    rows = pieces(path, column, cells, [*segments, *([] if id_column is None else [id_column])])
    place = os.stat(path)
    truths, people, columns = [], [], []
    places: dict[str, list[NDArray[np.int32]]] = {name: [] for name in segments}
    row = 0
    for piece in rows:
        for name, allowed in segments.items():
            places[name].append(_places_of(piece.cells[name], allowed, f"{path}, row {{}}, column {name!r}", row + 1))
        if id_column is not None:
            ids = ("" if cell is None else cell for cell in piece.cells[id_column])
            with naming(path):
                people.append(ledger.keyed(ids, first=row + 1))
        truths.append(piece.truths)
        columns, row = sorted(piece.columns), row + len(piece.truths)
        tell(piece.share)
    if row == 0:
        raise BadColumn(column, "empty: the file has no rows", "one person per row", str(path))
    marks = {
        "its path": f"{path.resolve()}",
        "its place on the disk": f"{place.st_dev}:{place.st_ino}",
        "the same columns and as many rows": f"{row} {columns!r}",
    }
    return Roster(
        np.concatenate(truths),
        np.concatenate(people) if people else None,
        {name: np.concatenate(found) for name, found in places.items()},
        {kind: f"{column!r} {mark}" for kind, mark in marks.items()},
    )


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """The ledger names an id by its row; here the file's name is put before it."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(f"{path}, {error.name}", error.value, error.allowed) from None


def _places_of(cells: Sequence[Any], allowed: Sequence[str], where: str, first: int) -> NDArray[np.int32]:
    known = {value: place for place, value in enumerate(allowed)}
    found = np.fromiter((known.get(str(cell), -1) for cell in cells), np.int32, len(cells))
    if (found < 0).any():
        row = first + int(np.argmin(found))
        raise ParameterError(where.format(row), "another value, not shown", f"one of {', '.join(allowed)}")
    return found


def pieces(path: Path, column: str, cells: Cells, others: Sequence[str] = ()) -> Iterator[Piece]:
    """The rows of a .csv (also .gz) or .parquet file, with the cells of other columns."""
    name = str(path).lower()
    if not name.endswith((".csv", ".csv.gz", ".parquet")):
        raise ParameterError("truths", str(path), "a file ending in .csv, .csv.gz or .parquet")
    path.open("rb").close()  # a file that is not there is told before anything is written
    if name.endswith((".csv", ".csv.gz")):
        return _csv_pieces(path, column, cells, others)
    return _parquet_pieces(path, column, cells, others)


def _bad(path: Path, row: int, column: str, cells: Cells) -> BadTruth:
    return BadTruth(f"{path}, row {row}, column {column!r}: not a truth (not shown); expected {cells.allowed}")


def _read(path: Path, column: str, cells: Cells, given: Sequence[Any], first: int) -> NDArray[Any]:
    """The truths of some cells, the first of which stands in this row."""
    return cells.truths(given, lambda place: _bad(path, first + place, column, cells))


def _places(path: Path, there: Sequence[str], wanted: Sequence[str]) -> list[int]:
    for name in wanted:
        if there.count(name) != 1:
            seen = "missing" if name not in there else "named twice"
            raise BadColumn(
                name, seen, f"one of {', '.join(map(repr, there[:20])) or 'none: the file is empty'}", str(path)
            )
    return [there.index(name) for name in wanted]


def _csv_pieces(path: Path, column: str, cells: Cells, others: Sequence[str]) -> Iterator[Piece]:
    row = 0
    with path.open("rb") as raw:
        size = max(os.fstat(raw.fileno()).st_size, 1)
        try:
            unpacked: Any = gzip.GzipFile(fileobj=raw) if str(path).lower().endswith(".gz") else raw
            reader = csv.reader(io.TextIOWrapper(unpacked, encoding="utf-8-sig", newline=""), strict=True)
            header = next(reader, [])
            places = _places(path, header, [column, *others])
            lines = (line for line in reader if line)
            while chunk := list(itertools.islice(lines, PIECE)):
                columns = [[line[place] if place < len(line) else "" for line in chunk] for place in places]
                truths = _read(path, column, cells, columns[0], row + 1)
                row += len(chunk)
                yield Piece(truths, dict(zip(others, columns[1:], strict=True)), raw.tell() / size, header)
        except (OSError, EOFError, csv.Error, UnicodeDecodeError, zlib.error):
            raise SourceUnavailable(f"{path}, after row {row}: the file is cut off, damaged or not CSV") from None


def _parquet_pieces(path: Path, column: str, cells: Cells, others: Sequence[str]) -> Iterator[Piece]:
    pa, pq = extra("pyarrow", "batch"), extra("pyarrow.parquet", "batch")
    row = 0
    try:
        with pq.ParquetFile(path) as file:
            header, wanted = list(file.schema_arrow.names), [column, *others]
            _places(path, header, wanted)
            rows = max(file.metadata.num_rows, 1)
            for batch in file.iter_batches(batch_size=PIECE, columns=wanted):
                array = batch.column(batch.schema.get_field_index(column))
                truths = _column(path, column, cells, array, row + 1)
                others_cells = {name: batch.column(batch.schema.get_field_index(name)).to_pylist() for name in others}
                row += batch.num_rows
                yield Piece(truths, others_cells, row / rows, header)
    except (pa.ArrowException, OSError):
        raise SourceUnavailable(f"{path}, after row {row}: the file is cut off, damaged or not Parquet") from None


def _column(path: Path, name: str, cells: Cells, array: Any, first: int) -> NDArray[Any]:
    """The truths of an Arrow array; the type is judged first, then every value."""
    import pyarrow as pa

    if array.null_count:
        raise _bad(path, first + int(np.flatnonzero(np.asarray(array.is_null()))[0]), name, cells)
    types = pa.types
    numbers = types.is_integer(array.type) or types.is_floating(array.type)
    if numbers or (types.is_boolean(array.type) and cells.kind is np.bool_):
        values = np.asarray(array.to_numpy(zero_copy_only=False))
        return cells.numbers(values, lambda place: _bad(path, first + place, name, cells))
    if types.is_string(array.type) or types.is_large_string(array.type) or types.is_dictionary(array.type):
        return _read(path, name, cells, array.to_pylist(), first)
    raise BadColumn(name, f"of type {array.type}", cells.types, str(path))
