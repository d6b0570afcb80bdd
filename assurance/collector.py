"""Check 7: the collector keeps what it acknowledged, counts it once, and answers whatever is sent."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from assurance.check import FULL, Check, Outcome, Part, Size, Step
from assurance.collector_twins import Careless, Early, Twice
from assurance.fuzz_targets import TARGETS, careless
from assurance.fuzzing import parsed, requested
from assurance.ledger_world import SCRATCH
from server_agg.collect import admission, guard
from server_agg.collect.store import open_store
from tests.collect.crashing import killed, postgres_stopped, storm, under_fault
from tests.collect.described import schemathesis
from tests.collect.running import Process, Running, publication
from tests.postgres_server import running_postgres

FAULTS = [
    f"{call}:error={error}:when={when}"
    for call, error in (("fdatasync", "EIO"), ("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("pwrite64", "EDQUOT"))
    for when in ("80..95", "86..89", "140..149")  # after the start, which takes up to some 40 calls
]
EXAMPLES = 500  # for each operation and phase
MOST_GROWTH = 64 * 1024  # kilobytes
ZERO = ("acknowledged and lost", "counted twice", "counted and never sent", "replies other than 200, 201, 503")
Run = Callable[[int, Step], Outcome]


@contextmanager
def _folder(where: str | None = None) -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="assure", dir=where))
    try:
        yield made
    finally:
        shutil.rmtree(made)


@contextmanager
def _database(kind: str) -> Iterator[str]:
    if kind == "PostgreSQL":
        with running_postgres() as server:
            yield server.new_database()
    else:
        with _folder() as made:
            yield str(made / "reports.sqlite3")


def _kept(figures: dict[str, int], *, least: int) -> Outcome:
    """Nothing lost, nothing twice, and enough acknowledged for that to mean something."""
    bad = [name for name in ZERO if figures.get(name, 0)]
    few = figures.get("acknowledged", least) < least
    return Outcome(not bad and not few, figures, ", ".join(bad) or ("too few were acknowledged" if few else ""))


# ---- crashes, faults, duplicates -------------------------------------------------------------------------------------


def _kills(kind: str, kills: int) -> Run:
    def run(piece: int, step: Step) -> Outcome:
        with _database(kind) as where:
            return _kept(killed(where, kills), least=kills)

    return run


def _stops(times: int) -> Run:
    def run(piece: int, step: Step) -> Outcome:
        with running_postgres() as server:
            return _kept(postgres_stopped(server, times), least=times)

    return run


def _faults(faults: list[str]) -> Run:
    def run(piece: int, step: Step) -> Outcome:
        with _folder() as made:
            counts, wrong = under_fault(made, faults[piece])
        outcome = _kept(counts, least=0)
        said = f"{faults[piece]}: {wrong}" if wrong else outcome.remark
        return Outcome(outcome.passed and not wrong, counts, said)

    return run


def _storm(kind: str, reports: int, times: int, start: type[Process] = Process) -> Run:
    def run(piece: int, step: Step) -> Outcome:
        with _database(kind) as where:
            counts = storm(where, reports, times, start)
        once = counts["counted"] == counts["called new"] == reports
        outcome = _kept(counts, least=0)
        said = "" if once else f"{reports} reports: {counts['counted']} counted, {counts['called new']} called new"
        return Outcome(once and outcome.passed, counts, said or outcome.remark)

    return run


def _early(piece: int, step: Step) -> Outcome:
    for kills in range(1, 11):
        with _database("SQLite") as where:
            counts = killed(where, 1, Early)
        if counts["acknowledged and lost"]:
            return Outcome(True, {"kills until it was found": kills, "lost": counts["acknowledged and lost"]})
    return Outcome(False, {"kills": 10}, "nothing was lost")


def _twice(piece: int, step: Step) -> Outcome:
    found = _storm("SQLite", 10, 16, Twice)(piece, step)
    return Outcome(not found.passed, found.figures, found.remark)


# ---- fuzzing ---------------------------------------------------------------------------------------------------------


def _requests(number: int) -> Run:
    def run(piece: int, step: Step) -> Outcome:
        with _folder(SCRATCH) as made:
            counts, fault = requested(open_store(made / "a.sqlite3"), number, piece, step)
        grown = counts["most kilobytes of memory grown in the last three quarters"] > MOST_GROWTH
        return Outcome(not fault and not grown, counts, fault or ("memory grew" if grown else ""))

    return run


def _careless_collector(piece: int, step: Step) -> Outcome:
    with patch.object(admission, "Report", Careless), patch.object(guard.log, "disabled", True):
        found = _requests(4_000)(piece, step)
    caught = found.figures["replies of 500 and more"] != 0
    return Outcome(caught, found.figures, found.remark)


def _parsers(runs: int, slow: int) -> Run:
    def run(piece: int, step: Step) -> Outcome:
        name = list(TARGETS)[piece]
        number = slow if name == "batch" else runs
        taken, fault = parsed(name, TARGETS[name], number, piece, step)
        return Outcome(not fault, {"inputs": number, "taken as good": taken, "stray errors": int(bool(fault))}, fault)

    return run


def _careless_parser(piece: int, step: Step) -> Outcome:
    _, fault = parsed("report", careless, 5_000, 0, step)
    return Outcome("KeyError" in fault, {"stray errors": int(bool(fault))}, fault[:100])


def _atheris(runs: int, slow: int, planted: bool = False) -> Run:
    def run(piece: int, step: Step) -> Outcome:
        name = "report" if planted else list(TARGETS)[piece]
        number = slow if name == "batch" else runs
        with _folder(SCRATCH) as made:
            done = subprocess.run(  # noqa: S603
                [sys.executable, "-m", "assurance.fuzz_atheris", name, str(number), str(made), *["planted"] * planted],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=1500,
                check=False,
            )
        said = {key: int(value) for key, value in re.findall(r"stat::(\w+):\s+(\d+)", done.stderr)}
        figures = {
            "inputs": said.get("number_of_executed_units", 0),
            "inputs that reached something new": said.get("new_units_added", 0),
            "most megabytes of memory": said.get("peak_rss_mb", 0),
        }
        if planted:
            return Outcome(done.returncode != 0 and "KeyError" in done.stdout + done.stderr, figures)
        good = done.returncode == 0 and figures["inputs"] >= number
        return Outcome(good, figures, "" if good else f"{name}: {(done.stdout + done.stderr)[-500:]}")

    return run


def _described(examples: int) -> Run:
    def run(piece: int, step: Step) -> Outcome:
        with _folder() as made, Running(str(made / "a.sqlite3")) as running:
            running.publish(publication())
            done = schemathesis(running.url, made, examples=examples, seconds=1500.0)
            sent = int(running.server.server_state.total_requests)
        return Outcome(done.returncode == 0, {"requests": sent}, done.stdout[-800:] * (done.returncode != 0))

    return run


def parts(size: Size) -> list[Part]:
    """At full size 60 kills a store, twelve faults, and a million inputs: see the figures of each part."""
    full = size is FULL
    faults = FAULTS if full else FAULTS[::4]
    kills, pieces = (10, 6) if full else (3, 1)
    reports, times = (250, 160) if full else (25, 16)
    found = [
        Part("killed (SIGKILL) under load, SQLite", _kills("SQLite", kills), pieces),
        Part("killed (SIGKILL) under load, PostgreSQL", _kills("PostgreSQL", kills), pieces),
        Part("a collector that acknowledges before it commits", _early, twin=True),
        Part("faults of the disk", _faults(faults), pieces=len(faults)),
        Part("a storm of duplicates, SQLite", _storm("SQLite", reports, times)),
        Part("a storm of duplicates, PostgreSQL", _storm("PostgreSQL", reports, times)),
        Part("a collector that does not look for duplicates", _twice, twin=True),
        Part("fuzzed requests", _requests(50_000 if full else 3_000), pieces=8 if full else 1),
        Part("a collector that takes a field for granted", _careless_collector, twin=True),
        Part("fuzzed parsers, by mutation", _parsers(40_000 if full else 500, 300 if full else 5), pieces=len(TARGETS)),
        Part("a parser that takes a field for granted", _careless_parser, twin=True),
    ]
    if full:  # the tests run schemathesis and stop PostgreSQL themselves; atheris is installed by `make assure` alone
        found += [
            Part("PostgreSQL stopped without a checkpoint, under load", _stops(15)),
            Part("requests made from the description, by schemathesis", _described(EXAMPLES), pieces=3),
            Part("fuzzed parsers, by atheris", _atheris(20_000, 200), pieces=len(TARGETS)),
            Part("a parser that takes a field for granted, by atheris", _atheris(20_000, 0, True), twin=True),
        ]
    return found


CHECK = Check(
    7,
    "collector",
    "What is acknowledged is counted, once",
    "Killed, starved of disk, with its database stopped, and sent the same reports many times over by many at once, "
    "the collector loses nothing it acknowledged and counts nothing twice. Whatever bytes come, in a request or in a "
    "file, the answer is a reply below 500 or an error of this project; memory stays bounded.",
    (
        "assurance/collector_twins.py",
        "assurance/fuzz_atheris.py",
        "assurance/fuzz_targets.py",
        "assurance/fuzzing.py",
        "tests/collect/crashing.py",
        "rrcollect/deliver/report.py",
        "rrcollect/publish",
        "server_agg/batch/files.py",
        "server_agg/batch/packed_file.py",
        "server_agg/cli/survey_file.py",
        "server_agg/collect",
        "server_agg/tallies.py",
    ),
    parts,
)
