"""Check 7: the collector keeps what it acknowledged, counts it once, and answers whatever is sent."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from server_agg import open_store
from server_agg.collect import Store
from tests.assurance.check import FULL, Check, Outcome, Part, Size, Step
from tests.assurance.collector import fuzz
from tests.assurance.collector.fuzz import Run, folder
from tests.assurance.collector.fuzz_targets import TARGETS
from tests.assurance.collector.planted import (
    Early,
    Hoarder,
    HoarderPostgres,
    Keyless,
    PlainCollector,
    PlainPostgresCollector,
    Sure,
    Twice,
    Unflushed,
    halving,
    hasty,
)
from tests.support.collector_crashing import (
    folds_interrupted,
    killed,
    postgres_stopped,
    read_by_strangers,
    storm,
    under_fault,
)
from tests.support.collector_running import Process
from tests.support.postgres_server import running_postgres
from tests.support.release_judge import (
    Blocks,
    CrossingTables,
    EverythingAtTheEnd,
    History,
    Publisher,
    Remainder,
    judged,
    live,
    random_history,
)

FAULTS = [
    f"{call}:error={error}:when={when}"
    for call, error in (("fdatasync", "EIO"), ("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("pwrite64", "EDQUOT"))
    for when in ("140..155", "146..149", "200..209")  # after the start, which takes up to some 90 calls
]
WRITES = [fault for fault in FAULTS if fault.startswith("pwrite64")][:1]
EXAMPLES = 150  # for each operation and phase
SMALL, ALONE = "combinations below the minimum", "people in a class below the minimum"
ZERO = (
    "beyond chance",
    "keys left over",
    "acknowledged and lost",
    "counted twice",
    "counted and never sent",
    "replies other than 200, 201, 503",
)


@contextmanager
def _database(kind: str) -> Iterator[str]:
    if kind == "PostgreSQL":
        with running_postgres() as server:
            yield server.new_database()
    else:
        with folder() as made:
            yield str(made / "reports.sqlite3")


def _kept(figures: dict[str, int], *, least: int) -> Outcome:
    """Nothing lost, nothing twice, and enough acknowledged for that to mean something."""
    bad = [name for name in ZERO if figures.get(name, 0)]
    few = figures.get("acknowledged", least) < least
    return Outcome(not bad and not few, figures, ", ".join(bad) or ("too few were acknowledged" if few else ""))


# ---- crashes, faults, duplicates -------------------------------------------------------------------------------------


def _kills(kind: str, kills: int, start: type[Process] = Process) -> Run:
    def run(piece: int, step: Step) -> Outcome:
        with _database(kind) as where:
            return _kept(killed(where, kills, start), least=kills)

    return run


def _stops(times: int, start: type[Process] = Process) -> Run:
    def run(piece: int, step: Step) -> Outcome:
        with running_postgres() as server:
            return _kept(postgres_stopped(server, times, start), least=times)

    return run


def _faults(faults: list[str], start: type[Process] = Process) -> Run:
    def run(piece: int, step: Step) -> Outcome:
        with folder() as made:
            counts, wrong = under_fault(made, faults[piece], start)
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


def _folds(kind: str, how: str, every: int, opened: Callable[[str], Store] = open_store) -> Run:
    def run(piece: int, step: Step) -> Outcome:
        with _database(kind) as where:
            return _kept(folds_interrupted(where, how, every, opened), least=10)

    return run


def _strangers(kind: str, reports: int, start: type[Process] = Process) -> Run:
    """What whoever takes all files finds of what was folded."""

    def run(piece: int, step: Step) -> Outcome:
        if kind == "PostgreSQL":
            with running_postgres() as server:
                found = read_by_strangers(server.new_database(), reports, start, server)
        else:
            with folder() as made:
                found = read_by_strangers(str(made / "reports.sqlite3"), reports, start)
        outcome = _kept(found, least=reports)
        few = found["folded"] < reports // 4
        return Outcome(outcome.passed and not few, found, "too few were folded" if few else outcome.remark)

    return run


def _releases(histories: int, publisher: Callable[[History], Publisher]) -> Run:
    """Everything that was ever published in random histories, looked at by somebody who adds and subtracts."""

    def run(piece: int, step: Step) -> Outcome:
        figures = {"histories": 0, SMALL: 0, ALONE: 0}
        for seed in range(piece * histories, (piece + 1) * histories):
            history = random_history(random.Random(seed))
            combination, few = judged(history, publisher(history))
            figures["histories"] += 1
            figures[SMALL] += combination is not None
            figures[ALONE] += few is not None
        return Outcome(not figures[SMALL] and not figures[ALONE], figures)

    return run


def _caught(run: Run, figure: str) -> Run:
    """The search over a planted bug, which has to find just this."""

    def inverted(piece: int, step: Step) -> Outcome:
        found = run(piece, step)
        return Outcome(not found.passed and found.figures[figure] != 0, found.figures, found.remark)

    return inverted


def _in_time(run: Run, figure: str, most: int) -> Run:
    """A search that luck may fail, over a planted bug: up to so many times, until it finds this."""

    def inverted(piece: int, step: Step) -> Outcome:
        for times in range(1, most + 1):
            found = _caught(run, figure)(piece, step)
            if found.passed:
                return Outcome(True, {"searches until it was found": times, figure: found.figures[figure]})
        return Outcome(False, {"searches": most}, "nothing was found")

    return inverted


def _twice(piece: int, step: Step) -> Outcome:
    found = _storm("SQLite", 10, 16, Twice)(piece, step)
    return Outcome(not found.passed, found.figures, found.remark)


def parts(size: Size) -> list[Part]:
    """At full size 30 kills per store, twelve faults, a million requests: see the figures of each part."""
    full = size is FULL
    faults = FAULTS if full else FAULTS[::4]
    kills, pieces = (10, 3) if full else (3, 1)
    reports, times = (250, 160) if full else (25, 16)
    every, strangers = (1, 1_200) if full else (6, 0)
    kept, lost, twice = "objects were kept", "acknowledged and lost", "counted twice"
    if full:
        requests, hoarding = 50_000, fuzz.hoarding_collector(50_000, "memory grew", kept, alone=True)
    else:
        requests, hoarding = 3_000, fuzz.hoarding_collector(4_000, kept)
    found = [
        Part("killed (SIGKILL) under load, SQLite", _kills("SQLite", kills), pieces),
        Part("killed (SIGKILL) under load, PostgreSQL", _kills("PostgreSQL", kills), pieces),
        Part(
            "a collector that acknowledges before it commits",
            _in_time(_kills("SQLite", 1, Early), lost, 10),
            planted=True,
        ),
        Part(
            "a collector that keeps every delivery, killed",
            _in_time(_kills("SQLite", 1, Keyless), twice, 10),
            planted=True,
        ),
        Part("faults of the disk", _faults(faults), pieces=len(faults)),
        Part(
            "a collector that acknowledges what it could not commit", _caught(_faults(WRITES, Sure), lost), planted=True
        ),
        Part("a storm of duplicates, SQLite", _storm("SQLite", reports, times)),
        Part("a storm of duplicates, PostgreSQL", _storm("PostgreSQL", reports, times)),
        Part("a collector that does not look for duplicates", _twice, planted=True),
        Part(
            "a collector that destroys a key before the commit",
            _caught(_folds("SQLite", "kill", every, hasty), lost),
            planted=True,
        ),
        Part(
            "a collector that folds in two halves",
            _caught(_folds("SQLite", "kill", every, halving), twice),
            planted=True,
        ),
        Part(
            "releases, everything ever published",
            _releases(2_500 if full else 50, lambda _: Blocks()),
            4 if full else 1,
        ),
        *(
            Part(f"releases that show {what}", _caught(_releases(50, publisher), SMALL), planted=True)
            for what, publisher in (
                ("a live view", lambda _: live),
                ("tables that cross", lambda _: CrossingTables()),
                ("what is left over", lambda _: Remainder()),
                ("the last few", lambda history: EverythingAtTheEnd(len(history.arrivals))),
            )
        ),
        Part("fuzzed requests", fuzz.requests(requests, alone=full), pieces=20 if full else 1),
        Part("a collector that takes a field for granted", fuzz.unchecked_collector, planted=True),
        Part("a collector that keeps every delivery", fuzz.keyless_collector, planted=True),
        Part("a collector that keeps every request in memory", hoarding, planted=True),
        Part("fuzzed parsers, by mutation", fuzz.parsers(*((40_000, 300) if full else (500, 5))), pieces=len(TARGETS)),
        Part("a parser that takes a field for granted", fuzz.unchecked_parser, planted=True),
    ]
    if full:  # the tests do all but the last two themselves; atheris is installed by `make assure` alone
        found += [
            Part("folds killed at their lines, SQLite", _folds("SQLite", "kill", every)),
            Part("folds killed at their lines, PostgreSQL", _folds("PostgreSQL", "kill", every)),
            Part("folds with a fault at their lines, SQLite", _folds("SQLite", "fault", every)),
            Part("folds with a fault at their lines, PostgreSQL", _folds("PostgreSQL", "fault", every)),
            Part("everything at rest, read by strangers, SQLite", _strangers("SQLite", strangers), pieces=pieces),
            Part(
                "everything at rest, read by strangers, PostgreSQL", _strangers("PostgreSQL", strangers), pieces=pieces
            ),
            *(
                Part(f"{what}, {kind}", _caught(_strangers(kind, many, start), "beyond chance"), planted=True)
                for what, kind, many, start in (  # of 1,200 SQLite's files tell too little, of 200 all
                    ("a collector that writes rows as they come", "SQLite", 200, PlainCollector),
                    ("a collector that writes rows as they come", "PostgreSQL", strangers, PlainPostgresCollector),
                    ("a collector that keeps old keys", "SQLite", strangers, Hoarder),
                    ("a collector that keeps old keys", "PostgreSQL", strangers, HoarderPostgres),
                )
            ),
            Part("PostgreSQL stopped without a checkpoint, under load", _stops(15)),
            Part(
                "a collector that does not wait for PostgreSQL's log",
                _in_time(_stops(3, Unflushed), lost, 5),
                planted=True,
            ),
            Part("requests made from the description, by schemathesis", fuzz.described(EXAMPLES), pieces=3),
            Part(
                "a collector that takes a query for granted, by schemathesis",
                fuzz.presuming_collector(15),
                planted=True,
            ),
            Part("fuzzed parsers, by atheris", fuzz.fuzzed_by_atheris(20_000, 200), pieces=len(TARGETS)),
            Part("a parser that takes a field for granted, by atheris", fuzz.planted_for_atheris(20_000), planted=True),
        ]
    return found


CHECK = Check(
    7,
    "collector",
    "What is acknowledged is counted, once",
    "Killed, starved of disk, with its database stopped, and sent the same reports many times over by many at once, "
    "the collector loses nothing it acknowledged and counts nothing twice, whatever moment a fold is interrupted at. "
    "Who reads all its files, logs, dumps and keys finds of what was folded neither the order of arrival nor whose "
    "ticket a report came with, beyond chance (a false alarm: 1e-9). Of everything that is "
    "ever released no combination counts fewer than a crowd. Whatever bytes come, in a request or in a file, "
    "the answer is a reply below 500 or an error of this project; memory stays bounded.",
    (
        "tests/assurance/collector/fuzz.py",
        "tests/assurance/collector/planted.py",
        "tests/assurance/collector/fuzz_atheris.py",
        "tests/assurance/collector/fuzz_targets.py",
        "tests/assurance/collector/fuzzing.py",
        "tests/support/collector_crashing.py",
        "tests/support/forensics.py",
        "tests/support/release_judge.py",
        "tests/support/described.py",
        "rrcollect/publish/report.py",
        "rrcollect/publish",
        "server_agg/batch/sources.py",
        "server_agg/batch/packed.py",
        "rrcollect/publish/survey_file.py",
        "server_agg/collect",
        "server_agg/count/tallies.py",
    ),
    parts,
    "faults of the disk are those strace can inject; a machine that loses power is imitated by stopping processes.",
    alone=False,
)
