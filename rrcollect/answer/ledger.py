"""The ledger: one attribute, one draw, for life.

Rules
1. One durable transaction (SQLite, WAL, synchronous=FULL) decides, and holds the drawn answer, the report's bytes and
   the debit.  It is committed, and the rollback guard is appended, before anything is returned.
2. An attribute (in a round) is drawn once.  Asked again the ledger gives the same report for the same question, a new
   report with the same answer for another question of the same design, and a refusal for another design.
3. The truth is not here: the caller draws, and hands over the answer alone.
4. Budgets are sums over all draws ever made; no row is deleted and no clock is read.
5. What cannot be trusted (damaged, restored from an old copy, read-only, locked, full) raises a `LedgerError`, and no
   draw is made; see `ledger_file`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.answer.acceptance import SeenVersion, check_version
from rrcollect.answer.ledger_file import DRAWS, LedgerFile, Passing, head
from rrcollect.answer.policy import Policy
from rrcollect.answer.rollback_guard import link
from rrcollect.deliver.outbox import Outgoing
from rrcollect.design.mechanism import from_text
from rrcollect.design.parameters import Epsilon
from rrcollect.design.promise import Promise, total
from rrcollect.design.yes_no import Design
from rrcollect.errors import AlreadyAnswered, BudgetExhausted
from rrcollect.publish.report import Report

__all__ = ["Draw", "Ledger", "LedgerRequest"]


@dataclass(frozen=True)
class Draw:
    """A draw as the ledger keeps it.  `answer` is what was sent, not what is true."""

    seq: int
    attribute: str
    round: int
    design: Design
    answer: str
    cost: Promise

    def __repr__(self) -> str:
        return f"Draw({self.seq}, {self.attribute!r}, round {self.round})"


@dataclass(frozen=True)
class LedgerRequest:
    """A question put to the ledger: the report that is to answer it, complete but for its answer; whose attribute it
    asks about, in which words, and what a draw costs."""

    report: Report
    attribute: str
    words: str
    cost: Promise


class Ledger:
    """The ledger at `path`; made if it is not there."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = LedgerFile(path)
        with self.file.reading():
            pass  # verified

    # ---- asking and answering ---------------------------------------------------------------------------------

    def answer(self, request: LedgerRequest, policy: Policy, draw: Callable[[], str]) -> Report:
        """The report for this question: the old one, or the new one around the old answer, or around a first draw.

        `draw` is called at most once, inside the transaction, after every check has passed and only for an attribute
        never drawn in this round; what it raises passes as it is, and nothing is kept."""
        with self.file.transaction() as connection:
            done, answer = self._decide(connection, request, policy)
            if done is not None:
                return done
            if answer is None:
                answer = _first_draw(connection, request, draw)
            made = request.report.with_answer(answer)
            connection.execute(
                "INSERT INTO reports (survey, question, round, attribute, words, id, body) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (made.survey, made.question, made.round, request.attribute, request.words, made.id, made.to_bytes()),
            )
            connection.execute("DELETE FROM declined WHERE survey = ? AND question = ?", (made.survey, made.question))
        return made

    def _decide(
        self, connection: sqlite3.Connection, request: LedgerRequest, policy: Policy
    ) -> tuple[Report | None, str | None]:
        """(the report already made, the answer already drawn); an error if this question cannot be answered."""
        asked, attribute = request.report, request.attribute
        done = connection.execute(
            "SELECT attribute, body FROM reports WHERE survey = ? AND question = ? AND round = ?",
            (asked.survey, asked.question, asked.round),
        ).fetchone()
        if done is not None:
            if done[0] != attribute:
                raise AlreadyAnswered(f"this question was answered before, for the attribute {done[0]!r}")
            return Report.from_bytes(done[1]), None
        draws = connection.execute("SELECT attribute, round, design, answer, epsilon, delta FROM draws").fetchall()
        for name, number, design, answer, *_ in draws:
            if (name, number) == (attribute, asked.round):
                if design != asked.design.text:
                    raise AlreadyAnswered(
                        f"{attribute!r} was answered before by another design ({from_text(design)}); that answer "
                        f"cannot stand for one by {asked.design}, and no second one is drawn"
                    )
                return None, str(answer)
        costs = [(name, _cost(epsilon, delta)) for name, *_, epsilon, delta in draws]
        _within("lifetime", [c for _, c in costs], request.cost, policy.lifetime_epsilon, policy.lifetime_delta)
        own = [cost for name, cost in costs if name == attribute]
        _within(f"attribute {attribute!r}", own, request.cost, policy.attribute_epsilon, policy.attribute_delta)
        return None, None

    # ---- the rest of its memory -------------------------------------------------------------------------------

    def draws(self) -> list[Draw]:
        """Every draw ever made, in order."""
        with self.file.reading() as connection:
            rows = connection.execute(DRAWS).fetchall()
        return [
            Draw(seq, attribute, number, from_text(design), answer, _cost(epsilon, delta))
            for seq, attribute, number, design, answer, epsilon, delta, _ in rows
        ]

    def outbox(self, state: str | None = None) -> list[Outgoing]:
        """Reports, all or in one state; the rollback guard knows them before they are handed out."""
        with self.file.transaction() as connection:
            rows = connection.execute(
                "SELECT id, survey, question, round, attribute, words, body, state, reason FROM reports ORDER BY id"
            ).fetchall()
        return [r for r in (Outgoing(*row) for row in rows) if state is None or r.state == state]

    def mark(self, report_id: str, state: str, reason: str | None = None) -> None:
        """Remember what became of a report."""
        with self.file.transaction() as connection:
            connection.execute("UPDATE reports SET state = ?, reason = ? WHERE id = ?", (state, reason, report_id))

    def seen(self) -> dict[tuple[str, str], SeenVersion]:
        """The newest version accepted of each survey."""
        with self.file.reading() as connection:
            rows = connection.execute("SELECT publisher, name, version, digest FROM surveys").fetchall()
        return {(publisher, name): SeenVersion(version, digest) for publisher, name, version, digest in rows}

    def remember(self, publisher: str, name: str, seen: SeenVersion) -> None:
        """Remember a version, so that a lower one is refused from now on; checked and written in one transaction."""
        with self.file.transaction() as connection:
            row = connection.execute(
                "SELECT version, digest FROM surveys WHERE publisher = ? AND name = ?", (publisher, name)
            ).fetchone()
            check_version(name, seen, SeenVersion(*row) if row else None)
            connection.execute(
                "INSERT INTO surveys VALUES (?, ?, ?, ?) ON CONFLICT (publisher, name) DO UPDATE "
                "SET version = excluded.version, digest = excluded.digest WHERE excluded.version > version",
                (publisher, name, seen.version, seen.digest),
            )

    def decline(self, survey: str, question: str) -> None:
        """Remember, on this device only, that the person does not want to answer."""
        with self.file.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO declined VALUES (?, ?)", (survey, question))

    def declined(self, survey: str) -> set[str]:
        """The questions of a survey the person declined."""
        with self.file.reading() as connection:
            rows = connection.execute("SELECT question FROM declined WHERE survey = ?", (survey,)).fetchall()
        return {question for (question,) in rows}


def _first_draw(connection: sqlite3.Connection, request: LedgerRequest, draw: Callable[[], str]) -> str:
    seq, chain = head(connection)
    try:
        answer = draw()
    except (sqlite3.DatabaseError, OSError, UnicodeDecodeError) as error:  # not the ledger's: see `open`
        raise Passing(error) from None
    report, cost = request.report, (str(request.cost.epsilon), str(request.cost.delta))
    row = (seq + 1, request.attribute, report.round, report.design.text, answer, *cost)
    connection.execute(
        "INSERT INTO draws (seq, attribute, round, design, answer, epsilon, delta, chain) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, link(chain, *row)),
    )
    return answer


def _cost(epsilon: str, delta: str) -> Promise:
    return Promise(Epsilon(epsilon), Fraction(delta))


def _within(what: str, spent: list[Promise], cost: Promise, epsilon: Epsilon, delta: Fraction) -> None:
    """Refuse if the sum would pass a cap; compared exactly."""
    before = total(spent)
    after_epsilon, after_delta = before.epsilon + cost.epsilon, before.delta + cost.delta
    if after_epsilon > epsilon or after_delta > delta:
        raise BudgetExhausted(
            f"the {what} budget is (ε, δ) = ({float(epsilon):.6g}, {float(delta):.6g}); "
            f"({float(before.epsilon):.6g}, {float(before.delta):.6g}) is spent and this answer would cost "
            f"({float(cost.epsilon):.6g}, {float(cost.delta):.6g})"
        )
