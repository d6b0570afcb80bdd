"""A folder for ledgers: on a file system in memory where there is one, so that a disk's waits do not rule a figure."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = "/dev/shm"  # noqa: S108  a folder of our own is made in it


@contextmanager
def scratch() -> Iterator[Path]:
    """The folder; it is removed afterwards."""
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
        yield Path(folder)
