"""Whole flows that leave every trace they can.

Run: python -m tests.assurance.dependencies.canary_flow JOB …, with JOB = FOLDER:TRUTHS:LEAK

A job answers a survey, fails in every way that can be provoked, delivers to a running collector, and leaves in FOLDER
the logs of every logger at the lowest level, warnings, tracebacks, the words of every object, the traffic as the
collector saw it, its metrics and its store, the ledger and its rollback guard.  `canaries` looks through them.

TRUTHS is a text of 0 and 1, one for each of the four questions answered; the fifth is of the wrong kind at first and
then 0.  The draws are given, and such that both truths lead to the same answer, so nothing but the truth differs
between two jobs.  LEAK names a leak from `LEAKS`, or is empty.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn

from rrcollect import Client, HttpTransport, Policy, TrustedPublisher, errors
from server_agg import CollectorSettings, OwnerToken, create_app, open_store
from tests.assurance.dependencies.canary_traces import (
    CLOSED,
    DRAWS,
    INVITE,
    KEY,
    LEAKS,
    OPEN,
    PORT,
    SEGMENT,
    TRUTH,
    UNDECLARED,
    Told,
    Traces,
    WrongNumber,
    WrongText,
    counted_ids,
    everything_logged,
    fails,
    open_the_loggers,
)
from tests.inside.collect import server_config
from tests.inside.publish import ticket_hashes
from tests.support.devices import Clock

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TOKEN = "the owner's token"  # noqa: S105
TRUSTED = [TrustedPublisher("P", [KEY.public])]
POLICY = Policy(TRUSTED)


def device(traces: Traces, name: str, source: Any, **changes: Any) -> Client:
    """A client with a ledger of its own in the job's folder."""
    settings = {
        "attributes": ["b1", *(f"a{n}" for n in range(1, 10))],
        "policy": POLICY,
        "clock": (clock := Clock(NOW)),
        "sleep": clock.sleep,
        "spread": 600,
        **changes,
    }
    return Client(traces.folder / name, source=source, **settings)


def answered(traces: Traces, truths: list[bool]) -> Client:
    """Four answers of four sorts of truth, and a fifth after all that could go wrong did."""
    draws = iter(DRAWS)
    client = device(traces, "ledger.sqlite3", lambda n: next(draws))
    accepted = client.accept(OPEN.publish([KEY]).envelope)
    segments = {"region": SEGMENT}
    reports = [
        client.answer(accepted, "q1", truths[0], segments=segments),
        client.answer(accepted, "q2", Told(truths[1])),
        client.answer(accepted, "q3", np.bool_(truths[2])),  # type: ignore[arg-type]
        asyncio.run(slowly(client, accepted, truths[3]), debug=True),
    ]
    wrong: list[Any] = [WrongText(TRUTH), WrongNumber(0.5), 7, None, [TRUTH], {TRUTH: 1}, lambda: WrongText(TRUTH)]
    for truth in wrong:
        with traces.error(errors.BadTruth):
            client.answer(accepted, "q5", truth)
    with traces.error(RuntimeError, own=True):
        client.answer(accepted, "q5", fails)
    with traces.error(errors.ParameterError):
        client.answer(accepted, "q5", truths[0], segments={"region": UNDECLARED})
    with traces.error(errors.ParameterError):
        client.answer(accepted, "q5", truths[0], invite=INVITE)
    client._ledger.attempt(reports[0].id)
    with traces.error(errors.ParameterError):
        client.answer(accepted, "q1", truths[0], segments={"region": "north"})
    with traces.error(errors.RRCollectError):
        client.answer(accepted, "q99", truths[0])
    reports.append(client.answer(accepted, "q5", False))
    client.decline(accepted, "q6")
    closed = client.accept(CLOSED.publish([KEY]).envelope)
    with traces.error(errors.ParameterError):
        client.answer(closed, "q1", truths[0])
    reports.append(client.answer(closed, "q1", truths[0], invite=INVITE))
    for thing in [client, accepted, *reports, *client.budget().draws, client.budget(), client.open_questions(accepted)]:
        traces.write("words.txt", repr(thing))
    traces.write("words.txt", client.budget().explain())
    traces.write("words.txt", accepted.explain())
    return client


async def slowly(client: Client, accepted: Any, truth: bool) -> Any:
    """Through the event loop in debug mode, which tells of everything that is slow."""
    asyncio.get_running_loop().slow_callback_duration = 0.0
    return await asyncio.to_thread(client.answer, accepted, "q4", Told(truth, seconds=0.02))


def broken(traces: Traces, truths: list[bool]) -> None:
    """Devices on which something fails after the truth was read: the generator, the disk, the budget."""
    envelope = OPEN.publish([KEY]).envelope

    def no_generator(n: int) -> bytes:
        raise OSError(TRUTH)

    def full_disk(n: int) -> bytes:
        guard = traces.folder / "disk.sqlite3.guard"
        guard.unlink()
        guard.mkdir()
        return DRAWS[0]

    for name, source, wanted in (
        ("generator.sqlite3", no_generator, errors.NoRandomness),
        ("short.sqlite3", lambda n: DRAWS[0][1:], errors.NoRandomness),
        ("disk.sqlite3", full_disk, errors.LedgerUnavailable),
    ):
        client = device(traces, name, source)
        accepted = client.accept(envelope)
        with traces.error(wanted):
            client.answer(accepted, "q1", Told(truths[0]))
    poor = device(traces, "poor.sqlite3", lambda n: DRAWS[0], policy=Policy(TRUSTED, lifetime_epsilon="1.5"))
    accepted = poor.accept(envelope)
    poor.answer(accepted, "q1", truths[0])
    with traces.error(errors.BudgetExhausted):
        poor.answer(accepted, "q2", Told(truths[1]))


@contextlib.contextmanager
def collector(traces: Traces) -> Iterator[tuple[int, Any]]:
    """A collector at a port of this machine, written down."""
    store, port = open_store(traces.folder / "store.sqlite3"), PORT
    rules = CollectorSettings(minimum=2, results_age=0.0, fold_seconds=60)  # a fold by the clock is told by a metric
    config = server_config(
        traces.recorded(create_app(store, OwnerToken(TOKEN), rules)), rules, host="127.0.0.1", port=port
    )
    open_the_loggers()
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.005)
    try:
        yield port, store
    finally:
        server.should_exit = True
        thread.join(20)


def asked(traces: Traces, port: int, method: str, path: str, body: bytes | None = None) -> None:
    """One request of the owner's; the reply's body is kept."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    traces.write("metrics.txt", (method, path.partition("?")[0], response.status, response.read()))
    connection.close()


def collected(traces: Traces, client: Client) -> None:
    """Delivery to nobody, to a collector, again, and to one whose store fails; then all that the collector tells."""
    gone = client.deliver(HttpTransport(), within=600)
    traces.write("words.txt", gone)
    with collector(traces) as (port, store):
        for survey in (OPEN, CLOSED):
            asked(traces, port, "POST", f"/surveys?key={KEY.public.raw.hex()}", survey.publish([KEY]).envelope)
        store.shelf.add_invites(CLOSED.digest, ticket_hashes([INVITE], CLOSED))
        bodies = [outgoing.body for outgoing in client._ledger.outbox()]
        traces.write("words.txt", client.deliver(HttpTransport(), within=3600))
        for body in (bodies[0], bodies[1].replace(b'"q2"', b'"q3"'), bodies[2][:-9], b"[]"):
            asked(traces, port, "POST", "/reports", body)
        for path in ("/results", "/results?format=csv", "/readyz", "/metrics", "/openapi.json", "/", "/nothing"):
            asked(traces, port, "GET", path)

        def fault() -> Any:
            raise RuntimeError(f"{TRUTH} {SEGMENT} {INVITE}")

        store.tallies = fault
        asked(traces, port, "GET", "/results")
    with contextlib.closing(sqlite3.connect(traces.folder / "store.sqlite3")) as kept:
        traces.write("store.txt", "\n".join(sorted(kept.iterdump())))
    traces.write("words.txt", json.dumps(client.budget().export(), default=str))


def job(folder: Path, truths: str, leak: str) -> None:
    """One flow, with all its traces."""
    traces = Traces(folder)
    with everything_logged(traces), counted_ids(), LEAKS[leak]():
        open_the_loggers()
        told = [truth == "1" for truth in truths]
        client = answered(traces, told)
        broken(traces, told)
        collected(traces, client)


if __name__ == "__main__":
    for given in sys.argv[1:]:
        where, bits, name = given.split(":")
        job(Path(where), bits, name)
