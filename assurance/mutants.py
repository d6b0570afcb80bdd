"""The mutants of a module: its source with one small change each.

Rules
1. The changes are mutmut's (`mutmut.mutation.mutators`): operators, numbers, constants, comparisons, `and` and `or`,
   keywords, arguments, assignments, conditional expressions, lambdas, texts.  Four are added: a whole number less one,
   a condition negated, a returned value forgotten, a statement (a call, a `raise`) left out.
2. Unlike mutmut, which cannot, everything is mutated: decorated functions and properties, default values, the
   constants of a module and the fields of a class.
3. Not mutated: annotations, names of types, docstrings, imports, `__all__`, decorators, what an error says, the
   arguments of `isinstance` and `len`.  A text is changed in one way; an argument is replaced by None, and left out if
   it has a name.
4. A mutant is named by what a reader sees: the line and the change; and by its place among equals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_arg_removal, operator_number, operator_string

__all__ = ["Mutant", "mutants_of"]

NEVER_INSIDE = (cst.Annotation, cst.Import, cst.ImportFrom, cst.Decorator, cst.FormattedString)
UNTOUCHED_CALLS = {"isinstance", "len", "issubclass", "cast", "TypeVar", "overload"}
PLAIN_TESTS = (cst.Call, cst.Name, cst.Attribute, cst.Subscript, cst.NamedExpr, cst.Await)


@dataclass(frozen=True)
class Mutant:
    """`function` is the outermost function it is in, or empty: then the module must be imported again to see it."""

    line: str
    change: str
    place: int
    function: str
    first: int
    last: int
    source: str

    @property
    def key(self) -> str:
        """Its name in the records."""
        return f"{self.line} | {self.change}" + (f" | {self.place}" if self.place else "")


def fewer(node: cst.BaseNumber) -> Iterator[cst.CSTNode]:
    """A number more, a whole number also less, by one."""
    yield from operator_number(node)
    if isinstance(node, cst.Integer) and node.evaluated_value > 0:
        yield cst.Integer(str(node.evaluated_value - 1))


def other_text(node: cst.BaseString) -> Iterator[cst.CSTNode]:
    """One change of a text."""
    yield from list(operator_string(node))[:1]


def other_arguments(node: cst.Call) -> Iterator[cst.CSTNode]:
    """mutmut replaces each argument by None, then leaves each out; of the latter those with a name."""
    for changed in operator_arg_removal(node):
        if len(changed.args) == len(node.args) or {a.keyword.value for a in node.args if a.keyword} != {
            a.keyword.value for a in changed.args if a.keyword
        }:
            yield changed


def negated(node: cst.If | cst.While) -> Iterator[cst.CSTNode]:
    """The other branch; comparisons, `and`, `or` and `not` are changed by other rules."""
    if isinstance(node.test, PLAIN_TESTS):
        inner = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        yield node.with_changes(test=cst.UnaryOperation(cst.Not(), inner))


def forgotten(node: cst.Return) -> Iterator[cst.CSTNode]:
    """return value → return None."""
    if node.value is not None and not (isinstance(node.value, cst.Name) and node.value.value == "None"):
        yield cst.Return(cst.Name("None"))


def left_out(node: cst.Expr | cst.Raise) -> Iterator[cst.CSTNode]:
    """A statement left out, unless it is a docstring."""
    if not (isinstance(node, cst.Expr) and isinstance(node.value, cst.BaseString | cst.Ellipsis)):
        yield cst.Pass()


Change = Callable[[Any], Any]
OURS: dict[Change, Change] = {
    operator_number: fewer,
    operator_string: other_text,
    operator_arg_removal: other_arguments,
}
OPERATORS: list[tuple[Any, Change]] = [(kind, OURS.get(change, change)) for kind, change in mutation_operators]
OPERATORS += [(cst.If | cst.While, negated), (cst.Return, forgotten), (cst.Expr | cst.Raise, left_out)]


@dataclass(frozen=True)
class Place:
    """Where a walk is: the function, the lines whose execution reaches the node, and whether it runs at import."""

    function: str = ""
    names: tuple[str, ...] = ()
    lines: tuple[int, int] = (0, 0)
    fixed: bool = False


class Walk:
    """All changes of a module, each as (place, node, changed node)."""

    def __init__(self, wrapper: MetadataWrapper) -> None:
        self.ranges = wrapper.resolve(PositionProvider)
        self.found: list[tuple[Place, cst.CSTNode, cst.CSTNode]] = []

    def lines(self, node: cst.CSTNode, last: cst.CSTNode | None = None) -> tuple[int, int]:
        start: CodeRange = self.ranges[node]
        end: CodeRange = self.ranges[last or node]
        return start.start.line, end.end.line

    def visit(self, node: cst.CSTNode, place: Place) -> None:
        if untouched(node):
            return
        place = self.entered(node, place)
        for kind, change in OPERATORS:
            if isinstance(node, kind):
                self.found += [(place, node, changed) for changed in change(node)]
        for child in children(node):
            self.visit(child, place)

    def entered(self, node: cst.CSTNode, place: Place) -> Place:
        """The place of a node and of what is in it."""
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            names = (*place.names, node.name.value)
            function = place.function or (".".join(names) if isinstance(node, cst.FunctionDef) else "")
            lines = self.lines(node.body) if isinstance(node, cst.FunctionDef) else self.lines(node)
            return replace(place, names=names, function=function, lines=lines)
        if isinstance(node, cst.Param):
            return replace(place, fixed=True)
        if isinstance(node, cst.SimpleStatementLine):
            return replace(place, lines=self.lines(node))
        head = next((getattr(node, name) for name in ("test", "iter") if hasattr(node, name)), None)
        if isinstance(node, cst.BaseCompoundStatement) and head is not None:
            return replace(place, lines=self.lines(node, head))
        return place


def untouched(node: cst.CSTNode) -> bool:
    """Rule 3."""
    if isinstance(node, NEVER_INSIDE):
        return True
    if isinstance(node, cst.Call):
        return isinstance(node.func, cst.Name) and node.func.value in UNTOUCHED_CALLS
    if isinstance(node, cst.Assign):
        target = node.targets[0].target
        alias = isinstance(node.value, cst.Subscript) and isinstance(node.value.value, cst.Name)
        named = isinstance(target, cst.Name) and target.value
        return named in {"__all__", "__slots__"} or bool(
            alias and named and named[:1].isupper() and not named.isupper()
        )
    if isinstance(node, cst.If):
        return isinstance(node.test, cst.Name) and node.test.value == "TYPE_CHECKING"
    return False


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """What is walked below a node; of what is raised nothing."""
    if isinstance(node, cst.Raise) or (isinstance(node, cst.Expr) and isinstance(node.value, cst.BaseString)):
        return []
    return list(node.children)


def mutants_of(source: str) -> list[Mutant]:
    """The mutants of a source, in its order."""
    wrapper = MetadataWrapper(cst.parse_module(source))
    module, walk, lines = wrapper.module, Walk(wrapper), source.splitlines()
    found: list[Mutant] = []
    seen: dict[tuple[str, str], int] = {}
    texts = {source}
    for number, statement in enumerate(module.body):
        walk.found.clear()
        walk.visit(statement, Place())
        within = members(statement)
        before = "".join(module.code_for_node(s) for s in [*module.header, *module.body[:number]])
        after = "".join(module.code_for_node(s) for s in [*module.body[number + 1 :], *module.footer])
        for place, node, changed in walk.found:
            text = before + module.code_for_node(changed_in(statement, within, node, changed)) + after
            if text in texts or not compiles(text):
                continue
            texts.add(text)
            start = walk.ranges[node].start.line if node in walk.ranges else place.lines[0]
            line, change = lines[start - 1].strip(), " → ".join(map(one_line, shown(module, node, changed)))
            seen[line, change] = seen.get((line, change), -1) + 1
            function = "" if place.fixed else place.function
            found.append(Mutant(line, change, seen[line, change], function, *place.lines, text))
    return found


def members(statement: cst.CSTNode) -> dict[cst.CSTNode, int]:
    """For every node in a class, which member of its body it is in."""
    body = statement.body.body if isinstance(statement, cst.ClassDef) else ()
    return {node: number for number, member in enumerate(body) for node in below(member)}


def below(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from below(child)


def changed_in(
    statement: cst.CSTNode, within: dict[cst.CSTNode, int], node: cst.CSTNode, changed: cst.CSTNode
) -> cst.CSTNode:
    """The statement with one node changed; of a class only the member it is in is searched."""
    if isinstance(statement, cst.ClassDef) and node in within:
        body = list(statement.body.body)
        body[within[node]] = body[within[node]].deep_replace(node, changed)
        return statement.with_changes(body=statement.body.with_changes(body=body))
    whole: cst.CSTNode = statement.deep_replace(node, changed)
    return whole


def shown(module: cst.Module, node: cst.CSTNode, changed: cst.CSTNode) -> tuple[str, str]:
    """The change as text, cut to what differs when the node is long."""
    if isinstance(node, cst.If | cst.While):
        node, changed = node.test, changed.test  # type: ignore[attr-defined]
    return module.code_for_node(node), module.code_for_node(changed)


def one_line(text: str) -> str:
    return " ".join(text.split())


def compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
