"""Files the command line writes: whole or not at all, and never over something that is there.

Rules
1. An existing file is refused unless `--force` was given; the check comes before the work.  `force=None` is for files
   that are never replaced: there `--force` is not spoken of.  A folder is never replaced.
2. A file appears under its name when it is whole and on disk (`files.new_file`): a full disk leaves nothing
   half-written.
3. What the operating system says becomes one `CannotWrite` that names the file and what to do.
"""

from __future__ import annotations

import errno
import os
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rrcollect.errors import Blame, RRCollectError
from server_agg import files


class Incomplete(RRCollectError):
    """An option or a file is needed that was not given; the message says what to give, in the words of the shell."""


class CannotWrite(RRCollectError):
    """A file exists already, or the machine did not let us write it."""

    blame = Blame.DEVICE


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


def os_error_hint(error: OSError) -> str:
    """What the operating system said, and what to do about it."""
    said = (error.strerror or type(error).__name__).lower()
    hint = WAYS.get(error.errno or 0)
    return f"{said}; {hint}" if hint else said


def add_force(parser: ArgumentParser) -> None:
    """The option `--force`."""
    parser.add_argument("--force", action="store_true", help="replace a file that exists")


def refuse_existing(path: str | os.PathLike[str] | None, *, force: bool | None) -> None:
    """Raise if there is something at the path and nobody said that it may go; `force` None: nobody can."""
    if path is None:
        return
    if os.path.isdir(path):
        raise CannotWrite(f"{os.fspath(path)} is a folder; name a file")
    if not force and os.path.lexists(path):
        way = "choose another name" if force is None else "--force replaces it"
        raise CannotWrite(f"{os.fspath(path)} exists already; {way}")


@contextmanager
def new_file(path: str | os.PathLike[str], *, force: bool | None) -> Iterator[Path]:
    """`files.new_file`, which replaces nothing unless told to, and speaks of its troubles as the others do."""
    wanted = Path(path)
    refuse_existing(wanted, force=force)
    try:
        with files.new_file(wanted) as partial:
            yield partial
            refuse_existing(wanted, force=force)
    except OSError as error:
        if isinstance(error, RRCollectError):
            raise
        raise CannotWrite(f"{wanted} cannot be written: {os_error_hint(error)} (nothing was left of it)") from None


def write_text(path: str | os.PathLike[str], text: str, *, force: bool | None) -> None:
    """Write a text file, whole or not at all."""
    with new_file(path, force=force) as partial:
        partial.write_text(text, encoding="utf-8")
