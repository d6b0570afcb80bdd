"""What is kept of a report: its own fields and the day it came.  No address, no agent, no hour.

Rules
1. One row a report, the same column names in every store and in every export.
2. `segments` is canonical JSON, so that equal segments are equal texts; `p00` and `p11` are fractions in lowest terms.
3. The invite is not kept.  `invite` holds SHA-256("id:invite"), which lets a repeated report be recognised, and tells
   two reports of one invite from each other without joining them.
4. Two rows are the same report if all but the day is equal.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from rrcollect.publish.canonical import canonical
from rrcollect.publish.report import Report

__all__ = ["COLUMNS", "Arrival", "ReportRow", "arrival_of", "bound_invite", "ticket_of"]


class ReportRow(NamedTuple):
    """A report as every store keeps it."""

    survey: str
    question: str
    round: int
    p00: str
    p11: str
    answer: int
    id: str
    invite: str | None
    segments: str
    day: str

    def same_report(self, other: ReportRow) -> bool:
        """Whether both are one report, whatever day it came."""
        return self[:-1] == other[:-1]


COLUMNS = ReportRow._fields


class Arrival(NamedTuple):
    """A row on its way into a store; `ticket` is the hash of the invite it spends, if its survey needs one."""

    row: ReportRow
    ticket: str | None = None


def ticket_of(invite: str) -> str:
    """The hash under which an invite is known; the invite itself is never stored.

    >>> ticket_of("abc")[:16]
    'ba7816bf8f01cfea'
    """
    return hashlib.sha256(invite.encode("utf-8", "surrogatepass")).hexdigest()


def bound_invite(report_id: str, invite: str | None) -> str | None:
    """What a row keeps of an invite: a hash that no two reports share."""
    return None if invite is None else ticket_of(f"{report_id}:{invite}")


def arrival_of(report: Report, day: str, *, needs_invite: bool) -> Arrival:
    """The row of a report that was admitted on this day."""
    row = ReportRow(
        survey=report.survey,
        question=report.question,
        round=report.round,
        p00=str(report.design.p00),
        p11=str(report.design.p11),
        answer=report.answer,
        id=report.id,
        invite=bound_invite(report.id, report.invite),
        segments=canonical(dict(report.segments)).decode(),
        day=day,
    )
    return Arrival(row, ticket_of(report.invite) if needs_invite and report.invite is not None else None)
