"""A copy of a collector's database while it works, and what is in it.

Rules
1. The copy is one committed state.  SQLite writes it anew (no free pages are copied); of PostgreSQL pg_dump makes it.
2. By default the reports that wait to be folded are not in it: with their key they could be read in the order of their
   arrival for as long as a backup exists, and without it they are of no use.  A restored copy has counts, ids, spent
   tickets, invites and surveys, and works at once under a key of its own.
3. `with_key` takes them along, sealed, with the one key that opens them, in a folder beside the file: nothing is lost,
   and whoever has both reads what waited, in order.  No fold happens meanwhile.
4. The file appears when it is whole.  A password is never on a command line.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from server_agg.collect.errors import StoreUnavailable
from server_agg.collect.sqlite_store import SqliteStore
from server_agg.collect.store import Store
from server_agg.new_file import new_file

__all__ = ["Backup", "back_up"]


@dataclass(frozen=True)
class Backup:
    """What was written: the file, and how many reports waited that are in it (`with_key`) or are left out."""

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
        waiting = len(store.waiting())
        if isinstance(store, SqliteStore):
            _sqlite(store.path, partial, with_waiting=with_key)
        else:
            _postgres(vars(store)["address"], partial, with_waiting=with_key)
        partial.chmod(0o600)
        if keys is not None:
            _copy_key(store, keys)
    return Backup(wanted, waiting, keys)


def _sqlite(path: str, copy: Path, *, with_waiting: bool) -> None:
    try:
        os.close(os.open(copy, os.O_CREAT | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as connection:
            connection.execute("VACUUM INTO ?", (str(copy),))
        if not with_waiting:
            with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                connection.execute("DELETE FROM intake")
                connection.execute("DELETE FROM marks")
                connection.execute("UPDATE epoch SET database = ?", (secrets.token_hex(16),))  # it has keys of its own
                connection.execute("VACUUM")
    except sqlite3.Error as error:
        raise StoreUnavailable(f"the database cannot be copied ({type(error).__name__})") from None


def _postgres(address: str, copy: Path, *, with_waiting: bool) -> None:
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    parts = conninfo_to_dict(address)
    password = parts.pop("password", None)
    environment = os.environ | ({} if password is None else {"PGPASSWORD": str(password)})
    program = shutil.which("pg_dump")
    if program is None:
        raise StoreUnavailable("pg_dump is not on this machine (Debian: postgresql-client)")
    rest = [] if with_waiting else ["--exclude-table-data=intake", "--exclude-table-data=marks"]
    command = [program, "--format=custom", "--no-owner", "--no-privileges", *rest, f"--file={copy}"]
    target = make_conninfo("", **parts)
    done = subprocess.run(  # noqa: S603 (a fixed program; the address has no password any more)
        [*command, f"--dbname={target}"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise StoreUnavailable(f"pg_dump could not read the database (it ended with {done.returncode})")


def _copy_key(store: Store, folder: Path) -> None:
    """The key that the copy names, in a folder as the store wants it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with store.reading() as cursor:
        database, name = store.run(cursor, "SELECT database, key FROM epoch").fetchone()
    named = f"{database}.{name}.key"
    with new_file(folder / named) as partial:
        os.close(os.open(partial, os.O_CREAT | os.O_WRONLY, 0o600))
        partial.write_bytes((store.keys.folder / named).read_bytes())
