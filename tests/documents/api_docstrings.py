"""What griffe reads from the code, with the words of the API reference.

Rules
1. Words are the docstring's.  Sessions and indented text get fences; `pytest --doctest-modules` runs the sessions.
2. A name that a package exports says how it is imported.  A name without that line is not public.
3. After the words stand the errors of the project that a call can end in, as `raised_errors` finds them.
4. An error says which kind of error it is, and who has to mend it.
5. Of a module only the first paragraph is shown, its public functions, those in `ALSO`, and its classes: they are what
   functions return.
6. Left out are special methods, and attributes without words: a signature shows those.  Documents and enumerations
   show all of theirs.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache, reduce
from pathlib import Path
from typing import Any

import griffe
from pydantic import BaseModel

from rrcollect import RRCollectError
from tests.documents.raised_errors import raised_by
from tests.documents.source_names import PACKAGES

LIST = re.compile(r"^(?!\s|\d+\.|\*)(.*)\n(?=(\d+\.|\*) )", flags=re.MULTILINE)
ROOT = Path(__file__).resolve().parents[2]
ALSO = (  # used by the guides, not exported: rehearsals; the fields of a survey
    "server_agg.models.simulation",
    "rrcollect.publish.survey_fields",
)
FLAG = re.compile(r" *# doctest: .*")  # said to the runner, not to a reader


class ReferenceDocstrings(griffe.Extension):
    """Gives every class and function of ours the docstring that the reference shows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for everything it has read."""
        path = obj.path.split(".")
        if path[0] not in ("rrcollect", "server_agg"):
            return
        if any(part.startswith("_") for part in path) or _internal(obj) or _told_elsewhere(obj):
            obj.public = False
            return
        words = as_markdown(obj.docstring.value) if obj.docstring else ""
        if obj.is_module:
            words = words.partition("\n\n")[0]
        elif obj.is_class or obj.is_function:
            value = _value(obj)
            words = "\n\n".join([*_imported(obj), words, *_kind(value), *_errors(value)])
        else:
            words = "\n\n".join([*_imported(obj), words])
        obj.docstring = griffe.Docstring(words, parent=obj) if words else None


def _internal(obj: griffe.Object) -> bool:
    return obj.is_function and obj.parent is obj.module and obj.module.path not in ALSO and not list(_imported(obj))


def _told_elsewhere(obj: griffe.Object) -> bool:
    """Whether an attribute has no words of its own and is not a field of a document or a member of an enumeration."""
    if not obj.is_attribute or obj.docstring:
        return False
    if obj.parent is None or not obj.parent.is_class:
        return not list(_imported(obj))
    owner = _value(obj.parent)
    return not (isinstance(owner, type) and issubclass(owner, BaseModel | Enum))


def _value(obj: griffe.Object) -> Any:
    """The class or function itself."""
    inside = obj.path.removeprefix(f"{obj.module.path}.").split(".")
    home: Any = importlib.import_module(obj.module.path)
    found = reduce(lambda each, name: inspect.getattr_static(each, name, None), inside, home)  # None: for types alone
    return getattr(found, "__func__", found)


@cache
def public_homes() -> dict[str, str]:
    """The package that exports a name, by the name's full path: `rrcollect.design.yes_no.Design` → `rrcollect`."""
    found = {}
    for package in PACKAGES:
        members = griffe.load(package, search_paths=[ROOT]).members
        found |= {members[name].target_path: package for name in _exported(package) if members[name].is_alias}
    return found


def _exported(package: str) -> list[str]:
    return list(importlib.import_module(package).__all__)


def _imported(obj: griffe.Object) -> Iterator[str]:
    if package := public_homes().get(obj.path):
        yield f"`from {package} import {obj.name}`"


def _kind(value: Any) -> Iterator[str]:
    if isinstance(value, type) and issubclass(value, RRCollectError):
        bases = ", ".join(f"`{base.__name__}`" for base in value.__bases__)
        yield f"Kind: {bases}. To be mended by: {value.blame.value}."


def _errors(value: Any) -> Iterator[str]:
    own = isinstance(value, type) and issubclass(value, RRCollectError)
    names = [] if own else raised_by(value)
    if names:
        yield f"Errors: {', '.join(map(_linked, names))}."


def _linked(name: str) -> str:
    return f"[`{name}`][{_error_homes()[name]}.{name}]"


def _error_homes() -> dict[str, str]:
    """The module of every error of the project, by the error's name."""
    found, queue = {}, [RRCollectError]
    while queue:
        error = queue.pop()
        found[error.__name__] = error.__module__
        queue += error.__subclasses__()
    return found


def as_markdown(words: str) -> str:
    """A docstring as Markdown; a list gets the empty line before it that Markdown needs."""
    parts: list[str] = []
    for paragraph in re.split(r"\n[ \t]*\n", inspect.cleandoc(words)):
        rows = paragraph.splitlines()
        prose = rows[: next((i for i, row in enumerate(rows) if row.startswith(">>>")), len(rows))]
        if prose:
            indented = all(row.startswith("   ") for row in prose)
            parts.append(_fenced(prose, "text") if indented else LIST.sub(r"\1\n\n", "\n".join(prose)))
        if session := rows[len(prose) :]:
            parts.append(_fenced([FLAG.sub("", row) for row in session], "pycon"))
    return "\n\n".join(parts)


def _fenced(rows: Iterable[str], language: str) -> str:
    return "\n".join([f"```{language}", *rows, "```"])
