"""A column of truths read from a file, piece by piece, and the receipt that says it was drawn from.

Rules
1. A truth is yes or no: true/false, yes/no, y/n, 1/0, 1.0/0.0 in CSV (any case) and in text columns; booleans or
   numbers that are exactly 0 or 1 in Parquet (pandas makes 1.0 of 1 where a value was missing).  Anything else (an
   empty cell, NaN, None, a word) stops the work with its place, never its value.
2. No more than one piece is in memory; a file that is cut off, or is not of its kind at all, is one line.
3. The receipt, FILE.drawn, lies beside the truths and names what was drawn: column, round and output.  It holds no
   truth and no digest of them.  It is on disk before the answers appear.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rrcollect.errors import AnswerRefused, BadTruth, ParameterError
from rrcollect.extras import extra
from server_agg.batch.errors import BadColumn, SourceUnavailable
from server_agg.cli.output import CannotWrite, os_error_hint

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Piece", "check_receipt", "pieces", "write_receipt"]

PIECE = 65_536  # rows at once; a multiple of 8, so that packed pieces can be joined
YES, NO = {"yes", "y", "true", "1", "1.0"}, {"no", "n", "false", "0", "0.0"}
ALLOWED = "yes/no, true/false or 1/0; drop the rows without an answer first"


class Piece(NamedTuple):
    """Some rows: their truths, their segments, and the share of the file read so far."""

    truths: NDArray[np.bool_]
    segments: dict[str, list[str]]
    share: float


def pieces(path: Path, column: str, segments: Sequence[str] = ()) -> Iterator[Piece]:
    """The rows of a .csv (also .gz) or .parquet file."""
    name = str(path).lower()
    if not name.endswith((".csv", ".csv.gz", ".parquet")):
        raise ParameterError("truths", str(path), "a file ending in .csv, .csv.gz or .parquet")
    path.open("rb").close()  # a file that is not there is told before anything is written
    if name.endswith((".csv", ".csv.gz")):
        return _csv_pieces(path, column, segments)
    return _parquet_pieces(path, column, segments)


def _bad(path: Path, row: int, column: str) -> BadTruth:
    return BadTruth(f"{path}, row {row}, column {column!r}: neither yes nor no (not shown); allowed: {ALLOWED}")


def _words(path: Path, column: str, cells: Sequence[Any], first: int) -> NDArray[np.bool_]:
    truths = np.empty(len(cells), np.bool_)
    for place, cell in enumerate(cells):
        word = cell.strip().lower() if isinstance(cell, str) else ""
        if word not in YES and word not in NO:
            raise _bad(path, first + place, column)
        truths[place] = word in YES
    return truths


def _places(path: Path, there: Sequence[str], wanted: Sequence[str]) -> list[int]:
    for name in wanted:
        if there.count(name) != 1:
            seen = "missing" if name not in there else "named twice"
            raise BadColumn(
                name, seen, f"one of {', '.join(map(repr, there[:20])) or 'none: the file is empty'}", str(path)
            )
    return [there.index(name) for name in wanted]


def _csv_pieces(path: Path, column: str, segments: Sequence[str]) -> Iterator[Piece]:
    row = 0
    with path.open("rb") as raw:
        size = max(os.fstat(raw.fileno()).st_size, 1)
        try:
            unpacked: Any = gzip.GzipFile(fileobj=raw) if str(path).lower().endswith(".gz") else raw
            reader = csv.reader(io.TextIOWrapper(unpacked, encoding="utf-8-sig", newline=""), strict=True)
            places = _places(path, next(reader, []), [column, *segments])
            lines = (line for line in reader if line)
            while chunk := list(itertools.islice(lines, PIECE)):
                columns = [[line[place] if place < len(line) else "" for line in chunk] for place in places]
                truths = _words(path, column, columns[0], row + 1)
                row += len(chunk)
                yield Piece(truths, dict(zip(segments, columns[1:], strict=True)), raw.tell() / size)
        except (OSError, EOFError, csv.Error, UnicodeDecodeError, zlib.error):
            raise SourceUnavailable(f"{path}, after row {row}: the file is cut off, damaged or not CSV") from None


def _parquet_pieces(path: Path, column: str, segments: Sequence[str]) -> Iterator[Piece]:
    pa, pq = extra("pyarrow", "batch"), extra("pyarrow.parquet", "batch")
    row = 0
    try:
        with pq.ParquetFile(path) as file:
            wanted = [column, *segments]
            _places(path, list(file.schema_arrow.names), wanted)
            rows = max(file.metadata.num_rows, 1)
            for batch in file.iter_batches(batch_size=PIECE, columns=wanted):
                truths = _column(path, column, batch.column(batch.schema.get_field_index(column)), row + 1)
                groups = {name: [str(v) for v in batch.column(batch.schema.get_field_index(name)).to_pylist()]
                          for name in segments}  # fmt: skip
                row += batch.num_rows
                yield Piece(truths, groups, row / rows)
    except (pa.ArrowException, OSError):
        raise SourceUnavailable(f"{path}, after row {row}: the file is cut off, damaged or not Parquet") from None


def _column(path: Path, name: str, array: Any, first: int) -> NDArray[np.bool_]:
    """The truths of an Arrow array; the type is judged first, then every value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if array.null_count:
        raise _bad(path, first + int(np.flatnonzero(np.asarray(array.is_null()))[0]), name)
    if pa.types.is_boolean(array.type):
        return np.asarray(array.to_numpy(zero_copy_only=False), np.bool_)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        both = pa.array(np.array([0, 1], array.type.to_pandas_dtype()))
        wrong = np.asarray(pc.invert(pc.is_in(array, both)))
        if wrong.any():
            raise _bad(path, first + int(np.flatnonzero(wrong)[0]), name)
        return np.asarray(array.to_numpy(zero_copy_only=False), np.bool_)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type) or pa.types.is_dictionary(array.type):
        return _words(path, name, array.to_pylist(), first)
    raise BadColumn(name, f"of type {array.type}", "booleans, the numbers 0 and 1, or the words yes and no", str(path))


# ---- the receipt --------------------------------------------------------------------------------------------------


def _receipt(path: Path) -> Path:
    return path.with_name(f"{path.name}.drawn")


def check_receipt(path: Path, column: str, round_: int) -> None:
    """Refuse a column (and round) of a file that was drawn from before."""
    try:
        lines = _receipt(path).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            drawn = json.loads(line)
            same = (drawn["column"], drawn["round"]) == (column, round_)
        except (ValueError, KeyError, TypeError):
            raise AnswerRefused(f"{_receipt(path)} is not a receipt of this program; move it away") from None
        if same:
            raise AnswerRefused(
                f"column {column!r} of {path} was drawn before, into {drawn.get('out')}: use those answers. Two draws "
                f"give away twice as much; --draw-again makes a second one (receipt: {_receipt(path)})"
            )


def write_receipt(path: Path, column: str, round_: int, out: Path) -> None:
    """Add a line to the receipt, on disk when this returns."""
    line = json.dumps({"column": column, "round": round_, "out": str(out)}, ensure_ascii=False)
    try:
        with _receipt(path).open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise CannotWrite(
            f"no receipt can be kept beside the truths ({_receipt(path)}: {os_error_hint(error)})"
        ) from None
