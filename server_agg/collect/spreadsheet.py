"""Results as CSV, for spreadsheets.

A cell of text that a spreadsheet would take for a formula (it begins with =, +, -, @, a tab or a line break) gets an
apostrophe in front; numbers are written by us and stay numbers.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["HEAD", "as_csv", "harmless"]

HEAD = ("survey", "title", "question", "text", "round", "segment", "group", "n", "estimate", "low", "high",
        "level", "method", "epsilon", "delta")  # fmt: skip


def harmless(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet would run it.

    >>> harmless("=1+1"), harmless("plain")
    ("'=1+1", 'plain')
    """
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠") else text


def as_csv(surveys: Iterable[dict[str, Any]]) -> str:
    """One line for each estimate: the headline (no segment), every round of a trend, every group of a segment."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(HEAD)
    for survey in surveys:
        for question in survey["questions"]:
            for line in _lines(survey, question):
                writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in line])
    return out.getvalue()


def _lines(survey: dict[str, Any], question: dict[str, Any]) -> Iterator[list[object]]:
    head = [survey["digest"], survey["title"], question["id"], question["text"]]
    promise = [question["promise"]["epsilon"], question["promise"]["delta"]]
    result = question["estimate"]
    if result is None:
        return
    how = [result["level"], result["method"], *promise]
    yield [*head, question["round"], "", "", result["n"], result["value"], result["low"], result["high"], *how]
    for row in question["trend"]["rounds"] if question["trend"] else ():
        yield [*head, row["round"], "(round)", "", row["n"], row["value"], row["low"], row["high"], *how]
    for segment in question["segments"]:
        for row in segment["rows"]:
            name = " + ".join(row["cells"]) if len(row["cells"]) > 1 else row["label"]
            cells = [row["n"], row["value"], row["low"], row["high"]]
            yield [*head, question["round"], segment["name"], name, *cells, *how]
