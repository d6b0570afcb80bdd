"""At-least-once delivery from the ledger's outbox, each report at moments of its own.

Rules
1. Each report goes to the destination it was drawn for, in a request, connection and thread of its own, at the moments
   that were drawn with it (`schedule`).  No report waits for the reply to another one.  So neither the order, nor the
   grouping, nor delays that a collector causes tell which reports come from one person.
2. Before a report is sent, the attempt is recorded durably, so that it is known which reports may have left.  A report
   is marked as delivered after the collector has acknowledged it.  After a crash in between it is sent again;
   collectors count an id once.
3. A failed attempt uses up the moments that have passed.  The report waits for its next moment, also after a restart.
   A refusal is final: it is stored with its reason, for the app to see.
4. An address that cannot work is an error (`WrongAddress`).  It is raised after every report that is due was tried.
5. After a sleep of the device, or a change of its clock, overdue reports are not sent all at once (`schedule`, rules 3
   and 5).
6. On an interrupt (Ctrl-C) no further attempt begins, and attempts under way are cut off if the transport can do so.
   Reports that were not delivered still wait.
"""

from __future__ import annotations

import heapq
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import Protocol

from rrcollect.deliver.schedule import CATCH_UP, PassClock, caught_up, in_windows, overdue, remaining
from rrcollect.deliver.transport import Transport
from rrcollect.errors import LedgerError, ParameterError, ReportRefused, TransportFailed, WrongAddress

# The most attempts at one time.  More would cost a small device memory and file handles; with fewer, a collector that
# withholds its replies could delay the other reports.  A device has a handful of reports (the lifetime budget is a few
# answers), so in practice this limit is not reached.  If it is, reports wait in the order of their moments until an
# attempt ends, at the latest by the transport's timeout.
AT_ONCE = 32
NAP = 0.25  # seconds; the longest wait for a reply before the clock is looked at again


@dataclass(frozen=True)
class OutboxReport:
    """A report in the outbox, with its `state` (see `rrcollect.answer.ledger`, rule 5) and the `reason` of a refusal.

    `times` are the moments at which it is to be sent, in seconds since 1970; `attempts` is how many were begun."""

    id: str
    survey: str
    question: str
    round: int
    attribute: str
    words: str
    body: bytes
    state: str
    reason: str | None
    destination: str
    times: tuple[float, ...]
    attempts: int
    window: int = 0  # seconds, of a survey with an issuer

    def __repr__(self) -> str:
        return f"OutboxReport({self.id}, {self.question!r}, {self.state})"


class Outbox(Protocol):
    """Where reports wait, and where the outcome of each is stored durably: the ledger."""

    def outbox(self, state: str | None = None) -> list[OutboxReport]:
        """The reports, all or in one state."""
        ...

    def attempt(self, report_id: str) -> bool:
        """Record that a report is about to be sent; False if it does not wait any more and must not be sent."""
        ...

    def reschedule(self, report_id: str, times: Sequence[float]) -> None:
        """Replace the moments at which a report is to be sent."""
        ...

    def mark(self, report_id: str, state: str, reason: str | None = None) -> None:
        """Remember what became of a report."""
        ...


@dataclass(frozen=True)
class Timing:
    """The device's clock (seconds since 1970), how it waits, and the spread of its reports in seconds."""

    now: Callable[[], float]
    sleep: Callable[[float], None]
    spread: float


@dataclass(frozen=True)
class Deliveries:
    """The result of one pass: how many reports were delivered, which were refused (id and reason), and how many still
    wait.  `next_moment` is when the next of them is to be sent: call `deliver` again then."""

    delivered: int
    refused: tuple[tuple[str, str], ...]
    waiting: int
    next_moment: datetime | None = None
    last_failure: str | None = None


def deliver(outboxes: Iterable[Outbox], transport: Transport, timing: Timing, within: float = 0.0) -> Deliveries:
    """Send every waiting report whose moment has come, or comes within `within` seconds, at its moment.

    The result says what was delivered, refused, or failed on the way.  Errors of other sorts are raised at the end: a
    `WrongAddress`, and what a ledger or the transport itself raised."""
    if not callable(getattr(transport, "send", None)):
        raise ParameterError("transport", type(transport).__name__, "a transport, such as HttpTransport()")
    if isinstance(within, bool) or not isinstance(within, int | float) or not 0 <= within < float("inf"):
        raise ParameterError("within", within, "seconds, 0 or more")
    return _Delivery(outboxes, transport, timing).run(within)


_Outcome = tuple[OutboxReport, bool | Exception]
"""What became of one attempt: it was delivered (True), did not wait any more (False), or what `send` or its ledger
raised.  After a failure the report has the moments that are left."""


class _Delivery:
    """One pass over the outboxes: this thread waits for the moments; every attempt runs in a thread of its own."""

    def __init__(self, outboxes: Iterable[Outbox], transport: Transport, timing: Timing) -> None:
        self._outboxes, self._transport, self._timing = list(outboxes), transport, timing
        self._of: dict[str, Outbox] = {}  # by the id of a report
        self._heard: SimpleQueue[_Outcome] = SimpleQueue()
        self._over = threading.Event()
        self._under_way: dict[str, threading.Thread] = {}
        self._delivered, self._refused = 0, list[tuple[str, str]]()
        self._last: str | None = None
        self._trouble: list[Exception] = []
        self._queue: list[tuple[float, str, OutboxReport]] = []  # a heap of (moment, id, report)
        self._now = PassClock(timing.now)
        self._end = self._now()
        self._overslept: set[str] = set()

    def run(self, within: float) -> Deliveries:
        start = self._now()
        self._end = start + within
        for report in self._one_late(list(self._waiting()), start):
            due = overdue(report.times, start)
            moment = caught_up(start, 0.0 if report.window else self._timing.spread) if due else report.times[0]
            if due or moment <= self._end:
                self._queue.append((moment, report.id, report))
        heapq.heapify(self._queue)
        try:
            while self._queue or self._under_way:
                self._listen()
                self._go_on()
        except BaseException:
            self._hang_up()
            raise
        waiting = [] if self._trouble else list(self._waiting())
        if self._trouble:
            raise self._trouble[0]
        moments = [report.times[0] for report in waiting if report.times]
        next_moment = datetime.fromtimestamp(min(moments), UTC) if moments else None
        return Deliveries(self._delivered, tuple(self._refused), len(waiting), next_moment, self._last)

    def _one_late(self, reports: list[OutboxReport], now: float) -> list[OutboxReport]:
        """The reports, those in windows that missed their moment with new ones, but for one (`schedule`, rule 5)."""
        late = [one for one in reports if one.window and overdue(one.times, now)]
        prompt = [one for one in late if one.times and now - CATCH_UP <= one.times[0] <= now]
        if late and not prompt:
            prompt = [secrets.choice(late)]
        return [self._later(one, now) if one in late and one not in prompt else one for one in reports]

    def _later(self, report: OutboxReport, now: float) -> OutboxReport:
        times = in_windows(now, report.window)
        self._of[report.id].reschedule(report.id, times)
        return replace(report, times=times)

    def _waiting(self) -> Iterator[OutboxReport]:
        """What waits in every outbox that can be read; the others are trouble to be told."""
        for outbox in self._outboxes:
            try:
                reports = outbox.outbox("waiting")
            except LedgerError as error:
                self._trouble.append(error)
            else:
                self._of.update({report.id: outbox for report in reports})
                yield from reports

    def _go_on(self) -> None:
        """Begin the attempt whose moment has come, or wait a little for it or for a reply."""
        pause = self._queue[0][0] - self._now() if self._queue else None
        if pause is not None and pause <= 0 and len(self._under_way) < AT_ONCE:
            report = heapq.heappop(self._queue)[2]
            if pause < -CATCH_UP and report.id not in self._overslept:
                self._overslept.add(report.id)
                if report.window:
                    report = self._later(report, self._now())
                    if report.times[0] <= self._end:
                        heapq.heappush(self._queue, (report.times[0], report.id, report))
                    return
                heapq.heappush(self._queue, (caught_up(self._now(), self._timing.spread), report.id, report))
                return
            thread = threading.Thread(target=self._attempt, args=(report,), name="rrcollect-deliver", daemon=True)
            self._under_way[report.id] = thread
            thread.start()
        elif self._under_way:
            self._listen(NAP if pause is None or pause <= 0 else min(pause, NAP))
        elif pause is not None:
            self._timing.sleep(max(pause, 1e-6))  # shorter times may be equal on the clock

    def _attempt(self, report: OutboxReport) -> None:
        """One attempt, in a thread of its own.  Exactly one outcome is put on the queue, also after an error."""
        try:
            self._heard.put(self._tried(report))
        except Exception as error:
            self._heard.put((report, error))

    def _tried(self, report: OutboxReport) -> _Outcome:
        outbox = self._of[report.id]
        if self._over.is_set() or not outbox.attempt(report.id):
            return report, False
        try:
            self._transport.send(report.destination, report.body)
        except ReportRefused as error:
            outbox.mark(report.id, "refused", str(error))
            return report, error
        except TransportFailed as error:
            later = replace(report, times=remaining(report.times, self._now(), self._timing.spread, report.window))
            outbox.reschedule(report.id, later.times)
            return later, error
        outbox.mark(report.id, "delivered")
        return report, True

    def _listen(self, patience: float = 0.0) -> None:
        """Process the outcomes of attempts; wait up to `patience` seconds for the first one."""
        while self._under_way:
            try:
                outcome = self._heard.get(timeout=patience) if patience else self._heard.get_nowait()
            except Empty:
                return
            self._take_in(*outcome)
            patience = 0.0

    def _take_in(self, report: OutboxReport, became: bool | Exception) -> None:
        self._under_way.pop(report.id).join()
        if isinstance(became, bool):
            self._delivered += became
        elif isinstance(became, ReportRefused):
            self._refused.append((report.id, str(became)))
        elif isinstance(became, TransportFailed) and not isinstance(became, WrongAddress):
            self._last = str(became)
            if report.times[0] <= self._end:
                heapq.heappush(self._queue, (report.times[0], report.id, report))
        else:
            self._trouble.append(became)
            self._end_now()

    def _end_now(self) -> None:
        """From now on this pass sends only reports that are due already; the others are taken off the queue."""
        self._end = self._now()
        self._queue = [entry for entry in self._queue if overdue(entry[2].times, self._end)]
        heapq.heapify(self._queue)

    def _hang_up(self) -> None:
        """No further attempt; end those under way, if the transport can, and wait until they have ended."""
        self._over.set()
        hang_up = getattr(self._transport, "hang_up", None)
        while callable(hang_up) and any(thread.is_alive() for thread in self._under_way.values()):
            hang_up()
            for thread in self._under_way.values():
                thread.join(0.02)
