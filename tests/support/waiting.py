"""Waiting for what another thread or process does, however busy the machine is.

A test never sleeps for as long as something usually takes: it waits until it is so.  PATIENCE is for what is broken: a
wait that is this long has failed, and one that succeeds is as short as it can be.
"""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 60.0
"""Seconds after which a wait has failed."""


def until(found: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Return as soon as it is so.

    >>> until(lambda: True)
    >>> until(lambda: False, seconds=0)
    Traceback (most recent call last):
    AssertionError: not so after 0 seconds
    """
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, f"not so after {seconds:g} seconds"
        time.sleep(0.01)
