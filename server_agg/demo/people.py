"""The made-up people of the demo: who does which sport, what is true of them, and how they answer.

They answer the survey of `rrcollect publish --template`: three yes/no questions, a choice and a number.  Truths are
drawn with NumPy: this is the world the survey asks about, not the mechanism that answers.  Everybody answers every
question once; the question with two rounds is put to one half of the people in its first round and to the other half in
its second, so that rounds are independent.

Full clients.  Each person gets a device of their own: a ledger on disk, the survey verified and accepted by the default
policy, one draw per question committed before it leaves, each report judged and committed by the collector before it
counts as delivered.  Processes of a pool do this side by side, for as long as the time given lasts.

The gateway.  Those for whom the time did not last: their truths are randomised in bulk (`randomise_many`
for choices and numbers: the same law and the same secure generator), as a gateway does that holds the truths.  Every
answer becomes a report with a fresh id and goes through the same judge into the same store.  There is no ledger and no
budget on that way.

The collector.  `InProcessCollector` has the collector's own parts without its web server: the catalogue, the judge of
reports, the durable store.  It is a transport for the real client: `send` returns when the report is committed, as the
collector's "201 Created" does, and says no for the same reasons.  Several processes may share one store.

Nobody is on both ways: the people are cut once, and nobody who was handed to the pool is given to the gateway.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rrcollect import (
    Attribute,
    Client,
    Policy,
    PublicKey,
    Report,
    Transport,
    TrustedPublisher,
    randomise_many,
)
from rrcollect.errors import ReportRefused, RRCollectError
from rrcollect.publish.report import REASONS
from rrcollect.publish.survey import Publication
from server_agg.collect.admission import Admission
from server_agg.collect.catalogue import Catalogue
from server_agg.collect.settings import CollectorSettings
from server_agg.collect.store.store import Store, open_store
from server_agg.count.tallies import Tallies
from server_agg.errors import Refusal

Truth = bool | int | float
SPORTS = {"athletics": 0.35, "cycling": 0.2, "swimming": 0.3, "weightlifting": 0.15}
YES_NO = ("doped", "pressed", "fixed")
CHOICE, NUMBER = "tempted", "hours"
QUESTIONS = (*YES_NO, CHOICE, NUMBER)
SHARES = {
    ("doped", 0): {"athletics": 0.13, "cycling": 0.24, "swimming": 0.08, "weightlifting": 0.36},
    ("pressed", 0): {"athletics": 0.33, "cycling": 0.42, "swimming": 0.24, "weightlifting": 0.5},
    ("pressed", 1): {"athletics": 0.22, "cycling": 0.3, "swimming": 0.17, "weightlifting": 0.36},
    ("fixed", 0): {"athletics": 0.03, "cycling": 0.08, "swimming": 0.02, "weightlifting": 0.05},
}
TEMPTED = {  # by sport the shares of the options, in their order; they add up to 1
    "athletics": (0.15, 0.4, 0.1, 0.2, 0.15),
    "cycling": (0.3, 0.3, 0.1, 0.2, 0.1),
    "swimming": (0.1, 0.4, 0.2, 0.1, 0.2),
    "weightlifting": (0.1, 0.5, 0.1, 0.25, 0.05),
}
LONGEST = 40.0
HOURS = {"athletics": (3.0, 4.5), "cycling": (4.0, 4.0), "swimming": (3.0, 3.0), "weightlifting": (2.0, 4.0)}
"""Hours are 40 times a Beta of these two: within the range, so that their mean is known."""
CHUNK = 10  # people per task
BATCH = 1000  # reports the gateway hands in at once


@dataclass(frozen=True)
class Person:
    """One simulated respondent: a sport, the round of `pressed` they are asked in, and what is true of them."""

    sport: str
    round: int
    truths: dict[str, Truth]

    def asked(self) -> Iterator[tuple[str, int, Truth]]:
        """(question, round, truth) of everything they are asked."""
        for question in QUESTIONS:
            yield question, self.round if question == "pressed" else 0, self.truths[question]


def true_value(question: str, round_: int = 0, sport: str | None = None, option: int | None = None) -> float:
    """In the population the people are drawn from: the share of yes or of an option, or the mean of a number."""
    if sport is None:
        return sum(weight * true_value(question, round_, name, option) for name, weight in SPORTS.items())
    if question == NUMBER:
        a, b = HOURS[sport]
        return LONGEST * a / (a + b)
    return SHARES[question, round_][sport] if option is None else TEMPTED[sport][option]


def drawn_people(size: int, rounds: int = 2) -> tuple[Person, ...]:
    """`size` people drawn independently; of two `rounds` of `pressed` every second one is asked in the second."""
    rng = np.random.default_rng()
    sports = rng.choice(list(SPORTS), size=size, p=list(SPORTS.values())).tolist()
    people = []
    for place, (sport, luck) in enumerate(zip(sports, rng.random((size, len(YES_NO))), strict=True)):
        number = place % rounds
        shares = [SHARES[question, number if question == "pressed" else 0][sport] for question in YES_NO]
        truths: dict[str, Truth] = dict(zip(YES_NO, (luck < shares).tolist(), strict=True))
        chosen, hours = int(rng.choice(5, p=TEMPTED[sport])), float(LONGEST * rng.beta(*HOURS[sport]))
        people.append(Person(sport, number, {**truths, CHOICE: chosen, NUMBER: hours}))
    return tuple(people)


def sample_csv(size: int) -> str:
    """Made-up people as a CSV file, all asked in the first round; nobody has the name of anybody made up before."""
    lines = [",".join(["person", "sport", *YES_NO])]
    for person in drawn_people(size, rounds=1):
        said = ["yes" if person.truths[question] else "no" for question in YES_NO]
        lines.append(",".join([secrets.token_hex(8), person.sport, *said]))
    return "\n".join(lines) + "\n"


class InProcessCollector:
    """Takes reports into the store at `path`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.store: Store = open_store(path, keep_rows=True)
        self._catalogue = Catalogue(self.store.shelf)
        settings = CollectorSettings()
        self._judge = Admission(self._catalogue.find, grace=settings.grace, list_limit=settings.list_limit)

    def publish(self, envelope: bytes, key: str) -> None:
        """Make a signed survey known; `key` is the publisher's public key in hexadecimal."""
        self._catalogue.publish(envelope, [key])

    def send(self, destination: str, body: bytes) -> None:
        """Judge and commit one report; this is the collector of its survey, wherever that says it is."""
        self.send_all([body])

    def send_all(self, bodies: Sequence[bytes]) -> None:
        """Judge every report and commit them all in one transaction."""
        try:
            reports = [report for body in bodies for report in self._judge.admit(body)]
        except Refusal as refusal:
            raise ReportRefused(refusal.reason) from None
        for outcome in self.store.take(reports):
            if outcome.value in REASONS:
                raise ReportRefused(f"{outcome.value}: {REASONS[outcome.value]}")

    def tallies(self) -> Tallies:
        """Everything whose crowd is complete."""
        self.store.fold()
        return self.store.tallies()

    def close(self) -> None:
        """Release the database."""
        self.store.disconnect()


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
def _counter(store: str) -> InProcessCollector:
    """This process's way into the store, opened once."""
    return InProcessCollector(store)


def passing_device(desk: Desk, person: Person, collector: Transport) -> None:
    """A person answers with a device that goes away with its ledger."""
    with TemporaryDirectory(dir=desk.ledgers) as device:
        one_device(desk, person, collector, Path(device, "ledger.sqlite3"))


def _people_answer(desk: Desk, people: Sequence[Person]) -> int:
    """One task of the pool."""
    for person in people:
        passing_device(desk, person, _counter(desk.store))
    return len(people)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Processes started in this block are not reached by Ctrl-C; the program that starts them hears it afterwards.

    To block it is not enough: another thread, such as one of NumPy's, takes it, and Python raises it in this one."""
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover (Windows)
        yield
        return
    heard: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, usual)
        if heard:
            signal.raise_signal(signal.SIGINT)


def by_full_clients(
    desk: Desk, people: Sequence[Person], seconds: float, tell: Callable[[int], None], processes: int | None = None
) -> int:
    """The first people answer by full clients until the time is up; returns how many did."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    many, done, end = processes or min(8, usable), 0, time.monotonic() + seconds
    running: set[Future[int]] = set()
    try:
        with ProcessPoolExecutor(many, multiprocessing.get_context("spawn")) as pool:
            for start in range(0, len(people), CHUNK):
                while len(running) >= many + 1:
                    finished, running = wait(running, return_when=FIRST_COMPLETED)
                    done += sum(each.result() for each in finished)
                    tell(done)
                if time.monotonic() >= end:
                    break
                with _undisturbed():
                    running.add(pool.submit(_people_answer, desk, people[start : start + CHUNK]))
            done += sum(each.result() for each in running)
    except BrokenExecutor:
        raise RRCollectError(
            "a process with simulated devices ended, perhaps for want of memory; try fewer --respondents"
        ) from None
    tell(done)
    return done


def by_gateway(
    publication: Publication, people: Sequence[Person], counter: InProcessCollector, tell: Callable[[int], None]
) -> int:
    """The other people's truths randomised in bulk, question by question; returns how many people."""
    asked: dict[tuple[str, int], list[tuple[str, Truth]]] = {}
    for person in people:
        for question, number, truth in person.asked():
            asked.setdefault((question, number), []).append((person.sport, truth))
    done = 0
    for (name, number), cells in asked.items():
        about = publication.survey.question(name)
        drawn = randomise_many([truth for _, truth in cells], about.design, **about.kind.bounded)
        answers = zip(cells, about.design.texts(drawn), strict=True)
        what: dict[str, Any] = {"survey": publication.digest, "question": name, "design": about.design, "round": number}
        reports = (
            Report(**what, answer=answer, id=secrets.token_hex(16), segments={"sport": sport}).to_bytes()
            for (sport, _), answer in answers
        )
        while batch := list(islice(reports, BATCH)):
            counter.send_all(batch)
            done += len(batch)
            tell(done // len(QUESTIONS))
    return len(people)
