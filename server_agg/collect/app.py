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
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rrcollect.errors import SurveyRefused
from rrcollect.publish.canonical import read
from rrcollect.publish.envelope import LARGEST_ENVELOPE
from server_agg.collect import openapi, pages
from server_agg.collect.catalogue import Catalogue, CatalogueEntry
from server_agg.collect.endpoint import answered, not_here
from server_agg.collect.errors import Refusal, StoreError
from server_agg.collect.group_commit import GroupCommit
from server_agg.collect.housekeeping import keep_house
from server_agg.collect.intake import Intake
from server_agg.collect.invites import LARGEST_REQUEST, MOST_INVITES, asked_invites
from server_agg.collect.logs import Watch, said
from server_agg.collect.metrics import Metrics
from server_agg.collect.mounting import CollectorApp, below
from server_agg.collect.owner import OwnerToken
from server_agg.collect.releasing import SAME, PublicResults, live_results, release_survey
from server_agg.collect.replies import reply
from server_agg.collect.request_body import BodyBudget, body_of, header
from server_agg.collect.security_headers import Guard, own_origin, own_path, survey_policy
from server_agg.collect.settings import Settings
from server_agg.collect.spreadsheet import as_csv
from server_agg.collect.store import Store

__all__ = ["Collector", "create_app"]


def create_app(store: Store, owner: OwnerToken, settings: Settings | None = None) -> CollectorApp:
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
        self.watch = Watch(settings.minimum)
        self.budget = BodyBudget(settings.body_budget)
        self.writer = GroupCommit(
            store,
            queue_limit=settings.queue_limit,
            batch_limit=settings.batch_limit,
            fold_seconds=settings.fold_seconds,
            watch=self._committed,
        )
        self._found: dict[bool, tuple[float, list[dict[str, Any]]]] = {}  # live or not
        self._public = PublicResults(store)
        self._counting = asyncio.Lock()

    def app(self) -> CollectorApp:
        """All of it, guarded."""
        intake = Intake(
            self.catalogue, self.writer, self.metrics, self.settings, budget=self.budget, refused=self._refused
        )
        routes = [
            Route("/reports", intake, methods=["POST"]),
            Route("/surveys", answered(self.publish), methods=["POST"]),
            Route("/surveys/{digest}", answered(self.envelope)),
            Route("/surveys/{digest}/invites", answered(self.invites), methods=["POST"]),
            Route("/surveys/{digest}/release", answered(self.release), methods=["POST"]),
            Route("/surveys/{digest}/withdrawal", answered(self.withdraw), methods=["POST"]),
            Route("/surveys/{digest}/withdrawal", answered(self.withdrawal)),
            Route("/results", answered(self.results)),
            Route("/", answered(self.results_page)),
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

        guarded = below(self.settings.prefix, Guard(at_once, self.settings.origins))
        return CollectorApp(guarded, partial(self._lifespan, None))

    @asynccontextmanager
    async def _lifespan(self, app: Starlette | None) -> AsyncIterator[None]:
        house = asyncio.create_task(keep_house(self.store, self.catalogue, self.watch, self.settings))
        yield
        house.cancel()
        await asyncio.to_thread(self.writer.close)
        await asyncio.to_thread(self.store.close)
        self.watch.tell()

    def _committed(self, reports: int, seconds: float, trouble: StoreError | None) -> None:
        """Called by the writer after every transaction."""
        self.watch.store(trouble)
        self.metrics.waiting(self.writer.waiting)
        if trouble is None:
            self.metrics.committed(reports, seconds)

    def _refused(self, reason: str) -> None:
        self.watch.refused(reason)
        self.metrics.refused(reason)

    # ---- the owner's ------------------------------------------------------------------------------------------

    def _owner_only(self, request: Request) -> None:
        self.owner.check(header(request.scope, b"authorization"))

    async def _body(self, request: Request, limit: int) -> bytes:
        seconds = self.settings.body_seconds
        return await body_of(request.scope, request.receive, limit=limit, seconds=seconds, budget=self.budget)

    async def publish(self, request: Request) -> Response:
        """POST /surveys"""
        self._owner_only(request)
        envelope = await self._body(request, LARGEST_ENVELOPE)
        keys = request.query_params.getlist("key")
        listed, new = await asyncio.to_thread(self.catalogue.publish, envelope, keys)
        digest = listed.published.digest
        return reply({"digest": digest, "pages": listed.pages(self._prefix(request))}, 201 if new else 200)

    def _prefix(self, request: Request) -> str:
        """The path below which people reach us."""
        return self.settings.prefix or str(request.scope.get("root_path", ""))

    async def invites(self, request: Request) -> Response:
        """POST /surveys/{digest}/invites"""
        self._owner_only(request)
        listed = await self._listed(request.path_params["digest"])
        body = await self._body(request, LARGEST_REQUEST)
        try:
            asked = await asyncio.to_thread(read, body, LARGEST_REQUEST)
        except SurveyRefused as error:
            raise Refusal(400, "malformed", str(error)) from None
        made, hashes = await asyncio.to_thread(asked_invites, asked, listed.survey)
        await asyncio.to_thread(self.store.add_invites, listed.published.digest, hashes)
        return reply({"hashes": len(hashes)} if made is None else {"invites": made}, 201)

    async def release(self, request: Request) -> Response:
        """POST /surveys/{digest}/release"""
        self._owner_only(request)
        listed = await self._listed(request.path_params["digest"])
        try:
            asked = read(await self._body(request, 1024), 1024)
        except SurveyRefused as error:
            raise Refusal(400, "malformed", str(error)) from None
        headline = asked.get("round", SAME) if isinstance(asked, dict) and set(asked) <= {"round"} else False
        last = max(question.rounds for question in listed.survey.questions) - 1
        if headline is not None and (type(headline) is not int or not SAME <= headline <= last):
            raise Refusal(400, "round", f'send {{}}, or {{"round": N}} with N from 0 to {last}, or null for the whole')
        made = await asyncio.to_thread(release_survey, self.store, listed.survey, headline=headline)
        self._found.clear()
        return reply(made.as_dict(), 201 if made.added else 200)

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
            await self._listed(digest)
        found = [one for one in await self._findings(live=live) if digest in (None, one["digest"])]
        if form == "json":
            return reply({"surveys": found})
        headers = {"cache-control": "no-store", "content-disposition": 'attachment; filename="results.csv"'}
        return Response(as_csv(found), 200, headers, "text/csv")

    async def _findings(self, *, live: bool) -> list[dict[str, Any]]:
        async with self._counting:  # many readers, one count
            found = self._found.get(live)
            if found is None or time.monotonic() - found[0] >= self.settings.results_age:
                counted = await asyncio.to_thread(self._count if live else self._released)
                self._found[live] = found = time.monotonic(), counted
            return found[1]

    def _count(self) -> list[dict[str, Any]]:
        self.catalogue.refresh()
        self.store.fold()
        tallies, minimum = self.store.tallies(), self.settings.minimum
        return [live_results(self.store, listed.survey, tallies, minimum) for listed in self.catalogue.all()]

    def _released(self) -> list[dict[str, Any]]:
        self.catalogue.refresh()
        return [self._public.of(listed.survey) for listed in self.catalogue.all()]

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

    async def withdraw(self, request: Request) -> Response:
        """POST /surveys/{digest}/withdrawal: the publisher's signature is asked for, and nobody's token."""
        listed = await self._listed(request.path_params["digest"])
        envelope = await self._body(request, LARGEST_ENVELOPE)
        new = await asyncio.to_thread(self.catalogue.withdraw, listed, envelope)
        if new:
            said("survey withdrawn", survey=listed.published.digest)
        return reply({"withdrawn": listed.published.digest}, 201 if new else 200)

    async def withdrawal(self, request: Request) -> Response:
        """GET /surveys/{digest}/withdrawal: the signed notice; 204 while the survey stands."""
        listed = await self._listed(request.path_params["digest"])
        notice = self.catalogue.withdrawn.get(listed.published.digest)
        headers = {"cache-control": "no-store"}
        return (
            Response(status_code=204, headers=headers)
            if notice is None
            else Response(notice, 200, headers, "application/json")
        )

    async def survey_page(self, request: Request) -> Response:
        """GET /s/{digest}"""
        listed = await self._listed(request.path_params["digest"])
        origin = own_origin(request.scope, https=self.settings.https)
        page, status = pages.survey_page(listed, origin, self._prefix(request))
        headers = {"cache-control": "no-cache"} | (survey_policy(listed.survey.collector) if status == 200 else {})
        return Response(page, status, headers, "text/html")

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

    async def alive(self, request: Request) -> Response:
        """GET /livez: the process answers."""
        return reply({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """GET /readyz: the store can be reached too.  How many wait is not told: it moves with every report."""
        try:
            await asyncio.to_thread(self.store.alive)
        except StoreError as error:
            self.watch.store(error)
            raise
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
