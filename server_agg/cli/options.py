"""The options that commands share, one group each for keys, sources, design, kind of question, bar and files.

Rules
1. One word means one thing in every command: SURVEY is a signed survey, `--key` a private key, `--trust` a public one,
   `--out` the output, `--plot` a picture, `--column` the column that holds the answers, `--by` what groups are made of.
2. The design is given once: by ε (and δ), by its matrix, by forced answers, or as a classic procedure by its name.
"""

from __future__ import annotations

import inspect
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rrcollect.errors import ParameterError
from server_agg.cli.terminal import PICTURES, Incomplete

if TYPE_CHECKING:
    from rrcollect import Design
    from rrcollect.design.mechanism import Mechanism

PASSWORD = "RRCOLLECT_KEY_PASSWORD"  # noqa: S105  the name of an environment variable
DESIGN = ("epsilon", "p00", "p11", "forced_yes", "forced_no", "classic")
WAYS = "--epsilon; --p00 and --p11; --forced-yes and --forced-no; or --classic NAME with its numbers"
TARGETS = ("population", "sample")
PROCEDURES = ("crosswise", "forced_response", "kuk", "mangat", "mangat_singh", "rappor", "triangular",
              "unrelated_question", "warner")  # fmt: skip


# ---- groups of options --------------------------------------------------------------------------------------------


def add_key(parser: ArgumentParser) -> None:
    """`--key`, private, with its password."""
    parser.add_argument("--key", type=Path, action="append", default=[], help="a private key to sign with; repeatable")
    parser.add_argument("--password", action="store_true", help=f"the keys are encrypted (asks, or takes {PASSWORD})")


def add_trust(parser: ArgumentParser) -> None:
    """`--trust`, public."""
    parser.add_argument("--trust", type=Path, action="append", default=[], help="a public key you trust; repeatable")


def add_survey(parser: ArgumentParser, *, count: str | None = None) -> None:
    """SURVEY, and the keys that verify it."""
    how: dict[str, Any] = {} if count is None else {"nargs": count}
    parser.add_argument("survey", type=Path, metavar="SURVEY", help="a signed survey", **how)
    add_trust(parser)


def add_out(parser: ArgumentParser, words: str, *, required: bool = False) -> None:
    """`--out`."""
    parser.add_argument("--out", type=Path, required=required, metavar="FILE", help=words)


def add_force(parser: ArgumentParser) -> None:
    """`--force`."""
    parser.add_argument("--force", action="store_true", help="replace a file that exists")


def add_plot(parser: ArgumentParser) -> None:
    """`--plot` and `--force`."""
    parser.add_argument("--plot", type=Path, metavar="FILE", help=f"draw the result, to {', '.join(PICTURES)}")
    add_force(parser)


def add_sources(parser: ArgumentParser, words: str, *, count: str) -> None:
    """SURVEY and SOURCE in any order, and the keys that verify surveys."""
    parser.add_argument("source", nargs=count, metavar="SURVEY|SOURCE", help=words)
    add_trust(parser)


def add_column(parser: ArgumentParser) -> None:
    """`--column` and how it is read."""
    group = parser.add_argument_group("a column of a table")
    group.add_argument("--column", action="append", default=[], help="the column that holds the answers")
    group.add_argument("--encoding", default="utf-8", help="of a text file, e.g. cp1252 (default: utf-8)")


def add_design(parser: ArgumentParser) -> None:
    """The design group."""
    group = parser.add_argument_group("design")
    group.add_argument("--epsilon", help="ε of the optimal design, as typed: 1, 0.5, 1/3, 'ln 3'")
    group.add_argument("--delta", default="0", help="its δ, between 0 and 1 (default: 0)")
    group.add_argument("--p00", help="or the matrix: P(say no | truth no)")
    group.add_argument("--p11", help="and P(say yes | truth yes)")
    group.add_argument("--forced-yes", metavar="CHANCE", help="or forced answers: the chance of a forced yes")
    group.add_argument("--forced-no", metavar="CHANCE", help="and the chance of a forced no")
    group.add_argument(
        "--classic", nargs="*", metavar="NAME", help="or a classic procedure, e.g. warner p=0.7, crosswise 1/4"
    )


def add_kind(parser: ArgumentParser) -> None:
    """The group for the kind of question."""
    group = parser.add_argument_group("kind of question (default: yes or no)")
    group.add_argument("--options", type=int, metavar="K", help="a choice: one of K options")
    group.add_argument("--bounds", nargs=2, metavar=("LOW", "HIGH"), help="a number: the ends of its range")


def add_bar(parser: ArgumentParser, *, methods: Sequence[str] | None = None, target: bool = True) -> None:
    """The group for error bars."""
    group = parser.add_argument_group("error bar")
    group.add_argument("--level", default="0.95", help="confidence level (default: 0.95)")
    group.add_argument("--method", choices=methods, help="how the bar is made (default: exact, or what fits)")
    if target:
        group.add_argument("--target", choices=TARGETS, default="population", help="whose share (default: population)")
        group.add_argument(
            "--population", metavar="SIZE", help="the population's size, or NAME=SIZE,… for strata; counts clusters"
        )


# ---- what they mean -----------------------------------------------------------------------------------------------


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
    from rrcollect.design.optimal import best_sets

    given = given_of(options, *DESIGN)
    choices = choices if choices is not None else getattr(options, "options", None)
    if choices is not None:
        if given != {"epsilon"}:
            raise Incomplete("give --epsilon for a choice: its optimal design")
        return best_sets(options.epsilon, choices, options.delta)
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
