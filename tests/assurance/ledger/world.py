"""The device of `ledger_machine` and what is outside of it: surveys that are published, reports that have left.

What must hold, whatever happened
1. An attribute in a round has one answer, by whatever way it left the device; a question has one report.
2. The file holds one draw for an attribute and round, and what left is in it, byte for byte.
3. The draws never cost more than the lifetime budget; a refusal for want of budget comes only when it is spent.
4. What has been answered is answered again, with the same bytes; an expired survey is not answered.
5. A panel is answered in one round.
6. A report of more than eight values leaves for one question of one survey in a round, and for nothing else.
7. Names that the app used as one (`RELEASES`) are one attribute, also when a later release has forgotten that; words
   that were answered are not answered for another attribute, whatever they are disguised in; and another path to the
   files is the same ledger.

A `Plant` is where a bug is planted.
"""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from rrcollect import (
    Attribute,
    Choice,
    Client,
    Design,
    Number,
    Policy,
    Report,
    RRCollectError,
    SetDesign,
    TrustedPublisher,
)
from rrcollect.errors import AlreadyAnswered, BudgetExhausted, Expired, TransportFailed
from tests.inside.answer import AcceptedSurvey, Ledger, Truth
from tests.inside.answer import client as client_module
from tests.inside.design import Mechanism
from tests.support.devices import KEY, PUBLISHER, envelope, question

BUDGET = 27  # the lifetime budget is its logarithm
POLICY = Policy([TrustedPublisher(PUBLISHER, [KEY.public])], lifetime_epsilon=f"ln({BUDGET})")
RELEASES = [  # of the app, one after the other and round again: "a" gets other names, by an alias that is dropped later
    Attribute(name, rounds=2, asked_as=("a",), aliases=aliases)
    for name, before in (("a", "a3"), ("a2", "a"), ("a3", "a2"))
    for aliases in ((before,), ())
]
FIRST = 1  # of them: "a", with no alias
ATTRIBUTES = [Attribute("b"), Attribute("c"), Attribute("d"), Attribute("e")]  # "e" is never answered
DISGUISES: list[Callable[[str], dict[str, str]]] = [
    lambda text: {"text": text.upper()},
    lambda text: {"text": f"Q3: {text} \u2026"},
    lambda text: {"text": text.replace("a", "\u0430")},
    lambda text: {"text": "Yes or no?", "help": text},
]
USUAL, OTHER, SETS = Design("3/4", "3/4"), Design("5/8", "5/8"), SetDesign(9, 1, "1/2").to_grid()
FACTORS = {USUAL.text: Fraction(3), OTHER.text: Fraction(5, 3), SETS.text: Fraction(8)}  # it costs its logarithm
KINDS: dict[str, dict[str, Any]] = {  # one of each
    "a": {"rounds": 2},
    "b": {"kind": Choice(options=list("123456789")), "design": SETS},
    "c": {"kind": Number(low=0, high=24)},
}
TRUTHS: dict[str, Truth] = {"a": True, "b": 3, "c": 12, "d": True}
NOW, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
REFUSALS = (AlreadyAnswered, BudgetExhausted, Expired)
GONE = range(9, 13)  # how a child ends that is killed: it tells in which of four phases
SCRATCH = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108  a folder of its own is made in it

Leave = Callable[[bytes], None]
"""What takes a report that leaves the device."""

Which = tuple[int, str, int]
"""A question: the place of its survey, its attribute, the round."""


def words_of(asked: str) -> str:
    """In which words a question is asked."""
    return f"{asked[0]}, {asked[1]}?" if asked[1:] else f"Ever {asked}?"


def _asking(version: int, **changes: Any) -> bytes:
    """A survey about all attributes; every version has its own words and ids."""
    asked = [
        question(id=f"{attribute}{version}", attribute=attribute, text=words_of(f"{attribute}{version}"), **fields)
        for attribute, fields in KINDS.items()
    ]
    return envelope(*asked, version=version, **changes)


SURVEYS = [
    *[_asking(version) for version in (1, 2, 3)],
    _asking(4, name="another"),
    envelope(question(id="a", attribute="a", design=OTHER, rounds=2), name="other-design"),
    envelope(question(id="d", attribute="d", rounds=7, panel=True), name="panel"),
]
ALONE = {4: "a", 5: "d"}  # surveys of one question, by place
EVERY: list[Which] = [(place, name, at) for place in range(len(SURVEYS)) for name in "abc" for at in (0, 1)]


class Refuted(AssertionError):
    """The claim does not hold; says how.  What was said is kept, whether or not it can be repeated."""

    said: ClassVar[list[str]] = []

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.said.append(how)


class Plant:
    """How devices are made; a planted bug overrides one of these."""

    ledger: type[Ledger] = Ledger

    def starting(self, folder: Path) -> None:
        """Called when the only program starts."""

    def made(self, ledger: Ledger, left: Leave) -> None:
        """Called with each ledger, and with what takes the reports that leave the device."""


class Network:
    """A transport that lets reports out, and loses the replies to some."""

    def __init__(self, leave: Leave, lost: int) -> None:
        self.leave, self.lost = leave, lost

    def send(self, destination: str, body: bytes) -> None:
        self.leave(body)
        self.lost -= 1
        if self.lost >= 0:
            raise TransportFailed("the reply was lost")


def _design(place: int, attribute: str) -> Mechanism:
    """By which design a survey asks about an attribute."""
    return OTHER if place == 4 else SETS if attribute == "b" else USUAL


def written(pipe: int, body: bytes) -> None:
    """A report leaves a child."""
    os.write(pipe, body + b"\n")


class World:
    """One device, its files, and all that has left it."""

    def __init__(self, plant: Plant) -> None:
        self.plant = plant
        self.folder = Path(tempfile.mkdtemp(prefix="life", dir=SCRATCH))
        self.ledger, self.guard = self.folder / "ledger.sqlite3", self.folder / "ledger.sqlite3.guard"
        self.now, self.ticks = NOW, 0
        self.reports: dict[tuple[str, str, int], bytes] = {}
        self.answers: dict[tuple[str, int], str] = {}
        self.surveys = 0
        self.marks: dict[int, tuple[str, str]] = {}
        self.accepted: dict[int, AcceptedSurvey] = {}
        self.release, self.used = FIRST, True
        self.client = self.start()
        self.accepted[0] = self.client.accept(SURVEYS[0])

    def start(self, *, beside: bool = False, at: Path | None = None) -> Client:
        """A program starts; `beside`: while another one runs; `at`: by another path to the ledger."""
        if not beside:
            self.plant.starting(self.folder)
        usual = vars(client_module)["Ledger"]
        vars(client_module)["Ledger"] = self.plant.ledger
        try:
            made = Client(
                at or self.ledger,
                attributes=[RELEASES[self.release], *ATTRIBUTES],
                policy=POLICY,
                source=lambda n: bytes([240 * (self.ticks % 2)] * n),  # draws of neighbouring ticks differ
                clock=lambda: self.now,
                spread=0,
            )
        finally:
            vars(client_module)["Ledger"] = usual
        self.plant.made(made._ledger, self.leaves)
        return made

    def leaves(self, body: bytes) -> None:
        """A report is outside: rule 1."""
        report = Report.from_bytes(body)
        if self.reports.setdefault((report.survey, report.question, report.round), body) != body:
            raise Refuted(f"two different reports left for the question {report.question}, round {report.round}")
        rounds = {number for name, number in self.answers if name == "d"}
        place = (report.survey, report.question)
        if report.question[0] == "b" and self.marks.setdefault(report.round, place) != place:
            raise Refuted("a report of nine values, which marks a person, was repeated for another question")
        if report.question == "d" and rounds and report.round not in rounds:
            raise Refuted(f"a panel was answered in round {report.round} and in {rounds}")
        attribute = (report.question[0], report.round)
        if self.answers.setdefault(attribute, report.answer) != report.answer:
            raise Refuted(f"two answers left for the attribute {attribute}")

    def rows(self) -> tuple[list[tuple[str, int, str]], dict[tuple[str, str, int], bytes]]:
        """Draws and reports as the file has them, read by nobody's code but SQLite's."""
        connection = sqlite3.connect(self.ledger)
        try:
            draws = connection.execute("SELECT attribute, round, design FROM draws").fetchall()
            reports = connection.execute("SELECT survey, question, round, body FROM reports").fetchall()
        finally:
            connection.close()
        draws = [(name[0], number, design) for name, number, design in draws]
        return draws, {(survey, asked, number): body for survey, asked, number, body in reports}

    def everything(self) -> set[object]:
        """Every row of every table but the one that stands beside them."""
        connection = sqlite3.connect(self.ledger)
        try:
            tables = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'meta'"
            ).fetchall()
            return {(name, row) for (name,) in tables for row in connection.execute(f'SELECT * FROM "{name}"')}  # noqa: S608
        finally:
            connection.close()

    def serial(self) -> int:
        """The number of the ledger's last change."""
        connection = sqlite3.connect(self.ledger)
        try:
            return int(connection.execute("SELECT value FROM meta WHERE key = 'serial'").fetchone()[0])
        finally:
            connection.close()

    def guarded(self) -> int:
        """The number of the last change that the rollback guard remembers."""
        lines = self.guard.read_bytes().split(b"\n")[:-1] if self.guard.exists() else []
        return max((int(line[:16]) for line in lines if len(line) == 81), default=-1)

    def check(self) -> None:
        """Rules 2 and 3."""
        self.ticks += 1
        draws, reports = self.rows()
        if len({draw[:2] for draw in draws}) != len(draws):
            raise Refuted("the ledger holds two draws for one attribute and round")
        if math.prod(FACTORS[draw[2]] for draw in draws) > BUDGET:
            raise Refuted(f"{len(draws)} draws cost more than the lifetime budget")
        if any(reports.get(key) != body for key, body in self.reports.items()):
            raise Refuted("a report that left is not in the ledger, or another one is")

    def ask(self, which: Which, who: Client | None = None) -> Report:
        """The device's answer to a question, of the first survey if that one was not accepted."""
        place, attribute, number = which
        place = place if place in self.accepted else 0
        name = ALONE.get(place) or f"{attribute}{self.accepted[place].survey.version}"
        at = {"a": number, "d": None}.get(name[0], 0)
        return (who or self.client).answer(self.accepted[place], name, TRUTHS[name[0]], round=at)

    def unasked(self, which: Which) -> Which:
        """A question that has no report yet and can have one, at or after this one; this one, if there is none."""
        draws, reports = self.rows()
        drawn = {(name, number): design for name, number, design in draws}
        left = BUDGET / math.prod(FACTORS[design] for design in drawn.values())
        after = EVERY.index(which)
        for place, attribute, number in (*EVERY[after:], *EVERY[:after]):
            if place in self.accepted and place != 5 and (attribute == "a" or (place < 4 and number == 0)):
                name = ALONE.get(place) or f"{attribute}{self.accepted[place].survey.version}"
                design = _design(place, attribute).text
                known = drawn.get((attribute, number))
                can = FACTORS[design] <= left if known is None else known == design and attribute != "b"
                if can and (self.accepted[place].digest, name, number) not in reports:
                    return place, attribute, number
        return which

    def judged(self, which: Which, work: Callable[[], Report]) -> None:
        """Answer, and see that a refusal has its reason: rules 3, 4 and 6."""
        place, attribute, number = which
        survey = self.accepted[place if place in self.accepted else 0]
        of_one = place in self.accepted and ALONE.get(place)
        asked = (survey.digest, of_one or f"{attribute}{survey.survey.version}", number if attribute == "a" else 0)
        attribute = ALONE.get(place, attribute) if place in self.accepted else attribute
        design = _design(place if place in self.accepted else 0, attribute).text
        draws, reports = self.rows()
        drawn = {(name, at): text for name, at, text in draws}
        key = (attribute, number if attribute == "a" else 0)
        if attribute == "d":
            key = next((known for known in drawn if known[0] == "d"), key)
        try:
            body = work().to_bytes()
        except Expired:
            if self.now != LATE:
                raise Refuted("a survey was called expired that is not") from None
        except AlreadyAnswered:
            marks = attribute == "b" and key in drawn and asked not in reports
            if drawn.get(key, design) == design and not marks:
                raise Refuted("refused as answered by another design, which it was not") from None
        except BudgetExhausted:
            if key in drawn or math.prod(FACTORS[text] for text in [*drawn.values(), design]) <= BUDGET:
                raise Refuted("refused for want of budget; some was left, or none was needed") from None
        else:
            if self.now == LATE:
                raise Refuted("an expired survey was answered")
            self.leaves(body)
            self.used = self.used or attribute == "a"

    def linked(self) -> Path:
        """Another path to the ledger as it is: hard links of both files."""
        self.rows()  # closing the last connection leaves everything in the one file
        folder = self.folder / "linked"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for file in (self.ledger, self.guard):
            os.link(file, folder / file.name)
        return folder / self.ledger.name

    def disguised(self, which: int, how: int) -> None:
        """Words that were answered are asked about another attribute: rule 7."""
        known = sorted(self.reports)
        if not known:
            return
        self.surveys += 1
        text = words_of(known[which % len(known)][1])
        asked = question(id="e", attribute="e", **DISGUISES[how % len(DISGUISES)](text))
        accepted = self.client.accept(envelope(asked, name=f"disguise-{self.surveys}"))
        try:
            self.client.answer(accepted, "e", True)
        except AlreadyAnswered:
            return
        except BudgetExhausted:
            pass
        raise Refuted(f"words that were answered were asked again for another attribute: {asked.text}")

    def in_child(self, work: Callable[[Leave], None], here: Callable[[], Report] | None) -> int:
        """Work in a fork, with what takes the reports it lets out; `here`: what this process answers meanwhile.

        Returns how the child ended."""
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                self.plant.made(self.client._ledger, lambda body: written(into, body))
                with suppress(*REFUSALS):
                    work(lambda body: written(into, body))
                status = 0
            finally:
                os._exit(status)
        os.close(into)
        left, error = [], None
        try:
            left += [here().to_bytes()] if here else []
        except RRCollectError as caught:
            error = caught
        with os.fdopen(out, "rb") as pipe:
            left += pipe.read().splitlines()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for body in left:
            self.leaves(body)
        if status not in (0, *GONE) or (error is not None and not isinstance(error, REFUSALS)):
            raise Refuted(f"an answer in two processes ended with {status} and {error!r}")
        return status
