"""How far a batch is: a bar on a terminal, a callback for programs, silence in a pipe."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[float], None]
EVERY = 0.2  # seconds
WIDTH = 40


def reporter(wanted: Progress | bool | None) -> Progress | None:
    """The callback to use: the caller's, the bar (True, or None on a terminal), or none."""
    if callable(wanted):
        return wanted
    return draw_bar if wanted or (wanted is None and sys.stderr.isatty()) else None


def draw_bar(share: float) -> None:
    """Draw the bar on standard error; 1 ends the line."""
    done = round(max(0.0, min(share, 1.0)) * WIDTH)
    end = "\n" if share >= 1 else ""
    sys.stderr.write(f"\r[{'#' * done}{'.' * (WIDTH - done)}] {max(share, 0):4.0%}{end}")
    sys.stderr.flush()


@contextmanager
def watched(tell: Progress | None, share: Callable[[], float]) -> Iterator[None]:
    """While the block runs, `tell` is called with the share done; with 1 when it ends well."""
    if tell is None:
        yield
        return
    over = threading.Event()
    highest = 0.0

    def watch() -> None:
        nonlocal highest
        while not over.wait(EVERY):
            highest = max(highest, min(share(), 0.99))
            tell(highest)

    thread = threading.Thread(target=watch, name="rrcollect-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    tell(1.0)
