"""What can go wrong between a report and the disk; every error is an `RRCollectError`.

A `Refusal` is final and is told to the sender with its status; a `StoreError` is the server's own trouble: nothing was
acknowledged, and sending again later is safe.  A report is refused for a reason of `rrcollect.publish.rules.REASONS`.
"""

from __future__ import annotations

from rrcollect.errors import Blame, RRCollectError
from rrcollect.publish.rules import REASONS, STATUS


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

    def __reduce__(self) -> tuple[type[Refusal], tuple[int, str, str]]:
        return type(self), (self.status, self.code, self.reason)


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


class UnsafeDurability(StoreError):
    """The database would acknowledge what a power cut can take back; the collector does not start on it."""


class WrongSchema(StoreError):
    """The database is not a collector's."""


class EpochKeyMissing(StoreError):
    """The key of the waiting reports is not in the folder of keys: they cannot be read, nor others be taken."""


class KeysBusy(StoreError):
    """Another fold, or a copy of the database, has the folder of keys; it is over soon."""
