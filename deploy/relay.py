"""A relay of oblivious HTTP (RFC 9458): it knows who sends and not what; the gateway knows what and not who.

It must be run by somebody else than the collector, behind a server that speaks TLS (`Caddyfile.relay`):

    RELAY_GATEWAY=https://collect.example.org/gateway uvicorn deploy.relay:relay --no-access-log --no-server-header

Nothing of a request but its body goes on.  Connections to the gateway are shared by everybody.  `RELAY_HOLD` holds each
request for a random time of up to so many seconds (60 at most), so that moments tell less.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

GATEWAY, HOLD = os.environ["RELAY_GATEWAY"], min(float(os.environ.get("RELAY_HOLD", "0")), 60.0)
LARGEST = 17 * 10_240  # bytes
CORS = {"access-control-allow-origin": "*", "access-control-allow-headers": "content-type", "cache-control": "no-store"}


@asynccontextmanager
async def running(app: Starlette) -> AsyncIterator[dict[str, httpx.AsyncClient]]:
    """One pool of connections to the gateway, for all requests."""
    async with httpx.AsyncClient(timeout=30, follow_redirects=False) as gateway:
        yield {"gateway": gateway}


async def forward(request: Request) -> Response:
    """Pass a sealed request on, and its sealed reply back."""
    if request.method == "OPTIONS":
        return Response(status_code=204, headers=CORS)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST:
            return Response(status_code=413, headers=CORS)
    await asyncio.sleep(HOLD * secrets.randbelow(10**6) / 10**6)
    passed = httpx.Request("POST", GATEWAY, content=bytes(body), headers={"content-type": "message/ohttp-req"})
    try:
        reply = await request.state.gateway.send(
            passed
        )  # `Request` itself, so that the client adds no header of its own
    except httpx.HTTPError:
        return Response(status_code=502, headers=CORS)
    kind = reply.headers.get("content-type", "")
    good = reply.status_code == 200 and kind == "message/ohttp-res" and len(reply.content) <= LARGEST
    return Response(reply.content if good else b"", 200 if good else 502, CORS, "message/ohttp-res")


relay = Starlette(routes=[Route("/relay", forward, methods=["POST", "OPTIONS"])], lifespan=running)
