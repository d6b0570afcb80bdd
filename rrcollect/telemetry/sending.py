"""How the reports of a host leave in the background: from a thread, or from a process that ends by itself.

Rules
1. Reports leave at the moments that were drawn with them, by our own delivery; a note says when the next one is due.
2. One run sends at a time.  Whoever does not get the lock leaves the work to the run that has it; nobody waits.
3. A thread ends with the host, whatever it is doing: a report that was not acknowledged is sent again by the next run.
   A process is started where the host is gone in an instant; it belongs to no terminal, prints nothing, and ends.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rrcollect.telemetry.note import Note

if TYPE_CHECKING:
    from datetime import datetime

    from rrcollect.answer.client import Client
    from rrcollect.deliver.transport import Transport

fcntl: Any = None
with suppress(ImportError):
    import fcntl

LEDGER, DRAWING, SENDING = "ledger.sqlite3", "drawing.lock", "sending.lock"
LEAST_WAIT, MOST_WAIT = 60.0, 86_400.0  # seconds between two looks of a thread


class Sender:
    """What sends the reports of one folder; `failed` is told of every fault, and decides what becomes of it."""

    def __init__(
        self,
        folder: str,
        transport: Transport | None,
        clock: Callable[[], datetime] | None,
        failed: Callable[[Exception], None],
    ) -> None:
        self._folder, self._transport, self._clock, self._failed = folder, transport, clock, failed
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._process = 0

    def by_thread(self) -> None:
        """Let a thread send what is due, now and later, as long as the host lives."""
        found = Note.read(self._folder)
        if found is None or found.send == math.inf or self._thread is not None or self._ended.is_set():
            return
        self._thread = threading.Thread(target=self._run, name="rrcollect-telemetry", daemon=True)
        self._thread.start()

    def by_process(self) -> None:
        """Let a process of its own send what is due now."""
        found = Note.read(self._folder)
        if found is None or not found.to_send(self._now()):
            return
        with suppress(ChildProcessError):
            os.waitpid(self._process, os.WNOHANG) if self._process else None
        command = [sys.executable, "-m", "rrcollect.telemetry", self._folder]
        silent: list[Any] = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0)]
        silent += [(os.POSIX_SPAWN_DUP2, 0, output) for output in (1, 2)]
        self._process = os.posix_spawn(sys.executable, command, os.environ, file_actions=silent, setsid=True)

    def now(self) -> None:
        """Send what is due, in this thread."""
        send_due(self._folder, self._transport, self._clock, patient=True)

    def end(self) -> None:
        """The host ends: the thread looks no more."""
        self._ended.set()

    def _now(self) -> float:
        return time.time() if self._clock is None else self._clock().timestamp()

    def _run(self) -> None:
        while not self._ended.is_set() and (found := Note.read(self._folder)) is not None and found.send < math.inf:
            try:
                if found.to_send(self._now()):
                    send_due(self._folder, self._transport, self._clock)
            except Exception as error:
                self._failed(error)
            found = Note.read(self._folder) or found
            self._ended.wait(min(max(found.send - self._now(), LEAST_WAIT), MOST_WAIT))
        self._thread = None


def send_due(
    folder: str,
    transport: Transport | None = None,
    clock: Callable[[], datetime] | None = None,
    *,
    patient: bool = False,
) -> None:
    """Send what is due in this folder, and note when the next report is."""
    from rrcollect.answer.client import Client
    from rrcollect.answer.policy import Policy

    with alone(folder, SENDING, patient=patient) as mine:
        if not mine or (found := Note.read(folder)) is None:
            return
        how: dict[str, Any] = {} if clock is None else {"clock": clock}
        client = Client(os.path.join(folder, LEDGER), attributes=[], policy=Policy(), **how)
        deliveries = client.deliver(transport)
        moment = deliveries.next_moment.timestamp() if deliveries.next_moment else math.inf
        latest = Note.read(folder) or found  # what was drawn meanwhile waits, too
        latest._replace(send=moment if latest.made == found.made else min(moment, latest.send)).write(folder)


def next_moment(client: Client) -> float:
    """When the next waiting report is to be sent; infinity if none waits."""
    waiting = (report.times for report in client.budget().reports if report.state == "waiting")
    return min((times[0] for times in waiting if times), default=math.inf)


@contextmanager
def alone(folder: str, lock: str, *, patient: bool = False) -> Iterator[bool]:
    """Whether this run has a lock of the folder; without waiting, unless it is `patient`."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    handle = os.open(os.path.join(folder, lock), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if patient else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
