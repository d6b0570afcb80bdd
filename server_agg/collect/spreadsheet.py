"""Results as CSV, for spreadsheets (`csv_cells`): a line for each estimate."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from server_agg.csv_cells import write_csv

HEAD = ("survey", "title", "question", "text", "round", "segment", "group", "option", "n", "estimate", "low", "high",
        "unit", "level", "method", "epsilon", "delta")  # fmt: skip


def as_csv(surveys: Iterable[dict[str, Any]]) -> str:
    """One line for each estimate: the headline (no segment), every round of a trend, every group of a segment; of a
    choice each of these for every option.  A share has no unit."""
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
    unit = question["scale"]["unit"] if question["kind"] == "number" else ""
    how = [unit, result["level"], result["method"], *promise]
    headline = "all" if question["round"] is None else question["round"]
    for option, row in _options(result, lambda whole: [whole]):
        yield [*head, headline, "", "", option, result["n"], *_bar(row), *how]
    for option, row in _options(question["trend"] or {}, lambda whole: whole.get("rounds", ())):
        yield [*head, row["round"], "(round)", "", option, row["n"], *_bar(row), *how]
    for segment in question["segments"]:
        for option, row in _options(segment, lambda whole: whole["rows"]):
            name = " + ".join(row["cells"]) if len(row["cells"]) > 1 else row["label"]
            yield [*head, question["round"], segment["name"], name, option, row["n"], *_bar(row), *how]


def _options(whole: dict[str, Any], rows: Callable[[dict[str, Any]], Iterable[Any]]) -> Iterator[tuple[str, Any]]:
    """The rows of the whole, or those of every option with its label."""
    for part in whole.get("options", [whole]):
        yield from ((part["label"] if "options" in whole else "", row) for row in rows(part))


def _bar(row: dict[str, Any]) -> list[object]:
    return [row["value"], row["low"], row["high"]]
