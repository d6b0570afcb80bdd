"""Which store an address names: SQLite for a path, PostgreSQL for postgresql://."""

from __future__ import annotations

import os

from server_agg.collect.settings import variable
from server_agg.collect.store import Store


def open_store(
    where: str | os.PathLike[str] = "rrcollect.sqlite3",
    *,
    keys: str | os.PathLike[str] | None = None,
    keep_rows: bool | None = None,
    discard_unreadable: bool = False,
) -> Store:
    """The store at a path (SQLite) or a postgresql:// address; made if it is empty, refused if it is not safe.

    `keys` is the folder of epoch keys (default: `$RRCOLLECT_KEYS`; else `FILE.keys` beside a SQLite file, and the
    user's own `~/.local/state/rrcollect/keys` for PostgreSQL).  `keep_rows`: whether folded reports are kept as rows
    from now on, by whatever process folds them; without, their ids and the counts are all that stays.  It is a choice
    of the database (a new one keeps none): None leaves it as it is.  `discard_unreadable` gives up a key that is
    lost, with what waits under it; no other process may work on the database then.

    >>> import tempfile, pathlib
    >>> store = open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3"))
    >>> store.tallies().n, store.close()
    (0, None)
    >>> open_store(":memory:")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    server_agg.collect.errors.UnsafeDurability: ...
    """
    text, keys = os.fspath(where), keys or os.environ.get(variable("keys"))
    if text.startswith(("postgresql://", "postgres://")):
        from server_agg.collect.postgres_store import PostgresStore

        return PostgresStore(text, keys=keys, keep_rows=keep_rows, discard_unreadable=discard_unreadable)
    from server_agg.collect.sqlite_store import SqliteStore

    path = text.removeprefix("sqlite:///")
    return SqliteStore(path, keys=keys, keep_rows=keep_rows, discard_unreadable=discard_unreadable)
