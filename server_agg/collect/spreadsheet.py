"""Results as CSV, for spreadsheets (`csv_cells`): a line for each estimate."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

from server_agg.csv_cells import write_csv

__all__ = ["HEAD", "as_csv"]

HEAD = ("survey", "title", "question", "text", "round", "segment", "group", "n", "estimate", "low", "high",
        "level", "method", "epsilon", "delta")  # fmt: skip


def as_csv(surveys: Iterable[dict[str, Any]]) -> str:
    """One line for each estimate: the headline (no segment), every round of a trend, every group of a segment."""
    out = io.StringIO()
    asked = ((survey, question) for survey in surveys for question in survey["questions"])
    write_csv(out, HEAD, (line for survey, question in asked for line in _lines(survey, question)))
    return out.getvalue()


def _lines(survey: dict[str, Any], question: dict[str, Any]) -> Iterator[list[object]]:
    head = [survey["digest"], survey["title"], question["id"], question["text"]]
    promise = [question["promise"]["epsilon"], question["promise"]["delta"]]
    result = question["estimate"]
    if result is None:
        return
    how = [result["level"], result["method"], *promise]
    headline = "all" if question["round"] is None else question["round"]
    yield [*head, headline, "", "", result["n"], result["value"], result["low"], result["high"], *how]
    for row in question["trend"]["rounds"] if question["trend"] else ():
        yield [*head, row["round"], "(round)", "", row["n"], row["value"], row["low"], row["high"], *how]
    for segment in question["segments"]:
        for row in segment["rows"]:
            name = " + ".join(row["cells"]) if len(row["cells"]) > 1 else row["label"]
            cells = [row["n"], row["value"], row["low"], row["high"]]
            yield [*head, question["round"], segment["name"], name, *cells, *how]
