"""Many people on one machine, each with a ledger of their own: servers, shared devices, interviewers.

Rules
1. One person, one ledger.  Its file is named by a keyed hash of the person: no name is on the disk.  The app supplies
   the key and keeps it elsewhere; whoever has the folder alone cannot tell whose ledger is whose, nor test a name.
2. A folder remembers a check value of its key.  Another key is refused: with it everybody would draw anew.
3. An interview has a fresh ledger, closed at its end: the next person starts with nothing and sees nothing of the last.
   A second interview of one person is a second draw; that is why interviews are counted.
4. All ledgers are delivered in one pass, each report at its own moment: people are not sent one after the other.
5. Any number of programs may use a folder at once.  The ledgers of settled interviews are deleted by a pass that is the
   only one: each holds a shared lock, which the system releases if its program is killed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import sqlite3
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rrcollect.answer.attributes import Attribute, Attributes, EveryAttributeOf
from rrcollect.answer.client import Client
from rrcollect.answer.ledger.guard import append, sync_folder
from rrcollect.answer.ledger.ledger import Ledger
from rrcollect.answer.policy import Policy
from rrcollect.deliver.oblivious import OhttpTransport
from rrcollect.deliver.outbox import Deliveries, Timing, deliver
from rrcollect.deliver.schedule import HOURS, check_spread
from rrcollect.deliver.transport import Transport
from rrcollect.design.sampling import Source
from rrcollect.errors import AnswerRefused, LedgerError, LedgerUnavailable, ParameterError

SHORTEST_KEY = 16  # bytes
LEDGER, CLOSED = ".sqlite3", ".closed"
LOCK_SECONDS = 30.0  # how long a pass waits for one that deletes
_KEY_CHECK = b"\xff rrcollect key"  # not UTF-8, so not the hash of a person


class Interview(Client):
    """The ledger of one interview; every call after its end is refused."""

    _kept: Ledger
    closed = False

    @property
    def _ledger(self) -> Ledger:
        if self.closed:
            raise AnswerRefused("this interview is over; begin another one for the next person")
        return self._kept

    @_ledger.setter
    def _ledger(self, ledger: Ledger) -> None:
        self._kept = ledger


class Clients:
    """A client for each person, in a folder; the other settings are those of `Client`.

    >>> import tempfile
    >>> clients = Clients(tempfile.mkdtemp(), key=b"sixteen bytes or more", attributes=["doped"], policy=Policy())
    >>> clients.of("alice").budget().draws
    ()
    >>> with clients.interview() as client:
    ...     client.budget().draws
    ()
    >>> clients.interviews
    1
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        key: bytes,
        attributes: Iterable[str | Attribute | EveryAttributeOf],
        policy: Policy,
        source: Source = os.urandom,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], None] = time.sleep,
        spread: float = HOURS,
    ) -> None:
        if not isinstance(key, bytes) or len(key) < SHORTEST_KEY:
            raise ParameterError("key", "not shown", f"{SHORTEST_KEY} bytes or more, kept apart from the folder")
        self._key = key
        self._folder = Path(folder).resolve()
        registered = attributes if isinstance(attributes, str) else list(attributes)
        Attributes(registered)  # or an error, before anybody is asked
        self._count = self._folder / "interviews.count"
        how = {"policy": policy, "source": source, "clock": clock, "sleep": sleep, "spread": spread}
        self._how: dict[str, Any] = {**how, "attributes": registered}  # of every client
        self._timing = Timing(lambda: clock().timestamp(), sleep, check_spread(spread))
        with _folder_errors():
            (self._folder / "interviews").mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_key()

    def of(self, person: str) -> Client:
        """The client of a person, by whatever the app knows them by; the same text is the same person."""
        if not isinstance(person, str) or not person:
            raise ParameterError("person", type(person).__name__, "a text by which the app knows the person")
        name = self._hash(unicodedata.normalize("NFC", person).encode("utf-8", "surrogatepass"))
        folder = self._folder / name[:2]
        with _folder_errors():
            folder.mkdir(mode=0o700, exist_ok=True)
        return Client(folder / (name + LEDGER), **self._how)

    @contextmanager
    def interview(self) -> Iterator[Interview]:
        """A client with a fresh ledger, for one person; what was answered is delivered after its end."""
        with _folder_errors():
            append(self._count, b".")
        path = self._folder / "interviews" / (secrets.token_hex(16) + LEDGER)
        client = Interview(path, **self._how)
        try:
            yield client
        finally:
            client.closed = True
            with _folder_errors():
                append(path.with_suffix(CLOSED), b"")

    @property
    def interviews(self) -> int:
        """How many interviews were begun in this folder."""
        return self._count.stat().st_size if self._count.exists() else 0

    def deliver(self, transport: Transport | None = None, *, within: float = 0.0) -> Deliveries:
        """Send what waits in all ledgers, as `Client.deliver` does; interviews that are over and settled are deleted.

        A ledger that cannot be used is told at the end, when the others are delivered."""
        ledgers, trouble = [], []
        with _Passes(self._folder / "passes.lock") as passes:
            for path in [*self._folder.glob(f"??/*{LEDGER}"), *(self._folder / "interviews").glob("*" + LEDGER)]:
                try:
                    ledgers.append(Ledger(path))
                    ledgers[-1].forget_over(self._timing.now())
                except LedgerError as error:
                    trouble.append(error)
            try:
                found = deliver(ledgers, OhttpTransport() if transport is None else transport, self._timing, within)
            finally:
                if passes.alone():
                    for closed in (self._folder / "interviews").glob("*" + CLOSED):
                        self._forget(closed)
        if trouble:
            raise trouble[0]
        return found

    def __repr__(self) -> str:
        return f"Clients({self._folder.name!r})"

    def _hash(self, message: bytes) -> str:
        return hmac.digest(self._key, message, hashlib.sha256).hex()

    def _check_key(self) -> None:
        """The key is the one with which this folder began."""
        path, wanted = self._folder / "key.check", self._hash(_KEY_CHECK)
        ledgers = next(self._folder.glob(f"??/*{LEDGER}"), None) is not None  # looked for first: the check is older
        if not path.exists():
            if ledgers:
                raise LedgerUnavailable("the folder of ledgers has lost its key.check; restore it with the ledgers")
            draft = self._folder / f"key.{secrets.token_hex(8)}"
            try:
                append(draft, wanted.encode())
                with suppress(FileExistsError):  # another program was first
                    os.link(draft, path)
                sync_folder(self._folder)
            finally:
                draft.unlink(missing_ok=True)
        if not hmac.compare_digest(path.read_bytes(), wanted.encode()):
            allowed = "the key with which this folder began: with another one everybody would be asked and drawn anew"
            raise ParameterError("key", "another one, not shown", allowed)

    def _forget(self, closed: Path) -> None:
        """Delete the ledger of an interview that is over, unless something of it still waits."""
        path = closed.with_suffix(LEDGER)
        with suppress(LedgerError):  # told by the delivery
            if path.exists() and Ledger(path).outbox("waiting"):
                return
            for file in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", ".guard")), closed):
                file.unlink(missing_ok=True)


class _Passes:
    """The passes over a folder, counted by shared locks on a file: SQLite's, which the system releases."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> _Passes:
        with ExitStack() as opened:
            try:
                self._connection = sqlite3.connect(self._path, timeout=LOCK_SECONDS, isolation_level=None)
                opened.callback(self._connection.close)  # unless it is kept, below
                self._connection.execute("BEGIN")
                self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except sqlite3.Error as error:
                raise LedgerUnavailable(f"the folder of ledgers cannot be used: {error}") from None
            opened.pop_all()
        return self

    def alone(self) -> bool:
        """Whether this is the only pass; if so, no other begins before it has ended."""
        self._connection.execute("ROLLBACK")
        self._connection.execute("PRAGMA busy_timeout = 0")
        with suppress(sqlite3.OperationalError):
            self._connection.execute("BEGIN EXCLUSIVE")
        return self._connection.in_transaction

    def __exit__(self, *error: object) -> None:
        self._connection.close()


@contextmanager
def _folder_errors() -> Iterator[None]:
    """What is wrong with the folder, as an error of the ledgers."""
    try:
        yield
    except OSError as error:
        raise LedgerUnavailable(f"the folder of ledgers cannot be used: {error.strerror}") from None
