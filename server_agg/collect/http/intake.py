"""POST /reports: read under limits, judge, commit, and only then say yes.

201  every report is new and durable         200  every report is durable, some were here before
409  an id is taken by other content         403  a ticket is missing, unknown or spent
410  the survey is over                      4xx  nothing was stored, and the reason says what to mend
503, 507  the disk or the queue is full; nothing was acknowledged, Retry-After says when to come back

A list is judged whole before anything of it is stored.  What only the store can know (a repeated id, a spent ticket)
each report answers for itself: the reply to a list has `verdicts`, one per report in its order, the status is that of
the first report that was refused, and all whose verdict is "new" or "same" are durable.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rrcollect.publish.report import LARGEST_REPORT, REASONS, STATUS
from server_agg.collect.admission import Admission
from server_agg.collect.catalogue import Catalogue
from server_agg.collect.group_commit import GroupCommit
from server_agg.collect.http.bodies import BodyBudget, body_of, refusal_reply, reply, trouble_reply
from server_agg.collect.issuing import Issuing
from server_agg.collect.metrics import Metrics
from server_agg.collect.settings import CollectorSettings
from server_agg.collect.store.reports import IncomingReport
from server_agg.collect.store.taking import ReportOutcome
from server_agg.errors import Refusal, StoreError

NEW = b'{"new":1,"known":0}'
NEW_HEADERS = [
    (b"content-type", b"application/json"),
    (b"content-length", str(len(NEW)).encode()),
    (b"cache-control", b"no-store"),
]


@dataclass(eq=False)
class Intake:
    """The endpoint, as an ASGI application."""

    catalogue: Catalogue
    writer: GroupCommit
    metrics: Metrics
    settings: CollectorSettings
    budget: BodyBudget
    refused: Callable[[str], None]
    issuing: Issuing

    def __post_init__(self) -> None:
        given, catalogue = self.settings, self.catalogue
        how: dict[str, Any] = {"grace": given.grace, "list_limit": given.list_limit, "withdrawn": catalogue.withdrawn}
        self._limit, self._admission = LARGEST_REPORT * given.list_limit, Admission(catalogue.known, **how)
        more: dict[str, Any] = {"frames": self._admission.frames, "tokens": self.issuing.check}  # the same memory
        self._patient = Admission(catalogue.find, **how, **more)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        try:
            limits: dict[str, Any] = {"limit": self._limit, "seconds": self.settings.body_seconds}
            body = await body_of(scope, receive, **limits, budget=self.budget)
            outcomes = await self.writer.take(await self._judged(body))
        except Refusal as refusal:
            self.refused(refusal.code)
            response = refusal_reply(refusal)
        except StoreError as error:
            response = trouble_reply(error)
        else:
            if len(outcomes) == 1 and outcomes[0] is ReportOutcome.NEW:
                self.metrics.judged("new")
                self.metrics.answered(201, time.perf_counter() - began)
                await send({"type": "http.response.start", "status": 201, "headers": list(NEW_HEADERS)})
                await send({"type": "http.response.body", "body": NEW})
                return
            verdicts = [outcome.value for outcome in outcomes]
            for verdict, n in Counter(verdicts).items():
                self.metrics.judged(verdict, n)
                if verdict in REASONS:
                    for _ in range(n):
                        self.refused(verdict)
            response = _reply(verdicts)
        self.metrics.answered(response.status_code, time.perf_counter() - began)
        await response(scope, receive, send)

    async def _judged(self, body: bytes) -> list[IncomingReport]:
        """Judged here if that is quick; lists that must be parsed, and surveys that must be looked for, in a thread."""
        if body[:1] == b"[":
            return self._admission.known_list(body) or await asyncio.to_thread(self._patient.admit, body)
        try:
            return self._admission.admit(body)
        except Refusal as refusal:
            if refusal.code != "unknown_survey":
                raise
        # it was published a moment ago, by another process, or it carries a token
        return await asyncio.to_thread(self._patient.admit, body)


def _reply(verdicts: list[str]) -> Response:
    said: dict[str, Any] = {"new": verdicts.count("new"), "known": verdicts.count("same")}
    if len(verdicts) > 1:
        said["verdicts"] = verdicts
    for place, verdict in enumerate(verdicts) if said["new"] + said["known"] < len(verdicts) else ():
        if verdict in REASONS:
            where = f"report {place} of the list: " if len(verdicts) > 1 else ""
            return reply({"error": verdict, "reason": where + REASONS[verdict], **said}, STATUS[verdict])
    return reply(said, 200 if said["known"] else 201)
