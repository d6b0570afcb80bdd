"""The rules of the layout, judged from the source alone: nothing is imported.

Rules
1. A package is an order of levels, lowest first.  A level is one or more parts that stand beside one another; a part is
   a subpackage or a module ("" is the package itself, its front).  A module belongs to the longest part that names it.
   It may import its own part and the levels below, whatever the import looks like: at the top, inside a function, for
   the type checker.
2. No module imports itself by way of others, again whatever the imports look like.  An exception is an edge of a table,
   with its reason; an exception that is not needed is a fault.
3. One package never imports another that the table forbids.  Nobody imports a test module (`test_*.py`, `conftest.py`).
4. No module is longer than the limit.
5. A part may be reserved for its users.  Whoever else imports it is an exception of a table, as in rule 2.
6. The modules of the browser client are a tree of the same kind, by their `import` statements; what is loaded later
   counts too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Order = Sequence[Sequence[str]]
IMPORTED = re.compile(r"""^(?:import|export) [^;"]*?from "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)""", re.MULTILINE)


@dataclass(frozen=True, repr=False)
class Tree:
    """The modules below the given folders of a root, and what each imports (names that are modules of the tree)."""

    files: Mapping[str, Path]
    imports: Mapping[str, frozenset[str]]

    @classmethod
    def read(cls, root: Path, folders: Iterable[str]) -> Tree:
        files = {_name(path.relative_to(root)): path for folder in folders for path in (root / folder).rglob("*.py")}
        return cls(files, {name: frozenset(_imported(name, path, files)) for name, path in sorted(files.items())})

    @classmethod
    def read_scripts(cls, root: Path, package: str) -> Tree:
        """The ES modules below a root, named as Python modules of a package would be (rule 6)."""
        files = {f"{package}.{_name(path.relative_to(root))}": path for path in root.rglob("*.mjs")}
        names = {path.resolve(): name for name, path in files.items()}
        imports = {
            name: frozenset(names[(path.parent / (found[1] or found[2])).resolve()] for found in _imports(path))
            for name, path in sorted(files.items())
        }
        return cls(files, imports)


def _imports(path: Path) -> Iterable[re.Match[str]]:
    """The imports of a module; those in comments are of types."""
    return IMPORTED.finditer(re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL))


def _name(path: Path) -> str:
    """
    >>> _name(Path("a/b/c.py")), _name(Path("a/b/__init__.py"))
    ('a.b.c', 'a.b')
    """
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(name: str, path: Path, files: Mapping[str, Path]) -> set[str]:
    found: set[str] = set()
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            found |= {full if (full := f"{module}.{alias.name}") in files else module for alias in node.names}
    return {module for module in found if module in files and module != name}


def part_of(module: str, package: str, order: Order) -> tuple[int, str]:
    """The level and the part that a module belongs to; -1 if the order does not name it.

    >>> order = [["errors"], ["count", "report.words"], ["report"], [""]]
    >>> [part_of(f"agg{name}", "agg", order) for name in (".count.tally", ".report.words", ".report.page", "")]
    [(1, 'count'), (1, 'report.words'), (2, 'report'), (3, '')]
    >>> part_of("agg.counting", "agg", order)
    (-1, '')
    """
    inside = module.removeprefix(package).removeprefix(".")
    named = [
        (len(part), level, part)
        for level, parts in enumerate(order)
        for part in parts
        if inside == part or (part and inside.startswith(part + "."))
    ]
    return max(named)[1:] if named else (-1, "")


def upward(tree: Tree, package: str, order: Order, excepted: Collection[tuple[str, str]] = ()) -> list[str]:
    """Imports within the package that do not point down, and modules that have no place in its order (rule 1)."""
    found = []
    for module, imports in tree.imports.items():
        if module.split(".")[0] != package:
            continue
        level, part = part_of(module, package, order)
        if level < 0:
            found.append(f"{module} has no place in the order")
            continue
        for other in sorted(imports):
            if other.split(".")[0] == package and (module, other) not in excepted:
                below, named = part_of(other, package, order)
                if below >= level and (below, named) != (level, part):
                    found.append(f"{module} imports {other}")
    return found


def forbidden(tree: Tree, importer: str, imported: str) -> list[str]:
    """Imports of one package by another (rule 3)."""
    return [
        f"{module} imports {other}"
        for module, imports in tree.imports.items()
        if module.split(".")[0] == importer
        for other in sorted(imports)
        if other.split(".")[0] == imported
    ]


def unreserved(tree: Tree, part: str, users: Sequence[str], excepted: Mapping[tuple[str, str], str]) -> list[str]:
    """Imports of a part by others than its users, and exceptions that are not needed (rule 5)."""
    edges = [
        (module, other)
        for module, imports in tree.imports.items()
        if not _within(module, (part, *users))
        for other in sorted(imports)
        if _within(other, (part,))
    ]
    found = [f"{module} imports {other}" for module, other in edges if (module, other) not in excepted]
    unneeded = [(edge, reason) for edge, reason in excepted.items() if edge not in edges]
    return found + [f"{module} → {other} is excepted ({why}) without need" for (module, other), why in unneeded]


def _within(module: str, parts: Iterable[str]) -> bool:
    return any(module == part or module.startswith(part + ".") for part in parts)


def of_test_modules(tree: Tree) -> list[str]:
    """Imports of what pytest collects (rule 3)."""
    return [
        f"{module} imports {other}"
        for module, imports in tree.imports.items()
        for other in sorted(imports)
        if (last := other.split(".")[-1]).startswith("test_") or last == "conftest"
    ]


def cycles(tree: Tree, excepted: Mapping[tuple[str, str], str]) -> list[str]:
    """Modules that import themselves by way of others (rule 2)."""
    edges = {
        module: [other for other in sorted(imports) if (module, other) not in excepted]
        for module, imports in tree.imports.items()
    }
    found = [" and ".join(sorted(knot)) + " import one another" for knot in _knots(edges)]
    for (module, other), reason in excepted.items():
        if other not in tree.imports.get(module, ()) or module not in _reached(other, edges):
            found.append(f"{module} → {other} is excepted ({reason}) without need")
    return found


def _reached(start: str, edges: Mapping[str, Sequence[str]]) -> set[str]:
    seen, left = {start}, [start]
    while left:
        for other in edges[left.pop()]:
            if other not in seen:
                seen.add(other)
                left.append(other)
    return seen


def _knots(edges: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Sets of modules that all reach one another, those of one module left out."""
    reached = {module: _reached(module, edges) for module in edges}
    knots = {frozenset(other for other in seen if module in reached[other]) for module, seen in reached.items()}
    return sorted(sorted(knot) for knot in knots if len(knot) > 1)


def too_long(tree: Tree, most: int) -> list[str]:
    """Modules of more lines than that (rule 4)."""
    lengths = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in tree.files.items()}
    return [f"{module} has {lines} lines" for module, lines in sorted(lengths.items()) if lines > most]
