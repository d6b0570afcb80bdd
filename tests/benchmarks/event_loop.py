"""How long one request holds the event loop: hostile bodies against ordinary reports, at every address that takes a
body from anybody (`OPEN_TO_ALL`).

While a request is handled nobody else is served, so what one sender can cost all others is the longest time between
two turns of the event loop.  Measured in one process, beside a task that only counts turns; of several tries the least
counts, since what else the machine does only adds.

    python -m tests.benchmarks.event_loop
"""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
import tempfile
import time
from collections.abc import Container
from pathlib import Path
from typing import Any

from rrcollect import Design, Report
from server_agg import CollectorSettings, OwnerToken, create_app, open_store
from server_agg.collect.http.surveys import LARGEST_NOTICE
from tests.inside.collect import Catalogue
from tests.inside.publish import LARGEST_ENVELOPE, LARGEST_REPORT, WITHDRAWAL_TYPE
from tests.support.collector_running import publication
from tests.support.devices import KEY

ORDINARY = 50
TRIES = 5
LARGEST = LARGEST_REPORT * CollectorSettings().list_limit
REPORTS, WITHDRAWAL = "/reports", "/surveys/{digest}/withdrawal"
OPEN_TO_ALL = (REPORTS, WITHDRAWAL)  # addresses that read a body and ask for nobody's token


def shapes(largest: int) -> dict[str, bytes]:
    """Bodies of so many bytes that are dear to parse."""
    return {
        "brackets": b"[" * largest,
        "pairs of brackets": b"[" + b"[]," * (largest // 3 - 2) + b"[]]",
        "objects": b"[" + b"{}," * (largest // 3 - 2) + b"{}]",
        "numbers": b"[" + b"1," * (largest // 2 - 2) + b"1]",
        "one text": b'["' + b"x" * (largest - 4) + b'"]',
        "one number": b"[" + b"9" * (largest - 2) + b"]",
        "escapes": b'["' + b"\\u0041" * ((largest - 4) // 6) + b'"]',
    }


def bodies(digest: str) -> dict[tuple[str, str], bytes]:
    """By address and name the dearest bodies that a sender may send: each as large as a body may be, and for a
    withdrawal also as large as a survey may be."""

    def made(**changes: Any) -> dict[str, Any]:
        report = Report(survey=digest, question="q1", design=Design("3/4", "3/4"), answer="1", id=secrets.token_hex(16))
        return {**json.loads(report.to_bytes()), **changes}

    def text(value: Any) -> bytes:
        return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()

    padded = [made(question="q" * 7000) for _ in range(100)]
    of_reports = {
        **shapes(LARGEST),
        "one report of that size": b'{"answer":"' + b"1" * (LARGEST - 13) + b'"}',
        "a hundred large reports": text(padded),
        "a hundred new segments": text([made(segments={"s": f"{n}" + "v" * 4000}) for n in range(100)]),
    }

    def notice(largest: int) -> dict[str, bytes]:
        signature = {"keyid": "", "sig": "A" * 86 + "=="}
        named = {"payload": "AAAA", "payloadType": WITHDRAWAL_TYPE, "signatures": [signature] * (largest // 130)}
        keys = {f"{n:06d}": 1 for n in range(largest // 12)}
        return {**shapes(largest), "signatures": text(named), "keys": text(keys)}

    of_withdrawals = {
        f"{name}, {size}": body
        for size, largest in (("small", LARGEST_NOTICE), ("large", LARGEST_ENVELOPE))
        for name, body in notice(largest).items()
    }
    found = {(REPORTS, name): body for name, body in of_reports.items()}
    return found | {(WITHDRAWAL, name): body for name, body in of_withdrawals.items()}


async def held(app: Any, path: str, body: bytes) -> tuple[int, float]:
    """The status, and the longest time between two turns of the event loop while this body is judged."""
    turns, over = [time.perf_counter()], False

    async def turning() -> None:
        while not over:
            turns.append(time.perf_counter())
            await asyncio.sleep(0)

    status = 0

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)

    where = {"path": path, "raw_path": path.encode(), "root_path": "", "query_string": b""}
    scope = {"type": "http", "method": "POST", **where, "headers": [(b"content-type", b"application/json")]}
    beside = asyncio.create_task(turning())
    await asyncio.sleep(0)
    await app(scope, receive, send)
    over = True
    await beside
    turns.append(time.perf_counter())
    return status, max(b - a for a, b in itertools.pairwise(turns))


async def ordinary(app: Any, digest: str, n: int = 400) -> float:
    """Seconds of the event loop that one ordinary report takes, the group commit of its neighbours included."""
    fields: dict[str, Any] = {"survey": digest, "question": "q1", "design": Design("3/4", "3/4"), "answer": "1"}
    sent = [Report(**fields, id=secrets.token_hex(16)).to_bytes() for _ in range(n)]

    async def send(_: dict[str, Any]) -> None:
        return None

    async def one(body: bytes) -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        headers = [(b"content-type", b"application/json")]
        await app({"type": "http", "method": "POST", "path": "/reports", "headers": headers}, receive, send)

    began = time.perf_counter()
    await asyncio.gather(*map(one, sent))
    return (time.perf_counter() - began) / n


def measured(names: Container[tuple[str, str]] | None = None) -> dict[tuple[str, str], float]:
    """By address and body how many ordinary reports' time it holds the event loop; the least of several tries."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder, "reports.sqlite3"))
        made = publication()
        digest = Catalogue(store.shelf).publish(made.envelope, [KEY.public.raw.hex()])[0].published.digest
        collector = create_app(store, OwnerToken(secrets.token_hex()), CollectorSettings())

        async def run() -> dict[tuple[str, str], float]:
            async with collector.running():
                usual = [await ordinary(collector, digest) for _ in range(TRIES)]
                found = {}
                for name, body in bodies(digest).items():
                    if names is not None and name not in names:
                        continue
                    path = name[0].format(digest=digest)
                    tries = [await held(collector, path, body) for _ in range(TRIES)]
                    assert all(status >= 400 for status, _ in tries), name
                    found[name] = min(seconds for _, seconds in tries) / min(usual)
                return found

        return asyncio.run(run())


if __name__ == "__main__":
    for (path, name), times in measured().items():
        print(f"{path:28s} {name:28s} as long as {times:6.1f} ordinary reports")
