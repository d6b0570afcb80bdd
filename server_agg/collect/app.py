"""The application: every route, over one store.

Rules
1. What needs the owner's token asks for it before it reads anything else.
2. Without the token results are those of the last release, and nothing else; with it they are the live counts.
3. Work that may wait for the database runs in a thread; the event loop only ever waits for the group commit.
4. On shutdown what was accepted is committed before the store is closed.
5. It may be mounted below a path, or reached below `settings.prefix`, whether or not a proxy takes that path away.
6. A person whose link leads nowhere reads a page; a program reads JSON.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from server_agg.collect import openapi, pages
from server_agg.collect.catalogue import Catalogue
from server_agg.collect.endpoint import answered, not_here
from server_agg.collect.group_commit import GroupCommit
from server_agg.collect.housekeeping import keep_house
from server_agg.collect.http.findings import PublicResults, as_csv, live_results
from server_agg.collect.intake import Intake
from server_agg.collect.invites import MOST_INVITES
from server_agg.collect.languages import words_for
from server_agg.collect.logs import Watch
from server_agg.collect.metrics import Metrics
from server_agg.collect.mounting import CollectorApp, below
from server_agg.collect.owner import OwnerToken
from server_agg.collect.replies import NOT_CACHED, encoded, reply
from server_agg.collect.request_body import BodyBudget, header
from server_agg.collect.security_headers import Guard, own_origin, own_path, results_policy, survey_policy
from server_agg.collect.settings import Settings
from server_agg.collect.store.store import Store
from server_agg.collect.survey_routes import SurveyRoutes
from server_agg.errors import Refusal, StoreError


def create_app(store: Store, owner: OwnerToken, settings: Settings | None = None) -> CollectorApp:
    """The collector as an ASGI application; it closes the store when it is shut down.

    >>> import tempfile, pathlib
    >>> from server_agg.collect.store.store import open_store
    >>> store = open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3"))
    >>> app = create_app(store, OwnerToken("correct horse battery"))    # uvicorn.run(app) would serve it
    >>> callable(app), store.disconnect()
    (True, None)
    """
    return Collector(store, owner, settings or Settings()).app()


class Collector:
    """The routes and what they share."""

    def __init__(self, store: Store, owner: OwnerToken, settings: Settings) -> None:
        self.store = store
        self.owner = owner
        self.settings = settings
        self.catalogue = Catalogue(store.shelf)
        self.metrics = Metrics()
        self.watch = Watch(settings.minimum)
        self.budget = BodyBudget(settings.body_budget)
        self.writer = GroupCommit(
            store,
            queue_limit=settings.queue_limit,
            batch_limit=settings.batch_limit,
            fold_seconds=settings.fold_seconds,
            watch=self._committed,
            watch_fold=self._folded,
        )
        self.surveys = SurveyRoutes(
            store, owner, self.catalogue, settings, budget=self.budget, changed=self._forget_findings
        )
        self._found: dict[bool, tuple[float, list[dict[str, Any]], dict[tuple[str | None, str], bytes]]] = {}  # live?
        self._public = PublicResults(store)
        self._counting = asyncio.Lock()

    def app(self) -> CollectorApp:
        """All of it, guarded."""
        intake = Intake(
            self.catalogue, self.writer, self.metrics, self.settings, budget=self.budget, refused=self._refused
        )
        routes = [
            Route("/reports", intake, methods=["POST"]),
            *self.surveys.routes(),
            Route("/results", answered(self.results)),
            Route("/", answered(self.board_page)),
            Route("/r/{digest}", answered(self.results_page)),
            Route("/r/{digest}/embed", answered(self.embedded_page)),
            Route("/owner", answered(self.owner_page)),
            Route("/s/{digest}", answered(self.survey_page)),
            Route("/assets/{name:path}", answered(self.asset)),
            Route("/livez", answered(self.alive)),
            Route("/readyz", answered(self.ready)),
            Route("/metrics", answered(self.metrics_page)),
            Route("/openapi.json", answered(self.description)),
        ]
        handlers: Any = {HTTPException: not_here}
        app = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=handlers)
        app.router.redirect_slashes = False

        async def at_once(scope: Scope, receive: Receive, send: Send) -> None:
            """Reports straight to the intake: a sixth of their time would go to the router."""
            http = scope["type"] == "http"
            path = own_path(scope) if http else ""
            reports = http and path == "/reports" and scope["method"] == "POST"
            await (intake if reports else app)(scope, receive, send)

        guarded = below(self.settings.prefix, Guard(at_once, self._lists))
        return CollectorApp(guarded, partial(self._lifespan, None))

    @asynccontextmanager
    async def _lifespan(self, app: Starlette | None) -> AsyncIterator[None]:
        house = asyncio.create_task(keep_house(self.store, self.catalogue, self.watch, self.settings))
        yield
        house.cancel()
        await asyncio.to_thread(self.writer.close)
        await asyncio.to_thread(self.store.disconnect)
        self.watch.tell()

    def _forget_findings(self) -> None:
        """What was counted is counted again: something was published, released, closed or withdrawn."""
        self._found.clear()

    def _committed(self, reports: int, seconds: float, trouble: StoreError | None) -> None:
        """Called by the writer after every transaction."""
        self.watch.store(trouble)
        self.metrics.waiting(self.writer.waiting)
        if trouble is None:
            self.metrics.committed(reports, seconds)

    def _folded(self, trouble: StoreError | None) -> None:
        """Called by the writer after every fold."""
        self.watch.store(trouble, "folding")
        self.metrics.folded(self.store.folds.unfolded, failed=trouble is not None)

    def _refused(self, reason: str) -> None:
        self.watch.refused(reason)
        self.metrics.refused(reason)

    # ---- the owner's ------------------------------------------------------------------------------------------

    def _owner_only(self, request: Request) -> None:
        self.owner.check(header(request.scope, b"authorization"))

    async def results(self, request: Request) -> Response:
        """GET /results"""
        live = not self.settings.public_results or header(request.scope, b"authorization") is not None
        if live:
            self._owner_only(request)
        form = request.query_params.get("format", "json")
        if form not in ("json", "csv") or set(request.query_params) - {"format", "survey"}:
            raise Refusal(400, "query", "the query takes survey=<digest> and format=json or format=csv")
        digest = request.query_params.get("survey")
        if digest is not None:
            await self.surveys.listed(digest)
        body = await self._findings(digest, form, live=live)
        if form == "json":
            return Response(body, 200, NOT_CACHED, "application/json")
        headers = {**NOT_CACHED, "content-disposition": 'attachment; filename="results.csv"'}
        return Response(body, 200, headers, "text/csv")

    async def _findings(self, digest: str | None, form: str, *, live: bool) -> bytes:
        async with self._counting:  # many readers, one count, and each form of it is written once
            found = self._found.get(live)
            if found is None or time.monotonic() - found[0] >= self.settings.results_age:
                counted = await asyncio.to_thread(self._count if live else self._released)
                self._found[live] = found = time.monotonic(), counted, {}
            _, surveys, written = found
            if (digest, form) not in written:
                chosen = [one for one in surveys if digest in (None, one["digest"])]
                written[digest, form] = await asyncio.to_thread(_written, chosen, form)
            return written[digest, form]

    def _count(self) -> list[dict[str, Any]]:
        self.catalogue.refresh()
        self.store.folds.fold_unless_busy()
        tallies, minimum, states = self.store.tallies(), self.settings.minimum, self.surveys.states()
        return [
            live_results(self.store, listed.survey, tallies, minimum) | states[listed.published.digest]
            for listed in self.catalogue.all()
        ]

    def _released(self) -> list[dict[str, Any]]:
        self.catalogue.refresh()
        states = self.surveys.states()
        return [self._public.of(listed.survey) | states[listed.published.digest] for listed in self.catalogue.all()]

    # ---- everybody's ------------------------------------------------------------------------------------------

    async def _lists(self, origin: str, digest: str | None) -> bool:
        """Whether this survey, or any, lists an origin; one that another process published is looked for too."""
        if not self.catalogue.lists(origin, digest):
            with suppress(StoreError):  # the request itself will tell
                await asyncio.to_thread(self.catalogue.look_again)
        return self.catalogue.lists(origin, digest)

    async def survey_page(self, request: Request) -> Response:
        """GET /s/{digest}"""
        listed = await self.surveys.listed(request.path_params["digest"])
        origin = own_origin(request.scope, https=self.settings.https)
        page, status = pages.survey_page(listed, origin, words_for(request.scope), self.surveys.prefix(request))
        headers = {"cache-control": "no-cache", "vary": "accept-language"}
        headers |= survey_policy(listed.survey.collector) if status == 200 else {}
        return Response(page, status, headers, "text/html")

    async def board_page(self, request: Request) -> Response:
        """GET /: what was released of every survey; where results are not public, on to the owner's page."""
        if not self.settings.public_results:
            return Response(status_code=307, headers={"location": "./owner", "cache-control": "no-cache"})
        return _page(pages.board_page())

    async def results_page(self, request: Request) -> Response:
        """GET /r/{digest}: what was released of one survey."""
        return _page(pages.results_page(await self._public_digest(request)))

    async def embedded_page(self, request: Request) -> Response:
        """GET /r/{digest}/embed: the same without buttons, for a frame in another page."""
        return _page(pages.embedded_page(await self._public_digest(request)), framed=True)

    async def _public_digest(self, request: Request) -> str:
        if not self.settings.public_results:
            raise Refusal(404, "not_public", "results are not public here")
        return (await self.surveys.listed(request.path_params["digest"])).published.digest

    async def owner_page(self, request: Request) -> Response:
        """GET /owner: the frame; what it shows needs the token."""
        return _page(pages.owner_page(public=self.settings.public_results))

    async def asset(self, request: Request) -> Response:
        """GET /assets/{name}, also of a folder below"""
        found = pages.asset(request.path_params["name"])
        if found is None:
            raise Refusal(404, "unknown", "there is no such file")
        headers = {"cache-control": "no-cache", "service-worker-allowed": "/", "vary": "accept-encoding"}
        if b"gzip" in (header(request.scope, b"accept-encoding") or b""):
            return Response(pages.packed(found[0]), 200, {**headers, "content-encoding": "gzip"}, found[1])
        return Response(found[0], 200, headers, found[1])

    async def alive(self, request: Request) -> Response:
        """GET /livez: the process answers."""
        return reply({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """GET /readyz: the store can be reached too.  How many wait is not told: it moves with every report."""
        try:
            await asyncio.to_thread(self.store.epochs.alive)
        except StoreError as error:
            self.watch.store(error, "reaching")
            raise
        self.watch.store(None, "reaching")
        return reply({"status": "ok"})

    async def metrics_page(self, request: Request) -> Response:
        """GET /metrics"""
        self._owner_only(request)
        self.metrics.waiting(self.writer.waiting)
        return Response(self.metrics.text(), 200, {"cache-control": "no-store"}, "text/plain")

    async def description(self, request: Request) -> Response:
        """GET /openapi.json"""
        settings = self.settings
        return reply(openapi.description(settings.list_limit, MOST_INVITES, public_results=settings.public_results))


def _written(surveys: list[dict[str, Any]], form: str) -> bytes:
    return as_csv(surveys).encode() if form == "csv" else encoded({"surveys": surveys})


def _page(page: str, *, framed: bool = False) -> Response:
    return Response(page, 200, {"cache-control": "no-cache", **results_policy(framed=framed)}, "text/html")
