"""What a store needs of a database: a few operations, the tables, and the statements that both kinds understand.

Rules
1. `writing` is one durable transaction; those of one store come one after the other.  `alone`: no other process takes
   reports meanwhile.
2. What is appended comes into the table in the order in which it is given, in one go.
3. `identity` tells one database from its copies: it is another one wherever a copy was put.
4. The schema has a number and `STEPS` lead to it (`rrcollect.schema`): an older database is brought up to date when it
   is opened, a newer one is refused, and another program's is not touched.

| table | holds |
|---|---|
| `surveys` | signed envelopes; a name and version of a publisher is one survey |
| `epoch` | one line: the database's name in the folder of keys, which database bears it, its current key, keep rows? |
| `intake` | waiting reports, sealed (`keys`): one content per transaction that took some |
| `gathered` | sealed: folded reports that are no crowd yet, by question and round, and the keys of what is sealed |
| `marks` | marks of the ids and tickets that wait, and the place in the intake where each is |
| `counts` | a line for each crowd: how many reports, and the sums that do not tell single answers (`crowds`) |
| `answers` | sealed: the answers of crowds whose sums would tell them, or that are still to be released |
| `taken` | of crowds that keep how often each answer was given: how often it was released |
| `released` | sums for strangers: what is public, a line for each label of blocks (`release_rule`) |
| `releases` | one line per release: when, the headline's round, and the smallest crowd of each question |
| `log` | an entry for each published survey and each deed of the owner (`log`) |
| `log_hashes`, `log_notes` | the hashes of its tiles, and the states of it that witnesses signed |
| `ids` | ids that were folded, with the number of their survey |
| `reports` | rows that were folded, if the owner keeps rows |
| `invites`, `spent` | hashes of tickets: those that are good (an empty one: tokens, judged before), and those spent |
| `issued` | where there is an issuer: hashes of an invite, and of the elements that it was served, until the end |

Lines of `answers`, `taken` and `released` have the `number` of the release that they are of; those of the last one of
their survey count, and no others (`stages`).

All but `surveys`, `epoch` and `intake` are clustered by their keys where the database can do it (SQLite),
and written in the order of their keys where it cannot (PostgreSQL).
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from rrcollect.publish.report import ReportRow
from server_agg.collect.store.reports import Cell, IncomingReport
from server_agg.errors import StoreError

COLUMNS = ", ".join(ReportRow._fields)
PAGE_COLUMNS = (*[name for name in ReportRow._fields if name != "id"], "id")
BETWEEN = "\x1f"
WAITING = ("intake", "marks")  # tables that are emptied when an epoch ends
SEALED = (*WAITING, "gathered", "answers")  # tables that nobody can read without the key of the epoch
STEPS = (
    (
        "CREATE TABLE surveys (number {number}, digest TEXT NOT NULL UNIQUE, envelope {bytes} NOT NULL, keys TEXT NOT "
        "NULL, publisher TEXT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL, minimum BIGINT NOT NULL, longest "
        "BIGINT NOT NULL, pilot INTEGER NOT NULL, closed INTEGER NOT NULL DEFAULT 0, issued BIGINT NOT NULL DEFAULT 0, "
        "withdrawal {bytes}, UNIQUE (publisher, name, version))",
        "CREATE TABLE epoch (database TEXT NOT NULL, identity TEXT, key TEXT NOT NULL, keep_rows INTEGER NOT NULL)",
        "CREATE TABLE intake (place {number}, content {bytes} NOT NULL)",
        "CREATE TABLE gathered (name TEXT PRIMARY KEY, content {bytes} NOT NULL) {clustered}",
        "CREATE TABLE marks (mark {bytes} PRIMARY KEY, ticket {bytes}, place BIGINT NOT NULL) {clustered}",
        "CREATE UNIQUE INDEX marks_by_ticket ON marks (ticket) WHERE ticket IS NOT NULL",
        "CREATE TABLE counts (survey TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, design TEXT NOT "
        "NULL, segments TEXT NOT NULL, n BIGINT NOT NULL, kept TEXT NOT NULL, PRIMARY KEY (survey, question, round, "
        "design, segments)) {clustered}",
        "CREATE TABLE answers (survey TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, design TEXT NOT "
        "NULL, segments TEXT NOT NULL, number INTEGER NOT NULL, level INTEGER NOT NULL, content {bytes} NOT NULL, "
        "PRIMARY KEY (survey, question, round, design, segments, number, level)) {clustered}",
        "CREATE TABLE taken (survey TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, design TEXT NOT "
        "NULL, segments TEXT NOT NULL, number INTEGER NOT NULL, content TEXT NOT NULL, PRIMARY KEY (survey, question, "
        "round, design, segments, number)) {clustered}",
        "CREATE TABLE released (survey TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, design TEXT NOT "
        "NULL, segments TEXT NOT NULL, number INTEGER NOT NULL, n BIGINT NOT NULL, sums TEXT NOT NULL, PRIMARY KEY "
        "(survey, question, round, design, segments, number)) {clustered}",
        "CREATE TABLE releases (survey TEXT NOT NULL, number INTEGER NOT NULL, moment BIGINT NOT NULL, headline "
        "INTEGER, crowds TEXT NOT NULL, issued BIGINT, PRIMARY KEY (survey, number)) {clustered}",
        "CREATE TABLE log (number BIGINT PRIMARY KEY, entry TEXT NOT NULL, line TEXT NOT NULL) {clustered}",
        "CREATE TABLE log_hashes (level INTEGER NOT NULL, number BIGINT NOT NULL, hash {bytes} NOT NULL, PRIMARY KEY "
        "(level, number)) {clustered}",
        "CREATE TABLE log_notes (size BIGINT PRIMARY KEY, seen INTEGER NOT NULL, note TEXT NOT NULL) {clustered}",
        "CREATE TABLE ids (id {bytes} PRIMARY KEY, survey INTEGER NOT NULL) {clustered}",
        "CREATE TABLE reports (survey TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, design TEXT NOT "
        "NULL, answer TEXT NOT NULL, id TEXT PRIMARY KEY, ticket TEXT, segments TEXT NOT NULL) {clustered}",
        "CREATE TABLE invites (survey TEXT NOT NULL, ticket TEXT NOT NULL, PRIMARY KEY (ticket, survey)) {clustered}",
        "CREATE TABLE spent (survey TEXT NOT NULL, ticket TEXT NOT NULL, PRIMARY KEY (ticket, survey)) {clustered}",
        "CREATE TABLE issued (survey TEXT NOT NULL, invite TEXT NOT NULL, elements TEXT NOT NULL, PRIMARY KEY (invite, "
        "survey)) {clustered}",
    ),
)
CROWD = ", ".join(Cell._fields[:5])

Marked = tuple[bytes, "bytes | None", IncomingReport]  # a report with the marks of its id and of its ticket


@contextmanager
def closed_on_failure(opened: Any) -> Iterator[None]:
    """A connection or a database stays open after the block, unless the block fails."""
    try:
        yield
    except BaseException:
        opened.close()
        raise


class Database(ABC):
    """What the two kinds do each in their own way."""

    mark = "?"
    address: str  # where it is, as `open_store` takes it
    page: str  # selects so many rows of a survey, or of all, after an id, as one text: see `Store.pages`
    default_keys: Path  # the folder of epoch keys, if nothing else is said
    faults: tuple[type[Exception], ...]  # what its library raises, which `trouble` translates

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writer: Any = None
        with self._lock, self._translated():
            connection = self._open()
            with closed_on_failure(connection):
                self._prepare(connection)
            self._writer = connection

    @abstractmethod
    def _open(self) -> Any:
        """A connection that writes durably."""

    @abstractmethod
    def _prepare(self, connection: Any) -> None:
        """Make the tables, or bring them up to date."""

    @staticmethod
    @abstractmethod
    def trouble(error: Exception) -> StoreError:
        """A fault as one of our errors, without the data or the address it was about."""

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self.faults as error:
            raise self.trouble(error) from None

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
        """Delete everything that waits."""

    def delete(self, cursor: Any, table: str, where: str, values: Sequence[object]) -> None:
        """Delete rows for good, as far as one transaction can: `overwrite` does the rest."""
        self.run(cursor, f"DELETE FROM {table} WHERE {where}", values)  # noqa: S608 (names of ours)

    @abstractmethod
    def overwrite(self) -> None:
        """Write the tables again, so that what was deleted is in none of their files."""

    @abstractmethod
    def copy(self, file: Path, name: str, *, sealed: bool) -> str:
        """Copy one committed state to a file, without what is `sealed` unless asked for; the name that the copy has in
        the folder of keys: the database's own (`name`), or one of its own."""

    def close(self) -> None:
        """Give up the connection."""
        with self._lock:
            self._abandon()

    def _abandon(self) -> None:
        """Forget a transaction and its connection; the next one is opened anew."""
        connection, self._writer = self._writer, None
        with suppress(*self.faults):
            if connection is not None:
                connection.close()

    def run(self, cursor: Any, statement: str, values: Sequence[object] = ()) -> Any:
        """Execute a statement written with question marks."""
        cursor.execute(statement.replace("?", self.mark), tuple(values))
        return cursor

    def run_many(self, cursor: Any, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute it for each of these rows."""
        cursor.executemany(statement.replace("?", self.mark), rows)
