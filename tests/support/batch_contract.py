"""What every engine must say of given rows: the reference's integers, and an account of every row."""

from __future__ import annotations

from typing import Any

from rrcollect.publish.rules import COMPARED, REASONS
from server_agg import BatchResult
from server_agg.batch.sources import COLUMNS
from tests.support import engines
from tests.support.batch_reference import reference

ELSEWHERE = (
    "malformed",
    *COMPARED,
    "unknown_ticket",
    "closed",
    "withdrawn",
)  # not a row's own, or the collector's alone
OWN = [reason for reason in REASONS if reason not in ELSEWHERE]


def check(result: BatchResult, rows: list[dict[str, Any]], earlier: list[dict[str, Any]] = []) -> None:  # noqa: B006
    tallies, repeated, refused = reference(rows, earlier)
    assert result.summary.refused == refused
    assert result.tallies == tallies
    assert (result.summary.rows, result.summary.repeated) == (len(rows), repeated)


def readable(engine: Any, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what a text format cannot say: CSV has no empty text."""
    if engine is engines.comma:
        return [{k: None if v == "" else v for k, v in row.items()} for row in rows]
    return rows


def refusal(row: dict[str, Any], reason: str) -> tuple[Any, ...]:
    """A row as it may be written: in frames no value is missing but a ticket."""
    known = {name: "" if value is None else value for name, value in row.items()}
    known |= {"round": -1 if row["round"] is None else row["round"], "ticket": row["ticket"]}
    return (*(known[name] for name in COLUMNS), reason)
