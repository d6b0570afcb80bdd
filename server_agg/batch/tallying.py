"""`tally_reports`: counts reports, wherever they are stored, and accounts for every row.

Rules
1. All engines give the same integers.  The type of the source decides which engine runs.
2. Every row read is accepted, repeated, or refused for a reason with a name (`REASONS`).
3. Deduplication compares the rows of one call with each other and with those of `earlier`, and with no others.
   - A row that repeats an earlier row is not counted again.
   - A row that contradicts an earlier row is refused; the earlier report stays counted.
   So yesterday's result + today's result with `earlier=yesterday's rows` equals the result of one call for both days,
   unless rows of the two days contradict each other: one call would count neither.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from rrcollect.errors import ParameterError
from rrcollect.extras import extra
from rrcollect.publish.keys import PublicKey
from rrcollect.publish.survey import Survey
from server_agg.batch.databases import copy_table, is_database
from server_agg.batch.duckdb_engine import DuckBatch, Options, Relation, connected
from server_agg.batch.object_stores import file_systems
from server_agg.batch.packed_batch import tally_packed
from server_agg.batch.progress import Progress, reporter
from server_agg.batch.sources import files_of
from server_agg.batch.sql_readers import Scan
from server_agg.batch.summary import BatchResult, Summary
from server_agg.batch.survey_tables import SurveyLike, SurveyTables, surveys_of
from server_agg.count.tallies import Tallies

ALLOWED = "paths, globs, s3:// addresses, a postgresql:// or sqlite:/// URL, or a frame of a tested engine"


def tally_reports(
    source: Any,
    surveys: SurveyLike | Iterable[SurveyLike] = (),
    *,
    trusted: Iterable[PublicKey] = (),
    deduplicate: bool = True,
    earlier: Any = None,
    lenient: bool = False,
    refused_to: str | os.PathLike[str] | None = None,
    progress: Progress | bool | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    temp_directory: str | os.PathLike[str] | None = None,
) -> BatchResult:
    """Count the reports of a source by survey × question × design × segments × round.

    source: files (.jsonl, .csv, either with .gz, .parquet, .rrbits), folders, globs, lists of these, also as s3://,
        gs://, az:// or memory:// addresses; the URL of the collector's database; a DuckDB relation; a Polars, pandas,
        pyarrow, Dask, PySpark or ibis frame of rows (`backends.TESTED` has the list).
    surveys: `Survey`, `Publication` or envelope bytes (verified under `trusted`).  Packed files need none if their own
        envelopes are signed by a trusted key.
    deduplicate: False for data known to hold every report once; then ids are not checked, and tickets not compared.
    earlier: rows that an earlier call counted, not to be counted again; a source of the same type.
    lenient: if True, a row that cannot be read is counted as `malformed`; if False, it is an error.
    refused_to: a file for the refused rows with their reason (for frames: Parquet).
    progress: True for a bar on standard error, a callable for shares from 0 to 1, False for silence; by default a bar
        if standard error is a terminal.
    memory_limit ("4GB"), threads, temp_directory: limits for the embedded engine (DuckDB).  What does not fit into
        memory is written to the temporary folder.

    >>> from datetime import datetime, timezone
    >>> import polars
    >>> from rrcollect import Design, Question, Survey
    >>> question = Question(id="q1", attribute="doped", text="Ever doped?", design=Design("3/4", "3/4"))
    >>> survey = Survey(name="clean-sport", version=1, title="Clean sport", publisher="Example Institute",
    ...                 collector="https://collect.example.org/reports",
    ...                 expires=datetime(2100, 1, 1, tzinfo=timezone.utc), questions=[question])
    >>> row = {"survey": survey.digest, "question": "q1", "round": 0, "design": '{"p00":"3/4","p11":"3/4"}',
    ...        "answer": "1", "id": "0" * 32, "ticket": None, "segments": "{}"}
    >>> result = tally_reports(polars.DataFrame([row, row, row | {"id": "f" * 32, "answer": "2"}]), survey)
    >>> print(result.summary)
    3 rows read: 1 accepted, 1 repeated, 1 refused (1 bad_answer)
    >>> result.tallies.one()
    Tally(design=Design('3/4', '3/4'), n=1, counts=(1,))
    """
    keys = list(trusted)
    known = surveys_of(surveys, keys)
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ParameterError("threads", threads, "a whole number from 1")
    options = Options(
        deduplicate=deduplicate,
        lenient=lenient,
        refused_to=None if refused_to is None else os.fspath(refused_to),
        progress=reporter(progress),
        memory_limit=memory_limit,
        threads=threads,
        temp_directory=None if temp_directory is None else os.fspath(temp_directory),
    )
    if _is_paths(source):
        return _tally_files(source, known, keys, earlier, options)
    if not known:
        raise ParameterError("surveys", surveys, "one survey or more")
    tables = SurveyTables.of(known)
    if _is_relation(source):
        duck = DuckBatch(Relation(source), tables, options)
        if earlier is not None and not _is_relation(earlier):
            raise ParameterError("earlier", earlier, "a DuckDB relation of the same connection, like the source")
        if earlier is None:
            return duck.count([duck.relation_scan(source)], []).result()
        flagged = source.project("*, false AS rr_earlier").union(earlier.project("*, true AS rr_earlier"))
        duck = DuckBatch(Relation(flagged), tables, options)
        scan = duck.relation_scan(flagged)
        return duck.count(*_split(scan)).result()
    return _tally_frame(source, tables, earlier, options)


def _split(scan: Scan) -> tuple[list[Scan], list[Scan]]:
    new, earlier = (replace(scan, sql=f"{scan.sql} WHERE {which} source.rr_earlier") for which in ("NOT", ""))
    return [new], [earlier]


def _is_paths(source: object) -> bool:
    return isinstance(source, (str, os.PathLike)) or (
        isinstance(source, (list, tuple, set, frozenset)) and all(isinstance(p, (str, os.PathLike)) for p in source)
    )


def _is_relation(source: object) -> bool:
    return type(source).__name__ == "DuckDBPyRelation"


def _tally_files(
    source: Any, known: tuple[Survey, ...], keys: list[PublicKey], earlier: Any, options: Options
) -> BatchResult:
    with ExitStack() as stack:
        files, copied = _on_disk(source, options, stack)
        old, old_copied = _on_disk(earlier, options, stack) if earlier is not None else ({}, [])
        result = BatchResult(Tallies(), Summary(0, 0))
        packed = files.pop("packed", [])
        old_packed = old.pop("packed", [])
        if packed:
            result += tally_packed(packed, known, keys, deduplicate=options.deduplicate, earlier=old_packed)
        if files or copied:
            if not known:
                raise ParameterError("surveys", known, "one survey or more")
            connection = stack.enter_context(connected(options))
            for store in file_systems(path for some in (files, old) for paths in some.values() for path in paths):
                connection.register_filesystem(store)
            duck = DuckBatch(connection, SurveyTables.of(known), options)
            scans = [
                duck.file_scans(rows) + duck.file_scans({"csv": copies}, escaped=False)
                for rows, copies in ((files, copied), (old, old_copied))
            ]
            result += duck.count(*scans).result()
        return result


def _on_disk(source: Any, options: Options, stack: ExitStack) -> tuple[dict[str, list[str]], list[str]]:
    """(the files of a source by kind, temporary files with copies of its database tables)."""
    if not _is_paths(source):
        raise ParameterError("earlier", source, "files or a database, like the source")
    listed = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    copied = []
    for url in [str(part) for part in listed if is_database(part)]:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rrcollect-", dir=options.temp_directory))
        path = Path(folder, "reports.csv")
        copy_table(url, path)
        copied.append(str(path))
    rest = [part for part in listed if not is_database(part)]
    return (files_of(rest) if rest or not copied else {}), copied


def _tally_frame(source: Any, tables: SurveyTables, earlier: Any, options: Options) -> BatchResult:
    nw = extra("narwhals.stable.v2", "batch")
    from server_agg.batch.backends import refuse_untested
    from server_agg.batch.frame_engine import FrameBatch

    try:
        frame = nw.from_native(nw.to_native(source, pass_through=True))
        before = None if earlier is None else nw.from_native(nw.to_native(earlier, pass_through=True))
    except TypeError:
        raise ParameterError("source", source, ALLOWED) from None
    refuse_untested(frame)
    if before is not None and before.implementation != frame.implementation:
        raise ParameterError("earlier", type(earlier).__name__, "a frame of the same library as the source")
    batch = FrameBatch(frame, tables, options.lenient, options.deduplicate, before, options.refused_to)
    return batch.counts().result()
