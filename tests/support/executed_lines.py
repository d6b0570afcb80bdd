"""Every line of Python that a call executes, in order."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_of(call: Callable[[], object]) -> list[tuple[str, int, str]]:
    """Every line executed, wherever it is."""
    found: list[tuple[str, int, str]] = []

    def tracer(frame: FrameType, event: str, argument: object) -> Any:
        found.append((frame.f_code.co_filename, frame.f_lineno, event))
        return tracer

    before = sys.gettrace()
    gc.disable()  # whoever listens to the collector of garbage runs lines of his own, whenever it pleases
    sys.settrace(tracer)
    try:
        call()
    finally:
        sys.settrace(before)
        gc.enable()
    return found
