"""Counters for operators, in Prometheus' text form.  They count requests and reports, not people.

Counts of answers by question are results, and results need the owner's token: they are not here.
"""

from __future__ import annotations

from collections import Counter

from server_agg.collect.group_commit import GroupCommit

__all__ = ["Metrics"]


class Metrics:
    """What happened since the start."""

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()  # POST /reports by status
        self.outcomes: Counter[str] = Counter()

    def text(self, writer: GroupCommit) -> str:
        """The page at /metrics."""
        lines = ["# HELP rrcollect_report_requests_total Requests with reports, by status.",
                 "# TYPE rrcollect_report_requests_total counter"]  # fmt: skip
        lines += [f'rrcollect_report_requests_total{{status="{s}"}} {n}' for s, n in sorted(self.requests.items())]
        lines += ["# HELP rrcollect_reports_total Reports judged by the store, by outcome.",
                  "# TYPE rrcollect_reports_total counter"]  # fmt: skip
        lines += [f'rrcollect_reports_total{{outcome="{o}"}} {n}' for o, n in sorted(self.outcomes.items())]
        lines += ["# HELP rrcollect_commits_total Durable transactions.", "# TYPE rrcollect_commits_total counter",
                  f"rrcollect_commits_total {writer.commits}",
                  "# HELP rrcollect_waiting_reports Reports that wait for the disk.",
                  "# TYPE rrcollect_waiting_reports gauge", f"rrcollect_waiting_reports {writer.waiting}"]  # fmt: skip
        return "\n".join(lines) + "\n"
