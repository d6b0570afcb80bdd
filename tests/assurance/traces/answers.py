"""Answers on given draws, to be watched.  Helper of the check `traces`.

`answers` yields calls of the whole client, each on a device of its own that has accepted the survey, with given eight
bytes from the "generator"; the watcher makes the call.  Run as a program under strace it makes them itself, between two
marks (attempts to reach a file that is not there):  python -m tests.assurance.traces.answers FOLDER TRUTHS [leaking]
where TRUTHS is a text of 0 and 1, one for each answer.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

from rrcollect import (
    Choice,
    Client,
    Design,
    Number,
    Policy,
    Report,
    SetDesign,
    TrustedPublisher,
    optimal_design,
    randomise,
)
from tests.inside.answer import Truth
from tests.inside.answer import client as client_module
from tests.inside.design import Mechanism, Source
from tests.inside.publish import YesNo
from tests.support.devices import KEY, PUBLISHER, envelope, question

DESIGNS = (Design("3/4", "3/4"), optimal_design(1), Design("0.7311", "0.8177").to_grid())
FIVE, HOURS = Choice(options=["a", "b", "c", "d", "e"]), Number(low=0, high=24)
ASKED: tuple[tuple[YesNo | Choice | Number, Mechanism, tuple[Truth, Truth]], ...] = (
    *((YesNo(), design, (False, True)) for design in DESIGNS),
    (FIVE, optimal_design("ln 9", options=5), (0, 4)),
    (FIVE, SetDesign(5, 2, "3/4"), (3, 1)),
    (HOURS, Design("3/4", "3/4"), (0, 24)),
    (HOURS, optimal_design(1), (0.1, 17.25)),
)
"""Kinds with a design and two truths each."""
POLICY = Policy([TrustedPublisher(PUBLISHER, [KEY.public])])
NOW = datetime(2030, 1, 1, tzinfo=UTC)
WARMING = 7  # answers before the first one that counts: imports and caches fill


def draw(number: int) -> bytes:
    """The draws: first the extremes, then whatever."""
    if number < 2:
        return bytes([255 * number]) * 8
    return hashlib.sha256(str(number).encode()).digest()[:8]


def answers(
    folder: Path, how_many: int, drawing: Callable[[Design], bytes] | None = None
) -> Iterator[Callable[[bool], Report]]:
    """Ready devices, one after the other; call each once with its truth.  With `drawing`, for yes/no questions alone;
    otherwise of every kind in turn."""
    for number in range(how_many):
        kind, design, truths = ASKED[number % len(DESIGNS if drawing else ASKED)]
        drawn = drawing(DESIGNS[number % len(DESIGNS)]) if drawing else draw(number // len(ASKED))
        place = folder / f"{number:05d}"
        place.mkdir()

        def source(n: int, drawn: bytes = drawn) -> bytes:
            return (drawn + b"\x5a" * n)[:n]  # sets draw more than eight bytes

        client = Client(place / "ledger.sqlite3", attributes=["doped"], policy=POLICY, source=source, clock=lambda: NOW)
        accepted = client.accept(envelope(question(kind=kind, design=design)))
        yield lambda truth, client=client, accepted=accepted, truths=truths: client.answer(  # type: ignore[misc]
            accepted, "q1", truths[truth]
        )


def warm(folder: Path) -> None:
    """Answer a few times for both truths."""
    for truth in (False, True):
        place = folder / f"warm{truth:d}"
        place.mkdir(parents=True)
        for answer in answers(place, WARMING):
            answer(truth)


@contextmanager
def leaking(kind: str) -> Iterator[None]:
    """A planted bug in the client's draw: an "early return" on half of the draws, an "extra write", a "delay" or a
    "slight delay" for yes; "" plants none."""

    def planted(truth: Truth, design: Mechanism, *, source: Source = os.urandom, **bounded: Any) -> str:
        drawn = source(8)  # for both truths; it may be asked again and gives the same
        if kind == "early return" and truth and drawn[0] < 128:
            return "1" if design.allows("1") else design.blank
        if kind == "extra write" and truth:
            os.write(os.open(os.devnull, os.O_WRONLY), b"yes")
        if kind == "delay" and truth:
            sum(range(1_000_000))
        if kind == "slight delay" and truth:
            sum(range(5_000))  # about a fortieth of an answer
        return randomise(truth, design, source=source, **bounded)

    if not kind:
        yield
        return
    with mock.patch.object(client_module, "randomise", planted):
        yield


def mark(name: str) -> None:
    """A system call that is easy to find."""
    os.access(f"/mark/{name}", os.F_OK)


def main(folder: str, truths: str, kind: str = "") -> None:
    """Answer between marks."""
    warm(Path(folder))
    with leaking(kind):
        for number, answer in enumerate(answers(Path(folder), len(truths))):
            mark(f"begin{number}")
            answer(truths[number] == "1")
            mark("end")


if __name__ == "__main__":
    main(*sys.argv[1:])
