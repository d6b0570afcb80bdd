"""What can be wrong with counted answers; every error is an `RRCollectError` and says who can mend it.

Numbers and words out of range are `ParameterError`s, as everywhere in the project; a design that tells nothing
(c = 0) is refused by `Design` itself with `UninformativeDesign`.
"""

from __future__ import annotations

from rrcollect.errors import RRCollectError, shown


class TooFewAnswers(RRCollectError, ValueError):
    """Too few answers for an error bar (2), and there is no estimate without one; or for a table's smallest cell."""

    def __init__(self, n: int, what: str = "the tally", least: int = 2) -> None:
        why = "else no error bar exists" if least == 2 else "the minimum asked for"
        super().__init__(f"{what} holds {n} answer{'s' * (n != 1)}; expected {least} or more, {why}")
        self.n = n
        self.what = what
        self.least = least

    def __reduce__(self) -> tuple[type[TooFewAnswers], tuple[int, str, int]]:
        return type(self), (self.n, self.what, self.least)


class MixedDesigns(RRCollectError, ValueError):
    """Answers drawn with different matrices were to be counted together; `pool` estimates from both."""


class MixedQuestions(RRCollectError, ValueError):
    """Answers to several questions, or of several rounds, were to be counted together."""


class EmptySelection(RRCollectError, LookupError):
    """Nothing was counted under what was asked for."""


class UnclearAnswer(RRCollectError, ValueError):
    """A cell of the column of answers is neither yes nor no nor missing."""

    def __init__(self, where: str, value: object, allowed: str) -> None:
        super().__init__(f"{where}: the answer is {shown(value)}; expected {allowed}")
        self.where = where
        self.value = value
        self.allowed = allowed

    def __reduce__(self) -> tuple[type[UnclearAnswer], tuple[str, object, str]]:
        return type(self), (self.where, self.value, self.allowed)
