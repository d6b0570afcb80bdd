"""`tally_reports`: counts reports, wherever they are stored, and accounts for every row.

Rules
1. All engines give the same integers.  The type of the source decides which engine runs.
2. Every row read is accepted, repeated, or refused for a reason with a name (`REASONS`).
3. Deduplication compares the rows of one call with each other and with those of `earlier`, and with no others.
   - A row that repeats an earlier row is not counted again.
   - A row that contradicts an earlier row is refused; the earlier report stays counted.
   So yesterday's result + today's result with `earlier=yesterday's rows` equals the result of one call for both days,
   unless rows of the two days contradict each other: one call would count neither.
4. An engine that knows all the operations can still count wrong in silence: ClickHouse fills outer joins with defaults,
   ibis on Polars replaces the first match only.  So a frame of an engine that is not in `TESTED` is refused by name.
   A name enters `TESTED` when the contract has held on it: `tests/support/batch_contract.py`, in `make test` or in
   `make reach`, with every reason of refusal, rounds, tickets, choices and numbers among the rows.  Files, databases
   and DuckDB relations are counted by DuckDB itself and need no row here.
5. A survey is the owner's own `Survey` or `Publication`, or the bytes of an envelope; those are verified under the
   keys the caller trusts before anything in them is believed.  Pilots and real surveys are not counted in one call.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from rrcollect.errors import ParameterError
from rrcollect.lazy import extra
from rrcollect.publish.envelope import verify
from rrcollect.publish.keys import PublicKey
from rrcollect.publish.survey import Publication, Survey
from server_agg.batch.databases import copy_table, is_database
from server_agg.batch.duckdb_engine import DuckBatch, Relation, connected
from server_agg.batch.embedded import refuse_collected, rows_of_columns
from server_agg.batch.object_stores import file_systems
from server_agg.batch.packed import tally_packed
from server_agg.batch.sources import files_of
from server_agg.batch.summary import BatchResult, Options, Progress, Summary, reporter
from server_agg.batch.survey_tables import SurveyTables
from server_agg.count.tallies import Tallies, refuse_mixed

TESTED = {
    "polars": "Polars, eager and lazy",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "dask": "Dask",
    "pyspark": "Spark 4 and 3.5",
    "pyspark[connect]": "Spark Connect",
    "ibis/duckdb": "DuckDB by ibis",
    "ibis/polars": "Polars by ibis",
    "ibis/clickhouse": "ClickHouse by ibis (a column `ticket` that is Nullable)",
}
HOW = "to use another engine, run the contract on it first: docs/batch.md, Another engine"
SurveyLike = Survey | Publication | bytes
ALLOWED = "paths, globs, s3:// addresses, a postgresql:// or sqlite:/// URL, or a frame of a tested engine"


def tally_reports(
    source: Any,
    surveys: SurveyLike | Iterable[SurveyLike] = (),
    *,
    column: str | Sequence[str] | None = None,
    encoding: str = "utf-8",
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
        pyarrow, Dask, PySpark or ibis frame of rows (`TESTED` has the list).
    column: the column (or several) of another tool's table in which reports travelled, one or more in a cell
        (`embedded`).  The source is then a table as `analyse` takes it: a frame of any library that narwhals knows, a
        mapping of names to columns, or a file (.csv, .tsv, .jsonl, .parquet, .dta, .sav, .zsav, .por) in this
        `encoding`; `earlier` is not for it, and the surveys' collector must be "carried".
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
    if column is not None:
        if not known:
            raise ParameterError("surveys", surveys, "one survey or more")
        if earlier is not None:
            raise ParameterError("earlier", earlier, "None, with a column: rows of a table are one call's")
        refuse_collected(known)
        source, lenient = rows_of_columns(source, column, encoding, lenient=lenient), True
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
        parts = [[replace(scan, sql=f"{scan.sql} WHERE {which} source.rr_earlier")] for which in ("NOT", "")]
        return duck.count(*parts).result()
    return _tally_frame(source, tables, earlier, options)


def surveys_of(given: SurveyLike | Iterable[SurveyLike], trusted: Iterable[PublicKey] = ()) -> tuple[Survey, ...]:
    """The surveys given one by one or as a list; envelopes are verified under the trusted keys."""
    listed = [given] if isinstance(given, (Survey, Publication, bytes)) else list(given)
    keys = list(trusted)
    found: dict[str, Survey] = {}
    for one in listed:
        if isinstance(one, Survey):
            survey = one
        elif isinstance(one, Publication):
            survey = one.survey
        elif isinstance(one, bytes):
            if not keys:
                raise ParameterError("trusted", keys, "the publisher's public keys, to verify an envelope with")
            survey = Survey.from_payload(verify(one, keys).payload)
        else:
            raise ParameterError("surveys", one, "Survey, Publication, or the bytes of an envelope with trusted keys")
        found[survey.digest] = survey
    refuse_mixed({f"{survey.name!r} ({digest[:12]}…)": survey.pilot for digest, survey in found.items()})
    return tuple(found.values())


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
    from server_agg.batch.frame_engine import FrameBatch

    try:
        frame = nw.from_native(nw.to_native(source, pass_through=True))
        before = None if earlier is None else nw.from_native(nw.to_native(earlier, pass_through=True))
    except TypeError:
        raise ParameterError("source", source, ALLOWED) from None
    name = backend_of(frame)
    if name not in TESTED:  # the contract was not run on it
        raise ParameterError("source", f"a frame of {name}", f"frames of {', '.join(TESTED)}; {HOW}")
    if before is not None and before.implementation != frame.implementation:
        raise ParameterError("earlier", type(earlier).__name__, "a frame of the same library as the source")
    return FrameBatch(frame, tables, options, before).counts().result()


def backend_of(frame: Any) -> str:
    """The name of a narwhals frame's engine, as `TESTED` has it.

    >>> import narwhals.stable.v2 as nw, polars
    >>> backend_of(nw.from_native(polars.DataFrame()))
    'polars'
    """
    name = str(frame.implementation)
    return f"{name}/{frame.to_native().get_backend().name}" if name == "ibis" else name
