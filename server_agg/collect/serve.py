"""Running the collector: uvicorn with the settings that the rules need, in one process or several.

Rules
1. No access log: an address beside a time is what this project does not keep.
2. A request's head must be complete within `header_seconds`, on a new connection and on a kept one; a connection that
   trickles is closed.
3. SIGTERM and SIGINT stop gracefully: no new connection, every accepted report is committed and answered.
4. With several workers they share one socket, one PostgreSQL and a folder of metrics.  The socket is made here, before
   any process: whoever connects waits in its queue while a process starts.  One that ends by itself is replaced, at
   most once per `PAUSE`; the log says so.  SIGTERM and SIGINT are handed on as SIGTERM; a process that has not stopped
   after `stop_seconds` and a little more is killed.
"""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

import uvicorn
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from rrcollect import __version__
from rrcollect.errors import ParameterError
from server_agg.collect.http.app import Collector
from server_agg.collect.logs import log_to, said
from server_agg.collect.metrics import SHARED, shown
from server_agg.collect.settings import CollectorSettings, OwnerToken, settings_from_environment
from server_agg.collect.store.store import open_store

PAUSE = 1.0  # seconds
LONGER = 5  # seconds
BACKLOG = 2048


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


def server_config(app: Any, settings: CollectorSettings, **options: Any) -> uvicorn.Config:
    """uvicorn's configuration for this application."""
    return uvicorn.Config(
        app,
        http=patient_protocol(settings.header_seconds),
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_config=None,
        log_level="error",
        limit_concurrency=settings.connections,
        timeout_keep_alive=math.ceil(settings.header_seconds),
        timeout_graceful_shutdown=settings.stop_seconds,
        **{"host": settings.host, "port": settings.port, **options},
    )


def serve(settings: CollectorSettings | None = None) -> None:
    """Run a collector until it is told to stop.  Settings that are not given come from the environment.

    >>> serve(CollectorSettings(store=":memory:", owner_token="correct horse battery"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    server_agg.errors.UnfitDatabase: ...
    """
    rules = settings or settings_from_environment()
    if rules.workers == 1:
        collector = _collector(rules)
        _begin(rules, collector.metrics.registry)
        usual = signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn acts on it, and raises it when all is done
        try:
            uvicorn.Server(server_config(collector.app(), rules)).run()
        except KeyboardInterrupt:
            said("stopped")
            raise
        finally:
            signal.signal(signal.SIGTERM, usual)
    else:
        with tempfile.TemporaryDirectory(prefix="rrcollect-metrics-") as folder:
            os.environ[SHARED] = folder
            _begin(rules, shown(CollectorRegistry()))
            supervise(rules, _work)
            del os.environ[SHARED]
    said("stopped")


def _collector(rules: CollectorSettings) -> Collector:
    store = open_store(rules.store.get_secret_value(), keys=rules.epoch_keys, keep_rows=rules.keep_rows)
    return Collector(store, OwnerToken.from_settings(rules), rules)


def _begin(rules: CollectorSettings, registry: CollectorRegistry) -> None:
    log_to()
    if rules.metrics_port is not None:
        try:
            start_http_server(rules.metrics_port, rules.metrics_host, registry)
        except OSError as error:
            where = f"{rules.metrics_host} {rules.metrics_port}"
            allowed = f"a free one of this machine ({error.strerror})"
            raise ParameterError("metrics_host and metrics_port", where, allowed) from None
    said("started", version=__version__, settings=rules.shown())


def _work(rules: CollectorSettings, listening: Any) -> None:
    """One of several processes."""
    log_to()
    uvicorn.Server(server_config(_collector(rules).app(), rules)).run(sockets=[listening])


def supervise(settings: CollectorSettings, work: Callable[[CollectorSettings, Any], None]) -> None:
    """Run `settings.workers` processes of `work` until this one is told to stop."""
    stopping = threading.Event()
    usual = {each: signal.signal(each, lambda *_: stopping.set()) for each in (signal.SIGINT, signal.SIGTERM)}
    context = multiprocessing.get_context("spawn")  # nothing of this process is inherited but the socket
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET

    def begun() -> BaseProcess:
        process = context.Process(target=work, args=(settings, listening))
        process.start()
        return process

    try:
        with socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG) as listening:
            processes = [begun() for _ in range(settings.workers)]
            while not stopping.wait(PAUSE):
                for place, process in enumerate(processes):
                    if not process.is_alive():
                        said("worker ended", code=process.exitcode)  # what it counted stays in the sums
                        mark_process_dead(process.pid or 0)  # type: ignore[no-untyped-call]
                        processes[place] = begun()
            for process in processes:
                process.terminate()
            for process in processes:
                process.join(settings.stop_seconds + LONGER)
                process.kill()
                process.join()
    finally:
        for each, handler in usual.items():
            signal.signal(each, handler)
