"""Collectors with a planted bug, as programs.  Run: python -m assurance.collector_twins BUG serve …

early    acknowledges a report, and commits it a little later
twice    does not look for duplicates: a report that comes again is counted again
"""

from __future__ import annotations

import secrets
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

from assurance.fuzz_targets import careless
from rrcollect import Report
from rrcollect.errors import RRCollectError
from server_agg.cli.main import main
from server_agg.collect import serve
from server_agg.collect.errors import StoreError
from server_agg.collect.row import Arrival
from server_agg.collect.sqlite_store import SqliteStore
from server_agg.collect.store import Outcome
from tests.collect.running import Process

__all__ = ["Careless", "Early", "EarlyStore", "Twice", "TwiceStore"]

DELAY = 0.2  # seconds


class EarlyStore(SqliteStore):
    """Says yes before the commit."""

    def take(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        def later() -> None:
            with suppress(StoreError):
                SqliteStore.take(self, arrivals)

        threading.Timer(DELAY, later).start()
        return [Outcome.NEW] * len(arrivals)


class TwiceStore(SqliteStore):
    """Gives every arrival an id of its own."""

    def take(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        return super().take([a._replace(row=a.row._replace(id=secrets.token_hex(16))) for a in arrivals])


class Early(Process):
    """`early`, as a process."""

    program = ("-m", "assurance.collector_twins", "early")


class Twice(Process):
    """`twice`, as a process."""

    program = ("-m", "assurance.collector_twins", "twice")


class Careless(Report):
    """The planted bug in the collector: a report that takes its fields for granted."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Report:
        with suppress(RRCollectError):
            careless(data)
        return Report.from_bytes(data)


if __name__ == "__main__":
    vars(serve)["open_store"] = {"early": EarlyStore, "twice": TwiceStore}[sys.argv[1]]
    sys.exit(main(sys.argv[2:]))
