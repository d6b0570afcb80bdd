"""The application: every route, over one store.

Rules
1. What needs the owner's token asks for it before it reads anything else.
2. Work that may wait for the database runs in a thread; the event loop only ever waits for the group commit.
3. On shutdown what was accepted is committed before the store is closed.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rrcollect.errors import SurveyRefused
from rrcollect.publish.canonical import read
from rrcollect.publish.envelope import LARGEST_ENVELOPE
from server_agg.collect import openapi, pages
from server_agg.collect.catalogue import Catalogue, CatalogueEntry
from server_agg.collect.errors import Refusal, StoreError
from server_agg.collect.group_commit import GroupCommit
from server_agg.collect.intake import Intake
from server_agg.collect.metrics import Metrics
from server_agg.collect.owner import OwnerToken
from server_agg.collect.replies import refusal_reply, reply, trouble_reply
from server_agg.collect.request_body import body_of, header
from server_agg.collect.security_headers import Guard
from server_agg.collect.settings import Settings
from server_agg.collect.spreadsheet import as_csv
from server_agg.collect.store import Store
from server_agg.collect.stored_report import ticket_hash
from server_agg.report.survey_results import survey_results

__all__ = ["create_app"]

MOST_INVITES = 10_000
Endpoint = Callable[[Request], Awaitable[Response]]


def create_app(store: Store, owner: OwnerToken, settings: Settings | None = None) -> ASGIApp:
    """The collector as an ASGI application; it closes the store when it is shut down.

    >>> import tempfile, pathlib
    >>> from server_agg.collect.stores import open_store
    >>> store = open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3"))
    >>> app = create_app(store, OwnerToken("correct horse battery"))    # uvicorn.run(app) would serve it
    >>> callable(app), store.close()
    (True, None)
    """
    return Collector(store, owner, settings or Settings()).app()


class Collector:
    """The routes and what they share."""

    def __init__(self, store: Store, owner: OwnerToken, settings: Settings) -> None:
        self.store = store
        self.owner = owner
        self.settings = settings
        self.catalogue = Catalogue(store)
        self.metrics = Metrics()
        self.writer = GroupCommit(store, queue_limit=settings.queue_limit, batch_limit=settings.batch_limit)
        self._found: tuple[float, list[dict[str, Any]]] | None = None
        self._counting = asyncio.Lock()

    def app(self) -> ASGIApp:
        """All of it, guarded."""
        intake = Intake(self.catalogue, self.writer, self.metrics, self.settings)
        routes = [
            Route("/reports", intake, methods=["POST"]),
            Route("/surveys", _answered(self.publish), methods=["POST"]),
            Route("/surveys/{digest}", _answered(self.envelope)),
            Route("/surveys/{digest}/invites", _answered(self.invites), methods=["POST"]),
            Route("/results", _answered(self.results)),
            Route("/", _answered(self.results_page)),
            Route("/s/{digest}", _answered(self.survey_page)),
            Route("/assets/{name}", _answered(self.asset)),
            Route("/healthz", _answered(self.health)),
            Route("/metrics", _answered(self.metrics_page)),
            Route("/openapi.json", _answered(self.description)),
        ]
        handlers: Any = {HTTPException: _not_here}
        app = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=handlers)
        app.router.redirect_slashes = False

        async def at_once(scope: Scope, receive: Receive, send: Send) -> None:
            """Reports straight to the intake: a sixth of their time would go to the router."""
            reports = scope["type"] == "http" and scope["path"] == "/reports" and scope["method"] == "POST"
            await (intake if reports else app)(scope, receive, send)

        return Guard(at_once, self.settings.origins)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(self.writer.close)
        await asyncio.to_thread(self.store.close)

    # ---- the owner's ------------------------------------------------------------------------------------------

    def _owner_only(self, request: Request) -> None:
        self.owner.check(header(request.scope, b"authorization"))

    async def _body(self, request: Request, limit: int) -> bytes:
        return await body_of(request.scope, request.receive, limit=limit, seconds=self.settings.body_seconds)

    async def publish(self, request: Request) -> Response:
        """POST /surveys"""
        self._owner_only(request)
        envelope = await self._body(request, LARGEST_ENVELOPE)
        keys = request.query_params.getlist("key")
        listed, new = await asyncio.to_thread(self.catalogue.publish, envelope, keys)
        digest = listed.published.digest
        return reply({"digest": digest, "page": f"/s/{digest}"}, 201 if new else 200)

    async def invites(self, request: Request) -> Response:
        """POST /surveys/{digest}/invites"""
        self._owner_only(request)
        listed = await self._listed(request.path_params["digest"])
        try:
            asked = read(await self._body(request, 1024), 1024)
        except SurveyRefused as error:
            raise Refusal(400, "malformed", str(error)) from None
        count = asked.get("count") if isinstance(asked, dict) and set(asked) == {"count"} else None
        if type(count) is not int or not 1 <= count <= MOST_INVITES:
            raise Refusal(400, "count", f'send {{"count": N}} with N from 1 to {MOST_INVITES}')
        made = [secrets.token_urlsafe(16) for _ in range(count)]
        await asyncio.to_thread(self.store.add_invites, listed.published.digest, [ticket_hash(i) for i in made])
        return reply({"invites": made}, 201)

    async def results(self, request: Request) -> Response:
        """GET /results"""
        if not self.settings.public_results:
            self._owner_only(request)
        form = request.query_params.get("format", "json")
        if form not in ("json", "csv") or set(request.query_params) - {"format", "survey"}:
            raise Refusal(400, "query", "the query takes survey=<digest> and format=json or format=csv")
        digest = request.query_params.get("survey")
        if digest is not None:
            await self._listed(digest)
        found = [one for one in await self._findings() if digest in (None, one["digest"])]
        if form == "json":
            return reply({"surveys": found})
        headers = {"cache-control": "no-store", "content-disposition": 'attachment; filename="results.csv"'}
        return Response(as_csv(found), 200, headers, "text/csv")

    async def _findings(self) -> list[dict[str, Any]]:
        async with self._counting:  # many readers, one count
            if self._found is None or time.monotonic() - self._found[0] >= self.settings.results_age:
                found = await asyncio.to_thread(self._count)
                self._found = time.monotonic(), found
            return self._found[1]

    def _count(self) -> list[dict[str, Any]]:
        self.catalogue.refresh()
        tallies, minimum = self.store.tallies(), self.settings.minimum
        return [survey_results(tallies, listed.survey, minimum=minimum).as_dict() for listed in self.catalogue.all()]

    # ---- everybody's ------------------------------------------------------------------------------------------

    async def _listed(self, digest: str) -> CatalogueEntry:
        listed = self.catalogue.known(digest) or await asyncio.to_thread(self.catalogue.find, digest)
        if listed is None:
            raise Refusal.of("unknown_survey")
        return listed

    async def envelope(self, request: Request) -> Response:
        """GET /surveys/{digest}"""
        listed = await self._listed(request.path_params["digest"])
        headers = {"cache-control": "public, max-age=3600, immutable"}
        return Response(listed.published.envelope, 200, headers, "application/json")

    async def survey_page(self, request: Request) -> Response:
        """GET /s/{digest}"""
        listed = await self._listed(request.path_params["digest"])
        return Response(pages.survey_page(listed), 200, {"cache-control": "no-cache"}, "text/html")

    async def results_page(self, request: Request) -> Response:
        """GET /"""
        page = pages.results_page(public=self.settings.public_results)
        return Response(page, 200, {"cache-control": "no-cache"}, "text/html")

    async def asset(self, request: Request) -> Response:
        """GET /assets/{name}"""
        found = pages.asset(request.path_params["name"])
        if found is None:
            raise Refusal(404, "unknown", "there is no such file")
        return Response(found[0], 200, {"cache-control": "no-cache"}, found[1])

    async def health(self, request: Request) -> Response:
        """GET /healthz"""
        await asyncio.to_thread(self.store.alive)
        return reply({"status": "ok", "waiting": self.writer.waiting})

    async def metrics_page(self, request: Request) -> Response:
        """GET /metrics"""
        return Response(self.metrics.text(self.writer), 200, {"cache-control": "no-store"}, "text/plain")

    async def description(self, request: Request) -> Response:
        """GET /openapi.json"""
        settings = self.settings
        return reply(openapi.description(settings.list_limit, MOST_INVITES, public_results=settings.public_results))


def _answered(endpoint: Endpoint) -> Endpoint:
    """The endpoint, with refusals and troubles as replies."""

    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Refusal as refusal:
            return refusal_reply(refusal)
        except StoreError as error:
            return trouble_reply(error)

    return answered


async def _not_here(request: Request, error: HTTPException) -> Response:
    headers = dict(error.headers or {})
    words = {404: "there is nothing at this address", 405: "this address takes another method"}
    body = {"error": "http", "reason": words.get(error.status_code, error.detail)}
    return reply(body, error.status_code, headers)
