"""What names in the project's source stand for: functions behind methods and properties, classes in annotations."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from rrcollect.design import DESIGNS
from tests.inside.design import Mechanism

PROJECT = ("rrcollect", "server_agg")
PACKAGES = (
    "rrcollect",
    "rrcollect.classic",
    "server_agg",
    "server_agg.plan",
    "server_agg.sampling",
    "server_agg.models",
)  # whose names are public


def functions_run(thing: Any) -> Iterator[tuple[FunctionType, type | None]]:
    """The functions that calling a thing runs."""
    if isinstance(thing, type):
        for name in ("__new__", "__init__", "__post_init__"):
            method = inspect.getattr_static(thing, name, None)
            if method is not None:
                yield from functions_of(method, thing)
    else:
        yield from functions_of(thing, None)


def functions_of(thing: Any, owner: type | None) -> Iterator[tuple[FunctionType, type | None]]:
    """The project's function behind a function, method or property, with its class; nothing if there is none."""
    if inspect.ismethod(thing):
        owner, thing = thing.__self__ if isinstance(thing.__self__, type) else type(thing.__self__), thing.__func__
    elif isinstance(thing, property):
        thing = thing.fget
    elif isinstance(thing, classmethod | staticmethod):
        thing = thing.__func__
    elif isinstance(thing, functools.cached_property):
        thing = thing.func
    thing = inspect.unwrap(thing) if callable(thing) else thing
    if (
        isinstance(thing, FunctionType)
        and thing.__module__.startswith(PROJECT)
        and "<" not in thing.__code__.co_filename
    ):
        yield thing, owner or _owner(thing)


def _owner(function: FunctionType) -> type | None:
    """The class a method was written in."""
    parts = function.__qualname__.split(".")[:-1]
    if not parts or "<locals>" in parts:
        return None
    found: Any = sys.modules[function.__module__]
    for part in parts:
        found = getattr(found, part)
    return found if isinstance(found, type) else None


@functools.cache
def tree_of(function: FunctionType) -> ast.FunctionDef | None:
    """A function's syntax tree."""
    try:
        text = inspect.getsource(function)
    except OSError:  # made at run time
        return None
    (parsed,) = ast.parse(textwrap.dedent(text)).body
    return parsed if isinstance(parsed, ast.FunctionDef) else None


@functools.cache
def names_of(module: str) -> dict[str, Any]:
    """The names of a module, those imported for its annotations alone included."""
    names: dict[str, Any] = {**vars(builtins), **vars(sys.modules[module])}
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for inner in node.body:
                if isinstance(inner, ast.ImportFrom) and inner.module and inner.module.startswith(PROJECT):
                    source = importlib.import_module(inner.module)
                    names.update({(a.asname or a.name): getattr(source, a.name, None) for a in inner.names})
    return names


def classes_in(text: str, names: dict[str, Any]) -> tuple[type, ...]:
    """The project's classes an annotation stands for, X or X | Y; a mechanism is any of the list."""
    found = [names.get(part.strip().strip("'\"")) for part in text.split("|")]
    found += DESIGNS.values() if Mechanism in found else []
    return tuple(each for each in found if isinstance(each, type) and each.__module__.startswith(PROJECT))


def elements_in(text: str, names: dict[str, Any]) -> tuple[type, ...]:
    """The project's classes an annotation holds, as in tuple[X, ...]."""
    found = [names.get(word) for word in re.findall(r"\w+", text.partition("[")[2])]
    return tuple(each for each in found if isinstance(each, type) and each.__module__.startswith(PROJECT))
