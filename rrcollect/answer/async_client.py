"""The client for programs that run an event loop: the same calls, awaited, each in a worker thread.

The client's operations share nothing (a connection lives for one operation), so threads are safe.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from rrcollect.answer.acceptance import AcceptedSurvey
from rrcollect.answer.budget import Budget
from rrcollect.answer.client import Client
from rrcollect.deliver.outbox import Deliveries, Pace
from rrcollect.deliver.transport import Transport
from rrcollect.publish.report import Report

__all__ = ["AsyncClient"]


class AsyncClient:
    """Wraps a `Client`; a callable truth is called in the worker thread.

    >>> from datetime import datetime, timezone
    >>> from rrcollect import Question, SigningKey, Survey, TrustedPublisher, optimal_design, publish_survey
    >>> key = SigningKey.generate()
    >>> question = Question(id="q1", attribute="doped", text="Ever doped?", design=optimal_design("ln 3"))
    >>> survey = Survey(name="clean-sport", version=1, title="Clean sport", publisher="Example Institute",
    ...                 expires=datetime(2100, 1, 1, tzinfo=timezone.utc), questions=[question])
    >>> import os, tempfile
    >>> ledger = os.path.join(tempfile.mkdtemp(), "ledger.sqlite3")
    >>> from rrcollect import Policy
    >>> policy = Policy([TrustedPublisher("Example Institute", [key.public])])
    >>> client = Client(ledger, attributes=["doped"], policy=policy)
    >>> async def app():
    ...     device = AsyncClient(client)
    ...     accepted = await device.accept(publish_survey(survey, [key]).envelope)
    ...     return await device.answer(accepted, "q1", truth=True)
    >>> asyncio.run(app()).question
    'q1'
    """

    def __init__(self, client: Client) -> None:
        self.client = client

    async def accept(self, envelope: bytes) -> AcceptedSurvey:
        """See `Client.accept`."""
        return await asyncio.to_thread(self.client.accept, envelope)

    async def answer(
        self,
        survey: AcceptedSurvey,
        question: str,
        truth: bool | Callable[[], bool],
        *,
        round: int = 0,
        segments: Mapping[str, str] | None = None,
        invite: str | None = None,
    ) -> Report:
        """See `Client.answer`."""
        return await asyncio.to_thread(
            self.client.answer, survey, question, truth, round=round, segments=segments, invite=invite
        )

    async def decline(self, survey: AcceptedSurvey, question: str) -> None:
        """See `Client.decline`."""
        await asyncio.to_thread(self.client.decline, survey, question)

    async def budget(self) -> Budget:
        """See `Client.budget`."""
        return await asyncio.to_thread(self.client.budget)

    async def deliver(self, transport: Transport, pace: Pace | None = None) -> Deliveries:
        """See `Client.deliver`."""
        return await asyncio.to_thread(self.client.deliver, transport, pace)
