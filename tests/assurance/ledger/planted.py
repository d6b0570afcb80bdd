"""Ledgers with a planted bug, for `ledger_machine` to find."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from rrcollect.answer.ledger import Asked, Draw, Ledger, Outgoing
from rrcollect.answer.ledger_file import LedgerFile
from rrcollect.answer.policy import Policy
from rrcollect.answer.rollback_guard import Seal
from tests.assurance.ledger.world import Leave, Plant

__all__ = ["PLANTED"]


class Forgetful(Plant):
    """Forgets on restart: the ledger is not kept."""

    def starting(self, folder: Path) -> None:
        for file in folder.glob("ledger.sqlite3*"):
            file.unlink()


class Hasty(Ledger):
    """Sends the report, then records it."""

    left: Callable[[bytes], None]

    def answer(
        self, asked: Asked, policy: Policy, draw: Callable[[], int], body: Callable[[str, int], bytes]
    ) -> Outgoing:
        def sent(report_id: str, answer: int) -> bytes:
            made = body(report_id, answer)
            self.left(made)
            return made

        return super().answer(asked, policy, draw, sent)


class SendsFirst(Plant):
    """Records after sending."""

    ledger = Hasty

    def made(self, ledger: Ledger, left: Leave) -> None:
        assert isinstance(ledger, Hasty)
        ledger.left = left


class Blind(Seal):
    """Writes the seal and does not read it."""

    def last(self) -> tuple[int, str] | None:
        return 0, ""


class Unsealed(Ledger):
    """A ledger with a blind seal."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = LedgerFile(path)
        self.file.seal = Blind(self.file.path)
        with self.file.reading():
            pass  # made and verified


class IgnoresTheSeal(Plant):
    """Does not look at the seal."""

    ledger = Unsealed


class Unconstrained(Ledger):
    """No unique constraint: decides before the transaction, and nothing in the file keeps a second draw out."""

    early: tuple[Outgoing | None, Draw | None] | None = None

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        with self.file.open() as connection:
            for name in ("draws", "reports"):
                (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
                if "UNIQUE" in sql and not connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]:  # noqa: S608
                    connection.execute(f"DROP TABLE {name}")
                    loose = sql.replace("UNIQUE (attribute, round)", "CHECK (1)").replace("NOT NULL UNIQUE", "NOT NULL")
                    connection.execute(loose.replace("PRIMARY KEY (survey, question, round)", "CHECK (1)"))

    def answer(
        self, asked: Asked, policy: Policy, draw: Callable[[], int], body: Callable[[str, int], bytes]
    ) -> Outgoing:
        with self.file.reading() as connection:
            self.early = super()._decide(connection, asked, policy)
        try:
            return super().answer(asked, policy, draw, body)
        finally:
            self.early = None

    def _decide(self, connection: object, asked: Asked, policy: Policy) -> tuple[Outgoing | None, Draw | None]:
        return self.early or super()._decide(connection, asked, policy)  # type: ignore[arg-type]


class WithoutConstraint(Plant):
    """No unique constraint."""

    ledger = Unconstrained


class HalfSealedFile(LedgerFile):
    """Seals what its own transaction has added, and not what an earlier one had committed when it was cut off."""

    held = 0

    def verify(self, connection: sqlite3.Connection) -> None:
        super().verify(connection)
        self.held = _reports(connection)

    def seal_up(self, connection: sqlite3.Connection) -> None:
        if _reports(connection) > self.held:
            super().seal_up(connection)


def _reports(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM reports").fetchone()[0])


class HalfSealed(Ledger):
    """A ledger with such a file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = HalfSealedFile(path)
        with self.file.reading():
            pass  # made and verified


class LeavesTheSealBehind(Plant):
    """Hands out, unsealed, what was cut off between commit and seal; all is well unless it was cut off there."""

    ledger = HalfSealed


PLANTED = {
    "a ledger that forgets on restart": Forgetful,
    "a ledger that records after sending": SendsFirst,
    "a ledger that ignores its seal": IgnoresTheSeal,
    "a ledger that does not seal what was cut off after its commit": LeavesTheSealBehind,
    "a ledger without the unique constraint": WithoutConstraint,
}
