"""What a ledger holds about a question, and what follows from it: a report made before, an answer drawn before, a first
draw that the budgets allow, or a refusal.  What an attribute is, under all its names and words, `names` says.

Rules
1. What was drawn under any name of an attribute counts as drawn, and as spent; of several draws of one round the
   earliest is the answer.  It is drawn in no more rounds than the app collects it in, whether its questions are panels
   or not; and about one range of truths.
2. Words that were answered under another attribute are refused.
3. A report that the collector never took may be re-addressed: another ticket or other segments around the same answer.
   One that was delivered, handed to the app, or sent without a verdict stays as it is.
4. A repeated report carries few bits.  One of more than `MOST_REPEATED` values is handed out for its own survey,
   question and round, always the same bytes, and for nothing else: two who compare what they got would know that it is
   one person.  It is re-addressed only while no attempt to send it was made.
5. Nothing is written here, and no random byte is drawn.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

from rrcollect.answer.ledger.names import check_words, known_as, places
from rrcollect.answer.policy import Policy
from rrcollect.design import from_text
from rrcollect.design.parameters import Epsilon
from rrcollect.design.promise import Promise, total
from rrcollect.design.sentences import MOST_REPEATED, bits_of
from rrcollect.errors import AlreadyAnswered, BudgetExhausted, ParameterError, SurveyWithdrawn, shown
from rrcollect.publish.document import CARRIED
from rrcollect.publish.question import MOST_ROUNDS
from rrcollect.publish.report import Report


@dataclass(frozen=True)
class LedgerRequest:
    """A question put to the ledger: the report that is to answer it, complete but for its answer; whose attribute it
    asks about, with its aliases; in which words (and their fingerprints in all languages); what a draw costs; where the
    report goes, and the moments at which it is to be sent; whether its segments are the ones declared now, or those of
    the report made before; what may be true (`Kind.truths`); in how many rounds the app collects the attribute; how
    many values the report has (rule 4); of a survey with an issuer the place of its token, and the window in which it
    leaves."""

    report: Report
    attribute: str
    words: str
    cost: Promise
    destination: str
    publisher: str = ""
    aliases: tuple[str, ...] = ()
    fingerprints: frozenset[str] = frozenset()
    times: tuple[float, ...] = ()
    declared: bool = True
    kind: str = "yes_no"
    rounds: int = MOST_ROUNDS
    values: int = 2
    place: str | None = None
    window: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the attribute, its own first."""
        return self.attribute, *self.aliases


@dataclass(frozen=True)
class EarlierReport:
    """A report made before, its state, and how often this one (not one that it replaced) was sent, and all of them."""

    report: Report
    state: str
    attempts: int
    all_attempts: int

    def addressed(self, request: LedgerRequest) -> Report | None:
        """The report that replaces this one, with the ticket and segments of the request; None if they are the same."""
        asked, old = request.report, self.report
        segments = asked.segments if request.declared else old.segments
        if (asked.ticket, segments) == (None if request.place else old.ticket, old.segments):
            return None
        never_taken = self.state == "refused" or (self.state in ("waiting", "cancelled") and not self.attempts)
        if never_taken and (request.values <= MOST_REPEATED or not self.all_attempts):
            return replace(asked, segments=segments, answer=old.answer)
        why = {"delivered": "was delivered", CARRIED: "was handed over", "refused": "was sent"}
        raise ParameterError(
            "segments or invite",
            "not those of the report",
            f"those of the first answer: that report {why.get(self.state, 'may have been taken')}",
        )


def earlier_report(connection: sqlite3.Connection, request: LedgerRequest) -> EarlierReport | None:
    """The report made before for this survey, question and round; an error if that or its words belong elsewhere."""
    asked = request.report
    check_withdrawn(connection, asked.survey, request.publisher)
    row = connection.execute(
        "SELECT attribute, body, state, attempts - earlier_attempts, attempts FROM reports "
        "WHERE survey = ? AND question = ? AND round = ?",
        (asked.survey, asked.question, asked.round),
    ).fetchone()
    if row is not None and row[0] not in request.names:
        raise known_as("this question was answered", row[0], request.attribute)
    check_words(connection, request.fingerprints, request.names)
    if row is None:
        return None
    return EarlierReport(Report.from_bytes(row[1]) if row[1] else _erased(connection, request), *row[2:])


def _erased(connection: sqlite3.Connection, request: LedgerRequest) -> Report:
    """A report whose bytes were erased (`tokens`): its answer is left."""
    asked = request.report
    (answer,) = connection.execute(
        f"SELECT answer FROM draws WHERE attribute IN ({places(request.names)}) AND round = ? ORDER BY seq",  # noqa: S608
        (*request.names, asked.round),
    ).fetchone()
    return asked.with_answer(answer)


def check_withdrawn(connection: sqlite3.Connection, survey: str, publisher: str) -> None:
    """The publisher has not withdrawn the survey of this digest; nobody else can."""
    row = connection.execute(
        "SELECT moment FROM withdrawn WHERE survey = ? AND publisher = ?", (survey, publisher)
    ).fetchone()
    if row is not None:
        raise SurveyWithdrawn(f"{shown(publisher)} has withdrawn the survey, as of {row[0]}; nothing of it is sent")


def earlier_answer(connection: sqlite3.Connection, request: LedgerRequest, policy: Policy) -> tuple[str, str] | None:
    """(the name it was drawn under, the answer) if the attribute was drawn in this round; None if a first draw may be
    made; an error if it was drawn by another design, or the budgets do not allow the draw."""
    asked = request.report
    draws = connection.execute(
        "SELECT attribute, round, kind, design, answer, epsilon, delta FROM draws "  # noqa: S608
        f"WHERE attribute IN ({places(request.names)}) ORDER BY seq",
        request.names,
    ).fetchall()
    for name, number, kind, design, answer, *_ in draws:
        if number == asked.round:
            if request.values > MOST_REPEATED:
                raise AlreadyAnswered(
                    f"{name!r} was answered before in this round, by another survey, version or question; a report of "
                    f"{bits_of(request.values)} bits would mark this person if it were repeated, and no second one is "
                    "drawn"
                )
            if kind != request.kind:
                raise AlreadyAnswered(
                    f"{name!r} was answered before as {_short(kind)}; that answer cannot stand for one as "
                    f"{_short(request.kind)}, and no second one is drawn"
                )
            if design != asked.design.text:
                raise AlreadyAnswered(
                    f"{name!r} was answered before by another design ({from_text(design)}); that answer "
                    f"cannot stand for one by {asked.design}, and no second one is drawn"
                )
            return str(name), str(answer)
    collected = {number for _, number, *_ in draws}
    if len(collected) >= request.rounds:
        raise AlreadyAnswered(
            f"{request.attribute!r} was answered in {len(collected)} of {request.rounds} rounds in which this app "
            "answers about it; no further answer is drawn"
        )
    life = connection.execute("SELECT epsilon, delta, count(*) FROM draws GROUP BY epsilon, delta").fetchall()
    own = Counter((epsilon, delta) for *_, epsilon, delta in draws)
    costs = [(*cost, count) for cost, count in own.items()]
    for what, spent, cap in (
        ("lifetime", life, policy.life),
        (f"attribute {request.attribute!r}", costs, policy.attribute),
    ):
        before = total(cost_of(epsilon, delta).times(count) for epsilon, delta, count in spent)
        if passes(before, request.cost, cap):
            raise BudgetExhausted(
                f"the {what} budget is (ε, δ) = {_shown(cap)}; {_shown(before)} is spent and this answer would cost "
                f"{_shown(request.cost)}"
            )
    return None


def cost_of(epsilon: str, delta: str) -> Promise:
    """A cost as the ledger spells it."""
    return Promise(Epsilon(epsilon), Fraction(delta))


def _short(kind: str) -> str:
    """What may be true, in words: of a choice the first digits of the hash of its options in their order."""
    return f"{kind[:18]}…" if kind.startswith("choice of ") else kind


def _shown(cost: Promise) -> str:
    return f"({float(cost.epsilon):.6g}, {float(cost.delta):.6g})"


def passes(spent: Promise, cost: Promise, cap: Promise) -> bool:
    """Whether one more answer of this cost would pass a cap; compared exactly, and in every ledger alike."""
    return spent.epsilon + cost.epsilon > cap.epsilon or spent.delta + cost.delta > cap.delta
