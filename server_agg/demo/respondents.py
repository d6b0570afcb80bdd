"""How the simulated people answer.

Full clients.  Each person gets a device of their own: a ledger on disk, the survey verified and accepted by the default
policy, one draw per question committed before it leaves, each report judged and committed by the collector before it
counts as delivered.  Processes of a pool do this side by side, for as long as the time given lasts.

The gateway.  Those for whom the time did not last: their truths are randomised in bulk (`randomise_many` and its like
for choices and numbers: the same law and the same secure generator), as a gateway does that holds the truths.  Every
answer becomes a report with a fresh id and goes through the same judge into the same store.  There is no ledger and no
budget on that way.

Nobody is on both ways: the people are cut once, and whoever was handed to the pool is never given to the gateway.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rrcollect import (
    Attribute,
    Client,
    Policy,
    PublicKey,
    Report,
    Transport,
    TrustedPublisher,
    randomise_choices,
    randomise_many,
    randomise_numbers,
)
from rrcollect.design.sets import SetDesign
from rrcollect.design.yes_no import checked_yes_no
from rrcollect.errors import RRCollectError
from rrcollect.publish.kinds import Number
from rrcollect.publish.publication import Publication
from rrcollect.publish.question import Question
from server_agg.demo.collection import Counter
from server_agg.demo.population import QUESTIONS, Person, Truth

CHUNK = 10  # people per task
BATCH = 1000  # reports the gateway hands in at once


@dataclass(frozen=True)
class Desk:
    """What every respondent needs to know: the envelope, the publisher and key they trust, the folders."""

    envelope: bytes
    publisher: str
    key: bytes
    attributes: tuple[Attribute, ...]
    store: str
    ledgers: str

    def policy(self) -> Policy:
        """The default policy, trusting the publisher alone."""
        return Policy([TrustedPublisher(self.publisher, [PublicKey(self.key)])])


def one_device(desk: Desk, person: Person, collector: Transport, ledger: Path) -> Client:
    """A person answers everything with a client of their own, and delivers; the client, for those who want to look.

    Nobody is there to be protected: nothing is spread over time."""
    client = Client(ledger, attributes=desk.attributes, policy=desk.policy(), spread=0)
    accepted = client.accept(desk.envelope)
    for question, number, truth in person.asked():
        client.answer(accepted, question, truth, round=number, segments={"sport": person.sport})
    done = client.deliver(collector)
    if done.refused or done.waiting:
        raise RRCollectError(f"the collector did not take a report: {done.refused or done.last_failure}")
    return client


@cache
def _counter(store: str) -> Counter:
    """This process's way into the store, opened once."""
    return Counter(store)


def _people_answer(desk: Desk, people: Sequence[Person]) -> int:
    """One task of the pool; a simulated device goes away with its ledger."""
    for person in people:
        device = Path(desk.ledgers, secrets.token_hex(8))
        device.mkdir()
        one_device(desk, person, _counter(desk.store), device / "ledger.sqlite3")
        shutil.rmtree(device)
    return len(people)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Processes started in this block are not reached by Ctrl-C, which is for the program that started them."""
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover (Windows)
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _told_apart() -> Iterator[None]:
    """A process that the machine ended is an error of ours, in words."""
    try:
        yield
    except BrokenExecutor:
        raise RRCollectError("a process with simulated devices ended; is there enough memory?") from None


def by_full_clients(
    desk: Desk, people: Sequence[Person], seconds: float, tell: Callable[[int], None], processes: int | None = None
) -> int:
    """The first people answer by full clients until the time is up; returns how many did."""
    tasks = (people[i : i + CHUNK] for i in range(0, len(people), CHUNK))
    many = processes or min(
        8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    done, end = 0, time.monotonic() + seconds
    with _told_apart(), ProcessPoolExecutor(many, multiprocessing.get_context("spawn")) as pool:
        running: set[Future[int]] = set()
        for task in tasks:
            while len(running) >= many + 1:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                done += sum(each.result() for each in finished)
                tell(done)
            if time.monotonic() >= end:
                break
            with _undisturbed():
                running.add(pool.submit(_people_answer, desk, list(task)))
        done += sum(each.result() for each in running)
    tell(done)
    return done


def by_gateway(
    publication: Publication, people: Sequence[Person], counter: Counter, tell: Callable[[int], None]
) -> int:
    """The other people's truths randomised in bulk; returns how many people."""
    waiting: list[bytes] = []
    for number, report in enumerate(_bulk_reports(publication, people), start=1):
        waiting.append(report.to_bytes())
        if len(waiting) == BATCH:
            counter.send_all(waiting)
            tell(number // len(QUESTIONS))
            waiting.clear()
    if waiting:
        counter.send_all(waiting)
    return len(people)


def _randomised(truths: Sequence[Truth], question: Question) -> Iterator[str]:
    """The answers to send instead of these truths, in bulk, by the question's kind."""
    design, kind = question.design, question.kind
    if isinstance(design, SetDesign):
        yield from randomise_choices(truths, design).texts()
        return
    if isinstance(kind, Number):
        bits = randomise_numbers(truths, checked_yes_no(design), kind.low, kind.high, clip=kind.clip)
    else:
        bits = randomise_many(truths, checked_yes_no(design))
    yield from ("01"[int(bit)] for bit in bits)


def _bulk_reports(publication: Publication, people: Sequence[Person]) -> Iterator[Report]:
    """A report for every (person, question, round), question by question."""
    asked: dict[tuple[str, int], list[tuple[str, Truth]]] = {}
    for person in people:
        for question, number, truth in person.asked():
            asked.setdefault((question, number), []).append((person.sport, truth))
    for (name, number), cells in asked.items():
        about = publication.survey.question(name)
        answers = _randomised([truth for _, truth in cells], about)
        for (sport, _), answer in zip(cells, answers, strict=True):
            yield Report(
                survey=publication.digest,
                question=name,
                design=about.design,
                answer=answer,
                id=secrets.token_hex(16),
                round=number,
                segments={"sport": sport},
            )
