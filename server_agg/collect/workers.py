"""Several processes behind one socket: started, replaced when one ends, stopped together.

Rules
1. The socket is made here, before any process: whoever connects waits in its queue while a process starts.
2. A process that ends by itself is replaced, at most once per `PAUSE`; the log says so.
3. SIGTERM and SIGINT are handed on as SIGTERM.  Who has not stopped after `stop_seconds` and a little more is killed.
"""

from __future__ import annotations

import multiprocessing
import signal
import socket
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

from prometheus_client.multiprocess import mark_process_dead

from server_agg.collect.logs import said
from server_agg.collect.settings import Settings

PAUSE = 1.0  # seconds
LONGER = 5  # seconds
BACKLOG = 2048


def supervise(settings: Settings, work: Callable[[Settings, Any], None]) -> None:
    """Run `settings.workers` processes of `work` until this one is told to stop."""
    stopping = threading.Event()
    usual = {each: signal.signal(each, lambda *_: stopping.set()) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        with _listening(settings) as listening:
            _run(settings, work, listening, stopping)
    finally:
        for each, handler in usual.items():
            signal.signal(each, handler)


def _listening(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)


def _run(
    settings: Settings, work: Callable[[Settings, Any], None], listening: socket.socket, stopping: threading.Event
) -> None:
    context = multiprocessing.get_context("spawn")  # nothing of this process is inherited but the socket

    def begun() -> BaseProcess:
        process = context.Process(target=work, args=(settings, listening))
        process.start()
        return process

    processes = [begun() for _ in range(settings.workers)]
    while not stopping.wait(PAUSE):
        for place, process in enumerate(processes):
            if not process.is_alive():
                said("worker ended", code=process.exitcode)
                _forget(process)
                processes[place] = begun()
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(settings.stop_seconds + LONGER)
        process.kill()
        process.join()


def _forget(process: BaseProcess) -> None:
    """What it counted stays in the sums; what it was doing does not."""
    if process.pid is not None:
        mark_process_dead(process.pid)  # type: ignore[no-untyped-call]
