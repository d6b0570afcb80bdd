"""The way of one answer: `Client.answer` against a bare durable insert, many questions, and a ledger with many draws.

Run: python -m tests.benchmarks.ledger
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

from rrcollect import (
    Client,
    EveryAttributeOf,
    Policy,
    Question,
    SigningKey,
    Survey,
    TrustedPublisher,
    optimal_design,
)
from tests.benchmarks.measure import Contestants, interleave
from tests.benchmarks.report import show
from tests.benchmarks.section import FULL, Effort, Section, compare, durations

ANSWERS = 8  # per repetition
BARE, ONE, HUNDRED = "bare durable insert", "Client.answer", "of 100 questions"
FEW, MANY = "after 10 draws", "after 1,000 draws"
FLOORS = {(ONE, BARE): 1 / 4, (HUNDRED, ONE): 1 / 1.1, (MANY, FEW): 1 / 2}
MOST_QUESTIONS = 200  # of one survey
DESIGN = optimal_design("ln 3")
KEY = SigningKey.generate()
POLICY = Policy([TrustedPublisher("Example", [KEY.public])], lifetime_epsilon=10_000)


def section(effort: Effort = FULL) -> Section:
    turns, many = effort.repetitions, effort.size(1000) if effort.scale < 1 else 1000
    with ExitStack() as opened:
        contestants: Contestants = {
            BARE: (ANSWERS, opened.enter_context(inserts())),
            ONE: (ANSWERS, opened.enter_context(first_answers(turns, 1))),
            HUNDRED: (ANSWERS, opened.enter_context(first_answers(turns, 100))),
            FEW: (ANSWERS, opened.enter_context(later_answers(turns, 10, together=False))),
            MANY: (ANSWERS, opened.enter_context(later_answers(turns, many, together=True))),
        }
        timings = interleave(contestants, turns, clock=time.process_time)
    return Section(
        name="ledger",
        title="The way of one answer",
        text="`Client.answer` is the whole of a first answer, by the processor's time. The bare insert opens a SQLite "
        "file in WAL mode with `synchronous=FULL`, inserts the bytes of the report, commits, closes, and appends 82 "
        "bytes with fsync to another file: what any durable ledger with a rollback guard must do. An answer takes at "
        "most 4 times as long, the same in a survey of 100 questions as in one of a single question, and in a ledger "
        "with 1,000 draws at most twice as long as in one with 10.",
        unit="µs per answer",
        rows=durations(timings, 1e6),
        ratios=compare(timings, dict(FLOORS)),
    )


def survey(place: int, first: int, count: int) -> bytes:
    """A signed survey of so many questions, each about an attribute of its own."""
    asked = [
        Question(id=f"q{number}", attribute=f"a{number}", text=f"Is it number {number}?", design=DESIGN)
        for number in range(first, first + count)
    ]
    made = Survey(
        name=f"s{place}",
        version=1,
        title="S",
        publisher="Example",
        collector="https://collect.example.org/reports",
        expires="2100-01-01T00:00:00Z",
        questions=asked,
    )
    return made.publish([KEY]).envelope


def device(path: Path) -> Client:
    return Client(path, attributes=[EveryAttributeOf("Example")], policy=POLICY)


@contextmanager
def inserts() -> Iterator[Callable[[], object]]:
    """Bare durable inserts of the bytes of a report."""
    with tempfile.TemporaryDirectory() as name:
        path, guard = Path(name) / "bare.sqlite3", Path(name) / "bare.guard"
        made = sqlite3.connect(path)
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("CREATE TABLE reports (body BLOB)")
        made.close()
        client = device(Path(name) / "ledger")
        body = client.answer(client.accept(survey(0, 0, 1)), "q0", True).to_bytes()

        def insert() -> int:
            connection = sqlite3.connect(path, isolation_level=None)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO reports VALUES (?)", (body,))
            connection.execute("COMMIT")
            connection.close()
            handle = os.open(guard, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(handle, bytes(82))
            os.fsync(handle)
            os.close(handle)
            return handle

        yield lambda: [insert() for _ in range(ANSWERS)]


@contextmanager
def first_answers(turns: int, questions: int) -> Iterator[Callable[[], object]]:
    """First answers, each by a device of its own, to a survey of so many questions."""
    with tempfile.TemporaryDirectory() as name:
        envelope = survey(0, 0, questions)
        devices = [device(Path(name) / str(number)) for number in range(ANSWERS * turns)]
        ready = iter([(one, one.accept(envelope)) for one in devices])
        yield lambda: [one.answer(accepted, "q0", True) for one, accepted in islice(ready, ANSWERS)]


@contextmanager
def later_answers(turns: int, draws: int, *, together: bool) -> Iterator[Callable[[], object]]:
    """Answers of a device that has drawn so often; of one for all turns, or of a fresh one for every turn."""
    with tempfile.TemporaryDirectory() as name:
        each = draws + ANSWERS * (turns if together else 1)
        starts = range(0, each, MOST_QUESTIONS)
        envelopes = [survey(place, first, min(MOST_QUESTIONS, each - first)) for place, first in enumerate(starts)]
        ready = []
        for number in range(1 if together else turns):
            client = device(Path(name) / str(number))
            accepted = [client.accept(envelope) for envelope in envelopes]
            asked = ((client, accepted[n // MOST_QUESTIONS], f"q{n}") for n in range(each))
            for one, among, question in islice(asked, draws):
                one.answer(among, question, True)
            ready += list(asked)
        waiting = iter(ready)
        yield lambda: [one.answer(among, question, True) for one, among, question in islice(waiting, ANSWERS)]


if __name__ == "__main__":
    show(section())
