"""What a store needs of a database, and the epoch it is in.

Rules
1. `writing` is one durable transaction; those of one store come one after the other.  `alone`: no other process takes
   reports meanwhile.
2. What is appended comes into the table in the order in which it is given, in one go.
3. Whoever opens a database finds the key that it names in the folder of keys, or makes the first one; a key that a
   crash left over is destroyed then.  Without the key nothing is taken: reports that wait under it cannot be read.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from server_agg.collect.epoch_key import EpochKey, KeyFolder
from server_agg.collect.errors import EpochKeyMissing, StoreUnavailable
from server_agg.collect.fold import Group
from server_agg.collect.stored_report import IncomingReport

__all__ = ["NOTHING_SEEN", "Database", "Epoch", "Marked", "closed_on_failure", "marked_reports"]


class Closable(Protocol):
    """A connection, or a store."""

    def close(self) -> None:
        """Give it up."""


Opened = TypeVar("Opened", bound=Closable)


@contextmanager
def closed_on_failure(opened: Opened) -> Iterator[Opened]:
    """Something that stays open after the block, unless the block fails."""
    try:
        yield opened
    except BaseException:
        opened.close()
        raise


Marked = tuple[bytes, "bytes | None", IncomingReport]  # a report with the marks of its id and of its ticket


def marked_reports(key: EpochKey, reports: Sequence[IncomingReport]) -> list[Marked]:
    """Reports with their marks under a key."""
    spendings = [report.spending for report in reports]
    tickets = [None if spending is None else key.ticket_mark(spending.plain()) for spending in spendings]
    return list(zip(key.id_marks([row[5] or "" for row, _ in reports]), tickets, reports, strict=True))


NOTHING_SEEN = -(2**62)


@dataclass
class Epoch:
    """What this process knows of the epoch it last saw."""

    name: str
    key: EpochKey
    closed: frozenset[str]  # surveys that take no more reports
    seen: int = NOTHING_SEEN  # the last place in the intake that was counted into `waiting`
    waiting: Counter[Group] = field(default_factory=Counter)


class Database(ABC):
    """What the two kinds do each in their own way."""

    mark = "?"
    page: str  # selects so many rows of a survey, or of all, after an id, as one text: see `Store.pages`
    keys: KeyFolder
    _name: str  # of the database, in the folder of keys
    _epoch: Epoch | None = None

    @abstractmethod
    def writing(self, *, alone: bool = False) -> AbstractContextManager[Any]:
        """A cursor in one durable transaction."""

    @abstractmethod
    def reading(self, *, snapshot: bool = False) -> AbstractContextManager[Any]:
        """A cursor that sees a committed state in each statement; `snapshot`: in all of them the same one."""

    @abstractmethod
    def put(self, cursor: Any, marked: Sequence[Marked]) -> tuple[int, set[bytes]]:
        """Write the marks of what is new and may be spent, no two alike; the place in the intake where their content
        is to be, and the marks of the ids that were written."""

    @abstractmethod
    def select_in(self, cursor: Any, columns: str, table: str, column: str, values: Sequence[Any]) -> list[Any]:
        """The rows of a table in which a column has one of these values."""

    @abstractmethod
    def append(self, cursor: Any, table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        """Add new rows to a table."""

    @abstractmethod
    def append_ids(self, cursor: Any, survey: int, ids: Sequence[str]) -> None:
        """Add ids to those that were folded."""

    @abstractmethod
    def empty_intake(self, cursor: Any) -> None:
        """Delete everything that waits."""

    @abstractmethod
    def overwrite(self) -> None:
        """Write the tables anew, so that what was deleted is in none of their files."""

    @abstractmethod
    def close(self) -> None:
        """Release the database."""

    def run(self, cursor: Any, statement: str, values: Sequence[object] = ()) -> Any:
        """Execute a statement written with question marks."""
        cursor.execute(statement.replace("?", self.mark), tuple(values))
        return cursor

    def run_many(self, cursor: Any, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute it for each of these rows."""
        cursor.executemany(statement.replace("?", self.mark), rows)

    # ---- the epoch --------------------------------------------------------------------------------------------

    def begin(self, *, discard: bool) -> None:
        """Make the first key, or see that the key is there, and that no other is."""
        with self.keys.lock():
            with self.writing(alone=True) as cursor:
                name = self._found(cursor, discard=discard)
            self.keys.keep_only(self._name, name)

    def _found(self, cursor: Any, *, discard: bool) -> str:
        found = self.run(cursor, "SELECT database, key FROM epoch").fetchone()
        if found is None:
            self._name = secrets.token_hex(16)
            name = self.keys.make(self._name)
            self.run(cursor, "INSERT INTO epoch (database, key) VALUES (?, ?)", (self._name, name))
            return name
        self._name, name = found
        try:
            self.keys.read(self._name, name)
        except EpochKeyMissing:
            waiting = self.run(cursor, "SELECT COUNT(*) FROM marks").fetchone()[0]
            if waiting and not discard:
                raise EpochKeyMissing(
                    f"{waiting} reports wait under a key that is not in {str(self.keys.folder)!r}: give the folder of "
                    "keys that this database is used with, or, if it is lost (a restored backup has none), give these "
                    "reports up (serve --discard-unreadable)"
                ) from None
            self.empty_intake(cursor)
            name = self.keys.make(self._name)
            self.run(cursor, "UPDATE epoch SET key = ?", (name,))
        return name

    def current(self, cursor: Any) -> Epoch:
        """The epoch of this transaction."""
        (name,) = self.run(cursor, "SELECT key FROM epoch").fetchone()
        if self._epoch is None or self._epoch.name != name:
            closed = self.run(cursor, "SELECT digest FROM surveys WHERE closed = 1").fetchall()
            try:
                key = self.keys.read(self._name, name)
            except EpochKeyMissing:  # what is said to a sender names no folder
                raise StoreUnavailable("the key of the waiting reports is missing") from None
            self._epoch = Epoch(name, key, frozenset(digest for (digest,) in closed))
        return self._epoch
