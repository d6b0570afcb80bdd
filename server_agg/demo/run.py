"""The demo itself: publish, answer, collect, tally, estimate; everything real but the people.

Rules
1. Each step is the part a real survey runs; what is simulated is said: the people, their truths, and (for those whom
   the gateway serves) that they have no device of their own.
2. While it runs, ledgers and database are stored in the fastest place there is (memory, where the machine offers it);
   the database is then copied to the folder.
3. What was counted must be what was asked: one answer for every person and question.  Otherwise it fails, loudly.
4. A folder that is not empty is used only if an earlier demo made it.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rrcollect import Attribute, Publication, Report, SigningKey, publish_survey
from rrcollect.errors import Blame, RRCollectError
from rrcollect.publish.survey_file import parse, survey_from, template
from server_agg.compare.segments import SegmentTable
from server_agg.compare.trends import Trend
from server_agg.count.tallies import Tallies
from server_agg.demo.collection import Counter
from server_agg.demo.drawings import Mark
from server_agg.demo.population import SPORTS, Population, drawn_population, true_value
from server_agg.demo.respondents import Desk, by_full_clients, by_gateway, one_device
from server_agg.estimates.choice import ChoiceEstimate
from server_agg.estimates.mean import MeanEstimate
from server_agg.estimates.one import Estimate
from server_agg.survey_page.results import SurveyResults, survey_results

MARKER = ".rrcollect-demo"
FILES = ("survey.toml", "survey.signed.json", "publisher.pem", "publisher.pem.pub", "reports.sqlite3", "tallies.json")


class DemoFailed(RRCollectError):
    """The demo could not show what it should."""

    blame = Blame.DEVICE


@dataclass(frozen=True)
class DemoRun:
    """What the demo did and found."""

    folder: Path
    publication: Publication
    population: Population
    full: int
    gateway: int
    full_seconds: float
    gateway_seconds: float
    seconds: float
    in_memory: bool
    tallies: Tallies
    budget: str
    report: bytes

    @cached_property
    def results(self) -> SurveyResults:
        """What was found."""
        return survey_results(self.tallies, self.publication.survey)

    def rounds(self) -> list[tuple[str, int]]:
        """Every question and round, in the survey's order."""
        return [(q.id, r) for q in self.publication.survey.questions for r in range(q.rounds)]

    def estimate(self, question: str, round_: int) -> Estimate | MeanEstimate | ChoiceEstimate:
        """The estimate for the population the people were drawn from."""
        found = self.results.round(question, round_).estimate
        if not isinstance(found, Estimate | MeanEstimate | ChoiceEstimate):
            raise DemoFailed(f"{question}, round {round_}, was not answered by one design")
        return found

    def words(self, question: str) -> str:
        """The text of a question."""
        survey = self.publication.survey
        return survey.say(survey.question(question).text)

    def marks(self, question: str, round_: int) -> list[Mark]:
        """The estimate beside the truth; of a choice, every option's."""
        found = self.results.round(question, round_)
        several = len(found.findings) > 1
        return [
            Mark(
                one.label or question,
                found.n,
                one.value,
                *one.bar,
                true_value(question, round_, option=place if several else None),
                found.asked.scale,
            )
            for place, one in enumerate(found.findings)
        ]

    def mark(self, question: str, round_: int) -> Mark:
        """That of a question with one value."""
        (only,) = self.marks(question, round_)
        return only

    def segments(self, question: str, round_: int = 0) -> SegmentTable:
        """By sport, the bars holding all at once."""
        found = self.results.round(question, round_).segments("sport")
        if not isinstance(found, SegmentTable):
            raise DemoFailed(f"{question} is a choice, which has a table for each option")
        return found

    def trend(self, question: str) -> Trend:
        """Over the rounds, which different people answered."""
        found = self.results.trend(question)
        if not isinstance(found, Trend):
            raise DemoFailed(f"{question} was not answered in two rounds, or is a choice")
        return found


@contextmanager
def working_folder() -> Iterator[tuple[Path, bool]]:
    """A folder that goes away, in memory if the machine has such a place; and whether it is."""
    memory = Path("/dev/shm")  # noqa: S108
    usable = memory.is_dir() and shutil.disk_usage(memory).free > 200_000_000
    try:
        name = tempfile.mkdtemp(prefix="rrcollect-demo-", dir=memory if usable else None)
    except OSError:
        usable, name = False, tempfile.mkdtemp(prefix="rrcollect-demo-")
    try:
        yield Path(name), usable
    finally:
        shutil.rmtree(name, ignore_errors=True)


def fresh_folder(folder: Path) -> None:
    """Make the folder; one that an earlier demo made is emptied of that demo's files, any other must be empty."""
    if folder.exists() and not (folder / MARKER).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise DemoFailed(f"{folder} exists and no demo made it; name another folder with --out")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).write_text("made by `rrcollect demo`; replaced by the next one\n", encoding="utf-8")
    for name in (*FILES, "report.html", "picture.svg"):
        (folder / name).unlink(missing_ok=True)


def published(folder: Path, text: str | None = None) -> tuple[Publication, SigningKey]:
    """Write, check and sign the survey (the template), with a new key; all of it is stored in the folder."""
    text = text or template()
    (folder / "survey.toml").write_text(text, encoding="utf-8")
    key = SigningKey.generate()
    key.save(folder / "publisher.pem")
    (folder / "publisher.pem.pub").write_bytes(key.public.to_pem())
    publication = publish_survey(survey_from(parse(text)), [key])
    (folder / "survey.signed.json").write_bytes(publication.envelope)
    return publication, key


def desk_of(publication: Publication, key: SigningKey, folder: Path) -> Desk:
    """What the respondents know, with the store and the ledgers in this folder."""
    survey = publication.survey
    attributes = tuple(Attribute(question.attribute, rounds=question.rounds) for question in survey.questions)
    store, ledgers = str(folder / "reports.sqlite3"), str(folder)
    return Desk(publication.envelope, survey.publisher, key.public.raw, attributes, store, ledgers)


class _ReportKeeper:
    """A counter that keeps the report to one question, to show it; reports come in any order."""

    def __init__(self, counter: Counter, question: str) -> None:
        self.counter, self.question = counter, question
        self.report = b""

    def send(self, destination: str, body: bytes) -> None:
        if Report.from_bytes(body).question == self.question:
            self.report = body
        self.counter.send(destination, body)


def run_demo(
    folder: Path, respondents: int, seconds: float, tell: Callable[[float], None], processes: int | None = None
) -> DemoRun:
    """Run it all; `folder` is fresh."""
    start = time.monotonic()
    publication, key = published(folder)
    population = drawn_population(respondents)
    people = population.people
    with working_folder() as (work, in_memory):
        desk = desk_of(publication, key, work)
        counter = Counter(desk.store)
        counter.publish(publication.envelope, key.public.raw.hex())
        overheard = _ReportKeeper(counter, publication.survey.questions[0].id)
        budget = one_device(desk, people[0], overheard, work / "first.sqlite3").budget().explain()
        answered = time.monotonic()
        full = 1 + by_full_clients(desk, people[1:], seconds, lambda done: tell((1 + done) / respondents), processes)
        bulk = time.monotonic()
        gateway = by_gateway(publication, people[full:], counter, lambda done: tell((full + done) / respondents))
        end = time.monotonic()
        tallies = counter.tallies()
        counter.close()
        _copy(Path(desk.store), folder / "reports.sqlite3")
    _check(population, tallies)
    (folder / "tallies.json").write_text(tallies.to_json() + "\n", encoding="utf-8")
    return DemoRun(
        folder=folder,
        publication=publication,
        population=population,
        full=full,
        gateway=gateway,
        full_seconds=bulk - answered,
        gateway_seconds=end - bulk,
        seconds=time.monotonic() - start,
        in_memory=in_memory,
        tallies=tallies,
        budget=budget,
        report=overheard.report,
    )


def _copy(source: Path, target: Path) -> None:
    """A consistent copy of the database, readable by its owner only."""
    target.touch(mode=0o600)
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


def _check(population: Population, tallies: Tallies) -> None:
    """Everybody was counted once in every question they were asked, by sport and round."""
    asked: dict[tuple[str, int, str], int] = {}
    for person in population.people:
        for question, number, _ in person.asked():
            cell = question, number, person.sport
            asked[cell] = asked.get(cell, 0) + 1
    counted: dict[tuple[str, int, str], int] = {}
    for key, tally in tallies.items():
        cell = key.question, key.round, dict(key.segments).get("sport", "")
        counted[cell] = counted.get(cell, 0) + tally.n
    if asked != counted:
        wrong = {cell for cell in {*asked, *counted} if asked.get(cell) != counted.get(cell)}
        raise DemoFailed(
            f"{len(wrong)} of {len(SPORTS) * 6} cells were not counted once per person: {sorted(wrong)[:3]}"
        )
