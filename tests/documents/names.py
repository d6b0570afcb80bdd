"""What a page names in backticks: tests, functions, files and commands; and whether each of them exists."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
import tomllib
from pathlib import Path
from typing import Any

from tests.documents.blocks import prose_of
from tests.documents.workspace import ROOT

SPAN = re.compile(r"`([^`]+)`")


def named(page: str) -> list[str]:
    """Everything between backticks outside of code blocks; a span may go on in the next line.

    >>> named("Run `make test`, then\\n`pytest\\ntests`.")
    ['make test', 'pytest tests']
    """
    text = "\n".join(line for _, line in prose_of(page))
    return [" ".join(span.split()) for span in SPAN.findall(text)]


@functools.cache
def written_tests() -> dict[str, Path]:
    """Every test function by its name, with a file that holds it."""
    found = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            found[name] = path
    return found


def resolves(name: str) -> bool:
    """Whether a dotted name is a module of ours, or something reached from one or from a public class.

    >>> resolves("rrcollect.optimal_design"), resolves("Design.variance"), resolves("rrcollect.optimal_dessin")
    (True, True, False)
    """
    head = name.partition(".")[0]
    for start in ("", "rrcollect.", "rrcollect.errors.", "server_agg."):
        if start == "" and head not in ("rrcollect", "server_agg", "tests"):
            continue
        if _reached((start + name).split(".")):
            return True
    return False


def _reached(parts: list[str]) -> bool:
    found: Any = importlib.import_module(parts[0])
    for number, part in enumerate(parts[1:], 2):
        if hasattr(found, part):
            found = getattr(found, part)
            continue
        fields = getattr(found, "__dataclass_fields__", None) or getattr(found, "model_fields", None) or {}
        if part in fields and number == len(parts):
            return True
        try:
            found = importlib.import_module(".".join(parts[:number]))
        except ImportError:
            return False
    return True


def command_fault(command: str) -> str | None:
    """What is wrong with a command a page names; None if it can be run, or is none of ours.

    >>> command_fault("make test"), command_fault("make coffee")
    (None, 'the Makefile has no target coffee')
    """
    words = command.partition("#")[0].split()
    while words and re.fullmatch(r"[A-Z_]+=\S+", words[0]):
        words.pop(0)
    match words:
        case ["make", *targets]:
            known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
            missing = [t for t in targets if "=" not in t and t not in known]
            return f"the Makefile has no target {missing[0]}" if missing else None
        case ["python", "-m", "doctest" | "pip" | "pytest", *paths]:
            return _paths([path for path in paths if path.endswith((".md", ".py"))])
        case ["python", "-m", module, *_]:
            return None if importlib.util.find_spec(module) else f"there is no module {module}"
        case ["python", path, *_] if path.endswith(".py"):
            return _paths([path])
        case ["pytest", *arguments]:
            return _paths([argument.split("::")[0] for argument in arguments if argument.startswith("tests")])
        case ["rrcollect", "store", action, *options] if re.fullmatch(r"[a-z-]+", action):
            return _subcommand("store", [word for word in options if word.startswith("--")], action)
        case ["rrcollect", subcommand, *options] if re.fullmatch(r"[a-z-]+", subcommand):
            return _subcommand(subcommand, [word for word in options if word.startswith("--")])
        case ["pip", "install", *what]:
            return _extras(" ".join(what))
    return None


def _paths(paths: list[str]) -> str | None:
    missing = [path for path in paths if not (ROOT / path).exists()]
    return f"there is no {missing[0]}" if missing else None


def _subcommand(name: str, options: list[str], action: str | None = None) -> str | None:
    from tests.support.command_line import COMMANDS, parser

    if name not in COMMANDS:
        return f"rrcollect has no subcommand {name}"
    (commands,) = [action for action in parser()._actions if getattr(action, "choices", None)]
    found = commands.choices[name]  # type: ignore[index,call-overload]
    if action is not None:
        (actions,) = [each for each in found._actions if getattr(each, "choices", None)]
        if action not in actions.choices:
            return f"rrcollect {name} has no action {action}"
        found = actions.choices[action]
    known = found._option_string_actions
    missing = [option for option in options if option.split("=")[0] not in known]
    return f"rrcollect {name} has no option {missing[0]}" if missing else None


def _extras(what: str) -> str | None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = re.search(r"\[([a-z,]+)\]", what)
    missing = [extra for extra in asked[1].split(",") if extra not in known] if asked else []
    return f"there is no extra {missing[0]}" if missing else None
