"""What can go wrong between a report and the disk; every error is an `RRCollectError`.

A `Refusal` is final and is told to the sender with its status; a `StoreError` is the server's own trouble: nothing was
acknowledged, and sending again later is safe.  A report is refused for a reason of `rrcollect.publish.rules.REASONS`.
"""

from __future__ import annotations

from rrcollect.errors import Blame, RRCollectError
from rrcollect.publish.rules import REASONS

__all__ = [
    "STATUS",
    "QueueFull",
    "Refusal",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "UnsafeDurability",
    "WrongSchema",
]

STATUS = dict.fromkeys(REASONS, 422) | {  # well formed, but not what the survey publishes
    "malformed": 400,
    "unknown_survey": 404,
    "missing_ticket": 403,
    "unknown_ticket": 403,
    "ticket_reused": 403,
    "conflicting_id": 409,
    "closed": 410,
}
"""The HTTP status of every reason."""


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


class StoreFull(StoreError):
    """No space is left for the database."""

    status = 507
    retry_after = 30


class QueueFull(StoreError):
    """More reports wait for the disk than the queue may hold."""


class UnsafeDurability(StoreError):
    """The database would acknowledge what a power cut can take back; the collector does not start on it."""


class WrongSchema(StoreError):
    """The database is not a collector's."""
