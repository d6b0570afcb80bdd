"""What can be wrong with counted answers; every error is an `RRCollectError` and says who can fix it.

Numbers and words out of range are `ParameterError`s, as everywhere in the project; a design that tells nothing
(c = 0) is refused by `Design` itself with `UninformativeDesign`.  A single bad report of a batch is not an error: it is
refused and counted.

A collector's `Refusal` is final and is told to the sender with its status; a `StoreError` is the server's own trouble:
nothing was acknowledged, and sending again later is safe.  A report is refused for a reason of
`rrcollect.publish.report.REASONS`.
"""

from __future__ import annotations

from rrcollect.errors import Blame, RRCollectError, shown
from rrcollect.publish.report import REASONS, STATUS


class TooFewAnswers(RRCollectError, ValueError):
    """Too few answers for an error bar (2), and there is no estimate without one; or for a table's smallest cell."""

    def __init__(self, n: int, what: str = "the tally", least: int = 2) -> None:
        why = "else no error bar exists" if least == 2 else "the minimum asked for"
        super().__init__(f"{what} holds {n} answer{'s' * (n != 1)}: {least} or more are needed, {why}")
        self.n = n
        self.what = what
        self.least = least


class EmptySelection(RRCollectError, LookupError):
    """Nothing was counted under what was asked for."""


class UnclearAnswer(RRCollectError, ValueError):
    """A cell of the column of answers is neither yes nor no nor missing."""

    def __init__(self, where: str, value: object, allowed: str) -> None:
        super().__init__(f"{where}: the answer is {shown(value)}: use {allowed}")
        self.where = where
        self.value = value
        self.allowed = allowed


class DataUnavailable(RRCollectError, OSError):
    """Data cannot be read or written: no file matches, a folder holds no reports, a database does not answer or has not
    the rows of all reports that it counted, a file for the refused rows cannot be made."""


class BadColumn(RRCollectError, ValueError):
    """A column is missing, or of a type that cannot hold what it should."""

    def __init__(self, column: str, seen: str, allowed: str, where: str = "the source") -> None:
        super().__init__(f"{where}: column {column!r} is {seen}: use {allowed}")
        self.column = column
        self.seen = seen
        self.allowed = allowed
        self.where = where


class UnreadableReports(RRCollectError, ValueError):
    """A line or row is not a report at all: cut off in the middle, broken, or with a value of the wrong type; or a file
    of reports is cut off, damaged, or not what its header says.

    `skippable`: whether `lenient` would pass over it; a file of which nothing can be read stops the batch either way.
    """

    blame = Blame.REPORTER

    def __init__(self, where: str, line: int | None, why: str, skippable: bool = True) -> None:
        place = where if line is None else f"{where}, line {line}"
        advice = "; lenient=True counts such rows as malformed and goes on" if skippable else ""
        super().__init__(f"{place}: {why}{advice}")
        self.where = where
        self.line = line
        self.skippable = skippable


class SingleCluster(RRCollectError, ValueError):
    """A stratum from which one unit alone was drawn: nothing shows how much units of it differ."""

    def __init__(self, stratum: object, unit: str = "cluster") -> None:
        self.stratum = stratum
        self.unit = unit
        where = "the sample has" if stratum is None else f"stratum {shown(stratum)} has"
        mend = (
            f"two {unit}s or more"
            if stratum is None
            else (
                f"two {unit}s or more per stratum; merge it with a stratum that resembles it, or, if it was taken with "
                f"certainty, say so: population={{…, {shown(stratum)}: 1}}"
            )
        )
        super().__init__(f"{where} a single {unit}, so its variance is unknown: use {mend}")


class NotCalibrated(RRCollectError, ValueError):
    """No weights meet the totals that were given."""


class Separation(RRCollectError, ValueError):
    """The likelihood has no maximum: it keeps rising while coefficients run away to infinity.

    With randomised answers this happens sooner than in ordinary logistic regression: a group with fewer "yes" than
    the design alone produces drives its fitted prevalence to 0.
    """


class NoInformation(RRCollectError, ValueError):
    """The answers carry (next to) no information about what was asked, whatever they say."""


class NotConverged(RRCollectError, ArithmeticError):
    """The iterations ended before the maximum was reached, and no reason was found."""


class NotIdentified(RRCollectError, ValueError):
    """Different values of the parameters give the same law of the answers: no number of answers tells them apart.  A
    covariate that is a linear combination of the others does this, too."""


class Refusal(RRCollectError):
    """A request that is answered with a 4xx status: a code for programs and a reason for the developer who reads it."""

    blame = Blame.REPORTER

    def __init__(self, status: int, code: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.code = code
        self.reason = reason

    @classmethod
    def of(cls, reason: str, words: str | None = None) -> Refusal:
        """A report refused for a reason of the rules, in their words or in others."""
        return cls(STATUS[reason], reason, words or REASONS[reason])


class StoreError(RRCollectError):
    """The store cannot do what was asked now; nothing was acknowledged."""

    blame = Blame.DEVICE
    status = 503
    retry_after = 1  # seconds


class StoreUnavailable(StoreError):
    """The database cannot be reached, read or written."""

    retry_after = 2


class StoreContended(StoreUnavailable):
    """The database ended this transaction so that another could go on; doing it again is safe."""


class StoreFull(StoreError):
    """No space is left for the database."""

    status = 507
    retry_after = 30


class QueueFull(StoreError):
    """More reports wait for the disk than the queue may hold."""


class TooManyBodies(StoreError):
    """The bodies that are under way hold more bytes than they may in sum."""


class UnfitDatabase(StoreError):
    """A collector does not start on this database: it is another program's, it is damaged, or it would acknowledge what
    a power cut can take back."""


class EpochKeyMissing(StoreError):
    """The key of the waiting reports is not in the folder of keys: they cannot be read, nor others be taken."""


class KeysBusy(StoreError):
    """Another fold, or a copy of the database, has the folder of keys; it is over soon."""
