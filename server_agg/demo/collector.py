"""The collector's own parts without its web server: the catalogue, the judge of reports, the durable store.

`InProcessCollector` is a transport for the real client.  `send` returns when the report is committed, as the
collector's "201 Created" does, and says no for the same reasons.  Several processes may share one store.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from rrcollect.errors import ReportRefused
from rrcollect.publish.rules import REASONS
from server_agg.collect.admission import Admission
from server_agg.collect.catalogue import Catalogue
from server_agg.collect.settings import Settings
from server_agg.collect.store.store import Store, open_store
from server_agg.count.tallies import Tallies
from server_agg.errors import Refusal


class InProcessCollector:
    """Takes reports into the store at `path`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.store: Store = open_store(path, keep_rows=True)
        self._catalogue = Catalogue(self.store.shelf)
        settings = Settings()
        self._judge = Admission(self._catalogue.find, grace=settings.grace, list_limit=settings.list_limit)

    def publish(self, envelope: bytes, key: str) -> None:
        """Make a signed survey known; `key` is the publisher's public key in hexadecimal."""
        self._catalogue.publish(envelope, [key])

    def send(self, destination: str, body: bytes) -> None:
        """Judge and commit one report; this is the collector of its survey, wherever that says it is."""
        self.send_all([body])

    def send_all(self, bodies: Sequence[bytes]) -> None:
        """Judge every report and commit them all in one transaction."""
        try:
            reports = [report for body in bodies for report in self._judge.admit(body)]
        except Refusal as refusal:
            raise ReportRefused(refusal.reason) from None
        for outcome in self.store.take(reports):
            if outcome.value in REASONS:
                raise ReportRefused(f"{outcome.value}: {REASONS[outcome.value]}")

    def tallies(self) -> Tallies:
        """Everything whose crowd is complete."""
        self.store.fold()
        return self.store.tallies()

    def close(self) -> None:
        """Release the database."""
        self.store.disconnect()
