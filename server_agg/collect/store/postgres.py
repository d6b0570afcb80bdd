"""A store's database in PostgreSQL (extra `postgres`), for several collectors at once, which share one folder of keys.

Takes of several collectors go on beside each other under a shared lock of their transactions; a fold takes the lock
alone.  Within a statement rows have one order (of their marks), so that two takes rarely wait for each other in a
circle; if they do, PostgreSQL ends one of them, and it is done again.

Durability.  Every session asks for synchronous_commit=on; a server that runs with fsync or full_page_writes off is
refused, when it is first opened and whenever it is opened again after a lost connection.

Bounds.  Nobody waits for ever for a peer that is gone or hangs.  A wait for a lock ends: nothing was taken, and the
sender is told to come back.  The server ends a session that idles within a transaction, a take sooner than a fold, and
both ends look whether the other is still there.  Sessions that read or write tables anew may last.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any

from rrcollect.errors import MissingExtra
from rrcollect.schema import upgrade
from server_agg.collect.store.database import (
    BETWEEN,
    PAGE_COLUMNS,
    SEALED,
    STEPS,
    WAITING,
    Database,
    Marked,
    closed_on_failure,
)
from server_agg.errors import StoreContended, StoreError, StoreFull, StoreUnavailable, UnfitDatabase

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError:
    raise MissingExtra("psycopg", "postgres") from None

TYPES = {"bytes": "BYTEA", "clustered": "", "number": "BIGSERIAL PRIMARY KEY"}
PUT = (
    "WITH next AS (SELECT nextval(pg_get_serial_sequence('intake', 'place')) AS place) INSERT INTO marks (mark, "
    "ticket, place) SELECT new.mark, new.ticket_mark, next.place FROM next, unnest(%b::bytea[], %b::bytea[], "
    "%b::bytea[], %b::text[], %b::text[]) AS new(mark, ticket_mark, id, survey, ticket) WHERE NOT EXISTS (SELECT 1 "
    "FROM ids WHERE ids.id = new.id) AND (new.ticket IS NULL OR (EXISTS (SELECT 1 FROM invites WHERE invites.survey = "
    "new.survey AND invites.ticket IN (new.ticket, '')) AND NOT EXISTS (SELECT 1 FROM spent WHERE spent.survey = "
    "new.survey AND spent.ticket = new.ticket))) ON CONFLICT DO NOTHING RETURNING mark, place"
)
PAGE = (
    f"SELECT string_agg(line, chr(10) ORDER BY id) FROM (SELECT id, concat_ws(chr({ord(BETWEEN)}), "  # noqa: S608
    f"{', '.join(PAGE_COLUMNS).replace('ticket', 'coalesce(ticket, $$$$)')}) AS line FROM reports WHERE id > ? AND "
    "(?::text IS NULL OR survey = ?) ORDER BY id LIMIT ?) AS lines"
)
IDENTITY = (
    "SELECT system_identifier || '/' || oid FROM pg_control_system(), pg_database WHERE datname = current_database()"
)
ADD_IDS = "INSERT INTO ids (id, survey) SELECT new.id, %b FROM unnest(%b::bytea[]) AS new(id)"
NEEDED = {"fsync": ("on",), "full_page_writes": ("on",), "synchronous_commit": ("on", "remote_apply")}
SETUP_LOCK = 7237_2331  # one collector at a time makes the tables
EPOCH_LOCK = 7237_2332  # shared by takes, alone for a fold
LOOK_UPS = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit")  # off: rows are looked up by their keys
TABLES = ("ids", "reports", "invites", "spent", "issued", "counts", *SEALED)
LOCK_WAIT, MOST_IDLE = "10s", "30s"  # for a lock; between two statements of a take
MOST_IDLE_ALONE = "10min"  # of a fold or a release, which computes meanwhile
ALIVE = {"keepalives_idle": 20, "keepalives_interval": 5, "keepalives_count": 4}  # seconds, seconds, looks
READERS_PATIENCE = 1.0  # seconds
OLDER_READERS = (  # sessions whose snapshot began before this transaction number; numbers go round at 2^32
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND "
    "backend_xmin IS NOT NULL AND (%s - backend_xmin::text::bigint) & 4294967295 BETWEEN 1 AND 2147483647"
)
FULL = StoreFull, "the PostgreSQL server is out of space"
TROUBLES: dict[str | None, tuple[type[StoreError], str]] = {
    "40P01": (StoreContended, "PostgreSQL ended the transaction for another's sake"),  # deadlock
    "55P03": (StoreUnavailable, "another session kept a lock for too long"),
    "53100": FULL,  # disk_full
    "58030": FULL,  # io_error
}


class PostgresDatabase(Database):
    """The database behind a postgresql:// address."""

    mark = "%s"
    page = PAGE
    faults = (psycopg.Error,)

    def __init__(self, address: str, *, connect_seconds: int = 5) -> None:
        self.address = address
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"  # the user's own, on this machine
        self.default_keys = Path(state) / "rrcollect" / "keys"
        self._connect_seconds = connect_seconds
        super().__init__()

    def _open(self) -> psycopg.Connection[Any]:
        connection = self._connected()
        with closed_on_failure(connection):
            connection.execute("SET synchronous_commit = on")
            connection.execute(f"SET lock_timeout = '{LOCK_WAIT}'")
            connection.execute(f"SET idle_in_transaction_session_timeout = '{MOST_IDLE}'")
            for setting in LOOK_UPS:
                connection.execute(f"SET {setting} = off")
            for setting, safe in NEEDED.items():
                found = connection.execute(f"SHOW {setting}").fetchone()
                if found is None or found[0] not in safe:
                    now = f"the PostgreSQL server runs with {setting}={found and found[0]}"
                    raise UnfitDatabase(f"{now}: a power cut could take back what was acknowledged; switch it on")
            connection.commit()
        return connection

    def _connected(self, *, autocommit: bool = False) -> psycopg.Connection[Any]:
        """A session in which both ends notice that the other is gone; what the address says of that comes first."""
        wanted = {**ALIVE, "tcp_user_timeout": 40_000, **conninfo_to_dict(self.address)}
        wanted |= {"connect_timeout": self._connect_seconds, "application_name": "rrcollect"}
        connection = psycopg.connect(make_conninfo("", **wanted), autocommit=autocommit)
        with closed_on_failure(connection):
            connection.execute("; ".join(f"SET tcp_{name} = {value}" for name, value in ALIVE.items()))
            connection.commit()
        return connection

    def _prepare(self, connection: psycopg.Connection[Any]) -> None:
        with connection.transaction():
            connection.execute("SET LOCAL lock_timeout = 0")  # another may be bringing the tables up to date
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (SETUP_LOCK,))
            known = connection.execute("SELECT to_regclass('collector_schema'), to_regclass('reports')").fetchone()
            if known is None or (known[0] is None and known[1] is not None):
                raise UnfitDatabase(
                    "the database has a table `reports` that is not a collector's: give the collector one of its own"
                )
            if known[0] is None:
                connection.execute("CREATE TABLE collector_schema AS SELECT 0 AS version")
            found = connection.execute("SELECT MAX(version) FROM collector_schema").fetchone()
            number = 0 if found is None else int(found[0])
            if 0 < number < len(STEPS):
                connection.execute("LOCK TABLE reports")  # against collectors that run already
            now = upgrade(lambda step: connection.execute(step.format(**TYPES)), number, STEPS, "the database")
            if now != number:
                connection.execute("UPDATE collector_schema SET version = %s", (now,))

    @contextmanager
    def writing(self, *, alone: bool = False) -> Iterator[Any]:
        lock = "pg_advisory_xact_lock" if alone else "pg_advisory_xact_lock_shared"
        with self._lock, self._translated():
            if self._writer is None or self._writer.closed:
                self._writer = self._open()
            connection = self._writer
            try:
                with connection.cursor() as cursor:
                    if alone:
                        cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{MOST_IDLE_ALONE}'")
                    cursor.execute(f"SELECT {lock}(%s)", (EPOCH_LOCK,))
                    yield cursor
                connection.commit()
            except psycopg.errors.DeadlockDetected:
                connection.rollback()
                raise
            except BaseException:
                self._abandon()
                raise

    @contextmanager
    def reading(self, *, snapshot: bool = False) -> Iterator[Any]:
        with self._translated(), self._connected() as connection, connection.cursor() as cursor:
            if snapshot:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield cursor

    def identity(self, cursor: Any) -> str:
        """The database's number in its cluster, and the cluster's own."""
        cursor.execute(IDENTITY)
        return str(cursor.fetchone()[0])

    def put(self, cursor: Any, marked: Sequence[Marked]) -> tuple[int, set[bytes]]:
        rows = []
        for mark, ticket, (row, spent) in sorted(marked, key=itemgetter(0)):
            rows.append((mark, ticket, bytes.fromhex(row.id or ""), row.survey, spent))
        cursor.execute(PUT, [list(column) for column in zip(*rows, strict=True)])
        found = cursor.fetchall()
        return (found[0][1] if found else 0), {bytes(mark) for mark, _ in found}

    def select_in(self, cursor: Any, columns: str, table: str, column: str, values: Sequence[Any]) -> list[Any]:
        if not values:
            return []
        cursor.execute(f"SELECT {columns} FROM {table} WHERE {column} = ANY(%s)", [list(values)])  # noqa: S608
        return list(cursor.fetchall())

    def append(self, cursor: Any, table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)

    def append_ids(self, cursor: Any, survey: int, ids: Sequence[str]) -> None:
        cursor.execute(ADD_IDS, [survey, [bytes.fromhex(id_) for id_ in ids]])

    def empty_intake(self, cursor: Any) -> None:
        cursor.execute(f"TRUNCATE {', '.join(WAITING)}")

    def overwrite(self) -> None:
        with self._translated(), self._connected(autocommit=True) as connection:
            _wait_for_readers(connection)
            for table in TABLES:
                connection.execute(f"VACUUM (FULL) {table}")

    def copy(self, file: Path, name: str, *, sealed: bool) -> str:
        parts = conninfo_to_dict(self.address)
        password = parts.pop("password", None)  # which is never on a command line
        environment = {**os.environ, "LC_ALL": "C"} | ({} if password is None else {"PGPASSWORD": str(password)})
        program = shutil.which("pg_dump")
        if program is None:
            raise StoreUnavailable("pg_dump is not on this machine (Debian: postgresql-client)")
        rest = [] if sealed else [f"--exclude-table-data={table}" for table in SEALED]
        command = [program, "--format=custom", "--no-owner", "--no-privileges", *rest, f"--file={file}"]
        command.append(f"--dbname={make_conninfo('', **parts)}")
        done = subprocess.run(  # noqa: S603 (a fixed program; the address has no password any more)
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if done.returncode != 0 and os.strerror(errno.ENOSPC).encode() in done.stderr:
            raise StoreFull("the copy cannot grow: free some space on its disk")
        if done.returncode != 0:
            raise StoreUnavailable(f"pg_dump could not read the database (it ended with {done.returncode})")
        return name

    @staticmethod
    def trouble(error: Exception) -> StoreError:
        state = getattr(error, "sqlstate", None)
        kind, words = TROUBLES.get(state, (StoreUnavailable, "PostgreSQL cannot be used"))
        return kind(f"{words} ({state or type(error).__name__})")


def _wait_for_readers(connection: psycopg.Connection[Any]) -> None:
    """Rows that somebody's snapshot still shows are copied by VACUUM: it has to end first."""
    now = connection.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").fetchone()
    until = time.monotonic() + READERS_PATIENCE
    while connection.execute(OLDER_READERS, now).fetchone() != (0,):
        if time.monotonic() > until:
            raise StoreUnavailable(
                "what was deleted is still read by another session; it is overwritten when that ends"
            )
        time.sleep(0.02)
