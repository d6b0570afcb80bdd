"""The ledger: one attribute, one draw, for life.

Rules
1. One durable transaction (SQLite, WAL, synchronous=FULL) holds the drawn answer, the report's bytes and the debit.  It
   is committed, and the seal is appended, before anything is returned.
2. An attribute (in a round) is drawn once.  Asked again the ledger gives the same report for the same question, a new
   report with the same answer for another question of the same design, and a refusal for another design.
3. The truth is not here: the caller draws, and hands over the answer alone.
4. Budgets are sums over all draws ever made; no row is deleted and no clock is read.
5. What cannot be trusted (damaged, restored from an old copy, read-only, locked, full) raises a `LedgerError`, and no
   draw is made; see `ledger_file`.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from rrcollect.answer.acceptance import Seen, check_version
from rrcollect.answer.ledger_file import LedgerFile, head
from rrcollect.answer.policy import Policy
from rrcollect.answer.rollback_guard import link
from rrcollect.design.parameters import Epsilon
from rrcollect.design.promise import Promise, total
from rrcollect.design.yes_no import Design
from rrcollect.errors import AlreadyAnswered, BudgetExhausted

__all__ = ["Asked", "Draw", "Ledger", "Outgoing"]


@dataclass(frozen=True)
class Draw:
    """A draw as the ledger keeps it.  `answer` is what was sent, not what is true."""

    seq: int
    attribute: str
    round: int
    design: Design
    answer: int
    cost: Promise

    def __repr__(self) -> str:
        return f"Draw({self.seq}, {self.attribute!r}, round {self.round})"


@dataclass(frozen=True)
class Asked:
    """A question put to the ledger: whose attribute, which design, what it costs, and where its report goes."""

    survey: str
    question: str
    round: int
    attribute: str
    words: str
    design: Design
    cost: Promise


@dataclass(frozen=True)
class Outgoing:
    """A report in the outbox, with its state: waiting, delivered or refused (and why)."""

    id: str
    survey: str
    question: str
    round: int
    attribute: str
    words: str
    body: bytes
    state: str
    reason: str | None

    def __repr__(self) -> str:
        return f"Outgoing({self.id}, {self.question!r}, {self.state})"


class Ledger:
    """The ledger at `path`; made if it is not there."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = LedgerFile(path)
        with self.file.reading():
            pass  # verified

    # ---- asking and answering ---------------------------------------------------------------------------------

    def existing(self, asked: Asked, policy: Policy) -> Outgoing | None:
        """The report already made for this question, if any; otherwise the checks that come before a truth is read.

        Returns None if the question can be answered, from the memo or by a first draw."""
        with self.file.reading() as connection:
            done = self._decide(connection, asked, policy)[0]
            if done is not None:
                self.file.seal_up(connection)
            return done

    def drawn(self, attribute: str, round_: int) -> Draw | None:
        """The draw made for an attribute in a round."""
        with self.file.reading() as connection:
            return _one_draw(connection, attribute, round_)

    def answer(
        self, asked: Asked, policy: Policy, draw: Callable[[], int], body: Callable[[str, int], bytes]
    ) -> Outgoing:
        """The report for this question: the old one, or a new one around the old answer, or around a first draw.

        `draw` is called at most once, and only for an attribute never drawn in this round; `body` makes the report's
        bytes from a fresh id and the answer."""
        with self.file.transaction() as connection:
            done, memo = self._decide(connection, asked, policy)
            if done is not None:
                return done
            answer = memo.answer if memo is not None else self._first_draw(connection, asked, draw)
            made = secrets.token_hex(16)
            connection.execute(
                "INSERT INTO reports (survey, question, round, attribute, words, id, body) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (asked.survey, asked.question, asked.round, asked.attribute, asked.words, made, body(made, answer)),
            )
            connection.execute("DELETE FROM declined WHERE survey = ? AND question = ?", (asked.survey, asked.question))
            row = connection.execute(f"{_REPORT} WHERE id = ?", (made,)).fetchone()
        return Outgoing(*row)

    def _decide(
        self, connection: sqlite3.Connection, asked: Asked, policy: Policy
    ) -> tuple[Outgoing | None, Draw | None]:
        """(the report already made, the draw already made); an error if this question cannot be answered."""
        done = _one_report(connection, asked)
        memo = _one_draw(connection, asked.attribute, asked.round)
        if done is not None and done.attribute == asked.attribute:
            return done, memo
        if done is not None:
            raise AlreadyAnswered(f"this question was answered before, for the attribute {done.attribute!r}")
        if memo is not None:
            if memo.design != asked.design:
                raise AlreadyAnswered(
                    f"{asked.attribute!r} was answered before by another design ({memo.design}); that answer cannot "
                    f"stand for one by {asked.design}, and no second one is drawn"
                )
            return None, memo
        draws = _all_draws(connection)
        _within("lifetime", [d.cost for d in draws], asked.cost, policy.lifetime_epsilon, policy.lifetime_delta)
        own = [d.cost for d in draws if d.attribute == asked.attribute]
        _within(f"attribute {asked.attribute!r}", own, asked.cost, policy.attribute_epsilon, policy.attribute_delta)
        return None, None

    def _first_draw(self, connection: sqlite3.Connection, asked: Asked, draw: Callable[[], int]) -> int:
        seq, chain = head(connection)
        answer = draw()
        row = (
            seq + 1,
            asked.attribute,
            asked.round,
            str(asked.design.p00),
            str(asked.design.p11),
            answer,
            str(asked.cost.epsilon),
            str(asked.cost.delta),
        )
        connection.execute("INSERT INTO draws VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, link(chain, *row)))
        return answer

    # ---- the rest of its memory -------------------------------------------------------------------------------

    def draws(self) -> list[Draw]:
        """Every draw ever made, in order."""
        with self.file.reading() as connection:
            return _all_draws(connection)

    def outbox(self, state: str | None = None) -> list[Outgoing]:
        """Reports, all or in one state, sealed before they are handed out."""
        with self.file.transaction() as connection:
            rows = connection.execute(f"{_REPORT} ORDER BY id").fetchall()
        return [r for r in (Outgoing(*row) for row in rows) if state is None or r.state == state]

    def mark(self, report_id: str, state: str, reason: str | None = None) -> None:
        """Remember what became of a report."""
        with self.file.transaction() as connection:
            connection.execute("UPDATE reports SET state = ?, reason = ? WHERE id = ?", (state, reason, report_id))

    def seen(self) -> dict[tuple[str, str], Seen]:
        """The newest version accepted of each survey."""
        with self.file.reading() as connection:
            rows = connection.execute("SELECT publisher, name, version, digest FROM surveys").fetchall()
        return {(publisher, name): Seen(version, digest) for publisher, name, version, digest in rows}

    def remember(self, publisher: str, name: str, seen: Seen) -> None:
        """Remember a version, so that a lower one is refused from now on; checked and written in one transaction."""
        with self.file.transaction() as connection:
            row = connection.execute(
                "SELECT version, digest FROM surveys WHERE publisher = ? AND name = ?", (publisher, name)
            ).fetchone()
            check_version(name, seen, Seen(*row) if row else None)
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


_REPORT = "SELECT id, survey, question, round, attribute, words, body, state, reason FROM reports"


def _one_report(connection: sqlite3.Connection, asked: Asked) -> Outgoing | None:
    row = connection.execute(
        f"{_REPORT} WHERE survey = ? AND question = ? AND round = ?", (asked.survey, asked.question, asked.round)
    ).fetchone()
    return Outgoing(*row) if row else None


def _all_draws(connection: sqlite3.Connection) -> list[Draw]:
    return [_as_draw(row) for row in connection.execute("SELECT * FROM draws ORDER BY seq")]


def _one_draw(connection: sqlite3.Connection, attribute: str, round_: int) -> Draw | None:
    found = connection.execute("SELECT * FROM draws WHERE attribute = ? AND round = ?", (attribute, round_)).fetchone()
    return _as_draw(found) if found else None


def _as_draw(row: tuple[int, str, int, str, str, int, str, str, str]) -> Draw:
    seq, attribute, round_, p00, p11, answer, epsilon, delta, _ = row
    return Draw(seq, attribute, round_, Design(p00, p11), answer, Promise(Epsilon(epsilon), Fraction(delta)))


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
