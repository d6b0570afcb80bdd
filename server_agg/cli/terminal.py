"""What a person sees and what a program reads.

Rules
1. Results go to standard output, everything else to standard error.  `--json` prints one JSON value and nothing else.
2. On a terminal tables are drawn with rich, if it is installed (extra `cli`); piped they are plain aligned text.
3. A user's mistake is one line on standard error that says what to do, and an exit code; never a traceback.
4. Text that came from elsewhere is shown without control characters.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Any, Literal

from rrcollect.errors import AnswerRefused, Blame, MissingExtra, ParameterError, RRCollectError

EXIT_CODES = """exit codes:
  0    done
  1    the answer is no (verify: not accepted)
  2    the command was not understood, or a value was out of range
  3    refused: a survey, an answer, a report or a file of reports that breaks the rules
  4    this machine: a file (missing, cut off, already there, no space), the ledger, the network
  5    an optional package is missing
  130  stopped by Ctrl-C
"""


def exit_code(error: RRCollectError) -> int:
    """The exit code of an error, by what it is and who can mend it."""
    if isinstance(error, MissingExtra):
        return 5
    if isinstance(error, ParameterError):
        return 2
    if error.blame is Blame.DEVICE or isinstance(error, OSError) or isinstance(error.__context__, OSError):
        return 4  # whatever it is called, if it was the operating system that said no
    return 3 if error.blame is not Blame.CALLER or isinstance(error, AnswerRefused) else 2


def plain(text: object) -> str:
    """Text without control characters; new lines are kept, and the joiners that scripts and emoji are written with."""
    return "".join(c if c.isprintable() or c in "\n\u200c\u200d" else "?" for c in str(text))


class RenderedTable(str):
    """Text drawn for this terminal, its cells already plain; printed as it is."""

    __slots__ = ()


def emit(options: Namespace, data: Any, *parts: str) -> None:
    """Print the result: `data` as JSON if asked for, else the parts, a blank line between them."""
    if options.json:
        plain_ascii = "utf" not in (sys.stdout.encoding or "").lower()
        json.dump(data, sys.stdout, ensure_ascii=plain_ascii, allow_nan=False, indent=None)
        sys.stdout.write("\n")
        return
    kept = [part if isinstance(part, RenderedTable) else plain(part) for part in parts if part]
    if kept:
        sys.stdout.write("\n\n".join(part.rstrip("\n") for part in kept) + "\n")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numeric: set[int]) -> str:
    """Rows under a head: drawn on a terminal, aligned by spaces elsewhere."""
    from server_agg.results.tables import text_table

    if sys.stdout.isatty():
        try:
            from rich.box import SIMPLE
            from rich.console import Console
            from rich.table import Table
            from rich.text import Text
        except ImportError:
            return text_table(head, rows, numeric)
        drawn = Table(box=SIMPLE, pad_edge=False, collapse_padding=True)
        for i, name in enumerate(head):  # numbers and words are never cut; text breaks between words
            side: Literal["left", "right"] = "right" if i in numeric else "left"
            longest = max((len(word) for row in [head, *rows] for word in row[i].split()), default=0)
            drawn.add_column(name, justify=side, no_wrap=i in numeric, min_width=longest)
        for row in rows:
            drawn.add_row(*(Text(plain(cell)) for cell in row))
        console = Console()
        with console.capture() as captured:
            console.print(drawn)
        return RenderedTable(captured.get())
    return text_table(head, rows, numeric)
