"""Columns that are told by the names of folders, as Hive and Spark write them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pytest

from server_agg import tally_reports
from server_agg.errors import BadColumn
from tests.support import engines
from tests.support.batch_contract import check
from tests.support.batch_reference import SURVEYS, generated


def written(rows: list[dict[str, Any]], folder: Path, *keys: str) -> None:
    table = engines.arrow_table(rows)
    schema = pa.schema([table.schema.field(key) for key in keys])
    partitioning = pyarrow.dataset.partitioning(schema, flavor="hive")
    pyarrow.dataset.write_dataset(table, folder, format="parquet", partitioning=partitioning)


@pytest.mark.parametrize("keys", [("survey",), ("round",), ("survey", "question", "round")], ids=",".join)
def test_columns_of_folders_count_as_columns_of_files(keys: tuple[str, ...], tmp_path: Path) -> None:
    rows = [row for row in generated(random.Random(1), 300, hostile=False) if all(row[key] != "" for key in keys)]
    written(rows, tmp_path, *keys)
    check(tally_reports(tmp_path, SURVEYS), rows)


def test_a_folder_of_another_name_means_nothing(tmp_path: Path) -> None:
    rows = generated(random.Random(2), 50)
    source = engines.parquet(rows, tmp_path)
    (tmp_path / "survey=other").mkdir()
    (tmp_path / "a.parquet").rename(tmp_path / "survey=other" / "a.parquet")
    check(tally_reports(source, SURVEYS), rows)


def test_a_column_that_both_tell_is_refused(tmp_path: Path) -> None:
    rows = generated(random.Random(2), 50)
    written(rows, tmp_path / "question=q1", "round")
    with pytest.raises(BadColumn, match="'question' is in the files and in the names of their folders"):
        tally_reports(tmp_path, SURVEYS)
