"""What is kept of a report, and the form in which it waits.

Rules
1. A report that waits is one sealed content (`epoch_key`) of fixed layout; nothing of it is in the clear.
2. A report that was folded is a count.  If the owner keeps rows, it is also a row of
   `rrcollect.publish.report.ReportRow`: no address, no time, no ticket.
3. A row of a survey by invitation is marked as admitted by a collector: for its ticket stands its own id.  No two rows
   share it, it says nothing about the ticket that was spent, and whoever counts rows again sees that there was one.
4. Of a ticket nothing is known but its hash, bound to question and round (`rrcollect.publish.tickets.known_as`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from rrcollect.publish.report import ReportRow
from rrcollect.publish.tickets import known_as

__all__ = ["IncomingReport", "Spending", "incoming", "packed", "unpacked"]

_SEPARATOR = "\x1f"  # escaped in canonical JSON, and not in a name


class Spending(NamedTuple):
    """What a ticket is spent on: it is good once for this."""

    survey: str
    ticket: str  # a hash
    question: str
    round: int

    def plain(self) -> bytes:
        """One text for one value."""
        return _SEPARATOR.join((self.survey, self.ticket, self.question, str(self.round))).encode()


class IncomingReport(NamedTuple):
    """A row as it is kept; `ticket` is the hash of the ticket it spends, if its survey is by invitation."""

    row: ReportRow
    ticket: str | None = None

    @property
    def id(self) -> str:
        """The report's random id."""
        return self.row.id or ""

    @property
    def spending(self) -> Spending | None:
        """What its ticket is spent on."""
        row = self.row
        return (
            None if self.ticket is None else Spending(row.survey or "", self.ticket, row.question or "", row.round or 0)
        )


def incoming(row: ReportRow) -> IncomingReport:
    """A row that was admitted, as it goes into a store."""
    if row.ticket is None:
        return IncomingReport(row)
    spent = known_as(row.ticket, row.question or "", row.round or 0)
    return IncomingReport(row._replace(ticket=row.id), spent)


def packed(report: IncomingReport) -> bytes:
    """A report as bytes, without what follows from the rest.

    >>> row = ReportRow("ab" * 32, "q1", 3, '{"p00":"3/4","p11":"3/4"}', "1", "0f" * 16, None, "{}")
    >>> unpacked(packed(IncomingReport(row))) == IncomingReport(row)
    True
    """
    survey, question, round_, design, answer, id_, _, segments = report.row
    texts = _SEPARATOR.join((question or "", str(round_), design or "", answer or "", segments or ""))
    ticket = b"\0" if report.ticket is None else b"\1" + bytes.fromhex(report.ticket)
    return bytes.fromhex(f"{survey}{id_}") + ticket + texts.encode()


def unpacked(content: bytes) -> IncomingReport:
    """The report again."""
    survey, id_, rest = content[:32].hex(), content[32:48].hex(), content[49:]
    ticket = None
    if content[48]:
        ticket, rest = rest[:32].hex(), rest[32:]
    question, round_, design, answer, segments = _texts(rest)
    admitted = None if ticket is None else id_
    row = ReportRow._make((survey, question, round_, design, answer, id_, admitted, segments))
    return IncomingReport(row, ticket)


@lru_cache(maxsize=16_384)
def _texts(data: bytes) -> tuple[str, int, str, str, str]:
    """What many reports have in common."""
    question, round_, design, answer, segments = data.decode().split(_SEPARATOR)
    return question, int(round_), design, answer, segments
