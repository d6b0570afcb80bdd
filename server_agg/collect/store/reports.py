"""What is kept of a report, and the form in which it waits.

Rules
1. The reports of one transaction wait as one sealed content (`keys`), by crowds; nothing of it is in the clear.
2. A report that was folded is a count.  If the owner keeps rows, it is also a row of
   `rrcollect.publish.report.ReportRow`: no address, no time, no ticket.
3. A row of a survey by invitation is marked as admitted by a collector: for its ticket stands its own id.  No two rows
   share it, it says nothing about the ticket that was spent, and whoever counts rows again sees that there was one.
4. Of a ticket nothing is known but its hash, bound to question and round (`rrcollect.publish.tickets.known_as`); of a
   token the same of its nonce, bound to its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from rrcollect.publish.canonical import canonical
from rrcollect.publish.report import NONCE_DIGITS, ReportRow
from rrcollect.publish.survey import Survey
from rrcollect.publish.tickets import known_as
from server_agg.collect.store.keys import STEP

_ID, _TICKET = 16, 32  # bytes


class Spending(NamedTuple):
    """What is good once: a ticket of a survey, or the nonce of a token."""

    survey: str
    ticket: str  # a hash, bound to question and round, or to the place of a token

    def plain(self) -> bytes:
        """One text for one value."""
        return f"{self.survey}{self.ticket}".encode()


SPENDING = ", ".join(Spending._fields)  # columns


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
        return None if self.ticket is None else Spending(self.row.survey or "", self.ticket)


def incoming(row: ReportRow, place: str | None = None) -> IncomingReport:
    """A row that was admitted, as it goes into a store; `place` is where its token is good, if it has one."""
    if row.ticket is None:
        return IncomingReport(row)
    if place is None:
        spent = known_as(row.ticket, row.question or "", row.round or 0)
    else:
        spent = known_as(row.ticket[:NONCE_DIGITS], place, 0)
    return IncomingReport(row._replace(ticket=row.id), spent)


class Cell(NamedTuple):
    """What the answers of one count have in common, and the answer itself; "" where it is not part of it.  The segments
    and the design are their canonical texts."""

    survey: str
    question: str
    round: int
    design: str
    segments: str
    answer: str = ""


class CellCount(NamedTuple):
    """How many reports a cell has, and how many of them were released."""

    n: int
    published: int = 0


class Crowd(NamedTuple):
    """Waiting reports that have all but answer, id and ticket in common."""

    cell: Cell
    answers: list[str]
    ids: list[str]
    tickets: list[str]  # hashes; none in an open survey

    def spendings(self) -> list[Spending]:
        """What the tickets are spent on."""
        return [Spending(self.cell.survey, ticket) for ticket in self.tickets]

    def rows(self) -> list[ReportRow]:
        """The reports as they are kept."""
        (survey, question, round_, design, segments, _), answers, ids, tickets = self
        return [
            ReportRow(survey, question, round_, design, answer, id_, id_ if tickets else None, segments)
            for answer, id_ in zip(answers, ids, strict=True)
        ]

    def reports(self) -> list[IncomingReport]:
        """The reports again."""
        rows = self.rows()
        return list(map(IncomingReport, rows, self.tickets)) if self.tickets else list(map(IncomingReport, rows))


def crowds_of(reports: Iterable[IncomingReport]) -> list[Crowd]:
    """Reports by what they have in common; the lengths of answers, and having a ticket, are part of it."""
    found: dict[tuple[object, ...], Crowd] = {}
    for (survey, question, round_, design, answer, id_, _, segments), ticket in reports:
        kind = survey, question, round_, design, segments, len(answer or ""), ticket is None
        crowd = found.get(kind)
        if crowd is None:
            cell = Cell(survey or "", question or "", round_ or 0, design or "", segments or "")
            crowd = found[kind] = Crowd(cell, [], [], [])
        crowd.answers.append(answer or "")
        crowd.ids.append(id_ or "")
        if ticket is not None:
            crowd.tickets.append(ticket)
    return list(found.values())


def packed(reports: Iterable[IncomingReport]) -> bytes:
    """Reports as bytes: a line that names their crowds, then ids, tickets and answers of each crowd.

    >>> row = ReportRow("ab" * 32, "q1", 3, '{"p00":"3/4","p11":"3/4"}', "1", "0f" * 16, None, "{}")
    >>> made = [IncomingReport(row), IncomingReport(row._replace(id="1f" * 16, answer="0"))]
    >>> [crowd.answers for crowd in unpacked(packed(made))], unpacked(packed(made))[0].reports() == made
    ([['1', '0']], True)
    """
    crowds = crowds_of(reports)
    names = [[*crowd.cell[:5], len(crowd.ids), len(crowd.answers[0]), len(crowd.tickets)] for crowd in crowds]
    pieces = [json.dumps(names, ensure_ascii=False, separators=(",", ":")).encode(), b"\n"]
    for crowd in crowds:
        pieces.append(bytes.fromhex("".join((*crowd.ids, *crowd.tickets))))
        pieces.append("".join(crowd.answers).encode())
    return b"".join(pieces)


def _written(value: str) -> int:
    """How many bytes a segment's value has in what is packed: JSON within JSON."""
    return len(json.dumps(canonical(value).decode(), ensure_ascii=False).encode())


def longest_report(survey: Survey) -> int:
    """How many bytes a report to this survey has at most, packed alone; a whole number of steps."""
    declared = {name: max(of.names, key=_written) for name, of in survey.segments.items()}
    segments, sizes = canonical(declared).decode(), []
    for question in survey.questions:
        fields = survey.digest, question.id, question.rounds - 1, question.design.text, question.design.blank
        row = ReportRow(*fields, "0" * 2 * _ID, None, segments)
        sizes.append(len(packed([IncomingReport(row, "0" * 2 * _TICKET if survey.invite_only else None)])) + 1)
    return -(-max(sizes) // STEP) * STEP


def unpacked(content: bytes) -> list[Crowd]:
    """The crowds again."""
    names, _, rest = content.partition(b"\n")
    found, start = [], 0
    for *cell, n, width, tickets in json.loads(names):
        middle = start + n * _ID
        end = middle + tickets * _TICKET
        ids, spent = _pieces(rest[start:middle].hex(), 2 * _ID), _pieces(rest[middle:end].hex(), 2 * _TICKET)
        start = end + n * width
        answers = _pieces(rest[end:start].decode(), width)
        found.append(Crowd(Cell(*cell), answers, ids, spent))
    return found


def _pieces(text: str, width: int) -> list[str]:
    return [text[start : start + width] for start in range(0, len(text), width)]
