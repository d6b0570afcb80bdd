"""Which of the project's errors a function raises, found by reading its source.

A function raises what its `raise` statements name, and what the project's functions it calls raise, except what it
catches.  Calls are followed where the callee can be told from names, annotations and assignments; a callable handed in
by the caller cannot be, and neither can the errors it raises.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
from collections.abc import Iterable
from types import FunctionType
from typing import Any

from rrcollect import RRCollectError
from tests.documents.source_names import (
    PROJECT,
    classes_in,
    elements_in,
    functions_of,
    functions_run,
    names_of,
    tree_of,
)

Types = dict[str, tuple[type, ...]]


def raised_by(thing: Any) -> list[str]:
    """The names of the errors, sorted; of a class, those of making one.

    >>> from rrcollect import randomise
    >>> raised_by(randomise)
    ['BadTruth', 'NoRandomness', 'NotOriented', 'OffGridDesign', 'ParameterError']
    """
    found = set().union(*(_function(function, owner, ()) for function, owner in functions_run(thing)))
    return sorted(error.__name__ for error in found)


_KNOWN: dict[tuple[FunctionType, type | None], frozenset[type]] = {}


def _function(
    function: FunctionType,
    owner: type | None,
    stack: tuple[FunctionType, ...],
    open_ends: set[FunctionType] | None = None,
) -> frozenset[type]:
    """What one function raises.  `open_ends` collects callers on the stack whose own errors are not in it yet."""
    if (function, owner) in _KNOWN:
        return _KNOWN[function, owner]
    if function in stack:
        if open_ends is not None:
            open_ends.add(function)
        return frozenset()
    tree, own_ends = tree_of(function), set()
    found = _Reader(function, owner, (*stack, function), own_ends).all(tree.body) if tree else frozenset()
    own_ends.discard(function)
    if not own_ends:
        _KNOWN[function, owner] = found
    if open_ends is not None:
        open_ends |= own_ends
    return found


class _Reader:
    """Reads one function's body."""

    def __init__(
        self, function: FunctionType, owner: type | None, stack: tuple[FunctionType, ...], open_ends: set[FunctionType]
    ) -> None:
        self.names: dict[str, Any] = dict(names_of(function.__module__))
        self.stack = stack
        self.open_ends = open_ends
        self.types: Types = {}
        tree = tree_of(function)
        given = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs] if tree else []
        for number, argument in enumerate(given):
            if number == 0 and owner is not None and argument.arg in ("self", "cls"):
                self.types[argument.arg] = (owner,)
                if argument.arg == "cls":
                    self.names["cls"] = owner
            elif argument.annotation is not None:
                self.types[argument.arg] = classes_in(ast.unparse(argument.annotation), self.names)

    # ---- what things are --------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Any:
        """The function or class an expression names."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self.value(node.value)
            if base is not None and hasattr(base, "__name__"):
                static = isinstance(base, type)
                return inspect.getattr_static(base, node.attr, None) if static else getattr(base, node.attr, None)
        return None

    def types_of(self, node: ast.expr) -> tuple[type, ...]:
        """The project's classes an expression may be of."""
        if isinstance(node, ast.Name):
            return self.types.get(node.id, ())
        if isinstance(node, ast.Attribute):
            return tuple(each for owner in self.types_of(node.value) for each in _attribute(owner, node.attr))
        if isinstance(node, ast.Call):
            return tuple(each for called in self.callees(node.func) for each in self.returned(called))
        return ()

    def elements_of(self, node: ast.expr) -> tuple[type, ...]:
        """The project's classes a loop over an expression gives."""
        if not isinstance(node, ast.Attribute):
            return ()
        return tuple(each for owner in self.types_of(node.value) for each in _held(owner, node.attr))

    def returned(self, called: Any) -> tuple[type, ...]:
        if isinstance(called, type):
            return (called,) if called.__module__.startswith(PROJECT) else ()
        return tuple(each for function, owner in functions_of(called, None) for each in _result(function, owner))

    def callees(self, node: ast.expr) -> list[Any]:
        """What a call may run."""
        found = self.value(node)
        if found is not None:
            return [found]
        if isinstance(node, ast.Attribute):
            methods = [inspect.getattr_static(owner, node.attr, None) for owner in self.types_of(node.value)]
            return [each for each in methods if each is not None]
        return []

    # ---- what is raised ---------------------------------------------------------------------------------------

    def all(self, nodes: Iterable[ast.AST]) -> frozenset[type]:
        return frozenset().union(*(self.one(node) for node in nodes))

    def one(self, node: ast.AST) -> frozenset[type]:
        if isinstance(node, ast.ImportFrom) and node.module:
            module = importlib.import_module(node.module)
            self.names.update({(a.asname or a.name): getattr(module, a.name, None) for a in node.names})
            return frozenset()
        if isinstance(node, ast.Try):
            return self.attempt(node)
        if isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            self.types[node.target.id] = self.elements_of(node.iter)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):  # the loops before what they make
            return self.all([*node.generators, node.elt])
        found = self.all(ast.iter_child_nodes(node))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            self.types[node.targets[0].id] = self.types_of(node.value)
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            self.types[node.optional_vars.id] = self.types_of(node.context_expr)
        elif isinstance(node, ast.Raise) and node.exc is not None:
            found |= self.raised(node.exc)
        elif isinstance(node, ast.Call):
            handed = [self.value(each) for each in [*node.args, *(word.value for word in node.keywords)]]
            found |= self.run([*self.callees(node.func), *(each for each in handed if isinstance(each, FunctionType))])
        elif isinstance(node, ast.Attribute):
            owned = [inspect.getattr_static(owner, node.attr, None) for owner in self.types_of(node.value)]
            found |= self.run([each for each in owned if isinstance(each, property | functools.cached_property)])
        return found

    def run(self, callees: list[Any]) -> frozenset[type]:
        found: frozenset[type] = frozenset()
        for called in callees:
            functions = functions_run(called) if isinstance(called, type) else functions_of(called, None)
            for function, owner in functions:
                found |= _function(function, owner, self.stack, self.open_ends)
        return found

    def raised(self, node: ast.expr) -> frozenset[type]:
        """The error a `raise` names: a class, or what a function that makes errors returns."""
        made = self.callees(node.func) if isinstance(node, ast.Call) else [self.value(node)]
        classes: set[type] = set()
        for each in made:
            classes |= {each} if isinstance(each, type) else set(self.returned(each))
        return frozenset(each for each in classes if issubclass(each, RRCollectError))

    def attempt(self, node: ast.Try) -> frozenset[type]:
        caught: list[type] = []
        for handler in node.handlers:
            again = any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(handler))
            parts = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            if not again:
                found = [BaseException if part is None else self.value(part) for part in parts]
                caught += [each for each in found if isinstance(each, type)]
        body = {error for error in self.all(node.body) if not issubclass(error, tuple(caught))}
        rest = self.all([*node.orelse, *node.finalbody, *(line for handler in node.handlers for line in handler.body)])
        return frozenset(body) | rest


@functools.cache
def _attribute(owner: type, name: str) -> tuple[type, ...]:
    """The project's classes an attribute may be of: by annotation, by what a property returns, or by assignment."""
    for base in owner.__mro__:
        written = inspect.getattr_static(base, name, None)
        if isinstance(written, property | functools.cached_property):
            return tuple(each for function, made in functions_of(written, base) for each in _result(function, made))
        annotation = inspect.get_annotations(base).get(name)
        if isinstance(annotation, str):
            return classes_in(annotation, names_of(base.__module__))
        init = base.__dict__.get("__init__")
        if isinstance(init, FunctionType) and init.__module__.startswith(PROJECT) and (tree := tree_of(init)):
            reader_of_init = _Reader(init, base, (init,), set())
            for node in ast.walk(tree):
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == f"self.{name}":
                    return reader_of_init.types_of(node.value)
    return ()


def _result(function: FunctionType, owner: type | None) -> tuple[type, ...]:
    """The project's classes a function says it returns."""
    text = function.__annotations__.get("return")
    if not isinstance(text, str):
        return ()
    if text == "Self" and owner is not None:
        return (owner,)
    return classes_in(text, names_of(function.__module__))


def _held(owner: type, name: str) -> tuple[type, ...]:
    """The project's classes that an annotated container holds."""
    for base in owner.__mro__:
        annotation = inspect.get_annotations(base).get(name)
        if isinstance(annotation, str):
            return elements_in(annotation, names_of(base.__module__))
    return ()
