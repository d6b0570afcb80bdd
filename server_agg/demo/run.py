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
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rrcollect import Attribute, Report, SigningKey, Survey
from rrcollect.errors import Blame, RRCollectError
from rrcollect.publish.survey import Publication
from rrcollect.publish.survey_file import template
from server_agg.count.tallies import Tallies
from server_agg.demo.people import (
    SPORTS,
    Desk,
    InProcessCollector,
    Person,
    by_full_clients,
    by_gateway,
    drawn_people,
    one_device,
    true_value,
)
from server_agg.results.tables import text_table
from server_agg.survey_page.results import SurveyResults, survey_results
from server_agg.survey_page.rounds import QuestionScale
from server_agg.survey_page.words import number_text

BARS = "95 % bars; those of sports, rounds and options hold all at once. Each set misses in at most 1 of 20 runs."
MARKER = ".rrcollect-demo"
BY_SPORT = "doped"  # the question that is shown by sport
FILES = ("survey.toml", "survey.signed.json", "publisher.pem", "publisher.pem.pub", "reports.sqlite3", "tallies.json")


class DemoFailed(RRCollectError):
    """The demo could not show what it should."""

    blame = Blame.DEVICE


@dataclass(frozen=True)
class DemoRun:
    """What the demo did and found."""

    folder: Path
    publication: Publication
    people: tuple[Person, ...]
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

    @cached_property
    def questions(self) -> list[dict[str, Any]]:
        """Every question as the results page shows it, with its rows as they are `drawn`: everybody and the sports, the
        rounds or the options, each with its truth and whether the bar holds it."""
        found = self.results.page()["questions"]
        return [{**question, "drawn": self._drawn(question)} for question in found]

    def _drawn(self, question: dict[str, Any]) -> list[dict[str, Any]]:
        name, whole = question["id"], question["estimate"]
        if question["trend"] is not None:
            rounds = [
                (one, f"Round {one['round'] + 1}", {"round_": one["round"]}) for one in question["trend"]["rounds"]
            ]
            return [self._beside(question, row, label, **of) for row, label, of in rounds]
        if "options" in whole:
            options = [self._beside(question, one, one["label"], option=j) for j, one in enumerate(whole["options"])]
            return sorted(options, key=lambda row: -row["value"])
        groups = question["segments"][0]["rows"] if name == BY_SPORT else []
        return [
            self._beside(question, whole, "everybody"),
            *(self._beside(question, row, row["label"], sports=row["cells"]) for row in groups),
        ]

    def _beside(
        self, question: dict[str, Any], row: dict[str, Any], label: str, sports: Collection[str] = SPORTS, **of: int
    ) -> dict[str, Any]:
        """A row with its truth beside it, among those who do one of these sports."""
        many = sum(SPORTS[sport] for sport in sports)
        truth = sum(SPORTS[sport] * true_value(question["id"], sport=sport, **of) for sport in sports) / many
        asked = self.publication.survey.question(question["id"])
        scale = QuestionScale.of(asked, self.publication.survey).scale
        said = f"{number_text(truth, row['high'] - row['low'], scale)} {question['axis']['unit']}"
        named = {"n": row.get("n", question["estimate"]["n"]), "label": label, "truth": truth, "truth_words": said}
        return {**row, **named, "holds": row["low"] <= truth <= row["high"]}

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        keys = ("label", "n", "value", "low", "high", "truth", "holds")
        found = [{"question": q["id"], "rows": [{key: row[key] for key in keys} for row in q["drawn"]]}
                 for q in self.questions]  # fmt: skip
        ways = {"respondents": self.full + self.gateway, "full_clients": self.full, "gateway": self.gateway}
        return {**ways, "seconds": self.seconds, "digest": self.publication.digest, "results": found}

    def __str__(self) -> str:
        survey, way = self.publication.survey, f"{self.full:,} with a full client and a ledger each"
        way += f" ({self.full_seconds:.0f} s)"
        if self.gateway:
            way += f", {self.gateway:,} through a gateway in bulk ({self.gateway_seconds:.1f} s)"
        rows = [
            [q["id"] if row is q["drawn"][0] else "", row["label"], f"{row['n']:,}", row["text"], row["truth_words"],
             "inside" if row["holds"] else "outside"]
            for q in self.questions for row in q["drawn"]
        ]  # fmt: skip
        return (
            f"Published: {survey.say(survey.title)}, {len(survey.questions)} questions, "
            f"digest {self.publication.digest[:16]}…\n"
            f"Answered:  {way}; nobody twice\n"
            f"Collected: {self.tallies.n:,} reports, judged and stored once each\n\n"
            f"{text_table(['question', '', 'answers', 'estimate', 'truth', 'the truth is'], rows, {2, 3, 4})}\n\n"
            f"{BARS}"
        )


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


def published(folder: Path, entries: dict[str, Any] | None = None) -> tuple[Publication, SigningKey]:
    """Check and sign the survey (the template, which is then written as well), with a new key; all in the folder."""
    if entries is None:
        text = template()
        (folder / "survey.toml").write_text(text, encoding="utf-8")
        entries = tomllib.loads(text)
    key = SigningKey.generate()
    key.save(folder / "publisher.pem")
    (folder / "publisher.pem.pub").write_bytes(key.public.to_pem())
    publication = Survey.from_entries(entries).publish([key])
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

    def __init__(self, counter: InProcessCollector, question: str) -> None:
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
    people = drawn_people(respondents)
    with working_folder() as (work, in_memory):
        desk = desk_of(publication, key, work)
        counter = InProcessCollector(desk.store)
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
    _check(people, tallies)
    (folder / "tallies.json").write_text(tallies.to_json() + "\n", encoding="utf-8")
    return DemoRun(
        folder=folder,
        publication=publication,
        people=people,
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


def _check(people: Iterable[Person], tallies: Tallies) -> None:
    """Everybody was counted once in every question they were asked, by sport and round."""
    asked = Counter((question, number, who.sport) for who in people for question, number, _ in who.asked())
    counted: Counter[tuple[str, int, str]] = Counter()
    for key, tally in tallies.items():
        counted[key.question, key.round, dict(key.segments).get("sport", "")] += tally.n
    if wrong := {cell for cell in {*asked, *counted} if asked[cell] != counted[cell]}:
        raise DemoFailed(
            f"{len(wrong)} of {len(SPORTS) * 6} cells were not counted once per person: {sorted(wrong)[:3]}"
        )
