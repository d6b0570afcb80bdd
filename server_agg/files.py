"""Files: one that appears under its name when it is whole, and CSV that a spreadsheet may open.

Rules of a new file
1. Until it is whole and on disk it is stored beside its place under a hidden name, keeping the file extension, which
   selects the format.
2. If anything fails (a full disk, a crash of the block) nothing of it is left, and what was there before still is.
3. Two writers of one name have two hidden names: the last one to finish wins, and each file is whole.

Rules of CSV, which has one writer and one list of what a cell must not begin with
1. A spreadsheet splits a line where its own settings say, and quotes in the middle of a cell stop it from nothing: a
   cell may begin at the start of a text and after every separator in it.
2. Where a cell could begin with what would be run (quotes before it or not), an apostrophe goes in front, and so it
   does where one stands there already.  Taking one apostrophe away from each such place gives back the text.
3. Numbers are written by us and stay numbers.
"""

from __future__ import annotations

import csv
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")
SEPARATORS = " \t\n\v\f\r,;:|^~"
_BEGINNING = f"(^|[{re.escape(SEPARATORS)}])"
APOSTROPHE = f"{_BEGINNING}'"  # what is taken away in reading, also by SQL: the first group stays
_RUN = re.compile(rf"""{_BEGINNING}(?='|"*[{re.escape("".join(FORMULA))}])""")
_APOSTROPHE = re.compile(APOSTROPHE)


@contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The path to write to in this block; what is stored there becomes `path` when the block ends well.

    >>> import tempfile
    >>> wanted = Path(tempfile.mkdtemp(), "night.csv")
    >>> with new_file(wanted) as partial:
    ...     written, there = partial.write_text("one"), wanted.exists()
    >>> there, wanted.read_text(), os.listdir(wanted.parent)
    (False, 'one', ['night.csv'])
    """
    wanted = Path(path)
    partial = wanted.with_name(f".{secrets.token_hex(4)}-{wanted.name}")
    try:
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(wanted)
    finally:
        partial.unlink(missing_ok=True)


def harmless(text: str) -> str:
    """The text, with an apostrophe in front of whatever a spreadsheet would run.

    >>> harmless("=1+1"), harmless("so;=1+1"), harmless("a, b = c"), harmless("plain")
    ("'=1+1", "so;'=1+1", "a, b '= c", 'plain')
    """
    return _RUN.sub(r"\1'", text)


def original(cell: str) -> str:
    """The text that became this cell.

    >>> original(harmless("=1;'2")), original("plain")
    ("=1;'2", 'plain')
    """
    return _APOSTROPHE.sub(r"\1", cell)


def write_csv(file: IO[str], head: Sequence[str], rows: Iterable[Sequence[object]]) -> int:
    """Write a heading and the rows; returns how many."""
    writer, written = csv.writer(file, lineterminator="\n"), 0
    writer.writerow(head)
    for row in rows:
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in row])
        written += 1
    return written
