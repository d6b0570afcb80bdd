"""The routes under /log: the signed state of the store's log, its tiles and entries, and what witnesses sign.

Rules
1. Anyone may read all of it (C2SP tlog-tiles): it holds published surveys, and of the owner's deeds a hash.
2. A request costs one tile of 256 rows at most.  An address is judged by its form before the database is asked.
3. A witness needs nobody's token: its signature is asked for, by one of the keys in the settings.
4. A collector without a key for its log shows none of this, and puts no proof beside an envelope.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rrcollect.errors import SurveyRefused
from rrcollect.publish.canonical import read
from rrcollect.publish.envelope import with_proof
from rrcollect.publish.keys import SigningKey
from rrcollect.publish.log import LARGEST_NOTE, WITNESS, LogKey
from rrcollect.publish.tree import WIDTH
from server_agg.collect.http.bodies import NOT_CACHED, BodyBudget, body_of, reply
from server_agg.collect.settings import CollectorSettings
from server_agg.collect.store.database import Database
from server_agg.collect.store.log import SignedLog
from server_agg.errors import Refusal

TILE = re.compile(r"(entries|[0-5])/((?:x[0-9]{3}/){0,3}[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")
KEPT_SECONDS = 1.0  # for which a proof is remembered: strangers choose how often they ask
FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}


@dataclass(eq=False)
class LogRoutes:
    """What everybody may read of a log, if it has a key."""

    database: Database
    log: SignedLog | None
    settings: CollectorSettings
    budget: BodyBudget
    _proofs: dict[str, tuple[float, str | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, database: Database, settings: CollectorSettings, budget: BodyBudget) -> LogRoutes:
        """The routes of a store, with the key in the settings."""
        if settings.log_key is None:
            return cls(database, None, settings, budget)
        key = SigningKey.load(settings.log_key)
        witnesses = frozenset(LogKey.read(one, WITNESS) for one in settings.log_witnesses.split())
        made = SignedLog(database, settings.log_name, key, witnesses)
        LogKey.read(made.own.text)  # a name that can be part of a key, or an error at the start
        return cls(database, made, settings, budget)

    def routes(self) -> list[Route]:
        """All of them."""
        return [
            Route("/log/key", self.key),
            Route("/log/checkpoint", self.checkpoint),
            Route("/log/tile/{address:path}", self.tile),
            Route("/log/cosignatures", self.cosignatures, methods=["POST"]),
        ]

    def _signed(self) -> SignedLog:
        if self.log is None:
            raise Refusal(404, "no_log", "this collector does not sign its log: its owner has given it no log_key")
        return self.log

    def logged(self, digest: str, envelope: bytes) -> bytes:
        """An envelope with the proof that it is in the log, if the log is signed."""
        if self.log is None:
            return envelope
        moment, proof = self._proofs.get(digest, (0.0, None))
        if time.monotonic() - moment > KEPT_SECONDS:
            proof = self.log.proof(digest)
            self._proofs[digest] = time.monotonic(), proof  # of published digests alone: as many as surveys
        return envelope if proof is None else with_proof(envelope, proof)

    async def key(self, request: Request) -> Response:
        """GET /log/key: the key of this log, as an app names it; to be had from somebody else too."""
        return Response(self._signed().own.text + "\n", 200, NOT_CACHED, "text/plain")

    async def checkpoint(self, request: Request) -> Response:
        """GET /log/checkpoint"""
        return Response(await asyncio.to_thread(self._signed().checkpoint), 200, NOT_CACHED, "text/plain")

    async def tile(self, request: Request) -> Response:
        """GET /log/tile/<level>/<number>[.p/<width>], and /log/tile/entries/<number>[.p/<width>]"""
        log, parts = self._signed(), TILE.fullmatch(request.path_params["address"])
        width = WIDTH if parts is None or parts[3] is None else int(parts[3])
        found = None
        if parts is not None and (parts[3] is None or width < WIDTH):
            number = int(re.sub("[x/]", "", parts[2]))
            place = (number, width) if parts[1] == "entries" else (int(parts[1]), number, width)
            found = await asyncio.to_thread(log.entries if parts[1] == "entries" else log.tile, *place)
        if found is None:
            raise Refusal(404, "no_tile", "the log has no such tile")
        return Response(found, 200, FOR_EVER, "application/octet-stream")

    async def cosignatures(self, request: Request) -> Response:
        """POST /log/cosignatures: {"size": N, "lines": "— name signature\\n"}"""
        log, seconds = self._signed(), self.settings.body_seconds
        body = await body_of(request.scope, request.receive, limit=LARGEST_NOTE, seconds=seconds, budget=self.budget)
        try:
            asked = read(body, LARGEST_NOTE)
        except SurveyRefused as error:
            raise Refusal(400, "malformed", str(error)) from None
        form = {"size": int, "lines": str}
        if not isinstance(asked, dict) or {name: type(value) for name, value in asked.items()} != form:
            raise Refusal(400, "malformed", 'send {"size": N, "lines": "— name signature\\n"}')
        return reply({"witnesses": await asyncio.to_thread(log.add_cosignatures, asked["size"], asked["lines"])}, 201)
