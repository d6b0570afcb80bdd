"""Reports as a ledger writes them: around an answer drawn now or before, or the one made before addressed anew.

Rules
1. The first draw is written in the transaction of its report, and before anything of it is returned.
2. A report that waits again has a fresh schedule; what was counted of an earlier one that it replaces stays counted.
3. Where there is an issuer the token is made here, around the drawn answer, so that it is good for this report alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

from rrcollect.answer.ledger.content import Change
from rrcollect.answer.ledger.file import ForeignError
from rrcollect.answer.ledger.rules import EarlierReport, LedgerRequest
from rrcollect.answer.ledger.tokens import check_token
from rrcollect.publish.document import CARRIED
from rrcollect.publish.report import Report
from rrcollect.publish.tokens import with_token


def made_report(
    change: Change, request: LedgerRequest, known: tuple[str, str] | None, draw: Callable[[], str]
) -> Report:
    """A new report, around an answer drawn before or now."""
    attribute, answer = known or (request.attribute, _first_draw(change, request, draw))
    made = _tokened(change, request, request.report.with_answer(answer))
    row = {"survey": made.survey, "question": made.question, "round": made.round, "attribute": attribute}
    row |= {"words": request.words, "id": made.id, "body": made.to_bytes(), "publisher": request.publisher}
    row |= {"destination": request.destination, "times": json.dumps(request.times), "state": _begin(request)}
    row |= {"place": request.place, "sending": request.window}
    change.insert("reports", row)
    return made


def made_again(change: Change, request: LedgerRequest, done: EarlierReport) -> Report:
    """The report made before, or the one that replaces it; what was cancelled waits again, with a fresh schedule."""
    anew = done.addressed(request)
    made = done.report if anew is None else _tokened(change, request, anew)
    if made.id != done.report.id or done.state == "cancelled":
        change.update(
            "reports",
            "id = ?, body = ?, state = ?, reason = NULL, times = ?, "
            "earlier_attempts = CASE WHEN id = ? THEN earlier_attempts ELSE attempts END",
            (made.id, made.to_bytes(), _begin(request), json.dumps(request.times), made.id),
            *("id = ?", (done.report.id,)),
        )
    return made


def _tokened(change: Change, request: LedgerRequest, report: Report) -> Report:
    """The report with the token of its place, if there is an issuer."""
    if request.place is None:
        return report
    return with_token(report, *check_token(change.connection, report.survey, request.place))


def _begin(request: LedgerRequest) -> str:
    """The state in which a report begins."""
    return CARRIED if request.destination == CARRIED else "waiting"


def _first_draw(change: Change, request: LedgerRequest, draw: Callable[[], str]) -> str:
    try:
        answer = draw()
    except (sqlite3.DatabaseError, OSError, UnicodeDecodeError) as error:
        # raised by the caller's `draw`, not by the ledger: `LedgerFile.open` raises it again as it was
        raise ForeignError(error) from None
    report, cost = request.report, request.cost
    (seq,) = change.connection.execute("SELECT coalesce(max(seq), 0) + 1 FROM draws").fetchone()
    row = {"seq": seq, "attribute": request.attribute, "round": report.round, "design": report.design.text}
    row |= {"answer": answer, "epsilon": str(cost.epsilon), "delta": str(cost.delta), "kind": request.kind}
    change.insert("draws", row)
    return answer
