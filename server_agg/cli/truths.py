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

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rrcollect.errors import BadTruth, ParameterError
from server_agg.cli.cells import Cells
from server_agg.columns import file_rows
from server_agg.errors import BadColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rrcollect import BulkLedger
    from server_agg.cli.progress import Tell


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
    place = os.stat(path)
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


def pieces(
    path: Path, column: str, cells: Cells, others: Sequence[str] = (), encoding: str = "utf-8"
) -> Iterator[Piece]:
    """The truths of a file, with the cells of other columns."""
    row = 1
    for piece in file_rows(path, [column, *others], encoding):
        truths = _truths(path, column, cells, piece.cells[column], row)
        row += len(truths)
        yield Piece(truths, {name: _listed(piece.cells[name]) for name in others}, piece.share, piece.columns)


def _listed(cells: Any) -> list[Any]:
    return cells if isinstance(cells, list) else cells.to_pylist()


def _truths(path: Path, column: str, cells: Cells, given: Any, first: int) -> NDArray[Any]:
    """The truths of a list, or of an Arrow array, whose type is judged first; the first of them is in this row."""

    def wrong(place: int) -> BadTruth:
        where = f"{path}, row {first + place}, column {column!r}"
        return BadTruth(f"{where}: not a truth (not shown); expected {cells.allowed}")

    if isinstance(given, list):
        return cells.truths(given, wrong)
    import pyarrow as pa

    if given.null_count:
        raise wrong(int(np.flatnonzero(np.asarray(given.is_null()))[0]))
    types = pa.types
    numbers = types.is_integer(given.type) or types.is_floating(given.type)
    if numbers or (types.is_boolean(given.type) and cells.kind is np.bool_):
        return cells.numbers(np.asarray(given.to_numpy(zero_copy_only=False)), wrong)
    if types.is_string(given.type) or types.is_large_string(given.type) or types.is_dictionary(given.type):
        return cells.truths(given.to_pylist(), wrong)
    raise BadColumn(column, f"of type {given.type}", cells.types, str(path))
