"""Where the time of a bulk call goes: drawing, settling the undecided, and the passes over the arrays between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rrcollect import Design, randomise_many
from tests.benchmarks.measure import interleave, tell
from tests.inside.answer import fresh_keystream
from tests.inside.design import bulk_bits

HEAD = ["milliseconds", "total", "drawing", "undecided: listing and settling", "passes over the arrays", "one copy"]


class Clock:
    """Adds up the seconds spent inside what it wraps."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def wrap(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any) -> Any:
            start = time.process_time()
            try:
                return work(*given)
            finally:
                self.seconds += time.process_time() - start

        return timed


@contextmanager
def replaced(owner: Any, name: str, wrap: Callable[[Any], Any]) -> Iterator[None]:
    """`owner.name` wrapped for a while."""
    kept = getattr(owner, name)
    setattr(owner, name, wrap(kept))
    try:
        yield
    finally:
        setattr(owner, name, kept)


def once(call: Callable[..., Any]) -> tuple[float, float, float]:
    """Seconds in all, drawing, and dealing with the undecided, of one call(fill)."""
    drawing, inside, settling = Clock(), Clock(), Clock()
    keystream = fresh_keystream()
    fill = drawing.wrap(keystream)

    def settle(work: Callable[..., Any]) -> Callable[..., Any]:
        timed = settling.wrap(work)

        def settled(*given: Any) -> Any:
            before = drawing.seconds
            timed(*given)
            inside.seconds += drawing.seconds - before

        return settled

    with replaced(bulk_bits._Planes, "_settle", settle):
        start = time.process_time()
        call(fill)
        total = time.process_time() - start
    return total, drawing.seconds, settling.seconds - inside.seconds


def profile(n: int, symmetric: Design, asymmetric: Design, repetitions: int) -> list[list[str]]:
    """The table, its head first: of each path the repetition that was fastest."""
    tell("bulk: where the time goes")
    truths = np.random.default_rng(1).random(n) < 0.3
    bits = np.packbits(truths, bitorder="little")
    calls: dict[str, Callable[..., Any]] = {}
    for label, design in (("symmetric", symmetric), ("asymmetric", asymmetric)):
        calls[f"booleans, {label}"] = lambda fill, d=design: randomise_many(truths, d, fill=fill)
        calls[f"packed, {label}"] = lambda fill, d=design: randomise_many(bits, d, packed=n, fill=fill)
    copies = interleave({"booleans": (1, truths.copy), "packed": (1, bits.copy)}, repetitions, clock=time.process_time)
    rows = []
    for name, call in sorted(calls.items()):
        total, drawing, settling = min(once(call) for _ in range(repetitions))
        parts = total, drawing, settling, total - drawing - settling, copies[name.split(",")[0]].best
        rows.append([name, *(f"{1000 * part:.2f}" for part in parts)])
    return [HEAD, *rows]
