"""Collectors that run: in a thread of the test, or as a process that can be killed."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self

import uvicorn

from rrcollect import Design, Report
from rrcollect.publish.survey import Publication
from server_agg import CollectorSettings, OwnerToken, create_app, open_store
from tests.inside.collect import server_config
from tests.inside.publish import seal
from tests.support.devices import KEY, survey
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE, until

TOKEN = "a token for the tests"  # noqa: S105
BEARER = {"Authorization": f"Bearer {TOKEN}"}
JSON = {"Content-Type": "application/json"}
DIGEST, LARGE = "ab" * 32, "cd" * 32  # surveys of a store in the tests: with a small crowd and with a large one
TABLES = (
    "surveys", "epoch", "intake", "gathered", "marks", "counts", "answers", "log", "log_hashes", "log_notes",
    "taken", "released", "releases", "ids", "reports", "invites", "spent", "issued",
)  # of a store  # fmt: skip
ROOT = Path(__file__).resolve().parents[2]


class Client:
    """One HTTP connection's worth of requests to a port of this machine."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            response = connection.getresponse()
            return response.status, response.read(), {k.lower(): v for k, v in response.getheaders()}
        finally:
            connection.close()

    def json(self, method: str, path: str, body: bytes | None = None, headers: Any = None) -> tuple[int, Any]:
        status, said, _ = self.request(method, path, body, headers)
        return status, json.loads(said)

    def post(self, body: bytes, **headers: str) -> tuple[int, Any]:
        return self.json("POST", "/reports", body, {**JSON, **headers})

    def publish(self, publication: Publication) -> str:
        status, said = self.json(
            "POST", f"/surveys?key={KEY.public.raw.hex()}", publication.envelope, {**JSON, **BEARER}
        )
        assert status in (200, 201), said
        return str(said["digest"])

    def publication(self, *questions: Any, **changes: Any) -> Publication:
        """A survey whose reports come here, and which is answered on this collector's own page."""
        return publication(*questions, **{"collector": f"{self.url}/reports", "origins": [self.url], **changes})

    def page_of(self, *questions: Any, **changes: Any) -> str:
        """Publish such a survey; its digest."""
        return self.publish(self.publication(*questions, **changes))

    def results(self) -> Any:
        status, said = self.json("GET", "/results", headers=BEARER)
        assert status == 200, said
        return said

    def listens(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE):
                return True
        except OSError:
            return False

    def wait(self) -> None:
        until(self.listens)


class HostedApp(Client):
    """An application in a thread."""

    def __init__(self, app: Any, rules: CollectorSettings | None = None) -> None:
        super().__init__(free_port())
        config = server_config(app, rules or CollectorSettings(), host="127.0.0.1", port=self.port)
        self.server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self.server.run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


class RunningCollector(HostedApp):
    """A collector in a thread."""

    def __init__(self, where: str, store: Any = None, **settings: Any) -> None:
        rules = CollectorSettings(**{"minimum": 2, "results_age": 0.0, **settings})
        self.store = store or open_store(where)
        super().__init__(create_app(self.store, OwnerToken(TOKEN), rules), rules)

    def kept(self) -> int:
        """How many reports were folded or wait."""
        return int(self.store.tallies().n) + len(self.store.epochs.waiting())


class Process(Client):
    """A collector as a process of its own: `rrcollect serve`, or another `program` that takes its options."""

    program: tuple[str, ...] = ("-m", "server_agg.cli.main")

    def __init__(self, where: str, *options: str, port: int | None = None, prefix: tuple[str, ...] = ()) -> None:
        super().__init__(port or free_port())
        command = [*prefix, sys.executable, *self.program, "serve", "--store", where, "--port", str(self.port)]
        environment = {**os.environ, "RRCOLLECT_OWNER_TOKEN": TOKEN, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            [*command, "--minimum", "2", *options], env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        )

    def __enter__(self) -> Process:
        try:
            self.wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()


def publication(*questions: Any, **changes: Any) -> Publication:
    """A crowd of two, unless a test says otherwise."""
    return survey(*questions, **{"minimum": 2, **changes}).publish([KEY])


def expired(**changes: Any) -> Publication:
    """A publication that no publisher could sign today, but could when its survey was open."""
    made = survey(**changes)
    return Publication(made, seal(made.payload(), [KEY]), made.digest, made.composition)


def report(digest: str, **changes: Any) -> Report:
    fields = {"question": "q1", "design": Design("3/4", "3/4"), "answer": "1", "id": secrets.token_hex(16)}
    return Report(**{"survey": digest, **fields, **changes})


def body(digest: str, **changes: Any) -> bytes:
    return report(digest, **changes).to_bytes()
