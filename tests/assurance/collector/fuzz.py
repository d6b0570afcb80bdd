"""The parts of check 7 that send whatever bytes they like: to the collector, and to the parsers.

Rules
1. What is searched for is a reply of 500 and more, an error that is not this project's, a report that is acknowledged
   and not counted once, and memory that grows with the number of requests.
2. Memory is judged between the end of the first quarter of the requests and the end of the last, by two figures: the
   kilobytes that the process has, and the pieces of memory that Python's objects have.  Free memory of a process
   that did other things before can hide a leak from the first, so that at full size each piece has a new process; what
   is kept outside of Python is hidden from the second.  A sound collector grew by at most 0.7 MB and
   450 objects, whether after 1,000 requests or 50,000; `MOST_GROWTH` and `MOST_KEPT` are several times as much.  At
   50,000 requests they leave room for 110 bytes, and for a twentieth of an object, a request.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

from server_agg import create_app, open_store
from server_agg.collect import admission
from server_agg.collect.http import headers as guard
from tests.assurance.check import Outcome, Step
from tests.assurance.collector import fuzzing
from tests.assurance.collector.fuzz_targets import TARGETS, unchecked_fields
from tests.assurance.collector.fuzzing import GROWN, KEPT, parsed, requested
from tests.assurance.collector.planted import UncheckedReport, hoarding, keyless, presuming
from tests.assurance.ledger.world import SCRATCH
from tests.support.collector_running import RunningCollector, publication
from tests.support.described import schemathesis

MOST_GROWTH = 4 * 1024  # kilobytes
MOST_KEPT = 2_000  # objects
Run = Callable[[int, Step], Outcome]


@contextmanager
def folder(where: str | None = None) -> Iterator[Path]:
    """A new folder, removed afterwards."""
    made = Path(tempfile.mkdtemp(prefix="assure", dir=where))
    try:
        yield made
    finally:
        shutil.rmtree(made)


# ---- requests --------------------------------------------------------------------------------------------------------


def _silent(done: int, total: int) -> None:
    """A step of a process that nobody watches."""


def _search(number: int, seed: int, store: Any, app: Any, step: Step = _silent) -> tuple[dict[str, int], str]:
    with folder(SCRATCH) as made, patch.object(fuzzing, "create_app", app):
        return requested(store(made / "a.sqlite3"), number, seed, step)


def requests(number: int, *, store: Any = open_store, app: Any = create_app, alone: bool = False) -> Run:
    """Requests made by mutation, to the application itself; `alone`: in a new process, without free memory."""

    def run(piece: int, step: Step) -> Outcome:
        if alone:
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                counts, fault = pool.submit(_search, number, piece, store, app).result()
        else:
            counts, fault = _search(number, piece, store, app, step)
        faults = [fault, "memory grew" * (counts[GROWN] > MOST_GROWTH)]
        faults.append("objects were kept" * (counts[KEPT] > MOST_KEPT))
        return Outcome(not any(faults), counts, ", ".join(filter(None, faults)))

    return run


def unchecked_collector(piece: int, step: Step) -> Outcome:
    """Caught by a reply of 500."""
    with patch.object(admission, "Report", UncheckedReport), patch.object(guard.log, "disabled", True):
        found = requests(4_000)(piece, step)
    caught = not found.passed and found.figures["replies of 500 and more"] != 0
    return Outcome(caught, found.figures, found.remark)


def keyless_collector(piece: int, step: Step) -> Outcome:
    """Caught by what is counted twice, although all of it was acknowledged as new."""
    found = requests(4_000, store=keyless)(piece, step)
    return Outcome(not found.passed and found.figures["counted twice"] != 0, found.figures, found.remark)


def hoarding_collector(number: int, *remarks: str, alone: bool = False) -> Run:
    """Caught by these remarks on memory, and by nothing else."""

    def run(piece: int, step: Step) -> Outcome:
        found = requests(number, app=hoarding, alone=alone)(piece, step)
        return Outcome(not found.passed and found.remark == ", ".join(remarks), found.figures, found.remark)

    return run


def described(examples: int) -> Run:
    """Requests that schemathesis makes from the collector's own description."""

    def run(piece: int, step: Step) -> Outcome:
        with folder() as made, RunningCollector(str(made / "a.sqlite3")) as running:
            running.publish(publication())
            done = schemathesis(running.url, made, examples=examples, seconds=1500.0)
            sent = int(running.server.server_state.total_requests)
        return Outcome(done.returncode == 0, {"requests": sent}, done.stdout[-800:] * (done.returncode != 0))

    return run


def presuming_collector(examples: int) -> Run:
    """Caught by a server error that schemathesis reports."""

    def run(piece: int, step: Step) -> Outcome:
        with presuming(), patch.object(guard, "log"):
            found = described(examples)(piece, step)
        told = re.search(r"Server error: \d+", found.remark)
        return Outcome(not found.passed and told is not None, found.figures, told[0] if told else found.remark)

    return run


# ---- parsers ---------------------------------------------------------------------------------------------------------


def parsers(runs: int, slow: int) -> Run:
    """Inputs made by mutation, a target for each piece."""

    def run(piece: int, step: Step) -> Outcome:
        name = list(TARGETS)[piece]
        number = slow if name == "batch" else runs
        taken, fault = parsed(name, TARGETS[name], number, piece, step)
        return Outcome(not fault, {"inputs": number, "taken as good": taken, "stray errors": int(bool(fault))}, fault)

    return run


def unchecked_parser(piece: int, step: Step) -> Outcome:
    """Caught by an error that is not this project's."""
    _, fault = parsed("report", unchecked_fields, 5_000, 0, step)
    return Outcome("KeyError" in fault, {"stray errors": int(bool(fault))}, fault[:100])


def _atheris(name: str, runs: int, *planted: str) -> tuple[int, str, dict[str, int]]:
    """(how libFuzzer ended, what it said, its figures)."""
    with folder(SCRATCH) as made:
        done = subprocess.run(
            [sys.executable, "-m", "tests.assurance.collector.fuzz_atheris", name, str(runs), str(made), *planted],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=1500,
            check=False,
        )
    said = {key: int(value) for key, value in re.findall(r"stat::(\w+):\s+(\d+)", done.stderr)}
    figures = {
        "inputs": said.get("number_of_executed_units", 0),
        "seeds among them": said.get("seeds", 0),
        "inputs that reached something new": said.get("new_units_added", 0),
        "most megabytes of memory": said.get("peak_rss_mb", 0),
    }
    return done.returncode, done.stdout + done.stderr, figures


def fuzzed_by_atheris(runs: int, slow: int) -> Run:
    """Inputs that coverage guides, a target for each piece."""

    def run(piece: int, step: Step) -> Outcome:
        name = list(TARGETS)[piece]
        number = slow if name == "batch" else runs
        code, said, figures = _atheris(name, number)
        good = code == 0 and figures["inputs"] >= number
        return Outcome(good, figures, "" if good else f"{name}: {said[-500:]}")

    return run


def planted_for_atheris(runs: int) -> Run:
    """Caught by an input that is none of the seeds."""

    def run(piece: int, step: Step) -> Outcome:
        code, said, figures = _atheris("report", runs, "planted")
        caught = code != 0 and "KeyError" in said and figures["inputs"] > figures["seeds among them"] > 0
        return Outcome(caught, figures, "" if caught else said[-500:])

    return run
