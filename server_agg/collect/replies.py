"""Replies: small JSON objects.  A refusal has an `error` for programs and a `reason` for the developer who reads it."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from server_agg.errors import Refusal, StoreError, TooManyBodies

NOT_CACHED = {"cache-control": "no-store"}


def reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON, not cached anywhere."""
    return Response(encoded(value), status, {**NOT_CACHED, **(headers or {})}, "application/json")


def encoded(value: Any) -> bytes:
    """The bytes of a reply."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def refusal_reply(refusal: Refusal) -> Response:
    """What a refused sender reads; after a fault in reading the body the connection is closed."""
    headers = {"www-authenticate": 'Bearer realm="owner"'} if refusal.status == 401 else {}
    if refusal.status in (408, 413):
        headers["connection"] = "close"
    return reply({"error": refusal.code, "reason": refusal.reason}, refusal.status, headers)


def trouble_reply(error: StoreError) -> Response:
    """What a sender reads when the store cannot take it now: come back later."""
    words = {"error": type(error).__name__, "reason": str(error)}
    headers = {"retry-after": str(error.retry_after)}
    if isinstance(error, TooManyBodies):
        headers["connection"] = "close"  # what was not read is not read later either
    return reply(words, error.status, headers)
