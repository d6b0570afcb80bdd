"""Bodies: those of requests, read under limits that hold before anything is parsed; those of replies, small JSON.

Rules
1. More bytes than the limit, declared or sent, are refused with 413 as soon as that is known.
2. Compressed bodies are refused with 415: a small one could unpack to a huge one, and reports are small.
3. The whole body must arrive within `seconds`; a slow sender gets 408 and loses the connection.
4. Bodies that are under way hold at most `BodyBudget.limit` bytes in sum.  What a single report needs is not counted:
   however many lists are under way, there is room for one more report.
5. Nothing of a body is logged.
6. A refusal has an `error` for programs and a `reason` for the developer who reads it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Generator, Mapping
from typing import Any

from starlette.responses import Response
from starlette.types import Message, Receive, Scope

from rrcollect.publish.report import LARGEST_REPORT
from server_agg.errors import Refusal, StoreError, TooManyBodies

NOT_CACHED = {"cache-control": "no-store"}
CLOSED = {"connection": "close"}
WITH_STATUS = {401: {"www-authenticate": 'Bearer realm="owner"'}, 408: CLOSED, 413: CLOSED}


class BodyBudget:
    """Bytes of bodies that have begun and are not whole, over all connections of this process.

    >>> budget = BodyBudget(10_000)
    >>> budget.take(6_000)
    >>> budget.take(6_000)
    Traceback (most recent call last):
    ...
    server_agg.errors.TooManyBodies: bodies under way hold 6000 of 10000 bytes; send it again in a moment
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0

    def take(self, size: int) -> None:
        """Hold so many more bytes, or refuse."""
        if self.held + size > self.limit:
            raise TooManyBodies(f"bodies under way hold {self.held} of {self.limit} bytes; send it again in a moment")
        self.held += size


def header(scope: Scope, name: bytes) -> bytes | None:
    """A request header by its lower-case name."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return None


async def body_of(
    scope: Scope,
    receive: Receive,
    *,
    limit: int,
    seconds: float,
    budget: BodyBudget,
    kind: bytes = b"application/json",
) -> bytes:
    """The body of a request of this type, or a `Refusal`."""
    given = header(scope, b"content-type")
    if given is None or given.partition(b";")[0].strip().lower() != kind:
        raise Refusal(415, "content_type", f"send {kind.decode()}")
    if header(scope, b"content-encoding") not in (None, b"identity"):
        raise Refusal(415, "content_encoding", "send the body as it is, not compressed")
    length = header(scope, b"content-length")
    if length is not None and (not length.isdigit() or int(length) > limit):
        raise _too_large(limit)
    pieces, size, held = [], 0, 0
    end = time.monotonic() + seconds
    try:
        while True:
            message = await _within(receive, end - time.monotonic())
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > limit:
                raise _too_large(limit)
            if not message.get("more_body", False):
                return b"".join(pieces)
            counted = max(size - LARGEST_REPORT, 0)
            budget.take(counted - held)
            held = counted
    finally:
        budget.held -= held


class _BegunAwaitable:
    """What an awaitable that was begun waits for, and the rest of it."""

    def __init__(self, first: Any, rest: Generator[Any, Any, Message]) -> None:
        self._first = first
        self._rest = rest

    def __await__(self) -> Generator[Any, Any, Message]:
        try:
            yield self._first
            return (yield from self._rest)
        finally:
            self._rest.close()


async def _within(receive: Receive, seconds: float) -> Message:
    """The next piece.  It is usually there already, and then no clock is set: that would take longer than all else."""
    pieces = receive().__await__()
    try:
        first = next(pieces)
    except StopIteration as there:
        message: Message = there.value
    else:
        try:
            async with asyncio.timeout(max(seconds, 0)):
                message = await _BegunAwaitable(first, pieces)
        except TimeoutError:
            raise Refusal(408, "too_slow", "the body did not arrive in time") from None
    if message["type"] == "http.disconnect":
        raise Refusal(400, "disconnected", "the sender went away")
    return message


def _too_large(limit: int) -> Refusal:
    return Refusal(413, "too_large", f"at most {limit} bytes are read")


def reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON, not cached anywhere."""
    return Response(encoded(value), status, {**NOT_CACHED, **(headers or {})}, "application/json")


def encoded(value: Any) -> bytes:
    """The bytes of a reply."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def refusal_reply(refusal: Refusal, headers: Mapping[str, str] | None = None) -> Response:
    """What a refused sender reads; after a fault in reading the body the connection is closed."""
    headers = {**WITH_STATUS.get(refusal.status, {}), **(headers or {})}
    return reply({"error": refusal.code, "reason": refusal.reason}, refusal.status, headers)


def trouble_reply(error: StoreError) -> Response:
    """What a sender reads when the store cannot take it now: come back later."""
    words = {"error": type(error).__name__, "reason": str(error)}
    closed = CLOSED if isinstance(error, TooManyBodies) else {}  # what was not read is not read later either
    return reply(words, error.status, {"retry-after": str(error.retry_after), **closed})
