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
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace

from rrcollect.answer.acceptance import SeenVersion, check_version
from rrcollect.answer.asking import QuestionDraw, asked_question, panel_round
from rrcollect.answer.attributes import Attribute
from rrcollect.answer.ledger.content import DRAWS
from rrcollect.answer.ledger.file import LedgerFile
from rrcollect.answer.ledger.making import made_again, made_report
from rrcollect.answer.ledger.names import all_names, remember_names
from rrcollect.answer.ledger.rules import (
    EarlierReport,
    LedgerRequest,
    check_withdrawn,
    cost_of,
    earlier_answer,
    earlier_report,
)
from rrcollect.answer.ledger.tokens import (
    begun,
    check_token,
    erase,
    erase_over,
    keep_outputs,
    remember_keys,
)
from rrcollect.answer.policy import Policy
from rrcollect.deliver.outbox import OutboxReport
from rrcollect.design import from_text
from rrcollect.design.mechanism import Mechanism
from rrcollect.design.promise import Promise
from rrcollect.design.sentences import Said
from rrcollect.publish.envelope import Withdrawal
from rrcollect.publish.issuer import Issuer
from rrcollect.publish.log import Checkpoint
from rrcollect.publish.question import Question
from rrcollect.publish.report import Report
from rrcollect.publish.survey import Survey
from rrcollect.publish.tokens import Blinded

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
        with self.file.reading() as connection:  # opening the file verifies it
            self._over: int | None  # when the first survey with tokens is over
            (self._over,) = connection.execute("SELECT min(over) FROM tokens WHERE nonce IS NOT NULL").fetchone()

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
            if done is None and request.place is not None:
                check_token(change.connection, request.report.survey, request.place)
            made = made_report(change, request, known, draw) if done is None else made_again(change, request, done)
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
                "attempts, sending FROM reports WHERE ? IN (state, '') ORDER BY id",
                (state or "",),
            ).fetchall()
        return [OutboxReport(*[*told, tuple(json.loads(times)), n, window]) for *told, times, n, window in rows]

    def mark(self, report_id: str, state: str, reason: str | None = None) -> None:
        """Remember what became of a report."""
        with self.file.transaction() as change:
            change.update("reports", "state = ?, reason = ?", (state, reason), "id = ?", (report_id,))
            if state == "delivered":
                erase(change, "id = ?", (report_id,))

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
            if asking.survey.issuer is not None:
                remember_keys(change, seen.digest, asking.survey.issuer)
            asking.draw(change)

    # ---- tokens -----------------------------------------------------------------------------------------------

    def begin_tokens(self, survey: str, issuer: Issuer, over: int) -> dict[str, Blinded]:
        """What is asked for, durable when this returns; nothing if it is here already (`tokens`)."""
        with self.file.transaction() as change:
            self._over = over if self._over is None else min(self._over, over)
            return begun(change, survey, issuer, over)

    def keep_outputs(self, survey: str, outputs: Mapping[str, bytes]) -> None:
        """Keep the outputs of all places, and erase their blinds."""
        with self.file.transaction() as change:
            keep_outputs(change, survey, outputs)

    def forget_over(self, now: float) -> None:
        """Erase what is left of surveys that are over."""
        if self._over is not None and self._over < now:
            with self.file.transaction() as change:
                erase_over(change, now)

    # ---- one question, one round, and what is not sent ---------------------------------------------------------

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
