"""The store: where acknowledged reports live, over one of two databases.

    take → intake (sealed, in the order of arrival) → fold → counts, ids, spent tickets (and rows, if they are kept)

Rules
1. When `take` returns, every NEW report is on disk; a report counts once (`taking`).
2. At rest a folded report is a member of a crowd and nothing else: no order within it, no time, no ticket (`fold`,
   `epochs`).
3. What strangers see changes by a release alone (`release`).
4. A survey is over when it has expired and its grace period has passed: nothing is taken for it any more, and it may be
   closed.  No grace ends before the expiry.  Its last reports are folded first, however few; then ids, rows, invites
   and spent tickets are deleted and overwritten in the database's files.  Estimates stay what they were.  A close that
   was interrupted (a full disk, a crash) is done again, until everything is overwritten.  Logs and backups of the
   database system are not ours to overwrite; of waiting reports they hold nothing readable.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, timedelta
from types import TracebackType
from typing import IO

from rrcollect.errors import ParameterError
from rrcollect.publish.issuer import TokenSecret
from rrcollect.publish.survey import Survey
from server_agg.collect.catalogue import Catalogue, Shelf
from server_agg.collect.issuing import keep_secret
from server_agg.collect.keeping import Backup, back_up, export, ingest
from server_agg.collect.settings import GRACE, LONGEST_DAYS, CollectorSettings, variable
from server_agg.collect.store.database import BETWEEN, Database, closed_on_failure
from server_agg.collect.store.epochs import Epochs
from server_agg.collect.store.fold import Folds
from server_agg.collect.store.keys import KeyFolder
from server_agg.collect.store.log import StoreLog, read_log
from server_agg.collect.store.release import SAME, LastRelease, ReleaseOutcome, last_release, make_release
from server_agg.collect.store.reports import IncomingReport
from server_agg.collect.store.taking import ReportOutcome, take
from server_agg.count.tallies import Tallies
from server_agg.errors import StoreContended, StoreUnavailable

ROWS_PER_READ = 20_000
MOST_TRIES = 20


@dataclass(frozen=True)
class StoreState:
    """What is in a store that works: how many surveys, counted and waiting reports, whether it keeps rows, and the
    digests of surveys whose closing was interrupted."""

    surveys: int
    counted: int
    waiting: int
    keeps_rows: bool
    unfinished: tuple[str, ...]


class Store:
    """Acknowledged reports, in a database; `open_store` makes it.  `with open_store(…) as store:` ends with
    `disconnect`."""

    def __init__(
        self,
        database: Database,
        *,
        keys: str | os.PathLike[str] | None = None,
        keep_rows: bool | None = None,
        discard_unreadable: bool = False,
    ) -> None:
        self.database = database
        with closed_on_failure(database):
            folder = KeyFolder(keys or database.default_keys)
            self.epochs = Epochs(database, folder, keep_rows=keep_rows, discard=discard_unreadable)
        self.folds = Folds(self.epochs)
        self.shelf = Shelf(database)

    def take(self, reports: Sequence[IncomingReport]) -> list[ReportOutcome]:
        """What became of each report, after one durable commit of all of them."""
        for _ in range(MOST_TRIES):
            with suppress(StoreContended):
                return take(self.epochs, reports)
        raise StoreUnavailable(f"the database ended the transaction for others' sake {MOST_TRIES} times")

    def fold(self, *, wait: bool = True) -> int:
        """Fold what is ripe; returns how many reports were folded."""
        return self.folds.fold(wait=wait)

    def tallies(self, survey: Survey | str | None = None) -> Tallies:
        """Exact counts of what was folded, by survey × question × design × segments × round; as costly as cells."""
        return self.folds.tallies(None if survey is None else _digest(survey))

    def survey(self, digest: str) -> Survey:
        """The published survey of this digest; a `ParameterError` lists those that there are."""
        catalogue = Catalogue(self.shelf)
        found = catalogue.find(digest)
        if found is None:
            known = ", ".join(entry.published.digest for entry in catalogue.all()) or "none"
            raise ParameterError("digest", digest, f"that of a survey in the store: {known}")
        return found.survey

    # ---- what an owner does -----------------------------------------------------------------------------------

    def release(
        self,
        survey: Survey | str,
        *,
        headline: int | None = SAME,
        now: float | None = None,
        source: random.Random | None = None,
    ) -> ReleaseOutcome:
        """Make what is ripe of a survey (or of its digest) public; `headline` is a round, None for the whole, or
        `SAME`: what it was.

        >>> import pathlib, tempfile
        >>> from rrcollect import Question, Survey, optimal_design
        >>> asked = Question(id="q1", attribute="a", text="Ever?", design=optimal_design(1))
        >>> survey = Survey(name="s", version=1, title="S", publisher="P", collector="carried",
        ...                 expires="2100-01-01T00:00:00Z", questions=[asked])
        >>> with open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3")) as store:
        ...     store.release(survey).added
        0
        """
        asked = survey if isinstance(survey, Survey) else self.survey(survey)
        return make_release(self.folds, asked, headline=headline, now=now, source=source)

    def last_release(self, survey: Survey) -> LastRelease | None:
        """What strangers may see of a survey; None before the first release."""
        return last_release(self.database, survey)

    def close(self, survey: Survey | str, *, grace: timedelta = GRACE, now: float | None = None) -> Tallies:
        """Close a survey (or the one of this digest); the counts that stay.  A survey that is not over is refused.

        >>> import pathlib, tempfile
        >>> with open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3")) as store:
        ...     store.close("absent")
        Traceback (most recent call last):
        ...
        rrcollect.errors.ParameterError: digest is 'absent': use that of a survey in the store: none
        """
        digest = _digest(survey)
        known = self.survey(digest)
        if not timedelta(0) <= grace <= timedelta(days=LONGEST_DAYS):
            raise ParameterError("grace", str(grace), f"0 to {LONGEST_DAYS} days")
        over = known.expires + grace
        if (time.time() if now is None else now) < over.timestamp():
            until = f"{over.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
            raise ParameterError("digest", digest, f"a survey that is over; this one takes reports until {until}")
        self.folds.finish(digest)
        return self.folds.tallies(digest)

    def ingest(self, lines: IO[bytes], settings: CollectorSettings | None = None) -> Counter[str]:
        """Take reports from a stream of lines, one canonical report each; how many had which outcome or reason.

        >>> import io, pathlib, tempfile
        >>> with open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3")) as store:
        ...     store.ingest(io.BytesIO(b"no report\\n\\n"))
        Counter({'malformed': 1})
        """
        return ingest(lines, Catalogue(self.shelf), self.take, self.folds, settings or CollectorSettings())

    def keep_secret(self, survey: Survey, secret: TokenSecret) -> None:
        """Issue the tokens of a survey, and take reports that carry them, with the secret that its keys come from."""
        keep_secret(self.epochs.keys, survey, secret.text())

    def export(self, path: str | os.PathLike[str], survey: Survey | str | None = None) -> int:
        """Write the counts (.json) or rows (.parquet) of all surveys or of one, or the owner's log (.jsonl); returns
        how many reports, or entries, that was.

        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> with open_store(folder / "reports.sqlite3") as store:
        ...     store.export(folder / "counts.json")
        0
        """
        digest = None if survey is None else _digest(survey)
        return export(path, self.pages(digest), self.folds, digest)

    def backup(self, path: str | os.PathLike[str], *, with_key: bool = False) -> Backup:
        """Copy the database to a file while it works (`keeping`).

        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> with open_store(folder / "reports.sqlite3") as store:
        ...     store.backup(folder / "copy.sqlite3").waiting
        0
        >>> open_store(folder / "copy.sqlite3").disconnect()
        """
        return back_up(self.epochs, path, with_key=with_key)

    def check(self) -> StoreState:
        """What is in the store, if the database answers and its key can be read; a `StoreError` if not.

        >>> import pathlib, tempfile
        >>> with open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3")) as store:
        ...     store.check()
        StoreState(surveys=0, counted=0, waiting=0, keeps_rows=False, unfinished=())
        """
        self.epochs.alive()
        counted, waiting = self.tallies().n, len(self.epochs.waiting())
        surveys, unfinished = len(self.shelf.surveys()), tuple(self.folds.unfinished())
        return StoreState(surveys, counted, waiting, self.folds.keeps_rows(), unfinished)

    def log(self, checkpoint: str | None = None) -> StoreLog:
        """The owner's log, verified, also against a checkpoint that was kept elsewhere (`store.log`).

        >>> import pathlib, tempfile
        >>> with open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3")) as store:
        ...     store.log().size
        0
        """
        return read_log(self.database, checkpoint)

    def disconnect(self) -> None:
        """Give up the database; what was taken stays."""
        self.database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.disconnect()

    # ---- what was kept ----------------------------------------------------------------------------------------

    def pages(self, survey: str | None = None) -> Iterator[str]:
        """The rows that are kept, in the order of their ids, some thousands at a time: a line for each, its fields in
        the order of `PAGE_COLUMNS` with `BETWEEN` between them, nothing for no ticket.  The database joins the text,
        which is several times as fast as handing over value by value; no field holds a control character: names are
        plain, and canonical JSON escapes them."""
        last = ""
        with self.database.reading(snapshot=True) as cursor:
            while True:
                (text,) = self.database.run(
                    cursor, self.database.page, (last, survey, survey, ROWS_PER_READ)
                ).fetchone()
                if text is None:
                    return
                yield text
                last = text[text.rindex(BETWEEN) + 1 :]


def _digest(survey: Survey | str) -> str:
    return survey.digest if isinstance(survey, Survey) else survey


def open_store(
    where: str | os.PathLike[str] = "rrcollect.sqlite3",
    *,
    keys: str | os.PathLike[str] | None = None,
    keep_rows: bool | None = None,
    discard_unreadable: bool = False,
) -> Store:
    """The store at a path (SQLite) or a postgresql:// address; made if it is empty, refused if it is not safe.

    `keys` is the folder of epoch keys (default: `$RRCOLLECT_EPOCH_KEYS`; else `FILE.keys` beside a SQLite file, and the
    user's own `~/.local/state/rrcollect/keys` for PostgreSQL).  `keep_rows`: whether folded reports are kept as rows
    from now on, by whatever process folds them; without, their ids and the counts are all that stays.  It is a choice
    of the database (a new one keeps none): None leaves it as it is.  `discard_unreadable` gives up a key that is
    lost, with what waits under it; no other process may work on the database then.

    >>> import tempfile, pathlib
    >>> with open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3")) as store:
    ...     store.tallies().n
    0
    >>> open_store(":memory:")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    server_agg.errors.UnfitDatabase: ...
    """
    text = os.fspath(where)
    database: Database
    if text.startswith(("postgresql://", "postgres://")):
        from server_agg.collect.store.postgres import PostgresDatabase

        database = PostgresDatabase(text)
    else:
        from server_agg.collect.store.sqlite import SqliteDatabase

        database = SqliteDatabase(text.removeprefix("sqlite:///"))
    keys = keys or os.environ.get(variable("epoch_keys"))
    return Store(database, keys=keys, keep_rows=keep_rows, discard_unreadable=discard_unreadable)
