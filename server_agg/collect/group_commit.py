"""Group commit: the reports of many requests in one transaction, each acknowledged after it.

Rules
1. One thread writes.  While it waits for the disk, requests gather; the next transaction takes all of them, up to
   `batch_limit`.
2. A request continues after the commit of its own reports, never before.  If the commit failed, every request in it
   gets the `StoreError`.
3. At most `queue_limit` reports wait; the next one gets `QueueFull` at once.
4. Between two transactions the writer folds what is ripe: `fold_seconds` after its start, for what a crash left
   waiting, and after something was taken, or as soon as `FOLD_REPORTS` were, for a small intake is quicker to write to.
   It lets three times as long pass as the last fold took.  It never waits for another's fold or for a copy of the
   database.  A fold that fails leaves everything as it was, is told, and is tried again.
5. `close` commits what was accepted, folds, and stops.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from server_agg.collect.store.reports import IncomingReport
from server_agg.collect.store.store import Store
from server_agg.collect.store.taking import ReportOutcome
from server_agg.errors import KeysBusy, QueueFull, StoreError, StoreUnavailable

Watched = Callable[[int, float, StoreError | None], object]  # how many reports, the seconds, what went wrong
WatchedFold = Callable[[StoreError | None], object]  # what went wrong
Waiting = tuple[Sequence[IncomingReport], "asyncio.Future[list[ReportOutcome]]", asyncio.AbstractEventLoop]
FOLD_REPORTS = 5_000
BUSY_PAUSE = 0.2  # seconds
FOLD_PAUSE = 3  # as long as a fold took, so many times over
Settled = list[tuple["asyncio.Future[list[ReportOutcome]]", "list[ReportOutcome] | StoreError"]]


@dataclass(eq=False)
class GroupCommit:
    """The single writer of a store."""

    store: Store
    queue_limit: int = 10_000
    batch_limit: int = 1_000
    fold_seconds: float = 1.0
    watch: Watched | None = None
    watch_fold: WatchedFold | None = None

    def __post_init__(self) -> None:
        self.commits, self.folded = 0, 0
        self._fold_at: float | None = time.monotonic() + self.fold_seconds  # None: nothing was taken since the last one
        self._folded_until = 0.0  # no fold before
        self._taken = 0  # since the last fold
        self._waiting = 0
        self._pending: deque[Waiting] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._write, name="rrcollect-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Reports that are not on disk yet."""
        return self._waiting

    async def take(self, reports: Sequence[IncomingReport]) -> list[ReportOutcome]:
        """What became of these reports, once they are durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[ReportOutcome]] = loop.create_future()
        with self._changed:
            if self._closed:
                raise StoreUnavailable("the collector is stopping; send it again")
            if self._waiting + len(reports) > self.queue_limit:
                raise QueueFull(f"{self._waiting} reports wait for the disk; send it again in a moment")
            self._waiting += len(reports)
            self._pending.append((reports, future, loop))
            self._changed.notify()
        return await future

    def close(self) -> None:
        """Finish what was accepted; nothing is taken after."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    # ---- the writer's thread ----------------------------------------------------------------------------------

    def _write(self) -> None:
        while (batch := self._next()) is not None:
            if not batch:
                self._fold()
                continue
            reports = [report for group, _, _ in batch for report in group]
            outcomes: list[ReportOutcome] | StoreError
            began = time.perf_counter()
            try:
                outcomes = self.store.take(reports)
                self.commits += 1
            except StoreError as error:
                outcomes = error
            except Exception as error:  # a fault of ours must not end the thread that everybody waits for
                outcomes = _failed(error)
            with self._changed:
                self._waiting -= len(reports)
            if self.watch is not None:
                trouble = outcomes if isinstance(outcomes, StoreError) else None
                self.watch(len(reports), time.perf_counter() - began, trouble)
            _settle(batch, outcomes)
            self._taken += len(reports)
            if self._taken >= FOLD_REPORTS:
                self._fold_at = self._folded_until
            elif self._fold_at is None:
                self._fold_at = max(self._folded_until, time.monotonic() + self.fold_seconds)
        if self._fold_at is not None:
            self._fold()

    def _fold(self) -> None:
        began, self._fold_at, self._taken = time.monotonic(), None, 0
        trouble: StoreError | None = None
        try:
            self.folded += self.store.fold(wait=False)
        except KeysBusy:  # no trouble
            self._fold_at = began + max(self.fold_seconds, BUSY_PAUSE)
        except Exception as error:  # as above; what waits goes on waiting
            trouble = error if isinstance(error, StoreError) else _failed(error)
            self._fold_at = began + self.fold_seconds
        if self.watch_fold is not None:
            self.watch_fold(trouble)
        ended = time.monotonic()
        self._folded_until = ended + FOLD_PAUSE * (ended - began)

    def _next(self) -> list[Waiting] | None:
        """The next batch; an empty one when it is time to fold, None when closed and all is written."""
        with self._changed:
            while self._pending or not self._closed:
                left = None if self._fold_at is None else self._fold_at - time.monotonic()
                if left is not None and left <= 0:
                    return []
                if self._pending:
                    break
                self._changed.wait(left)
            else:
                return None
            batch: list[Waiting] = []
            size = 0
            while self._pending and (not batch or size + len(self._pending[0][0]) <= self.batch_limit):
                batch.append(self._pending.popleft())
                size += len(batch[-1][0])
            return batch


def _failed(error: Exception) -> StoreUnavailable:
    return StoreUnavailable(f"the store failed ({type(error).__name__})")


def _settle(batch: list[Waiting], outcomes: list[ReportOutcome] | StoreError) -> None:
    """Hand every request its own outcomes, with one wake-up for each event loop."""
    settled: dict[asyncio.AbstractEventLoop, Settled] = {}
    start = 0
    for group, future, loop in batch:
        own = outcomes if isinstance(outcomes, StoreError) else outcomes[start : start + len(group)]
        settled.setdefault(loop, []).append((future, own))
        start += len(group)
    for loop, results in settled.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, results)


def _resolve(results: Settled) -> None:
    for future, own in results:
        if future.done():  # its sender went away
            continue
        if isinstance(own, StoreError):
            future.set_exception(own)
        else:
            future.set_result(own)
