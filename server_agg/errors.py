"""What can be wrong with counted answers; every error is an `RRCollectError` and says who can mend it.

Numbers and words out of range are `ParameterError`s, as everywhere in the project; a design that tells nothing
(c = 0) is refused by `Design` itself with `UninformativeDesign`.
"""

from __future__ import annotations

from rrcollect.errors import RRCollectError

__all__ = ["EmptySelection", "MixedDesigns", "TooFewAnswers"]


class TooFewAnswers(RRCollectError, ValueError):
    """Fewer than two answers: no error bar can be given, and there is no estimate without one."""

    def __init__(self, n: int, what: str = "the tally") -> None:
        super().__init__(f"{what} holds {n} answer{'s' * (n != 1)}; allowed: 2 or more, else no error bar exists")
        self.n = n
        self.what = what

    def __reduce__(self) -> tuple[type[TooFewAnswers], tuple[int, str]]:
        return type(self), (self.n, self.what)


class MixedDesigns(RRCollectError, ValueError):
    """Answers drawn with different matrices were to be counted together; `pool` estimates from both."""


class EmptySelection(RRCollectError, LookupError):
    """Nothing was counted under what was asked for."""
