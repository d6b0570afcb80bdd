"""Taking reports into a database: what became of each.

Rules
1. `take` is one durable transaction: when it returns, every NEW report is on disk; when it raises, none is counted.
2. An id is stored once.  The same report again is SAME; the same id with other content is CONFLICTING_ID and changes
   nothing.  Of an id that was folded without its row only the id is left: whatever comes under it is SAME, and is
   not counted.  Of reports in one batch that share an id or a ticket the first comes first.
3. A ticket is spent once per question and round, a token once in its place.  Only hashes are stored, and nothing joins
   a spent ticket with its report: both wait in one sealed content, and a fold writes the tickets of a whole crowd,
   sorted (`fold`).
4. Takes see one epoch: a fold excludes them, in every process that works on the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from rrcollect.publish.report import ReportRow
from server_agg.collect.store.database import COLUMNS, Database, Marked
from server_agg.collect.store.epochs import GATHERED, Epoch, Epochs, marked_reports
from server_agg.collect.store.reports import SPENDING, IncomingReport, Spending, packed, unpacked


class ReportOutcome(Enum):
    """What became of one report: taken, or refused for a reason of the rules."""

    NEW = "new"
    SAME = "same"
    CONFLICTING_ID = "conflicting_id"
    UNKNOWN_TICKET = "unknown_ticket"
    TICKET_REUSED = "ticket_reused"
    CLOSED = "closed"


def take(epochs: Epochs, reports: Sequence[IncomingReport]) -> list[ReportOutcome]:
    """What became of each report, after one durable commit of all of them."""
    if not reports:
        return []
    outcomes = [ReportOutcome.CLOSED] * len(reports)
    with epochs.database.writing() as cursor:
        epoch = epochs.current(cursor)
        marked = dict(enumerate(marked_reports(epoch.key, reports)))
        if closed := epochs.closed(cursor, epoch):
            marked = {at: one for at, one in marked.items() if one[2].row.survey not in closed}
        while marked:  # marks in one statement, contents in another, and the rest looked up in one go
            first = _firsts(marked)
            place, put = epochs.database.put(cursor, list(first.values()))
            new = [report for mark, _, report in first.values() if mark in put]
            if new:
                content = place, epoch.key.sealed(packed(new), epochs.size(cursor, new))
                epochs.database.run(cursor, "INSERT INTO intake (place, content) VALUES (?, ?)", content)
            for at, (mark, _, _) in first.items():
                if mark in put:
                    outcomes[at] = ReportOutcome.NEW
                    del marked[at]
            for at, outcome in _explained(epochs, cursor, epoch, marked).items() if marked else ():
                outcomes[at] = outcome
                del marked[at]  # of what is left, that which stood in its way is not there
    return outcomes


def _explained(epochs: Epochs, cursor: Any, epoch: Epoch, rest: dict[int, Marked]) -> dict[int, ReportOutcome]:
    """Why these were not put."""
    database = epochs.database
    marks = sorted({mark for mark, _, _ in rest.values()})
    places = sorted({place for (place,) in database.select_in(cursor, "place", "marks", "mark", marks)})
    contents = database.select_in(cursor, "content", "intake", "place", places)
    crowds = [crowd for (one,) in contents for crowd in unpacked(epoch.key.opened(bytes(one)))]
    known: dict[str, IncomingReport | None] = {report.id: report for crowd in crowds for report in crowd.reports()}
    rows = {row.id: row for row in epochs.gathered(cursor).rows} if GATHERED in places else {}
    known |= {report.id: None for _, _, report in rest.values() if report.id in rows}
    if unknown := sorted({report.id for _, _, report in rest.values()} - known.keys()):
        folded = database.select_in(cursor, "id", "ids", "id", [bytes.fromhex(id_) for id_ in unknown])
        known |= {bytes(id_).hex(): None for (id_,) in folded}
    found: dict[int, ReportOutcome] = {}
    refused: dict[int, Marked] = {}
    folded_ids = [id_ for id_, waiting in known.items() if waiting is None]
    rows |= {row[5]: ReportRow(*row) for row in database.select_in(cursor, COLUMNS, "reports", "id", folded_ids)}
    for at, one in rest.items():
        report = one[2]
        if report.id not in known:
            refused[at] = one
            continue
        waiting, row = known[report.id], rows.get(report.id)
        same = waiting == report if waiting else row is None or row == report.row
        found[at] = ReportOutcome.SAME if same else ReportOutcome.CONFLICTING_ID
    return found | _by_tickets(database, cursor, refused)


def _by_tickets(database: Database, cursor: Any, rest: dict[int, Marked]) -> dict[int, ReportOutcome]:
    """What is wrong with the tickets of reports whose ids are new."""
    tickets = sorted({report.ticket for _, _, report in rest.values() if report.ticket is not None})
    given = {tuple(row) for row in database.select_in(cursor, "survey, ticket", "invites", "ticket", ["", *tickets])}
    used = {tuple(row) for row in database.select_in(cursor, SPENDING, "spent", "ticket", tickets)}
    marks = sorted({ticket for _, ticket, _ in rest.values() if ticket is not None})
    waiting = {bytes(row[0]) for row in database.select_in(cursor, "ticket", "marks", "ticket", marks)}
    found = {}
    for at, (_, ticket, report) in rest.items():
        spending = report.spending
        if spending is not None and not {spending, (spending.survey, "")} & given:
            found[at] = ReportOutcome.UNKNOWN_TICKET
        elif spending in used or ticket in waiting:
            found[at] = ReportOutcome.TICKET_REUSED
    return found


def already_spent(epochs: Epochs, spending: Spending) -> bool:
    """Whether this is spent, by a report that waits or was folded: asked before a token is computed again."""

    def read(cursor: Any) -> bool:
        (name,) = epochs.database.run(cursor, "SELECT key FROM epoch").fetchone()
        mark = epochs.keys.read(epochs.name, name).ticket_mark(spending.plain())
        if epochs.database.select_in(cursor, "place", "marks", "ticket", [mark]):
            return True
        used = epochs.database.select_in(cursor, SPENDING, "spent", "ticket", [spending.ticket])
        return spending in [tuple(row) for row in used]

    return epochs.consistently(read)


def _firsts(marked: dict[int, Marked]) -> dict[int, Marked]:
    """Of those that share an id or a ticket the first."""
    seen: set[bytes] = set()
    found = {}
    for at, one in marked.items():
        mark, ticket, _ = one
        if mark in seen:
            continue
        seen.add(mark)
        if ticket is not None:
            if ticket in seen:
                continue
            seen.add(ticket)
        found[at] = one
    return found
