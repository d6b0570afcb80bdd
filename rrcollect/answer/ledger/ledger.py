"""The ledger: one draw per attribute and round, for life.

Rules
1. One durable transaction (SQLite, WAL, synchronous=FULL) makes the decision and stores the drawn answer, the report's
   bytes and the cost.  Nothing is returned before it is committed and recorded in the rollback guard, the file by which
   an old copy of the ledger is noticed.
2. An attribute is drawn once per round.  Asked again, the ledger gives (see `rules`)
   - for the same question: the same report, or the one that replaces it (with another ticket or other segments);
   - for another question with the same design and the same possible truths: a new report with the same answer, if a
     report has few values, and a refusal otherwise;
   - for another design, for other possible truths, or for words that were answered under another attribute: a refusal.
3. The ledger never holds a truth: the caller's `draw` returns the randomised answer alone.
4. Budgets are sums over all draws ever made; no draw is deleted and no clock is read.
5. A report is waiting, delivered, refused, cancelled (the person declined, or answering was interrupted), withdrawn
   with its survey, or carried by the app.  Only waiting reports are sent.  A cancelled report begins again, as waiting
   or carried, when its question is answered again.
6. A ledger that cannot be trusted or used (damaged, restored from an old copy, read-only, locked, full) raises a
   `LedgerError`, and no draw is made; see `file`.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace

from rrcollect.answer.acceptance import SeenVersion, check_version
from rrcollect.answer.asking import QuestionDraw, asked_question, panel_round
from rrcollect.answer.attributes import Attribute
from rrcollect.answer.ledger.content import DRAWS, Change
from rrcollect.answer.ledger.file import ForeignError, LedgerFile
from rrcollect.answer.ledger.names import all_names, remember_names
from rrcollect.answer.ledger.rules import (
    EarlierReport,
    LedgerRequest,
    check_withdrawn,
    cost_of,
    earlier_answer,
    earlier_report,
)
from rrcollect.answer.policy import Policy
from rrcollect.deliver.outbox import OutboxReport
from rrcollect.design import from_text
from rrcollect.design.mechanism import Mechanism
from rrcollect.design.promise import Promise
from rrcollect.design.sentences import Said
from rrcollect.publish.document import CARRIED
from rrcollect.publish.envelope import Withdrawal
from rrcollect.publish.log import Checkpoint
from rrcollect.publish.question import Question
from rrcollect.publish.report import Report
from rrcollect.publish.survey import Survey

Decided = tuple[EarlierReport | None, tuple[str, str] | None]
"""What a request leads to: (the report made before, None), (None, (name, answer) drawn before), or (None, None): a
first draw may be made."""


LEFT = "state IN ('delivered', 'carried') OR attempts > 0"  # SQL: the report has left the device, or may have


@dataclass(frozen=True)
class DeclineResult:
    """The result of declining: how many reports were stopped, and how many had left the device before, or may have."""

    stopped: int
    left: int


@dataclass(frozen=True)
class Draw:
    """A draw as the ledger keeps it.  `answer` is what was sent, not what is true."""

    seq: int
    attribute: str
    round: int
    design: Mechanism
    answer: str
    cost: Promise
    kind: str = "yes_no"

    @property
    def told(self) -> tuple[Said, Said]:
        """What was sent, and what it can tell about the person; `kind` begins with the name of the question's kind."""
        return self.design.told(self.answer, self.kind.partition(" ")[0])

    def __repr__(self) -> str:
        return f"Draw({self.seq}, {self.attribute!r}, round {self.round})"


class Ledger:
    """The ledger at `path`; created if the file does not exist."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = LedgerFile(path)
        with self.file.reading():
            pass  # opening the file verifies it

    # ---- asking and answering ---------------------------------------------------------------------------------

    def answer(self, request: LedgerRequest, policy: Policy, draw: Callable[[], str]) -> Report:
        """The report for this question: the one made before, a new one with the answer drawn before, or a new one with
        a first draw.

        `draw` is called at most once, inside the transaction, after every check has passed, and only if the attribute
        was never drawn in this round.  If it raises, nothing is stored, and the caller gets its error unchanged."""
        with self.file.transaction() as change:
            names = all_names(change.connection, request.names)
            request = replace(request, aliases=names[1:]) if names != request.names else request
            done, known = self._decide(change.connection, request, policy)
            made = _made(change, request, known, draw) if done is None else _again(change, request, done)
            change.delete("declined", "survey = ? AND question = ?", (made.survey, made.question))
            remember_names(change, request.names, request.fingerprints)
        return made

    def _decide(self, connection: sqlite3.Connection, request: LedgerRequest, policy: Policy) -> Decided:
        done = earlier_report(connection, request)
        return done, earlier_answer(connection, request, policy) if done is None else None

    # ---- the rest of its memory -------------------------------------------------------------------------------

    def draws(self) -> list[Draw]:
        """Every draw ever made, in order."""
        with self.file.reading() as connection:
            rows = connection.execute(DRAWS).fetchall()
        return [
            Draw(seq, attribute, number, from_text(design), answer, cost_of(epsilon, delta), kind)
            for seq, attribute, number, design, answer, epsilon, delta, kind in rows
        ]

    def kept_open(self) -> AbstractContextManager[None]:
        """For one pass of deliveries: the file is opened once, and read again only if others have written to it."""
        return self.file.kept_open()

    def outbox(self, state: str | None = None) -> list[OutboxReport]:
        """All reports, or those in one state.  Before they are returned the rollback guard is brought up to date."""
        with self.file.transaction() as change:
            rows = change.connection.execute(
                "SELECT id, survey, question, round, attribute, words, body, state, reason, destination, times, "
                "attempts FROM reports WHERE ? IN (state, '') ORDER BY id",
                (state or "",),
            ).fetchall()
        return [OutboxReport(*[*told, tuple(json.loads(times)), attempts]) for *told, times, attempts in rows]

    def mark(self, report_id: str, state: str, reason: str | None = None) -> None:
        """Remember what became of a report."""
        with self.file.transaction() as change:
            change.update("reports", "state = ?, reason = ?", (state, reason), "id = ?", (report_id,))

    def attempt(self, report_id: str) -> bool:
        """Record that a report is about to be sent.

        True: the report may be sent, and from now on counts as one that may have left the device.  False: it does not
        wait any more, nothing was changed, and it must not be sent."""
        with self.file.transaction() as change:
            waits = "id = ? AND state = 'waiting'"
            return change.update("reports", "attempts = attempts + 1", (), waits, (report_id,)) == 1

    def reschedule(self, report_id: str, times: Sequence[float]) -> None:
        """Replace the moments at which a report is to be sent, in seconds since 1970."""
        with self.file.transaction() as change:
            change.update("reports", "times = ?", (json.dumps(list(times)),), "id = ?", (report_id,))

    def seen(self) -> dict[tuple[str, str], SeenVersion]:
        """The newest version accepted of each survey."""
        with self.file.reading() as connection:
            rows = connection.execute("SELECT publisher, name, version, digest FROM surveys").fetchall()
        return {(publisher, name): SeenVersion(version, digest) for publisher, name, version, digest in rows}

    def log_state(self, name: str) -> Checkpoint | None:
        """The largest state that this device accepted of the log of this name."""
        with self.file.reading() as connection:
            row = connection.execute("SELECT name, size, root FROM logs WHERE name = ?", (name,)).fetchone()
        return None if row is None else Checkpoint(*row)

    def remember_log(self, state: Checkpoint, checked: Checkpoint | None) -> bool:
        """Remember a state that goes on from the one `checked`, or that the latter goes on from; False, and nothing is
        written, if another was remembered meanwhile."""
        with self.file.transaction() as change:
            row = change.connection.execute(
                "SELECT name, size, root FROM logs WHERE name = ?", (state.origin,)
            ).fetchone()
            if (None if row is None else Checkpoint(*row)) != checked:
                return False
            if row is None:
                change.insert("logs", {"name": state.origin, "size": state.size, "root": state.root})
            elif state.size > row[1]:
                change.update("logs", "size = ?, root = ?", (state.size, state.root), "name = ?", (state.origin,))
            return True

    def remember(self, asking: QuestionDraw, seen: SeenVersion) -> None:
        """Remember a version, so that a lower one is refused from now on, and draw which question and which rounds of
        panels the device answers (see `asking`).  All of it is checked and written in one transaction."""
        publisher, name = place = asking.survey.publisher, asking.survey.name
        with self.file.transaction() as change:
            row = change.connection.execute(
                "SELECT version, digest FROM surveys WHERE publisher = ? AND name = ?", (publisher, name)
            ).fetchone()
            check_withdrawn(change.connection, seen.digest, publisher)
            check_version(name, seen, SeenVersion(*row) if row else None)
            newest = (seen.version, seen.digest)
            if not change.update("surveys", "version = ?, digest = ?", newest, "publisher = ? AND name = ?", place):
                change.insert("surveys", {"publisher": publisher, "name": name, **asdict(seen)})
            asking.draw(change)

    def asked(self, survey: Survey) -> Question | None:
        """The question that was drawn for a survey that asks one."""
        with self.file.reading() as connection:
            return asked_question(connection, survey)

    def panel_round(self, attribute: Attribute) -> int | None:
        """The round that was drawn for a panel about an attribute."""
        with self.file.reading() as connection:
            return panel_round(connection, attribute)

    def cancel(self, report: Report, *, all_of_it: bool) -> None:
        """Cancel the report with this id; with `all_of_it` also a report that waits for the same question and round."""
        place = (report.survey, report.question, report.round)
        with self.file.transaction() as change:
            change.update(
                *("reports", "state = 'cancelled'", ()),
                "survey = ? AND question = ? AND round = ? "
                "AND ((id = ? AND state IN ('waiting', 'carried')) OR (? AND state = 'waiting'))",
                (*place, report.id, all_of_it),
            )

    def withdraw(self, withdrawal: Withdrawal) -> None:
        """Remember for ever that a survey is withdrawn, and stop its waiting reports."""
        survey, moment = (withdrawal.survey, withdrawal.publisher), f"{withdrawal.moment:%FT%TZ}"
        with self.file.transaction() as change:
            row = {"survey": withdrawal.survey, "publisher": withdrawal.publisher, "moment": moment}
            change.insert("withdrawn", row, unless_there=True)
            waits = "survey = ? AND publisher = ? AND state = 'waiting'"
            change.update("reports", "state = 'withdrawn'", (), waits, survey)

    def decline(self, survey: str, question: str) -> DeclineResult:
        """Remember, on this device only, that the person does not want to answer, and stop the reports that wait."""
        place = (survey, question)
        with self.file.transaction() as change:
            change.insert("declined", {"survey": survey, "question": question}, unless_there=True)
            stopped, left = change.connection.execute(
                f"SELECT count(*) FILTER (WHERE state = 'waiting' AND NOT ({LEFT})), "  # noqa: S608
                f"count(*) FILTER (WHERE {LEFT}) FROM reports "
                "WHERE survey = ? AND question = ?",
                place,
            ).fetchone()
            waits = "survey = ? AND question = ? AND state = 'waiting'"
            change.update("reports", "state = 'cancelled'", (), waits, place)
        return DeclineResult(stopped, left)

    def declined(self, survey: str) -> set[str]:
        """The questions of a survey the person declined."""
        with self.file.reading() as connection:
            rows = connection.execute("SELECT question FROM declined WHERE survey = ?", (survey,)).fetchall()
        return {question for (question,) in rows}


def _made(change: Change, request: LedgerRequest, known: tuple[str, str] | None, draw: Callable[[], str]) -> Report:
    """A new report, around an answer drawn before or now."""
    attribute, answer = known or (request.attribute, _first_draw(change, request, draw))
    made = request.report.with_answer(answer)
    row = {"survey": made.survey, "question": made.question, "round": made.round, "attribute": attribute}
    row |= {"words": request.words, "id": made.id, "body": made.to_bytes(), "publisher": request.publisher}
    row |= {"destination": request.destination, "times": json.dumps(request.times), "state": _begin(request)}
    change.insert("reports", row)
    return made


def _again(change: Change, request: LedgerRequest, done: EarlierReport) -> Report:
    """The report made before, or the one that replaces it; what was cancelled waits again, with a fresh schedule."""
    made = done.addressed(request) or done.report
    if made.id != done.report.id or done.state == "cancelled":
        change.update(
            "reports",
            "id = ?, body = ?, state = ?, reason = NULL, times = ?, "
            "earlier_attempts = CASE WHEN id = ? THEN earlier_attempts ELSE attempts END",
            (made.id, made.to_bytes(), _begin(request), json.dumps(request.times), made.id),
            *("id = ?", (done.report.id,)),
        )
    return made


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
