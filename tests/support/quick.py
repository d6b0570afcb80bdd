"""The quick loop: `pytest --quick`, which is `make quick`.

Rules
1. It has no process, browser, engine, long search or slow test: those so marked are left out.  Marks of whole files and
   folders are in tests/support/marks.py (these files are not even read), others beside the test.
2. It runs without the oracles: a file that cannot be loaded because a package is not installed, imported by itself or
   by way of a module of this project, is left out; so is a test marked `needs("package")`.
3. A test that starts a process all the same fails.  (An audit hook of the interpreter watches.)
4. Without --quick nothing is left out, whatever is installed, but what is a part of `make reach` (marks.RARE).
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OWN = ("rrcollect", "server_agg", "tests")
SLOW = ("process", "browser", "engine", "long", "slow")
LEFT_OUT = f"not ({' or '.join(SLOW)})"
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "pty.spawn"}


class StartedAProcess(AssertionError):
    """A test of the quick loop did what only tests marked `process`, `browser` or `engine` may do."""


def loaded(body: Iterable[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run when a module is loaded: not those in functions or for the type checker."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from loaded([*node.body, *node.orelse])
        elif isinstance(node, ast.With | ast.ClassDef | ast.Try):
            yield from loaded(node.body)


@cache
def imported(path: Path) -> tuple[frozenset[str], frozenset[Path]]:
    """Packages from elsewhere that a file imports when it is loaded, and files of this project."""
    packages, files = set(), set()
    for node in loaded(ast.parse(path.read_bytes()).body):
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name}" for name in names] + [node.module or ""]
        for name in names:
            first, *rest = name.split(".")
            if first in OWN:
                place = ROOT.joinpath(first, *rest)
                files |= {file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()}
            elif first not in sys.stdlib_module_names:
                packages.add(first)
    return frozenset(packages), frozenset(files)


def missing(path: Path) -> list[str]:
    """What is not installed of the packages that loading a file needs."""
    seen, left, packages = {path}, [path], set[str]()
    while left:
        found, files = imported(left.pop())
        packages |= found
        left += files - seen
        seen |= files
    return sorted(package for package in packages if not installed(package))


@cache
def installed(package: str) -> bool:
    return find_spec(package) is not None


class Quick:
    """The plugin behind --quick."""

    def __init__(self, marks: Mapping[str, Sequence[pytest.MarkDecorator]]) -> None:
        """`marks` of files and folders, by how the names of their tests begin."""
        self.left_out: dict[str, list[str]] = {}
        self.slow = tuple(place for place, found in marks.items() if any(mark.name in SLOW for mark in found))
        self.testing = False
        sys.addaudithook(self.watch)

    def watch(self, event: str, arguments: tuple[object, ...]) -> None:
        """Rule 3."""
        if self.testing and event in STARTS:
            raise StartedAProcess(f"{event} {arguments[:2]}: mark the test")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.testing = True
        try:
            return (yield)
        finally:
            self.testing = False

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        if collection_path.suffix != ".py" or collection_path.name == "conftest.py":
            return None
        name = collection_path.relative_to(ROOT).as_posix()
        if name.startswith(self.slow):
            return True
        lacking = missing(collection_path)
        if lacking:
            self.left_out[name] = lacking
        return True if lacking else None

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        lacking = {
            item: [package for mark in item.iter_markers("needs") for package in mark.args if not installed(package)]
            for item in items
        }
        gone = [item for item in items if lacking[item]]
        if gone:
            config.hook.pytest_deselected(items=gone)
            items[:] = [item for item in items if not lacking[item]]

    def pytest_report_collectionfinish(self) -> list[str]:
        if not self.left_out:
            return []
        packages = sorted({package for lacking in self.left_out.values() for package in lacking})
        return [f"left out: {len(self.left_out)} files, because these are not installed: {', '.join(packages)}"]
