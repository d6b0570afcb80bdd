"""CSV that a spreadsheet may open: the one writer of it, and the one list of what it must not begin with.

Rule.  A cell of text that a spreadsheet would take for a formula gets an apostrophe in front, and so does one that
begins with an apostrophe: taking one apostrophe away gives back the text.  Numbers are written by us and stay numbers.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import IO

__all__ = ["FORMULA", "harmless", "write_csv"]

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")


def harmless(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet would run it.

    >>> harmless("=1+1"), harmless("plain")
    ("'=1+1", 'plain')
    """
    return f"'{text}" if text.startswith(FORMULA) else text


def write_csv(file: IO[str], head: Sequence[str], rows: Iterable[Sequence[object]]) -> int:
    """Write a heading and the rows; returns how many."""
    writer, written = csv.writer(file, lineterminator="\n"), 0
    writer.writerow(head)
    for row in rows:
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in row])
        written += 1
    return written
