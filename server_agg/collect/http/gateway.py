"""The gateway of oblivious HTTP (RFC 9458), around the collector: what a relay brings is opened and answered here.

Rules
1. Requests come with the headers in `ALLOWED` and no others: a relay that passes on what names a device (an address, a
   cookie, a browser's name) is refused, and the refusal names the header.
2. The body has one of a few lengths, judged before it is read; it is opened by the key that its first byte names, while
   that key's period lasts and `LATE` longer.  When that is over the private key is erased.
3. A request is opened once: encapsulated keys are remembered, as hashes in the order of the hashes, until their key is
   erased.  A device that tries again seals afresh, and the collector counts its report once.
4. What was opened goes to the collector as a POST with the fixed headers and nothing of the relay's connection; no
   other method, and no other header, is taken.  The reply is padded and sealed for its sender.
5. Whatever is wrong with what was opened, or that it does not open, is told in the same words.  Nothing is logged.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import sqlite3
import stat
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rrcollect.deliver.bhttp import Message as BinaryMessage
from rrcollect.deliver.encapsulation import (
    ENC,
    HEADER,
    MOST_UNITS,
    REPLY_TYPE,
    REQUEST_TYPE,
    TAG,
    UNIT,
    Sealed,
    open_request,
    seal_reply,
    whole_units,
)
from rrcollect.deliver.oblivious import INNER
from rrcollect.errors import KeyFileError, ParameterError, RRCollectError, TransportFailed
from rrcollect.publish.relay import GatewayKey
from server_agg.collect.http.bodies import NOT_CACHED, BodyBudget, body_of, refusal_reply, trouble_reply
from server_agg.errors import Refusal, StoreError
from server_agg.files import new_file

ALLOWED = frozenset({b"host", b"content-type", b"content-length", b"accept", b"accept-encoding", b"connection"})
LENGTHS = frozenset(HEADER + ENC + units * UNIT + TAG for units in range(1, MOST_UNITS + 1))
LATE = timedelta(minutes=10)  # for what a relay held, and for clocks
UNREADABLE = Refusal(400, "unreadable", "this request cannot be opened here")
TABLE = "CREATE TABLE IF NOT EXISTS seen (key INTEGER, enc BLOB, PRIMARY KEY (key, enc)) WITHOUT ROWID"


@dataclass(frozen=True)
class PrivateKey:
    """A private key of a gateway, and what surveys say of it."""

    public: GatewayKey
    private: X25519PrivateKey


class GatewayKeys:
    """The private keys of a gateway, in a file that only its owner may read; beside it the keys that were opened.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "gateway.json")
    >>> keys = GatewayKeys.make(file, datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 3, 1, tzinfo=UTC))
    >>> [f"{key.opens:%d %b} to {key.closes:%d %b}" for key in keys.public()]
    ['01 Jan to 31 Jan', '31 Jan to 01 Mar']
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self._file = Path(file)
        self._lock = threading.Lock()
        try:
            mode, written = stat.S_IMODE(self._file.stat().st_mode), json.loads(self._file.read_text(encoding="utf-8"))
            raw = [X25519PrivateKey.from_private_bytes(bytes.fromhex(one["private"])) for one in written]
            public = [GatewayKey.from_wire(one["public"]) for one in written]
        except (OSError, ValueError, KeyError, TypeError, RRCollectError):
            raise KeyFileError(f"{self._file} is not a file of a gateway's keys that can be read") from None
        if os.name == "posix" and mode & 0o077:
            raise KeyFileError(f"{self._file} has mode {mode:o}: others may read these keys; chmod 600 it first")
        self._keys = [PrivateKey(*both) for both in zip(public, raw, strict=True)]
        self._seen = sqlite3.connect(f"{self._file}.seen", timeout=30, check_same_thread=False, isolation_level=None)
        self._seen.execute("PRAGMA journal_mode = WAL")
        self._seen.execute("PRAGMA secure_delete = ON")
        self._seen.execute(TABLE)

    @classmethod
    def make(cls, file: str | os.PathLike[str], opens: datetime, closes: datetime, *, days: int = 30) -> GatewayKeys:
        """New keys, each for so many days, from one moment to another."""
        if not 1 <= days <= 366 or not opens < closes <= opens + 32 * timedelta(days=days):
            raise ParameterError("days", days, "1 to 366, and at most 32 keys from `opens` to `closes`")
        if Path(file).exists():
            raise KeyFileError(f"{os.fspath(file)} exists already; a key is never overwritten")
        written, begin = list[dict[str, Any]](), opens
        while begin < closes:
            private, end = X25519PrivateKey.generate(), min(begin + timedelta(days=days), closes)
            raw = base64.b64encode(private.public_key().public_bytes_raw()).decode()
            written.append(_wire(PrivateKey(GatewayKey(id=len(written), key=raw, opens=begin, closes=end), private)))
            begin = end
        _write(Path(file), written)
        return cls(file)

    def public(self) -> list[GatewayKey]:
        """The keys as a survey lists them (`Relay`)."""
        return [one.public for one in self._keys]

    def opened(self, data: bytes, now: datetime) -> tuple[bytes, Sealed]:
        """The message in an encapsulated request that was not opened before; `TransportFailed` if it cannot be."""
        self._erase(now)
        fits = (one for one in self._keys if one.public.id == data[0] and one.public.opens - LATE <= now)
        for one in fits:
            message, sealed = open_request(one.public.id, one.private, data)
            place = (one.public.id, hashlib.sha256(sealed.enc).digest())
            with self._lock:
                if not self._seen.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", place).rowcount:
                    raise TransportFailed("this request was opened before")
            return message, sealed
        raise TransportFailed("this gateway has no such key")

    def _erase(self, now: datetime) -> None:
        """Erase private keys whose period is over, here and in the file, and what was remembered for them."""
        over = {one.public.id for one in self._keys if now >= one.public.closes + LATE}
        if over:
            with self._lock:
                self._keys = [one for one in self._keys if one.public.id not in over]
                with open(self._file, "r+b") as opened:  # overwritten, as far as a disk forgets
                    old = opened.fileno()
                    _write(self._file, [_wire(one) for one in self._keys])
                    os.pwrite(old, bytes(os.fstat(old).st_size), 0)
                    os.fsync(old)
                self._seen.executemany("DELETE FROM seen WHERE key = ?", [(one,) for one in over])
                self._seen.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _wire(key: PrivateKey) -> dict[str, Any]:
    return {"public": key.public.to_wire(), "private": key.private.private_bytes_raw().hex()}


def _write(file: Path, written: Sequence[Any]) -> None:
    with new_file(file) as partial:
        opened = os.open(partial, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with open(opened, "w", encoding="utf-8") as whole:
            json.dump(written, whole)


class Gateway:
    """An ASGI application, and at `path` the gateway to it."""

    def __init__(self, app: ASGIApp, keys: GatewayKeys, *, path: str = "/gateway", seconds: float = 10.0) -> None:
        self._app, self._keys, self._path, self._seconds = app, keys, path, seconds
        self._budget = BodyBudget(64 * max(LENGTHS))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].endswith(self._path):
            await self._app(scope, receive, send)
            return
        try:
            inner, sealed = await self._opened(scope, receive)
            status, said = await self._answered(scope, inner)
            message = BinaryMessage((b"%d" % status,), INNER, said).packed(whole_units(len(said) + 256))
            reply = await asyncio.to_thread(seal_reply, sealed, message)
            response = Response(reply, 200, NOT_CACHED, REPLY_TYPE)
        except Refusal as refusal:
            response = refusal_reply(refusal)
        except StoreError as error:
            response = trouble_reply(error)
        await response(scope, receive, send)

    async def _opened(self, scope: Scope, receive: Receive) -> tuple[BinaryMessage, Sealed]:
        """What a relay brings, read and opened (rules 1 to 3)."""
        if scope["method"] != "POST":
            raise Refusal(405, "http", "this address takes another method")
        strange = next((name for name, _ in scope["headers"] if name not in ALLOWED), None)
        if strange is not None:
            named = strange.decode("latin-1")[:40]
            raise Refusal(400, "header", f"a relay strips every header but its own; this request has {named!r}")
        how: dict[str, Any] = {"limit": max(LENGTHS), "seconds": self._seconds, "budget": self._budget}
        body = await body_of(scope, receive, kind=REQUEST_TYPE.encode(), **how)
        if len(body) not in LENGTHS:
            raise UNREADABLE
        try:
            message, sealed = await asyncio.to_thread(self._keys.opened, body, datetime.now(UTC))
            inner = BinaryMessage.unpacked(message)
        except TransportFailed:
            raise UNREADABLE from None
        path = inner.control[-1]
        plain = path.isascii() and path.startswith(b"/") and not set(path) & set(b"?#% ")
        if len(inner.control) != 4 or inner.control[0] != b"POST" or inner.headers != INNER or not plain:
            raise UNREADABLE
        return inner, sealed

    async def _answered(self, scope: Scope, inner: BinaryMessage) -> tuple[int, bytes]:
        """What the application says to what was opened; it learns nothing of the relay's connection (rule 4)."""
        headers = [(b"host", inner.control[2]), *INNER, (b"content-length", b"%d" % len(inner.content))]
        path = inner.control[3]
        asked = {**scope, "method": "POST", "path": path.decode(), "raw_path": path, "query_string": b"",
                 "headers": headers, "client": None}  # fmt: skip
        status, pieces = 500, list[bytes]()

        async def receive() -> Message:
            return {"type": "http.request", "body": inner.content, "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                pieces.append(message.get("body", b""))

        if asked["path"].endswith(self._path):
            raise UNREADABLE
        await self._app(asked, receive, send)
        said = b"".join(pieces)
        return (status, said) if len(said) <= (MOST_UNITS - 1) * UNIT else (500, b"")
