"""Which store an address names: SQLite for a path, PostgreSQL for postgresql://."""

from __future__ import annotations

import os

from server_agg.collect.store import Store

__all__ = ["open_store"]


def open_store(where: str | os.PathLike[str] = "rrcollect.sqlite3") -> Store:
    """The store at a path (SQLite) or a postgresql:// address; made if it is empty, refused if it is not safe.

    >>> import tempfile, pathlib
    >>> store = open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3"))
    >>> store.tallies().n, store.close()
    (0, None)
    >>> open_store(":memory:")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    server_agg.collect.errors.UnsafeDurability: ...
    """
    text = os.fspath(where)
    if text.startswith(("postgresql://", "postgres://")):
        from server_agg.collect.postgres_store import PostgresStore

        return PostgresStore(text)
    from server_agg.collect.sqlite_store import SqliteStore

    return SqliteStore(text.removeprefix("sqlite:///"))
