"""The embedded engine: files and DuckDB relations, with bounded memory.

Rules
1. Everything happens in DuckDB; only counts come back.  What does not fit in `memory_limit` spills to a temporary
   folder that is removed at the end.
2. A file that cannot be read is an error with file and line, found by a second, slow look at that file; under
   `lenient` its unreadable rows are counted as malformed.
3. A relation is judged on its own connection, in temporary views and tables whose names begin with "rr_" and which are
   dropped at the end.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rrcollect.errors import ParameterError, RRCollectError
from rrcollect.lazy import extra
from rrcollect.publish.report import LARGEST_REPORT
from server_agg.batch.sources import COLUMNS, csv_header, first_fault
from server_agg.batch.sql_readers import (
    Scan,
    csv_scan,
    folder_columns,
    jsonl_scan,
    parquet_relation,
    path_list,
    typed_scan,
)
from server_agg.batch.sql_rules import Query, quoted
from server_agg.batch.summary import Counts, Options, watched
from server_agg.batch.survey_tables import SurveyTables
from server_agg.count.statistics import judged_by
from server_agg.errors import DataUnavailable, UnreadableReports

if TYPE_CHECKING:
    import duckdb

RELATION = "rr_relation"
SHAPE = "statistic, width, size, cells"  # of answers
CHUNK = 10_000  # rows
NO_DOWNLOADS = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
MEMORY = "a number with its unit, such as 512MB or 4GB"
FORMATS = {"parquet": "(FORMAT parquet)", "jsonl": "(FORMAT json)"}  # CSV has one writer, `files`


@contextmanager
def connected(options: Options) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of our own, with the limits asked for."""
    duckdb = extra("duckdb", "batch")
    with tempfile.TemporaryDirectory(prefix="rrcollect-", dir=options.temp_directory) as spill:
        settings: dict[str, Any] = {"temp_directory": spill, "preserve_insertion_order": False, **NO_DOWNLOADS}
        if options.memory_limit is not None:
            settings["memory_limit"] = options.memory_limit
        if options.threads is not None:
            settings["threads"] = options.threads
        try:
            connection = duckdb.connect(config=settings)
        except duckdb.ParserException:
            raise ParameterError("memory_limit", options.memory_limit, MEMORY) from None
        try:
            with connection:
                yield connection
        except duckdb.OutOfMemoryException as error:  # also where it is too little to begin with
            raise _too_little(error) from None


class Relation:
    """The connection a relation belongs to: statements run on it see the relation under the name `RELATION`."""

    def __init__(self, relation: Any) -> None:
        self.relation = relation

    def execute(self, sql: str) -> Any:
        """Run a statement; what it gives can be fetched."""
        return self.relation.query(RELATION, sql)

    def query_progress(self) -> float:
        """Not told to us."""
        return -1.0


@dataclass
class DuckBatch:
    """One batch on one connection."""

    connection: Any
    tables: SurveyTables
    options: Options
    _rejects: list[str] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)
    _made: list[tuple[str, str]] = field(default_factory=list)

    def file_scans(self, files: dict[str, list[str]], *, escaped: bool = True) -> list[Scan]:
        """The scans of files by kind."""
        scans = []
        self._texts += [*files.get("csv", []), *files.get("jsonl", [])]
        if files.get("parquet"):
            scans += self._parquet_scans(files["parquet"])
        by_header: dict[tuple[str, ...], list[str]] = {}
        for path in files.get("csv", []):
            by_header.setdefault(csv_header(path), []).append(path)
        for header, paths in by_header.items():
            self._rejects.append(f"rr_rejects_{len(self._rejects)}")
            scans.append(csv_scan(paths, header, rejects=self._rejects[-1], escaped=escaped))
        if files.get("jsonl"):
            scans.append(jsonl_scan(files["jsonl"]))
        return scans

    def _parquet_scans(self, paths: list[str]) -> list[Scan]:
        """A scan for the files of each set of column types: types are checked, never unified."""
        found = []
        try:
            for same in self._alike(paths):
                relation = parquet_relation(same)
                types = self._types(relation)
                if keys := folder_columns(same, types):
                    relation = parquet_relation(same, keys)
                    types = self._types(relation)
                found.append(typed_scan(relation, types, min(same), lenient=self.options.lenient))
        except RRCollectError:
            raise
        except Exception as error:
            for path in paths:  # the file at fault, by name
                try:
                    self._types(f"read_parquet({path_list([path])})")
                except Exception as fault:
                    why = f"not a readable Parquet file ({_first_line(fault)})"
                    raise UnreadableReports(path, None, why, skippable=False) from None
            raise error
        return found

    def _alike(self, paths: list[str]) -> list[list[str]]:
        """The Parquet files, those with the same types of our columns together."""
        if len(paths) == 1:
            return [paths]
        columns = ", ".join(map(quoted, COLUMNS))
        kinds = f"list((name, type, converted_type, logical_type) ORDER BY name) FILTER (name IN ({columns})) AS kinds"
        files = f"SELECT file_name, {kinds} FROM parquet_schema({path_list(paths)}) GROUP BY file_name"  # noqa: S608
        return [same for (same,) in self._execute(f"SELECT list(file_name) FROM ({files}) GROUP BY kinds").fetchall()]  # noqa: S608

    def relation_scan(self, relation: Any, name: str = RELATION) -> Scan:
        """The scan of a DuckDB relation of this connection, seen under this name."""
        types = {column: str(kind) for column, kind in zip(relation.columns, relation.types, strict=True)}
        return typed_scan(name, types, "the relation", lenient=self.options.lenient)

    def _types(self, relation: str) -> dict[str, str]:
        described = self._execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()  # noqa: S608
        return {row[0]: row[1] for row in described}

    def count(self, scans: list[Scan], earlier: list[Scan]) -> Counts:
        """The counts of the rows of `scans` that are not in `earlier`."""
        try:
            return self._count(scans, earlier)
        finally:
            for kind, name in reversed(self._made):
                self._execute(f"DROP {kind} IF EXISTS {name}")
            for name in self._rejects:
                self._execute(f"DROP TABLE IF EXISTS {name}; DROP TABLE IF EXISTS {name}_scans")

    def _count(self, scans: list[Scan], earlier: list[Scan]) -> Counts:
        malformed = any(scan.malformed for scan in [*scans, *earlier])
        self._rows_view(scans, earlier, malformed=malformed)
        tables = self.tables
        if not tables.enumerated:
            pairs = self._run(
                "SELECT DISTINCT survey, segments FROM rr_rows WHERE survey IN "  # noqa: S608
                f"({', '.join(map(quoted, tables.surveys))}) AND strlen(segments) <= {LARGEST_REPORT}"
            )
            tables = tables.discover(pairs)
        self._make_tables(tables)
        query = Query(tables, "rr_rows", malformed, bool(earlier))
        if self.options.deduplicate:
            ids = query.grouped_by_id()
            counting = query.deduplicated("rr_ids" if self.options.refused_to else None)
        else:
            ids, counting = "SELECT NULL::UUID AS uid, 0 AS fault WHERE false", query.without_deduplication()
        if self.options.refused_to:
            self._make("TABLE", "rr_ids", ids)
        counts = Counts(tables, self._run(counting))
        if self.options.refused_to:
            self._write_refused(query, self.options.refused_to)
        counts.malformed += self._rejected()
        if counts.malformed and not self.options.lenient:
            raise self._fault()
        return counts

    def _write_refused(self, query: Query, path: str) -> None:
        from server_agg.batch.writing import format_of, write_rows

        kind = format_of(path)
        rows = query.refused_rows("rr_ids")
        if kind != "csv":
            self._run(f"COPY ({rows}) TO {quoted(path)} {FORMATS[kind]}", to=path)
            return
        try:
            write_rows(path, (*COLUMNS, "reason"), self._streamed(rows))
        except OSError as error:
            raise _not_written(path, error.strerror or type(error).__name__) from None

    def _streamed(self, sql: str) -> Iterator[tuple[Any, ...]]:
        import duckdb

        try:
            found = self._execute(sql)
            while chunk := found.fetchmany(CHUNK):
                yield from chunk
        except duckdb.Error as error:
            raise self._fault(error) from None

    def _rows_view(self, scans: list[Scan], earlier: list[Scan], *, malformed: bool) -> None:
        parts = []
        for scan, before in [*((s, False) for s in scans), *((s, True) for s in earlier)]:
            wanted = list(COLUMNS)
            if malformed:
                wanted.append("malformed" if scan.malformed else "false AS malformed")
            if earlier:
                wanted.append(f"{str(before).lower()} AS earlier")
            parts.append(f"SELECT {', '.join(wanted)} FROM ({scan.sql})")  # noqa: S608
        self._make("VIEW", "rr_rows", " UNION ALL ".join(parts))

    def _make_tables(self, tables: SurveyTables) -> None:
        questions, texts = ["(0, '', '', '', '', 0, 0, 0, 0, false)"], ["(0, '', '')"]  # 0 stands for what is not known
        for number, (digest, question) in enumerate(tables.questions, start=1):
            design = question.design
            named = ", ".join(map(quoted, (digest, question.id, design.text, design.statistic)))
            shape = f"{design.width}, {judged_by(design)}, {design.cells}"
            rest = f"{shape}, {question.rounds}, {tables.surveys[digest].invite_only}"
            questions.append(f"({number}, {named}, {rest})")
        texts += [f"({i}, {quoted(digest)}, {quoted(text)})" for i, (digest, text) in enumerate(tables.texts, start=1)]
        self._make_table("rr_questions", f"number, survey, question, design, {SHAPE}, rounds, invite_only", questions)
        self._make_table("rr_texts", "place, survey, segments", texts)

    def _make_table(self, name: str, columns: str, rows: list[str]) -> None:
        self._make("TABLE", name, f"SELECT * FROM (VALUES {', '.join(rows[:1000])}) AS listed({columns})")  # noqa: S608
        for start in range(1000, len(rows), 1000):
            self._execute(f"INSERT INTO {name} VALUES {', '.join(rows[start : start + 1000])}")  # noqa: S608

    def _execute(self, sql: str) -> Any:
        return self.connection.execute(sql)

    def _make(self, kind: str, name: str, sql: str) -> None:
        self._execute(f"CREATE OR REPLACE TEMP {kind} {name} AS {sql}")
        self._made.append((kind, name))

    def _run(self, sql: str, to: str | None = None) -> list[tuple[Any, ...]]:
        import duckdb

        try:
            with watched(self.options.progress, lambda: self.connection.query_progress() / 100):
                found = self._execute(sql)
                rows: list[tuple[Any, ...]] = [] if found is None else found.fetchall()
                return rows
        except duckdb.OutOfMemoryException as error:
            raise _too_little(error) from None
        except duckdb.Error as error:
            if to is not None and isinstance(error, duckdb.IOException) and Path(to).name in str(error):
                raise _not_written(to, _first_line(error)) from None
            raise self._fault(error) from None

    def _rejected(self) -> int:
        found = 0
        for table in self._rejects:
            found += self._execute(f"SELECT count(DISTINCT (file_id, line)) FROM {table}").fetchone()[0]  # noqa: S608
        return found

    def _fault(self, error: Exception | None = None) -> Exception:
        """The first fault of the source, with its file and line."""
        for path in self._texts:
            fault = first_fault(path)
            if fault.line is not None:
                return fault
        if error is not None:
            return UnreadableReports("the source", None, _first_line(error), skippable=not self.options.lenient)
        return UnreadableReports("the source", None, "a row is cut off, broken, or has a value of the wrong type")


def _too_little(error: Exception) -> DataUnavailable:
    what = "raise memory_limit, or give a temp_directory with more space"
    return DataUnavailable(f"the batch needs more memory or disk ({_first_line(error)}): {what}")


def _not_written(path: str, why: str) -> DataUnavailable:
    return DataUnavailable(f"{path} cannot be written: {why}; name another file for the refused rows")


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
