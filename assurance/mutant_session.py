"""Sessions of pytest in forked children: which tests reach which lines, and what a child had to say.

Rules
1. A child is a process group of its own and is ended with everything it started.
2. A child with a limit that says nothing has used up its processor time, or waits for what does not come.
3. A session runs each test alone, with all its fixtures made and undone; property tests are derandomised and do not
   shrink.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import select
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

__all__ = ["AGAIN", "KILLED", "SURVIVED", "TIMEOUT", "UNREACHED", "Reach", "Session", "in_child", "reaches"]

KILLED, SURVIVED, TIMEOUT, UNREACHED, AGAIN = "killed", "survived", "timeout", "unreached", "again"
MEMORY = 8 << 30


@dataclass
class Reach:
    """A test on the sound module: seconds, and the lines of the module it reached."""

    item: int
    test: str
    path: str
    seconds: float
    lines: frozenset[int]


class Session:
    """A pytest plugin that takes the run of the tests into its own hands."""

    def __init__(self, loop: Callable[[Session], None]) -> None:
        self.loop = loop
        self.items: list[pytest.Item] = []
        self.failed = False

    def pytest_collection(self) -> None:
        quiet_properties()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = list(session.items)
        if session.testsfailed:
            raise session.Failed("the tests cannot be collected")
        self.loop(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def passes(self, item: pytest.Item) -> bool:
        self.failed = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return not self.failed


def quiet_properties() -> None:
    """Property tests that repeat themselves and stop at the first counterexample."""
    from hypothesis import HealthCheck, Phase, settings

    settings.register_profile(
        "mutants",
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
    )
    settings.load_profile("mutants")


def in_child(work: Callable[[], str], cpu: float | None = None) -> str:
    """What `work` returns in a forked child; "timeout" if it used up its processor time, "killed" if it died."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        word = KILLED
        try:
            os.close(reading)
            os.setsid()
            if cpu is not None:
                resource.setrlimit(resource.RLIMIT_CPU, (int(cpu) + 1, int(cpu) + 3))
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            word = work()
        finally:
            with contextlib.suppress(OSError):
                os.write(writing, word.encode())
            os._exit(0)
    os.close(writing)
    try:
        return _said(reading, None if cpu is None else time.monotonic() + 2 * cpu + 15)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)


def _said(reading: int, deadline: float | None) -> str:
    """The word of a child; one that dies without a word ran out of processor time."""
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    if select.select([reading], [], [], left)[0]:
        return os.read(reading, 4096).decode() or TIMEOUT
    return TIMEOUT


def reaches(session: Session, mark: Callable[[set[int]], None], item_seconds: float) -> list[Reach]:
    """Each test on the sound module, in a child; tests that are too long are left out, one that fails stops all.

    `mark(lines)` makes the module add the lines it reaches.
    """

    def work() -> str:
        found, lines = [], set[int]()
        mark(lines)
        for number, item in enumerate(session.items):
            lines.clear()
            start = time.process_time()
            if not session.passes(item):
                return f"!{item.nodeid}"
            found.append(Reach(number, item.nodeid, str(item.path), time.process_time() - start, frozenset(lines)))
        with tempfile.NamedTemporaryFile(delete=False) as out:
            pickle.dump(found, out)
        return out.name

    said = in_child(work)
    if said.startswith("!") or not Path(said).exists():
        raise SystemExit(f"a test fails on the sound module, so nothing can be said of mutants: {said[1:]}")
    found: list[Reach] = pickle.loads(Path(said).read_bytes())  # noqa: S301 (written by our own child)
    Path(said).unlink()
    return sorted((r for r in found if r.seconds <= item_seconds), key=lambda r: r.seconds)
