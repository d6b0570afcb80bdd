"""How DuckDB reads each kind of source as flat rows: SELECT statements, and the checks of their columns.

Rules
1. Parquet and relations have types, and these are checked before a row is read.  Under `lenient` a column of another
   type is read value by value: whole numbers from text in their one spelling, from floats without a fraction (NaN is a
   missing value); what cannot be read is malformed.
2. CSV and JSON lines have none: `round` and `answer` must be whole numbers in their one spelling, or the row is
   malformed, as is a line that cannot be split into values at all.  All else is read as text and judged as such.
3. In CSV an empty field is a missing value, and an invite that begins with an apostrophe loses it (see `writing`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from server_agg.batch.columns import COLUMNS, NUMBER_ALLOWED, NUMBERS, TEXT_ALLOWED, TEXTS
from server_agg.batch.errors import BadColumn
from server_agg.batch.sql_rules import text_as_number

__all__ = ["Scan", "csv_scan", "jsonl_scan", "quoted", "typed_scan"]

WHOLE = {
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
}
FLOATS = ("FLOAT", "DOUBLE", "DECIMAL")
NONE = {'"NULL"', "NULL"}


@dataclass(frozen=True)
class Scan:
    """A SELECT of flat rows, and of `malformed` if that can be true."""

    sql: str
    malformed: bool


def quoted(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("'", "''") + "'"


def _paths(paths: Sequence[str]) -> str:
    return "[" + ", ".join(map(quoted, paths)) + "]"


def typed_scan(relation: str, types: Mapping[str, str], where: str, *, lenient: bool) -> Scan:
    """The flat rows of a relation whose column types are known."""
    wanted, broken = [], []
    for column in COLUMNS:
        if column not in types:
            raise BadColumn(column, "missing", f"the columns {', '.join(COLUMNS)}", where)
        expression, fault = _read(column, types[column])
        if fault and not lenient:
            allowed = NUMBER_ALLOWED.get(column, TEXT_ALLOWED)
            raise BadColumn(column, f"of type {types[column]}", allowed, where)
        wanted.append(f"{expression} AS {column}")
        if fault:
            broken.append(fault)
    extra = f", ({' OR '.join(broken)}) AS malformed" if broken else ""
    return Scan(f"SELECT {', '.join(wanted)}{extra} FROM {relation} AS s", bool(broken))  # noqa: S608


def _read(column: str, kind: str) -> tuple[str, str]:  # noqa: PLR0911 (a table of cases)
    """The column as it is wanted, and the test of values that cannot be read ('' if all can)."""
    name = f's."{column}"'
    if kind in NONE:
        return f"NULL::{'BIGINT' if column in NUMBERS else 'VARCHAR'}", ""
    if column in TEXTS:
        if kind in ("VARCHAR", "JSON") or kind.startswith("ENUM"):
            return (name if kind == "VARCHAR" else f"{name}::VARCHAR"), ""
        return "NULL::VARCHAR", f"{name} IS NOT NULL"
    if kind in WHOLE:
        return name, ""
    if kind == "BOOLEAN" and column == "answer":
        return f"{name}::INTEGER", ""
    if kind == "VARCHAR":
        number = text_as_number(name)
        return f"({number})", f"({name} IS NOT NULL AND ({number}) IS NULL)"
    if kind.startswith(FLOATS):
        missing = f"({name} IS NULL OR isnan({name}::DOUBLE))"
        number = f"CASE WHEN {name} = trunc({name}) AND abs({name}) < 1e15 THEN {name}::BIGINT END"
        return f"({number})", f"(NOT {missing} AND ({number}) IS NULL)"
    return "NULL::BIGINT", f"{name} IS NOT NULL"


def csv_scan(paths: Sequence[str], header: Sequence[str], *, rejects: str, escaped: bool = True) -> Scan:
    """The flat rows of CSV files with this header; lines that cannot be split go to the table `rejects`."""
    columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in header)
    wanted = {name: f's."{name}"' for name in COLUMNS}
    broken = []
    for name in NUMBERS:
        number = text_as_number(wanted[name])
        broken.append(f"({wanted[name]} IS NOT NULL AND ({number}) IS NULL)")
        wanted[name] = f"({number})"
    if escaped:
        invite = wanted["invite"]
        wanted["invite"] = f"CASE WHEN starts_with({invite}, '''') THEN {invite}[2:] ELSE {invite} END"
    listed = ", ".join(f"{expression} AS {name}" for name, expression in wanted.items())
    return Scan(
        f"SELECT {listed}, ({' OR '.join(broken)}) AS malformed FROM read_csv({_paths(paths)}, "  # noqa: S608
        f"columns = {{{columns}}}, auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', "
        f"ignore_errors = true, store_rejects = true, rejects_table = {quoted(rejects)}, "
        f"rejects_scan = {quoted(rejects + '_scans')}, rejects_limit = 0) AS s",
        malformed=True,
    )


def jsonl_scan(paths: Sequence[str]) -> Scan:
    """The flat rows of JSON lines in the wire form of a report."""
    texts = {name: "JSON" if name in NUMBERS else "VARCHAR" for name in COLUMNS if name not in ("p00", "p11")}
    fields = ", ".join(f"{name}: '{kind}'" for name, kind in texts.items())
    number = {name: text_as_number(f"s.{name}::VARCHAR") for name in NUMBERS}
    broken = [f"(s.{name} IS NOT NULL AND ({number[name]}) IS NULL)" for name in NUMBERS]
    nothing = " AND ".join(f"s.{name} IS NULL" for name in ("survey", "question", "answer", "id", "design", "round"))
    wanted = {name: f"s.{name}" for name in texts} | {name: f"({number[name]})" for name in NUMBERS}
    wanted |= {name: f"s.design.{name}" for name in ("p00", "p11")}
    listed = ", ".join(f"{expression} AS {name}" for name, expression in wanted.items())
    return Scan(
        f"SELECT {listed}, (({nothing}) OR {' OR '.join(broken)}) AS malformed FROM read_json("  # noqa: S608
        f"{_paths(paths)}, format = 'newline_delimited', columns = {{{fields}, "
        "design: 'STRUCT(p00 VARCHAR, p11 VARCHAR)'}, ignore_errors = true, maximum_object_size = 1048576) AS s",
        malformed=True,
    )
