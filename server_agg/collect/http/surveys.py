"""The routes under /surveys: published, listed, invited to, released, closed and withdrawn.

Rules
1. What needs the owner's token asks for it before it reads anything else; a withdrawal asks for the publisher's
   signature instead, and for nobody's token: its body is small, and has few
   brackets, before it is parsed.
2. The rules are those of the command line: each route calls what the command calls.
3. A release can be asked for as a preview: what would change is told, and nothing does.
4. `{"count": N}` makes N invites and returns them once.  `{"hashes": […]}` takes the hashes of tickets of invites that
   the owner made (`rrcollect invite`): then not even this process ever holds one.  An invite gives a ticket for each
   question and round (`rrcollect.publish.tickets`).  Hashes are stored sorted, so that their order says nothing about
   which belong to one invite.  Whoever issued the invites can compute which tickets belong together; this is said where
   people read it.
5. What a survey is at a moment (not yet open, open, ended, withdrawn or closed; and so for each of its rounds) follows
   from the signed survey, its signed withdrawal, whether it was closed, and the clock: never from answers.  What
   happened last comes first: closed, withdrawn, ended, not yet open, open.  A sentence says until when reports are
   taken.  After the end those that waited on a device are still taken for the grace period; then the survey may be
   closed.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rrcollect.errors import ParameterError, SurveyRefused
from rrcollect.publish.canonical import read
from rrcollect.publish.envelope import LARGEST_ENVELOPE, Withdrawal
from rrcollect.publish.survey import Survey
from rrcollect.publish.tickets import new_invite, ticket_hashes
from server_agg.collect import apart
from server_agg.collect.admission import MOST_BRACKETS
from server_agg.collect.catalogue import Catalogue, CatalogueEntry, round_times
from server_agg.collect.http.bodies import NOT_CACHED, BodyBudget, body_of, header, reply
from server_agg.collect.logs import said
from server_agg.collect.settings import CollectorSettings, OwnerToken
from server_agg.collect.store.release import SAME, last_facts, preview_release
from server_agg.collect.store.store import Store
from server_agg.errors import Refusal, UnfitDatabase

LARGEST_NOTICE = 2 * Withdrawal.largest  # bytes of a signed withdrawal: its payload in base64, and signatures
MOST_MADE = 10_000  # invites for one request
MOST_HASHES = 200_000  # in one request
LARGEST_REQUEST = MOST_HASHES * 67 + 64  # bytes: each hash with quotes and comma
HASH = re.compile(r"[0-9a-f]{64}")
PREVIEW = {(): False, (("preview", "1"),): True}  # by the query


@dataclass(eq=False)
class SurveyRoutes:
    """What may be done with surveys; `changed` is called when results are to be counted again, and `logged` puts the
    proof beside an envelope that the survey of this digest is in the log."""

    store: Store
    owner: OwnerToken
    catalogue: Catalogue
    settings: CollectorSettings
    budget: BodyBudget
    changed: Callable[[], None]
    logged: Callable[[str, bytes], bytes]

    def routes(self) -> list[Route]:
        """All of them."""
        post = ["POST"]
        return [
            Route("/surveys", self.publish, methods=post),
            Route("/surveys", self.overview),
            Route("/surveys/{digest}", self.envelope),
            Route("/surveys/{digest}/invites", self.invites, methods=post),
            Route("/surveys/{digest}/release", self.release, methods=post),
            Route("/surveys/{digest}/close", self.close, methods=post),
            Route("/surveys/{digest}/withdrawal", self.withdraw, methods=post),
            Route("/surveys/{digest}/withdrawal", self.withdrawal),
        ]

    async def listed(self, digest: str) -> CatalogueEntry:
        """The survey of this digest; a `Refusal` if there is none."""
        found = self.catalogue.known(digest) or await asyncio.to_thread(self.catalogue.find, digest)
        if found is None:
            raise Refusal.of("unknown_survey")
        return found

    def prefix(self, request: Request) -> str:
        """The path below which people reach us."""
        return self.settings.prefix or str(request.scope.get("root_path", ""))

    def owner_only(self, request: Request) -> None:
        """Return if the owner asks; a `Refusal` if not."""
        self.owner.check(header(request.scope, b"authorization"))

    async def _body(self, request: Request, limit: int) -> bytes:
        seconds = self.settings.body_seconds
        return await body_of(request.scope, request.receive, limit=limit, seconds=seconds, budget=self.budget)

    async def read(self, request: Request, limit: int) -> Any:
        """The JSON that a request brings; a `Refusal` if it is not."""
        body = await self._body(request, limit)
        try:
            return await asyncio.to_thread(read, body, limit)
        except SurveyRefused as error:
            raise Refusal(400, "malformed", str(error)) from None

    async def publish(self, request: Request) -> Response:
        """POST /surveys"""
        self.owner_only(request)
        envelope = await self._body(request, LARGEST_ENVELOPE)
        keys = request.query_params.getlist("key")
        floor = self.settings.minimum
        listed, new = await asyncio.to_thread(self.catalogue.publish, envelope, keys, floor=floor)
        self.changed()
        digest = listed.published.digest
        return reply({"digest": digest, "pages": listed.survey.pages(self.prefix(request))}, 201 if new else 200)

    async def overview(self, request: Request) -> Response:
        """GET /surveys"""
        self.owner_only(request)
        surveys = await asyncio.to_thread(self._overview, self.prefix(request))
        return reply({"surveys": surveys, "log": await asyncio.to_thread(self._log)})

    def _log(self) -> dict[str, Any]:
        try:
            log = self.store.log()
        except UnfitDatabase as error:
            return {"trouble": str(error), "checkpoint": None, "entries": []}
        shown = [{"moment": one.moment, "deed": one.deed, "survey": one.survey} for one in log.deeds]
        return {"trouble": None, "checkpoint": log.checkpoint, "entries": shown}

    def _overview(self, prefix: str) -> list[dict[str, Any]]:
        self.catalogue.refresh()
        self.store.folds.fold_unless_busy()
        answers: Counter[str] = Counter()
        for key, tally in self.store.tallies().items():
            answers[key.survey] += tally.n
        states, last, found = states_of(self.catalogue, self.settings.grace), last_facts(self.store.database), []
        for entry in self.catalogue.all():
            survey, digest = entry.survey, entry.published.digest
            known = {"digest": digest, "name": survey.name, "version": survey.version, "pilot": survey.pilot}
            known |= {"title": survey.say(survey.title), "publisher": survey.publisher, "minimum": survey.minimum}
            known |= {"invite_only": survey.invite_only, "pages": survey.pages(prefix), "answers": answers[digest]}
            facts = last.get(digest)
            released = None if facts is None else {"number": facts.number, "at": facts.when}
            found.append({**known, "released": released, **states[digest]})
        return found

    async def invites(self, request: Request) -> Response:
        """POST /surveys/{digest}/invites"""
        self.owner_only(request)
        listed = await self.listed(request.path_params["digest"])
        asked = await self.read(request, LARGEST_REQUEST)
        made, hashes = await asyncio.to_thread(asked_invites, asked, listed.survey)
        await asyncio.to_thread(self.store.shelf.add_invites, listed.published.digest, hashes)
        return reply({"hashes": len(hashes)} if made is None else {"invites": made}, 201)

    async def release(self, request: Request) -> Response:
        """POST /surveys/{digest}/release; with ?preview=1 nothing is released"""
        self.owner_only(request)
        preview = PREVIEW.get(tuple(request.query_params.multi_items()))
        if preview is None:
            raise Refusal(400, "query", "the query takes preview=1, or nothing")
        listed = await self.listed(request.path_params["digest"])
        asked = await self.read(request, 1024)
        headline = asked.get("round", SAME) if isinstance(asked, dict) and set(asked) <= {"round"} else False
        how: Callable[..., Any] = (
            partial(preview_release, self.store.folds) if preview else partial(apart.release, self.store)
        )
        try:
            made = await asyncio.to_thread(how, listed.survey, headline=headline)
        except ParameterError as error:
            raise Refusal(400, "round", f'send {{}}, or {{"round": N}}, N being {error.allowed}') from None
        if preview:
            return reply(made)
        self.changed()
        return reply(made, 201 if made["added"] else 200)

    async def close(self, request: Request) -> Response:
        """POST /surveys/{digest}/close"""
        self.owner_only(request)
        listed = await self.listed(request.path_params["digest"])
        if await self.read(request, 1024) != {}:
            raise Refusal(400, "malformed", "send {}")
        digest, grace = listed.published.digest, self.settings.grace
        try:
            kept = await asyncio.to_thread(self.store.close, digest, grace=grace)
        except ParameterError as error:
            raise Refusal(409, "not_over", f"only {error.allowed}") from None
        said("survey closed", survey=digest)
        self.changed()
        return reply({"closed": digest, "reports": kept.n})

    async def envelope(self, request: Request) -> Response:
        """GET /surveys/{digest}"""
        published = (await self.listed(request.path_params["digest"])).published
        envelope = await asyncio.to_thread(self.logged, published.digest, published.envelope)
        return Response(envelope, 200, {"cache-control": "public, max-age=3600"}, "application/json")

    async def withdraw(self, request: Request) -> Response:
        """POST /surveys/{digest}/withdrawal: the publisher's signature is asked for, and nobody's token."""
        listed = await self.listed(request.path_params["digest"])
        envelope = await self._body(request, LARGEST_NOTICE)
        if sum(map(envelope.count, (b"[", b"{", b","))) > MOST_BRACKETS:  # with 16 signatures there are 51
            raise Refusal(400, "malformed", f"a signed withdrawal has at most {MOST_BRACKETS} brackets and commas")
        new = await asyncio.to_thread(self.catalogue.withdraw, listed, envelope)
        if new:
            said("survey withdrawn", survey=listed.published.digest)
            self.changed()
        return reply({"withdrawn": listed.published.digest}, 201 if new else 200)

    async def withdrawal(self, request: Request) -> Response:
        """GET /surveys/{digest}/withdrawal: the signed notice; 204 while the survey stands."""
        listed = await self.listed(request.path_params["digest"])
        notice = self.catalogue.withdrawn.get(listed.published.digest)
        if notice is None:
            return Response(status_code=204, headers=NOT_CACHED)
        return Response(notice, 200, NOT_CACHED, "application/json")


def asked_invites(asked: Any, survey: Survey) -> tuple[list[str] | None, list[str]]:
    """What a request asks for: the invites made for it (None if it brought hashes), and the hashes to keep."""
    if not survey.invite_only:
        raise Refusal(400, "not_by_invitation", "this survey is open to everybody (invite_only is false)")
    if isinstance(asked, dict) and set(asked) == {"hashes"}:
        return None, _hashes(asked["hashes"])
    count = asked.get("count") if isinstance(asked, dict) and set(asked) == {"count"} else None
    most = min(MOST_MADE, MOST_HASHES // sum(question.rounds for question in survey.questions))
    if type(count) is not int or not 1 <= count <= most:
        raise Refusal(400, "count", f'send {{"count": N}} with N from 1 to {most}, or {{"hashes": […]}}')
    made = [new_invite() for _ in range(count)]
    return made, ticket_hashes(made, survey)


def _hashes(given: Any) -> list[str]:
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_HASHES:
        raise Refusal(400, "hashes", f"send 1 to {MOST_HASHES} hashes of tickets")
    if not all(isinstance(one, str) and HASH.fullmatch(one) for one in given):
        raise Refusal(400, "hashes", "a hash of a ticket is SHA-256 in 64 hexadecimal digits of lower case")
    return sorted(set(given))


def states_of(catalogue: Catalogue, grace: timedelta) -> dict[str, dict[str, Any]]:
    """By digest what each survey is now; as it was when the catalogue was last read."""
    now, found = datetime.now(UTC), {}
    for entry in catalogue.all():
        digest = entry.published.digest
        how = {"withdrawn": digest in catalogue.withdrawn, "closed": digest in catalogue.finished}
        found[digest] = {"state": state_of(entry.survey, **how, grace=grace, now=now)}
    return found


def state_of(survey: Survey, *, withdrawn: bool, closed: bool, grace: timedelta, now: datetime) -> dict[str, Any]:
    """The state, a sentence about it, and whether the survey may be closed now.

    >>> from rrcollect import Question, optimal_design
    >>> asked = Question(id="q1", attribute="a", text="Ever?", design=optimal_design(1))
    >>> survey = Survey(name="s", version=1, title="S", publisher="P", collector="carried",
    ...                 expires="2030-01-01T00:00:00Z", questions=[asked])
    >>> def at(year):
    ...     now = datetime(year, 6, 1, tzinfo=UTC)
    ...     return state_of(survey, withdrawn=False, closed=False, grace=timedelta(days=7), now=now)
    >>> at(2029)["state"], at(2029)["words"]
    ('open', 'Open: answers are taken until 2030-01-01 00:00 UTC.')
    >>> at(2031)["state"], at(2031)["may_close"]
    ('ended', True)
    """
    over = survey.expires + grace
    ended, may_close = now >= survey.expires, now >= over and not closed
    late = "nothing is taken any more" if now >= over else f"what waits on a device is taken until {_when(over)}"
    if closed:
        state, words = "closed", "Closed: the counts stay; ids, rows and tickets are deleted, and nothing is taken."
    elif withdrawn:
        state, words = "withdrawn", "Withdrawn by its publisher, for good: nothing is taken any more."
    elif ended:
        state, words = "ended", f"Ended on {_when(survey.expires)}: {late}."
    elif survey.opens is not None and now < survey.opens:
        state, words = "not yet open", f"Not yet open: it opens on {_when(survey.opens)}."
    else:
        state, words = "open", f"Open: answers are taken until {_when(survey.expires)}."
    return {"state": state, "words": words, "may_close": may_close, "rounds": _rounds(survey, now)}


def _rounds(survey: Survey, now: datetime) -> list[dict[str, Any]]:
    """The rounds as signed."""
    found = []
    for number in range(max(question.rounds for question in survey.questions)):
        opens, closes = round_times(survey, number)
        early = opens is not None and now < opens
        state = "not yet open" if early else "open" if now < closes else "ended"
        said = {"opens": None if opens is None else _iso(opens), "closes": _iso(closes)}
        found.append({"round": number, "state": state, **said})
    return found


def _when(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _iso(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
