"""The entry point of `rrcollect`, and the table of its commands in the order of the flow.

The examples of all commands, run one after the other in an empty folder, are one session that works (a test runs it).
A command's module imports nothing heavy until it runs: `--help` stays quick.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from rrcollect import __version__
from rrcollect.errors import RRCollectError
from server_agg.cli.options import JSON, add, add_command
from server_agg.cli.terminal import EXIT_CODES, Output, check_outputs, exit_code, os_error_hint, plain

SHELLS = ("bash", "zsh", "fish", "tcsh")
PATHS = ("source", "store", "token_file")  # arguments that may name a file, though they are not only paths
KEYWORD = re.compile(r"\b(encoding|missing|yes|no)=")  # a keyword of Python in an error is an option here


NO_NUMBER = re.compile(r"argument (\S+): invalid (int|float) value: (.*)")  # as argparse says it
NUMBERS = {"int": "a whole number", "float": "a number"}


class Command(NamedTuple):
    """What a command does, examples that work when pasted, and what one should know before."""

    about: str
    examples: tuple[str, ...]
    more: str = ""


ELSEWHERE = {"keygen": "publish", "verify": "publish", "withdraw": "publish", "invite": "publish", "completion": "main"}
SURVEY = "survey.signed.json --trust publisher.pem.pub"
COMMANDS = {
    "design": Command(
        "choose the most accurate design for a privacy promise, and see the alternatives",
        (
            "rrcollect design --epsilon 1 --delta 0.05 --prevalence 0.02",
            "rrcollect design --epsilon 1 --delta 0.1 --between 0.01 0.2",
            "rrcollect design --epsilon 1 --options 10",
            "rrcollect design --epsilon-yes 'ln 2' --epsilon-no 'ln 6'",
            "rrcollect design --epsilon 1 --classic",
            "rrcollect design --epsilon 1 --delta 0.4 --prevalence 0.1 --plot region.svg",
        ),
        "--classic alone grades the classic survey procedures at the same ε; with a name and its numbers it explains\n"
        "that procedure.  --plot without --epsilon draws where the optimum switches ([HLM17], Figure 1).",
    ),
    "plan": Command(
        "how many respondents, which margin, which power, and the price of privacy",
        (
            "rrcollect plan --epsilon 1 --margin 0.03",
            "rrcollect plan --margin 0.03 --plot price.png",
            "rrcollect plan --epsilon 1 --difference 0.1 --power 0.8",
            "rrcollect plan --rehearse --epsilon 1 --prevalence 0.1 --n 1000 --surveys 2000 --plot rehearsed.svg",
        ),
        "Two of a design, --margin and --n give the third; --margin alone gives the price of privacy over ε.\n"
        "--rehearse runs the survey again and again with a known truth: how the estimate varies, how often bars hold.",
    ),
    "keygen": Command("create a signing key", ("rrcollect keygen --out publisher.pem",)),
    "publish": Command(
        "check and sign a survey, and hand it to a collector",
        (
            "rrcollect publish --template > survey.toml",
            "rrcollect publish survey.toml --key publisher.pem --out survey.signed.json",
            "rrcollect publish --template --invited > invited.toml",
            "rrcollect publish invited.toml --key publisher.pem --out invited.signed.json",
        ),
        "--to URL uploads the signed survey to a collector, with the owner's token in --token-file.  A survey that is\n"
        "signed already is only uploaded: give --trust instead of --key.",
    ),
    "verify": Command(
        "show what a device would say to a signed survey",
        (f"rrcollect verify {SURVEY}",),
    ),
    "withdraw": Command(
        "end a survey early, with a signed notice that devices obey",
        ("rrcollect withdraw survey.signed.json --key publisher.pem --out withdrawal.json",),
        "Publish the file wherever the survey was.  A device that reads it answers nothing of the survey any more and\n"
        "drops what it has not sent.  This cannot be undone; publish a new version instead.",
    ),
    "invite": Command(
        "create invites: a list for the owner, and hashes of their tickets for a collector",
        ("rrcollect invite invited.signed.json --trust publisher.pem.pub --count 9 --out list.csv --hashes hashes",),
        "Each invite gives a one-time ticket for every question and round.  A report carries the ticket and not the\n"
        "invite, and the collector keeps sorted hashes of tickets.  Anyone with the list can tell which answers came\n"
        "from one invite.",
    ),
    "answer": Command(
        "answer a survey at this terminal; what you type is not shown",
        (f"rrcollect answer {SURVEY} --ledger my-answers.sqlite3",),
    ),
    "randomise": Command(
        "randomise true answers that you already hold: a column of a file to reports or packed bits",
        (
            "rrcollect randomise --sample truths.csv",
            f"rrcollect randomise {SURVEY} truths.csv --id person --column doped --by sport --question doped "
            "--out gateway.jsonl",
            f"rrcollect randomise {SURVEY} truths.csv --id person --column pressed --question pressed "
            "--out gateway.rrbits",
        ),
        "This is for a gateway that holds the true answers, and weaker than answering on the device: anyone who runs\n"
        "it sees them.  A ledger keeps, as keyed hashes of the column --id, who was drawn for which attribute and\n"
        "round, and what it cost them.  People are reserved before the first random byte: two draws for the same\n"
        "people give away twice as much.  People who were drawn before, or who would exceed the lifetime budget of a\n"
        "device, are left out and counted.  A run that was cut off leaves its people reserved; --draw-again --because\n"
        "REASON draws again, is debited and recorded.  Every report gets a fresh random id, and they leave in the\n"
        "order of these ids, not of the file.  Without --id (packed answers only) a table is drawn once, and known by\n"
        "its path, its place on the disk, or its columns and number of rows.  No output is overwritten.  For millions\n"
        "of answers use .rrbits: eight answers to a byte.",
    ),
    "serve": Command(
        "run a collector with its pages",
        (f"rrcollect serve {SURVEY} --store reports.sqlite3 --token-file token --make-token",),
        "Every setting can also be given in the environment, under the name shown with it, or in a file that the\n"
        "variable with _FILE at its end names.",
    ),
    "store": Command(
        "work on a collector's database: ingest, export, backup, release, close, check",
        (
            "rrcollect store ingest --store reports.sqlite3 < gateway.jsonl",
            "rrcollect store export --store reports.sqlite3 --out counts.json",
            "rrcollect store backup --store reports.sqlite3 --out copy.sqlite3",
            "rrcollect store release survey.signed.json --store reports.sqlite3",
            "rrcollect store close survey.signed.json --store reports.sqlite3",
            "rrcollect store check --store reports.sqlite3",
        ),
    ),
    "tally": Command(
        "count reports in files or a database, each once",
        (f"rrcollect tally {SURVEY} gateway.jsonl gateway.rrbits --out tallies.json",),
        "Reports that another survey tool carried are in a column of its export: --column NAME counts them.",
    ),
    "estimate": Command(
        "a share with its error bar, from counts, tallies, reports, a database or your own data",
        (
            "rrcollect estimate --counts 400 --n 1000 --epsilon 1",
            "rrcollect estimate tallies.json",
            f"rrcollect estimate {SURVEY} gateway.jsonl --question doped --by sport --plot sports.pdf",
            "rrcollect estimate --sample raw.csv",
            "rrcollect estimate raw.csv --column answer --forced-yes 1/6 --forced-no 1/6 --by region",
            "rrcollect estimate raw.csv --column answer --classic unrelated_question p=2/3 prevalence=1/2",
        ),
        "With --column and a design, SOURCE is data of your own, a table with one answer per row.  The design is what\n"
        "your respondents did.  Answers may be 1 or 0, yes or no, y or n, true or false; --yes and --no name other\n"
        "words.  Rows without an answer are left out and counted.",
    ),
    "demo": Command(
        "the whole flow on this machine with simulated respondents, and a page about it",
        ("rrcollect demo --respondents 1000 --seconds 2 --out demo",),
        "Without options: 10,000 respondents, under a minute, the page in ./rrcollect-demo.  With --web: a collector\n"
        "on a free local port with its pages, and respondents who trickle in until Ctrl-C.",
    ),
    "completion": Command(
        "print a script that completes rrcollect's words in a shell",
        ("rrcollect completion bash > rrcollect.bash",),
        "bash: source the file, or put it into ~/.local/share/bash-completion/completions/rrcollect.\n"
        "zsh: put it as _rrcollect into a folder of $fpath.  fish: ~/.config/fish/completions/rrcollect.fish.\n"
        "tcsh: source it from ~/.tcshrc.",
    ),
}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line that names what was meant, and where help is."""

    def error(self, message: str) -> NoReturn:
        """Print it and end with 2."""
        said = plain(message).replace("the following arguments are required:", "give")
        said = NO_NUMBER.sub(lambda found: f"{found[1]} is {found[3]}: use {NUMBERS[found[2]]}", said)
        self.exit(2, f"{self.prog}: {said}; see `{self.prog} --help`\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            name, known = "/".join(action.option_strings) or action.metavar or action.dest, list(action.choices)
            self.error(f"{name} is {value!r}: use one of {', '.join(known)}{nearest(value, known)}")


def nearest(word: str, known: Sequence[str]) -> str:
    """ "; did you mean X?", or nothing.

    >>> nearest("desing", ["design", "plan"]), nearest("xyz", ["design"])
    ("; did you mean 'design'?", '')
    """
    close = difflib.get_close_matches(word, known, 1, 0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """The whole grammar, or with the options of one command `only`; nothing heavy is imported for it."""
    listed = "\n".join(f"  {name:11s} {command.about}" for name, command in COMMANDS.items())
    top = Parser(
        prog="rrcollect",
        usage="rrcollect [-h] [--version] COMMAND ...",
        description=f"Ask sensitive questions without learning anyone's answer.\n\ncommands:\n{listed}",
        epilog=f"Each command's --help shows examples that work when pasted.\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"rrcollect {__version__}")
    commands = top.add_subparsers(
        prog="rrcollect", dest="command", required=True, metavar="COMMAND", help=argparse.SUPPRESS
    )
    for name, command in COMMANDS.items():
        sub = add_command(commands, name, command.about, command.more)
        examples = "\n  ".join(command.examples)
        sub.epilog = f"{'examples' if len(command.examples) > 1 else 'example'}:\n  {examples}"
        if only in (None, name):
            add(sub, JSON)
            _of(name, f"add_{name}")(sub)
    return top


def _of(name: str, what: str) -> Any:
    """Something in the module of a command, which is imported now."""
    return getattr(importlib.import_module(f"server_agg.cli.{ELSEWHERE.get(name, name)}"), what)


def _parsed(words: list[str]) -> argparse.Namespace:
    """The options; sources may follow other options as well, which argparse alone does not allow everywhere."""
    named = next((word for word in words if not word.startswith("-")), "")
    grammar = parser(only=named)
    if named and named not in COMMANDS:
        grammar.error(f"there is no command {named!r}{nearest(named, list(COMMANDS))}")
    known = [word for action in _actions(grammar) for word in action.option_strings]
    typed = list(takewhile(lambda word: word != "--", words))
    strange = [word for word in typed if word.startswith("--") and word.partition("=")[0] not in known]
    if strange:  # told before what is lacking, which may be what was mistyped
        after = typed[typed.index(strange[0]) + 1 :]
        rest = [strange[0], *takewhile(lambda word: not word.startswith("-"), after)]
    else:
        options, rest = grammar.parse_known_args(words)
        if hasattr(options, "source") and not any(word.startswith("-") for word in rest):
            options.source = [*options.source, *rest]
            return options
    if rest:
        first = next((word for word in rest if word.startswith("-")), rest[0]).partition("=")[0]
        grammar.prog = f"rrcollect {named}".rstrip()
        grammar.error(f"not understood: {' '.join(rest)}{nearest(first, known)}")
    return options


def _actions(grammar: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The options of a grammar, and of the commands below it."""
    for action in grammar._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters gets question marks, no traceback
    options = _parsed(sys.argv[1:] if arguments is None else list(arguments))
    try:
        check_outputs(options)
        found: Output | None = _of(options.command, options.command)(options)
        if found is None:
            return 0
        found.print(options)
        return found.code
    except RRCollectError as error:
        said = KEYWORD.sub(r"--\1 ", plain(error).replace("lenient=True", "`rrcollect tally --lenient`"))
        sys.stderr.write(f"rrcollect {options.command}: {said}\n")
        return exit_code(error)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            _forget_output()
            return 0
        sys.stderr.write(
            f"rrcollect {options.command}: {plain(error.filename or 'the output')}: {os_error_hint(error)}\n"
        )
        if error.filename is None:
            _forget_output()
        return 4
    except (KeyboardInterrupt, EOFError):
        sys.stderr.write("\nrrcollect: stopped\n")
        return 130


def _forget_output() -> None:
    """Standard output cannot be written any more; what is still buffered goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def add_completion(sub: argparse.ArgumentParser) -> None:
    """Options of `completion`."""
    add(sub, ("shell", str, "the shell that is to complete", {"choices": SHELLS}))


def completion(options: argparse.Namespace) -> Output:
    """Print a script made by shtab from the grammar, so that it cannot fall behind it."""
    from rrcollect.lazy import extra

    shtab, grammar = extra("shtab", "cli"), parser()
    for action in _actions(grammar):
        if isinstance(action, argparse._SubParsersAction):
            action.help = None  # shtab leaves out what --help leaves to the description
        if action.type is Path or action.dest in PATHS:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    script = shtab.complete(grammar, options.shell)
    return Output({"shell": options.shell, "script": script}, script)


if __name__ == "__main__":
    sys.exit(main())
