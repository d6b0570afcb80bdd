"""The options that commands share, one group each for keys, sources, design, kind of question, bar and files.

Rules
1. One word means one thing in every command: SURVEY is a signed survey, `--key` a private key, `--trust` a public one,
   `--out` the output, `--plot` a picture, `--column` the column that holds the answers, `--by` what groups are made of.
2. The design is given once: by ε (and δ), by its matrix, by forced answers, or as a classic procedure by its name.
"""

from __future__ import annotations

import argparse
import inspect
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rrcollect.errors import ParameterError
from server_agg.cli.terminal import PICTURES, Incomplete

if TYPE_CHECKING:
    from rrcollect import Design
    from rrcollect.design.mechanism import Mechanism

Row = tuple[Any, ...]
PASSWORD = "RRCOLLECT_KEY_PASSWORD"  # noqa: S105  the name of an environment variable
NAMES = ("epsilon", "p00", "p11", "forced_yes", "forced_no", "classic")
WAYS = "--epsilon; --p00 and --p11; --forced-yes and --forced-no; or --classic NAME with its numbers"
PROCEDURES = ("crosswise", "forced_response", "kuk", "mangat", "mangat_singh", "rappor", "triangular",
              "unrelated_question", "warner")  # fmt: skip


# ---- groups of options --------------------------------------------------------------------------------------------


class Group(NamedTuple):
    """Options that --help shows under a title of their own."""

    title: str
    rows: tuple[Row, ...]


def add(parser: ArgumentParser | argparse._ArgumentGroup, *options: Row | Group) -> None:
    """Options as rows: the name, what it holds (bool: a switch), the words of --help, what else argparse is told."""
    for option in options:
        if isinstance(option, Group):
            add(parser.add_argument_group(option.title), *option.rows)
            continue
        name, kind, words, *more = option
        how = {"action": "store_true"} if kind is bool else {"type": kind}
        parser.add_argument(name, help=words, **how, **(more[0] if more else {}))


def add_command(commands: Any, name: str, about: str, more: str) -> Any:
    """A command, or an action of one: what it does in a line, and what one should know before."""
    said = f"{about[0].upper()}{about[1:]}.\n{more}".rstrip("\n")
    form = argparse.RawDescriptionHelpFormatter
    return commands.add_parser(name, help=about, description=said, formatter_class=form, allow_abbrev=False)


def out(words: str, *, required: bool = False) -> Row:
    """`--out`."""
    return "--out", Path, words, {"required": required, "metavar": "FILE"}


def sources(words: str, *, count: str) -> tuple[Row, Row]:
    """SURVEY and SOURCE in any order, and the keys that verify surveys."""
    return ("source", str, words, {"nargs": count, "metavar": "SURVEY|SOURCE"}), TRUST


def bar(methods: Sequence[str] | None = None) -> Group:
    """The group for error bars."""
    size = "the population's size, or NAME=SIZE,… for strata; counts clusters"
    target = {"choices": ("population", "sample"), "default": "population"}
    return Group("error bar", (
        ("--level", str, "confidence level (default: 0.95)", {"default": "0.95"}),
        ("--method", str, "how the bar is made (default: exact, or what fits)", {"choices": methods}),
        ("--target", str, "whose share (default: population)", target),
        ("--population", str, size, {"metavar": "SIZE"}),
    ))  # fmt: skip


MANY: dict[str, Any] = {"action": "append", "default": []}
JSON = ("--json", bool, "print one JSON value, for programs")
FORCE = ("--force", bool, "replace a file that exists")
PLOT = ("--plot", Path, f"draw the result, to {', '.join(PICTURES)}", {"metavar": "FILE"}), FORCE
SURVEY = ("survey", Path, "a signed survey", {"metavar": "SURVEY"})
TRUST = ("--trust", Path, "a public key you trust; repeatable", MANY)
KEY = (
    ("--key", Path, "a private key to sign with; repeatable", MANY),
    ("--password", bool, f"the keys are encrypted (asks, or takes {PASSWORD})"),
)
COLUMN = Group("a column of a table", (
    ("--column", str, "the column that holds the answers", MANY),
    ("--encoding", str, "of a text file, e.g. cp1252 (default: utf-8)", {"default": "utf-8"}),
))  # fmt: skip
DESIGN = Group("design", (
    ("--epsilon", str, "ε of the optimal design, as typed: 1, 0.5, 1/3, 'ln 3'"),
    ("--delta", str, "its δ, between 0 and 1 (default: 0)", {"default": "0"}),
    ("--p00", str, "or the matrix: P(say no | truth no)"),
    ("--p11", str, "and P(say yes | truth yes)"),
    ("--forced-yes", str, "or forced answers: the chance of a forced yes", {"metavar": "CHANCE"}),
    ("--forced-no", str, "and the chance of a forced no", {"metavar": "CHANCE"}),
    ("--classic", str, "or a classic procedure, e.g. warner p=0.7, crosswise 1/4", {"nargs": "*", "metavar": "NAME"}),
))  # fmt: skip
KIND = Group("kind of question (default: yes or no)", (
    ("--options", int, "a choice: one of K options", {"metavar": "K"}),
    ("--bounds", str, "a number: the ends of its range", {"nargs": 2, "metavar": ("LOW", "HIGH")}),
))  # fmt: skip


# ---- what they mean -----------------------------------------------------------------------------------------------


def refuse(*faults: tuple[object, str, object, str]) -> None:
    """Refuse by the first fault that there is: whether it is there, the option, its value, what is allowed."""
    for there, name, value, allowed in faults:
        if there:
            raise ParameterError(name, value, allowed)


def given_of(options: Namespace, *names: str) -> set[str]:
    """Which of these options were given."""
    usual = {"delta": "0", "regret": False, "classic": []}
    return {name for name in names if getattr(options, name) not in (None, usual.get(name))}


def bounds_of(options: Namespace) -> tuple[str, str] | None:
    """The range of a number."""
    if options.bounds is None:
        return None
    if options.options is not None:
        raise ParameterError("--options", options.options, "a choice or a number, not both: leave --bounds out")
    return tuple(options.bounds)


def target_of(options: Namespace) -> Any:
    """The target, or the size of a finite population."""
    if options.population is None:
        return options.target
    if not options.population.isdigit() or options.target != "population":
        raise ParameterError("--population", options.population, "a whole number, with --target population")
    return int(options.population)


def design_of(options: Namespace, *, choices: int | None = None) -> Mechanism:
    """The one design that the options name, for so many options if it is a choice."""
    from rrcollect import Design, classic, optimal_design
    from rrcollect.design.many_options import best_for_options

    given = given_of(options, *NAMES)
    choices = choices if choices is not None else getattr(options, "options", None)
    if choices is not None:
        if given != {"epsilon"}:
            raise Incomplete("give --epsilon for a choice: its optimal design")
        return best_for_options(options.epsilon, choices, options.delta)
    if given == {"epsilon"}:
        known = getattr(options, "prevalence", None) if options.delta != "0" else None
        return optimal_design(options.epsilon, options.delta, prevalence=known)
    if options.delta != "0":
        raise ParameterError("--delta", options.delta, "together with --epsilon")
    if given == {"forced_yes", "forced_no"}:
        return classic.forced_response(yes=options.forced_yes, no=options.forced_no)
    if given == {"p00", "p11"}:
        return Design(options.p00, options.p11)
    if given == {"classic"}:
        return _classic(*options.classic)
    raise Incomplete(f"give the design once: {WAYS}")


def _classic(name: str, *numbers: str) -> Design:
    """A procedure of `rrcollect.classic`, its numbers by name or in their order."""
    from rrcollect import classic
    from rrcollect.design.yes_no import checked_yes_no

    if name not in PROCEDURES:
        hint = " (Moors' two samples: server_agg.models.moors in Python)" if name == "moors" else ""
        raise ParameterError("--classic", name, f"one of {', '.join(PROCEDURES)}{hint}")
    procedure: Any = getattr(classic, name)
    wanted = inspect.signature(procedure)
    placed = [number for number in numbers if "=" not in number]
    named: dict[str, Any] = dict(number.split("=", 1) for number in numbers if "=" in number)
    try:
        bound = wanted.bind(*placed, **named)
    except TypeError:
        given = " ".join(numbers) or "nothing"
        allowed = " ".join(f"{each}=…" for each in wanted.parameters)
        raise ParameterError(f"--classic {name}", given, allowed) from None
    for each, value in bound.arguments.items():
        if each == "draws" and value.isdigit():
            bound.arguments[each] = int(value)
    try:
        return checked_yes_no(procedure(*bound.args, **bound.kwargs), "procedure")
    except ParameterError as error:
        if error.name != "procedure":
            raise
        raise ParameterError(f"--classic {name}", " ".join(numbers), "one draw: answers of yes and no") from None
