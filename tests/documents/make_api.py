"""Writes the API reference, docs/api/*.md, from signatures, docstrings and errors.

Run: `python -m tests.documents.make_api`.

Rules
1. A page describes every name of its package's `__all__`, and the public members of its classes.
2. Words are the docstring's.  Examples in it are run by `pytest --doctest-modules`; here they are only shown.
3. Errors are found by `raised_errors`: the project's own that a call can end in.
4. The pages are a function of the code alone: `tests/documents/test_api.py` fails while they are out of date.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import pkgutil
import re
import sys
import textwrap
import types
import typing
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from rrcollect.errors import RRCollectError
from tests.documents.raised_errors import raised_by

__all__ = ["pages", "public_names"]

HERE = Path(__file__).resolve().parents[2] / "docs" / "api"
WIDTH = 110
INSIDE = ("server_agg.batch", "server_agg.collect", "server_agg.models", "server_agg.sampling")
PACKAGES = {
    "rrcollect": "the client library: designs, signed surveys, answers, delivery",
    "rrcollect.classic": "classic survey procedures as designs",
    "rrcollect.errors": "every error of the client library, and whose fault it is",
    "server_agg": "tallies, estimates and their error bars, comparisons, planning, figures",
    "server_agg.batch": "counting reports in files, frames and databases",
    "server_agg.collect": "the collector",
    "server_agg.sampling": "weights, strata, clusters, calibration, non-response, list experiments",
    "server_agg.models": "regression, association, cheating, power; simulation for rehearsals",
}


def public_names(package: str) -> dict[str, list[str]]:
    """The names a page describes, by the module they live in.

    A name of `server_agg` that lives in one of its parts is described with the part.
    """
    module = importlib.import_module(package)
    if package == "rrcollect.errors":
        return {package: ["Blame", *_own_errors(package)]}
    if package in INSIDE:
        parts = [f"{package}.{found.name}" for found in pkgutil.iter_modules(module.__path__)]
        return {part: list(getattr(importlib.import_module(part), "__all__", ())) for part in parts}
    homes: dict[str, list[str]] = {}
    for name in module.__all__:
        value = getattr(module, name)
        home = getattr(value, "__module__", package)
        if not home.startswith(INSIDE) and not _is_error(value) and not inspect.ismodule(value):
            homes.setdefault(home, []).append(name)
    if package == "server_agg":
        homes["server_agg.errors"] = list(_own_errors("server_agg.errors"))
    return {home: homes[home] for home in sorted(homes, key=lambda home: (_step(home), home))}


def _step(home: str) -> int:
    """`rrcollect`'s parts in the order of the flow; those of `server_agg` by name."""
    steps = ("rrcollect.design", "rrcollect.publish", "rrcollect.answer", "rrcollect.deliver")
    return next((number for number, step in enumerate(steps) if home.startswith(step)), 0)


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, RRCollectError)


def _own_errors(module: str) -> Iterator[str]:
    for name, value in vars(importlib.import_module(module)).items():
        if _is_error(value) and value.__module__ == module:
            yield name


def pages() -> dict[str, str]:
    """The text of every page, by its file name."""
    made = {f"{package}.md": _page(package, about) for package, about in PACKAGES.items()}
    made["index.md"] = _index()
    return made


def _index() -> str:
    lines = ["# API reference", "", "Made from the code by `python -m tests.documents.make_api`.", ""]
    for package, about in PACKAGES.items():
        names = [name for group in public_names(package).values() for name in group]
        lines += [f"## [`{package}`]({package}.md)", "", f"{about[0].upper()}{about[1:]}.", ""]
        lines += [*_wrapped(f"[{name}]({package}.md#{_anchor(name)})" for name in names), ""]
    return "\n".join(lines)


def _wrapped(links: Iterable[str]) -> list[str]:
    """Links with dots between them, in lines that are not too long."""
    lines = [""]
    for link in links:
        if len(lines[-1]) + len(link) > WIDTH:
            lines.append("")
        lines[-1] += f"{' · ' if lines[-1] else ''}{link}"
    return [f"{line} ·" for line in lines[:-1]] + lines[-1:]


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w-]", "", heading.lower())


def _page(package: str, about: str) -> str:
    lines = [f"# `{package}`: {about}", "", "Made from the code by `python -m tests.documents.make_api`.", ""]
    for home, names in public_names(package).items():
        if names:
            if home != package:
                first = (inspect.getdoc(sys.modules[home]) or "").partition("\n\n")[0]
                lines += [f"## `{home}`", "", *_markdown(first), ""]
            module = sys.modules[home]
            for name in names:
                lines += _entry(name, getattr(module, name))
    return "\n".join(lines).rstrip() + "\n"


def _entry(name: str, value: Any) -> list[str]:
    lines = [f"### {name}", ""]
    if _is_error(value):
        bases = ", ".join(f"`{base.__name__}`" for base in value.__bases__)
        return [*lines, *_markdown(inspect.getdoc(value)), "", f"A {bases}; to be mended by: {value.blame.value}.", ""]
    if isinstance(value, type):
        return [*lines, *_class(name, value)]
    if inspect.isroutine(value):
        return [*lines, *_called(name, value)]
    return [*lines, *_fenced([f"{name}: {type(value).__name__}{_value(value)}"]), ""]


def _value(value: object) -> str:
    """A constant, if it is short enough to be read."""
    text = repr(sorted(value) if isinstance(value, set | frozenset) else value)
    return f" = {text}" if len(text) <= WIDTH and not text.startswith("<") else ""


def _class(name: str, value: type) -> list[str]:
    fields = getattr(value, "model_fields", None)
    if fields is not None:
        shown = [f"{field}: {_written(info.annotation)}{_preset(info)}" for field, info in fields.items()]
        lines = _fenced(_folded(name, shown))
    elif issubclass(value, Enum):
        lines = _fenced([f"{name}.{member.name} = {member.value!r}" for member in value])
    else:
        lines = _fenced(_signature(name, value))
    words = inspect.getdoc(value) or ""
    generated = dataclasses.is_dataclass(value) and words.startswith(f"{name}(")
    lines += ["", *([] if generated else _markdown(words)), "", *_errors(value)]
    for member, thing in sorted(vars(value).items()):
        function = thing.__func__ if isinstance(thing, classmethod | staticmethod) else thing
        if member.startswith("_") or not getattr(function, "__doc__", None):
            continue
        if isinstance(function, property | functools.cached_property):
            lines += [*textwrap.wrap(f"**{name}.{member}**: {_first(function.__doc__)}", 118), ""]
        elif inspect.isfunction(function) and function.__module__.startswith(("rrcollect", "server_agg")):
            lines += [*_fenced(_signature(f"{name}.{member}", function)), "", *_markdown(inspect.getdoc(function)), ""]
            lines += _errors(function)
    return lines


def _preset(field: Any) -> str:
    """What a field of a document is if it is not given."""
    return "" if field.is_required() else f" = {field.get_default(call_default_factory=True)!r}"


def _called(name: str, value: Any) -> list[str]:
    return [*_fenced(_signature(name, value)), "", *_markdown(inspect.getdoc(value)), "", *_errors(value)]


def _errors(value: Any) -> list[str]:
    names = raised_by(value)
    return [*textwrap.wrap(f"Errors: {', '.join(f'`{name}`' for name in names)}.", WIDTH), ""] if names else []


def _signature(name: str, value: Any) -> list[str]:
    """`name(parameters) -> result`, a line a parameter if it is long; `self` and `cls` are left out."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return [name]
    parts, starred = [], False
    for given in signature.parameters.values():
        if given.kind is given.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred |= given.kind in (given.KEYWORD_ONLY, given.VAR_POSITIONAL)
        if given.name not in ("self", "cls"):
            parts.append(_parameter(given))
    made = signature.return_annotation
    result = "" if isinstance(value, type) or made is signature.empty else f" -> {_written(made)}"
    return _folded(name, parts, result)


def _folded(name: str, parts: list[str], result: str = "") -> list[str]:
    text = f"{name}({', '.join(parts)}){result}"
    return [text] if len(text) <= WIDTH else [f"{name}(", *[f"    {part}," for part in parts], f"){result}"]


def _parameter(given: inspect.Parameter) -> str:
    stars = {given.VAR_POSITIONAL: "*", given.VAR_KEYWORD: "**"}.get(given.kind, "")
    text = f"{stars}{given.name}"
    if given.annotation is not given.empty:
        text += f": {_written(given.annotation)}"
    return text if given.default is given.empty else f"{text} = {_default(given.default)}"


def _default(value: object) -> str:
    if inspect.isroutine(value):
        return "…" if value.__name__ == "<lambda>" else value.__name__
    return "…" if " at 0x" in repr(value) or repr(value).startswith("<") else repr(value)


def _written(annotation: Any) -> str:
    """An annotation as one would type it, without modules and without pydantic's rules."""
    if isinstance(annotation, str):
        return annotation
    if annotation is None or annotation is type(None):
        return "None"
    if annotation is Ellipsis:
        return "..."
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _written(inside[0])
    if origin in (typing.Union, types.UnionType):
        return " | ".join(map(_written, inside))
    name = getattr(annotation, "__name__", str(annotation))
    return f"{name}[{', '.join(map(_written, inside))}]" if inside else name


def _first(words: str | None) -> str:
    return inspect.cleandoc(words or "").partition("\n\n")[0].replace("\n", " ")


def _fenced(lines: Iterable[str], language: str = "text") -> list[str]:
    return [f"```{language}", *lines, "```"]


def _markdown(words: str | None) -> list[str]:
    """A docstring as Markdown: sessions and indented text get fences."""
    lines: list[str] = []
    for paragraph in re.split(r"\n[ \t]*\n", words or ""):
        rows = paragraph.splitlines()
        prose = rows[: next((i for i, row in enumerate(rows) if row.startswith(">>>")), len(rows))]
        session = rows[len(prose) :]
        if prose:
            indented = all(row.startswith("   ") for row in prose)
            lines += [*(_fenced(prose) if indented else [row.strip() for row in prose]), ""]
        if session:
            lines += [*_fenced(session, "python"), ""]
    return lines[:-1]


def main() -> None:
    """Write the pages, and remove those that are no more."""
    HERE.mkdir(exist_ok=True)
    made = pages()
    for old in HERE.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
