"""The log: lines of JSON, few of them, and nothing of a report in any.

Rules
1. A line says what the collector did: it started (with its settings, without secrets), the store failed or works again
   (once for each change, for taking reports, folding them and housekeeping each), so many requests were refused for
   each reason, it closed a survey, it stopped.
2. No line holds a body, an address, an id or anything else that was sent.  Lines about requests are counts over an
   interval, and a count below the minimum waits for a later interval: no line tells the time of one report.
3. The time of a line is told to the minute.
4. Of the server's own lines only errors are told: its warnings come one per request, and strangers would fill the log.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections import Counter
from datetime import UTC, datetime
from typing import IO, Any

from server_agg.errors import StoreError

log = logging.getLogger("rrcollect.collect")


def said(event: str, **fields: Any) -> None:
    """Write one line."""
    log.info(event, extra={"fields": fields})


class JsonLines(logging.Formatter):
    """A record as one line of JSON.

    >>> made = logging.makeLogRecord({"msg": "started", "levelname": "INFO", "fields": {"port": 8000}, "created": 0})
    >>> JsonLines().format(made)
    '{"time":"1970-01-01T00:00Z","level":"info","event":"started","port":8000}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line.  Only the type of an exception is logged: its message may contain a report."""
        made = datetime.fromtimestamp(record.created, UTC)
        line = {"time": f"{made:%Y-%m-%dT%H:%MZ}", "level": record.levelname.lower(), "event": record.getMessage()}
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
        return json.dumps({**line, **getattr(record, "fields", {})}, ensure_ascii=False, separators=(",", ":"))


def log_to(stream: IO[str] | None = None) -> None:
    """Let this process write its log to a stream (standard error), once."""
    for name, level in (("rrcollect", logging.INFO), ("uvicorn", logging.ERROR)):
        logger = logging.getLogger(name)
        if not any(isinstance(handler.formatter, JsonLines) for handler in logger.handlers):
            handler = logging.StreamHandler(stream or sys.stderr)
            handler.setFormatter(JsonLines())
            logger.addHandler(handler)
        logger.setLevel(level)
        logger.propagate = False


class Watch:
    """What is told of the store and of refusals; called from the writer's thread and from the event loop."""

    def __init__(self, minimum: int) -> None:
        self._minimum = minimum
        self._lock = threading.Lock()
        self._refused: Counter[str] = Counter()
        self._trouble: dict[str, str | None] = {}

    def store(self, trouble: StoreError | None, doing: str = "taking") -> None:
        """The store did what was asked, or not; told when that is news for what it was doing."""
        name = None if trouble is None else type(trouble).__name__
        with self._lock:
            if name == self._trouble.get(doing):
                return
            self._trouble[doing] = name
        if name is None:
            said("store works again", doing=doing)
        else:
            log.warning("store failed", extra={"fields": {"error": name, "doing": doing}})

    def refused(self, reason: str) -> None:
        """A request was refused."""
        with self._lock:
            self._refused[reason] += 1

    def tell(self) -> None:
        """Tell the refusals since the last time, of reasons with at least `minimum`; the others wait."""
        with self._lock:
            told = {reason: n for reason, n in sorted(self._refused.items()) if n >= self._minimum}
            for reason in told:
                del self._refused[reason]
        if told:
            said("refused", reasons=told)
