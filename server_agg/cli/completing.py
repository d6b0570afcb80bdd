"""`rrcollect completion`: a script for the shell, made by shtab from the grammar, so that it cannot fall behind it."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace
from pathlib import Path

from server_agg.cli.terminal import emit

SHELLS = ("bash", "zsh", "fish", "tcsh")
PATHS = ("source", "store", "token_file")  # arguments that may name a file, though they are not only paths


def add_completion(parser: ArgumentParser) -> None:
    """Options of `completion`."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that is to complete")


def completion(options: Namespace) -> int:
    """Print the script."""
    from rrcollect.extras import extra
    from server_agg.cli.main import parser

    shtab, grammar = extra("shtab", "cli"), parser()
    (commands,) = (action for action in grammar._actions if isinstance(action, argparse._SubParsersAction))
    commands.help = None  # shtab leaves out what --help leaves to the description
    for command in commands.choices.values():
        for action in command._actions:
            if action.type is Path or action.dest in PATHS:
                action.complete = shtab.FILE
    script = shtab.complete(grammar, options.shell)
    emit(options, {"shell": options.shell, "script": script}, script)
    return 0
