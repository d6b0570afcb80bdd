"""Evidence on disk: one JSON file per check in `tests/assurance/results`.

Rules
1. A piece is recorded when it ends, with its figures, seconds, date, machine and the version of the sources it judged
   (digests of what each file does).  The file is replaced as a whole: a crash leaves the old one.
2. A recorded piece counts only while no file that it judged does anything else now; the page (see `page`) says which
   parts are stale, and by which files.
3. Pieces of parts that are no longer there are forgotten.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.assurance.check import FULL, Check, Figure, Outcome, Part, together

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "tests" / "assurance" / "results"


def essence(file: Path) -> bytes:
    """What a file does.  Of Python: without comments, docstrings, code for type checkers, and the text of a CHECK."""
    if file.suffix != ".py":
        return file.read_bytes()
    tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [statement for statement in body if not _said_only(statement)]  # type: ignore[attr-defined]
        if isinstance(node, ast.ImportFrom):
            node.names = [name for name in node.names if name.name != "TYPE_CHECKING"]
    return _dumped(tree).encode()


def _dumped(tree: ast.AST) -> str:
    """The same text from every Python: 3.12 writes a field more, 3.13 would leave out the empty ones."""
    whole: dict[str, Any] = {"show_empty": True} if sys.version_info >= (3, 13) else {}
    return ast.dump(tree, **whole).replace(", type_params=[]", "")


def _said_only(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
    if isinstance(statement, ast.ImportFrom):
        return [name.name for name in statement.names] == ["TYPE_CHECKING"]
    if isinstance(statement, ast.If):
        return isinstance(statement.test, ast.Name) and statement.test.id == "TYPE_CHECKING"
    return isinstance(statement, ast.Assign) and [ast.unparse(target) for target in statement.targets] == ["CHECK"]


@lru_cache(maxsize=4096)
def _digest(file: Path, changed: int, size: int) -> str:
    """The digest of what a file does, computed again when it was written to."""
    return hashlib.sha256(essence(file)).hexdigest()[:16]


def version(check: Check, root: Path = ROOT, part: Part | None = None) -> dict[str, str]:
    """Digests of all files that the check judges (or the part, if it names its own sources), its own code included.

    Folders named "static" hold what people look at, not what is judged.
    """
    sources = check.sources if part is None or part.sources is None else part.sources
    found = {}
    for source in {*sources, f"tests/assurance/{check.name}/check.py"}:
        place = root / source
        for file in place.rglob("*") if place.is_dir() else [place]:
            if file.is_file() and file.suffix not in {".pyc", ".so"} and "static" not in file.parts:
                found[str(file.relative_to(root))] = _digest(file, file.stat().st_mtime_ns, file.stat().st_size)
    return dict(sorted(found.items()))


@dataclass
class Evidence:
    """What is recorded of one check."""

    check: Check
    folder: Path = RESULTS
    root: Path = ROOT

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / f"{self.check.name}.json"

    def read(self) -> dict[str, Any]:
        """Recorded pieces by "part/piece", each with the digests of what it judged as "version"."""
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return {
            key: {**piece, "version": found["versions"][piece["sources"]]} for key, piece in found["pieces"].items()
        }

    def record(
        self, part: Part, piece: int, outcome: Outcome, judged: Mapping[str, str], about: Mapping[str, Figure]
    ) -> None:
        """Keep one piece, of the parts there are at full size and of this one."""
        known = {f"{one.name}/{i}" for one in [*self.check.parts(FULL), part] for i in range(one.pieces)}
        pieces = {key: kept for key, kept in self.read().items() if key in known}
        pieces[f"{part.name}/{piece}"] = {
            "passed": outcome.passed,
            "figures": dict(outcome.figures),
            "remark": outcome.remark,
            **({"rows": dict(outcome.rows)} if outcome.rows else {}),
            **about,
            "version": dict(judged),
        }
        versions = {}
        for kept in pieces.values():
            files = kept.pop("version")
            kept["sources"] = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]
            versions[kept["sources"]] = files
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(f".{os.getpid()}.new")
        body = {"check": self.check.name, "versions": versions, "pieces": dict(sorted(pieces.items()))}
        fresh.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        fresh.replace(self.path)

    def done(self, part: Part, piece: int) -> bool:
        """Is this piece recorded for the sources as they are?"""
        recorded = self.read().get(f"{part.name}/{piece}")
        return recorded is not None and not changed(recorded["version"], version(self.check, self.root, part))

    def rows(self, parts: list[Part]) -> list[dict[str, Any]]:
        """A summary of each part: outcome, seconds, dates, and what is missing or stale."""
        pieces, rows = self.read(), []
        for part in parts:
            now = version(self.check, self.root, part)
            found = [pieces[key] for i in range(part.pieces) if (key := f"{part.name}/{i}") in pieces]
            outcome = together(Outcome(p["passed"], p["figures"], p["remark"], p.get("rows", {})) for p in found)
            rows.append(
                {
                    "part": part,
                    "outcome": outcome,
                    "missing": part.pieces - len(found),
                    "stale": sorted({file for p in found for file in changed(p["version"], now)}),
                    "seconds": sum(p["seconds"] for p in found),
                    "dates": sorted({p["date"] for p in found}),
                    "machines": sorted({", ".join(p["machine"].split(", ")[:3]) for p in found}),
                }
            )
        return rows


def changed(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The files judged now that were not there then, or did something else.

    >>> changed({"a.py": "1", "b.py": "2", "c.py": "3"}, {"a.py": "1", "b.py": "4"})
    ['b.py']
    """
    return [file for file, digest in now.items() if then.get(file) != digest]
