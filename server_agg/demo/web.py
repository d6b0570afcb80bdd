"""`rrcollect demo --web`: a collector with its survey and results pages, and respondents who trickle in over HTTP.

Some hundred answered before it opens, through a gateway in bulk, so that the pages have something to show.  Those who
come afterwards each have a client with a ledger of their own and send by HTTP to this machine; everything is real but
the people.  The collector listens on this machine alone.  Ctrl-C ends it: what was accepted is committed, the folder
goes away.

The survey has its texts in German and Arabic as well (`languages.toml`), so that its page can be read in them as a
whole.  A plain text of the template becomes a map by language; its names stay as they are.  One without its translation
is an error.
"""

from __future__ import annotations

import secrets
import signal
import socket
import threading
import tomllib
from collections.abc import Callable
from importlib import resources
from typing import Any

from rrcollect.deliver.transport import HttpTransport
from rrcollect.errors import ParameterError, RRCollectError
from rrcollect.lazy import extra
from rrcollect.publish.survey_file import template
from server_agg.demo.people import Desk, InProcessCollector, by_gateway, drawn_people, passing_device
from server_agg.demo.run import desk_of, published, working_folder

HOST = "127.0.0.1"
PARTING = 5.0  # seconds; a collector that is told to stop does so before we are
BEFORE = 800  # people who answered before the pages open: enough for every sport and round
OPENING = (
    f"{BEFORE} people answered through a gateway before, and were released; others come one by one:\n"
    "the owner sees them with the token, strangers after the next release\nstop with Ctrl-C"
)
TRANSLATED = ("title", "text", "unit", "options")  # what people read of the template
Say = Callable[[dict[str, Any], str], None]


class Trickle(threading.Thread):
    """People who come one after the other until told to stop."""

    def __init__(self, desk: Desk, pause: float) -> None:
        super().__init__(name="rrcollect-demo-respondents", daemon=True)
        self._desk, self._pause = desk, pause
        self._over = threading.Event()
        self.answered = 0
        self.trouble: str | None = None

    def run(self) -> None:
        """Answer and deliver, person after person; what goes wrong is kept for the end."""
        transport = HttpTransport()
        while not self._over.wait(self._pause):
            person = drawn_people(2)[self.answered % 2]  # one of each round
            try:
                passing_device(self._desk, person, transport)
            except (RRCollectError, OSError) as error:
                if not self._over.wait(PARTING):
                    self.trouble = str(error)
                return
            self.answered += 1

    def stop(self) -> None:
        """No further person; returns when the last one is done."""
        self._over.set()
        self.join(timeout=30)


def run_web(port: int, pause: float, say: Say) -> tuple[dict[str, Any], str]:
    """Run until Ctrl-C; says the addresses first, and returns how many answered."""
    extra("server_agg.collect.serve", "server")
    import uvicorn

    from server_agg.collect.http.app import create_app
    from server_agg.collect.serve import server_config
    from server_agg.collect.settings import CollectorSettings, OwnerToken
    from server_agg.collect.store.store import open_store

    if not 0 <= port < 65536:
        raise ParameterError("--port", port, "0 (a free one) to 65535")
    if not 0 <= pause <= 3600:
        raise ParameterError("--pause", pause, "seconds, 0 to 3600")
    with working_folder() as (folder, _), socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
            listening.listen()  # a browser that is quicker than the collector waits, instead of being turned away
        except OSError as error:
            raise ParameterError("--port", port, f"a port that is free ({error.strerror})") from None
        here = f"http://{HOST}:{listening.getsockname()[1]}"
        publication, key = published(folder, survey_in_languages(here))
        desk = desk_of(publication, key, folder)
        counter = InProcessCollector(desk.store)
        counter.publish(publication.envelope, key.public.raw.hex())
        by_gateway(publication, drawn_people(BEFORE), counter, lambda done: None)
        counter.store.release(publication.survey, headline=0)
        counter.close()
        settings, token = CollectorSettings(public_results=True), secrets.token_urlsafe(24)
        app = create_app(open_store(desk.store), OwnerToken(token), settings)
        server = uvicorn.Server(server_config(app, settings))
        people = Trickle(desk, pause)

        def end(*_: object) -> None:  # heard at any time; a plain Ctrl-C is lost while the event loop starts
            server.should_exit = True

        usual = {each: signal.signal(each, end) for each in (signal.SIGINT, signal.SIGTERM)}
        pages = {"results": f"{here}/", "survey": f"{here}/s/{publication.digest}", "token": token}
        say(pages, "\n".join(f"{name:8s} {page}" for name, page in pages.items()) + f"\n{OPENING}")
        people.start()
        try:
            server.run(sockets=[listening])
        finally:
            people.stop()
            for each, handler in usual.items():
                signal.signal(each, handler)
    if people.trouble:
        raise RRCollectError(f"the respondents stopped coming: {people.trouble}")
    words = f"stopped; {people.answered} simulated respondents had answered with a client of their own"
    return {"respondents": people.answered, "before": BEFORE}, words


def survey_in_languages(here: str) -> dict[str, Any]:
    """The template of a survey, with its texts in three languages.

    >>> sorted(survey_in_languages("http://127.0.0.1")["title"])
    ['ar', 'de', 'en']
    """
    languages = tomllib.loads(resources.files("server_agg.demo").joinpath("languages.toml").read_text("utf-8"))

    def said(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: said(part, key) for key, part in value.items()}
        if isinstance(value, list):
            return [said(part, name) for part in value]
        return {"en": value, **languages["texts"][value]} if name in TRANSLATED else value

    return {**said(tomllib.loads(template(here))), **languages["added"], "segments": {"sport": languages["sport"]}}
