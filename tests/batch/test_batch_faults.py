"""Sources that are broken as a whole: a clear error that names file, row or column; or counted, where asked for."""

from __future__ import annotations

import csv
import gzip
import json
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import server_agg
from rrcollect import ParameterError, RRCollectError, SigningKey
from rrcollect.errors import UntrustedKey
from server_agg import tally_reports, write_reports
from server_agg.batch import summary as progress
from server_agg.batch.survey_tables import CountedAnswers
from server_agg.errors import BadColumn, DataUnavailable, UnreadableReports
from server_agg.files import SEPARATORS, original
from tests.inside.batch import COLUMNS, Summary, SurveyTables
from tests.inside.files import FORMULA, harmless
from tests.inside.publish import Segment
from tests.support import engines
from tests.support.batch_reference import CLOSED, KEY, OPEN, PUBLICATION, SURVEYS, reports, row


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "csv", "csv.gz", "parquet"])
def test_what_is_written_reads_back(ending: str, tmp_path: Path) -> None:
    tickets = [f"{number:032x}" for number in range(12)]
    given = reports(3) + [
        replace(reports(1)[0], survey=CLOSED.digest, ticket=text, id=f"{99 + i:032x}") for i, text in enumerate(tickets)
    ]
    path = tmp_path / f"night.{ending}"
    assert write_reports(path, given) == len(given)
    result = tally_reports(path, SURVEYS, refused_to=tmp_path / "refused.jsonl")
    assert (result.summary.accepted, result.summary.refused_rows) == (len(given), 0)
    again = tally_reports([path, path, tmp_path], SURVEYS)  # named three times, read once
    assert again.summary.rows == len(given)
    if ending == "csv":
        with path.open(newline="", encoding="utf-8") as file:
            cells = [row["ticket"] for row in csv.DictReader(file)]
        assert cells[:3] == [""] * 3
        assert cells[3:] == tickets
        assert not any(cell.startswith(tuple(set(FORMULA) - {"'"})) for cell in cells)


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "csv"])
def test_a_file_that_ends_in_mid_row(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"night.{ending}"
    write_reports(path, reports(5))
    whole = gzip.decompress(path.read_bytes()) if ending.endswith("gz") else path.read_bytes()
    cut = whole[: -(len(whole.splitlines()[-1]) // 2)]
    if ending == "csv":
        cut = whole[: whole.rindex(b",0000") + 1]
    path.write_bytes(gzip.compress(cut) if ending.endswith("gz") else cut)
    with pytest.raises(UnreadableReports) as caught:
        tally_reports(path, OPEN)
    assert caught.value.where.endswith(path.name)
    assert caught.value.line == (6 if ending == "csv" else 5)
    lenient = tally_reports(path, OPEN, lenient=True)
    assert str(lenient.summary) == "5 rows read: 4 accepted, 0 repeated, 1 refused (1 malformed)"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ('{"answer":1}', "answer is a int"),
        ('{"answer":true}', "answer is a bool"),
        ('{"answer":["1"]}', "answer is a list"),
        ('{"answer":"1","round":"0"}', "round is a str"),
        ('{"answer":"1","round":1.0}', "round is a float"),
        ('{"ticket":"x"}', "not a report"),
        ("[1]", "not a report"),
        ("{}", "not a report"),
        ("nonsense", "not JSON"),
    ],
)
def test_a_bad_line_of_json(bad: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "night.jsonl"
    write_reports(path, reports(3))
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], bad, lines[2]]) + "\n")
    with pytest.raises(UnreadableReports, match=why) as caught:
        tally_reports(path, OPEN)
    assert (caught.value.line, pickle.loads(pickle.dumps(caught.value)).line) == (3, 3)  # noqa: S301
    assert tally_reports(path, OPEN, lenient=True).summary == Summary(4, 3, 0, {"malformed": 1})


@pytest.mark.parametrize("bad", ["x", "1.0", "01", "+1", "true", "1e3"])
def test_a_bad_number_in_csv(bad: str, tmp_path: Path) -> None:
    engines.comma([row(), row(id="1" * 32, round=bad)], tmp_path)
    with pytest.raises(UnreadableReports, match="round is") as caught:
        tally_reports(tmp_path, OPEN)
    assert caught.value.line == 3
    assert tally_reports(tmp_path, OPEN, lenient=True).summary == Summary(2, 1, 0, {"malformed": 1})


def test_csv_without_a_column_or_with_broken_lines(tmp_path: Path) -> None:
    path = tmp_path / "night.csv"
    path.write_text("survey,question\n")
    with pytest.raises(BadColumn, match="'round' is missing"):
        tally_reports(path, OPEN)
    path.write_bytes(b"")
    with pytest.raises(BadColumn, match="missing"):
        tally_reports(path, OPEN)
    engines.comma([row()], tmp_path)
    path.unlink()
    rows = tmp_path / "rows.csv"
    for broken in (b"a,b\r\n", b"1,2,3,4,5,6,7,8,9\r\n", b'"never closed,\r\n', b"\xff,1,1,1,1,1,1,1\r\n"):
        (tmp_path / "x").mkdir(exist_ok=True)
        (tmp_path / "x" / "y.csv").write_bytes(rows.read_bytes() + broken)
        with pytest.raises(UnreadableReports, match=r"y\.csv"):
            tally_reports(tmp_path / "x", OPEN)
        assert tally_reports(tmp_path / "x", OPEN, lenient=True).summary == Summary(2, 1, 0, {"malformed": 1})


def wrong_rounds(kind: str) -> tuple[Any, int]:
    """A column of rounds of another type, and how many of four can be read as the round 0."""
    return {
        "text": (pa.array(["0", "0", "x", "00"]), 2),
        "long text": (pa.array(["0", "9" * 12, "9" * 30, "-" + "9" * 30]), 1),
        "float": (pa.array([0.0, -0.0, 0.5, 1e300]), 2),
        "large float": (pa.array([0.0, -1.0, 2.0**40, -(2.0**40)]), 1),
        "date": (pa.array([1, 2, 3, 4], pa.date32()), 0),
    }[kind]


@pytest.mark.parametrize("kind", ["text", "long text", "float", "large float", "date"])
@pytest.mark.parametrize("engine", ["parquet", "polars", "pandas", "pyarrow", "dask"])
def test_a_column_of_rounds_of_another_type(engine: str, kind: str, tmp_path: Path) -> None:
    values, good = wrong_rounds(kind)
    table = engines.arrow_table([row(id=f"{i:032x}") for i in range(4)])
    table = table.set_column(table.schema.get_field_index("round"), "round", values)
    pq.write_table(table, tmp_path / "rows.parquet")
    source: Any = table
    if engine == "parquet":
        source = tmp_path
    elif engine == "polars":
        source = pl.from_arrow(table)
    elif engine in ("pandas", "dask"):
        source = table.to_pandas(types_mapper=pd.ArrowDtype) if kind == "date" else table.to_pandas()
        if engine == "dask":
            import dask.dataframe as dd

            source = dd.from_pandas(source, npartitions=2)
    with pytest.raises(BadColumn, match="'round' is of type") as caught:
        tally_reports(source, OPEN)
    assert "whole numbers" in caught.value.allowed
    summary = tally_reports(source, OPEN, lenient=True).summary
    reason = "unknown_round" if kind.startswith("l") else "malformed"  # a whole number, if not a round
    assert summary == Summary(4, good, 0, {reason: 4 - good})


def test_text_columns_of_another_type_and_missing_values(tmp_path: Path) -> None:
    table = engines.arrow_table([row(id=f"{i:032x}") for i in range(2)])
    answers = [("answer", kind) for kind in (pa.int64(), pa.uint8(), pa.bool_())]
    for column, kind in (("id", pa.int64()), ("question", pa.bool_()), ("segments", pa.float64()), *answers):
        wrong = table.set_column(table.schema.get_field_index(column), column, pa.array([1, None]).cast(kind))
        pq.write_table(wrong, tmp_path / "rows.parquet")
        reason = {"id": "bad_id", "question": "unknown_question", "segments": "undeclared_segment"}.get(column)
        reason = reason or "bad_answer"
        for source in (tmp_path, wrong, pl.from_arrow(wrong)):
            with pytest.raises(BadColumn, match=f"'{column}' is of type .*: use text"):
                tally_reports(source, OPEN)
            assert tally_reports(source, OPEN, lenient=True).summary == Summary(2, 0, 0, {"malformed": 1, reason: 1})


def test_pandas_objects_of_several_types() -> None:
    frame = pd.DataFrame([row(), row(id=5), row(id=None)])[list(COLUMNS)]
    with pytest.raises(UnreadableReports, match="mixes types") as caught:
        tally_reports(frame, OPEN)
    assert caught.value.line == 2


def test_one_parquet_file_of_another_type_is_named(tmp_path: Path) -> None:
    table = engines.arrow_table([row()])
    pq.write_table(table, tmp_path / "a.parquet")
    wrong = table.set_column(table.schema.get_field_index("answer"), "answer", pa.array([1]))
    pq.write_table(wrong, tmp_path / "b.parquet")
    with pytest.raises(BadColumn, match=r"b\.parquet.*'answer'"):
        tally_reports(tmp_path, OPEN)
    assert tally_reports(tmp_path, OPEN, lenient=True).summary == Summary(2, 1, 0, {"malformed": 1})
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-20])
    for lenient in (False, True):  # which would not help, and is not recommended
        with pytest.raises(UnreadableReports, match=r"b\.parquet") as caught:
            tally_reports(tmp_path, OPEN, lenient=lenient)
        assert "lenient" not in str(caught.value)
        assert pickle.loads(pickle.dumps(caught.value)).skippable is False  # noqa: S301
    pq.write_table(table.drop_columns(["id"]), tmp_path / "b.parquet")
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(BadColumn, match="'id' is missing"):
        tally_reports(tmp_path, OPEN)


def test_other_objects_are_not_sources(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match="names no file"):
        tally_reports(tmp_path / "*.parquet", OPEN)
    with pytest.raises(DataUnavailable, match="names no file"):
        tally_reports(tmp_path, OPEN)
    with pytest.raises(DataUnavailable, match=r"there is no file .*night\.jsonl"):
        tally_reports(tmp_path / "night.jsonl", OPEN)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ParameterError, match="files ending in"):
        tally_reports(tmp_path / "notes.txt", OPEN)
    for source in (5, object(), None):
        with pytest.raises(ParameterError, match="source"):
            tally_reports(source, OPEN)
    with pytest.raises(ParameterError, match="surveys"):
        tally_reports(engines.polars([row()], tmp_path), [])
    with pytest.raises(ParameterError, match="surveys"):
        tally_reports(engines.polars([row()], tmp_path), ["survey"])
    with pytest.raises(ParameterError, match="threads"):
        tally_reports(engines.polars([row()], tmp_path), OPEN, threads=0)
    with pytest.raises(ParameterError, match="earlier"):
        tally_reports(engines.polars([row()], tmp_path), OPEN, earlier=engines.pyarrow([row()], tmp_path))
    with pytest.raises(ParameterError, match="refused_to"):
        tally_reports(engines.polars([row()], tmp_path), OPEN, refused_to=tmp_path / "x.csv")


def test_memory_that_is_not_an_amount_and_memory_that_is_too_little(tmp_path: Path) -> None:
    write_reports(tmp_path / "night.jsonl", reports(5))
    for word in ("foo", "", "4", "1e400GB"):
        with pytest.raises(ParameterError, match="memory_limit is .* such as 512MB or 4GB"):
            tally_reports(tmp_path, OPEN, memory_limit=word)
    with pytest.raises(DataUnavailable, match="more memory"):
        tally_reports(tmp_path, OPEN, memory_limit="1KB")
    assert tally_reports(tmp_path, OPEN, memory_limit="100MB").summary.accepted == 5


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_refused_rows_that_cannot_be_written_are_not_the_fault_of_the_source(ending: str, tmp_path: Path) -> None:
    write_reports(tmp_path / "night.jsonl", reports(5))
    wanted = tmp_path / "absent" / f"refused.{ending}"
    for deduplicate in (True, False):
        with pytest.raises(DataUnavailable, match="cannot be written") as caught:
            tally_reports(tmp_path / "night.jsonl", OPEN, refused_to=wanted, deduplicate=deduplicate)
        assert "lenient" not in str(caught.value)
        assert str(wanted) in str(pickle.loads(pickle.dumps(caught.value)))  # noqa: S301


def test_a_source_cut_off_is_not_taken_for_refused_rows_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "night.jsonl").write_text('{"answer":"1","des')
    with pytest.raises(UnreadableReports, match="line 1"):
        tally_reports(tmp_path / "night.jsonl", OPEN, refused_to=tmp_path / "refused.csv")


def test_surveys_are_verified_if_they_come_as_envelopes() -> None:
    frame = engines.polars([row()], Path())
    assert tally_reports(frame, PUBLICATION).summary.accepted == 1
    assert tally_reports(frame, PUBLICATION.envelope, trusted=[KEY.public]).summary.accepted == 1
    with pytest.raises(ParameterError, match="trusted"):
        tally_reports(frame, PUBLICATION.envelope)
    with pytest.raises(UntrustedKey):
        tally_reports(frame, PUBLICATION.envelope, trusted=[SigningKey.generate().public])


def test_the_account_of_rows_is_checked_and_reads_back() -> None:
    with pytest.raises(ParameterError, match="every row is accounted for"):
        Summary(10, 9)
    with pytest.raises(ParameterError, match="reasons among"):
        Summary(1, 0, 0, {"dull": 1})
    result = tally_reports(engines.polars([row(), row(answer="7", id="1" * 32)], Path()), OPEN)
    assert server_agg.BatchResult.from_json(result.to_json()) == result
    assert "q1, round 0: n = 1, ones = 1" in str(result)
    assert json.loads(result.to_json())["summary"]["refused"] == {"bad_answer": 1}
    with pytest.raises(ParameterError):
        server_agg.BatchResult(result.tallies, Summary(5, 5))
    assert (result + result).summary.rows == 4


def test_small_memory_one_thread_and_progress(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.001)
    write_reports(tmp_path / "a.parquet", reports(2000))
    told: list[float] = []
    options = {"memory_limit": "256MB", "threads": 1, "temp_directory": tmp_path}
    result = tally_reports(tmp_path / "a.parquet", OPEN, progress=told.append, **options)
    assert (result.summary.accepted, told[-1]) == (2000, 1.0)
    assert all(0 <= share <= 1 for share in told)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet"]
    tally_reports(tmp_path / "a.parquet", OPEN)
    assert capsys.readouterr() == ("", "")
    tally_reports(tmp_path / "a.parquet", OPEN, progress=True)
    assert "100%" in capsys.readouterr().err


def test_a_batch_beyond_the_memory_is_a_clear_error(tmp_path: Path) -> None:
    write_reports(tmp_path / "a.parquet", reports(200))
    with pytest.raises(RRCollectError, match="memory|readable"):
        tally_reports(tmp_path / "a.parquet", OPEN, memory_limit="1KB")


def test_nothing_is_left_behind_on_a_relation_s_connection(tmp_path: Path) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.register("given", engines.arrow_table([row()]))
    tally_reports(connection.table("given"), SURVEYS)
    names = connection.execute("SELECT table_name FROM information_schema.tables").fetchall()
    assert [name for (name,) in names if name.startswith("rr_")] == []


def test_rows_and_codes_agree() -> None:
    tables = SurveyTables.of(SURVEYS)
    flat = reports(1, segments={"region": "north"})[0].row
    code = tables.code("|".join(map(str, (flat.survey, flat.question, flat.round, flat.segments))))
    ((key, tally),) = tables.tallies({code: CountedAnswers(3, Counter({"1": 2, "0": 1}))}).items()
    assert (key.segments, tally.n, tally.ones) == ((("region", "north"),), 3, 2)


def test_refused_rows_in_csv_hold_nothing_that_a_spreadsheet_runs(tmp_path: Path) -> None:
    hostile = ["=1+1", "+1", "-1", "@a", "＝1", "\tx", "'x", "harmless", 'x;=HYPERLINK("a")', 'x;"=1"', "x\t=1", "x =1"]
    rows = [row(question=text, id=text, answer=text) for text in hostile]
    (tmp_path / "in").mkdir()
    tally_reports(engines.parquet(rows, tmp_path / "in"), SURVEYS, refused_to=tmp_path / "refused.csv")
    with (tmp_path / "refused.csv").open(newline="", encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    assert {cell["reason"] for cell in written} == {"unknown_question"}
    for column in ("question", "id", "answer"):
        cells = [cell[column] for cell in written]
        assert sorted(cells) == sorted(harmless(text) for text in hostile)
        assert sorted(map(original, cells)) == sorted(hostile)
    for separator in SEPARATORS:  # as a spreadsheet with other settings reads it
        with (tmp_path / "refused.csv").open(newline="", encoding="utf-8") as file:
            found = [cell for line in csv.reader(file, delimiter=separator) if separator not in "\r\n" for cell in line]
        assert not [cell for cell in found if cell.lstrip(' "').startswith(tuple(set(FORMULA) - {"'"}))]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize(("name", "others"), [("night [1]", ["night 1"]), ("n*", ["na", "nb"]), ("n?", ["na"])])
def test_a_file_found_is_never_a_pattern(name: str, others: list[str], ending: str, tmp_path: Path) -> None:
    for n, other in enumerate(others):
        write_reports(tmp_path / f"{other}.{ending}", reports(5 + n))
    write_reports(tmp_path / f"{name}.{ending}", reports(3))
    assert tally_reports(tmp_path / f"{name}.{ending}", OPEN).summary.rows == 3
    (tmp_path / "[ab]").mkdir()
    write_reports(tmp_path / "[ab]" / f"x.{ending}", reports(2))
    assert tally_reports(tmp_path / "[ab]", OPEN).summary.rows == 2


def test_a_name_that_the_engine_cannot_spell_is_refused(tmp_path: Path) -> None:
    for name, n in (("a\\[1].jsonl", 3), ("a[1.jsonl", 5)):
        write_reports(tmp_path / name, reports(n))
    with pytest.raises(ParameterError, match="backslash"):
        tally_reports(tmp_path / "a\\[1].jsonl", OPEN)


def test_a_segment_s_text_reads_back_from_csv(tmp_path: Path) -> None:
    values = ["=1", "a;=1", "'quoted'", "the 'other' one", "-", "a, -b"]
    asked = OPEN.model_copy(update={"segments": {"region": Segment.model_validate(Segment.from_plain(values))}})
    given = [replace(one, survey=asked.digest, id=f"{n:032x}", segments={"region": value})
             for n, value in enumerate(values) for one in reports(1)]  # fmt: skip
    assert write_reports(tmp_path / "night.csv", given) == len(values)
    counted = tally_reports(tmp_path / "night.csv", asked)
    assert {dict(key.segments)["region"] for key in counted.tallies} == set(values)
