"""Nobody chooses behaviour by the type of a design, a kind or a tally: judged from the syntax tree, in both languages.

Refusing a wrong argument is another thing.  It has one function per type, and these stand in CHECKS.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TYPES = {
    "Design", "SetDesign", "Mechanism", "YesNo", "Choice", "Number", "AnyKind", "Tally", "ChosenSets",
}  # fmt: skip
CHECKS = {
    "rrcollect/publish/question.py": {"WireDesign", "filled"},
    "rrcollect/publish/report.py": {"__post_init__"},
    "server_agg/count/tally.py": {"checked_tally", "checked_tallies", "__add__"},
    "server_agg/count/tallies.py": {"__post_init__", "__init__"},
}
"""Who may look at a type, by file: what refuses a wrong argument, reads a wire form, or lists what was given."""


def faults(source: str, allowed: frozenset[str] = frozenset()) -> list[str]:
    """The places of a module where a type decides, as "line: what"."""
    return [f"{line}: {what}" for line, what in _faults(ast.parse(source), "", allowed)]


def _faults(node: ast.AST, inside: str, allowed: frozenset[str]) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        inside = node.name
    elif not inside and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        inside = node.targets[0].id
    if inside not in allowed:
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


SCRIPTS = ("rrcollect.mjs", "rr-drawings.mjs", "rr-entries.mjs", "rr-explanation.mjs", "rr-survey.mjs")


def script_faults(source: str) -> list[str]:
    """The places of a script where the type of a design decides; comments and texts are left out."""
    bare = JAVASCRIPT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    return [f"{bare.count(chr(10), 0, found.start()) + 1}: {found[0]}" for found in INSTANCE.finditer(bare)]


def modules() -> list[Path]:
    found = [path for package in ("rrcollect", "server_agg") for path in (ROOT / package).rglob("*.py")]
    return sorted(path for path in found if "rrcollect/design/" not in path.as_posix())


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_type_decides_outside_of_design(path: Path) -> None:
    allowed = CHECKS.get(path.relative_to(ROOT).as_posix(), set())
    assert faults(path.read_text(encoding="utf-8"), frozenset(allowed)) == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_type_decides_in_the_browser(name: str) -> None:
    assert script_faults((ROOT / "rrcollect" / "web" / name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("source", [
    "def f(design):\n    return 1 if isinstance(design, SetDesign) else 0",
    "def f(design):\n    return isinstance(design, (int, yes_no.Design))",
    "def f(kind):\n    match kind:\n        case Choice():\n            return 1",
    "def f(tally):\n    return type(tally) is Tally",
    "def f(design):\n    return hasattr(design, 'p00')",
])  # fmt: skip
def test_a_planted_type_test_is_found(source: str) -> None:
    assert faults(source)
    assert faults(source, frozenset({"f"})) == []


def test_a_planted_instanceof_is_found_and_a_comment_is_none() -> None:
    assert script_faults('// design instanceof SetDesign\n"x instanceof Design"\n') == []
    assert script_faults("a\nif (design instanceof SetDesign) b") == ["2: instanceof SetDesign"]
