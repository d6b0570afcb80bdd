"""Sources in object stores, on fsspec's `memory://`; moto's S3 server is a part of `make reach`."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from rrcollect import ParameterError
from server_agg import tally_reports
from server_agg.errors import BadColumn, DataUnavailable, UnreadableReports
from tests.support import engines
from tests.support.batch_contract import check, rows_of
from tests.support.batch_reference import SURVEYS, generated


@pytest.fixture
def memory() -> Iterator[Any]:
    store = fsspec.filesystem("memory")
    yield store
    for path in store.ls("/", detail=False):
        store.rm(path, recursive=True)


def stored(engine: Any, rows: list[dict[str, Any]], folder: Path, store: Any, place: str) -> None:
    """What the engine would be given, put there."""
    engine(rows, folder)
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file, store.open(f"{place}/{path.relative_to(folder)}", "wb") as out:
                shutil.copyfileobj(file, out)


@pytest.mark.parametrize("engine", engines.FILES, ids=lambda e: e.__name__)
def test_files_in_a_store_count_as_on_disk(engine: Any, memory: Any, tmp_path: Path) -> None:
    rows = rows_of(1, engine)
    stored(engine, rows, tmp_path, memory, "memory://lake/night")
    check(tally_reports("memory://lake/night", SURVEYS), rows)
    check(tally_reports("memory://lake/n*", SURVEYS), rows)


def test_earlier_rows_may_lie_in_a_store_and_new_ones_on_disk(memory: Any, tmp_path: Path) -> None:
    rows = rows_of(3)
    old, new = rows[:600], rows[400:]
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    stored(engines.parquet, old, tmp_path / "old", memory, "memory://lake/old")
    source = engines.jsonl(new, tmp_path / "new")
    check(tally_reports(source, SURVEYS, earlier="memory://lake/old"), new, old)


def test_a_name_that_was_found_is_not_taken_for_a_pattern(memory: Any, tmp_path: Path) -> None:
    rows = generated(random.Random(2), 60)
    for number, name in enumerate(("a*b", "axb", "a[x]b")):
        (tmp_path / str(number)).mkdir()
        stored(engines.jsonl, rows[number::3], tmp_path / str(number), memory, f"memory://lake/{name}")
    check(tally_reports("memory://lake/a*b/a.jsonl", SURVEYS), rows[0::3][: len(rows[0::3]) // 2])
    check(tally_reports("memory://lake/a[x]b", SURVEYS), rows[2::3])
    check(tally_reports("memory://lake/a*", SURVEYS), rows)


def test_what_is_not_there_or_broken_is_named(memory: Any) -> None:
    with pytest.raises(DataUnavailable, match="no file 'memory://lake/none.csv'"):
        tally_reports("memory://lake/none.csv", SURVEYS)
    memory.pipe("memory://lake/_temporary/x.csv", b"x")
    with pytest.raises(DataUnavailable, match="names no file"):
        tally_reports("memory://lake", SURVEYS)
    memory.pipe("memory://lake/bad.csv", b"survey,question\n1,2\n")
    with pytest.raises(BadColumn, match="memory://lake/bad.csv"):
        tally_reports("memory://lake/bad.csv", SURVEYS)
    memory.pipe("memory://lake/cut.jsonl", b'{"survey":')
    with pytest.raises(UnreadableReports, match="memory://lake/cut.jsonl, line 1"):
        tally_reports("memory://lake/cut.jsonl", SURVEYS)
    memory.pipe("memory://lake/night.rrbits", b"")
    with pytest.raises(ParameterError, match="copy it first"):
        tally_reports("memory://lake/night.rrbits", SURVEYS)


def test_other_protocols_and_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match=r"s3://, gs://, az://, memory://"):
        tally_reports("ftp://somewhere/night.csv", SURVEYS)

    def missing(protocol: str) -> None:
        raise ImportError("Install s3fs")

    monkeypatch.setattr(fsspec, "filesystem", missing)
    with pytest.raises(DataUnavailable, match="pip install s3fs"):
        tally_reports("s3://bucket/night.csv", SURVEYS)


def test_the_embedded_engine_downloads_no_extension() -> None:
    from server_agg.batch.duckdb_engine import connected
    from server_agg.batch.summary import Options

    with connected(Options()) as connection:
        for setting in ("autoinstall_known_extensions", "autoload_known_extensions"):
            assert connection.execute(f"SELECT current_setting('{setting}')").fetchall() == [(False,)]
