"""Ledgers with a planted bug, for `ledger_machine` to find."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rrcollect import Policy, Report
from rrcollect.answer.ledger.content import Change
from rrcollect.answer.ledger.file import Verified
from rrcollect.answer.ledger.guard import Stat
from rrcollect.answer.ledger.ledger import Decided
from tests.assurance.ledger.world import Leave, Plant
from tests.inside.answer import Ledger, LedgerFile, LedgerRequest


class Forgetful(Plant):
    """Forgets on restart: the ledger is not kept."""

    def starting(self, folder: Path) -> None:
        for file in folder.glob("ledger.sqlite3*"):
            file.unlink()


class Hasty(Ledger):
    """Sends the report, then records it."""

    left: Callable[[bytes], None]

    def answer(self, request: LedgerRequest, policy: Policy, draw: Callable[[], str]) -> Report:
        early = SentEarly(**{name: value for name, value in vars(request.report).items() if name != "_body"})
        vars(early)["left"] = self.left
        return super().answer(replace(request, report=early), policy, draw)


class SentEarly(Report):
    """A report that leaves as soon as it has its answer."""

    def with_answer(self, answer: str) -> Report:
        made = super().with_answer(answer)
        vars(self)["left"](made.to_bytes())
        return made


class SendsFirst(Plant):
    """Records after sending."""

    ledger = Hasty

    def made(self, ledger: Ledger, left: Leave) -> None:
        assert isinstance(ledger, Hasty)
        ledger.left = left


class Blind(LedgerFile):
    """Writes the rollback guard and does not compare with it."""

    def compare(self, serial: int, before: str, chain: str, remembered: dict[int, str] | None) -> int:
        """Whatever it is."""
        return max(remembered or [-1])


class UnguardedLedger(Ledger):
    """A ledger with such a file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = Blind(path)
        with self.file.reading():
            pass  # made and verified


class IgnoresTheGuard(Plant):
    """Does not look at the rollback guard."""

    ledger = UnguardedLedger


class UnconstrainedLedger(Ledger):
    """No unique constraint: decides before the transaction, and nothing in the file keeps a second draw out."""

    early: Decided | None = None

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        with self.file.open() as connection:
            for name in ("draws", "reports"):
                (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
                if "UNIQUE" in sql and not connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]:  # noqa: S608
                    connection.execute(f"DROP TABLE {name}")
                    loose = sql.replace("UNIQUE (attribute, round)", "CHECK (1)").replace("NOT NULL UNIQUE", "NOT NULL")
                    connection.execute(loose.replace("PRIMARY KEY (survey, question, round)", "CHECK (1)"))

    def answer(self, request: LedgerRequest, policy: Policy, draw: Callable[[], str]) -> Report:
        with self.file.reading() as connection:
            self.early = super()._decide(connection, request, policy)
        try:
            return super().answer(request, policy, draw)
        finally:
            self.early = None

    def _decide(self, connection: sqlite3.Connection, request: LedgerRequest, policy: Policy) -> Decided:
        return self.early or super()._decide(connection, request, policy)


class WithoutConstraint(Plant):
    """No unique constraint."""

    ledger = UnconstrainedLedger


class HalfGuardedFile(LedgerFile):
    """Guards what its own transaction has added, and not what an earlier one had committed when it was cut off."""

    held = 0

    def verify(self, connection: sqlite3.Connection) -> Verified:
        found = super().verify(connection)
        self.held = int(found.meta["serial"])
        return found

    def advance_guard(self, meta: dict[str, str], guarded: int) -> Stat | None:
        return super().advance_guard(meta, guarded) if int(meta["serial"]) > self.held else None


class HalfGuarded(Ledger):
    """A ledger with such a file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = HalfGuardedFile(path)
        with self.file.reading():
            pass  # made and verified


class LeavesTheGuardBehind(Plant):
    """Hands out, unguarded, what was cut off between commit and guard; all is well unless it was cut off there."""

    ledger = HalfGuarded


class WordlessLedger(Ledger):
    """Knows an attribute by its name alone."""

    def answer(self, request: LedgerRequest, policy: Policy, draw: Callable[[], str]) -> Report:
        return super().answer(replace(request, fingerprints=frozenset()), policy, draw)


class NamelessFile(LedgerFile):
    """Does not write down which names were used as one."""

    @contextmanager
    def transaction(self) -> Iterator[Change]:
        with super().transaction() as change:
            insert = change.insert

            def others(table: str, row: Mapping[str, object], *, unless_there: bool = False) -> None:
                if table != "same":
                    insert(table, row, unless_there=unless_there)

            vars(change)["insert"] = others
            yield change


class ForgetfulOfNames(Ledger):
    """Knows an alias only while it is declared."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = NamelessFile(path)
        with self.file.reading():
            pass  # made and verified


class RepeatingLedger(Ledger):
    """Takes every report for one of few values."""

    def answer(self, request: LedgerRequest, policy: Policy, draw: Callable[[], str]) -> Report:
        return super().answer(replace(request, values=2), policy, draw)


class IgnoresWords(Plant):
    """Does not look at words."""

    ledger = WordlessLedger


class DropsNames(Plant):
    """Forgets which names were one."""

    ledger = ForgetfulOfNames


class RepeatsMarks(Plant):
    """Repeats what marks a person."""

    ledger = RepeatingLedger


PLANTED = {
    "a ledger that forgets on restart": Forgetful,
    "a ledger that records after sending": SendsFirst,
    "a ledger that ignores its rollback guard": IgnoresTheGuard,
    "a ledger that does not guard what was cut off after its commit": LeavesTheGuardBehind,
    "a ledger without the unique constraint": WithoutConstraint,
    "a ledger that does not look at words": IgnoresWords,
    "a ledger that forgets which names were one": DropsNames,
    "a ledger that repeats what marks a person": RepeatsMarks,
}
