"""A file that appears under its name when it is whole and on disk, or not at all.

Rules
1. Until then it is stored beside its place under a hidden name with the same ending, by which formats are told.
2. If anything fails (a full disk, a crash of the block) nothing of it is left, and what was there before still is.
3. Two writers of one name have two hidden names: the last one to finish wins, and each file is whole.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
