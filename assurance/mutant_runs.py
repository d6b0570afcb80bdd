"""Which mutants of a module its tests kill.  Run: python -m assurance.mutant_runs < job, one verdict a line

Rules
1. This process imports what the project rests on, but not the project.  It forks a session of pytest, which collects
   the tests; a child of that runs all of them on the sound module and sees which lines of it each test reaches.
2. A mutant is given to the tests that reach its lines, the last killers and then the quickest first, in a forked child
   of the session, where the code of its function has been replaced.  The first failing test kills it.  If no test is
   seen to reach its lines (some do in processes of their own), those that reach the module are asked.
3. What cannot be replaced (constants, fields, default values), and what survived, is tried again in a child of this
   process: a new session of pytest, which imports the mutated module from the start.  (The sound one passes there.)
4. A test that takes longer than `item_seconds` on the sound module is not asked; nor are tests beyond `total_seconds`
   (at first: half of that).
5. A child that uses ten times the processor time of the same tests on the sound module (and five seconds) is stopped:
   the mutant is killed, and counted apart.  Tests that fail on the sound module stop everything: nothing can be said.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from assurance.mutant_code import Mutated, functions_in, mark_lines, replace_code
from assurance.mutant_session import AGAIN, KILLED, SURVIVED, UNREACHED, Reach, Session, in_child, reaches
from assurance.mutants import Mutant


@dataclass
class Job:
    """What is asked: a module's path, its tests (arguments of pytest), its mutants."""

    module: str
    tests: list[str]
    preload: list[str]
    mutants: list[dict[str, Any]]
    slow: str = ""
    item_seconds: float = 2.0
    total_seconds: float = 3.0
    postgres: bool = False

    @property
    def name(self) -> str:
        return self.module.removesuffix(".py").replace("/", ".")

    @property
    def options(self) -> list[str]:
        known = "ignore::pytest.PytestAssertRewriteWarning"  # plugins are imported before pytest is configured
        left_out = ["-m", "not no_cover", *(["-k", f"not ({self.slow})"] if self.slow else [])]
        return ["-q", "--tb=native", "--assert=plain", "--capture=sys", "-W", known, *left_out]


def chosen(found: Sequence[Reach], mutant: Mutant, total: float) -> list[Reach]:
    """The tests that reach the mutant's lines, the quickest first, as many as fit into the time."""
    touched: list[Reach] = []
    spent = 0.0
    for reach in found:
        if any(mutant.first <= line <= mutant.last for line in reach.lines):
            spent += reach.seconds
            if spent > total and touched:
                break
            touched.append(reach)
    return touched


def anew(job: Job, mutant: Mutant, file: str, tests: Sequence[Reach]) -> str:
    """The verdict of a new session that imports the mutated module."""

    def work() -> str:
        sys.meta_path.insert(0, Mutated(job.name, file, mutant.source))
        session = Session(lambda s: judge(s, [r.test for r in tests]))
        code = pytest.main([*job.options, *dict.fromkeys(r.path for r in tests)], plugins=[session])
        return SURVIVED if code == 0 and not session.failed else KILLED

    def judge(session: Session, names: list[str]) -> None:
        items = {item.nodeid: item for item in session.items}
        if any(name not in items for name in names):
            session.failed = True  # a case of a test is gone: made from the module's own tables
            return
        for name in names:
            if not session.passes(items[name]):
                session.failed = True
                return

    return in_child(work, cpu=10 * sum(r.seconds for r in tests) + 30)


def quick_verdicts(job: Job, mutants: list[Mutant], file: str, tell: Callable[[Any], None]) -> None:
    """In a session: reach, then a verdict or "again" for each mutant, told one by one."""

    def loop(session: Session) -> None:
        importlib.import_module(job.name)
        gc.collect()
        live, killers = functions_in(file), dict[int, int]()
        gc.freeze()
        sound = Path(job.module).read_text(encoding="utf-8")
        found = reaches(session, lambda lines: mark_lines(sound, live, file, lines), job.item_seconds)
        tell(("reach", len(session.items), found))
        for mutant in mutants:
            reached = chosen(found, mutant, job.total_seconds / 2)
            tests = reached or within([r for r in found if r.lines], job.total_seconds)
            tests.sort(key=lambda reach: (-killers.get(reach.item, 0), reach.seconds))
            verdict = AGAIN
            if mutant.function and tests:
                word = in_child(lambda m=mutant, t=tests: one(session, m, t, live), seconds(tests))  # type: ignore[misc]
                verdict, _, killer = word.partition(" ")
                if killer:
                    killers[int(killer)] = mutant.first
            if mutant.function and not reached and verdict == AGAIN:
                verdict = UNREACHED
            tell((mutant.key, verdict))

    def one(session: Session, mutant: Mutant, tests: list[Reach], live: Any) -> str:
        if not replace_code(mutant, live, file):
            return AGAIN
        killer = next((r.item for r in tests if not session.passes(session.items[r.item])), None)
        return AGAIN if killer is None else f"{KILLED} {killer}"

    plugin = Session(loop)
    code = pytest.main([*job.options, *job.tests], plugins=[plugin])
    if code not in {0, 5}:
        raise SystemExit(f"pytest ended with {code!s}")


def seconds(tests: Sequence[Reach]) -> float:
    """Rule 5."""
    return 10 * sum(r.seconds for r in tests) + 5


def run(job: Job, tell: Callable[[dict[str, Any]], None]) -> None:
    """All verdicts, told one by one."""
    file = str(Path(job.module).resolve())
    mutants = [Mutant(**fields) for fields in job.mutants]
    tell({"mutants": len(mutants)})
    for name in [*job.preload, *(plugin.module for plugin in entry_points(group="pytest11"))]:
        importlib.import_module(name)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as out:

                def send(thing: Any) -> None:
                    pickle.dump(thing, out)
                    out.flush()

                quick_verdicts(job, mutants, file, send)
                code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    by_key, found, later = {m.key: m for m in mutants}, [], []
    with os.fdopen(reading, "rb") as said, contextlib.suppress(EOFError):
        _, items, found = pickle.load(said)  # noqa: S301 (written by our own child)
        tell({"tests": items, "asked": len(found)})
        while True:
            key, verdict = pickle.load(said)  # noqa: S301
            if verdict == AGAIN:
                later.append(by_key[key])
            else:
                tell({"mutant": key, "verdict": verdict})
    if os.waitpid(child, 0)[1] != 0:
        raise SystemExit(f"the tests of {job.module} did not run on the sound module")
    reaching = [r for r in found if r.lines] or list(found)
    sound = Mutant("", "", 0, "", 0, 0, Path(job.module).read_text(encoding="utf-8"))
    if later and anew(job, sound, file, within(reaching, job.total_seconds)) != SURVIVED:
        raise SystemExit(f"the tests of {job.module} fail in a new session on the sound module")
    for mutant in later:
        tests = chosen(found, mutant, job.total_seconds) or within(reaching, job.total_seconds)
        tell({"mutant": mutant.key, "verdict": anew(job, mutant, file, tests)})


def within(found: Sequence[Reach], total: float) -> list[Reach]:
    """As many tests, the quickest first, as fit into the time."""
    taken: list[Reach] = []
    spent = 0.0
    for reach in found:
        spent += reach.seconds
        if spent > total and taken:
            break
        taken.append(reach)
    return taken


@contextlib.contextmanager
def shared_postgres(asked: bool) -> Iterator[None]:
    """One server for all children, if asked for: they make databases of their own in it."""
    if not asked:
        yield
        return
    module: ModuleType = importlib.import_module("tests.postgres_server")
    with module.running_postgres() as server:
        module.running_postgres = lambda: contextlib.nullcontext(server)  # type: ignore[attr-defined]
        yield


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that children are ended too
    job = Job(**json.loads(sys.stdin.read()))
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(line: dict[str, Any]) -> None:
        out.write(json.dumps(line, ensure_ascii=False) + "\n")
        out.flush()

    with shared_postgres(job.postgres):
        run(job, tell)


if __name__ == "__main__":
    main()
