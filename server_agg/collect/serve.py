"""Running the collector: uvicorn with the settings that the rules need.

Rules
1. No access log: an address beside a time is what this project does not keep.
2. A request's head must be complete within `header_seconds`, on a new connection and on a kept one; a connection that
   trickles is closed.
3. SIGTERM and SIGINT stop gracefully: no new connection, every accepted report is committed and answered.
"""

from __future__ import annotations

import asyncio
import math
import os
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from server_agg.collect.app import create_app
from server_agg.collect.owner import OwnerToken
from server_agg.collect.settings import Settings
from server_agg.collect.stores import open_store

__all__ = ["serve", "server_config"]

STOP_SECONDS = 30
MOST_CONNECTIONS = 2_000


def patient_protocol(seconds: float) -> type[Any]:
    """uvicorn's protocol, with a limit on the time a request's head may take."""

    base: Any = AutoHTTPProtocol

    class PatientProtocol(base):  # type: ignore[misc]
        _alarm: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._alarm is not None:
                self._alarm.cancel()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """Start the clock while no request is under way; stop it when a head is complete."""
            idle = self.cycle is None or self.cycle.response_complete
            if not idle and self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None
            elif idle and self._alarm is None:
                self._alarm = self.loop.call_later(seconds, self._ring)

        def _ring(self) -> None:
            self._alarm = None
            if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
                self.transport.close()

    return PatientProtocol


def server_config(app: Any, settings: Settings, **options: Any) -> uvicorn.Config:
    """uvicorn's configuration for this application."""
    return uvicorn.Config(
        app,
        http=patient_protocol(settings.header_seconds),
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_level="warning",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=math.ceil(settings.header_seconds),
        timeout_graceful_shutdown=STOP_SECONDS,
        **options,
    )


def serve(
    store: str | os.PathLike[str] = "rrcollect.sqlite3",
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    owner: OwnerToken | None = None,
    settings: Settings | None = None,
) -> None:
    """Run a collector until it is told to stop.  `store`: a file, or a postgresql:// address.

    >>> serve(":memory:", owner=OwnerToken("correct horse battery"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    server_agg.collect.errors.UnsafeDurability: ...
    """
    token = owner or OwnerToken.from_environment()
    rules = settings or Settings()
    app = create_app(open_store(store), token, rules)
    uvicorn.Server(server_config(app, rules, host=host, port=port)).run()
