"""The collector below a path, or inside another application.

Rules
1. Below a prefix it works whether or not the proxy in front takes the prefix away.
2. The prefix alone is sent on to the prefix with a slash: addresses in pages are relative.
3. A mounted application is not told when its host starts and ends; `collector_lifespan` tells it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class CollectorApp:
    """The collector as an ASGI application.  Where it is mounted in another one, `collector_lifespan` runs it."""

    def __init__(self, app: ASGIApp, running: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        self._app = app
        self.running = running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def collector_lifespan(*collectors: CollectorApp) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """The `lifespan` of a Starlette or FastAPI application that mounts collectors: these are not told of its start and
    end otherwise, and the end is when what was accepted is committed and the store is closed.

    >>> import asyncio, pathlib, tempfile
    >>> from server_agg import OwnerToken, create_app, open_store
    >>> store = open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3"))
    >>> collector = create_app(store, OwnerToken("correct horse battery"))
    >>> async def host():                              # Starlette(routes=[Mount("/collect", collector)], lifespan=…)
    ...     async with collector_lifespan(collector)(None):
    ...         return "requests are served here"
    >>> asyncio.run(host())
    'requests are served here'
    """

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for collector in collectors:
                await stack.enter_async_context(collector.running())
            yield

    return lifespan


def below(prefix: str, app: ASGIApp) -> ASGIApp:
    """The application, reached below a prefix; a proxy may have taken it away."""
    if not prefix:
        return app

    async def placed(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or scope.get("root_path"):
            await app(scope, receive, send)
        elif path == prefix:
            await RedirectResponse(prefix.rpartition("/")[2] + "/")(scope, receive, send)
        elif path.startswith(prefix + "/"):
            await app({**scope, "root_path": prefix}, receive, send)
        else:
            await app(scope, receive, send)

    return placed
