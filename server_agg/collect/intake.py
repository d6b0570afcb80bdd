"""POST /reports: read under limits, judge, commit, and only then say yes.

201  every report is new and durable         200  every report is durable, some were here before
409  an id is taken by other content; the other reports of the list are durable
403  a ticket is missing, unknown or spent   4xx  nothing was stored, and the reason says what to mend
503, 507  the disk or the queue is full; nothing was acknowledged, Retry-After says when to come back
"""

from __future__ import annotations

import asyncio

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rrcollect.publish.report import LARGEST_REPORT
from rrcollect.publish.rules import REASONS
from server_agg.collect.admission import Admission
from server_agg.collect.catalogue import Catalogue
from server_agg.collect.errors import STATUS, Refusal, StoreError
from server_agg.collect.group_commit import GroupCommit
from server_agg.collect.metrics import Metrics
from server_agg.collect.replies import refusal_reply, reply, trouble_reply
from server_agg.collect.request_body import body_of
from server_agg.collect.settings import Settings
from server_agg.collect.store import Outcome
from server_agg.collect.stored_report import IncomingReport

__all__ = ["Intake"]

NEW = b'{"new":1,"known":0}'
NEW_HEADERS = [
    (b"content-type", b"application/json"),
    (b"content-length", str(len(NEW)).encode()),
    (b"cache-control", b"no-store"),
]


class Intake:
    """The endpoint, as an ASGI application."""

    def __init__(self, catalogue: Catalogue, writer: GroupCommit, metrics: Metrics, settings: Settings) -> None:
        self._catalogue = catalogue
        self._writer = writer
        self._metrics = metrics
        self._seconds = settings.body_seconds
        self._limit = LARGEST_REPORT * settings.list_limit
        self._admission = Admission(catalogue.known, grace=settings.grace, list_limit=settings.list_limit)
        self._patient = Admission(catalogue.find, grace=settings.grace, list_limit=settings.list_limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await body_of(scope, receive, limit=self._limit, seconds=self._seconds)
            outcomes = await self._writer.take(await self._judged(body))
        except Refusal as refusal:
            response = refusal_reply(refusal)
        except StoreError as error:
            response = trouble_reply(error)
        else:
            self._metrics.outcomes.update(outcome.value for outcome in outcomes)
            if len(outcomes) == 1 and outcomes[0] is Outcome.NEW:
                self._metrics.requests[201] += 1
                await send({"type": "http.response.start", "status": 201, "headers": list(NEW_HEADERS)})
                await send({"type": "http.response.body", "body": NEW})
                return
            response = _verdict(outcomes)
        self._metrics.requests[response.status_code] += 1
        await response(scope, receive, send)

    async def _judged(self, body: bytes) -> list[IncomingReport]:
        try:
            return self._admission.admit(body)
        except Refusal as refusal:
            if refusal.code != "unknown_survey":
                raise
        return await asyncio.to_thread(self._patient.admit, body)  # published a moment ago, by another process


def _verdict(outcomes: list[Outcome]) -> Response:
    counts = {"new": outcomes.count(Outcome.NEW), "known": outcomes.count(Outcome.SAME)}
    for place, outcome in enumerate(outcomes):
        if outcome.value in REASONS:
            where = f"report {place} of the list: " if len(outcomes) > 1 else ""
            words = {"error": outcome.value, "reason": where + REASONS[outcome.value]}
            return reply({**words, **counts}, STATUS[outcome.value])
    return reply(counts, 200 if counts["known"] else 201)
