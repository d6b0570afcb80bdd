"""Closing a survey that is over: the exact counts stay, everything else about its reports goes.

Rules
1. A survey is over when it has expired and its grace period has passed: nothing is taken for it any more.  No grace
   ends before the expiry.
2. Its last reports are folded first, however few; then ids, rows, invites and spent tickets are deleted and
   overwritten in the database's files.  Estimates stay what they were.
3. A close that was interrupted (a full disk, a crash) is done again, until everything is overwritten.
4. Logs and backups of the database system are not ours to overwrite; of waiting reports they hold nothing readable.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, timedelta

from rrcollect.errors import ParameterError
from server_agg.collect.catalogue import Catalogue
from server_agg.collect.errors import KeysBusy
from server_agg.collect.settings import GRACE, LONGEST_DAYS
from server_agg.collect.store import Store
from server_agg.count.tallies import Tallies


def close_survey(store: Store, digest: str, *, grace: timedelta = GRACE, now: float | None = None) -> Tallies:
    """Close a survey; the counts that stay.  A survey that is not over is refused.

    >>> import pathlib, tempfile
    >>> from server_agg.collect.stores import open_store
    >>> store = open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3"))
    >>> close_survey(store, "absent")
    Traceback (most recent call last):
    ...
    rrcollect.errors.ParameterError: digest is 'absent'; expected that of a survey in the store: none
    >>> store.close()
    """
    listed = Catalogue(store).named(digest)
    if not timedelta(0) <= grace <= timedelta(days=LONGEST_DAYS):
        raise ParameterError("grace", str(grace), f"0 to {LONGEST_DAYS} days")
    over = listed.survey.expires + grace
    if (time.time() if now is None else now) < over.timestamp():
        raise ParameterError(
            "digest",
            digest,
            f"a survey that is over; this one takes reports until {over.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
        )
    store.finish(digest)
    return store.tallies(digest)


def close_due(store: Store, catalogue: Catalogue, after: timedelta, now: float | None = None) -> list[str]:
    """Close every survey that expired at least so long ago and is not closed to the end; their digests."""
    moment = time.time() if now is None else now
    due = [one for one in catalogue.all() if (one.survey.expires + after).timestamp() <= moment]
    closed = {one.digest for one in store.surveys() if one.finished} if due else set()
    found = [one.published.digest for one in due if one.published.digest not in closed]
    for digest in found:
        store.finish(digest)
    return found


def finish_closing(store: Store) -> list[str]:
    """Do again what was interrupted of a close, unless another is at it; the digests."""
    found = []
    with suppress(KeysBusy):
        for digest in store.unfinished():
            store.finish(digest, wait=False)
            found.append(digest)
    return found
