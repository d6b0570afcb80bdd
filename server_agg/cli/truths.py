"""A column of truths read from a file, with the people they are about, as compactly as they can be kept.

Rules
1. The kind of question decides what a cell says.  Yes or no: see `answer_words`.  A choice: the label of an option as
   the survey spells it, in any of its languages; a label that stands for two options in two languages stands for
   neither; a whole number is read as its digits.  A number: as it is written, to the nearest double; it is finite, and
   in the range unless the survey clips.
2. Anything else (an empty cell, NaN, None, another word) stops the work with its place, never its value.
3. The file is read once, in pieces (`server_agg.columns`), and judged whole before anything is reserved or drawn.  For
   each person one or eight bytes of truth, 16 bytes of keyed hash and 4 bytes per segment are kept; the id is not.
4. Without ids a table is known by its resolved path, by its place on the disk (a symlink or hard link is the same file)
   and by its columns with its number of rows (a copy has the same).  No digest of the content is made: it would be one
   of the truths, and anyone with the key who knows all of them but one could test that one.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rrcollect.design.bulk_bits import double_above, double_below
from rrcollect.errors import BadTruth, ParameterError
from rrcollect.publish.kinds import AnyKind
from server_agg.answer_words import yes_or_no
from server_agg.columns import file_rows
from server_agg.errors import BadColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rrcollect import BulkLedger
    from server_agg.cli.terminal import Tell


REST = "; drop the rows without an answer first"


@dataclass(frozen=True)
class Cells:
    """How cells are read: `read` gives the truth of one, or None; `kind` is what they are kept as, `types` which types
    of a Parquet column are taken."""

    read: Callable[[Any], Any]
    kind: type[np.generic]
    allowed: str
    types: str
    right: Callable[[NDArray[Any]], NDArray[np.bool_]] | None = None  # which numbers of an array are truths

    def numbers(self, values: NDArray[Any], wrong: Callable[[int], Exception]) -> NDArray[Any]:
        """As `truths`, of an array of booleans or numbers, at once where that can be."""
        if self.right is None:
            return self.truths(values.tolist(), wrong)
        good = self.right(values)
        if not good.all():
            raise wrong(int(np.argmin(good)))
        return values.astype(self.kind)

    def truths(self, cells: Sequence[Any], wrong: Callable[[int], Exception]) -> NDArray[Any]:
        """The truths of some cells; the error `wrong` makes of the place of the first that is not a truth."""
        found = np.empty(len(cells), self.kind)
        for place, cell in enumerate(cells):
            truth = self.read(cell)
            if truth is None:
                raise wrong(place)
            found[place] = truth
        return found


def cells_of(kind: AnyKind) -> Cells:
    """How the truths of a question of this kind are read."""
    if kind.labels:
        labels = _places(kind)
        listed = ", ".join(map(repr, list(labels)[:20]))
        return Cells(lambda cell: labels.get(_text(cell)), np.uint8, f"one of {listed}{REST}", "text or whole numbers")
    if not kind.bounded:
        types = "booleans, the numbers 0 and 1, or the words yes and no"
        right = lambda values: np.isin(values, (0, 1))  # noqa: E731
        return Cells(yes_or_no, np.bool_, f"yes/no, true/false or 1/0{REST}", types, right)
    (low, high), clip = kind.bounded["bounds"], kind.bounded["clip"]
    ends = (-math.inf, math.inf) if clip else (double_above(low), double_below(high))
    allowed = "a finite number" if clip else f"a number from {low} to {high}"

    def inside(values: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(np.isfinite(values) & (values >= ends[0]) & (values <= ends[1]))

    return Cells(lambda cell: _finite(cell, *ends), np.float64, allowed + REST, "numbers, or text", inside)


def _places(kind: AnyKind) -> dict[str, int]:
    """The places of the options by their labels in all languages, those left out that stand for two options."""
    found = dict.fromkeys((label, place) for place, option in enumerate(kind.labels) for label in option.values())
    often = Counter(label for label, _ in found)
    return {label: place for label, place in found if often[label] == 1}


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip() if isinstance(cell, str | int) and not isinstance(cell, bool) else ""


def _finite(cell: Any, low: float, high: float) -> float | None:
    try:
        value = math.nan if cell is None or isinstance(cell, bool) else float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) and low <= value <= high else None


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
    encoding: str = "utf-8",
) -> Roster:
    """The whole file; `segments` maps the columns that are sent to the values they may have."""
    wanted = [column, *segments, *([] if id_column is None else [id_column])]
    truths, people, columns = [], [], []
    places: dict[str, list[NDArray[np.int32]]] = {name: [] for name in segments}
    row = 0
    for piece in file_rows(path, wanted, encoding):
        for name, allowed in segments.items():
            where = f"{path}, row {{}}, column {name!r}"
            places[name].append(_places_of(_listed(piece.cells[name]), allowed, where, row + 1))
        if id_column is not None:
            ids = ("" if cell is None else cell for cell in _listed(piece.cells[id_column]))
            with naming(path):
                people.append(ledger.keyed(ids, first=row + 1))
        truths.append(_truths(path, column, cells, piece.cells[column], row + 1))
        columns, row = sorted(piece.columns), row + len(truths[-1])
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


def _listed(cells: Any) -> list[Any]:
    return cells if isinstance(cells, list) else cells.to_pylist()


def _truths(path: Path, column: str, cells: Cells, given: Any, first: int) -> NDArray[Any]:
    """The truths of a list, or of an Arrow array, whose type is judged first; the first of them is in this row."""

    def wrong(place: int) -> BadTruth:
        where = f"{path}, row {first + place}, column {column!r}"
        return BadTruth(f"{where}: not a truth (not shown): use {cells.allowed}")

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
