"""The entry point of `rrcollect`, and the table of its subcommands."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from rrcollect import __version__
from rrcollect.errors import RRCollectError
from server_agg.cli.terminal import EXIT_CODES, exit_code, plain

__all__ = ["COMMANDS", "main"]


class Command(NamedTuple):
    """Where a subcommand lives, what it does, and an example that works when pasted."""

    module: str
    about: str
    example: str


COMMANDS = {
    "design": Command(
        "designing",
        "choose the optimal design for a promise",
        "rrcollect design --epsilon 1 --delta 0.05 --prevalence 0.02",
    ),
    "compare": Command(
        "designing", "classic survey procedures at the same ε", "rrcollect compare --epsilon 1 --prevalence 0.1"
    ),
    "plan": Command(
        "planning", "how many respondents, what margin, what power", "rrcollect plan --epsilon 1 --margin 0.03"
    ),
    "keygen": Command("publishing", "make a signing key", "rrcollect keygen publisher.pem"),
    "publish": Command(
        "publishing",
        "check and sign a survey",
        "rrcollect publish survey.toml --key publisher.pem --out survey.signed.json",
    ),
    "verify": Command(
        "publishing",
        "what a device would say to a signed survey",
        "rrcollect verify survey.signed.json --key publisher.pem.pub",
    ),
    "answer": Command(
        "answering",
        "answer a survey at this terminal; the truth is not shown",
        "rrcollect answer survey.signed.json --key publisher.pem.pub --ledger my-answers.sqlite3",
    ),
    "serve": Command(
        "collecting", "run a collector with its pages", "rrcollect serve --store reports.sqlite3 --token-file token"
    ),
    "export": Command(
        "collecting", "write a collector's reports to a file", "rrcollect export night.parquet --store reports.sqlite3"
    ),
    "tally": Command(
        "collecting",
        "count reports in files or a database, each once",
        "rrcollect tally night.parquet --survey survey.signed.json --key publisher.pem.pub --out tallies.json",
    ),
    "estimate": Command(
        "estimating",
        "a share with its error bar, from counts or tallies",
        "rrcollect estimate --yes 400 --n 1000 --epsilon 1",
    ),
}


def parser() -> argparse.ArgumentParser:
    """The whole grammar; nothing heavy is imported for it."""
    top = argparse.ArgumentParser(
        prog="rrcollect",
        description="Ask sensitive yes/no questions without learning anyone's answer.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"rrcollect {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=command.about,
            description=command.about[0].upper() + command.about[1:] + ".",
            epilog=f"example:\n  {command.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.add_argument("--json", action="store_true", help="print one JSON value, for programs")
        getattr(importlib.import_module(f"server_agg.cli.{command.module}"), f"add_{name}")(sub)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit code."""
    options = parser().parse_args(arguments)
    command = COMMANDS[options.command]
    run = getattr(importlib.import_module(f"server_agg.cli.{command.module}"), options.command)
    try:
        return int(run(options))
    except RRCollectError as error:
        sys.stderr.write(f"rrcollect {options.command}: {plain(error)}\n")
        return exit_code(error)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        sys.stderr.write(f"rrcollect {options.command}: {error.filename or 'a file'}: {error.strerror}\n")
        return 4
    except (KeyboardInterrupt, EOFError):
        sys.stderr.write("\nrrcollect: stopped\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
