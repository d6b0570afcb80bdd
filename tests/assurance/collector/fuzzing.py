"""Inputs made by mutation: bytes for the parsers of `fuzz_targets`, and whole requests for the collector.

A request is sent to the application itself (ASGI, without a socket), many at a time.  It must be answered with a
complete reply below 500; an acknowledged report must be in the store in the end, once.  Mutations are chosen by
ordinary pseudo-random numbers: nothing here is near a truth.
"""

from __future__ import annotations

import asyncio
import gc
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from server_agg import CollectorSettings, OwnerToken, create_app
from server_agg.collect import Store
from tests.assurance.check import Step
from tests.assurance.collector.fuzz_targets import held, seeds
from tests.support.collector_crashing import ids_of
from tests.support.collector_running import TOKEN, body, publication
from tests.support.devices import KEY

TOKENS = [b"null", b"true", b"-0", b"1e400", b"9" * 40, b"{}", b"[]", b'""', b"[" * 40, b'"\\ud800"', b"\xff", b"\x00"]
PIECE = re.compile(rb'"[^"]*"|[0-9]+|[a-z]+|.', re.DOTALL)


def mutated(inputs: list[bytes], dice: random.Random) -> bytes:
    """One of the inputs, changed in up to four places: bits, bytes, slices, tokens, or joined with another."""
    data = bytearray(dice.choice(inputs))
    for _ in range(dice.randrange(5)):
        place = dice.randrange(len(data) + 1)
        end = min(len(data), place + dice.choice([1, 1, 2, 8, 64]))
        kind = dice.randrange(7)
        if kind == 0 and place < len(data):
            data[place] ^= 1 << dice.randrange(8)
        elif kind == 1:
            data[place:end] = dice.randbytes(end - place)
        elif kind == 2:
            del data[place:end]
        elif kind == 3:
            data[place:place] = data[place:end] * dice.choice([1, 2, 50])
        elif kind == 4:
            data[place:] = dice.choice(inputs)[place:]
        else:
            pieces = PIECE.findall(bytes(data[place : place + 200]))
            if pieces:
                old = dice.choice(pieces)
                other = dice.choice([*TOKENS, dice.choice(pieces)])
                data = bytearray(bytes(data).replace(old, other, dice.choice([1, 1, 1000]))[:20_000])
    return bytes(data)


def parsed(name: str, target: Callable[[bytes], object], runs: int, seed: int, step: Step) -> tuple[int, str]:
    """Feed a target; (inputs it took as good, the first input that raised what it must not)."""
    dice, inputs, taken = random.Random(f"{name} {seed}"), seeds(name), 0
    for number in range(runs):
        if number % 1000 == 0:
            step(number, runs)
        data = mutated(inputs, dice)
        try:
            taken += held(target, data)
        except Exception as error:
            return taken, f"{name}: {type(error).__name__}: {error} for {data[:200]!r}"
    return taken, ""


# ---- requests --------------------------------------------------------------------------------------------------------

GROWN = "most kilobytes of memory grown in the last three quarters"
KEPT = "most objects kept of the last three quarters"
METHODS = ["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "", "get", "\u00e9"]
BEARER = f"Bearer {TOKEN}".encode()


class Requests:
    """Requests to a collector with one published survey, good ones among them."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.publication = publication()
        digest = self.publication.digest
        self.reports = [body(digest) for _ in range(200)]
        lists = [b"[" + b",".join(self.reports[n : n + 5]) + b"]" for n in range(0, 50, 5)]
        self.bodies = [*self.reports, *lists, *seeds("body")[:40], self.publication.envelope, b'{"count":3}', b""]
        self.paths = [
            *["/reports"] * 12, "/surveys", f"/surveys/{digest}", f"/surveys/{digest}/invites", "/results", "/",
            "/owner", f"/r/{digest}", f"/r/{digest}/embed", f"/surveys/{digest}/release", f"/surveys/{digest}/close",
            f"/s/{digest}", "/assets/page.css", "/readyz", "/metrics", "/openapi.json", "/../etc/passwd", "//",
            "/surveys/%00", "/assets/..",
        ]  # fmt: skip
        self.queries = [b"", b"", f"key={KEY.public.raw.hex()}".encode(), b"format=csv", f"survey={digest}".encode()]

    def one(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """A scope and the messages of its body."""
        dice = self.dice
        path = dice.choice(self.paths).encode()
        if dice.random() < 0.1:
            path = mutated([path], dice)
        method = (
            dice.choice(METHODS) if dice.random() < 0.1 else "POST" if path == b"/reports" else dice.choice(METHODS[:2])
        )
        data = dice.choice(self.bodies) if dice.random() < 0.2 else mutated(self.bodies, dice)
        query = mutated(self.queries, dice) if dice.random() < 0.3 else dice.choice(self.queries)
        headers = [(b"host", b"x"), (b"content-type", b"application/json")]
        if dice.random() < 0.3:
            headers.append((b"authorization", BEARER if dice.random() < 0.5 else mutated([BEARER], dice)))
        if dice.random() < 0.2:
            names = [b"content-length", b"content-encoding", b"origin", b"content-type", b"accept", b"range"]
            values = [str(len(data)).encode(), b"-1", b"9" * 30, b"gzip", b"https://x", b"text/plain", b"\xff\xfe"]
            headers.append((dice.choice(names), mutated(values, dice)))
            dice.shuffle(headers)
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": unquote_to_bytes(path).decode("utf-8", "replace"), "raw_path": path, "query_string": query,
            "root_path": "", "headers": headers, "client": None, "server": ("x", 80), "state": {},
        }  # fmt: skip
        return scope, self._messages(data)

    def _messages(self, data: bytes) -> list[dict[str, Any]]:
        if self.dice.random() < 0.9:
            return [{"type": "http.request", "body": data, "more_body": False}]
        cut = self.dice.randrange(len(data) + 1)
        first = {"type": "http.request", "body": data[:cut], "more_body": True}
        gone = {"type": "http.disconnect"}
        return [first, self.dice.choice([{"type": "http.request", "body": data[cut:]}, gone])]


async def _answered(app: Any, scope: dict[str, Any], messages: list[dict[str, Any]]) -> tuple[int, bytes]:
    """(status, body) of a reply; 599 if it was not complete or the application raised."""
    waiting: Iterator[dict[str, Any]] = iter([*messages, {"type": "http.disconnect"}])
    said: list[Any] = []

    async def receive() -> Any:
        return next(waiting)

    async def send(message: Any) -> None:
        said.append(message)

    try:
        await app(scope, receive, send)
    except Exception as error:
        return 599, type(error).__name__.encode()
    if len(said) < 2 or said[0]["type"] != "http.response.start" or said[-1].get("more_body", False):
        return 599, b"an incomplete reply"
    return int(said[0]["status"]), b"".join(message.get("body", b"") for message in said[1:])


def requested(store: Store, number: int, seed: int, step: Step) -> tuple[dict[str, int], str]:
    """Send that many requests to a collector over this store; (counts, the first fault)."""
    made = Requests(random.Random(seed))
    app = create_app(store, OwnerToken(TOKEN), CollectorSettings(minimum=2, body_seconds=5.0))
    statuses: Counter[int] = Counter()
    memory: list[tuple[int, int]] = []
    new = 0
    fault = ""

    async def good(method: str, path: str, data: bytes = b"", query: bytes = b"") -> None:
        scope, _ = made.one()
        scope |= {"method": method, "path": path, "raw_path": path.encode(), "query_string": query}
        scope["headers"] = [(b"content-type", b"application/json"), (b"authorization", BEARER)]
        status, said = await _answered(app, scope, [{"type": "http.request", "body": data}])
        if status not in (200, 201) and not path.startswith("/s/"):  # its survey lists no page
            raise AssertionError(said)

    async def publish() -> None:
        """The survey, some reports, and whatever is loaded when it is first asked for, which is not to be growth."""
        nonlocal new
        await good("POST", "/surveys", made.publication.envelope, made.queries[2])
        for report in made.reports[:4]:
            await good("POST", "/reports", report)
            new += 1
        for query in (b"", b"format=csv"):
            await good("GET", "/results", query=query)
        digest = made.publication.digest
        for path in ("/owner", "/surveys", f"/s/{digest}", "/assets/page.css", "/readyz", "/metrics", "/openapi.json"):
            await good("GET", path)

    async def work(share: int) -> None:
        nonlocal new, fault
        for done in range(share):
            scope, messages = made.one()
            status, said = await _answered(app, scope, messages)
            statuses[status] += 1
            busy = status == 503 and b"not known here" in said  # more unknown surveys per second than are looked up
            if status >= 500 and not busy and not fault:
                fault = f"{status} {said[:200]!r} to {scope['method']} {scope['raw_path']!r}"
            if scope["path"] == "/reports" and status in (200, 201, 409):
                new += int(said.partition(b'"new":')[2].partition(b",")[0] or 0)
            if done % 500 == 0:
                step(sum(statuses.values()), number)

    async def everything() -> None:
        await publish()
        for share in (number // 64, number // 16 - number // 64):
            await asyncio.gather(*[work(share) for _ in range(16)])
            memory.append((live(), resident()))

    asyncio.run(everything())
    found, n = ids_of(store)
    twice = n - len(set(found))
    counts = {
        "requests": sum(statuses.values()),
        "replies below 400": sum(n for status, n in statuses.items() if status < 400),
        "refused with 4xx": sum(n for status, n in statuses.items() if 400 <= status < 500),
        "replies of 500 and more": sum(n for status, n in statuses.items() if status >= 500),
        "acknowledged as new": new,
        "counted": n,
        "counted twice": twice,
        GROWN: max(0, memory[1][1] - memory[0][1]),
        KEPT: max(0, memory[1][0] - memory[0][0]),
    }
    if not fault and (new != n or twice):
        fault = f"{new} reports were acknowledged as new, {n} are counted, {twice} beyond one for each id"
    return counts, fault


def live() -> int:
    """How many pieces of memory Python's objects have, large and small, but for those that wait to be collected."""
    gc.collect()
    return sys.getallocatedblocks()


def resident() -> int:
    """The memory this process has, in kilobytes."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.partition("VmRSS:")[2].split()[0])
