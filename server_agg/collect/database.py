"""What a store needs of a database.

Rules
1. `writing` is one durable transaction; those of one store come one after the other.  `alone`: no other process takes
   reports meanwhile.
2. What is appended comes into the table in the order in which it is given, in one go.
3. `identity` tells one database from its copies: it is another one wherever a copy was put.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar

from server_agg.collect.epoch_key import EpochKey
from server_agg.collect.stored_report import IncomingReport


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


class Database(ABC):
    """What the two kinds do each in their own way."""

    mark = "?"
    page: str  # selects so many rows of a survey, or of all, after an id, as one text: see `Store.pages`

    @abstractmethod
    def writing(self, *, alone: bool = False) -> AbstractContextManager[Any]:
        """A cursor in one durable transaction."""

    @abstractmethod
    def reading(self, *, snapshot: bool = False) -> AbstractContextManager[Any]:
        """A cursor that sees a committed state in each statement; `snapshot`: in all of them the same one."""

    @abstractmethod
    def identity(self, cursor: Any) -> str:
        """Which database this is, however it is reached and whatever it was copied from."""

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
        """Delete everything that waits or is gathered."""

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
