"""The size of the house, counted: `python -m tests.house` prints it, `tests/test_house.py` holds it to `MOST`.

Rules
1. A public name is a line of an `__init__.pyi`; names of a namespace count with it, a namespace itself does not.
2. A result class is a class of server_agg that inherits from `Result`, by whatever way; a base whose name begins with
   an underscore, or that has abstract methods of its own, is not one.
3. A module is a Python file of the product that is not an `__init__.py`; its lines are all its lines.
4. A type test chooses behaviour by the type of a design, a kind, a tally or a result: `isinstance`, `type(...)`,
   `hasattr`, a class pattern of `match`, `instanceof` in JavaScript.  The folder `design` may; so may what only refuses
   a wrong argument: a function named `checked_…`, and those in `CHECKS`.
5. An import of a test is deep if it names a module that is neither a package's top nor one of its namespaces.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("rrcollect", "server_agg")
NAMESPACES = (
    *PRODUCT, "rrcollect.classic", "rrcollect.errors", "rrcollect.telemetry", "server_agg.errors", "server_agg.plan",
    "server_agg.sampling", "server_agg.models", "server_agg.collect",
)  # fmt: skip
TYPES = {"Design", "SetDesign", "Mechanism", "YesNo", "Choice", "Number", "AnyKind", "Tally", "ChosenSets"}
CHECKS = {
    "rrcollect/publish/question.py": {"WireDesign", "filled"},
    "rrcollect/publish/report.py": {"__post_init__"},
    "server_agg/count/tally.py": {"__add__"},
}
"""Who may look at a type, by file: what reads a wire form, or refuses a wrong argument; `checked_…` may everywhere."""
MOST = {
    "public names": 110,
    "public names at the top": 72,
    "result classes": 20,
    "modules": 236,
    "lines of Python": 45_600,
    "type tests": 0,
    "deep imports in tests": 250,
}


def files(*folders: str, ending: str = ".py", root: Path = ROOT) -> Iterator[Path]:
    """The files of these folders, in order."""
    for folder in folders:
        for path in sorted((root / folder).rglob(f"*{ending}")):
            if "node_modules" not in path.parts and "__pycache__" not in path.parts:
                yield path


@cache
def parsed(path: Path) -> ast.Module:
    """A file is read once for all that is counted in it."""
    return ast.parse(path.read_bytes())


def public_names(root: Path = ROOT) -> dict[str, list[str]]:
    """The public names of every package that has a stub, without the namespaces themselves."""
    found = {}
    for path in files(*PRODUCT, ending="__init__.pyi", root=root):
        package = ".".join(path.relative_to(root).parent.parts)
        lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("from ")]
        found[package] = [words[3] for words in lines if f"{package}.{words[3]}" not in NAMESPACES]
    return found


def result_classes(root: Path = ROOT) -> list[str]:
    """The classes that inherit from `Result` (rule 2)."""
    bases: dict[str, set[str]] = {}
    abstract: set[str] = set()
    for path in files("server_agg", root=root):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                bases.setdefault(node.name, set()).update(ast.unparse(base).split("[")[0] for base in node.bases)
                if any(
                    "abstractmethod" in ast.unparse(each)
                    for each in ast.walk(node)
                    if isinstance(each, ast.FunctionDef)
                ):
                    abstract.add(node.name)
    results = {"Result"}
    while more := {name for name, of in bases.items() if name not in results and of & results}:
        results |= more
    return sorted(name for name in results - abstract - {"Result"} if not name.startswith("_"))


def modules(root: Path = ROOT) -> list[Path]:
    """The modules of the product (rule 3)."""
    return [path for path in files(*PRODUCT, root=root) if path.name != "__init__.py"]


def lines(root: Path = ROOT) -> int:
    """The lines of all Python files of the product."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files(*PRODUCT, root=root))


def type_tests(root: Path = ROOT) -> list[str]:
    """Where behaviour is chosen by a type (rule 4), as "file:line: what"."""
    found = []
    for path in files(*PRODUCT, root=root):
        name = path.relative_to(root).as_posix()
        if not name.startswith("rrcollect/design/"):
            allowed = frozenset(CHECKS.get(name, ()))
            found += [f"{name}:{line}: {what}" for line, what in _faults(parsed(path), "", allowed)]
    for path in files(*PRODUCT, ending=".mjs", root=root):
        name = path.relative_to(root).as_posix()
        if "/design/" not in name and not name.startswith("rrcollect/web/dist/"):
            found += [f"{name}:{fault}" for fault in script_faults(path.read_text(encoding="utf-8"))]
    return found


def faults(source: str, allowed: frozenset[str] = frozenset()) -> list[str]:
    """The places of a module where a type decides, as "line: what"."""
    return [f"{line}: {what}" for line, what in _faults(ast.parse(source), "", allowed)]


def _faults(node: ast.AST, inside: str, allowed: frozenset[str]) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        inside = node.name
    elif not inside and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        inside = node.targets[0].id
    if inside not in allowed and not inside.startswith("checked_"):
        called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if called in ("isinstance", "issubclass") and _names(node) & TYPES:
            yield node.lineno, f"{called} of {sorted(_names(node) & TYPES)}"
        if isinstance(node, ast.Compare) and _is_type(node) and _names(node) & TYPES:
            yield node.lineno, "type(…) compared"
        if isinstance(node, ast.MatchClass) and _names(node.cls) & TYPES:
            yield node.lineno, "match"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr":
            named = {each.value for each in node.args if isinstance(each, ast.Constant)}
            if named & {"p00", "p11", "options", "size", "counts", "ones", "limits"}:
                yield node.lineno, "hasattr of a design, a kind or a tally"
    for child in ast.iter_child_nodes(node):
        yield from _faults(child, inside, allowed)


def _is_type(node: ast.Compare) -> bool:
    return any(
        isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "type"
        for each in (node.left, *node.comparators)
    )


def _names(node: ast.AST) -> set[str]:
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


JAVASCRIPT = re.compile(r"""(//[^\n]*|/\*[\s\S]*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)""")
INSTANCE = re.compile(r"\binstanceof\s+(Design|SetDesign)\b|\.constructor\s*===?\s*(Design|SetDesign)\b")


def script_faults(source: str) -> list[str]:
    """The places of a script where the type of a design decides; comments and texts are left out."""
    bare = JAVASCRIPT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    return [f"{bare.count(chr(10), 0, found.start()) + 1}: {found[0]}" for found in INSTANCE.finditer(bare)]


def imports(paths: Iterable[Path]) -> tuple[int, int]:
    """How many imports of the product these files have, and how many of them are deep (rule 5)."""
    every = deep = 0
    for path in paths:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and (module := node.module or "").split(".")[0] in PRODUCT:
                every += 1
                deep += module not in NAMESPACES
            elif isinstance(node, ast.Import):
                named = [name.name for name in node.names if name.name.split(".")[0] in PRODUCT]
                every += bool(named)
                deep += any(name not in NAMESPACES for name in named)
    return every, deep


def figures(root: Path = ROOT) -> dict[str, int]:
    """What is held to `MOST`."""
    names = public_names(root)
    return {
        "public names": sum(len(each) for each in names.values()),
        "public names at the top": sum(len(names.get(package, ())) for package in PRODUCT),
        "result classes": len(result_classes(root)),
        "modules": len(modules(root)),
        "lines of Python": lines(root),
        "type tests": len(type_tests(root)),
        "deep imports in tests": imports(files("tests", root=root))[1],
    }


def main(arguments: list[str]) -> int:
    """Print the figures of this tree, or of the checkout named."""
    root = Path(arguments[0]).resolve() if arguments else ROOT
    for name, count in figures(root).items():
        print(f"{name:28}{count:8,}   at most {MOST[name]:,}")
    return 0


if __name__ == "__main__":
    import sys

    raise SystemExit(main(sys.argv[1:]))
