"""Ingest with durable acknowledgement: 64 connections, one report a request.  Run: python -m benchmarks.ingest

Four servers, each in a process of its own, take turns in every round; the load comes from this process.
    collector           the whole thing: limits, admission, both keys, headers, group commit
    bare group commit   Starlette + SQLite (WAL, FULL): read the body, json.loads, one transaction for all that wait
    bare each commit    the same, one transaction a request
    collector, batch 1  the collector with one transaction a request
Printed: the median requests a second and two ratios.  They should be at least 0.8 (collector / bare group commit) and
3 (collector / bare each commit).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from rrcollect import Question, Report, SigningKey, Survey, optimal_design, publish_survey
from server_agg import CollectorSettings, OwnerToken, create_app, open_store
from server_agg.collect.catalogue import Catalogue
from server_agg.collect.serve import server_config

CONNECTIONS = 64
SERVERS = ("collector", "bare group commit", "bare each commit", "collector, batch 1")


# ---- the servers -----------------------------------------------------------------------------------------------------


def bare(path: Path, most: int) -> Starlette:
    """The smallest durable ingest one would write by hand."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(
        "CREATE TABLE reports (id TEXT PRIMARY KEY, survey TEXT, question TEXT, answer INTEGER) WITHOUT ROWID"
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
        Catalogue(store).publish(envelope, [key.decode()])
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


def requests_of(report: Report) -> Any:
    template = report.to_bytes()
    head = b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    first, last = (head % len(template) + template).split(report.id.encode())
    while True:
        yield first + secrets.token_hex(16).encode() + last


async def load(port: int, report: Report, seconds: float) -> float:
    statuses: dict[bytes, int] = {}
    loop = asyncio.get_running_loop()
    requests = requests_of(report)
    made = [
        await loop.create_connection(lambda: Sender(requests, statuses), "127.0.0.1", port) for _ in range(CONNECTIONS)
    ]
    await asyncio.sleep(0.5)  # warm
    before, began = sum(statuses.values()), time.perf_counter()
    await asyncio.sleep(seconds)
    rate = (sum(statuses.values()) - before) / (time.perf_counter() - began)
    for transport, _ in made:
        transport.close()
    assert set(statuses) == {b"201"}, statuses
    return rate


def measure(kind: str, report: Report, survey: bytes, seconds: float) -> float:
    with tempfile.TemporaryDirectory() as name, socket.socket() as probe:
        folder = Path(name)
        (folder / "survey").write_bytes(survey)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        command = [sys.executable, "-m", "benchmarks.ingest", "--server", kind, "--folder", name, "--port", str(port)]
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": "."})
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            return asyncio.run(load(port, report, seconds))
        finally:
            process.kill()
            process.wait()


def ratios(seconds: float = 3.0, rounds: int = 3) -> dict[str, float]:
    """The two ratios, from medians over the rounds, printed on the way."""
    key = SigningKey.generate()
    design = optimal_design("ln 3")
    question = Question(id="q1", attribute="a", text="A question?", design=design)
    fields = {"name": "bench", "version": 1, "title": "Bench", "publisher": "Bench", "expires": "2100-01-01T00:00:00Z"}
    publication = publish_survey(Survey(**fields, questions=[question]), [key])
    report = Report(survey=publication.digest, question="q1", design=design, answer=1, id=secrets.token_hex(16))
    survey = publication.envelope + b"\n" + key.public.raw.hex().encode()
    rates: dict[str, list[float]] = {kind: [] for kind in SERVERS}
    for _ in range(rounds):
        for kind in SERVERS:
            rates[kind].append(measure(kind, report, survey, seconds))
    middle = {kind: statistics.median(seen) for kind, seen in rates.items()}
    for kind, rate in middle.items():
        print(f"{kind:20} {rate:9.0f} requests/s   ({', '.join(f'{r:.0f}' for r in rates[kind])})")
    return {
        "collector / bare group commit (>= 0.8)": middle["collector"] / middle["bare group commit"],
        "collector / bare each commit (>= 3)": middle["collector"] / middle["bare each commit"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", choices=SERVERS)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--port", type=int)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if given.server:
        run_server(given.server, given.folder, given.port)
        return
    for name, ratio in ratios(given.seconds, given.rounds).items():
        print(f"{name:42} {ratio:.2f}")


if __name__ == "__main__":
    main()
