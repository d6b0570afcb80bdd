"""One answer walked, from the survey's file to the public page, by a tracer: what each step touches is counted.

    survey.toml → publish → accept → answer → deliver → fold → live results → release → public results

Every call of the product is seen (`sys.setprofile` in all threads), on a second pass, when caches are warm.  Counted by
step: modules, how often a survey's payload is written and its digest made, and SQL statements.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rrcollect import Client, HttpTransport, Policy, Survey, TrustedPublisher
from server_agg import survey_results
from tests.inside.publish import canonical, verify
from tests.support.collector_running import BEARER, JSON, RunningCollector
from tests.support.devices import KEY

pytestmark = pytest.mark.slow  # nine devices, twice
CONNECT = sqlite3.connect
ROOT = str(Path(__file__).resolve().parents[2])
PRODUCT = tuple(f"{ROOT}/{package}/" for package in ("rrcollect", "server_agg"))
SURVEY = """
name = "walk"
version = {version}
title = "One answer"
publisher = "Example Institute"
collector = "{here}/reports"
expires = "2100-01-01T00:00:00Z"
minimum = 4
segments = {{ sport = ["run", "ski"] }}

[[questions]]
id = "doped"
attribute = "doped-{version}"
text = "Did you dope, in walk {version}?"
epsilon = "ln 3"
"""
ANSWERS = 8  # two crowds; one more waits
STATEMENTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")  # and neither settings nor the ends of transactions


@dataclass
class Step:
    """What was seen while a step ran."""

    modules: Counter[str] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)
    written: Counter[bytes] = field(default_factory=Counter)  # by the writer of canonical JSON
    sql: list[str] = field(default_factory=list)

    @property
    def calls(self) -> int:
        return self.modules.total()

    def __str__(self) -> str:
        return f"{self.calls} calls, {len(self.modules)} modules, {len(self.sql)} SQL statements"


class Tracer:
    """Counts by step; a call is one of the product's own functions, comprehensions and class bodies left out."""

    def __init__(self) -> None:
        self.steps: dict[str, Step] = {}
        self._now: Step | None = None

    def _saw(self, frame, event, what) -> None:
        now = self._now
        if now is None:
            return
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PRODUCT) and code.co_name[0] != "<":
            module = code.co_filename.removeprefix(ROOT).removesuffix(".py").strip("/").replace("/", ".")
            now.modules[module] += 1
            now.functions[f"{module}.{code.co_qualname}"] += 1
        if event == "return" and code is canonical.__code__ and isinstance(what, bytes):
            now.written[what] += 1

    def _ran(self, statement: str) -> None:
        if self._now is not None and statement.lstrip().startswith(STATEMENTS):
            self._now.sql.append(statement)

    def _connected(self, *how, **named) -> sqlite3.Connection:
        connection = CONNECT(*how, **named)
        connection.set_trace_callback(self._ran)
        return connection

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        self._now = self.steps[name] = Step()
        try:
            yield
        finally:
            self._now = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """In this thread, and in all that start from now on."""
        sqlite3.connect = self._connected
        threading.setprofile(self._saw)
        sys.setprofile(self._saw)
        try:
            yield
        finally:
            sys.setprofile(None)
            sqlite3.connect = CONNECT
            threading.setprofile(None)


def walk(folder: Path, collector: RunningCollector, version: int, tracer: Tracer) -> bytes:
    """One answer all the way, after others that make a crowd with it; the bytes of the survey that were signed."""
    text = folder / f"survey-{version}.toml"
    text.write_text(SURVEY.format(version=version, here=collector.url))
    with tracer("read"):
        survey = Survey.read(text)
    with tracer("publish"):
        publication = survey.publish([KEY])
    with tracer("hand in"):
        collector.publish(publication)
    policy, name = Policy([TrustedPublisher(survey.publisher, [KEY.public])]), f"doped-{version}"
    for number in range(ANSWERS + 1):
        if number == ANSWERS:
            with tracer("fold"):
                assert collector.store.fold() == ANSWERS
        device = Client(folder / f"{version}-{number}.sqlite3", attributes=[name], policy=policy, spread=0)
        with tracer("accept"):
            accepted = device.accept(publication.envelope)
        with tracer("answer"):
            device.answer(accepted, "doped", number % 2 == 0, segments={"sport": ("run", "ski")[number % 2]})
        with tracer("deliver"):
            assert not device.deliver(HttpTransport()).waiting
    tallies = collector.store.tallies()
    with tracer("tallies to page"):
        survey_results(tallies, accepted.survey, method="anytime").page()
    with tracer("live results"):
        _, live = collector.json("GET", f"/results?survey={publication.digest}", headers=BEARER)
    with tracer("release"):
        address = f"/surveys/{publication.digest}/release"
        status, _ = collector.json("POST", address, b"{}", {**JSON, **BEARER})
    with tracer("public results"):
        _, shown = collector.json("GET", f"/results?survey={publication.digest}")
    assert (status, live["surveys"][0]["answers"]) == (201, ANSWERS)
    assert 4 <= shown["surveys"][0]["answers"] <= ANSWERS
    return verify(publication.envelope, [KEY.public]).payload


@pytest.fixture(scope="module")
def walked(tmp_path_factory) -> tuple[dict[str, Step], bytes]:
    folder, tracer = tmp_path_factory.mktemp("walk"), Tracer()
    how = {"public_results": True, "fold_seconds": 600}
    with tracer.watching(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("server_agg.collect.housekeeping.LOOK_SECONDS", 600)  # or a slow machine counts it as a step's
        for version in (1, 2):  # the second pass counts
            with RunningCollector(str(folder / f"reports-{version}.sqlite3"), **how) as collector:
                payload = walk(folder, collector, version, tracer)
    return tracer.steps, payload


@pytest.fixture(scope="module")
def steps(walked) -> dict[str, Step]:
    return walked[0]


def made(step: Step) -> dict[str, int]:
    """How often the survey was serialised or hashed in a step."""
    return {
        name: step.functions[f"rrcollect.publish.document.SignedDocument.{name}"]
        for name in ("payload", "digest")
        if step.functions[f"rrcollect.publish.document.SignedDocument.{name}"]
    }


def test_a_survey_is_serialised_where_it_comes_in_and_nowhere_else(walked):
    """It was three times when it was published, five when it was handed in, and six times to show public results."""
    steps, payload = walked
    assert steps["publish"].written[payload] == 2  # what is signed, and what was signed as a device reads it
    assert made(steps["publish"])["payload"] == 1
    for name in ("hand in", "accept"):
        assert steps[name].written[payload] == 1, name  # the check that there is one spelling
        assert made(steps[name]) == {}, name
    for name in ("answer", "deliver", "fold", "tallies to page", "live results", "release", "public results"):
        assert steps[name].written[payload] == 0, name
        assert made(steps[name]) == {}, name


def test_results_take_few_statements(steps):
    """They were 13 and 5, and more with every further survey."""
    assert len(steps["live results"].sql) <= 6, "\n".join(steps["live results"].sql)
    assert len(steps["public results"].sql) <= 3, steps["public results"].sql
    assert len(steps["tallies to page"].sql) == 0


def test_a_device_answers_by_a_short_way(steps):
    """The ledger, its names and words, the document, its mechanism, the policy and the draw."""
    answered = steps["answer"]
    assert len(answered.modules) <= 27, sorted(answered.modules)
    assert len(answered.sql) <= 12, answered.sql  # one of them reads which names are one attribute
    assert not any(name.startswith(("server_agg.", "rrcollect.answer.explain.")) for name in answered.modules)


def test_from_tallies_to_the_page_is_a_short_way(steps):
    """There were 52 modules of both packages on it; with warm caches, as at every look but the first."""
    ours = [name for name in steps["tallies to page"].modules if name.startswith("server_agg.")]
    assert len(ours) <= 18, sorted(ours)
    assert len(steps["tallies to page"].modules) <= 25, sorted(steps["tallies to page"].modules)
    assert len(steps["live results"].modules) <= 44, sorted(steps["live results"].modules)
    assert len(steps["public results"].modules) <= 40, sorted(steps["public results"].modules)


def test_the_tracer_sees_a_digest_a_statement_and_a_module_that_are_too_many(tmp_path):
    """Planted: a survey that is serialised and a database that is asked in a step that should do neither."""
    text = tmp_path / "survey.toml"
    text.write_text(SURVEY.format(version=1, here="https://collect.example.org"))
    tracer = Tracer()
    with tracer.watching(), tracer("planted"):
        survey = Survey.read(text)
        assert survey.payload()
        sqlite3.connect(":memory:").execute("SELECT 1").close()
    seen = tracer.steps["planted"]
    assert made(seen)["payload"] == 1
    assert max(seen.written.values()) == 1
    assert len(seen.sql) == 1
    assert {"rrcollect.publish.survey", "rrcollect.publish.canonical"} <= set(seen.modules)
