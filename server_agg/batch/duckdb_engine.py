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

from rrcollect.errors import MissingExtra, ParameterError
from server_agg.batch.columns import COLUMNS
from server_agg.batch.counting import Counts
from server_agg.batch.errors import RefusedNotWritten, SourceUnavailable, UnreadableRow
from server_agg.batch.progress import Progress, watched
from server_agg.batch.sources import csv_header, first_fault
from server_agg.batch.sql_readers import Scan, csv_scan, jsonl_scan, quoted, typed_scan
from server_agg.batch.sql_rules import Query
from server_agg.batch.survey_tables import LONGEST_TEXT, Published

if TYPE_CHECKING:
    import duckdb

__all__ = ["Duck", "Options", "Relation", "connected"]

RELATION = "rr_relation"
MEMORY = "a number with its unit, such as 512MB or 4GB"
FORMATS = {"parquet": "(FORMAT parquet)", "csv": "(FORMAT csv, HEADER)", "jsonl": "(FORMAT json)"}


@dataclass(frozen=True)
class Options:
    """How a batch is run."""

    deduplicate: bool = True
    lenient: bool = False
    refused_to: str | None = None
    progress: Progress | None = None
    memory_limit: str | None = None
    threads: int | None = None
    temp_directory: str | None = None


@contextmanager
def connected(options: Options) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of our own, with the limits asked for."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("duckdb", "batch") from None
    with tempfile.TemporaryDirectory(prefix="rrcollect-", dir=options.temp_directory) as spill:
        settings: dict[str, Any] = {"temp_directory": spill, "preserve_insertion_order": False}
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
            raise SourceUnavailable(f"the batch needs more memory or disk: {_first_line(error)}") from None


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
class Duck:
    """One batch on one connection."""

    connection: Any
    published: Published
    options: Options
    _rejects: list[str] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)
    _made: list[tuple[str, str]] = field(default_factory=list)

    def file_scans(self, files: dict[str, list[str]], *, escaped: bool = True) -> list[Scan]:
        """The scans of files by kind."""
        scans = []
        self._texts += [*files.get("csv", []), *files.get("jsonl", [])]
        if files.get("parquet"):
            scans.append(self._parquet_scan(files["parquet"]))
        by_header: dict[tuple[str, ...], list[str]] = {}
        for path in files.get("csv", []):
            by_header.setdefault(csv_header(path), []).append(path)
        for header, paths in by_header.items():
            self._rejects.append(f"rr_rejects_{len(self._rejects)}")
            scans.append(csv_scan(paths, header, rejects=self._rejects[-1], escaped=escaped))
        if files.get("jsonl"):
            scans.append(jsonl_scan(files["jsonl"]))
        return scans

    def _parquet_scan(self, paths: list[str]) -> Scan:
        listed = "[" + ", ".join(map(quoted, paths)) + "]"
        relation = f"read_parquet({listed}, union_by_name = true, hive_partitioning = false)"
        try:
            types = self._types(relation)
            return typed_scan(relation, types, f"{len(paths)} Parquet files", lenient=self.options.lenient)
        except Exception as error:
            for path in paths:  # the file at fault by name, if it is one file's
                alone = f"read_parquet({quoted(path)}, hive_partitioning = false)"
                try:
                    types = self._types(alone)
                except Exception as fault:
                    why = f"not a readable Parquet file ({_first_line(fault)})"
                    raise UnreadableRow(path, None, why, skippable=False) from None
                typed_scan(alone, types, path, lenient=self.options.lenient)
            raise error

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
        published = self.published
        if not published.enumerated:
            pairs = self._run(
                "SELECT DISTINCT survey, segments FROM rr_rows WHERE survey IN "  # noqa: S608
                f"({', '.join(map(quoted, published.surveys))}) AND strlen(segments) <= {LONGEST_TEXT}"
            )
            published = published.discover(pairs)
        self._tables(published)
        query = Query(published, "rr_rows", malformed, bool(earlier), invites=published.by_invitation)
        if not self.options.deduplicate:
            counts = Counts(published, self._run(query.without_deduplication()))
            self._refused(counts, query, None)
        else:
            counts = self._deduplicated(query)
            if counts.invited and not query.invites:  # invites where none was announced: compare those too
                query = Query(published, "rr_rows", malformed, bool(earlier), invites=True)
                counts = self._deduplicated(query)
        counts.malformed += self._rejected()
        if counts.malformed and not self.options.lenient:
            raise self._fault()
        return counts

    def _deduplicated(self, query: Query) -> Counts:
        if self.options.refused_to is None:
            return Counts(query.published, self._run(query.deduplicated()))
        self._make("TABLE", "rr_ids", query.one_line_an_id())
        counts = Counts(query.published, self._run(query.deduplicated("rr_ids")))
        if not counts.invited or query.invites:
            self._refused(counts, query, "rr_ids")
        return counts

    def _refused(self, counts: Counts, query: Query, ids: str | None) -> None:
        path = self.options.refused_to
        if path is None:
            return
        from server_agg.batch.writing import format_of

        if ids is None:
            self._make("TABLE", "rr_ids", "SELECT NULL::UUID AS uid, 0 AS fault WHERE false")
        rows = query.refused_rows("rr_ids")
        self._run(f"COPY ({rows}) TO {quoted(path)} {FORMATS[format_of(path)]}", to=path)

    def _rows_view(self, scans: list[Scan], earlier: list[Scan], *, malformed: bool) -> None:
        parts = []
        for scan, old in [*((s, False) for s in scans), *((s, True) for s in earlier)]:
            wanted = list(COLUMNS)
            if malformed:
                wanted.append("malformed" if scan.malformed else "false AS malformed")
            if earlier:
                wanted.append(f"{str(old).lower()} AS old")
            parts.append(f"SELECT {', '.join(wanted)} FROM ({scan.sql})")  # noqa: S608
        self._make("VIEW", "rr_rows", " UNION ALL ".join(parts))

    def _tables(self, published: Published) -> None:
        self._make("TABLE", "rr_questions", "SELECT 0 AS number, '' AS survey, '' AS question, '' AS p00, '' AS p11, "
                   "0 AS rounds, false AS invite_only WHERE false")  # fmt: skip
        for i, (digest, question) in enumerate(published.questions):
            design, closed = question.design, published.surveys[digest].invite_only
            texts = ", ".join(map(quoted, (digest, question.id, str(design.p00), str(design.p11))))
            self._execute(f"INSERT INTO rr_questions VALUES ({i}, {texts}, {question.rounds}, {closed})")  # noqa: S608
        self._make("TABLE", "rr_texts", "SELECT 0 AS place, '' AS survey, '' AS segments WHERE false")
        values = [f"({i}, {quoted(survey)}, {quoted(text)})" for i, (survey, text) in enumerate(published.texts)]
        for start in range(0, len(values), 1000):
            self._execute(f"INSERT INTO rr_texts VALUES {', '.join(values[start : start + 1000])}")  # noqa: S608

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
            raise SourceUnavailable(f"the batch needs more memory or disk: {_first_line(error)}") from None
        except duckdb.Error as error:
            if to is not None and isinstance(error, duckdb.IOException) and Path(to).name in str(error):
                raise RefusedNotWritten(to, _first_line(error)) from None
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
            return UnreadableRow("the source", None, _first_line(error), skippable=not self.options.lenient)
        return UnreadableRow("the source", None, "a row is cut off, broken, or has a value of the wrong type")


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
