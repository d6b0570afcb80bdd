"""How far the work is: rich's bar on a terminal, a plain one without rich, silence in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from server_agg.batch.progress import draw_bar

Tell = Callable[[float], None]


@contextmanager
def progress(words: str, *, quiet: bool = False) -> Iterator[Tell]:
    """A function to call with the share done, from 0 to 1; the bar goes away (rich) or ends its line (plain)."""
    if quiet or not sys.stderr.isatty():
        yield lambda share: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
    except ImportError:
        sys.stderr.write(f"{words}\n")
        yield draw_bar
        sys.stderr.write("\n")
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(words, total=1.0)
        yield lambda share: shown.update(task, completed=min(max(share, 0.0), 1.0))
