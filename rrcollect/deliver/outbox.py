"""At-least-once delivery from the ledger's outbox.

Rules
1. Each report goes in a request of its own, in an order shuffled by the secure generator: the collector cannot tell
   from order or grouping which reports are one person's.
2. A report is marked delivered after the collector has it.  A crash in between sends it again; collectors count an id
   once.
3. A failure is retried with exponential backoff and jitter, not sooner than the collector asks for; if that is longer
   than the app's patience, the report waits for the next delivery.  Once a report has failed all its attempts the
   others get one each: a dead network does not cost a wait for every report.  A refusal is final: it is kept with its
   reason, for the app to see.
4. What is not delivered stays in the outbox and survives restarts.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rrcollect.deliver.transport import Transport
from rrcollect.errors import ParameterError, ReportRefused, TransportFailed

__all__ = ["Deliveries", "Outbox", "Outgoing", "Pace", "deliver"]


@dataclass(frozen=True)
class Outgoing:
    """A report in the outbox, with its state: waiting, delivered or refused (and why)."""

    id: str
    survey: str
    question: str
    round: int
    attribute: str
    words: str
    body: bytes
    state: str
    reason: str | None

    def __repr__(self) -> str:
        return f"Outgoing({self.id}, {self.question!r}, {self.state})"


class Outbox(Protocol):
    """Where reports wait, and where it is kept, durably, what became of each: the ledger."""

    def outbox(self, state: str | None = None) -> list[Outgoing]:
        """The reports, all or in one state."""
        ...

    def mark(self, report_id: str, state: str, reason: str | None = None) -> None:
        """Remember what became of a report."""
        ...


@dataclass(frozen=True)
class Pace:
    """How patiently to deliver: attempts per report, the first wait and the longest, in seconds."""

    attempts: int = 4
    first_wait: float = 0.5
    longest_wait: float = 60.0
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 1:
            raise ParameterError("attempts", self.attempts, "a whole number, 1 or more")
        if not 0 <= self.first_wait <= self.longest_wait < float("inf"):
            raise ParameterError("waits", (self.first_wait, self.longest_wait), "0 <= first_wait <= longest_wait")

    def wait(self, attempt: int, retry_after: float | None) -> None:
        """Sleep before the next attempt: a random share of the doubled wait, or what the collector asked for."""
        ceiling = min(self.longest_wait, self.first_wait * 2**attempt)
        jitter = ceiling * secrets.randbelow(1 << 30) / (1 << 30)
        self.sleep(max(jitter, retry_after or 0.0))


@dataclass(frozen=True)
class Deliveries:
    """What became of the outbox: how many were delivered, why some were refused, how many still wait."""

    delivered: int
    refused: tuple[tuple[str, str], ...]
    waiting: int
    last_failure: str | None = None


def deliver(outbox: Outbox, transport: Transport, pace: Pace) -> Deliveries:
    """Send every waiting report; never raises for what a collector or a network does."""
    if not callable(getattr(transport, "send", None)):
        raise ParameterError("transport", type(transport).__name__, "a transport, such as HttpTransport(url)")
    outgoing = outbox.outbox("waiting")
    secrets.SystemRandom().shuffle(outgoing)
    delivered, refused, waiting, last = 0, [], 0, None
    for report in outgoing:
        try:
            _send(transport, report, pace, pace.attempts if last is None else 1)
        except ReportRefused as error:
            outbox.mark(report.id, "refused", str(error))
            refused.append((report.id, str(error)))
        except TransportFailed as error:
            waiting, last = waiting + 1, str(error)
        else:
            outbox.mark(report.id, "delivered")
            delivered += 1
    return Deliveries(delivered, tuple(refused), waiting, last)


def _send(transport: Transport, report: Outgoing, pace: Pace, attempts: int) -> None:
    for attempt in range(attempts):
        try:
            transport.send(report.body)
        except TransportFailed as error:
            if attempt + 1 == attempts or (error.retry_after or 0.0) > pace.longest_wait:
                raise
            pace.wait(attempt, error.retry_after)
        else:
            return
