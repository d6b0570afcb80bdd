"""What the examples of web servers share: the publisher, a running server, and the people who visit it.

An example gives `play` a function that makes one ASGI application of three things: the ledgers of its users, the signed
survey, and the collector, which it mounts below /collect.
"""

import json
import os
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvicorn

import rrcollect as rr
from server_agg import OwnerToken, create_app, open_store

PUBLISHER = "Example Institute"
TOKEN = "the owner's, from your secrets"  # noqa: S105 (of this example)
Host = Callable[[rr.Clients, bytes, Any], Any]


def publish(key: rr.SigningKey, address: str) -> bytes:
    """The publisher's side: the survey names the collector below /collect."""
    question = rr.Question(id="doped", attribute="doped", text="Have you ever doped?", design=rr.optimal_design("ln 3"))
    survey = rr.Survey(
        name="clean-sport",
        version=1,
        title="Clean sport",
        publisher=PUBLISHER,
        collector=f"{address}/collect/reports",
        expires=datetime(2100, 1, 1, tzinfo=UTC),
        questions=[question],
    )
    return survey.publish([key]).envelope


@contextmanager
def served(app: Any, listening: socket.socket) -> Iterator[None]:
    """The application, served until the end of the block."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def ask(address: str, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    """(status, what was said) of a request."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(address + path, data, headers, method=method)  # noqa: S310
    try:
        with urllib.request.urlopen(request) as reply:  # noqa: S310
            status, said = reply.status, reply.read()
    except urllib.error.HTTPError as error:
        status, said = error.code, error.read()
    try:
        return status, json.loads(said)
    except ValueError:
        return status, said.decode()


def play(folder_name: str, make_host: Host) -> None:
    """Publish, serve, let three users answer, deliver to the collector of the same server, and count."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else folder_name)
    folder.mkdir(parents=True, exist_ok=True)
    listening = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    signer, secret = rr.SigningKey.generate(), os.urandom(32)  # of this run; yours are kept, and never change
    envelope, run = publish(signer, address), folder / secret.hex()[:8]
    policy = rr.Policy([rr.TrustedPublisher(PUBLISHER, [signer.public])])
    clients = rr.Clients(run, key=secret, attributes=["doped"], policy=policy, spread=0)
    collector = create_app(open_store(run / "reports.sqlite3"), OwnerToken(TOKEN))
    owner = {"Authorization": f"Bearer {TOKEN}"}

    def user(name: str | None, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return ask(address, method, path, body, **({"X-User": f"{name}@example.org"} if name else {}))

    with served(make_host(clients, envelope, collector), listening):
        told = ask(address, "POST", f"/collect/surveys?key={signer.public.raw.hex()}", envelope, **owner)
        print("Published at the collector below /collect:", told[0])
        print("Open to ana:", user("ana", "GET", "/survey")[1]["open"])
        print("Without a sign-in:", user(None, "GET", "/survey")[0])
        for name, truth in (("ana", True), ("ben", False), ("eva", True)):
            status = user(name, "POST", "/answers/doped", {"truth": truth})[0]
            print(f"{name} answers: {status}; open then: {user(name, 'GET', '/survey')[1]['open']}")
        again = user("eva", "POST", "/answers/doped", {"truth": False})[0]
        print(f"eva asked again: {again}, and the first answer stands")
        declined = user("ben", "DELETE", "/answers/doped")[1]
        print(f"ben would rather not: stopped {declined['stopped']}, may have left {declined['may_have_left']}")
        print("dan sees nothing of theirs:", user("dan", "GET", "/survey")[1]["open"])
        print(f"Delivered {clients.deliver().delivered}, by http, to the collector of this server.")
        counts = ask(address, "GET", "/collect/metrics", **owner)[1]
        print("It says:", next(line for line in counts.splitlines() if line.startswith("rrcollect_reports_total")))
        print(user("ana", "GET", "/budget")[1]["explained"])
    print("Ledgers:", len(list(run.glob("??/*.sqlite3"))), "with a name on the disk:", len(list(run.rglob("*ana*"))))
