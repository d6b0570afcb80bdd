"""How DuckDB reads each kind of source as rows: SELECT statements, and the checks of their columns.

Rules
1. Parquet and relations have types, and these are checked before a row is read.  Under `lenient` a column of another
   type is read value by value: whole numbers from text in their one spelling, from floats without a fraction (NaN is a
   missing value); what cannot be read is malformed.
2. CSV and JSON lines have none: `round` must be a whole number in its one spelling, or the row is malformed, as is a
   line that cannot be split into values at all, and one of JSON whose answer is not text.  All else is read as text
   and judged as such; objects of JSON (`design`, `segments`) are their text.
3. In CSV an empty field is a missing value, and the two columns that may hold any text (ticket, segments) lose the
   apostrophes of `files`.
4. A column that Parquet files do not have may be told by the folders in which all of them are stored, as Hive and Spark
   write them (`round=0/`).  One that both tell is an error: nobody knows which is meant.  Other folders mean nothing.
5. A path is a file's name.  DuckDB would take one with *, ? or [ for a pattern: each of these stands in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from server_agg.batch.sources import COLUMNS, NEEDED, NUMBER, wanted
from server_agg.batch.sql_rules import quoted, text_as_number
from server_agg.errors import BadColumn
from server_agg.files import APOSTROPHE

WHOLE = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}
FLOATS = ("FLOAT", "DOUBLE", "DECIMAL")
PATTERN = re.compile(r"[*?\[]")
NONE = {'"NULL"', "NULL"}


@dataclass(frozen=True)
class Scan:
    """A SELECT of rows, and of `malformed` if that can be true."""

    sql: str
    malformed: bool


def path_list(paths: Sequence[str]) -> str:
    """The files of these names, and no others, as DuckDB's readers take them.

    >>> path_list(["/night [1].csv"])
    "['/night [[]1].csv']"
    """
    return "[" + ", ".join(quoted(PATTERN.sub(r"[\g<0>]", path)) for path in paths) + "]"


def parquet_relation(paths: Sequence[str], keys: Sequence[str] = ()) -> str:
    """The rows of Parquet files, with these columns from the names of their folders."""
    types = ", ".join(f"{quoted(key)}: {'BIGINT' if key == NUMBER else 'VARCHAR'}" for key in keys)
    folders = f"true, hive_types = {{{types}}}" if keys else "false"
    return f"read_parquet({path_list(paths)}, union_by_name = true, hive_partitioning = {folders})"


def folder_columns(paths: Sequence[str], types: Mapping[str, str]) -> list[str]:
    """The columns that files of these types lack and that the folders of all of them tell.

    >>> folder_columns(["/lake/round=0/a.parquet", "/lake/round=1/b.parquet"], {"survey": "VARCHAR"})
    ['round']
    """
    told = [column for column in COLUMNS if all(f"/{column}=" in path for path in paths)]
    lacking = [column for column in told if column not in types]
    both = [column for column in told if column in types]
    if lacking and both:
        raise BadColumn(both[0], "in the files and in the names of their folders", "in one of them", min(paths))
    return lacking


def typed_scan(relation: str, types: Mapping[str, str], where: str, *, lenient: bool) -> Scan:
    """The rows of a relation whose column types are known."""
    given, broken = {}, []
    for column in COLUMNS:
        if column not in types:
            raise BadColumn(column, "missing", f"the columns {', '.join(COLUMNS)}", where)
        given[column], fault = _read(column, types[column])
        if fault and not lenient:
            raise BadColumn(column, f"of type {types[column]}", wanted(column), where)
        if fault:
            broken.append(fault)
    return _scan(given, " OR ".join(broken), relation)


def _scan(given: Mapping[str, str], malformed: str, relation: str) -> Scan:
    """The columns of a row by these expressions over the `source`, and the test of rows that cannot be read, if any."""
    named = {**given, "malformed": f"({malformed})"} if malformed else given
    listed = ", ".join(f"{expression} AS {name}" for name, expression in named.items())
    return Scan(f"SELECT {listed} FROM {relation} AS source", bool(malformed))  # noqa: S608


def _read(column: str, kind: str) -> tuple[str, str]:  # noqa: PLR0911 (a table of cases)
    """The column as it is wanted, and the test of values that cannot be read ('' if all can)."""
    name = f'source."{column}"'
    if kind in NONE:
        return f"NULL::{'BIGINT' if column == NUMBER else 'VARCHAR'}", ""
    if column != NUMBER:
        if kind in ("VARCHAR", "JSON") or kind.startswith("ENUM"):
            return (name if kind == "VARCHAR" else f"{name}::VARCHAR"), ""
        return "NULL::VARCHAR", f"{name} IS NOT NULL"
    if kind in WHOLE:
        return name, ""
    if kind == "VARCHAR":
        number = text_as_number(name)
        return f"({number})", f"({name} IS NOT NULL AND ({number}) IS NULL)"
    if kind.startswith(FLOATS):
        missing = f"({name} IS NULL OR isnan({name}::DOUBLE))"
        number = f"CASE WHEN {name} = trunc({name}) AND abs({name}) < 1e15 THEN {name}::BIGINT END"
        return f"({number})", f"(NOT {missing} AND ({number}) IS NULL)"
    return "NULL::BIGINT", f"{name} IS NOT NULL"


def csv_scan(paths: Sequence[str], header: Sequence[str], *, rejects: str, escaped: bool = True) -> Scan:
    """The rows of CSV files with this header; lines that cannot be split go to the table `rejects`."""
    columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in header)
    given = {name: f'source."{name}"' for name in COLUMNS}
    round_ = given["round"]
    number = text_as_number(round_)
    given["round"] = f"({number})"
    if escaped:
        for name in ("ticket", "segments"):
            plain = f"regexp_replace({given[name]}, {quoted(APOSTROPHE)}, '\\1', 'g')"
            given[name] = f"CASE WHEN contains({given[name]}, '''') THEN {plain} ELSE {given[name]} END"
    return _scan(
        given,
        f"{round_} IS NOT NULL AND ({number}) IS NULL",
        f"read_csv({path_list(paths)}, columns = {{{columns}}}, auto_detect = false, header = true, delim = ',', "
        f"quote = '\"', escape = '\"', ignore_errors = true, store_rejects = true, "
        f"rejects_table = {quoted(rejects)}, rejects_scan = {quoted(rejects + '_scans')}, rejects_limit = 0)",
    )


def jsonl_scan(paths: Sequence[str]) -> Scan:
    """The rows of JSON lines, in the wire form of a report or with `design` and `segments` as texts."""
    fields = ", ".join(f"{name}: '{'JSON' if name in ('round', 'answer') else 'VARCHAR'}'" for name in COLUMNS)
    number = text_as_number("source.round::VARCHAR")
    text = "source.answer::VARCHAR"
    answer = f"CASE {text} WHEN '\"0\"' THEN '0' WHEN '\"1\"' THEN '1' ELSE source.answer ->> '$' END"  # quicker
    given = {name: f"source.{name}" for name in COLUMNS} | {"round": f"({number})", "answer": answer}
    nothing = " AND ".join(f"source.{name} IS NULL" for name in NEEDED)
    broken = f"({nothing}) OR (source.round IS NOT NULL AND ({number}) IS NULL) OR NOT starts_with({text}, '\"')"
    how = f"'newline_delimited', columns = {{{fields}}}, ignore_errors = true, maximum_object_size = 1048576"
    return _scan(given, f"coalesce({broken}, false)", f"read_json({path_list(paths)}, format = {how})")
