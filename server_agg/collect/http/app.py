"""The application: every route, over one store.

Rules
1. What needs the owner's token asks for it before it reads anything else.
2. Without the token results are those of the last release, and nothing else; with it they are the live counts.
3. Work that may wait for the database runs in a thread; the event loop only ever waits for the group commit.
4. On shutdown what was accepted is committed before the store is closed.
5. It may be mounted below a path, or reached below `settings.prefix`, whether or not a proxy takes that path away.
6. Below a prefix the prefix alone is sent on to the prefix with a slash: addresses in pages are relative.
7. A mounted application is not told when its host starts and ends; `lifespan` tells it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rrcollect.publish.survey import Survey
from server_agg.collect.catalogue import LOOK_AGAIN, Catalogue
from server_agg.collect.group_commit import GroupCommit
from server_agg.collect.housekeeping import keep_house
from server_agg.collect.http import pages
from server_agg.collect.http.bodies import NOT_CACHED, BodyBudget, header, reply
from server_agg.collect.http.findings import Findings
from server_agg.collect.http.headers import Guard, own_origin, own_path, results_policy, survey_policy, words_for
from server_agg.collect.http.intake import Intake
from server_agg.collect.http.log import LogRoutes
from server_agg.collect.http.surveys import MOST_MADE, SurveyRoutes
from server_agg.collect.http.tokens import TokenRoutes
from server_agg.collect.issuing import Accepts, Issuing
from server_agg.collect.logs import Watch
from server_agg.collect.metrics import Metrics
from server_agg.collect.settings import CollectorSettings, OwnerToken
from server_agg.collect.store.log import begin_log
from server_agg.collect.store.store import Store
from server_agg.errors import Refusal, StoreError


class CollectorApp:
    """The collector as an ASGI application.  Where it is mounted in another one, `lifespan` runs it."""

    def __init__(self, app: ASGIApp, running: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        self._app = app
        self.running = running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def lifespan(*collectors: CollectorApp) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """The `lifespan` of a Starlette or FastAPI application that mounts collectors: these are not told of its start and
    end otherwise, and the end is when what was accepted is committed and the store is closed.

    >>> import asyncio, pathlib, tempfile
    >>> from server_agg import OwnerToken, open_store
    >>> store = open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3"))
    >>> collector = create_app(store, OwnerToken("correct horse battery"))
    >>> async def host():                              # Starlette(routes=[Mount("/collect", collector)], lifespan=…)
    ...     async with lifespan(collector)(None):
    ...         return "requests are served here"
    >>> asyncio.run(host())
    'requests are served here'
    """

    @asynccontextmanager
    async def running(app: Any) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for collector in collectors:
                await stack.enter_async_context(collector.running())
            yield

    return running


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


def gateway(app: ASGIApp, keys: str, seconds: float) -> ASGIApp:
    """The application, with a gateway for oblivious HTTP in front of it."""
    from server_agg.collect.http.gateway import Gateway, GatewayKeys

    return Gateway(app, GatewayKeys(keys), seconds=seconds)


def create_app(
    store: Store, owner: OwnerToken, settings: CollectorSettings | None = None, *, accepts: Accepts | None = None
) -> CollectorApp:
    """The collector as an ASGI application; it closes the store when it is shut down.  `accepts` judges what proves an
    invite (a survey's digest, and 32 digits) where tokens are issued, in the place of the invites that were uploaded.

    >>> import tempfile, pathlib
    >>> from server_agg.collect.store.store import open_store
    >>> store = open_store(pathlib.Path(tempfile.mkdtemp(), "reports.sqlite3"))
    >>> app = create_app(store, OwnerToken("correct horse battery"))    # uvicorn.run(app) would serve it
    >>> callable(app), store.disconnect()
    (True, None)
    """
    return Collector(store, owner, settings or CollectorSettings(), accepts).app()


@dataclass(eq=False)
class Collector:
    """The routes and what they share."""

    store: Store
    owner: OwnerToken
    settings: CollectorSettings
    accepts: Accepts | None = None

    def __post_init__(self) -> None:
        store, settings = self.store, self.settings
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
        self.findings = Findings(store, self.catalogue, settings)
        changed = self.findings.forget
        self.log = LogRoutes.of(store.database, settings, self.budget)
        self.surveys = SurveyRoutes(store, self.owner, self.catalogue, settings, self.budget, changed, self.log.logged)
        how: dict[str, Any] = {"withdrawn": self.catalogue.withdrawn, "accepts": self.accepts}
        self.issuing = Issuing(store.epochs, self.catalogue.find, **how)

    def app(self) -> CollectorApp:
        """All of it, guarded."""
        intake = Intake(
            self.catalogue, self.writer, self.metrics, self.settings, self.budget, self._refused, self.issuing
        )
        routes = [
            Route("/reports", intake, methods=["POST"]),
            *self.surveys.routes(),
            *self.log.routes(),
            *TokenRoutes(self.issuing, self.surveys).routes(),
            Route("/results", self.results),
            Route("/", self.board_page),
            Route("/r/{digest}", self.results_page),
            Route("/r/{digest}/embed", self.results_page),
            Route("/owner", self.owner_page),
            Route("/s/{digest}", self.survey_page),
            Route("/assets/{name:path}", self.asset),
            Route("/livez", self.alive),
            Route("/readyz", self.ready),
            Route("/metrics", self.metrics_page),
            Route("/openapi.json", self.description),
        ]
        handlers: Any = dict.fromkeys((HTTPException, Refusal, StoreError), pages.told)
        app = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=handlers)
        app.router.redirect_slashes = False

        async def at_once(scope: Scope, receive: Receive, send: Send) -> None:
            """Reports straight to the intake: a sixth of their time would go to the router."""
            http = scope["type"] == "http"
            path = own_path(scope) if http else ""
            reports = http and path == "/reports" and scope["method"] == "POST"
            await (intake if reports else app)(scope, receive, send)

        guarded = below(self.settings.prefix, Guard(at_once, self._lists))
        if self.settings.gateway_keys is not None:
            guarded = gateway(guarded, self.settings.gateway_keys, self.settings.body_seconds)
        return CollectorApp(guarded, partial(self._lifespan, None))

    @asynccontextmanager
    async def _lifespan(self, app: Starlette | None) -> AsyncIterator[None]:
        await asyncio.to_thread(begin_log, self.store.database, self.owner.hashed)
        house = asyncio.create_task(keep_house(self.store, self.catalogue, self.watch, self.settings))
        yield
        house.cancel()
        await asyncio.to_thread(self.writer.close)
        await asyncio.to_thread(self.store.disconnect)
        self.watch.tell()

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

    async def results(self, request: Request) -> Response:
        """GET /results"""
        live = not self.settings.public_results or header(request.scope, b"authorization") is not None
        if live:
            self.surveys.owner_only(request)
        form = request.query_params.get("format", "json")
        if form not in ("json", "csv") or set(request.query_params) - {"format", "survey"}:
            raise Refusal(400, "query", "the query takes survey=<digest> and format=json or format=csv")
        digest = request.query_params.get("survey")
        if digest is not None:
            await self.surveys.listed(digest)
        body = await self.findings.written(digest, form, live=live)
        if form == "json":
            return Response(body, 200, NOT_CACHED, "application/json")
        headers = {**NOT_CACHED, "content-disposition": 'attachment; filename="results.csv"'}
        return Response(body, 200, headers, "text/csv")

    # ---- everybody's ------------------------------------------------------------------------------------------

    async def _lists(self, origin: str, digest: str | None) -> bool:
        """Whether this survey, or any, lists an origin; one that another process published is looked for too."""
        if not self.catalogue.lists(origin, digest):
            with suppress(StoreError):  # the request itself will tell
                await asyncio.to_thread(self.catalogue.refresh, LOOK_AGAIN)
        return self.catalogue.lists(origin, digest)

    async def survey_page(self, request: Request) -> Response:
        """GET /s/{digest}"""
        listed = await self.surveys.listed(request.path_params["digest"])
        origin = own_origin(request.scope, https=self.settings.https)
        await asyncio.to_thread(self.catalogue.refresh, LOOK_AGAIN)
        logged = self.catalogue.of_name(listed.published)
        prefix = self.surveys.prefix(request)
        page, status = pages.survey_page(listed, origin, words_for(request.scope), prefix, logged)
        headers = {"cache-control": "no-cache", "vary": "accept-language"}
        headers |= _page_policy(listed.survey) if status == 200 else {}
        return Response(page, status, headers, "text/html")

    async def board_page(self, request: Request) -> Response:
        """GET /: what was released of every survey; where results are not public, on to the owner's page."""
        if not self.settings.public_results:
            return Response(status_code=307, headers={"location": "./owner", "cache-control": "no-cache"})
        return _page(pages.board_page())

    async def results_page(self, request: Request) -> Response:
        """GET /r/{digest}: what was released of one survey; GET /r/{digest}/embed: the same without buttons, for a
        frame in another page."""
        if not self.settings.public_results:
            raise Refusal(404, "not_public", "results are not public here")
        listed = await self.surveys.listed(request.path_params["digest"])
        embedded = request.scope["path"].endswith("/embed")
        return _page(pages.board_page(listed.published.digest, embedded=embedded), framed=embedded)

    async def owner_page(self, request: Request) -> Response:
        """GET /owner: the frame; what it shows needs the token."""
        return _page(pages.owner_page(public=self.settings.public_results))

    async def asset(self, request: Request) -> Response:
        """GET /assets/{name}, also of a folder below"""
        found = pages.asset(request.path_params["name"])
        if found is None:
            raise Refusal(404, "unknown", "there is no such file")
        headers = {"cache-control": "no-cache", "vary": "accept-encoding"}
        if request.path_params["name"] == "offline.mjs":
            headers["service-worker-allowed"] = "../s/"  # from its own address: the survey pages, and nothing else here
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
        self.surveys.owner_only(request)
        self.metrics.waiting(self.writer.waiting)
        return Response(self.metrics.text(), 200, {"cache-control": "no-store"}, "text/plain")

    async def description(self, request: Request) -> Response:
        """GET /openapi.json"""
        settings = self.settings
        return reply(pages.description(settings.list_limit, MOST_MADE, public_results=settings.public_results))


def _page_policy(survey: Survey) -> dict[str, str]:
    return survey_policy(survey.collector, survey.frames, survey.relay.address if survey.relay else None)


def _page(page: str, *, framed: bool = False) -> Response:
    return Response(page, 200, {"cache-control": "no-cache", **results_policy(framed=framed)}, "text/html")
