"""Counters and histograms for operators, by prometheus-client.  They count requests and reports, not people.

Rules
1. Counts of answers by question are results: they are not here.  What is here still moves with every report, so it is
   for the owner's token or a port of its own.
2. No series tells when it was made: that would be the time of the first report with that outcome.
3. With several processes (`PROMETHEUS_MULTIPROC_DIR`) any of them shows the sum over all.
"""

from __future__ import annotations

import os
import platform

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from rrcollect import __version__

SHARED = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
REPORTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def shown(registry: CollectorRegistry) -> CollectorRegistry:
    """The registry to show: this process's, or the sum over those that share a folder."""
    if SHARED not in os.environ:
        return registry
    whole = CollectorRegistry()
    MultiProcessCollector(whole)  # type: ignore[no-untyped-call]
    return whole


class Metrics:
    """What happened since the start.

    >>> metrics = Metrics()
    >>> metrics.answered(201, 0.004)
    >>> b'rrcollect_report_requests_total{status="201"} 1.0' in metrics.text()
    True
    """

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = at = CollectorRegistry()
        self._children: dict[tuple[Counter, str | int], Counter] = {}
        self._requests = Counter("rrcollect_report_requests", "Requests with reports.", ["status"], registry=at)
        self._outcomes = Counter("rrcollect_reports", "Reports judged by the store.", ["outcome"], registry=at)
        self._refusals = Counter("rrcollect_refusals", "Requests and reports refused.", ["reason"], registry=at)
        self._commits = Counter("rrcollect_commits", "Durable transactions.", registry=at)
        self._request = Histogram(
            "rrcollect_request_seconds", "Time of a request with reports.", buckets=SECONDS, registry=at
        )
        self._commit = Histogram("rrcollect_commit_seconds", "Time of a transaction.", buckets=SECONDS, registry=at)
        self._group = Histogram("rrcollect_commit_reports", "Reports in a transaction.", buckets=REPORTS, registry=at)
        self._waiting = Gauge(
            "rrcollect_waiting_reports", "Reports that wait for the disk.", registry=at, multiprocess_mode="livesum"
        )
        self._unfolded = Gauge(
            "rrcollect_unfolded_reports",
            "Reports on disk that wait to be folded.",
            registry=at,
            multiprocess_mode="livemax",
        )
        self._failed_folds = Counter("rrcollect_failed_folds", "Folds that failed and are tried again.", registry=at)
        build = Gauge("rrcollect_build_info", "1.", ["version", "python"], registry=at, multiprocess_mode="max")
        build.labels(__version__, platform.python_version()).set(1)

    def _child(self, counter: Counter, label: str | int) -> Counter:
        """The series of a label; remembered, since prometheus-client's own look-up takes longer than counting."""
        found = self._children.get((counter, label))
        if found is None:
            found = self._children[counter, label] = counter.labels(label)
        return found

    def answered(self, status: int, seconds: float) -> None:
        """A request with reports was answered."""
        self._child(self._requests, status).inc()
        self._request.observe(seconds)

    def judged(self, outcome: str, reports: int = 1) -> None:
        """The store judged so many reports."""
        self._child(self._outcomes, outcome).inc(reports)

    def refused(self, reason: str) -> None:
        """A request or a report was refused."""
        self._child(self._refusals, reason).inc()

    def committed(self, reports: int, seconds: float) -> None:
        """A transaction of so many reports is on disk."""
        self._commits.inc()
        self._commit.observe(seconds)
        self._group.observe(reports)

    def waiting(self, reports: int) -> None:
        """So many reports wait."""
        self._waiting.set(reports)

    def folded(self, waiting: int, *, failed: bool) -> None:
        """A fold left so many reports waiting, or failed."""
        self._unfolded.set(waiting)
        if failed:
            self._failed_folds.inc()

    def text(self) -> bytes:
        """The page at /metrics."""
        return generate_latest(shown(self.registry))
