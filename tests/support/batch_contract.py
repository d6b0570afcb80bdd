"""What every engine must say of given rows: the reference's integers, and an account of every row."""

from __future__ import annotations

from typing import Any

from server_agg import BatchResult
from tests.support import engines
from tests.support.batch_reference import reference


def check(result: BatchResult, rows: list[dict[str, Any]], earlier: list[dict[str, Any]] = []) -> None:  # noqa: B006
    tallies, repeated, refused = reference(rows, earlier)
    assert result.summary.refused == refused
    assert result.tallies == tallies
    assert (result.summary.rows, result.summary.repeated) == (len(rows), repeated)


def readable(engine: Any, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what a text format cannot say: CSV has no empty text; JSON lines keep no white space in segments, and
    have none that are not an object."""
    if engine is engines.comma:
        return [{k: None if v == "" else v for k, v in row.items()} for row in rows]
    if engine is engines.jsonl:
        return [
            row for row in rows if (row["segments"] or "{}").startswith("{") and ": " not in (row["segments"] or "")
        ]
    return rows
