"""Frames and files to counts: how often each answer stands beside each group.

Rules
1. A frame of any library that narwhals knows (pandas, Polars, pyarrow, DuckDB, Dask, PySpark, …, eager or lazy) is
   counted by its own library; only the counts come here.  A mapping of names to columns will do, too.
2. A file is known by its ending: .csv, .tsv, .jsonl, .parquet, .dta (Stata), .sav, .zsav, .por (SPSS).  Cells of a CSV
   are text as it stands, with commas or (as the head shows) semicolons between.  Labels of values in Stata and SPSS
   files take the place of their codes, and what these files declare missing is missing.
3. A column that is not there is refused with those that are; so is a line with too few or too many cells.
"""

from __future__ import annotations

import codecs
import csv
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rrcollect.errors import ParameterError
from rrcollect.extras import extra
from server_agg.analysis.answers import is_null
from server_agg.errors import BadColumn, SourceUnavailable, UnreadableRow

READSTAT = {".dta": "read_dta", ".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por"}
ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet", *READSTAT)
FRAMES = "a frame, a mapping of columns such as {'answer': [1, 0]}, or a file's name"
OTHER_FILES = "(read any other with pandas or Polars and give the frame)"
Cells = tuple[Any, ...]


class RowCounts(NamedTuple):
    """How many rows hold each combination of cells, the answer first; and where an answer first stands."""

    counts: dict[Cells, int]
    where: Callable[[Any], str]

    @property
    def rows(self) -> int:
        """All of them."""
        return sum(self.counts.values())


def counted(data: Any, columns: Sequence[str], encoding: str = "utf-8") -> RowCounts:
    """The rows of a frame, a mapping of columns or a file, by these columns; the first holds the answers."""
    wanted = list(dict.fromkeys(columns))
    for name in wanted:
        if not isinstance(name, str):
            raise ParameterError("column", name, "the name of a column, as text; rename the column if it is not")
    if isinstance(data, str | Path):
        found = _file(Path(data), wanted, _known(encoding))
    elif isinstance(data, Mapping):
        found = _one_by_one(_mapped(data, wanted), "the columns")
    else:
        found = _frame(data, wanted)
    if not found.rows:
        raise ParameterError("data", "without rows", "one row or more")
    return found


def _present(there: Iterable[str], wanted: Sequence[str], where: str) -> None:
    names = list(there)
    for name in wanted:
        if not names:
            raise BadColumn(name, "not there", "a file with a line of names first; this one is empty", where)
        if name not in names:
            raise BadColumn(name, "not there", f"one of {', '.join(map(str, names)) or 'none'}", where)
        if names.count(name) > 1:
            raise BadColumn(name, f"there {names.count(name)} times", "a name that only one column has", where)


# ---- frames -------------------------------------------------------------------------------------------------------


def _frame(data: Any, wanted: list[str]) -> RowCounts:
    nw = extra("narwhals.stable.v2", "data")
    try:
        frame = nw.from_native(data)
        names = frame.collect_schema().names()
    except TypeError:
        raise ParameterError("data", type(data).__name__, FRAMES) from None
    except nw.exceptions.DuplicateError:
        names = list(data.columns)
    _present(names, wanted, "the frame")
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
    _present(data, wanted, "the columns")
    columns = [list(data[name]) for name in wanted]
    if len({len(column) for column in columns}) > 1:
        raise ParameterError("data", f"columns of {[len(c) for c in columns]} rows", "columns of one length")
    return ((f"row {place} (the first is 0)", cells) for place, cells in enumerate(zip(*columns, strict=True)))


# ---- files --------------------------------------------------------------------------------------------------------


def _one_by_one(rows: Iterable[tuple[str, Cells]], name: str) -> RowCounts:
    counts: dict[Cells, int] = {}
    first: dict[Any, str] = {}
    for place, cells in rows:
        key = tuple(_hashable(cell) for cell in cells)
        counts[key] = counts.get(key, 0) + 1
        first.setdefault(key[0], place)
    return RowCounts(counts, lambda answer: first.get(answer, name))


def _known(encoding: str) -> str:
    try:
        found = codecs.lookup(encoding).name
    except (LookupError, TypeError):
        raise ParameterError("encoding", encoding, "a name that Python knows, such as utf-8, cp1252, utf-16") from None
    return "utf-8-sig" if found == "utf-8" else found


def _file(path: Path, wanted: list[str], encoding: str) -> RowCounts:
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ParameterError("data", str(path), f"a file that ends in {', '.join(ENDINGS)} {OTHER_FILES}")
    if not path.is_file():
        raise SourceUnavailable(f"{path}: there is no such file")
    try:
        if ending == ".parquet":
            return _frame(extra("pyarrow.parquet", "data").read_table(path), wanted)
        if ending in READSTAT:
            read = getattr(extra("pyreadstat", "data"), READSTAT[ending])
            columns, meta = read(str(path), output_format="dict")
            _present(columns, wanted, str(path))
            cells = _mapped(_labelled(columns, meta, wanted), wanted)
            told = ((f"{path}, {place[:-1]}; labels stand for codes)", row) for place, row in cells)
            return _one_by_one(told, str(path))
        rows = _json_lines(path, wanted, encoding) if ending == ".jsonl" else _lines(path, wanted, ending, encoding)
        return _one_by_one(rows, str(path))
    except (UnicodeError, csv.Error) as error:
        name, other = encoding.removesuffix("-sig"), "cp1252" if encoding.startswith("utf-8") else "utf-8"
        why = f"not text in {name}; say what it is in, e.g. encoding='{other}', or save it as UTF-8"
        why = why if isinstance(error, UnicodeError) else f"not a table: {error}"
        raise UnreadableRow(str(path), None, why, skippable=False) from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("pyarrow", "pyreadstat"):
            raise UnreadableRow(str(path), None, f"not a {ending} file: {error}", skippable=False) from None
        raise


def _labelled(columns: Mapping[str, Any], meta: Any, wanted: list[str]) -> dict[str, list[Any]]:
    """The columns with the labels of their values; a value without a label stays."""
    labels = {name: meta.variable_value_labels.get(name, {}) for name in wanted}
    return {name: [labels[name].get(cell, cell) for cell in columns[name]] for name in wanted}


def _lines(path: Path, wanted: list[str], ending: str, encoding: str) -> Iterator[tuple[str, Cells]]:
    with path.open(encoding=encoding, newline="") as file:
        first = file.readline()
        between = "\t" if ending == ".tsv" else ";" if first.count(";") > first.count(",") else ","
        file.seek(0)
        reader = csv.reader(file, delimiter=between, strict=True)
        head = [name.strip() for name in next(reader, [])]
        _present(head, wanted, str(path))
        places = [head.index(name) for name in wanted]
        for row in reader:
            if not row:
                continue  # a blank line
            if len(row) != len(head):
                why = f"{len(row)} cells under a head of {len(head)}"
                raise UnreadableRow(str(path), reader.line_num, why, skippable=False)
            yield f"{path}, line {reader.line_num}", tuple(row[place] for place in places)


def _json_lines(path: Path, wanted: list[str], encoding: str) -> Iterator[tuple[str, Cells]]:
    seen: dict[str, None] = {}
    with path.open(encoding=encoding) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except ValueError as error:
                raise UnreadableRow(str(path), number, f"not JSON: {error}", skippable=False) from None
            if not isinstance(found, dict):
                raise UnreadableRow(str(path), number, "not a JSON object", skippable=False)
            seen |= dict.fromkeys(found)
            yield f"{path}, line {number}", tuple(found.get(name) for name in wanted)
    _present(seen, wanted, str(path))
