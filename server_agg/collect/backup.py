"""A copy of a collector's database while it works, and what is in it.

Rules
1. The copy is one committed state.  SQLite writes it anew (no free pages are copied); of PostgreSQL pg_dump makes it.
2. By default nothing that is sealed is in it: neither reports that wait to be folded, which with their key could be
   read in the order of their arrival for as long as a backup exists, nor what is gathered and has no crowd of its
   segments yet, which two copies would tell apart person by person.  A restored copy has counts, ids, spent tickets,
   invites and surveys, and works at once under a key of its own.
3. `with_key` takes both along, sealed, with the one key that opens them, in a folder beside the file: nothing is lost,
   and whoever has both reads what waited, in order.  No fold happens meanwhile; reports are taken as ever.
4. A copy is not the database it was made of: it takes a name of its own in the folder of keys, here or when it is first
   opened (`epochs`), and never touches the other's key.
5. The file appears when it is whole, and only its owner may read it from its first byte; of one that failed nothing is
   left.  A password is never on a command line.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from server_agg.collect.errors import StoreFull, StoreUnavailable
from server_agg.collect.sqlite_store import OUT_OF_SPACE, SqliteStore
from server_agg.collect.store import Store
from server_agg.new_file import new_file


@dataclass(frozen=True)
class Backup:
    """What was written: the file, and how many reports were sealed that are in it (`with_key`) or are left out."""

    file: Path
    waiting: int
    keys: Path | None


def back_up(store: Store, file: str | os.PathLike[str], *, with_key: bool = False) -> Backup:
    """Copy the database of a store to a file.

    >>> import tempfile
    >>> from server_agg.collect.stores import open_store
    >>> folder = Path(tempfile.mkdtemp())
    >>> store = open_store(folder / "reports.sqlite3")
    >>> back_up(store, folder / "copy.sqlite3").waiting, store.close()
    (0, None)
    >>> open_store(folder / "copy.sqlite3").close()
    """
    wanted = Path(file)
    keys = Path(f"{wanted}.keys") if with_key else None
    with store.keys.lock(), new_file(wanted) as partial:  # no fold meanwhile: the key is that of the copy
        with store.reading() as cursor:
            waiting = len(store.waiting()) + store.gathered(cursor).n
            database, name = store.run(cursor, "SELECT database, key FROM epoch").fetchone()
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        named = database
        if isinstance(store, SqliteStore):
            named = secrets.token_hex(16)
            _sqlite(store.path, partial, named, with_waiting=with_key)
        else:
            _postgres(vars(store)["address"], partial, with_waiting=with_key)
        if keys is not None:
            _copy_key(store.keys.folder / f"{database}.{name}.key", keys / f"{named}.{name}.key")
    return Backup(wanted, waiting, keys)


def _sqlite(path: str, copy: Path, name: str, *, with_waiting: bool) -> None:
    """The copy, under this name in the folder of keys; whoever opens it first makes it theirs."""
    try:
        with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as connection:
            connection.execute("VACUUM INTO ?", (str(copy),))
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = MEMORY")  # a copy that fails is not used
            connection.execute("UPDATE epoch SET database = ?, identity = NULL", (name,))
            if not with_waiting:
                for table in ("intake", "marks", "gathered"):
                    connection.execute(f"DELETE FROM {table}")  # noqa: S608
                connection.execute("VACUUM")
    except sqlite3.Error as error:
        told = getattr(error, "sqlite_errorname", "") or type(error).__name__
        if told.startswith(OUT_OF_SPACE):
            raise StoreFull(f"the copy cannot grow ({told}): free some space on its disk") from None
        raise StoreUnavailable(f"the database cannot be copied ({told}): look at the space on both disks") from None
    finally:
        copy.with_name(f"{copy.name}-journal").unlink(missing_ok=True)


def _postgres(address: str, copy: Path, *, with_waiting: bool) -> None:
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    parts = conninfo_to_dict(address)
    password = parts.pop("password", None)
    environment = {**os.environ, "LC_ALL": "C"} | ({} if password is None else {"PGPASSWORD": str(password)})
    program = shutil.which("pg_dump")
    if program is None:
        raise StoreUnavailable("pg_dump is not on this machine (Debian: postgresql-client)")
    rest = [] if with_waiting else [f"--exclude-table-data={table}" for table in ("intake", "marks", "gathered")]
    command = [program, "--format=custom", "--no-owner", "--no-privileges", *rest, f"--file={copy}"]
    target = make_conninfo("", **parts)
    done = subprocess.run(  # noqa: S603 (a fixed program; the address has no password any more)
        [*command, f"--dbname={target}"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode != 0 and os.strerror(errno.ENOSPC).encode() in done.stderr:
        raise StoreFull("the copy cannot grow: free some space on its disk")
    if done.returncode != 0:
        raise StoreUnavailable(f"pg_dump could not read the database (it ended with {done.returncode})")


def _copy_key(key: Path, wanted: Path) -> None:
    """The key that the copy names, in a folder as the store wants it."""
    wanted.parent.mkdir(mode=0o700, exist_ok=True)
    with new_file(wanted) as partial:
        os.close(os.open(partial, os.O_CREAT | os.O_WRONLY, 0o600))
        partial.write_bytes(key.read_bytes())
