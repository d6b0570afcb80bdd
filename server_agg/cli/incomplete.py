"""A command that lacks something: its message says in one line what to give, in the words of the shell."""

from __future__ import annotations

from rrcollect.errors import RRCollectError

__all__ = ["Incomplete"]


class Incomplete(RRCollectError):
    """An option or a file is needed that was not given."""
