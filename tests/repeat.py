"""Every test that waits for something, again and again under load: `python -m tests.repeat 200 [--minutes M] [FILE …]`.

Rules
1. A test is chosen if it can depend on time or load: if it is marked `process` or `browser`, or if it, a fixture it
   asks for, or anything of the tests that these use by name, uses a module of `WAITS` or a function of `TIMERS`.  The
   source alone decides.
2. The chosen tests of a file run as often as was asked for, in pytest processes of their own, `--jobs` of them at once,
   beside `--busy` loops that only use the processor.  The next file is always the one that has had the least time.
3. A process repeats its tests up to `AT_ONCE` times, as many as fit into `SECONDS` by the rounds before, and after each
   round every fixture is torn down, also one of a module or a session.
4. At the end there is a table: rounds, tests, failures and the slowest test of each file, then every test that failed
   with what it said.  A process that ended without a tally is a failure of its file.  Ctrl-C and SIGTERM end with
   the table too.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests.support.marks import marks_of

ROOT = Path(__file__).resolve().parents[1]
WAITS = {
    "asyncio", "concurrent", "http", "multiprocessing", "playwright", "select", "selectors", "signal", "socket",
    "socketserver", "subprocess", "threading", "uvicorn",
}  # fmt: skip
TIMERS = {"fork", "forkpty", "monotonic", "perf_counter", "posix_spawn", "setitimer", "sleep"}
MARKED = ("process", "browser")
AT_ONCE = 20
SECONDS = 60.0
# Not RRCOLLECT_…: a collector refuses settings that it does not know.
TALLY = "REPEAT_TALLY"
ROUNDS = "REPEAT_ROUNDS"


# ---- which tests: rule 1 --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Module:
    """What a file of the tests defines at its top, and what it imports anywhere, by name."""

    path: Path
    root: Path
    defined: dict[str, list[ast.AST]]
    imported: dict[str, str]

    @classmethod
    @cache
    def read(cls, path: Path, root: Path) -> Module:
        tree = ast.parse(path.read_bytes())
        defined: dict[str, list[ast.AST]] = {}
        for node in tree.body:
            named = [node.name] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else []
            if isinstance(node, ast.Assign | ast.AnnAssign):
                named = [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and not _read(each)]
            for name in named:
                defined.setdefault(name, []).append(node)
        imported = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imported |= {alias.asname or alias.name.split(".")[0]: alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        return cls(path, root, defined, imported)

    def of_tests(self, dotted: str) -> Module | None:
        """The module of the tests that has this name."""
        place = self.root.joinpath(*dotted.split("."))
        found = [file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()]
        return Module.read(found[0], self.root) if found and dotted.startswith("tests") else None

    def fixtures(self, name: str) -> Iterator[tuple[Module, str]]:
        """Where a fixture of this name may be defined: here, or in a conftest.py above."""
        for folder in self.path.parents:
            conftest = folder / "conftest.py"
            if folder.is_relative_to(self.root / "tests") and conftest.is_file():
                yield Module.read(conftest, self.root), name
        yield self, name


def _read(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def waits(module: Module, name: str, seen: set[tuple[Path, str]]) -> bool:
    """Does what a module calls by this name wait for something, by whatever it uses?"""
    if (module.path, name) in seen:
        return False
    seen.add((module.path, name))
    origin = module.imported.get(name, "")
    if origin.split(".")[0] in WAITS:
        return True
    if name not in module.defined:
        there, _, inner = origin.rpartition(".")
        of_tests = module.of_tests(there) if there else None
        return of_tests is not None and waits(of_tests, inner, seen)
    for node in [each for top in module.defined[name] for each in ast.walk(top)]:
        used: list[tuple[Module, str]] = []
        if isinstance(node, ast.Attribute):
            marked = node.attr in MARKED and isinstance(node.value, ast.Attribute) and node.value.attr == "mark"
            if marked or node.attr in TIMERS:
                return True
            whole = module.imported.get(node.value.id, "") if isinstance(node.value, ast.Name) else ""
            of_tests = module.of_tests(whole) if whole else None
            used = [(of_tests, node.attr)] if of_tests else []
        elif isinstance(node, ast.Name) and _read(node):
            used = [(module, node.id)]
        elif isinstance(node, ast.arg):
            used = list(module.fixtures(node.arg))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            used = list(module.fixtures(node.value))  # `usefixtures`, `getfixturevalue`
        if any(waits(*each, seen) for each in used):
            return True
    return False


def waiting(path: Path, root: Path = ROOT) -> list[str]:
    """The tests of a file that can depend on time or load, by the names of their functions or classes."""
    module, file = Module.read(path, root), path.relative_to(root).as_posix()
    every = [name for name in module.defined if name.lower().startswith("test")]
    if "pytestmark" in module.defined and waits(module, "pytestmark", set()):
        return every
    return [
        name
        for name in every
        if {mark.name for mark in marks_of(f"{file}::{name}")} & {*MARKED} or waits(module, name, set())
    ]


def chosen(root: Path = ROOT) -> list[str]:
    """The files with such tests, but for the parts of `make reach`."""
    every = [path for path in sorted((root / "tests").rglob("test_*.py")) if path.parent.name != "parts"]
    return [path.relative_to(root).as_posix() for path in every if waiting(path, root)]


# ---- inside pytest: `-p tests.repeat` -------------------------------------------------------------------------------


@dataclass
class Tally:
    """What one process found."""

    tests: int = 0
    slowest: float = 0.0
    failed: Counter[str] = field(default_factory=Counter)
    said: dict[str, str] = field(default_factory=dict)


FOUND = Tally()


def _top(item: pytest.Function) -> str:
    return item.cls.__name__ if item.cls else item.originalname


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    names = {path: set(waiting(path, config.rootpath)) for path in {item.path for item in items}}
    once = [item for item in items if isinstance(item, pytest.Function) and _top(item) in names[item.path]]
    FOUND.tests = len(once)
    items[:] = once
    for _ in range(int(os.environ.get(ROUNDS, "1")) - 1):
        for item in once:
            twin = copy.copy(item)
            twin._initrequest()
            items.append(twin)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last test of a round nothing is kept for the next one."""
    if nextitem is not None and nextitem.nodeid == item.session.items[0].nodeid:
        item.session._setupstate.teardown_exact(None)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    FOUND.slowest = max(FOUND.slowest, report.duration)
    if report.failed:
        FOUND.failed[report.nodeid] += 1
        FOUND.said.setdefault(report.nodeid, report.longreprtext[-3000:])


def pytest_sessionfinish() -> None:
    if TALLY in os.environ:
        Path(os.environ[TALLY]).write_text(json.dumps(vars(FOUND)), encoding="utf-8")


# ---- outside --------------------------------------------------------------------------------------------------------


@dataclass
class File:
    """What is known of a file."""

    name: str
    rounds: int = 0
    running: int = 0
    seconds: float = 0.0
    found: Tally = field(default_factory=Tally)

    def fit(self) -> int:
        """How many rounds one process runs (rule 3)."""
        return max(1, min(AT_ONCE, int(SECONDS * self.rounds / self.seconds))) if self.rounds else 1

    def run(self, rounds: int) -> None:
        """Some rounds in a process of their own."""
        with tempfile.TemporaryDirectory() as folder:
            tally = Path(folder, "tally.json")
            environment = {**os.environ, ROUNDS: str(rounds), TALLY: str(tally)}
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "tests.repeat",
                "--basetemp",
                f"{folder}/t",
                self.name,
            ]
            began = time.monotonic()
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
            self.seconds += time.monotonic() - began
            self.rounds += rounds
            if done.returncode not in (0, 1) or not tally.exists():
                whole = f"{self.name} (the process ended with {done.returncode})"
                self.found.failed[whole] += 1
                self.found.said.setdefault(whole, (done.stdout + done.stderr)[-3000:])
                return
            found = json.loads(tally.read_text(encoding="utf-8"))
        self.found.tests = found["tests"]
        self.found.slowest = max(self.found.slowest, found["slowest"])
        self.found.failed.update(found["failed"])
        for name in found["said"].keys() - self.found.said.keys():  # now already, and in the table again
            print(f"{name}\n{found['said'][name]}", flush=True)
        self.found.said = found["said"] | self.found.said


def table(files: list[File]) -> Iterator[str]:
    """The lines of the report (rule 4)."""
    yield f"{'file':58}{'rounds':>8}{'tests':>8}{'failed':>8}{'slowest':>10}"
    for file in files:
        found = file.found
        yield f"{file.name:58}{file.rounds:8}{found.tests:8}{found.failed.total():8}{found.slowest:8.1f} s"
    for file in files:
        for name, times in file.found.failed.items():
            yield f"\n{name}: failed {times} times in {file.rounds} rounds\n{file.found.said[name]}"


def repeat(files: list[File], wanted: int, jobs: int, until: float) -> None:
    """Run these files until each has its rounds, or there is no time left."""
    with ThreadPoolExecutor(jobs) as pool:
        running: dict[Future[None], tuple[File, int]] = {}
        while True:
            while len(running) < jobs and time.monotonic() < until:
                left = [file for file in files if file.rounds + file.running < wanted]
                if not left:
                    break
                file = min(left, key=lambda file: (file.running > 0, file.seconds))
                rounds = min(file.fit(), wanted - file.rounds - file.running)
                file.running += rounds
                running[pool.submit(file.run, rounds)] = (file, rounds)
            if not running:
                return
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                file, rounds = running.pop(done)
                done.result()
                file.running -= rounds
                print(f"{file.name}: {file.rounds} rounds, {file.found.failed.total()} failed", flush=True)


def main(arguments: list[str]) -> int:
    """Choose, repeat, report; 1 if something failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.repeat", description=__doc__.splitlines()[0])
    parser.add_argument("rounds", type=int, nargs="?", default=200)
    parser.add_argument("files", nargs="*", help="these files alone")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--busy", type=int, default=2, help="loops that keep the processor busy")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start nothing after so many")
    options = parser.parse_intermixed_args(arguments)
    files = [File(name) for name in options.files or chosen()]
    for each in (signal.SIGINT, signal.SIGTERM):  # a script that starts this in the background has Ctrl-C ignored
        signal.signal(each, signal.default_int_handler)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)]
    try:
        repeat(files, options.rounds, options.jobs, time.monotonic() + 60 * options.minutes)
    finally:
        for process in busy:
            process.kill()
            process.wait()
        print(*table(files), sep="\n")
    return int(any(file.found.failed for file in files))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
