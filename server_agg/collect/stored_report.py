"""What is kept of a report: its own row.  No address, no agent, no time.

Rules
1. One row per report, the columns of `rrcollect.publish.report.ReportRow` in every store and in every export.
2. The ticket is not kept.  `ticket` holds SHA-256("id:ticket"), which lets a repeated report be recognised, and tells
   two reports of one ticket from each other without joining them.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from rrcollect.publish.report import ReportRow

__all__ = ["IncomingReport", "incoming", "ticket_hash", "ticket_trace"]


class IncomingReport(NamedTuple):
    """A row on its way into a store; `ticket` is the hash of the ticket it spends, if its survey is by invitation."""

    row: ReportRow
    ticket: str | None = None

    @property
    def id(self) -> str:
        """The report's random id."""
        return self.row.id or ""


def ticket_hash(ticket: str) -> str:
    """The hash under which a ticket is known; the ticket itself is never stored.

    >>> ticket_hash("abc")[:16]
    'ba7816bf8f01cfea'
    """
    return hashlib.sha256(ticket.encode("utf-8", "surrogatepass")).hexdigest()


def ticket_trace(report_id: str, ticket: str) -> str:
    """What a row keeps of a ticket: a hash that no two reports share."""
    return ticket_hash(f"{report_id}:{ticket}")


def incoming(row: ReportRow) -> IncomingReport:
    """A row that was admitted, as it goes into a store."""
    if row.ticket is None:
        return IncomingReport(row)
    return IncomingReport(row._replace(ticket=ticket_trace(row.id or "", row.ticket)), ticket_hash(row.ticket))
