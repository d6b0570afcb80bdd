"""Every error of rrcollect and server_agg, and whose fault it is.

Rules
1. One base class.  ``except RRCollectError`` catches all that this project raises on purpose, and nothing else.
2. An error says who can mend it (`Blame`), what it saw, and what would have been allowed.
3. A truth, and the random draw behind an answer, never enter an error.  Values shown are shortened, so that a
   hostile megabyte does not become a log line.

>>> error = ParameterError("delta", 2, "a number between 0 and 1")
>>> str(error)
'delta is 2; allowed: a number between 0 and 1'
>>> error.blame
<Blame.CALLER: 'caller'>
"""

from __future__ import annotations

from enum import Enum

SHOWN_CHARACTERS = 80


class Blame(Enum):
    """Who has to act so that the error goes away."""

    CALLER = "caller"  # the program that called this function
    PUBLISHER = "publisher"  # whoever wrote and signed the survey
    REPORTER = "reporter"  # whoever sent the report
    DEVICE = "device"  # this machine: its disk, its generator, its clock


def shown(value: object) -> str:
    """`value` as an error may show it: its repr, printable, cut to 80 characters."""
    try:
        text = repr(value)
    except Exception as error:  # a hostile __repr__, or an int beyond Python's digit limit
        text = f"<{type(value).__name__}: {type(error).__name__} when shown>"
    text = "".join(c if c.isprintable() else "?" for c in text[: SHOWN_CHARACTERS + 1])
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


class RRCollectError(Exception):
    """Base of every error this project raises on purpose."""

    blame: Blame = Blame.CALLER


class ParameterError(RRCollectError, ValueError):
    """A number or word given to a function is not one it takes."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"{name} is {shown(value)}; allowed: {allowed}")
        self.name = name
        self.value = value
        self.allowed = allowed

    def __reduce__(self) -> tuple[type[ParameterError], tuple[str, object, str]]:
        return type(self), (self.name, self.value, self.allowed)


class UninformativeDesign(RRCollectError, ValueError):
    """Both truths would be answered by the same law (p00 + p11 = 1): no crowd, however large, tells anything."""


class OffGridDesign(RRCollectError, ValueError):
    """The matrix has a probability that is no multiple of 1/2^64, so no device can apply it exactly."""


class MissingExtra(RRCollectError, ImportError):
    """A part of the project was used whose optional packages are not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; pip install 'rrcollect[{extra}]'")
        self.package = package
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        return type(self), (self.package, self.extra)
