"""What every engine must say of given rows: the reference's integers, and an account of every row.

Rows for an engine come from `rows_of`: every reason of refusal, repeats, rounds, tickets, choices with few and with
many texts, and numbers are among them.  What cannot be read at all is in `check_lenient`.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from server_agg import REASONS, BatchResult, tally_reports
from server_agg.errors import BadColumn
from tests.inside.batch import COLUMNS
from tests.inside.publish import COMPARED
from tests.support import engines
from tests.support.batch_reference import SURVEYS, faulty_rows, generated, reasons_of, reference

ELSEWHERE = (
    "malformed",
    *COMPARED,
    "unknown_ticket",
    "closed",
    "withdrawn",
)  # not a row's own, or the collector's alone
OWN = [reason for reason in REASONS if reason not in ELSEWHERE]
Rows = list[dict[str, Any]]


def rows_of(seed: int, engine: Any = None) -> Rows:
    """Rows that an engine must judge, as it can be given them."""
    return covering(readable(engine, [*generated(random.Random(seed), 500), *_faulty(seed)]))


def _faulty(seed: int) -> Rows:
    return random.Random(seed).sample(faulty_rows(), 650)


def covering(rows: Rows) -> Rows:
    """The same rows; it fails if a reason or a kind of question is not among them."""
    assert {*OWN, *COMPARED, "repeated", None} <= {*reasons_of(rows)}
    assert {"q1", "q2", "q4", "q5", "q6", "q7"} <= {row["question"] for row in rows}
    return rows


def check(result: BatchResult, rows: list[dict[str, Any]], earlier: list[dict[str, Any]] = []) -> None:  # noqa: B006
    tallies, repeated, refused = reference(rows, earlier)
    assert result.summary.refused == refused
    assert result.tallies == tallies
    assert (result.summary.rows, result.summary.repeated) == (len(rows), repeated)


def check_lenient(source: Any, rows: Rows) -> None:
    """The frame of these rows with rounds as floating point, one of them 0.5: refused, and by `lenient` malformed."""
    import narwhals.stable.v2 as nw

    sent = Counter(row["id"] for row in rows)
    told = zip(rows, reasons_of(rows), strict=True)
    odd = next(row for row, reason in told if reason is None and sent[row["id"]] == 1 and not row["ticket"])
    number = nw.when(nw.col("id") == odd["id"]).then(nw.lit(0.5)).otherwise(nw.col("round").cast(nw.Float64))
    frame = nw.from_native(source).with_columns(round=number).to_native()
    with pytest.raises(BadColumn, match="'round' is of type .*whole numbers"):
        tally_reports(frame, SURVEYS)
    summary = tally_reports(frame, SURVEYS, lenient=True).summary
    tallies, repeated, refused = reference([row for row in rows if row is not odd])
    assert summary.refused == {**refused, "malformed": 1}
    assert (summary.rows, summary.accepted, summary.repeated) == (
        len(rows),
        sum(tally.n for tally in tallies.values()),
        repeated,
    )


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
