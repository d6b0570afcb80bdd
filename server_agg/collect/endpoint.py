"""What surrounds every endpoint: refusals and troubles become replies.

A person whose link leads nowhere reads a page, a program reads JSON.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from server_agg.collect import pages
from server_agg.collect.languages import words_for
from server_agg.collect.replies import refusal_reply, reply, trouble_reply
from server_agg.collect.request_body import header
from server_agg.collect.security_headers import own_path
from server_agg.errors import Refusal, StoreError

Endpoint = Callable[[Request], Awaitable[Response]]


def answered(endpoint: Endpoint) -> Endpoint:
    """The endpoint, with refusals and troubles as replies."""

    async def told(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Refusal as refusal:
            return _for_people(request) if refusal.status == 404 and _is_person(request) else refusal_reply(refusal)
        except StoreError as error:
            return trouble_reply(error)

    return told


def _is_person(request: Request) -> bool:
    return request.method == "GET" and b"text/html" in (header(request.scope, b"accept") or b"")


def _for_people(request: Request) -> Response:
    page = pages.missing_page(own_path(request.scope), words_for(request.scope))
    return Response(page, 404, {"cache-control": "no-store"}, "text/html")


async def not_here(request: Request, error: HTTPException) -> Response:
    """What stands at an address that is not one of ours, or takes another method."""
    if error.status_code == 404 and _is_person(request):
        return _for_people(request)
    headers = dict(error.headers or {})
    words = {404: "there is nothing at this address", 405: "this address takes another method"}
    body = {"error": "http", "reason": words.get(error.status_code, error.detail)}
    return reply(body, error.status_code, headers)
