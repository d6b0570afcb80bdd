"""The flat row: one report as nine columns, the same in CSV, Parquet, databases and frames.

    survey question round p00 p11 answer id invite segments

Rules
1. All columns are text but `round` and `answer`, which are whole numbers (`answer` may be a boolean column).
2. `segments` is the canonical JSON text of the segments object, "{}" if there is none; `invite` alone may be null.
3. All nine must be there; their order is free, and further columns are not looked at.
4. A missing value is judged like a wrong one: a null survey is an unknown survey, a null answer a bad answer.
"""

from __future__ import annotations

from rrcollect.publish.canonical import canonical
from rrcollect.publish.report import Report

__all__ = ["COLUMNS", "NUMBERS", "TEXTS", "Row", "flat_row"]

COLUMNS = ("survey", "question", "round", "p00", "p11", "answer", "id", "invite", "segments")
NUMBERS = ("round", "answer")
TEXTS = tuple(name for name in COLUMNS if name not in NUMBERS)
TEXT_ALLOWED = "text"
NUMBER_ALLOWED = {"round": "whole numbers", "answer": "whole numbers 0 and 1, or booleans"}

Row = dict[str, str | int | None]


def flat_row(report: Report) -> Row:
    """The row of a report.

    >>> from rrcollect import Design
    >>> report = Report(survey="0" * 64, question="q1", design=Design("3/4", "3/4"), answer=1, id="f" * 32,
    ...                 segments={"region": "north"})
    >>> {name: value for name, value in flat_row(report).items() if name not in ("survey", "id")}
    {'question': 'q1', 'round': 0, 'p00': '3/4', 'p11': '3/4', 'answer': 1, 'invite': None,
     'segments': '{"region":"north"}'}
    """
    return {
        "survey": report.survey,
        "question": report.question,
        "round": report.round,
        "p00": str(report.design.p00),
        "p11": str(report.design.p11),
        "answer": report.answer,
        "id": report.id,
        "invite": report.invite,
        "segments": canonical(dict(report.segments)).decode(),
    }
