"""What a person sees, what a program reads, and the files that the command line writes.

Rules
1. Results go to standard output, everything else to standard error.  `--json` prints one JSON value and nothing else.
2. On a terminal tables are drawn with rich, if it is installed (extra `cli`); piped they are plain aligned text.
3. A user's mistake is one line on standard error that says what to do, and an exit code; never a traceback.
4. Text that came from elsewhere is shown without control characters.
5. An existing file is refused unless `--force` was given; the check comes before the work.  `force=None` is for files
   that are never replaced: there `--force` is not mentioned.  A folder is never replaced.
6. A file appears under its name when it is whole and on disk (`files.new_file`): a full disk leaves nothing
   half-written.  The operating system's refusal becomes one `CannotWrite` that names the file and what to do.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rrcollect.errors import AnswerRefused, Blame, MissingExtra, ParameterError, RRCollectError
from server_agg import files

if TYPE_CHECKING:
    from server_agg.results.drawing import Picture
    from server_agg.results.result import Result

EXIT_CODES = """exit codes:
  0    done
  1    the answer is no (verify: not accepted)
  2    the command was not understood, or a value was out of range
  3    refused: a survey, an answer, a report or a file of reports that breaks the rules
  4    this machine: a file (missing, cut off, already there, no space), the ledger, the network
  5    an optional package is missing
  130  stopped by Ctrl-C
"""
PICTURES = (".png", ".svg", ".pdf")
WAYS = {
    errno.ENOENT: "check the name and its folder",
    errno.ENOSPC: "free some space",
    errno.EFBIG: "it is larger than this machine allows",
    errno.EDQUOT: "free some space",
    errno.EACCES: "choose a place you may use",
    errno.EPERM: "choose a place you may use",
    errno.EROFS: "choose a place that can be written",
    errno.EISDIR: "name a file, not a folder",
    errno.ENOTDIR: "check the folders in its name",
}
Tell = Callable[[float], None]


class Incomplete(RRCollectError):
    """An option or a file is needed that was not given; the message says what to give, in the words of the shell."""


class CannotWrite(RRCollectError):
    """A file exists already, or the machine did not let us write it."""

    blame = Blame.DEVICE


def exit_code(error: RRCollectError) -> int:
    """The exit code of an error, by what it is and who can fix it."""
    if isinstance(error, MissingExtra):
        return 5
    if isinstance(error, ParameterError):
        return 2
    if error.blame is Blame.DEVICE or isinstance(error, OSError) or isinstance(error.__context__, OSError):
        return 4  # whatever it is called, if the operating system said no
    return 3 if error.blame is not Blame.CALLER or isinstance(error, AnswerRefused) else 2


def os_error_hint(error: OSError) -> str:
    """What the operating system said, and what to do about it."""
    said = (error.strerror or type(error).__name__).lower()
    hint = WAYS.get(error.errno or 0)
    return f"{said}; {hint}" if hint else said


# ---- text ---------------------------------------------------------------------------------------------------------


def plain(text: object) -> str:
    """Text without control characters; new lines are kept, and the joiners that scripts and emoji are written with."""
    return "".join(c if c.isprintable() or c in "\n\u200c\u200d" else "?" for c in str(text))


class RenderedTable(str):
    """Text drawn for this terminal, its cells already plain; printed as it is."""

    __slots__ = ()


class Output:
    """What a command has to say: `data` for programs, `parts` for people with a blank line between them, what `--plot`
    draws, and the exit code."""

    def __init__(self, data: Any, *parts: str, picture: Callable[[], Picture] | None = None, code: int = 0) -> None:
        self.data, self.parts, self.picture, self.code = data, parts, picture, code

    def print(self, options: Namespace) -> None:
        """Draw the picture if it was asked for, and print the data as JSON or the parts."""
        parts = list(self.parts)
        if getattr(options, "plot", None) is not None:
            if self.picture is None:
                raise ParameterError("--plot", str(options.plot), "a result that has a picture: this one has none")
            with new_file(options.plot, force=options.force) as partial:
                self.picture().save(partial)
            parts.append(f"picture: {options.plot}")
        if options.json:
            plain_ascii = "utf" not in (sys.stdout.encoding or "").lower()
            json.dump(self.data, sys.stdout, ensure_ascii=plain_ascii, allow_nan=False, indent=None)
            sys.stdout.write("\n")
        elif kept := [part if isinstance(part, RenderedTable) else plain(part) for part in parts if part]:
            sys.stdout.write("\n\n".join(part.rstrip("\n") for part in kept) + "\n")
        sys.stdout.flush()


def table(head: Sequence[str] | None, rows: Sequence[Sequence[str]], numeric: set[int]) -> str:
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
        drawn = Table(box=SIMPLE, pad_edge=False, collapse_padding=True, show_header=head is not None)
        names = head or [""] * len(rows[0])
        for i, name in enumerate(names):  # numbers and words are never cut; text breaks between words
            side: Literal["left", "right"] = "right" if i in numeric else "left"
            longest = max((len(word) for row in [names, *rows] for word in row[i].split()), default=0)
            drawn.add_column(name, justify=side, no_wrap=i in numeric, min_width=longest)
        for row in rows:
            drawn.add_row(*(Text(plain(cell)) for cell in row))
        console = Console()
        with console.capture() as captured:
            console.print(drawn)
        return RenderedTable(captured.get())
    return text_table(head, rows, numeric)


def show(options: Namespace, result: Result, *more: str, first: str = "") -> Output:
    """A result as a command's output: its tables and notes, and its picture."""
    asked = options.level, options.method
    return Output(result.as_dict(*asked), first, *shown(result, *asked, *more), picture=result.plot)


def shown(result: Result, level: Any = None, method: str | None = None, *more: str) -> list[str]:
    """The tables of a result, drawn on a terminal, and its notes."""
    tables = [table(head, rows, set(numeric)) for (head, rows), numeric in result.tables(level, method)]
    notes: Any = result.as_dict(level, method)["notes"]
    return [*tables, "\n".join([*notes, *more])]


@contextmanager
def progress(words: str, *, quiet: bool = False) -> Iterator[Tell]:
    """A function to call with the share done, from 0 to 1: rich's bar on a terminal, a plain one without rich, silence
    in a pipe.  The bar goes away (rich) or ends its line (plain)."""
    if quiet or not sys.stderr.isatty():
        yield lambda share: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
    except ImportError:
        from server_agg.batch.summary import draw_bar

        sys.stderr.write(f"{words}\n")
        yield draw_bar
        sys.stderr.write("\n")
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(words, total=1.0)
        yield lambda share: shown.update(task, completed=min(max(share, 0.0), 1.0))


# ---- files --------------------------------------------------------------------------------------------------------


def refuse_existing(path: str | os.PathLike[str] | None, *, force: bool | None) -> None:
    """Raise if there is something at the path that may not be replaced; `force` None: it never may."""
    if path is None:
        return
    if os.path.isdir(path):
        raise CannotWrite(f"{os.fspath(path)} is a folder; name a file")
    if not force and os.path.lexists(path):
        way = "choose another name" if force is None else "--force replaces it"
        raise CannotWrite(f"{os.fspath(path)} exists already; {way}")


@contextmanager
def new_file(path: str | os.PathLike[str], *, force: bool | None) -> Iterator[Path]:
    """`files.new_file`, under rules 5 and 6."""
    wanted = Path(path)
    refuse_existing(wanted, force=force)
    with writing(wanted), files.new_file(wanted) as partial:
        yield partial
        refuse_existing(wanted, force=force)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """The operating system's refusal to write this file, as `CannotWrite`."""
    try:
        yield
    except OSError as error:
        if isinstance(error, RRCollectError):
            raise
        raise CannotWrite(
            f"{os.fspath(path)} cannot be written: {os_error_hint(error)} (nothing was left of it)"
        ) from None


def write_file(path: str | os.PathLike[str], content: str | bytes, *, force: bool | None) -> None:
    """Write a file, whole or not at all; text in UTF-8."""
    with new_file(path, force=force) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)


def check_outputs(options: Namespace) -> None:
    """Refuse files that cannot be written, or pictures that cannot be drawn, before the work is done."""
    given = {name: getattr(options, name, None) for name in ("out", "hashes", "refused_to", "plot")}
    if given["plot"] is not None and given["plot"].suffix.lower() not in PICTURES:
        raise ParameterError("--plot", str(given["plot"]), f"a name ending in {', '.join(PICTURES)}")
    for path in given.values():
        refuse_existing(path, force=getattr(options, "force", None))
