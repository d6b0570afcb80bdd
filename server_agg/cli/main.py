"""The entry point of `rrcollect`, and the table of its subcommands in the order of the flow.

The examples of all commands, run one after the other in an empty folder, are one session that works (a test runs it).
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from rrcollect import __version__
from rrcollect.errors import RRCollectError
from server_agg.cli.output import os_error_hint
from server_agg.cli.terminal import EXIT_CODES, exit_code, plain


class Command(NamedTuple):
    """Where a subcommand lives, what it does, examples that work when pasted, and what one should know before."""

    module: str
    about: str
    examples: tuple[str, ...]
    more: str = ""


SURVEY = "--survey survey.signed.json --key publisher.pem.pub"
COMMANDS = {
    "design": Command(
        "designing",
        "choose the optimal design for a promise; the candidates side by side",
        (
            "rrcollect design --epsilon 1 --delta 0.05 --prevalence 0.02",
            "rrcollect design --epsilon 1 --delta 0.1 --between 0.01 0.2",
            "rrcollect design --epsilon 1 --options 10",
            "rrcollect design --epsilon-yes 'ln 2' --epsilon-no 'ln 6'",
        ),
    ),
    "plan": Command(
        "planning",
        "how many respondents, what margin, what power, and the price of privacy",
        (
            "rrcollect plan --epsilon 1 --margin 0.03",
            "rrcollect plan --margin 0.03",
            "rrcollect plan --epsilon 1 --difference 0.1 --power 0.8",
        ),
        "Two of --epsilon, --margin and --n give the third; --margin alone gives the price of privacy over ε.",
    ),
    "keygen": Command("publishing", "make a signing key", ("rrcollect keygen publisher.pem",)),
    "publish": Command(
        "publishing",
        "check and sign a survey",
        (
            "rrcollect publish --template > survey.toml",
            "rrcollect publish survey.toml --key publisher.pem --out survey.signed.json",
            "rrcollect publish --template --invited > invited.toml",
            "rrcollect publish invited.toml --key publisher.pem --out invited.signed.json",
        ),
    ),
    "verify": Command(
        "publishing",
        "what a device would say to a signed survey",
        ("rrcollect verify survey.signed.json --key publisher.pem.pub",),
    ),
    "withdraw": Command(
        "publishing",
        "end a survey before it expires: the signed word that devices keep",
        ("rrcollect withdraw survey.signed.json --key publisher.pem --to withdrawal.json",),
        "Hand the file out wherever the survey was.  A device that reads it answers nothing of the survey any more\n"
        "and drops what it has not sent.  There is no way back but a new version.",
    ),
    "invites": Command(
        "inviting",
        "make invites: a list for the owner, and hashes of their tickets for a collector",
        ("rrcollect invites invited.signed.json --key publisher.pem.pub --count 9 --to list.csv --hashes hashes.txt",),
        "Each invite gives a one-time ticket for every question and round; a report carries the ticket and not the\n"
        "invite, and the collector keeps sorted hashes of tickets.  Whoever has the list can tell which answers came\n"
        "from one invite.",
    ),
    "answer": Command(
        "answering",
        "answer a survey at this terminal; the truth is not shown",
        ("rrcollect answer survey.signed.json --key publisher.pem.pub --ledger my-answers.sqlite3",),
    ),
    "randomise": Command(
        "randomising",
        "randomise truths that are already in hand: a column of a file to reports or packed bits",
        (
            "rrcollect randomise --sample truths.csv",
            f"rrcollect randomise truths.csv --id person --column doped --segment sport --question doped {SURVEY} "
            "--out gateway.jsonl",
            f"rrcollect randomise truths.csv --id person --column pressed --question pressed {SURVEY} "
            "--out gateway.rrbits",
        ),
        "This is for a gateway that holds the truths, and weaker than answering on the device: whoever runs it sees\n"
        "them.  A ledger keeps, as keyed hashes of the column --id, who was drawn for which attribute and round, and\n"
        "what it cost them.  They are reserved before the first random byte: two draws for the same people give away\n"
        "twice as much.  Whoever was drawn before, or would come above the lifetime budget of a device, is left out\n"
        "and counted.  A run that was cut off leaves its people reserved; --draw-again --because REASON draws anew,\n"
        "is debited and recorded.  Every report gets a fresh random id, and they leave in the order of these, not of\n"
        "the file.  Without --id (packed answers only) a table is drawn once, and known by its path, its place on the\n"
        "disk, or its columns and number of rows.  No output is overwritten.  For millions of truths use .rrbits:\n"
        "eight answers to a byte.",
    ),
    "serve": Command(
        "serving",
        "run a collector with its pages",
        (f"rrcollect serve --store reports.sqlite3 --token-file token --make-token {SURVEY}",),
        "Every setting may also stand in the environment under the name given with it, or in a file that the\n"
        "variable with _FILE at its end names.",
    ),
    "ingest": Command(
        "keeping",
        "take reports from standard input, one per line, into a collector's store",
        ("rrcollect ingest --store reports.sqlite3 < gateway.jsonl",),
        "Every line is judged as the collector judges it, and counts once however often it comes.  A line that is\n"
        "refused is counted by its reason, and the others are taken.",
    ),
    "export": Command(
        "keeping",
        "write a collector's counts, or the rows it kept, to a file",
        ("rrcollect export counts.json --store reports.sqlite3",),
        "What waits for its crowd is not there yet: a question and round is counted from the survey's minimum on.",
    ),
    "backup": Command(
        "keeping",
        "copy a collector's database while it works",
        ("rrcollect backup copy.sqlite3 --store reports.sqlite3",),
    ),
    "release": Command(
        "keeping",
        "make public what makes up whole crowds; strangers see nothing else",
        ("rrcollect release DIGEST --store reports.sqlite3",),
        "Answers are published in crowds of the survey's minimum, drawn by chance; those that are left over wait, and\n"
        "the last few are never published.  What was published stays.",
    ),
    "close": Command(
        "keeping",
        "end a survey that is over: exact counts stay, ids, rows and tickets are overwritten",
        ("rrcollect close DIGEST --store reports.sqlite3",),
        "A survey is over when it has expired and its days of grace have passed.",
    ),
    "tally": Command(
        "collecting",
        "count reports in files or a database, each once",
        (f"rrcollect tally gateway.jsonl gateway.rrbits {SURVEY} --out tallies.json",),
        "What another survey tool carried stands in a column of its export: --column NAME counts it (.csv, .sav, …).",
    ),
    "estimate": Command(
        "estimating",
        "a share with its error bar, from typed counts, tallies, reports or a database",
        (
            "rrcollect estimate --yes 400 --n 1000 --epsilon 1",
            "rrcollect estimate tallies.json",
            f"rrcollect estimate gateway.jsonl {SURVEY} --question doped --by sport",
        ),
    ),
    "analyse": Command(
        "analysing",
        "your own data: a column of randomised answers in a CSV, Parquet, JSONL, Stata or SPSS file",
        (
            "rrcollect analyse --sample raw.csv",
            "rrcollect analyse raw.csv --answer answer --forced-yes 1/6 --forced-no 1/6 --by region",
            "rrcollect analyse raw.csv --classic unrelated_question p=2/3 prevalence=1/2 --plot raw.svg",
        ),
        "Answers are understood as 1 and 0, yes and no, true and false; --yes and --no name other words.  Rows\n"
        "without an answer are left out and counted.  The design is what your respondents did: ε of the optimal\n"
        "design, forced answers, the matrix, or a classic procedure by its name with its numbers.",
    ),
    "compare": Command(
        "designing",
        "the classic survey procedures graded at the same ε",
        ("rrcollect compare --epsilon 1 --prevalence 0.1",),
    ),
    "plot": Command(
        "plotting",
        "the paper's figures, the price of privacy, and estimates, as .png, .svg or .pdf",
        (
            "rrcollect plot region --epsilon 1 --delta 0.4 --prevalence 0.1 --out region.svg",
            "rrcollect plot price --margin 0.03 --out price.png",
            "rrcollect plot segments tallies.json --question doped --by sport --out segments.pdf",
        ),
    ),
    "simulate": Command(
        "simulating",
        "the same survey over and over with a known truth: how the estimate varies, how often the bars hold",
        ("rrcollect simulate --epsilon 1 --prevalence 0.1 --n 1000 --surveys 2000 --plot simulated.svg",),
    ),
    "demo": Command(
        "demonstrating",
        "the whole flow on this machine with simulated respondents, and a page about it",
        ("rrcollect demo --respondents 1000 --seconds 2 --out demo",),
        "Without options: 10,000 respondents, under a minute, the page in ./rrcollect-demo.  With --web: a collector\n"
        "on a free local port with its pages, and respondents who trickle in until Ctrl-C.",
    ),
    "completion": Command(
        "completing",
        "print a script that completes rrcollect's words in a shell",
        ("rrcollect completion bash > rrcollect.bash",),
        "bash: source the file, or put it into ~/.local/share/bash-completion/completions/rrcollect.\n"
        "zsh: put it as _rrcollect into a folder of $fpath.  fish: ~/.config/fish/completions/rrcollect.fish.\n"
        "tcsh: source it from ~/.tcshrc.",
    ),
}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line that says where help is."""

    def error(self, message: str) -> NoReturn:
        """Say it and end with 2."""
        self.exit(2, f"{self.prog}: {plain(message)}; see `{self.prog} --help`\n")


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """The whole grammar, or with the options of one command `only`; nothing heavy is imported for it."""
    top = Parser(
        prog="rrcollect",
        usage="rrcollect [-h] [--version] COMMAND ...",
        description=f"Ask sensitive questions without learning anyone's answer.\n\ncommands:\n{_listed()}",
        epilog=f"Each command's --help shows examples that work when pasted.\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"rrcollect {__version__}")
    commands = top.add_subparsers(
        prog="rrcollect", dest="command", required=True, metavar="COMMAND", help=argparse.SUPPRESS
    )
    for name, command in COMMANDS.items():
        about = command.about[0].upper() + command.about[1:] + "."
        examples = "\n  ".join(command.examples)
        sub = commands.add_parser(
            name,
            help=command.about,
            description=f"{about}\n{command.more}".rstrip("\n"),
            epilog=f"{'examples' if len(command.examples) > 1 else 'example'}:\n  {examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if only not in (None, name):
            continue
        sub.add_argument("--json", action="store_true", help="print one JSON value, for programs")
        getattr(importlib.import_module(f"server_agg.cli.{command.module}"), f"add_{name}")(sub)
    return top


def _listed() -> str:
    """The commands in the order of the flow, one line per command."""
    return "\n".join(f"  {name:11s} {command.about}" for name, command in COMMANDS.items())


def _parsed(words: list[str]) -> argparse.Namespace:
    """The options; sources may stand after other options as well, which argparse alone does not allow everywhere."""
    named = next((word for word in words if not word.startswith("-")), "")
    grammar = parser(only=named)
    options, rest = grammar.parse_known_args(words)
    if rest and hasattr(options, "source") and not any(word.startswith("-") for word in rest):
        options.source = [*options.source, *rest]
    elif rest:
        grammar.exit(2, f"rrcollect {named}: not understood: {plain(' '.join(rest))}; see `rrcollect {named} --help`\n")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters gets question marks, no traceback
    options = _parsed(sys.argv[1:] if arguments is None else list(arguments))
    command = COMMANDS[options.command]
    run = getattr(importlib.import_module(f"server_agg.cli.{command.module}"), options.command)
    try:
        code = int(run(options))
        sys.stdout.flush()
        return code
    except RRCollectError as error:
        said = plain(error).replace("lenient=True", "`rrcollect tally --lenient`")
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


if __name__ == "__main__":
    sys.exit(main())
