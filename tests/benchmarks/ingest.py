"""Ingest with durable acknowledgement: 64 connections, one report per request.  Run: python -m tests.benchmarks.ingest

Four servers, each in a process of its own, take turns in every round; the load comes from this process.
    collector           the whole thing: limits, admission, sealing, headers, group commit, folds
    bare group commit   Starlette + SQLite (WAL, FULL): read the body, json.loads, one transaction for all that wait
    bare each commit    the same, one transaction per request
    collector, batch 1  the collector with one transaction per request
The collector should reach 0.9 of the bare group commit and 3 times the bare commit of each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from rrcollect import Question, Report, SigningKey, Survey, optimal_design
from server_agg import CollectorSettings, OwnerToken, create_app, open_store
from tests.benchmarks.measure import take_turns, tell
from tests.benchmarks.report import show
from tests.benchmarks.section import FULL, Curve, Effort, Section, compare, rates
from tests.inside.collect import Catalogue, server_config

CONNECTIONS = 64
FLOORS = {"bare group commit": 0.9, "bare each commit": 3.0}
SERVERS = ("collector", "bare group commit", "bare each commit", "collector, batch 1")


# ---- the servers -----------------------------------------------------------------------------------------------------


def bare(path: Path, most: int) -> Starlette:
    """The smallest durable ingest one would write by hand."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(
        "CREATE TABLE reports (id TEXT PRIMARY KEY, survey TEXT, question TEXT, answer TEXT) WITHOUT ROWID"
    )
    waiting: deque[Any] = deque()
    ready = threading.Condition()

    def write() -> None:
        while True:
            with ready:
                while not waiting:
                    ready.wait()
                batch = [waiting.popleft() for _ in range(min(len(waiting), most))]
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT INTO reports VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", [b[0] for b in batch]
            )
            connection.execute("COMMIT")
            batch[0][2].call_soon_threadsafe(lambda done: [b[1].set_result(None) for b in done], batch)

    threading.Thread(target=write, daemon=True).start()

    async def reports(request: Request) -> JSONResponse:
        given = json.loads(await request.body())
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with ready:
            waiting.append(((given["id"], given["survey"], given["question"], given["answer"]), future, loop))
            ready.notify()
        await future
        return JSONResponse({"new": 1}, 201)

    return Starlette(routes=[Route("/reports", reports, methods=["POST"])])


def run_server(kind: str, folder: Path, port: int) -> None:
    settings = CollectorSettings()
    app: Any
    if kind.startswith("collector"):
        settings = CollectorSettings(batch_limit=1, list_limit=1) if kind.endswith("1") else settings
        store = open_store(folder / "reports.sqlite3")
        envelope, key = (folder / "survey").read_bytes().split(b"\n")
        Catalogue(store.shelf).publish(envelope, [key.decode()])
        app = create_app(store, OwnerToken(secrets.token_hex()), settings)
    else:
        app = bare(folder / "bare.sqlite3", 1000 if "group" in kind else 1)
    uvicorn.Server(server_config(app, settings, host="127.0.0.1", port=port)).run()


# ---- the load --------------------------------------------------------------------------------------------------------


class Sender(asyncio.Protocol):
    """One connection: the next request goes out when the reply to the last one is in."""

    def __init__(self, requests: Any, statuses: dict[bytes, int]) -> None:
        self.requests = requests
        self.statuses = statuses

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(next(self.requests))

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"HTTP/1.1 "):
            self.statuses[data[9:12]] = self.statuses.get(data[9:12], 0) + 1
        if data.endswith(b"}"):
            self.transport.write(next(self.requests))


def requests_of(report: Report, size: int = 1) -> Iterator[bytes]:
    """Requests of so many reports each, every one with a fresh id."""
    first, last = report.to_bytes().split(report.id.encode())
    length = len(report.to_bytes()) if size == 1 else (len(report.to_bytes()) + 1) * size + 1
    head = b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % length
    while True:
        made = b",".join(first + secrets.token_hex(16).encode() + last for _ in range(size))
        yield head + (made if size == 1 else b"[" + made + b"]")


async def load(port: int, requests: Iterator[bytes], seconds: float, connections: int, pid: int) -> tuple[float, float]:
    """Requests per second, and CPU seconds of the server per request."""
    statuses: dict[bytes, int] = {}
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: Sender(requests, statuses), "127.0.0.1", port) for _ in range(connections)
    ]
    await asyncio.sleep(0.5)  # warm
    before, began, used = sum(statuses.values()), time.perf_counter(), cpu_of(pid)
    await asyncio.sleep(seconds)
    done, spent = sum(statuses.values()) - before, time.perf_counter() - began
    for transport, _ in made:
        transport.close()
    assert set(statuses) == {b"201"}, statuses
    return done / spent, (cpu_of(pid) - used) / max(1, done)


def cpu_of(pid: int) -> float:
    """The CPU seconds a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(kind: str, seconds: float, connections: int = CONNECTIONS) -> float:
    """Requests per second of a fresh server."""
    return served(kind, seconds, connections)[0]


def served(kind: str, seconds: float, connections: int, size: int = 1) -> tuple[float, float]:
    """Requests of `size` reports per second of a fresh server, and its CPU seconds per request."""
    report, survey = published()
    with tempfile.TemporaryDirectory() as name, socket.socket() as probe:
        (Path(name) / "survey").write_bytes(survey)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        program = [sys.executable, "-m", "tests.benchmarks.ingest"]
        command = [*program, "--server", kind, "--folder", name, "--port", str(port)]
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": "."})
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            return asyncio.run(load(port, requests_of(report, size), seconds, connections, process.pid))
        finally:
            process.kill()
            process.wait()


@cache
def published() -> tuple[Report, bytes]:
    """A report, and the survey it answers with its publisher's key."""
    key = SigningKey.generate()
    design = optimal_design("ln 3")
    question = Question(id="q1", attribute="a", text="A question?", design=design)
    expires = datetime(2100, 1, 1, tzinfo=UTC)
    survey = Survey(
        name="bench",
        version=1,
        title="Bench",
        publisher="Bench",
        expires=expires,
        questions=[question],
        collector="carried",
    )
    publication = survey.publish([key])
    report = Report(survey=publication.digest, question="q1", design=design, answer="1", id=secrets.token_hex(16))
    return report, publication.envelope + b"\n" + key.public.raw.hex().encode()


def section(effort: Effort = FULL) -> Section:
    rounds, seconds = max(4, effort.repetitions // 3), 2.0 * effort.scale
    kinds = SERVERS if effort.curves else ("collector", *FLOORS)
    tell(f"ingest: {rounds} rounds")
    timings = take_turns({kind: lambda kind=kind: 1 / measure(kind, seconds) for kind in kinds}, rounds)  # type: ignore[misc]
    return Section(
        name="ingest",
        title="Ingest",
        text=f"Durable reports over HTTP, one per request, {CONNECTIONS} connections; each server in a process of its "
        "own, the load from another. The bare servers are Starlette and SQLite (WAL, synced) with no check at "
        "all, committing everything that waits at once, or each request alone.",
        unit="requests per second",
        rows=rates(timings, 1.0),
        ratios=compare(timings, {("collector", kind): floor for kind, floor in FLOORS.items()}),
        curves=[growth(seconds)] if effort.curves else [],
    )


def growth(seconds: float) -> Curve:
    """Requests per second against connections."""
    lines: dict[str, list[tuple[float, float]]] = {kind: [] for kind in ("collector", *FLOORS)}
    for connections in (1, 8, 64, 256):
        tell(f"ingest: {connections} connections")
        for kind, points in lines.items():
            points.append((connections, measure(kind, seconds, connections)))
    return Curve(
        name="ingest",
        title="Durable requests per second against connections",
        xlabel="connections",
        ylabel="requests per second",
        lines=lines,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", choices=SERVERS)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--port", type=int)
    given = parser.parse_args()
    if given.server:
        run_server(given.server, given.folder, given.port)
    else:
        show(section())


if __name__ == "__main__":
    main()
